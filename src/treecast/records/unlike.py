"""The first call of a group at which ranks differ, and which of them is odd."""

from collections import Counter

import numpy as np

from treecast.ragged import Ints
from treecast.records.dump import Calls, is_exchange
from treecast.records.job import Job, spell_ranks
from treecast.records.verdict import Verdict

_MOST_SHIFT, _LOOK = 8, 6


def find_unlike(job: Job) -> list[tuple[Verdict, bool]]:
    """Return a verdict for each group whose ranks differ, on its first such call, the earliest first.

    With it goes whether that call ended at all ranks that made it, so that it keeps nobody waiting.
    """
    made = job.common
    if not len(made):
        return []
    starts, counts = job.runs()
    differ = np.minimum.reduceat(made["like"], starts) != np.maximum.reduceat(made["like"], starts)
    sent, received = (np.add.reduceat(_moved(job, made, name), starts) for name in ("sent", "received"))
    exchanges = np.array([is_exchange(signature.kind) for signature in job.signatures])
    members = np.array([len(group.members) for group in job.groups])
    splits = (sent != received) & exchanges[made["like"][starts]] & (counts == members[made["group"][starts]])
    found, seen = list[tuple[Verdict, bool]](), set[int]()
    for run in np.flatnonzero(differ | splits).tolist():
        group, number = int(made["group"][starts[run]]), int(made["number"][starts[run]])
        if group not in seen:
            seen.add(group)
            verdict = _odd(job, group, number) if differ[run] else _splits(job, group, number)
            found.append((verdict, bool(job.at(group, number)["ended"].all()) and not job.vague))
    return sorted(found, key=lambda pair: pair[0].since)


def _moved(job: Job, rows: Calls, name: str) -> Ints:
    """Return how many elements rows of ``made`` have sent or received."""
    return job.kinds[name][job.calls["kind"][rows["call"]]]


def _splits(job: Job, group: int, number: int) -> Verdict:
    rows = job.at(group, number)
    kind = job.signatures[int(rows["like"][0])].kind
    sent, received = (int(_moved(job, rows, name).sum()) for name in ("sent", "received"))
    text = f"{kind}, call {number:,} of {job.groups[group]}, sends {sent:,} elements and receives {received:,}"
    text += "; whose splits are wrong is not recorded"
    return Verdict("splits", tuple(rows["rank"].tolist()), text, sure=False, since=int(rows["begun"].min()))


def _odd(job: Job, group: int, number: int) -> Verdict:
    """Return the verdict on a call whose signatures differ: the odd ones by majority, else by groups of the same title."""
    # 1. What is usual.
    rows = job.at(group, number)
    kinds = dict(zip(rows["rank"].tolist(), rows["like"].tolist(), strict=True))
    (usual, most), (_, second), *_ = Counter(kinds.values()).most_common()
    sure = most > second
    if not sure and job.groups[group].words not in ("", "undefined"):
        alike = [
            n
            for n, other in enumerate(job.groups[: job.several])
            if n != group and other.words == job.groups[group].words
        ]
        elsewhere = Counter(
            kind for n in alike for kind in job.at(n, number)["like"].tolist() if kind in kinds.values()
        )
        if elsewhere:
            usual, sure = elsewhere.most_common(1)[0][0], True
    odd = sorted(rank for rank, kind in kinds.items() if kind != usual)
    named = odd if sure else sorted(kinds)
    one, other = odd[0], next(rank for rank, kind in kinds.items() if kind == usual)

    # 2. The sentence.
    call = {int(row["rank"]): int(row["call"]) for row in rows}
    like_one = [rank for rank in odd if kinds[rank] == kinds[one]]
    others = [rank for rank, kind in kinds.items() if kind == usual]
    how, shift = _align(job, group, number, one, other) if sure and len(odd) == 1 else ("", 0)
    text = f"{spell_ranks(like_one)} called {job.signatures[kinds[one]]}{job.line(call[one])}, "
    text += (
        f"{spell_ranks(others)} {job.signatures[usual]}{job.line(call[other])}: call {number:,} of {job.groups[group]}"
    )
    if how == "swapped":
        text += f"; {one} has this call and the next swapped"
    elif how:
        did = {"skipped": "left out", "extra": "added"}[how]
        text += f"; all fits if {one} {did} {shift} call{'s' * (shift > 1)} here"
    text += "" if sure else "; which of them is wrong is not recorded"
    kind = how if how in ("skipped", "extra") else "unlike"
    places = tuple(job.places[int(job.calls["place"][call[rank]])] for rank in (one, other))
    return Verdict(kind, tuple(named), text, sure, since=int(rows["begun"].min()), places=places)


def _align(job: Job, group: int, number: int, odd: int, usual: int) -> tuple[str, int]:
    """Return how an odd rank's calls fit those of the others again: skipped or extra, how many; swapped; "" where none fits."""
    ends = {rank: job.end.get((rank, group), (0, 0))[0] for rank in (odd, usual)}

    def kind(rank: int, n: int) -> int:
        row = job.made_by(rank, group, n) if n <= ends[rank] else None
        return -1 if row is None else int(row["like"])

    after = kind(odd, number + 1)
    if after >= 0 and after == kind(usual, number) and kind(odd, number) == kind(usual, number + 1):
        return "swapped", 1
    pairs = [(kind(odd, number + i), kind(usual, number + i)) for i in range(1, _LOOK + 1)]
    straight = [a == b for a, b in pairs if a >= 0 and b >= 0]
    if straight and all(straight):
        return "", 0
    for shift in range(1, _MOST_SHIFT + 1):
        for how, early, late in (("skipped", odd, usual), ("extra", usual, odd)):
            pairs = [(kind(early, number + i), kind(late, number + shift + i)) for i in range(_LOOK)]
            fits = [a == b for a, b in pairs if a >= 0 and b >= 0]
            if all(fits) and len(fits) >= (2 if shift > 1 or straight else 1):
                return how, shift
    return "", 0
