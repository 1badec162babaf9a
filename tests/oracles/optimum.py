"""Whether a collective can be done in so many steps at all, on small networks: exhaustive search over sets and tuples.

It shares nothing with treecast, and has rules of its own for the machines. Where sets of nodes lack more than can enter them, no
search begins. Sums may be added up anywhere, by anybody, and sent on as often as one likes: contributions spread as data does,
and a message of a sum carries all of them that its sender has. That allows more than adding each contribution once.
"""

from collections import Counter
from functools import cached_property, lru_cache
from itertools import accumulate, combinations, pairwise, product

import networkx as nx
import numpy as np

CLASHES = {
    "all-port": lambda one, other: one == other,
    "all-port,half": lambda one, other: set(one) == set(other),
    "one-port": lambda one, other: one[0] == other[0] or one[1] == other[1],
    "one-port,partner": lambda one, other: bool(set(one) & set(other)) and one != other[::-1],
    "one-port,half": lambda one, other: bool(set(one) & set(other)),
}
"""Of each machine, which two arcs, or which arc twice, one step cannot use. A step uses any arcs of which no two clash."""


class TooLong(Exception):  # noqa: N818
    """Nothing is known after so much searching."""


class Place:
    """Nodes 0 … n - 1 and arcs between them, on a machine. A set of nodes is written as bits."""

    def __init__(self, nodes, arcs, machine="all-port"):
        self.nodes, self.arcs, self.machine, self.known = range(nodes), sorted(arcs), machine, {}
        self.all, self.looks = (1 << nodes) - 1, 0
        self.into = [[u for u, w in self.arcs if w == v] for v in self.nodes]
        self.out = [[w for u, w in self.arcs if u == v] for v in self.nodes]

    def look(self):
        """Raise TooLong after so many looks."""
        self.looks -= 1
        if self.looks < 0:
            raise TooLong

    @cached_property
    def back(self):
        return Place(len(self.nodes), [(v, u) for u, v in self.arcs], self.machine)

    def rivals(self, arcs, clash=True):
        """The largest sets of some arcs of which any two clash, or no two: a step uses one of those, or all of these."""
        graph = nx.Graph()
        graph.add_nodes_from(arcs)
        graph.add_edges_from(two for two in combinations(arcs, 2) if CLASHES[self.machine](*two) == clash)
        return list(nx.find_cliques(graph)) if arcs else [[]]

    @cached_property
    def users(self):
        """Of each arc, the numbers of the sets of rivals that it is in: sends over two arcs clash where they share one."""
        every = self.rivals(self.arcs)
        return {arc: [number for number, some in enumerate(every) if arc in some] for arc in self.arcs}

    @cached_property
    def most(self):
        return [frozenset(some) for some in self.rivals(self.arcs, clash=False)]

    def together(self, arcs):
        """The largest sets of some arcs that a step can use, of each the tails of those into each node."""
        if arcs not in self.known:
            sets = self.rivals(arcs, clash=False)
            self.known[arcs] = [[[u for u, w in some if w == v] for v in self.nodes] for some in sets]
        return self.known[arcs]

    def after(self, arcs, heard):
        """States of all nodes one step later, by what a node can know when some nodes have told it something."""
        for tails in self.together(arcs):
            yield from product(*(heard(v, tails[v]) for v in self.nodes))

    def room(self, arcs):
        """How many of some arcs a step uses at the most."""
        return max(len(arcs & some) for some in self.most)

    @cached_property
    def far(self):
        """How many arcs lead from the nearest of some nodes to the nearest of others."""
        every, near = self.all + 1, [{} for _ in range(self.all + 1)]
        for some in range(every):
            reached = some
            for d in self.nodes:
                near[some] |= {others: d for others in range(every) if others & reached and others not in near[some]}
                reached |= sum({1 << v for u, v in self.arcs if reached >> u & 1})
        return [[near[some].get(others, 99) for others in range(every)] for some in range(every)]

    def entering(self, some):
        return {(u, v) for u, v in self.arcs if some >> v & 1 and not some >> u & 1}

    @cached_property
    def scarce(self):
        """Sets of arcs: that enter some nodes, that lead into or out of them, or that touch them; and the room of each."""
        sets = set()
        for some in range(1, self.all + 1):
            across = self.entering(some) | self.entering(self.all & ~some)
            touching = [(u, v) for u, v in self.arcs if some & (1 << u | 1 << v)]
            sets |= {frozenset(arcs) for arcs in (self.entering(some), across, touching) if arcs}
        return list(sets), np.array([self.room(arcs) for arcs in sets])

    @cached_property
    def apart(self):
        """Families of sets of nodes that share no node, and how many arcs that enter one of them a step uses at the most."""

        def families(least, free):
            yield ()
            for some in range(least, self.all + 1):
                if some & ~free == 0:
                    yield from ((some, *more) for more in families(some + 1, free & ~some))

        return [
            (family, self.room(set().union(*map(self.entering, family))))
            for family in families(1, self.all)
            if family not in ((), (self.all,))
        ]

    def hopeless(self, wanted, left):
        """Whether the sets of some family lack more chunks than can enter them in the steps that are left.

        ``wanted``: of each chunk, the nodes that hold it and those that want it. What is d arcs away is d - 1 steps late.
        """
        lacking, counts = {}, Counter(wanted)
        for some in range(1, self.all + 1):
            ways = [0] * (left + 2)
            for (held, by), many in counts.items():
                if some & by and not some & held:
                    ways[min(self.far[held][some], left + 1)] += many
            if ways[left + 1]:
                return True
            lacking[some] = list(accumulate(reversed(ways[1 : left + 1])))  # in the last step, the last two, …
        return any(
            sum(all_of) > room * last
            for family, room in self.apart
            for last, all_of in enumerate(zip(*(lacking[some] for some in family), strict=True), 1)
        )


# --- what spreads: each message carries one chunk ---


def spreads_in(place, start, chunks, steps):
    """Whether all nodes can hold all ``chunks``, of which node v holds the set of bits ``start[v]``, after so many steps."""
    seen, full = set(), (1 << chunks) - 1

    def bits(some):
        return [1 << c for c in range(chunks) if some >> c & 1]

    def heard(held, v, tails):
        """What v can hold when some have told it of a chunk each; a choice is left out that gives less than another."""
        new = {held[v]}
        for u in tails:
            new |= {some | bit for some in new for bit in bits(held[u] & ~held[v])}
        return [some for some in new if not any(some != more and some & more == some for more in new)]

    def go(held, left):
        if all(some == full for some in held):
            return True
        columns = sorted(sum((held[v] >> c & 1) << v for v in place.nodes) for c in range(chunks))
        if (left, *columns) in seen:  # chunks that lie alike are alike
            return False
        place.look()
        seen.add((left, *columns))
        if place.hopeless([(some, place.all) for some in columns], left):
            return False
        useful = tuple((u, v) for u, v in place.arcs if held[u] & ~held[v])
        return any(go(after, left - 1) for after in place.after(useful, lambda v, tails: heard(held, v, tails)))

    return go(tuple(start), steps)


def broadcasts_in(place, root, messages, steps):
    """Whether a broadcast can be done in so many steps."""
    return spreads_in(place, [(1 << messages) - 1 if v == root else 0 for v in place.nodes], messages, steps)


def copied_in(place, sources, steps):
    """Whether one message of each of some nodes can come to every other in two trees, by ways that share no node but the ends.

    A state says, of each node and tree, which nodes lie between the root and it there, as bits; -1 where it has not heard.
    """
    roots, seen, none = [root for root in sources for _ in range(2)], set(), -1

    def go(state, left):
        held = [sum(1 << c for c, way in enumerate(row) if way != none) for row in state]
        if all(some == (1 << len(roots)) - 1 for some in held):
            return True
        columns = [(sum((held[v] >> c & 1) << v for v in place.nodes), place.all) for c in range(len(roots))]
        if (state, left) in seen or place.hopeless(columns, left):
            return False
        place.look()
        seen.add((state, left))
        return any(go(after, left - 1) for after in place.after(tuple(place.arcs), lambda v, us: rows(state, v, us)))

    def heard(state, row, u, v):
        """What v can have when u has told it of one tree, or of none."""
        yield row
        for c, way in enumerate(row):
            if way == none != state[u][c]:
                new = state[u][c] | (1 << u if u != roots[c] else 0)
                other = row[c ^ 1]
                if other == none or not (other & new or other == new == 0):
                    yield (*row[:c], new, *row[c + 1 :])

    def rows(state, v, tails):
        found = {state[v]}
        for u in tails:
            found = {new for row in found for new in heard(state, row, u, v)}
        return sorted(found, key=lambda row: row.count(none))

    start = tuple(tuple(0 if v == root else none for root in roots) for v in place.nodes)
    return go(start, steps)


def reduces_in(place, root, messages, steps):
    """Whether M sums can be complete at a root: backwards, each contribution to them spreads from it."""
    return broadcasts_in(place.back, root, messages, steps)


def allgathers_in(place, messages, steps):
    """Whether an allgather can be done in so many steps: each node's data alone, and then all data together."""
    every = len(place.nodes) * messages
    if not all(broadcasts_in(place, v, messages, steps) for v in place.nodes):
        return False
    return spreads_in(place, [((1 << messages) - 1) << v * messages for v in place.nodes], every, steps)


def allreduces_in(place, messages, steps):
    """Whether something forbids that M sums for each node are known to all: what one adds to all sums, or all add to one.

    Each sum has to enter every set of nodes, and takes ``fewest_sends`` between parts that are all nodes together. Whether an
    allreduce can be done that breaks none of these is not searched for.
    """
    every = len(place.nodes) * messages
    for family, room in place.apart:
        entries = fewest_sends(len(family)) if sum(family) == place.all else len(family)
        if every * entries > room * steps:
            return False
    return all(spread(place, v, every, steps) for v in place.nodes for spread in (broadcasts_in, reduces_in))


@lru_cache
def fewest_sends(nodes):
    """The fewest sends, one after the other, from anybody to anybody, after which all know what each knew."""
    full, sends = (1 << nodes) - 1, 0
    front = {tuple(1 << v for v in range(nodes))}
    while not any(all(known == full for known in state) for state in front):
        sends, front = (
            sends + 1,
            {
                _alike(tuple(known | state[u] if w == v else known for w, known in enumerate(state)))
                for state in front
                for u in range(nodes)
                for v in range(nodes)
                if state[u] & ~state[v]
            },
        )
    return sends


def _alike(state):
    """The same state with its nodes in an order that depends on who knows how much, and is known to how many."""
    nodes = range(len(state))
    order = sorted(
        nodes,
        key=lambda v: (
            state[v].bit_count(),
            sum(known >> v & 1 for known in state),
            sorted(state[u].bit_count() for u in nodes if state[v] >> u & 1),
        ),
    )
    place = {v: at for at, v in enumerate(order)}
    return tuple(sum(1 << place[u] for u in nodes if state[v] >> u & 1) for v in order)


# --- what goes from one to one: each message takes x disjoint paths ---


def delivers_in(place, pairs, copies, steps):
    """Whether each pair (u, v) can have a message taken from u to v over so many node-disjoint paths, in so many steps.

    Ways are chosen pair by pair. A send over the i-th of l arcs of a way is made in step i … steps - l + i; for each arc, or each
    port, there are steps for all its sends, or nothing more is chosen. Then a step for each send is searched for.
    """
    if place.hopeless([(1 << u, 1 << v) for u, v in pairs for _ in range(copies)], steps):
        return False
    table = {pair: _sets_of_ways(place, *pair, copies, steps) for pair in set(pairs)}
    if not all(table.values()):
        return False
    ordered, (scarce, room) = sorted(pairs, key=lambda pair: (len(table[pair]), pair)), place.scarce
    hops = {pair: [[arc for way in ways for arc in pairwise(way)] for ways in table[pair]] for pair in table}
    costs = {pair: np.array([[sum(map(each.count, some)) for some in scarce] for each in hops[pair]]) for pair in table}
    behind = [sum(costs[pair].min(axis=0) for pair in ordered[at:]) for at in range(len(ordered) + 1)]

    def choose(at, sends, windows, first, used):
        place.look()
        if (behind[at] + used > room * steps).any():
            return False
        if at == len(ordered):
            return _timed(place, sends, steps)
        options = table[ordered[at]]
        begin = first if at and ordered[at] == ordered[at - 1] else 0  # messages of one pair are alike
        for number in range(begin, len(options)):
            more, wider = list(sends), {key: list(some) for key, some in windows.items()}
            for way in options[number]:
                for hop, (u, v) in enumerate(pairwise(way)):
                    window = (hop, steps - len(way) + 1 + hop)
                    more.append((u, v, hop, window))
                    for key in place.users[u, v]:
                        wider.setdefault(key, []).append(window)
            if all(_fits(some) for some in wider.values()) and choose(
                at + 1, more, wider, number, used + costs[ordered[at]][number]
            ):
                return True
        return False

    return choose(0, [], {}, 0, 0)


def fewest_hops(place, pairs, copies):
    """The fewest sends that take a message from u to v over so many ways, for all pairs (u, v), on any machine."""
    ways = [_sets_of_ways(place, *pair, copies, len(place.nodes)) for pair in pairs]
    return sum(min(sum(map(len, some)) - copies for some in each) for each in ways)


def _sets_of_ways(place, start, end, copies, longest):
    ways, front = [], [(start,)]
    while front:
        way = front.pop()
        if way[-1] == end:
            ways.append(way)
        elif len(way) <= longest:
            front += [(*way, v) for v in place.out[way[-1]] if v not in way]
    ways.sort(key=len)
    if copies == 1:
        return [(way,) for way in ways]
    found = [some for some in combinations(ways, copies) if not set(some[0][1:-1]) & set(some[1][1:-1])]
    return sorted(found, key=lambda some: sum(map(len, some)))


def _fits(windows):
    """Whether each of some sends can have a step of its own within its window, both ends included: the most urgent go first."""
    waiting, coming, step = [], sorted(windows, reverse=True), 0
    while waiting or coming:
        step = max(step, coming[-1][0]) if not waiting and coming else step
        while coming and coming[-1][0] <= step:
            waiting.append(coming.pop()[1])
        waiting.sort(reverse=True)
        if waiting.pop() < step:
            return False
        step += 1
    return True


def _timed(place, sends, steps):
    """Whether there is a step for each send, behind the send before it on its way."""
    busy = set()

    def put(at, before):
        place.look()
        if at == len(sends):
            return True
        u, v, hop, (low, high) = sends[at]
        for step in range(max(low, before + 1 if hop else 0), high + 1):
            taken = {(key, step) for key in place.users[u, v]}
            if not taken & busy:
                busy.update(taken)
                if put(at + 1, step):
                    return True
                busy.difference_update(taken)
        return False

    return put(0, -1)
