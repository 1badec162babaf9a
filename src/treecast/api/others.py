"""Files of other tools: judged, and written."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treecast import formats
from treecast.api.schedules import Planned, schedule_of
from treecast.formats import Told
from treecast.formats.registry import exporter_named, format_of_name

if TYPE_CHECKING:
    from treecast.formats import FileVerdict
    from treecast.verification.report import Report


def judge(path: str | os.PathLike[str], **told: Any) -> "Report | FileVerdict":
    """Judge a file, whoever wrote it.

    Parameters
    ----------
    path : str or path
        The file, or a folder of traces; ``"-"`` is standard input.
    **told
        Facts that the file leaves open: ``network``, ``collective``, ``root``, ``messages``, ``size`` (bytes of all blocks)
        and ``allow``, rules that it may break.

    Returns
    -------
    FileVerdict or Report
        It is true when no rule is broken. A file of MSCCL, MSCCL++, GOAL or SimGrid is judged by the rules of its format, which
        ``treecast help rules`` lists; a schedule by its own.

    Raises
    ------
    FormatError
        When the file cannot be read, or says such a fact itself.

    Examples
    --------
    >>> import tempfile, treecast
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = treecast.export(treecast.plan("broadcast", "ring:4"), f"{folder}/ring.xml")
    ...     verdict = treecast.judge(f"{folder}/ring.xml", network="ring:4")
    >>> verdict.holds, verdict.messages, verdict.steps
    (True, 3, 2)
    """
    return formats.judge(path, replace(Told(), **told))[0]


def export(schedule: Planned, path: str | os.PathLike[str], to: str | None = None, **settings: Any) -> str:
    """Write a schedule in the format of another tool.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it.
    path : str or path
        The file or new folder to write; ``"-"`` is standard output.
    to : str, optional
        The format; by default the name of the output tells.
    **settings
        The settings of the format, as in ``size="16MiB"``: docs/formats.md lists it.

    Returns
    -------
    str
        A warning about the result, such as chunks that are too short for the tool; mostly nothing.

    Raises
    ------
    FormatError
        When the format cannot hold the schedule: the limit that is passed, and a size that would fit.

    Examples
    --------
    >>> import tempfile, treecast
    >>> schedule = treecast.plan("broadcast", "ring:4", messages=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.export(schedule, f"{folder}/ring.simgrid", size=4096)[:25]
    'chunks have 1,024 bytes; '
    """
    entry = exporter_named(to or format_of_name(path))
    found, asked = schedule_of(schedule), entry.read_settings(settings)
    formats.save(found, path, entry.name, **asked)
    return entry.advise(found, **asked)
