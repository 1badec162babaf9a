"""Files of other tools, and calls on groups of ranks: the public functions."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from treecast.api import Planned, schedule_of
from treecast.collectives import find_kind
from treecast.collectives.demands.groups import SEND, along
from treecast.collectives.demands.layouts import RankMesh
from treecast.errors import FormatError, PlanError, checks_keywords
from treecast.files import formats
from treecast.files.formats import FileVerdict, Told
from treecast.files.formats.registry import exporter_named, format_of_name
from treecast.files.programs.meetings import Deadlock, GroupCall, find_deadlock, read_calls
from treecast.verification.report import Report


def judge(path: str | os.PathLike[str], **told: Any) -> Report | FileVerdict:
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
        The settings of the format, as in ``size="16MiB"``: docs/reference/formats/index.md lists it.

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


@checks_keywords
def deadlock(calls: str | os.PathLike[str], mesh: str = "", *, times: int = 2, slots: int = 1) -> Deadlock:
    """Say whether calls of ranks on several groups can hang, and in which order they cannot.

    Parameters
    ----------
    calls : str or path
        A file with lines ``rank: group stream blocking``, in the order of each host; a folder of records of a job that ran, as
        for ``why``; or with a ``mesh`` what each rank calls, as ``allreduce tp + send pp + reduce-scatter dp``.
    mesh : str
        As ``tp4,pp2,dp2``: axes from neighbours outwards. The calls along each axis have a stream.
    times : int
        How many times each rank of a mesh makes these calls.
    slots : int
        How many calls of a rank fit side by side on its device. What cannot hang with one never does.

    Raises
    ------
    FormatError, PlanError
        For calls that are none, or records of some ranks only.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.deadlock("allreduce tp + reduce-scatter dp", "tp2,dp2")
    >>> found.kind, found.lines[0]
    ('may', 'rank 0 holds call 1 of tp[0..1] and waits there for rank 1')
    >>> treecast.deadlock("allreduce tp + reduce-scatter dp", "tp2,dp2", slots=2).holds
    True
    """
    if mesh:
        return find_deadlock(list(_of_mesh(str(calls), RankMesh.of(mesh), times)), slots=slots)
    path = Path(calls)
    if path.is_dir():
        return find_deadlock(*_of_records(path), slots)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        said = "name a mesh, as in tp2,dp2" if " " in str(calls) else "write a file of calls or a folder of records"
        raise FormatError(f"{str(calls)!r} cannot be read ({error.__class__.__name__}): {said}") from None
    return find_deadlock(*read_calls(text), slots)


def _of_mesh(text: str, mesh: RankMesh, times: int) -> Iterator[GroupCall]:
    """Yield the calls of all ranks; each sends to the next after it has received."""
    for part in [part.split() for part in text.split("+")] * times:
        if len(part) != 2:
            raise PlanError(f"write a collective and an axis, as in 'allreduce tp', not {' '.join(part)!r}")
        kind, axes = part
        if kind != SEND:
            find_kind(kind)
        for ranks in (group.tolist() for group in along(mesh, axes.split("."))):
            for some in pairwise(ranks) if kind == SEND else [ranks]:
                name = f"{axes}[{some[0]}{'>' if kind == SEND else '..'}{some[-1]}]"
                yield from (GroupCall(rank, name, axes) for rank in some if len(some) > 1)


def _of_records(folder: Path) -> tuple[list[GroupCall], dict[str, set[int]]]:
    """Return the calls of a job that ran, and who is in its groups: the records of all ranks from their first calls on."""
    from treecast.files.records.job import JobRecord, spell_ranks
    from treecast.files.records.reading import read

    found = read([folder])
    job = JobRecord(found.dumps, found.tables)
    # A record that begins late has lost the first calls, and the order is not known without them.
    lacking = [rank for rank in range(job.size) if rank not in job.dumps or job.of(rank)["record"][:1].any()]
    if lacking or (job.meets < 0).any():
        many = len(lacking) > 1
        who = (
            f"rank{'s' * many} {spell_ranks(lacking)} lack{'s' * (not many)} calls"
            if lacking
            else "some sends have no known receiver"
        )
        raise FormatError(f"{who}: only the records of all ranks from their first calls on tell whether a job can hang")
    names = [
        f"{group}" if number < job.several else f"{group} {group.members[0]}>{group.members[1]}"
        for number, group in enumerate(job.groups)
    ]
    # Several calls under one number (coalesced) are one: each is taken once, in order.
    calls = dict.fromkeys(zip(job.calls["rank"].tolist(), job.meets.tolist(), job.turns.tolist(), strict=True))
    members = {name: set(group.members) for name, group in zip(names, job.groups, strict=True)}
    return [GroupCall(rank, names[group], names[group]) for rank, group, _ in calls], members
