"""Who keeps a job waiting: the report."""

import os
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from treecast.description import Described, Description, Table, count_of, describe, list_few
from treecast.errors import FormatError
from treecast.records.dump import Calls
from treecast.records.job import Job, spell_ranks
from treecast.records.judge import judge, judge_counts, limits_of, quiet_seconds
from treecast.records.reading import Found, read
from treecast.records.verdict import KINDS, Verdict
from treecast.records.waits import Waits
from treecast.units import spell_seconds

_FINE, _OPEN = ("alright", "behind"), ("stalled", "cannot")
_WIDE = 6


@dataclass(frozen=True, repr=False, kw_only=True)
class Why(Described):
    """What the records of a job say. It is true when nothing holds the job up.

    ``ranks``: how many the job has. ``recorded``: those of which records were read. ``verdicts``: the first is the cause.
    ``notes``: what else the records show. ``limits``: what they do not. ``refused``: files not read, and why. ``clock``:
    which clock tells when they were made. ``waits``: for each rank those it waits for, and why. ``calls``: all calls as columns.

    >>> import treecast
    >>> treecast.why("examples/records", taken=2e9).holds
    False
    """

    ranks: int
    recorded: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    clock: str = ""
    source: str = ""
    quiet: float | None = None
    last: int = 0
    waits: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    job: Job

    @property
    def holds(self) -> bool:
        """Whether nothing holds the job up."""
        return self.verdicts[0].kind in _FINE

    @property
    def is_open(self) -> bool:
        """Whether something does, and the records name nobody."""
        return self.verdicts[0].kind in _OPEN

    @property
    def calls(self) -> Calls:
        """All calls, a row for each, sorted by rank."""
        return self.job.calls

    def at(self, where: str) -> Description:
        """Return the report with a table of one call at all ranks, side by side: ``GROUP:NUMBER``. Raises FormatError."""
        job, (name, _, number) = self.job, where.rpartition(":")
        groups = [n for n, group in enumerate(job.groups[: job.several]) if name in (group.name, group.words)]
        if not groups or not number.isdecimal():
            known = list_few([group.name for group in job.groups[: job.several]], 8)
            raise FormatError(f"{where[:60]!r} is no call: write GROUP:NUMBER, as in 0:12; groups are {known}")
        rows = list[tuple[object, ...]]()
        for group in groups:
            made = {int(row["rank"]): row for row in job.at(group, int(number))}
            for rank in job.groups[group].members:
                row = made.get(rank)
                if row is None:
                    begun, ended = job.end.get((rank, group), ("?", "?"))
                    said = "no record" if rank not in job.dumps else f"not recorded; last begun {begun}, ended {ended}"
                    rows.append((rank, str(job.groups[group]), said, "", ""))
                else:
                    place = job.places[int(job.calls["place"][row["call"]])]
                    what = str(job.signatures[int(row["like"])])
                    rows.append((rank, str(job.groups[group]), what, "ended" if row["ended"] else "not ended", place))
        table = Table(("rank", "group", "call", "state", "line"), rows)
        return describe(self).adding({"at": [list(row) for row in rows]}, {}, table)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        first = self.verdicts[0]
        return f"<Why: {first.kind} {spell_ranks(first.ranks, 4)}, {len(self.recorded)} of {self.ranks} ranks recorded>"


def why(
    path: str | os.PathLike[str],
    *more: str | os.PathLike[str],
    ranks: int | None = None,
    taken: float | None = None,
    ranks_from: str = "",
) -> Why:
    """Say which ranks keep a job waiting, by the records that its ranks left.

    Parameters
    ----------
    path, more : str or path
        Folders, files and archives of records: dumps of flight recorders (pickle or JSON), logs with lines of PyTorch's watchdog,
        the output of ``ncclras``. Two folders: the same job at two times, the earlier first.
    ranks : int, optional
        How many ranks the job has, where the records do not tell.
    taken : float, optional
        When the records were made, in seconds since 1970; by default the newest file tells.
    ranks_from : str, optional
        A regular expression whose first group is the rank in a file's name.

    Returns
    -------
    Why
        It is true when nothing holds the job up; ``verdicts`` name the ranks.

    Raises
    ------
    FormatError
        When there is no record of a job.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.why("examples/records", taken=2e9)
    >>> found.verdicts[0].kind, found.verdicts[0].ranks
    ('absent', (2,))
    """
    if ranks is not None and not 1 <= ranks < 1 << 24:
        raise FormatError(f"a job has at least one rank, not {ranks}: leave it out, or write how many there are")
    paths, further = (path, *more), list[str]()
    two = len(paths) == 2 and all(os.path.isdir(each) for each in paths)
    found = read(paths[-1:] if two else paths, ranks_from)
    job = Job(found.dumps, found.tables, ranks)
    notes, moved = (
        _compare(Job((before := read(paths[:1], ranks_from)).dumps, before.tables, ranks), job)
        if two
        else (list[str](), None)
    )
    waits = Waits(job)
    verdicts: list[Verdict] = []
    if found.dumps:
        verdicts, further = judge(job, waits, taken, moved=moved)
    told = judge_counts(found.counts)
    if not verdicts or verdicts[0].kind in (*_FINE, *_OPEN):
        verdicts = told + [verdict for verdict in verdicts if not told]
    quiet = quiet_seconds(job, taken)
    return Why(
        ranks=max([job.size if found.dumps else 0, *(each.size for each in found.counts)]),
        recorded=tuple(job.dumps),
        verdicts=tuple(verdicts) or (Verdict("alright", (), "no communicator of NCCL's RAS differs"),),
        notes=tuple(notes + further),
        limits=tuple(limits_of(job)) if found.dumps else (),
        refused=tuple(found.refused),
        clock="two sets of records" if two else "as told" if taken is not None else "the times of the files",
        source=_source(found),
        quiet=quiet,
        last=int(job.calls["begun"].max(initial=0)),
        waits={
            r: {q: f"{wait.reason}: {job.spell(wait.call)}" for q, wait in out.items()} for r, out in waits.of.items()
        },
        job=job,
    )


def _source(found: Found) -> str:
    versions = sorted({f"{dump.backend} {dump.version}".strip() for dump in found.dumps})
    return ", ".join([*versions[:3], *["NCCL's RAS"] * bool(found.counts)])


def _compare(before: Job, after: Job) -> tuple[list[str], bool]:
    """Return notes on who moved between two sets of records, and whether all did."""
    both = [rank for rank in after.dumps if rank in before.dumps]
    last = [{rank: int(job.of(rank)["record"].max(initial=-1)) for rank in both} for job in (before, after)]
    stood = [rank for rank in both if last[0][rank] == last[1][rank]]
    if not stood:
        return ["all ranks moved between the two sets of records"], bool(both)
    return [
        f"{spell_ranks(stood)} did not move between the two sets of records"
        + ("" if len(stood) < len(both) else ": nobody did")
    ], False


@describe.register
def _(found: Why) -> Description:
    job = found.job
    lines: dict[str, Any] = {}
    for verdict in found.verdicts[:2]:
        lines[verdict.kind.upper()] = _told(verdict)
    first = found.verdicts[0]
    if len(first.chain) > 1:
        lines["chain"] = " <- ".join(map(str, reversed(first.chain[-_WIDE:]))) + (
            " …" if len(first.chain) > _WIDE else ""
        )
    if KINDS[first.kind]:
        lines["do"] = KINDS[first.kind]
    if found.notes:
        lines["notes"] = list(found.notes[:3])
    if found.limits:
        lines["not seen"] = "; ".join(found.limits)
    if found.refused:
        lines["refused"] = [*found.refused[:2], *[f"and {len(found.refused) - 2} more"] * (len(found.refused) > 2)]
    said = (
        f"{len(found.recorded)} of {count_of(found.ranks, 'rank')}, {count_of(len(job.calls), 'call')}, {found.source}"
    )
    if found.last:
        said += f"; last call {datetime.fromtimestamp(found.last / 1e9):%H:%M:%S}"
        ago = max(found.quiet or 0.0, 0.0)
        said += f", recorded {spell_seconds(ago)} later by {found.clock}" if found.quiet is not None else ""
    verdicts = [{key: value for key, value in asdict(v).items() if key != "since"} for v in found.verdicts]
    figures: dict[str, Any] = {
        "holds": found.holds,
        "ranks": found.ranks,
        "records": len(found.recorded),
        "calls": len(job.calls),
    }
    figures |= {
        "verdicts": verdicts,
        "waits": [[r, q, reason] for r, out in found.waits.items() for q, reason in out.items()],
    }
    figures |= {name: list(getattr(found, name)) for name in ("notes", "limits", "refused")} | {"clock": found.clock}
    return Description(figures, {"why": said, **lines}, holds=found.holds)


def _told(verdict: Verdict) -> list[str]:
    """Return a verdict in a few lines."""
    many = f"rank{'s' * (len(verdict.ranks) > 1)} {spell_ranks(verdict.ranks)}: " if verdict.ranks else ""
    waiting = (
        f"; {count_of(verdict.waiting, 'other')} wait" + "s" * (verdict.waiting == 1)
        if verdict.waiting and verdict.ranks
        else ""
    )
    text = [f"{many}{verdict.text}"] if not verdict.lines or verdict.kind == "crossed" else [f"{many.rstrip(': ')}"]
    more = [*verdict.lines[:4], *[f"and {len(verdict.lines) - 4} more like these"] * (len(verdict.lines) > 4)]
    unsure = "" if verdict.sure else " (not sure)"
    return [text[0] + unsure + waiting, *more]
