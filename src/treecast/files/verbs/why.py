"""``treecast why``."""

import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treecast.cli.console import warn
from treecast.cli.files import show_drawn
from treecast.cli.options import Flag, Json
from treecast.errors import TreecastError


def why(
    first: Annotated[str, Parameter(help="A folder, a file or an archive of records.")],
    /,
    *more: Annotated[
        str, Parameter(help="More of these; two folders are the same job at two times, the earlier first.")
    ],
    ranks: Annotated[int | None, Parameter(help="How many ranks the job has, where the records do not tell.")] = None,
    taken: Annotated[
        str | None, Parameter(help="When the records were made: 2026-01-31T03:12:00 or seconds since 1970.")
    ] = None,
    ranks_from: Annotated[
        str, Parameter(help="A regular expression for file names, whose first group is the rank.")
    ] = "",
    at: Annotated[str | None, Parameter(help="Also show this call at all ranks: GROUP:NUMBER.")] = None,
    watch: Annotated[Flag, Parameter(help="Wait until records appear in the folder and no more are written.")] = False,
    draw: Annotated[str | None, Parameter(help="Draw who waits for whom into this file: SVG, PNG, PDF.")] = None,
    dumps: Annotated[
        str | None,
        Parameter(help="Also write what treecast's ranks kept into this folder, as PyTorch's tools read it."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Say which ranks keep a job waiting, what they do, and who waits for them, by the records that its ranks left.

    Records are dumps of flight recorders (PyTorch's, treecast's), as pickle or JSON, also packed; the rings that treecast's
    ranks keep; logs with lines of PyTorch's watchdog; the output of ncclras; stacks of py-spy beside them. Any of the ranks may
    be missing.

    Example: treecast why records

    The exit status is 0 where nothing holds the job up, 1 where a rank or a call does, and 3 where the records name nobody.
    """
    from treecast.files.records.reading import write_dumps
    from treecast.files.records.why import why as ask

    if watch:
        _wait_for(Path(first))
    if dumps is not None:
        for line in write_dumps(first, dumps):
            warn(f"no dump of {line}")
    found = ask(first, *more, ranks=ranks, taken=_read_time(taken), ranks_from=ranks_from)
    shown = found.at(at) if at is not None else found
    return show_drawn(shown, draw, as_json, picture=found)


def _read_time(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        raise TreecastError(f"--taken {text} is no time: write 2026-01-31T03:12:00, or seconds since 1970") from None


def _wait_for(folder: Path) -> None:
    """Return when the folder holds files and none has changed for two seconds."""
    seen, since = None, time.monotonic()
    while True:
        files = sorted(folder.glob("*")) if folder.is_dir() else []
        now = [(file.name, file.stat().st_size) for file in files if file.exists()]
        if now != seen:
            seen, since = now, time.monotonic()
        # Each rank writes its own file, and nobody knows which is the last: quiet has to do.
        elif now and time.monotonic() - since > 2:
            return
        time.sleep(0.2)
