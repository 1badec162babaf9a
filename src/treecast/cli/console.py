"""What the command line shows: tables and data on standard output, progress and chatter on standard error."""

import json
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

from treecast.progress import reporting


def show_json(data: object) -> None:
    """Print data as JSON on standard output."""
    show_text(json.dumps(data, ensure_ascii=False, indent=2))


def show_text(text: str) -> None:
    """Print text on standard output as it is."""
    print(text)  # noqa: T201


def say(text: str) -> None:
    """Print a remark on standard error, when that is a terminal."""
    if is_terminal(sys.stderr):
        print(text, file=sys.stderr)  # noqa: T201


def show_figures(figures: Mapping[str, object]) -> None:
    """Print names and values, a line each; values in a list below one another."""
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        first, *others = cast(list[object], value) if isinstance(value, list) else [value]
        show_text(f"{name:<{width}}  {spelled(first)}")
        for other in others:
            show_text(f"{'':<{width}}  {spelled(other)}")


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], marks: Mapping[str, str] | None = None
) -> None:
    """Print a table; ``marks`` gives the style of cells with certain contents."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        cells = [spelled(value) for value in row]
        table.add_row(*(Text(cell, (marks or {}).get(cell, "")) for cell in cells))
    console = Console()
    if not console.is_terminal:
        console.width = 200
    with console.capture() as shown:
        console.print(table, highlight=False)
    for line in shown.get().splitlines():
        show_text(line.rstrip())


def spelled(value: object) -> str:
    """Return a value as people read it: 1,234,567 and 0.0123."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether people are looking at standard output or standard error."""
    return stream is not None and stream.isatty()


@contextmanager
def progress(title: str, after: float = 0) -> Generator[None]:
    """Show a bar on standard error for as long as the work takes; nothing when that is no terminal.

    It shows what the work inside reports (``treecast.progress.report``). ``after``: it appears when so many seconds have
    passed, and something is reported.
    """
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task, began = bar.add_task(title, total=None), time.monotonic()

    def show(done: int, total: int, what: str) -> None:
        if time.monotonic() - began >= after:
            bar.start()  # once: it does nothing to a bar that is there
            bar.update(task, completed=done, total=total or None, description=what or title)

    if not after:
        bar.start()
    try:
        with reporting(show):
            yield
    finally:
        bar.stop()
