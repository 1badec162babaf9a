"""All start times of short scatters and gathers, tried one after the other, flit by flit: the optimal ones are held against them.

Communication model: bufferless, one port. A set of steps is a number, bit s for step s. Nothing here uses the plans.
"""

from collections.abc import Sequence
from itertools import pairwise


def ends_earlier(parents: Sequence[int], lengths: Sequence[int], steps: int) -> bool:
    """Return whether a scatter from node 0 in fewer than ``steps`` steps exists, whatever steps its messages begin in."""
    ways: list[tuple[list[int], int]] = []
    for v, length in enumerate(lengths):
        way = [v]
        while way[-1]:
            way.append(parents[way[-1]])
        if length:
            ways.append((way[::-1], length))

    def placed(number: int, sends: dict[int, int], gets: dict[int, int]) -> bool:
        if number == len(ways):
            return True
        way, length = ways[number]
        for begin in range(steps - length - len(way) + 2):
            block = ((1 << length) - 1) << begin
            if any(sends.get(u, 0) & block << hop or gets.get(v, 0) & block << hop for hop, (u, v) in _arcs(way)):
                continue
            more, others = dict(sends), dict(gets)
            for hop, (u, v) in _arcs(way):
                more[u], others[v] = more.get(u, 0) | block << hop, others.get(v, 0) | block << hop
            if placed(number + 1, more, others):
                return True
        return False

    return bool(ways) and placed(0, {}, {})


def _arcs(way: Sequence[int]) -> list[tuple[int, tuple[int, int]]]:
    return list(enumerate(pairwise(way)))


def begins_earlier(lengths: Sequence[int], steps: int, waiting: bool = False) -> bool:
    """Return whether the data of a path can reach its end, node 0, in fewer than ``steps`` steps; node i has ``lengths[i-1]``.

    A wake-up goes from node i-1 to i in step i-1, and no node but the last sends before it has sent that on: inequality (5).
    ``waiting``: a node may also send its own message first, and the wake-up later; nodes behind the last that has anything
    are of no account then.
    """
    count = len(lengths)
    last = max((i for i in range(1, count + 1) if lengths[i - 1]), default=0)
    end = last if waiting else count

    def tried(i: int, woken: int, sends: list[int], gets: list[int]) -> bool:
        """Whether nodes i, i+1, … can be fitted in, when node i is sent the wake-up in step ``woken``."""
        if i > last:
            return True
        if gets[i] >> woken & 1:
            return False
        gets = [taken | (1 << woken if v == i else 0) for v, taken in enumerate(gets)]
        if any(woken + 2 * j - i + lengths[j - 1] >= steps for j in range(i, last + 1) if lengths[j - 1]):
            return False  # told one step after the other, its last flit would be too late
        calls = [woken + 1] if not waiting else range(woken + 1, steps)
        for call in calls if i < end else [-1]:
            if call >= 0 and sends[i] >> call & 1:
                continue
            said = [taken | (1 << call if v == i and call >= 0 else 0) for v, taken in enumerate(sends)]
            length = lengths[i - 1]
            least = woken + 1 if waiting or call < 0 else call + 1
            for begin in range(least, steps - length - i + 1) if length else [-1]:
                block = ((1 << length) - 1) << begin if length else 0
                if any(said[v] & block << i - v or gets[v - 1] & block << i - v for v in range(1, i + 1)):
                    continue
                more = [s | (block << i - v if 1 <= v <= i else 0) for v, s in enumerate(said)]
                others = [g | (block << i - v - 1 if v < i else 0) for v, g in enumerate(gets)]
                if tried(i + 1, call, more, others):
                    return True
        return False

    return last > 0 and tried(1, 0, [1] + [0] * count, [0] * (count + 1))


def gathers_earlier(parents: Sequence[int], lengths: Sequence[int], steps: int) -> bool:
    """Return whether a gather to node 0 can be over in fewer than ``steps`` steps, all nodes told by flits in any steps.

    A node is told by one flit from its parent, which has been told before, and sends its own message in any later steps.
    No node knows who has nothing, so all are told. ``parents``: lesser numbers than the nodes' own; -1 for node 0.
    """
    depth = [0] * len(parents)
    for v in range(1, len(parents)):
        depth[v] = depth[parents[v]] + 1

    def told(v: int, when: list[int], sends: list[int], gets: list[int]) -> bool:
        """Whether nodes v, v+1, … can be fitted in; ``when``: the steps in which those before were told."""
        if v == len(parents):
            return True
        above, length = parents[v], lengths[v]
        latest = steps - 2 if not length else steps - length - depth[v] - 1
        for call in range(when[above] + 1, latest + 1):
            if sends[above] >> call & 1 or gets[v] >> call & 1:
                continue
            said, heard = list(sends), list(gets)
            said[above] |= 1 << call
            heard[v] |= 1 << call
            if sent(v, call, [*when, call], said, heard):
                return True
        return False

    def sent(v: int, call: int, when: list[int], sends: list[int], gets: list[int]) -> bool:
        length = lengths[v]
        if not length:
            return told(v + 1, when, sends, gets)
        for begin in range(call + 1, steps - length - depth[v] + 1):
            said, heard, node, block = list(sends), list(gets), v, ((1 << length) - 1) << begin
            while node:
                above = parents[node]
                if said[node] & block or heard[above] & block:
                    break
                said[node] |= block
                heard[above] |= block
                node, block = above, block << 1
            if not node and told(v + 1, when, said, heard):
                return True
        return False

    return told(1, [-1], [0] * len(parents), [0] * len(parents))
