"""Whether a collective can be done in so many steps at all, on small networks: exhaustive search over sets and tuples.

It shares nothing with treecast. Where one necessary condition fails (a node cannot hear as much, a cut lets too little in)
nothing is searched for. Sums may be added up anywhere, by anybody, and sent on as often as one likes: contributions spread as
data does, and a message of a sum carries all of them that its sender has. That allows more than adding each contribution once.
"""

from functools import cached_property, lru_cache
from itertools import combinations, pairwise, product

import networkx as nx


class Place:
    """Nodes 0 … n - 1 and arcs between them; with ``one_port`` a node sends and hears over one of them in a step."""

    def __init__(self, nodes, arcs, one_port=False):
        self.nodes, self.arcs, self.one_port = range(nodes), sorted(arcs), one_port
        self.into = [[u for u, w in self.arcs if w == v] for v in self.nodes]
        self.out = [[w for u, w in self.arcs if u == v] for v in self.nodes]

    @cached_property
    def back(self):
        return Place(len(self.nodes), [(v, u) for u, v in self.arcs], self.one_port)

    @cached_property
    def far(self):
        found = [[0 if u == v else 99 for v in self.nodes] for u in self.nodes]
        for _ in self.nodes:
            for u, v in self.arcs:
                for w in self.nodes:
                    found[w][v] = min(found[w][v], found[w][u] + 1)
        return found

    @cached_property
    def cuts(self):
        """Sets of nodes, and how much enters each in a step."""
        found = []
        for size in range(1, len(self.nodes)):
            for some in combinations(self.nodes, size):
                entering = [(u, v) for u, v in self.arcs if u not in some and v in some]
                ends = [len(set(end)) for end in zip(*entering, strict=True)]
                found.append((some, min(ends, default=0) if self.one_port else len(entering)))
        return found

    def hears(self, v):
        return min(1, len(self.into[v])) if self.one_port else len(self.into[v])

    def sends(self, v):
        return min(1, len(self.out[v])) if self.one_port else len(self.out[v])

    @cached_property
    def room(self):
        """How many sends a step has at the most: with one port as many as arcs that share no tail and no head."""
        if not self.one_port:
            return len(self.arcs)
        ports = nx.Graph([(("out", u), ("in", v)) for u, v in self.arcs])
        return len(nx.max_weight_matching(ports, maxcardinality=True))


# --- what spreads: each message carries one chunk ---


def spreads_in(place, start, chunks, steps):
    """Whether all nodes can hold all ``chunks``, of which node v holds the set of bits ``start[v]``, after so many steps."""
    seen, full = set(), (1 << chunks) - 1

    def go(held, left):
        if all(some == full for some in held):
            return True
        if left == 0 or hopeless(place, held, chunks, left):
            return False
        columns = sorted(sum((held[v] >> c & 1) << v for v in place.nodes) for c in range(chunks))
        if (left, *columns) in seen:  # chunks that lie alike are alike
            return False
        seen.add((left, *columns))
        return any(go(after, left - 1) for after in following(place, held, chunks))

    return go(tuple(start), steps)


def hopeless(place, held, chunks, left):
    """Whether some node, or all nodes of some set, lack more than can reach them in the steps that are left."""
    full = (1 << chunks) - 1
    for v in place.nodes:
        lacking = [c for c in range(chunks) if not held[v] >> c & 1]
        late = [min(place.far[u][v] for u in place.nodes if held[u] >> c & 1) for c in lacking]
        for d in set(late):
            if sum(each >= d for each in late) > place.hears(v) * (left - d + 1):
                return True
    for some, room in place.cuts:
        inside = 0
        for v in some:
            inside |= held[v]
        if (full & ~inside).bit_count() > room * left:
            return True
    return False


def following(place, held, chunks):
    """What nodes can hold one step later; where one choice gives more than another, the other is left out."""

    def bits(some):
        return [1 << c for c in range(chunks) if some >> c & 1]

    if not place.one_port:
        choices = []
        for v in place.nodes:
            new = {held[v]}
            for u in place.into[v]:
                new |= {some | bit for some in new for bit in bits(held[u] & ~held[v])}
            choices.append([some for some in new if not any(some != more and some & more == some for more in new)])
        yield from product(*choices)
        return

    def over(v, sending, after):
        if v == len(place.nodes):
            yield tuple(after)
            return
        yield from over(v + 1, sending, [*after, held[v]])
        for u in place.into[v]:
            if u not in sending:
                for bit in bits(held[u] & ~held[v]):
                    yield from over(v + 1, sending | {u}, [*after, held[v] | bit])

    yield from sorted(over(0, frozenset(), []), key=lambda each: -sum(map(int.bit_count, each)))


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
        if left == 0 or hopeless(place, held, len(roots), left) or (state, left) in seen:
            return False
        seen.add((state, left))
        return any(go(after, left - 1) for after in steps_from(state))

    def heard(state, row, u, v):
        """What v can have when u has told it of one tree, or of none."""
        yield row
        for c, way in enumerate(row):
            if way == none != state[u][c]:
                new = state[u][c] | (1 << u if u != roots[c] else 0)
                other = row[c ^ 1]
                if other == none or not (other & new or other == new == 0):
                    yield (*row[:c], new, *row[c + 1 :])

    def steps_from(state):
        if place.one_port:
            options = [
                [(None, state[v])] + [(u, row) for u in place.into[v] for row in heard(state, state[v], u, v)]
                for v in place.nodes
            ]
            for chosen in product(*options):
                senders = [u for u, _ in chosen if u is not None]
                if len(senders) == len(set(senders)):
                    yield tuple(row for _, row in chosen)
            return
        choices = []
        for v in place.nodes:
            rows = {state[v]}
            for u in place.into[v]:
                rows = {new for row in rows for new in heard(state, row, u, v)}
            choices.append(sorted(rows, key=lambda row: row.count(none)))
        yield from product(*choices)

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

    Each sum takes ``fewest_sends``. Whether an allreduce can be done that breaks none of these is not searched for.
    """
    every = len(place.nodes) * messages
    if every * fewest_sends(len(place.nodes)) > place.room * steps:
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
    if _too_many(place, pairs, copies, steps):
        return False
    table = {pair: _sets_of_ways(place, *pair, copies, steps) for pair in set(pairs)}
    ordered = sorted(pairs, key=lambda pair: (len(table[pair]), pair))
    least = [min((sum(map(len, ways)) - copies for ways in table[pair]), default=99**9) for pair in ordered]
    behind = [sum(least[at:]) for at in range(len(ordered) + 1)]

    def users(u, v):
        return (("out", u), ("in", v)) if place.one_port else ((u, v),)

    def choose(at, sends, windows, first):
        if behind[at] + len(sends) > place.room * steps:
            return False
        if at == len(ordered):
            return _timed(sends, users, steps)
        options = table[ordered[at]]
        begin = first if at and ordered[at] == ordered[at - 1] else 0  # messages of one pair are alike
        for number in range(begin, len(options)):
            more, wider = list(sends), {key: list(some) for key, some in windows.items()}
            for way in options[number]:
                for hop, (u, v) in enumerate(pairwise(way)):
                    window = (hop, steps - len(way) + 1 + hop)
                    more.append((u, v, hop, window))
                    for key in users(u, v):
                        wider.setdefault(key, []).append(window)
            if all(_fits(some) for some in wider.values()) and choose(at + 1, more, wider, number):
                return True
        return False

    return choose(0, [], {}, 0)


def _too_many(place, pairs, copies, steps):
    """Whether more has to leave or enter some node, or to enter a set of nodes, than can."""
    for v in place.nodes:
        for side, room in ((0, place.sends(v)), (1, place.hears(v))):
            far = [place.far[a][b] for a, b in pairs if (a, b)[side] == v]
            if any(copies * sum(each >= d for each in far) > room * (steps - d + 1) for d in set(far)):
                return True
    return any(copies * sum(u not in some and v in some for u, v in pairs) > room * steps for some, room in place.cuts)


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


def _timed(sends, users, steps):
    """Whether there is a step for each send, behind the send before it on its way."""
    busy = set()

    def put(at, before):
        if at == len(sends):
            return True
        u, v, hop, (low, high) = sends[at]
        for step in range(max(low, before + 1 if hop else 0), high + 1):
            taken = {(key, step) for key in users(u, v)}
            if not taken & busy:
                busy.update(taken)
                if put(at + 1, step):
                    return True
                busy.difference_update(taken)
        return False

    return put(0, -1)
