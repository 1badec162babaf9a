"""All start times of short scatters and gathers, tried one after the other, flit by flit: the optimal ones are held against them.

Communication model: bufferless, one port. A set of steps is a number, bit s for step s. Nothing here uses the plans.
"""

from collections.abc import Sequence
from itertools import pairwise

Taken = tuple[dict[int, int], dict[int, int]]
"""The steps in which each node sends, and those in which each receives."""


def _moved(taken: Taken, way: Sequence[int], begin: int, length: int) -> Taken | None:
    """Return the steps that are taken when a message goes along a way as well; None where a node is busy."""
    sends, gets = map(dict, taken)
    block = ((1 << length) - 1) << begin
    for u, v in pairwise(way):
        if (sends.get(u, 0) | gets.get(v, 0)) & block:
            return None
        sends[u], gets[v] = sends.get(u, 0) | block, gets.get(v, 0) | block
        block <<= 1
    return sends, gets


def _way_up(parents: Sequence[int], v: int) -> list[int]:
    way = [v]
    while way[-1]:
        way.append(parents[way[-1]])
    return way


def ends_earlier(parents: Sequence[int], lengths: Sequence[int], steps: int) -> bool:
    """Return whether a scatter from node 0 in fewer than ``steps`` steps exists, whatever steps its messages begin in."""
    ways = [(_way_up(parents, v)[::-1], length) for v, length in enumerate(lengths) if length]

    # Every way to fit the messages in, one after the other: small trees only.
    def placed(number: int, taken: Taken) -> bool:
        if number == len(ways):
            return True
        way, length = ways[number]
        tried = (_moved(taken, way, begin, length) for begin in range(steps - length - len(way) + 2))
        return any(more is not None and placed(number + 1, more) for more in tried)

    return bool(ways) and placed(0, ({}, {}))


def begins_earlier(lengths: Sequence[int], steps: int, waiting: bool = False) -> bool:
    """Return whether the data of a path can reach its end, node 0, in fewer than ``steps`` steps; node i has ``lengths[i-1]``.

    A wake-up goes from node i-1 to i in step i-1, and no node but the last sends before it has sent that on: inequality (5).
    ``waiting``: a node may also send its own message first, and the wake-up later; nodes behind the last that has anything
    are of no account then.
    """
    count = len(lengths)
    last = max((i for i in range(1, count + 1) if lengths[i - 1]), default=0)
    end = last if waiting else count

    def tried(i: int, woken: int, taken: Taken) -> bool:
        """Whether nodes i, i+1, … can be fitted in, when node i is sent the wake-up in step ``woken``."""
        if i > last:
            return True
        sends, gets, length = taken[0], dict(taken[1]), lengths[i - 1]
        if gets.get(i, 0) >> woken & 1:
            return False
        gets[i] = gets.get(i, 0) | 1 << woken
        # A bound, which spares most of the search.
        if any(woken + 2 * j - i + lengths[j - 1] >= steps for j in range(i, last + 1) if lengths[j - 1]):
            return False  # told one step after the other, its last flit would be too late
        calls = [woken + 1] if not waiting else range(woken + 1, steps)
        for call in calls if i < end else [-1]:
            if call >= 0 and sends.get(i, 0) >> call & 1:
                continue
            said = sends if call < 0 else {**sends, i: sends.get(i, 0) | 1 << call}
            least = woken + 1 if waiting or call < 0 else call + 1
            for begin in range(least, steps - length - i + 1) if length else [0]:
                more = _moved((said, gets), range(i, -1, -1), begin, length)
                if more is not None and tried(i + 1, call, more):
                    return True
        return False

    return last > 0 and tried(1, 0, ({0: 1}, {}))


def gathers_earlier(parents: Sequence[int], lengths: Sequence[int], steps: int) -> bool:
    """Return whether a gather to node 0 can be over in fewer than ``steps`` steps, all nodes told by flits in any steps.

    A node is told by one flit from its parent, which has been told before, and sends its own message in any later steps.
    No node knows who has nothing, so all are told. ``parents``: lesser numbers than the nodes' own; -1 for node 0.
    """
    ways = [_way_up(parents, v) for v in range(len(parents))]

    def told(v: int, when: list[int], taken: Taken) -> bool:
        """Whether nodes v, v+1, … can be fitted in; ``when``: the steps in which those before were told."""
        if v == len(parents):
            return True
        up, length = ways[v], lengths[v]
        latest = steps - 2 if not length else steps - length - len(up)
        calls = ((call, _moved(taken, (parents[v], v), call, 1)) for call in range(when[parents[v]] + 1, latest + 1))
        return any(more is not None and sent(up, [*when, call], more) for call, more in calls)

    def sent(up: list[int], when: list[int], taken: Taken) -> bool:
        v, length = up[0], lengths[up[0]]
        if not length:
            return told(v + 1, when, taken)
        tried = (_moved(taken, up, begin, length) for begin in range(when[v] + 1, steps - length - len(up) + 2))
        return any(more is not None and told(v + 1, when, more) for more in tried)

    return told(1, [-1], ({}, {}))
