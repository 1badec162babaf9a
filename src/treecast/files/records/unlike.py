"""The first call of a group at which ranks differ, and which of them is odd."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from treecast.files.records.dump import Calls, is_exchange
from treecast.files.records.job import JobRecord, spell_ranks
from treecast.files.records.verdict import Verdict
from treecast.ragged import Ints

# A slip is a few calls long. Over longer stretches repeating programs fit at any shift.
_MOST_SHIFT, _LOOK = 8, 6


def find_unlike(job: JobRecord) -> list[tuple[Verdict, bool]]:
    """Return a verdict for each group whose ranks differ, on its first such call, the earliest first.

    With it goes whether that call ended at all ranks that made it, so that it keeps nobody waiting.
    """
    made = job.common
    if not len(made):
        return []
    starts, counts = job.runs()
    # Of each call the least and the greatest signature number: equal where all are alike.
    differ = np.minimum.reduceat(made["like"], starts) != np.maximum.reduceat(made["like"], starts)
    sent, received = (np.add.reduceat(_moved(job, made, name), starts) for name in ("sent", "received"))
    exchanges = np.array([is_exchange(signature.kind) for signature in job.signatures])
    members = np.array([len(group.members) for group in job.groups])
    whole = exchanges[made["like"][starts]] & (counts == members[made["group"][starts]])
    # What is sent in all must be received in all. Where splits are recorded, each pair must fit as well.
    splits = whole & ((sent != received) | _misfit(job, starts, counts, whole))
    found, seen = list[tuple[Verdict, bool]](), set[int]()
    for run in np.flatnonzero(differ | splits).tolist():
        group, number = int(made["group"][starts[run]]), int(made["number"][starts[run]])
        if group not in seen:
            seen.add(group)
            verdict = _odd(job, group, number) if differ[run] else _splits(job, group, number)
            found.append((verdict, bool(job.at(group, number)["ended"].all()) and not job.vague))
    return sorted(found, key=lambda pair: pair[0].since)


def _moved(job: JobRecord, rows: Calls, name: str) -> Ints:
    """Return how many elements rows of ``made`` have sent or received."""
    return job.kinds[name][job.calls["kind"][rows["call"]]]


def _misfit(job: JobRecord, starts: Ints, counts: Ints, whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which calls have splits that do not fit, of ``whole`` ones, which all members made."""
    number, known = job.kinds["splits"][job.calls["kind"][job.common["call"]]], dict[bytes, bool]()
    found = np.zeros(len(starts), np.bool_)
    for run in np.flatnonzero(whole & (np.minimum.reduceat(number, starts) > 0)).tolist():
        own = _by_place(job, job.common[starts[run] : starts[run] + counts[run]])[0]
        if (key := own.tobytes()) not in known:
            known[key] = len(_unequal(job, own)) > 0
        found[run] = known[key]
    return found


def _by_place(job: JobRecord, rows: Calls) -> tuple[Ints, Ints]:
    """Return the splits of what all members made under one number, and the calls, by their places in the group."""
    members = np.array(job.groups[int(rows["group"][0])].members)
    calls = rows["call"][np.searchsorted(rows["rank"], members)]
    return job.kinds["splits"][job.calls["kind"][calls]], calls


def _unequal(job: JobRecord, numbers: Ints) -> list[tuple[int, int]]:
    """Return the pairs of places in a group of which the one does not send what the other receives."""
    which: list[int] = numbers.tolist()
    sides = [job.splits[number] for number in which]
    if any(len(side) != len(sides) for both in sides for side in both):
        return []
    sent, received = np.array(sides, np.int64).transpose(1, 0, 2)
    return [(a, b) for a, b in np.argwhere(sent != received.T).tolist()]


def _splits(job: JobRecord, group: int, number: int) -> Verdict:
    """Return the verdict on an exchange: the pairs that do not fit where splits are recorded, else the sums."""
    rows, members = job.at(group, number), job.groups[group].members
    kind, since = job.signatures[int(rows["like"][0])].kind, int(rows["begun"].min())
    own, calls = _by_place(job, rows)
    if own.all() and (pairs := _unequal(job, own)):
        (a, b), each = pairs[0], Counter(place for pair in pairs for place in set(pair))
        # A rank that is in every pair that does not fit is the one that is wrong.
        (odd, many), *others = each.most_common(2)
        sure = many == len(pairs) > 1 and (not others or others[0][1] < many)
        named = [odd] if sure else sorted(each)
        said = f"sends {job.splits[int(own[a])][0][b]:,} elements", f"expects {job.splits[int(own[b])][1][a]:,}"
        text = (
            f"{members[a]} {said[0]} to {members[b]}{job.line(int(calls[a]))}, which {said[1]}{job.line(int(calls[b]))}"
        )
        more = f"{len(pairs) - 1} more of its pairs do not fit" if sure else "which of them is wrong is not recorded"
        text += f", in {kind}, call {number:,} of {job.groups[group]}; {more}"
        return Verdict("splits", tuple(members[place] for place in named), text, sure=sure, since=since)
    sent, received = (int(_moved(job, rows, name).sum()) for name in ("sent", "received"))
    text = f"{kind}, call {number:,} of {job.groups[group]}, sends {sent:,} elements and receives {received:,}"
    text += "; whose splits are wrong is not recorded"
    return Verdict("splits", tuple(rows["rank"].tolist()), text, sure=False, since=since)


def _odd(job: JobRecord, group: int, number: int) -> Verdict:
    """Return the verdict on a call whose signatures differ: the odd ones by majority, else by groups of the same title."""
    # 1. What is usual.
    rows = job.at(group, number)
    kinds = dict(zip(rows["rank"].tolist(), rows["like"].tolist(), strict=True))
    (usual, most), (_, second), *_ = Counter(kinds.values()).most_common()
    sure = most > second
    # a tie: groups of the same title tell which call is usual
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


def _align(job: JobRecord, group: int, number: int, odd: int, usual: int) -> tuple[str, int]:
    """Return how an odd rank's calls fit those of the others again: skipped or extra, how many; swapped; "" where none fits."""
    ends = {rank: job.end.get((rank, group), (0, 0))[0] for rank in (odd, usual)}

    def kind(rank: int, n: int) -> int:
        row = job.made_by(rank, group, n) if n <= ends[rank] else None
        return -1 if row is None else int(row["like"])

    after = kind(odd, number + 1)
    if after >= 0 and after == kind(usual, number) and kind(odd, number) == kind(usual, number + 1):
        return "swapped", 1
    # The next calls fit as they are: this one alone differs, so none was left out or added.
    pairs = [(kind(odd, number + i), kind(usual, number + i)) for i in range(1, _LOOK + 1)]
    straight = [a == b for a, b in pairs if a >= 0 and b >= 0]
    if straight and all(straight):
        return "", 0
    # The least shift first: the simplest slip that explains all that follows.
    for shift in range(1, _MOST_SHIFT + 1):
        for how, early, late in (("skipped", odd, usual), ("extra", usual, odd)):
            pairs = [(kind(early, number + i), kind(late, number + shift + i)) for i in range(_LOOK)]
            fits = [a == b for a, b in pairs if a >= 0 and b >= 0]
            # one match is enough for a shift of one call, where no later calls are there to compare
            if all(fits) and len(fits) >= (2 if shift > 1 or straight else 1):
                return how, shift
    return "", 0
