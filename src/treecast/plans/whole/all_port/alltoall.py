"""Alltoall (total exchange) on Cayley networks, as an orbit: every node does the translate of node 0's part, which is built
here.

No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.

The builder ``priced-paths`` has x node-disjoint paths of its own for every destination, and no x paths are shorter in
total (networks/flows.py). So the sends are as few as there can be. Nodes of one type have paths of the same lengths: a
renaming of ports carries those of one node to another. The nodes of a necklace with a node for every port have paths that are
rotations of one another: a path of l arcs takes l steps in which all ports are busy. A node of a shorter necklace takes that one
of several renamings which lets all ports be used equally. The hops to these nodes are packed by a list schedule, with a few whole
necklaces that fill up the steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from random import Random
from typing import NamedTuple

import numpy as np

from treecast.collectives.traits import each_to_each
from treecast.networks import Network, Rotational
from treecast.networks.core import Ints
from treecast.networks.flows import disjoint_paths
from treecast.networks.kept import kept
from treecast.plans.built import NO_ROWS, NOTHING, Built, Job, joined
from treecast.plans.registry import builder, every_port, has_symmetry_nearly
from treecast.plans.search import HOP, affordable, best_of
from treecast.plans.times.pipelines import rows_into
from treecast.plans.times.timetable import list_paths
from treecast.plans.ways.shares import hops, shares
from treecast.plans.ways.trees.disjoint import TREES, trees_of_job
from treecast.plans.whole.all_port.priced_paths import paths_of_roots
from treecast.plans.whole.all_port.torn_orbits import torn_orbit
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows

_MOST_NODES = 2**22  # of a network in which ways are searched for
_RENAMINGS = 60  # that are drawn for a node of a short necklace
_SPARED = (0, 1, 2, 4, 8, 16)  # whole necklaces that help to fill up the steps of the short ones


@builder(
    "disjoint-trees",
    each_to_each,
    on=Rotational,
    most_copies=every_port,
    summary="the k disjoint trees, necklace by necklace",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: node 0 serves one unfolded necklace after the other, the i-th node of each over tree i, all at once.

    M Σ depths steps for x = k, the number of trees. The copies that short necklaces leave over when x < k are packed behind.
    Source: Fragopoulou & Akl, section 4 (total exchange).
    """
    network, messages = job.network, job.collective.messages
    trees = trees_of_job(job).disjoint_trees(network)
    dealt = shares(network, trees, messages, job.copies)
    entry, place, node = hops(trees, dealt.destination, dealt.tree)
    orbits = dealt.orbit.max(initial=-1) + 1
    depth = np.zeros(orbits, np.int64)
    whole = dealt.orbit >= 0
    depth[dealt.orbit[whole]] = dealt.depth[whole]
    start = starts(depth * messages)
    step = start[dealt.orbit[entry]] + place * dealt.length[entry]
    steps = int(start[-1])

    left = np.flatnonzero(~whole[entry])
    if len(left):
        left = left[np.lexsort((place[left], entry[left]))]
        port = trees.port[dealt.tree[entry[left]], node[left]].astype(np.int64)
        began, more = list_paths(network, entry[left], port, dealt.length[entry[left]])
        step[left] = steps + began
        steps += more
    rows = rows_into(trees, dealt.payloads, dealt.tree[entry], node, step, payload=dealt.payload[entry])
    return Built(rows, Claims(steps, int((dealt.length * dealt.depth).sum()) * network.nodes))


@builder(
    "orbits",
    each_to_each,
    on=(Network, has_symmetry_nearly),
    summary="shortest paths of one rank of each orbit, chosen by price so that orbits of arcs are used alike",
)
def over_shortest_paths(job: Job[Network]) -> Built:
    """All-port: over shortest paths of ranks that represent all; aims at the lower bound. x = 1.

    On a network that looks alike from all nodes that is max(diameter, ⌈M Σ distances / degree⌉) steps. Where few arcs are gone of
    such a network, what they would carry goes other ways, behind all else.
    """
    whole = job.network.symmetric
    if whole is not None and whole is not job.network:
        return torn_orbit(job, _of_representatives(replace(job, network=whole), mixed=True))
    return _of_representatives(job)


def _of_representatives(job: Job[Network], mixed: bool = False) -> Built:
    network, messages, roots = job.network, job.collective.messages, np.array(job.network.views)
    root, goal = np.nonzero(roots[:, None] != network.ranks)
    goal = network.ranks[goal]
    block = (root * network.nodes + goal) * messages
    parts, later, done, sent = [NO_ROWS], [0], 0, 0
    for layers, size in _lengths_of_runs(messages, network.degree_at(int(roots[0]))) if len(goal) else ():
        timed = paths_of_roots(network, layers, mixed)
        chunk = np.repeat(block, layers) + sent + np.tile(np.arange(layers), len(block)) * size
        ways = replace(timed.ways, payloads=Payloads.of_ranges(chunk, chunk + size))
        parts.append(timed._replace(ways=ways, step=timed.step * size).built().rows)
        later.append(done)
        done, sent = done + timed.steps * size, sent + layers * size
    sends = messages * int(network.distance(roots[root], goal).sum()) * (network.rank_count // len(roots))
    return Built(joined(parts, later), Claims(done, sends))


def _lengths_of_runs(messages: int, ports: int) -> list[tuple[int, int]]:
    """Return (layers, size): first as many runs of chunks as there are ports, each ``size`` long; then single chunks."""
    each, rest = divmod(messages, ports)
    return [(layers, size) for layers, size in ((ports, each), (rest, 1)) if layers and size]


def _too_large(network: Network) -> str:
    return "" if network.nodes <= _MOST_NODES else f"searches for paths among at most {_MOST_NODES:,} nodes"


@builder(
    "priced-paths",
    each_to_each,
    on=(Rotational, _too_large),
    most_copies=every_port,
    summary="x disjoint paths of least total length to each node, necklace by necklace",
)
def over_shortest_disjoint_paths(job: Job[Rotational]) -> Built:
    """All-port: node 0 sends each node its messages over x = ``copies`` disjoint paths of least total length.

    As few transmissions as there can be: M N times the sum of those lengths. In nearly all cases the steps are these by the
    number of arcs, rounded up; on the hypercube they are even (see ``_Packings.least``).
    """
    network, messages = job.network, job.collective.messages
    parts, later, done, sent = [NO_ROWS], [0], 0, 0
    if network.nodes == 1:
        return NOTHING
    search, begin = _search(network, job.copies), np.arange(network.nodes) * messages
    for layers, run in _lengths_of_runs(messages, network.ports):
        packed, count = search.best(layers), layers * run
        whole = list(chain.from_iterable(search.whole[packed.spared :]))
        parts.append(_rotated(network, whole, begin + sent, count))
        later += [done, done + count * _hops(whole)]
        first = [sent + way.destination * messages + way.layer * run for way in packed.ways]
        parts.append(_rows(network, packed.ways, packed.began, np.array(first, np.int64), run))
        done, sent = later[-1] + run * packed.steps, sent + count
    return Built(joined(parts, later), Claims(done, messages * network.nodes * search.hops))


class _Way(NamedTuple):
    """One way of node 0 to a destination, for one of several runs of chunks."""

    destination: int
    number: int
    layer: int
    ports: Sequence[int]


class _Packed(NamedTuple):
    """Ways, when each of their hops begins, in how many steps all is done, and how many whole necklaces are among them.

    ``added`` are the steps without those in which the whole necklaces alone would keep all ports busy.
    """

    ways: list[_Way]
    began: Ints
    steps: int
    added: int
    spared: int


class _Packings:
    """The ways to all nodes of a network; ``best`` packs those to the nodes of short necklaces."""

    def __init__(self, network: Rotational, copies: int) -> None:
        k = network.ports
        self.network = network
        self.ways = {v: disjoint_paths(network, 0, v, copies) for v in network.types()}
        self.hops = sum(count * sum(map(len, self.ways[v])) for v, count in network.types().items())
        first, size = (column.tolist() for column in network.necklaces())
        self.whole = sorted((self._ways_to(v) for v, s in zip(first, size, strict=True) if s == k), key=_hops)
        short = [(v, i) for v, s in zip(first, size, strict=True) if s < k for i in range(s)]
        self.short = [self._choices(int(network.rotate(v, i))) for v, i in short]

    def _ways_to(self, node: int, chance: Random | None = None) -> list[_Way]:
        kind, renaming = self.network.renaming(node, chance)
        ways = enumerate(self.ways[kind])
        return [_Way(node, number, 0, tuple(renaming[port] for port in way)) for number, way in ways]

    def _choices(self, node: int) -> list[list[_Way]]:
        """Return the ways to a node by several renamings: one of those that use the ports equally often."""
        chance = Random(node)
        found = {self._uses(ways).tobytes(): ways for ways in (self._ways_to(node, chance) for _ in range(_RENAMINGS))}
        return list(found.values())

    def _uses(self, ways: list[_Way]) -> Ints:
        """Return how often some ways use each port."""
        return np.bincount([port for way in ways for port in way.ports], minlength=self.network.ports)

    def least(self, layers: int) -> int:
        """Return the least steps that the short necklaces can add, for so many runs of chunks.

        On the hypercube a way uses a port an odd number of times if its destination differs from node 0 in that bit, else an
        even number. Every bit is 1 in 2^(d-1) nodes, so for d > 1 every port is used an even number of times in all.
        """
        together = layers * sum(map(_hops, self.whole))
        steps = -(-layers * self.hops // self.network.ports) - together
        return steps + (steps + together) % 2 if self.network.flips_bits and self.network.ports > 1 else steps

    def best(self, layers: int) -> _Packed:
        """Return the shortest packing of several tries; the first that cannot be shorter."""
        if not self.short:
            return _Packed([], np.empty(0, np.int64), 0, 0, 0)
        tried = affordable(self._tried(layers), lambda packed: HOP // 2 * len(packed.began))
        return best_of(tried, lambda packed: (packed.added,), self.least(layers))

    def _tried(self, layers: int) -> Iterator[_Packed]:
        chance, choices = Random(layers), self.short * layers
        uses = [np.array([self._uses(ways) for ways in each]) for each in choices]
        while True:
            nodes = [each[i] for each, i in zip(choices, _evened(uses, chance), strict=True)]
            short = [way._replace(layer=i // len(self.short)) for i, ways in enumerate(nodes) for way in ways]
            for spared in _SPARED[: 1 + len(self.whole)]:
                yield self._packed(short, layers, spared)

    def _packed(self, short: list[_Way], layers: int, spared: int) -> _Packed:
        """Return the ways to short necklaces, and those to the first whole ones, packed together."""
        k = self.network.ports
        ways, spare = list(short), list(chain.from_iterable(self.whole[:spared]))
        for turn in range(k if spare else 0):
            turned = self.network.rotate([way.destination for way in spare], turn).tolist()
            for way, node in zip(spare, turned, strict=True):
                ports = tuple((port + turn) % k for port in way.ports)
                ways += [_Way(node, way.number, layer, ports) for layer in range(layers)]
        number, _, port = _flat(ways)
        began, steps = list_paths(self.network, number, port, np.ones_like(port))
        return _Packed(ways, began, steps, steps - layers * _hops(spare), spared)


@kept(8)
def _search(network: Rotational, copies: int) -> _Packings:
    """Return the ways; however many messages go over them, they are the same."""
    return _Packings(network, copies)


def _evened(uses: list[Ints], chance: Random) -> list[int]:
    """Choose a row of each table so that the sum of the rows is as even as changes of one choice at a time make it."""
    taken = [chance.randrange(len(use)) for use in uses]
    total = np.array([use[i] for use, i in zip(uses, taken, strict=True)]).sum(axis=0)
    order, better = list(range(len(uses))), True
    while better:
        better = False
        chance.shuffle(order)
        for item in order:
            without = total - uses[item][taken[item]]
            uneven = ((without + uses[item]) ** 2).sum(axis=1)
            i = int(uneven.argmin())
            if uneven[i] < uneven[taken[item]]:
                taken[item], total, better = i, without + uses[item][i], True
    return taken


def _hops(ways: Sequence[_Way]) -> int:
    return sum(len(way.ports) for way in ways)


def _flat(ways: Sequence[_Way]) -> tuple[Ints, Ints, Ints]:
    """Return the number of its way, its place in it, and its port, for every hop."""
    length = np.array([len(way.ports) for way in ways], np.int64)
    number = np.repeat(np.arange(len(ways)), length)
    place = np.arange(len(number)) - starts(length)[number]
    return number, place, np.fromiter(chain.from_iterable(way.ports for way in ways), np.int64, len(number))


def _arcs(network: Network, ways: Sequence[_Way]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return source, target and port of every hop, and the number of its way to its node, and in all."""
    number, place, port = _flat(ways)
    source, target = np.zeros_like(port), np.zeros_like(port)
    for hop in range(int(place.max(initial=-1)) + 1):
        at = np.flatnonzero(place == hop)
        source[at] = target[at - 1] if hop else 0
        target[at] = network.neighbor(source[at], port[at])
    return source, target, port, np.array([way.number for way in ways], np.int64)[number], number


def _rows(network: Network, ways: Sequence[_Way], step: Ints, first: Ints, run: int) -> Rows:
    """Return the rows of runs of chunks over some ways, the first chunk of each, and when their hops begin in runs."""
    source, target, port, tree, number = _arcs(network, ways)
    table = Payloads.of_ranges(first, first + run)
    return Rows.of(table, step=step * run, src=source, dst=target, port=port, tree=tree, payload=number)


def _rotated(network: Rotational, ways: Sequence[_Way], first: Ints, run: int) -> Rows:
    """Return the rows of ways that go one behind the other, and of all their rotations; ``first``: the chunk of each node."""
    k, (source, target, port, tree, number) = network.ports, _arcs(network, ways)
    node = np.array([way.destination for way in ways], np.int64)[number]
    src, dst, payload = (np.concatenate([network.rotate(each, i) for i in range(k)]) for each in (source, target, node))
    step, tree, turned = np.arange(len(port)) * run, np.tile(tree, k), (port + np.arange(k)[:, None]).ravel() % k
    table = Payloads.of_ranges(first, first + run)
    return Rows.of(table, step=np.tile(step, k), src=src, dst=dst, port=turned, tree=tree, payload=payload)
