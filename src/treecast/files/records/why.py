"""Who keeps a job waiting: the report."""

import os
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from treecast.description import Described, Description, Table, count_of, describe, list_few
from treecast.errors import FormatError
from treecast.files.records.dump import Calls
from treecast.files.records.job import JobRecord, spell_ranks
from treecast.files.records.judge import judge, judge_counts, limits_of, quiet_seconds
from treecast.files.records.reading import read
from treecast.files.records.verdict import KINDS, Verdict
from treecast.files.records.waits import Waits
from treecast.units import spell_seconds

_FINE, _OPEN = ("alright", "behind"), ("stalled", "cannot")
_WIDE = 6
_LONG = 100  # seconds, from which on they are told as hours and minutes


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
    waits: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    job: JobRecord

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
        """Return the report with a table of one call at all ranks, side by side: ``GROUP:NUMBER``. Raises FormatError.

        A group may be written by its number, by its name, which several may have, or by both, as the report has it.
        """
        job, (name, _, spelled) = self.job, where.rpartition(":")
        number = spelled.replace(",", "")
        groups = [
            n for n, group in enumerate(job.groups[: job.several]) if name in (group.name, group.words, str(group))
        ]
        if not groups or not number.isdecimal():
            known = list_few([str(group) for group in job.groups[: job.several]], 8)
            first = next((group.name for group in job.groups), "0")
            raise FormatError(f"{where[:60]!r} is no call: write GROUP:NUMBER, as in {first}:12; groups are {known}")
        rows = list[tuple[object, ...]]()
        for group in groups:
            made = {int(row["rank"]): row for row in job.at(group, int(number))}
            for rank in job.groups[group].members:
                begun, ended = job.end.get((rank, group), ("?", "?"))
                what, state, line = f"not recorded; last begun {begun}, ended {ended}", "", ""
                if rank not in job.dumps:
                    what = "no record"
                elif rank in made:
                    what = str(job.signatures[int(made[rank]["like"])])
                    state = "ended" if made[rank]["ended"] else "not ended"
                    line = job.line(made[rank]["call"]).removeprefix(" at ")
                rows.append((rank, str(job.groups[group]), what, state, line))
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
    # 1. The records: a folder, files, or two folders.
    if ranks is not None and not 1 <= ranks < 1 << 24:
        raise FormatError(f"a job has at least one rank, not {ranks}: leave it out, or write how many there are")
    paths = (path, *more)
    # Two folders are two moments of one job; all else is one set of records.
    two = len(paths) == 2 and all(os.path.isdir(each) for each in paths)
    found = read(paths[-1:] if two else paths, ranks_from)
    # 2. The job, and what moved between two moments.
    job, notes, moved = JobRecord(found.dumps, found.tables, ranks), list[str](), None
    if two:
        before = read(paths[:1], ranks_from)
        notes, moved = _compare(JobRecord(before.dumps, before.tables, ranks), job)
    # 3. Who waits for whom, and whose fault it is.
    waits = Waits(job)
    verdicts, further = judge(job, waits, taken, moved=moved) if found.dumps else ([], [])
    # What RAS counts comes second: it knows how many operations were launched, and not which.
    if not verdicts or verdicts[0].kind in (*_FINE, *_OPEN):
        verdicts = judge_counts(found.counts) or verdicts
    # 4. What is told of it.
    versions = sorted({f"{each.backend} (flight recorder {each.version})" for each in found.dumps})
    return Why(
        ranks=max([job.size if found.dumps else 0, *(each.size for each in found.counts)]),
        recorded=tuple(job.dumps),
        verdicts=tuple(verdicts) or (Verdict("alright", (), "no communicator of NCCL's RAS differs"),),
        notes=tuple(notes + further),
        limits=tuple(limits_of(job)) if found.dumps else (),
        refused=tuple(found.refused),
        clock="two sets of records" if two else "as told" if taken is not None else "the times of the files",
        source=", ".join([*versions[:3], *["NCCL's RAS"] * found.has_counts]),
        quiet=quiet_seconds(job, taken),
        waits={r: {q: f"{why}: {job.spell(call)}" for q, (why, call) in out.items()} for r, out in waits.of.items()},
        job=job,
    )


def _compare(before: JobRecord, after: JobRecord) -> tuple[list[str], bool]:
    """Return notes on who moved between two sets of records, and whether all did."""
    both = [rank for rank in after.dumps if rank in before.dumps]
    last = [{rank: int(job.of(rank)["record"].max(initial=-1)) for rank in both} for job in (before, after)]
    # The place of a rank's last call in its record: the same in both means that it began none meanwhile.
    stood = [rank for rank in both if last[0][rank] == last[1][rank]]
    if not stood:
        return ["all ranks moved between the two sets of records"], bool(both)
    said = f"{spell_ranks(stood)} did not move between the two sets of records"
    return [said + (": nobody did" if len(stood) == len(both) else "")], False


@describe.register
def _(found: Why) -> Description:
    first, last = found.verdicts[0], int(found.calls["begun"].max(initial=0))
    said = f"{len(found.recorded)} of {count_of(found.ranks, 'rank')}, {count_of(len(found.calls), 'call')}, {found.source}"
    if last:
        said += f"; last call {datetime.fromtimestamp(last / 1e9):%H:%M:%S}"
    if last and found.quiet is not None:
        quiet = max(found.quiet, 0.0)
        after = spell_seconds(quiet) if quiet < _LONG else str(timedelta(seconds=round(quiet)))
        said += f", recorded {after} later by {found.clock}"
    lines: dict[str, Any] = {"why": said} | {verdict.kind.upper(): _told(verdict) for verdict in found.verdicts[:2]}
    more = len(found.refused) - 2
    lines |= {
        "chain": " <- ".join(map(str, first.chain[: -_WIDE - 1 : -1])) + " …" * (len(first.chain) > _WIDE),
        "do": KINDS[first.kind],
        "notes": list(found.notes[:3]),
        "not seen": "; ".join(found.limits),
        "refused": [*found.refused[:2], *[f"and {more} more"] * (more > 0)],
    }
    lines |= {"chain": ""} if len(first.chain) < 2 else {}
    figures = {
        "holds": found.holds,
        "ranks": found.ranks,
        "records": len(found.recorded),
        "calls": len(found.calls),
        "verdicts": [{key: value for key, value in asdict(v).items() if key != "since"} for v in found.verdicts],
        "waits": [[r, q, reason] for r, out in found.waits.items() for q, reason in out.items()],
        **{name: list(getattr(found, name)) for name in ("notes", "limits", "refused")},
        "clock": found.clock,
    }
    shown = {name: text for name, text in lines.items() if text}
    return Description(figures, shown, holds=found.holds, is_open=found.is_open)


def _told(verdict: Verdict) -> list[str]:
    """Return a verdict in a few lines."""
    who = f"rank{'s' * (len(verdict.ranks) > 1)} {spell_ranks(verdict.ranks)}" if verdict.ranks else ""
    one = not verdict.lines or verdict.kind == "crossed"
    text = ": ".join(filter(None, (who, verdict.text if one else ""))) + " (not sure)" * (not verdict.sure)
    if verdict.waiting and verdict.ranks:
        text += f"; {count_of(verdict.waiting, 'other')} wait{'s' * (verdict.waiting == 1)}"
    more = len(verdict.lines) - 4
    return [text, *verdict.lines[:4], *[f"and {more} more like these"] * (more > 0)]
