"""Which send meets which receive, when each begins if nothing but its waits holds it up, and what waits in a circle."""

from dataclasses import dataclass

import numpy as np

from treecast.formats.operations.program import RECEIVE, SEND, WORK, Program
from treecast.ragged import Ints, places, starts


@dataclass(frozen=True, eq=False)
class Pairs:
    """The messages of a program: the n-th send of a source, destination and tag meets the n-th receive.

    Parameters
    ----------
    send, receive : int64 (messages,)
        The operations that meet.
    alone : int64 (operations,)
        The sends and receives that meet nothing.
    unequal : int64 (messages,)
        The messages of which as many bytes are not awaited as are sent.
    """

    send: Ints
    receive: Ints
    alone: Ints
    unequal: Ints


def find_pairs(program: Program) -> Pairs:
    """Return which send meets which receive."""
    moves = np.flatnonzero(program.word != WORK)
    sends = program.word[moves] == SEND
    rank, peer = program.rank[moves], program.peer[moves]
    ends = np.stack([np.where(sends, rank, peer), np.where(sends, peer, rank), program.tag[moves]])
    _, key = np.unique(ends, axis=1, return_inverse=True)
    key = key.reshape(-1)
    turn = np.lexsort([moves, ~sends, key])
    count = np.bincount(key * 2 + ~sends, minlength=2 * (int(key.max(initial=-1)) + 1))
    nth = np.empty(len(moves), np.int64)
    nth[turn] = places(count)
    order = np.lexsort([~sends, nth, key])
    key, nth, moves, sends = key[order], nth[order], moves[order], sends[order]
    meets = np.zeros(len(moves), np.bool_)
    meets[:-1] = sends[:-1] & ~sends[1:] & (key[:-1] == key[1:]) & (nth[:-1] == nth[1:])
    first = np.flatnonzero(meets)
    alone = np.ones(len(moves), np.bool_)
    alone[first] = alone[first + 1] = False
    send, receive = moves[first], moves[first + 1]
    turn = np.argsort(send)
    send, receive = send[turn], receive[turn]
    unequal = np.flatnonzero(program.size[send] != program.size[receive])
    return Pairs(send, receive, np.sort(moves[alone]), unequal)


def longest_chains(program: Program, pairs: Pairs, together: bool) -> tuple[Ints, Ints]:
    """Return when each operation begins and ends: int64 (operations,) each; -1 where it never does.

    A message takes one unit of time, work none. ``together``: a send does not end before its receive has begun.
    """
    n = len(program)
    begin, end = 2 * np.arange(n), 2 * np.arange(n) + 1
    work = np.flatnonzero(program.word == WORK)
    late, early, whole = program.waits.T
    tails = [begin[work], np.where(whole > 0, end[early], begin[early]), begin[pairs.send], begin[pairs.send]]
    heads = [end[work], begin[late], end[pairs.send], end[pairs.receive]]
    long = [0, 0, 1, 1]
    tails, heads = [*tails, begin[pairs.receive]], [*heads, end[pairs.receive]]
    long.append(int(together))
    if together:
        tails, heads, long = [*tails, begin[pairs.receive]], [*heads, end[pairs.send]], [*long, 1]
    lengths = np.repeat(long, [len(part) for part in tails])
    time, done = _longest(2 * n, np.concatenate(tails), np.concatenate(heads), lengths)
    time[~done] = -1
    return time[begin], time[end]


def _longest(count: int, tail: Ints, head: Ints, length: Ints) -> tuple[Ints, np.ndarray]:
    """Return the longest way to each of ``count`` points, and which points no circle keeps from being reached."""
    order = np.argsort(tail, kind="stable")
    first = starts(np.bincount(tail, minlength=count)).tolist()
    heads, lengths = head[order].tolist(), length[order].tolist()
    missing = np.bincount(head, minlength=count).tolist()
    time, done = [0] * count, [False] * count
    ready = [point for point, left in enumerate(missing) if not left]
    while ready:
        point = ready.pop()
        done[point] = True
        here = time[point]
        for at in range(first[point], first[point + 1]):
            there = heads[at]
            if (then := here + lengths[at]) > time[there]:
                time[there] = then
            missing[there] -= 1
            if not missing[there]:
                ready.append(there)
    return np.array(time, np.int64), np.array(done)


def circle_of(program: Program, pairs: Pairs, ends: Ints, together: bool) -> Ints:
    """Return operations that wait for one another in a circle: the shortest that a walk against the waits finds."""
    stuck = ends < 0
    before = dict[int, int]()
    for late, early, _ in program.waits[stuck[program.waits[:, 0]] & stuck[program.waits[:, 1]]].tolist():
        before.setdefault(late, early)
    meets: dict[int, int] = dict(zip(pairs.receive.tolist(), pairs.send.tolist(), strict=True))
    if together:
        meets |= dict(zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True))
    at = int(np.flatnonzero(stuck)[0])
    seen = dict[int, int]()
    path = list[int]()
    while at >= 0 and at not in seen:
        seen[at] = len(path)
        path.append(at)
        at = before.get(at, meets.get(at, -1))
    found = path[seen[at] :] if at in seen else path
    moves = [one for one in found if program.word[one] in (SEND, RECEIVE)]
    return np.array(moves or found, np.int64)
