"""The judge of a job: rules in the order in which they are told, and what the records do not show."""

from dataclasses import replace

import numpy as np

from treecast.description import count_of
from treecast.files.records.job import JobRecord, spell_ranks
from treecast.files.records.ras import CallCounts
from treecast.files.records.steps import find_strays
from treecast.files.records.unlike import find_unlike
from treecast.files.records.verdict import Verdict
from treecast.files.records.waits import ROOTED, Waits

# Clocks of hosts differ by some ms. One late call is nothing; five are a habit.
_LATE, _CALLS = 0.02, 5
_MOST = 4


def judge(
    job: JobRecord, waits: Waits, taken: float | None = None, *, moved: bool | None = None
) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts on a job, the first first, and notes.

    ``taken``: when the records were made, in seconds since 1970. ``moved``: whether ranks moved between two sets of records.
    """
    notes, early = list[str](), _find_early(job)
    if early:
        notes.append(f"the records of {spell_ranks(early)} are older: others ended calls that these had not made")
    runs = ((bool(early) or _was_running(job, taken)) if moved is None else moved) and not job.is_over

    # 1. Who differs, and who is waited for; in a job that runs, everybody waits a moment.
    unlike, blamed = find_unlike(job), waits.blame()
    found = [verdict for verdict, _ in unlike[:1]]
    if unlike[1:]:
        notes.append(f"later calls of {count_of(len(unlike) - 1, 'other group')} differ as well")
    # Else the difference is past, and is told beside whoever is waited for now.
    if found and not unlike[0][1]:
        blamed = []  # they wait since the calls differ
    alive = [verdict for verdict in blamed if not job.gone.issuperset(verdict.ranks)] if runs else []
    if alive:
        notes.append("the job was running when it was recorded: two sets of records a minute apart would tell more")
        blamed = [verdict for verdict in blamed if verdict not in alive]
    found += _firm(job, blamed, notes)

    # 2. Where nobody waits: who is late, and who is out of step all the same.
    found = found or _find_behind(job)
    held, whole = sum(map(bool, waits.held.values())), all(job.ends_any(rank) for rank in job.dumps)
    for rank, (made, theirs) in sorted(find_strays(job).items())[:3] if whole and not found else ():
        said = f"{rank} made {job.spell(made)}, ranks of its kind {job.spell(theirs)}"
        notes.append(f"{said}: it may hang another day")
    if not found and held and not runs:
        text = f"{count_of(held, 'rank')} in calls that do not end, and too little is recorded to say why"
        found = [Verdict("cannot", (), text)]
    if not found and job.is_over:
        found = [Verdict("cannot", (), "all processes ended without a word; which was the first is not recorded")]
    return (found or [Verdict("alright", (), "no rank waits for another, and all calls agree")])[:_MOST], notes


def _firm(job: JobRecord, blamed: list[Verdict], notes: list[str]) -> list[Verdict]:
    """Return the verdicts on waiting that stand: those without a record only where nobody else is to blame, symptoms last."""
    ended = sorted((verdict for verdict in blamed if verdict.kind == "ended"), key=lambda verdict: verdict.since)
    # the first in time is told as the cause, the others beside it
    if ended:
        first, later = ended[0], tuple(rank for verdict in ended[1:] for rank in verdict.ranks)
        # So many missing records are files that were not given rather than deaths.
        if len(later) >= max(4, len(job.dumps)):
            text = f"{1 + len(later)} of {job.size} ranks that are waited for left no record"
            ended = [Verdict("cannot", (), text, waiting=first.waiting)]
        else:
            text = first.text + (
                f"; {spell_ranks(later)} left none or died, too, and are waited for later" if later else ""
            )
            ended = [replace(first, text=text, awaited=later, sure=not later)]
    firm = [verdict for verdict in blamed if verdict.kind not in ("stalled", "cannot", "ended")]
    if firm and ended:
        lost = sorted({*ended[0].ranks, *ended[0].awaited})
        notes.append(f"no record of {spell_ranks(lost)}, for whom others wait as well" if lost else ended[0].text)
    return firm or ended or [verdict for verdict in blamed if verdict.kind in ("stalled", "cannot")]


def _find_early(job: JobRecord) -> list[int]:
    """Return ranks whose records are older than others': these ended calls of all that those had not made."""
    if job.vague:
        return []
    found, most = set[int](), dict[int, int]()
    for (rank, group), (_, ended) in job.end.items():
        if group < job.several and ended > most.get(group, 0) and (row := job.made_by(rank, group, ended)) is not None:
            kind = job.signatures[int(row["like"])].kind
            # Nobody ends an allreduce before all have begun it. Calls with a root tell nothing of that kind.
            if row["completed"] and kind not in ROOTED and "+" not in kind:
                most[group] = ended
    for group, number in most.items():
        for rank in job.groups[group].members:
            recorded = rank in job.dumps and rank not in job.gone and not job.is_cut(rank, group)
            if recorded and job.end.get((rank, group), (0, 0))[0] < number:
                found.add(rank)
    return sorted(found)


def quiet_seconds(job: JobRecord, taken: float | None = None) -> float | None:
    """Return how long before the records were made the last call was, None where that is not known."""
    written = taken if taken is not None else max((dump.written for dump in job.dumps.values()), default=0.0)
    last = int(job.calls["begun"].max(initial=0))
    return written - last / 1e9 if written and last else None


def _was_running(job: JobRecord, taken: float | None) -> bool:
    """Return whether the last call is so near to the moment of recording that the job may just have been between two."""
    quiet = quiet_seconds(job, taken)
    gaps = [np.diff(np.sort(calls["begun"][-200:])) for rank in job.dumps if len(calls := job.of(rank)) > 2]
    if quiet is None or sum(map(len, gaps)) <= 20:
        return False
    # Ten times the usual gap between calls, within reason. A clock that is 1.5 s behind is no surprise.
    return -1.5 <= quiet < min(max(10 * float(np.median(np.concatenate(gaps))) / 1e9, 0.5), 30)


def _find_behind(job: JobRecord) -> list[Verdict]:
    """Return a verdict on a rank that comes late again and again, by the median over calls that all made."""
    made = job.common
    if not len(made):
        return []
    starts, counts = job.runs()
    sizes = np.array([len(group.members) for group in job.groups])[made["group"][starts]]
    late = made["begun"] - np.repeat(np.minimum.reduceat(made["begun"], starts), counts)
    full = np.repeat((counts == sizes) & (counts > 1), counts)
    late, ranks = late[full] / 1e9, made["rank"][full]
    order = np.argsort(ranks, kind="stable")
    names, begins = np.unique(ranks[order], return_index=True)
    parts = dict(zip(names.tolist(), np.split(late[order], begins[1:]), strict=False))
    medians = {rank: float(np.median(part)) for rank, part in parts.items()}
    for rank, part in parts.items():
        others = max((median for other, median in medians.items() if other != rank), default=0.0)
        if len(part) >= _CALLS and medians[rank] > max(_LATE, 5 * others):
            text = f"{rank} comes {medians[rank] * 1e3:.0f} ms after the first (median of {len(part)} calls; clocks as they are)"
            return [Verdict("behind", (rank,), text, waiting=len(parts) - 1)]
    return []


def judge_counts(counts: list[CallCounts]) -> list[Verdict]:
    """Return verdicts on what NCCL's RAS tells: awaited are those who have launched the fewest operations."""
    found = list[Verdict]()
    for each in counts:
        if each.missing:
            text = f"{spell_ranks(each.missing)} of communicator {each.name} do not answer NCCL's RAS: died or froze"
            found.append(Verdict("ended", each.missing, text, waiting=each.size - len(each.missing)))
        if len(each.rows) < 2:
            continue
        (least, many, named), *ahead = each.rows
        before = tuple(rank for _, _, ranks in ahead for rank in ranks)
        text = f"{each.kind or 'operation'} {least + 1:,} of communicator {each.name}: "
        if len(named) == many:
            text += f"{spell_ranks(named)} launched {least:,} only, {count_of(each.size - many, 'rank')} wait"
            found.append(Verdict("absent", named, text, waiting=each.size - many))
        else:
            who = f"{spell_ranks(before)} wait" if len(before) == each.size - many else f"{each.size - many} wait"
            text += f"{many} ranks launched {least:,} only, {who} for one or more of these: which, RAS does not tell"
            found.append(Verdict("cannot", (), text, False, each.size - many))
    return found


def limits_of(job: JobRecord) -> list[str]:
    """Return what the records do not show."""
    lost = [rank for rank in range(job.size) if rank not in job.dumps]
    cut = [rank for rank, dump in job.dumps.items() if dump.is_cut]
    some = [rank for rank in job.dumps if not job.ends_any(rank)]
    several = sum(group.is_open for group in job.groups)
    found = {
        f"rank{'s' * (len(lost) > 1)} {spell_ranks(lost)} (no record)": lost,
        f"first calls of {count_of(len(cut), 'rank')} (records begin late)": cut,
        f"calls that ended of {count_of(len(some), 'rank')}": some,
        f"members of {count_of(several, 'group')}": several,
        "roots, operations of sums, splits": len(job.splits) == 1
        and not any(signature.more for signature in job.signatures),
        "sends and receives, and whether calls ended or failed (gloo)": job.vague,
    }
    return [said for said, is_so in found.items() if is_so]
