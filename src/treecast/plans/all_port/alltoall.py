"""Alltoall (total exchange) on Cayley networks, as an orbit: every node does the translate of what is built here.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

import random
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from treecast.networks import Cayley, Rotational
from treecast.networks.core import Ints
from treecast.plans.all_port.shares import hops, shares
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every_port
from treecast.plans.trees.disjoint import TREES, trees_of_job
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job

_TRIES = 100
_SPARED = (0, 2, 4, 8, 16)  # necklaces that help to fill up the steps of the short ones
_FAR_TOO_LONG = 2**62
_MOST_WORK = 500_000  # sends tried, of all tries
_NAMES = ("step", "steps", "src", "dst", "port", "tree", "payload")


@builder(
    "disjoint-trees",
    "alltoall",
    on=Rotational,
    under=ALL_PORT,
    most_copies=every_port,
    rank=40,
    what="the k disjoint trees, necklace by necklace",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: node 0 serves one unfolded necklace after the other, the i-th node of each over tree i, all at once.

    M Σ depths steps for x = k, the number of trees. What short necklaces leave over when x < k is packed behind.
    Source: Fragopoulou & Akl, section 4 (total exchange).
    """
    network, messages = job.network, job.collective.messages
    trees = trees_of_job(job).disjoint_trees(network)
    dealt = shares(network, trees, messages, job.copies)
    entry, place, source, target, port = hops(trees, dealt.destination, dealt.tree)
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
        began, more = schedule_hops(entry[left], port[left], dealt.length[entry[left]], network.ports)
        step[left] = steps + began
        steps += more
    rows = Rows.of(
        dealt.payloads,
        step=step,
        steps=dealt.length[entry],
        src=source,
        dst=target,
        port=port,
        tree=dealt.tree[entry],
        payload=dealt.payload[entry],
    )
    return Built(rows, Claims(steps, int((dealt.length * dealt.depth).sum()) * network.nodes))


def schedule_hops(path: Ints, port: Ints, length: Ints, ports: int) -> tuple[Ints, int]:
    """Return when each hop begins, and the number of steps: a greedy list schedule, the longest way to go first.

    Hop i is part of path ``path[i]``. Hops come path by path, in order; each keeps its port busy for ``length`` steps.
    """
    first = np.flatnonzero(np.concatenate(([True], np.diff(path) != 0))).tolist()
    stop = [*first[1:], len(path)]
    left = np.zeros(len(path) + 1, np.int64)
    for a, b in zip(first, stop, strict=True):
        left[a:b] = np.cumsum(length[a:b][::-1])[::-1]
    last = dict(zip(first, stop, strict=True))
    end = {hop: last[a] for a in first for hop in range(a, last[a])}
    ready: list[list[tuple[int, int]]] = [[] for _ in range(ports)]
    began, free = np.zeros(len(path), np.int64), [0] * ports
    events = [(0, hop) for hop in first]  # (step, hop that is ready)
    steps = 0
    times = {0}
    while events or any(ready):
        now = min(times)
        times.discard(now)
        while events and events[0][0] <= now:
            _, hop = heappop(events)
            heappush(ready[int(port[hop])], (-int(left[hop]), hop))
        for p in range(ports):
            if ready[p] and free[p] <= now:
                _, hop = heappop(ready[p])
                began[hop], free[p] = now, now + int(length[hop])
                steps = max(steps, free[p])
                times.add(free[p])
                if hop + 1 < end[hop]:
                    heappush(events, (free[p], hop + 1))
    return began, steps


@builder(
    "shortest-paths",
    "alltoall",
    on=Cayley,
    under=ALL_PORT,
    rank=20,
    what="shortest paths, necklace by necklace or matched with ports",
)
def over_shortest_paths(job: Job[Cayley]) -> Built:
    """All-port: over shortest paths; aims at max(diameter, ⌈M Σ distances / degree⌉) steps, the lower bound. x = 1.

    Where the network has a rotation, whole necklaces go together and keep every port busy. The other nodes, and a few whole
    necklaces that fill the gaps, are served step by step: ports are matched with the payloads that have farthest to go.
    """
    network, messages = job.network, job.collective.messages
    nodes, every = network.nodes, np.arange(network.nodes)
    table = [[(v * messages, (v + 1) * messages)] for v in range(nodes)]
    if nodes == 1:
        return assembled(network, [], table, 0, 0)
    distance = network.distance(0, every)
    total = messages * int(distance.sum())
    least = max(network.diameter, -(-total // network.ports))
    near, single = _necklaces(network, distance)
    best: tuple[int, int, list[_Matched]] = _FAR_TOO_LONG, 0, []
    work = 0
    for spared in _SPARED:
        together = messages * int(distance[near[spared:]].sum())
        matched, steps = list[_Matched](), together
        for layers, size in lengths_of_runs(messages, network.ports):
            found = _Matching(
                network, np.concatenate([single, _rotations_of(network, near[:spared])]), layers, distance
            ).best()
            matched.append(_Matched(found, layers, size))
            work += found.steps * network.ports
            steps += found.steps * size
        if steps < best[0]:
            best = steps, spared, matched
        if best[0] == least or spared >= len(near) or work > _MOST_WORK:
            break
    steps, spared, matched = best
    parts = list[list[Ints]]()
    if network.ports_alike and len(near) > spared:
        parts.append(_together(network, near[spared:], distance, messages))
    done, first = messages * int(distance[near[spared:]].sum()), 0
    for found, layers, size in matched:
        v, layer = found.destination, found.layer
        start = v * messages + first + layer * size
        payload = len(table) + np.arange(len(v))
        table += [[(a, a + size)] for a in start.tolist()]
        columns = found.columns(network)
        parts.append(
            [
                done + columns[0] * size,
                np.full(len(columns[0]), size),
                *columns[1:4],
                np.full(len(columns[0]), -1),
                payload[columns[4]],
            ]
        )
        done, first = done + found.steps * size, first + layers * size
    return assembled(network, parts, table, steps, total * nodes)


def lengths_of_runs(messages: int, ports: int) -> list[tuple[int, int]]:
    """Return (layers, size): first as many runs of chunks as there are ports, each ``size`` long; then single chunks."""
    each, rest = divmod(messages, ports)
    return [(layers, size) for layers, size in ((ports, each), (rest, 1)) if layers and size]


def assembled(
    network: Cayley, parts: list[list[Ints]], table: list[list[tuple[int, int]]], steps: int, sends: int
) -> Built:
    """Return the schedule of rows in several parts, each with the columns of ``_NAMES``; ``table`` lists the payloads' ranges."""
    columns = [np.concatenate([np.empty(0, np.int64), *(part[i] for part in parts)]) for i in range(len(_NAMES))]
    return Built(Rows.of(Payloads.of(table), **dict(zip(_NAMES, columns, strict=True))), Claims(steps, sends))


def _necklaces(network: Cayley, distance: Ints) -> tuple[Ints, Ints]:
    """Return one node of each necklace that has a node for every port, nearest first; and all other nodes but node 0."""
    if not network.ports_alike:
        return np.empty(0, np.int64), np.arange(1, network.nodes)
    first, size = network.necklaces()
    whole, short = first[size == network.ports], first[size < network.ports]
    return whole[np.argsort(distance[whole], kind="stable")], np.unique(_rotations_of(network, short))


def _rotations_of(network: Cayley, nodes: Ints) -> Ints:
    """Return all rotations of some nodes, where the network has any."""
    if not network.ports_alike:
        return nodes
    return np.concatenate([network.rotate(nodes, i) for i in range(network.ports)])


def _together(network: Cayley, nodes: Ints, distance: Ints, messages: int) -> list[Ints]:
    """Return the rows by which the necklaces of ``nodes`` are served, one behind the other, over all ports at once."""
    k = network.ports
    length = distance[nodes]
    start = starts(length)[:-1] * messages
    here, parts = np.zeros_like(nodes), list[list[Ints]]()
    for hop in range(int(length.max())):
        going = np.flatnonzero(length > hop)
        v, u = nodes[going], here[going]
        there = network.neighbor(u[:, None], np.arange(k))
        port = np.argmax(network.distance(there, v[:, None]) == (length[going] - hop - 1)[:, None], axis=1)
        here[going] = there[np.arange(len(going)), port]
        for turn in range(k):
            parts.append(
                [
                    start[going] + hop * messages,
                    np.full(len(going), messages),
                    network.rotate(u, turn),
                    network.rotate(here[going], turn),
                    (port + turn) % k,
                    np.full(len(going), -1),
                    network.rotate(v, turn),
                ]
            )
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


class _Matched(NamedTuple):
    """A matching of ``layers`` runs of chunks for each destination, each ``size`` chunks long."""

    found: "_Found"
    layers: int
    size: int


class _Found(NamedTuple):
    """Payload i is run ``layer[i]`` of chunks for ``destination[i]``; ``sends`` are (step, payload, port), in order."""

    steps: int
    destination: Ints
    layer: Ints
    sends: list[tuple[int, int, int]]

    def columns(self, network: Cayley) -> list[Ints]:
        """Return step, source, target, port and payload of every send."""
        step, payload, port = np.array(self.sends, np.int64).reshape(-1, 3).T
        order = np.lexsort((step, payload))
        step, payload, port = step[order], payload[order], port[order]
        new = np.concatenate(([True], np.diff(payload) != 0))[: len(payload)]
        place = np.arange(len(payload)) - np.maximum.accumulate(np.where(new, np.arange(len(payload)), 0))
        source, target = np.zeros_like(payload), np.zeros_like(payload)
        for hop in range(int(place.max(initial=-1)) + 1):
            at = np.flatnonzero(place == hop)
            source[at] = target[at - 1] if hop else 0
            target[at] = network.neighbor(source[at], port[at])
        return [step, source, target, port, payload]


class _Matching:
    """Payloads of node 0, each on a shortest path, one per port and step; those that have farthest to go go first.

    A payload is known by where its destination lies seen from where it is, its *rest*: payloads of one rest are alike.
    """

    def __init__(self, network: Cayley, destinations: Ints, layers: int, distance: Ints) -> None:
        self.ports, self.distance = network.ports, distance
        self.destination, self.layer = np.repeat(destinations, layers), np.tile(np.arange(layers), len(destinations))
        every, step = np.arange(network.nodes), network.neighbor(0, np.arange(network.ports))
        self.beyond = np.stack([network.untranslate(int(v), every) for v in step], axis=1)  # the rest after a hop
        self.nearer = distance[self.beyond] < distance[:, None]
        self.least = max(
            int(distance[destinations].max(initial=0)), -(-layers * int(distance[destinations].sum()) // network.ports)
        )

    def best(self) -> _Found:
        """Return the shortest of several tries; the first that meets the lower bound."""
        best, work = self.attempt(0), 0
        for seed in range(1, _TRIES):
            work += best.steps * self.ports
            if best.steps == self.least or work > _MOST_WORK:
                break
            best = min(best, self.attempt(seed), key=lambda found: found.steps)
        return best

    def attempt(self, seed: int) -> _Found:
        """Return one schedule."""
        chance = random.Random(seed)
        level: list[int] = self.distance.tolist()
        levels = [dict[int, list[int]]() for _ in range(int(self.distance.max()) + 1)]
        ports_of: dict[int, list[int]] = {}

        def put(payload: int, rest: int) -> None:
            if rest not in ports_of:
                ports_of[rest] = np.flatnonzero(self.nearer[rest]).tolist()
            levels[level[rest]].setdefault(rest, []).append(payload)

        for payload, rest in enumerate(self.destination.tolist()):
            put(payload, rest)
        used, sends, step, left = [0] * self.ports, list[tuple[int, int, int]](), 0, len(self.destination)
        while left:
            match = self._match(levels, ports_of, chance, used)
            moved = [(levels[level[rest]][rest].pop(), port, rest) for port, rest in match.items()]
            for payload, port, rest in moved:
                if not levels[level[rest]].get(rest, True):
                    del levels[level[rest]][rest]
                used[port] += 1
                sends.append((step, payload, port))
                beyond = int(self.beyond[rest, port])
                if beyond:
                    put(payload, beyond)
                else:
                    left -= 1
            step += 1
        return _Found(step, self.destination, self.layer, sends)

    def _match(
        self, levels: list[dict[int, list[int]]], ports_of: dict[int, list[int]], chance: random.Random, used: list[int]
    ) -> dict[int, int]:
        """Return the rest of the payload that each port sends: a maximum matching, the farthest payloads first."""
        match: dict[int, int] = {}

        def augment(rest: int, tried: set[int]) -> bool:
            for port in sorted(ports_of[rest], key=used.__getitem__):
                if port not in tried:
                    tried.add(port)
                    if port not in match or augment(match[port], tried):
                        match[port] = rest
                        return True
            return False

        for level in reversed(levels[1:]):
            for rest in sorted(level, key=lambda rest: (len(ports_of[rest]), chance.random())):
                for _ in level[rest]:
                    if len(match) == self.ports or not augment(rest, set()):
                        break
                if len(match) == self.ports:
                    return match
        return match
