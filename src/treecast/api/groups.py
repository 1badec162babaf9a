"""Calls on several groups of ranks, as people have them: a file, records of a job, or collectives along the axes of a mesh."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from treecast.collectives import find_kind
from treecast.demands.groups import SEND, along
from treecast.demands.layouts import RankMesh
from treecast.errors import FormatError, PlanError, checks_keywords
from treecast.programs.meetings import Deadlock, GroupCall, find_deadlock, read_calls


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
    from treecast.records.job import Job, spell_ranks
    from treecast.records.reading import read

    found = read([folder])
    job = Job(found.dumps, found.tables)
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
    calls = dict.fromkeys(zip(job.calls["rank"].tolist(), job.meets.tolist(), job.turns.tolist(), strict=True))
    members = {name: set(group.members) for name, group in zip(names, job.groups, strict=True)}
    return [GroupCall(rank, names[group], names[group]) for rank, group, _ in calls], members
