"""Timetables: any ways, on any machine, by a list schedule; and from the end and from the start again, to shorten it.

In each step the arcs ask one after the other, in the order of the first hops that wait for them. A hop begins if all that it
takes is free. Where messages combine, all hops that wait for an arc go over it at once.

The sends of closed label sets go by a list schedule too: of those that a port could do, the one with the most sends below it goes
first. In all cases tried that takes as many steps as the busiest port has sends; it is not proved, and each schedule shows it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.models import Model, model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, parallel
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.plans.built import Built, rows_over
from treecast.plans.search import HOP, WORK
from treecast.plans.ways.ways import Ways, grouped
from treecast.ragged import explode, starts
from treecast.schedule import Claims, Payloads
from treecast.schedule.trees import TreeSet
from treecast.takes import Takes, takes

MOST_IN_TURNS = WORK // (4 * HOP)  # hops of all turns


class Timed(NamedTuple):
    """Ways on a machine, the step in which each hop begins, int64 (hops,), and the number of steps."""

    ways: Ways
    model: Model
    step: Ints
    steps: int

    @property
    def transmissions(self) -> int:
        """How often a chunk goes over an arc."""
        return int(self.ways.lengths.sum())

    @property
    def cost(self) -> tuple[int, int]:
        """The steps, and then the transmissions: the less, the better."""
        return self.steps, self.transmissions

    def built(self) -> Built:
        """Return the rows; chunks that follow each other over an arc are a stream, and chunks that go at once are a message."""
        ways, combining = self.ways, self.model.combining
        # 1. A piece for each range of chunks of each hop, and when it begins.
        hop, piece = explode(ways.payloads.start, ways.payload)
        first, lasts = ways.payloads.first[piece], (ways.payloads.stop - ways.payloads.first)[piece]
        # chunks of a hop go one by one: a piece begins behind those before it in its hop
        shift = 0 if combining else np.cumsum(lasts) - lasts - (np.cumsum(ways.lengths) - ways.lengths)[hop]
        arc, tree, step = ways.arc[hop], ways.tree[hop], self.step[hop] + shift
        order = np.lexsort((first, step, tree, arc))
        arc, tree, step, first, hop = (column[order] for column in (arc, tree, step, first, hop))
        stop = first + lasts[order]
        # 2. Pieces that follow each other over an arc, in time and in chunks, are one row.
        fresh = np.ones(len(order), np.bool_)
        follows = (np.diff(arc) == 0) & (np.diff(tree) == 0)
        if combining:
            fresh[1:] = ~(follows & (np.diff(step) == 0))
        elif not self.model.arcs:  # or a row is a chunk
            follows &= (first[1:] == stop[:-1]) | (np.diff(hop) == 0)
            fresh[1:] = ~(follows & (np.diff(step) == (stop - first)[:-1]))
        begins = np.flatnonzero(fresh)
        payloads, more = Payloads(np.append(begins, len(order)), first, stop), {"steps": 1} if combining else {}
        rows = rows_over(ways.network, payloads, step[begins], arc[begins], tree=tree[begins], **more)
        return Built(rows, Claims(self.steps, self.transmissions))


@kept(4)
def in_orbits(network: Network, machine: Model | None = None) -> Takes:
    """Return what sends over each arc take where all nodes do as the symmetry of the network carries it: its orbit.

    ``machine``: one of full duplex; without it, over all ports. Of counted ports a send takes one, and of equal nodes each has as
    many sends that come as sends that go. Raises PlanError where the network has no symmetry.
    """
    symmetry, arcs = network.symmetry, arcs_of(network)
    if symmetry is None:
        raise PlanError(f"no symmetry of {network.spec} is known")
    taken = [symmetry.orbit_of(arcs.tail.astype(np.int64), arcs.port.astype(np.int64))]
    room, one = np.ones(int(taken[0].max(initial=-1)) + 1, np.int64), np.ones(len(taken[0]), np.int64)
    if machine is not None and machine.room:
        taken, room = [*taken, one * len(room)], np.append(room, machine.room)
    resource, late = np.stack(taken, axis=1), one if machine is None else machine.latency * one
    return Takes(resource, np.full_like(resource, -1), room, one, late)


@kept(4)
def _first_of_orbits(network: Network) -> Ints:
    """Return the number of the first arc of each orbit: int64 (orbits,)."""
    return np.unique(in_orbits(network).resource[:, 0], return_index=True)[1]


def list_orbits(ways: Ways, keys: list[Ints], machine: Model | None = None) -> Timed:
    """Return the times of ways that the symmetry of their network carries to all ranks, over all ports: see ``listed``.

    One arc stands for all of its orbit. ``machine``: another one than that of all ports, as for ``in_orbits``.
    """
    network = ways.network
    wanted = in_orbits(network, machine)
    standing = replace(ways, arc=_first_of_orbits(network)[wanted.resource[ways.arc, 0]])
    return listed(standing, machine or model("all-port"), keys, wanted=wanted)._replace(ways=ways)


def listed(
    ways: Ways,
    machine: Model,
    keys: list[Ints],
    *,
    back: bool = False,
    wanted: Takes | None = None,
    pools: Ints | None = None,
) -> Timed:
    """Return the list schedule of some ways on a machine without routes, whose nodes keep the chunks that they relay.

    ``keys``, int64 (hops,) each: the order in which hops go if they are in each other's way, compared from first to last: the
    least goes first, and of equal ones the hop of lower number. ``back``: the steps are filled from the last to the first.
    ``wanted``: the table, where it is not that of the machine. ``pools``, int64 (arcs,): a hop may go
    over any arc with the number of its own, and the ways change.

    >>> from treecast.models import model
    >>> from treecast.plans import plan
    >>> found = Ways.of_schedule(plan("broadcast", "star:4"))
    >>> [listed(found, model(name), [-found.heights]).steps for name in ("all-port", "one-port")]
    [4, 6]
    """
    from treecast.plans.kernels.timetable import time_sends

    # 1. Hops in blocks, where arcs differ.
    if machine.arcs and int(ways.lengths.max(initial=1)) > 1:  # a stream would be as slow as its slowest arc
        ways, hop = ways.in_blocks(1)
        keys = [key[hop] for key in (*keys, ways.turn)]
    wanted, count = wanted or _takes(ways.network, machine), len(ways)
    lasts = np.ones(count, np.int64) if machine.combining else ways.lengths
    # 2. Who waits for whom, and when a send counts as arrived, forwards or backwards.
    first, follow = grouped(ways.after, ways.before, count) if back else ways.followers
    pool = np.arange(len(wanted.resource)) if pools is None else pools
    arc, ranked = ways.arc.astype(np.int32), np.lexsort(keys[::-1])
    waits = np.bincount(follow, minlength=count)
    room, step = starts(np.bincount(pool[arc], minlength=int(pool.max(initial=-1)) + 1)), np.empty(count, np.int64)
    # backwards what waits is the send before, which has arrived ``rest`` steps after it has gone
    (servers, spare), gap, rest = wanted.servers, wanted.gap, wanted.delay - wanted.gap
    least = int(rest.min(initial=0)) if back and len(rest) else 0
    late = (gap + least, rest - least) if back else (wanted.delay, np.zeros_like(rest))
    lags = [np.unique(each, return_inverse=True) for each in late]
    # 3. Narrow columns, as the loop takes them.
    columns = (follow, waits, arc, lasts, servers, wanted.key, spare, gap, ranked, pool, lags[0][1], lags[1][1])
    *narrow, ranked, pool, of_lag, of_stay = (column.astype(np.int32, copy=False) for column in columns)
    table = (lags[0][0], of_lag.reshape(-1), lags[1][0], of_stay.reshape(-1))
    steps = int(time_sends(first, *narrow, table, ranked, pool, room, machine.combining, step))
    # 4. What came of it; backwards, steps are counted from the end.
    if pools is not None:
        ways = replace(ways, arc=arc.astype(np.int64))
    if steps < 0:
        raise PlanError("hops wait for each other in a circle")
    if back:
        step = steps - least - (lasts - 1) - gap[ways.arc] - step
    return Timed(ways, machine, step, steps)


def soonest(ways: Ways, machine: Model) -> Ints:
    """Return the order of hops by turns, and of those of a turn by how long it takes until all behind them has arrived."""
    if not machine.arcs:
        return ways.turn - ways.heights
    wanted = _takes(ways.network, machine)
    return ways.turn * int(np.median(wanted.gap[ways.arc])) - ways.lasting(wanted.delay[ways.arc])[0]


@kept(4)
def _takes(network: Network, machine: Model) -> Takes:
    """Return the resources of arcs; small ways are timed in less time than it takes to find these."""
    return takes(machine, network)


def list_paths(network: Network, path: Ints, port: Ints, length: Ints) -> tuple[Ints, int]:
    """Return when each hop of some paths of node 0 begins, and the number of steps; all nodes do the same, translated.

    Hop i is of path ``path[i]``; the hops of a path come one behind the other. Each takes its port for ``length`` steps. Those go
    first that have farthest to go.
    """
    first = np.append(np.flatnonzero(np.diff(path, prepend=-1)), len(path))
    ways = Ways.of_paths(network, first, port, chunk=first[:-1] * 0, size=length[first[:-1]])
    timed = listed(ways, model("all-port"), [-ways.heights * ways.lengths], wanted=in_orbits(network))
    return timed.step, timed.steps


def in_turns(ways: Ways, part: Ints) -> Timed:
    """Return a list schedule for all ports in which payloads go in blocks: of a block all goes before any of the next.

    If no arc is in more than s trees, a turn keeps it busy for s blocks at most. So a block waits no longer than if there were
    only the turns before it: T turns take T s times the length of a block, and a number of steps that does not grow with T.
    Blocks are as short as the number of sends allows, and longer ones are tried. Of a turn those sends go first that are farthest
    from the end; or the parts one after the other. ``part``: that of each hop, int64.
    """
    longest, found = int(ways.lengths.max()), list[Timed]()
    least = max(1, -(-int(ways.lengths.sum()) // MOST_IN_TURNS))
    for block in sorted({least, max(least, longest // 8)}):
        cut, hop = ways.in_blocks(block)
        left, when, number = ways.heights[hop], cut.turn, part[hop]
        for keys in ([when, -left], [when * (1 + int(part.max())) + number - left]):
            found.append(listed(cut, model("all-port"), keys, pools=parallel(ways.network)))
    return min(found, key=lambda timed: timed.steps)


def there_and_back(*tables: Timed, least: int = 0, passes: int = 5) -> Timed:
    """Return a timetable with as many steps or fewer: the shortest are timed from their ends, then from their starts, and so
    on.

    With ``least`` steps it is content. It goes there and back so many times, less often where there are many hops.
    """
    ranked, left = sorted(tables, key=lambda timed: timed.cost), WORK // HOP
    found, known = ranked[0], dict[tuple[int, Model, bool, bytes], Timed]()
    for now in ranked:
        for back in [True, False] * passes:
            if found.steps <= least or left < len(now.ways):
                break
            left -= len(now.ways)
            seen = id(now.ways), now.model, back, now.step.tobytes()  # most orders soon lead to the same few tables
            if seen not in known:
                gap = _takes(now.ways.network, now.model).gap[now.ways.arc] if now.model.arcs else 1
                end = now.step + (1 if now.model.combining else now.ways.lengths - 1 + gap)
                known[seen] = listed(now.ways, now.model, [-end if back else now.step], back=back)
            now = known[seen]
            found = min(found, now, key=lambda timed: timed.cost)
    return found


class Packed(NamedTuple):
    """The sends of some label sets: which set, over which tree, to which node, in which step; int64 arrays of one length."""

    of: Ints
    tree: Ints
    node: Ints
    step: Ints
    steps: int


def pack(trees: TreeSet, masks: Ints) -> Packed:
    """Return the step of each send by which nodes receive over ``trees``, all from one root: a greedy list schedule.

    ``masks``, int64 (sets, N): for each chunk that is sent, the labels of each node, bit t for tree t. The root's do not
    count. Raises PlanError when a set is not closed: a node receives by a tree by which its parent there does not.
    """
    # bit t of a mask: tree t
    has = (masks[:, None, :] >> np.arange(len(trees))[:, None] & 1 == 1) & (trees.parent >= 0)
    of, tree, node = np.nonzero(has)
    number = np.full(has.shape, -1)
    number[has] = np.arange(len(node))
    up = trees.parent[tree, node]
    above = number[of, tree, up]
    # the root needs no label
    lacking = np.flatnonzero((above < 0) & (up != trees.root))
    if len(lacking):
        at, label = lacking[0], trees.network.label
        raise PlanError(
            f"labels that are not closed: {label(int(node[at]))} has tree {tree[at]}, its parent {label(int(up[at]))} has not"
        )
    after, nothing = np.flatnonzero(above >= 0), np.zeros_like(node)
    port, chunk = trees.port[tree, node].astype(np.int64), Payloads.of_ranges([0], [1])
    ways = Ways(trees.network, port, nothing, chunk, tree, nothing, above[after], after)
    timed = listed(ways, model("all-port"), [-ways.below], wanted=in_orbits(trees.network))
    return Packed(of, tree, node, timed.step, timed.steps)
