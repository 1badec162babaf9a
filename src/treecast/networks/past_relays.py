"""Networks past their plain relays: ranks, and relays that add, joined by routes over which a send goes straight.

A relay passes on what it gets, and copies it; whether it *adds* contributions to a sum is for somebody to say. Where it does not,
contributions that come by different arcs leave it one by one. So it is no node of a schedule of sums but part of *routes*: a send
from rank to rank takes every link of its route at once, in one step, as through a switch that does not wait for the whole of it.

The routes are the shortest ways past plain relays. Of those between two nodes as many are taken as either has ports, those that
use links alike; back they go the same way. They depend on the nodes and arcs alone, so a plan that names them finds them again.

Beyond 128 ranks all pairs would be too many. Then the routes are those of a tree of the relays, of which the ranks are
leaves. **Theorem.** Who walks around a tree goes over each of its links once there and once back. So the routes from each leaf to
the next share no channel, however many leaves there are: they make a ring past the relays, and its turn is a symmetry of them.
*Skips* join ranks that are farther apart on the walk. The routes of many skips share channels, so the machine makes them wait.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from copy import copy
from functools import cached_property, reduce
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.asked import read_asked
from treecast.errors import NetworkError
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import KEPT, Network
from treecast.networks.graph import Graph
from treecast.networks.low_trees import LowTree, low_tree
from treecast.networks.symmetry import AbelianSymmetry, Automorphism
from treecast.ragged import Ints

PAST = " past relays"
ADDING = {" with relays-add yes": True, " with relays-add no": False}
"""The ends of spellings; the second say of all relays whether they add."""
_FEW_PAIRS, _MOST_PAIRS = 2**14, 2**18  # that are joined, and where there is no walk
_MOST_SKIPS, _MOST_ROUTES = 2**19, 2**15
_SEVERAL = 4  # routes of two nodes, where there are so many, however few ports they have
_Route = tuple[int, ...]


class Routes(NamedTuple):
    """The channels of routes, as arcs of the whole network, and as its links: int64 (arcs, width), -1 behind the last.

    ``channels``: how many arcs the whole network has. ``ports``: over how many of them a node sends at most, or receives.
    ``mirrored``: whether the routes there and back between two nodes are over the same links.
    """

    channel: Ints
    link: Ints
    channels: int
    ports: int
    mirrored: bool

    def taken(self, *, half: bool) -> Ints:
        """Return the channels of each arc, of half duplex the links."""
        return self.link if half else self.channel


class PastRelays(Graph):
    """A network without its plain relays: each of its arcs is a route past them. Parallel arcs are different routes.

    It is spelled ``SPEC past relays``. Nodes keep their labels, and relays that add are its relays. Of more than 128 nodes it is
    a walk around a tree of the relays, with skips, and the turn of the walk is its symmetry, unless some relays add, or the
    others do not join all ranks both ways. Raises NetworkError where that is so, of more than some 500 nodes.

    >>> from treecast import network
    >>> where = network("fat-tree:4 past relays")
    >>> where.nodes, where.rank_count, where.diameter, where.label(5)
    (16, 16, 1, '1.0.1')
    >>> len(where.route(0, 0))
    2
    """

    described: ClassVar[str] = "a network past its relays"

    def __init__(self, whole: Network) -> None:
        plain = np.zeros(whole.nodes, np.bool_) if whole.plain_relays is None else whole.plain_relays
        self.whole, self.kept_nodes = whole, np.flatnonzero(~plain)
        arcs = arcs_of(whole)
        back = _backs(whole, arcs)
        # 1. The channels of each route, as a table.
        pairs, around = len(self.kept_nodes) * (len(self.kept_nodes) - 1), None
        if pairs > _FEW_PAIRS:
            try:
                around = _around(whole, back, plain, self.kept_nodes)
            except NetworkError:
                if pairs > _MOST_PAIRS:
                    raise
        if around:
            self.walk, ends, channel = around
        else:
            ends, found = _Routing(whole, arcs, plain).routes(self.kept_nodes, back.tolist())
            channel = np.full((len(found), max(map(len, found), default=1)), -1, np.int64)
            for place, route in enumerate(found):
                channel[place, : len(route)] = route
        # 2. A link is the lesser of its two arcs.
        twin = np.append(back, -1)[channel]
        link = np.where(twin < 0, channel, np.minimum(channel, twin))
        last = channel[np.arange(len(channel)), np.count_nonzero(channel >= 0, axis=1) - 1]
        ends_of = [arcs.tail[np.unique(channel[:, 0])], arcs.head[np.unique(last)]]
        ports = max(int(np.bincount(at).max(initial=1)) for at in ends_of)
        self.past_routes, self._channel = Routes(channel, link, len(arcs.tail), ports, whole.both_ways), channel
        # 3. The nodes that are kept, with all that is known of them.
        kept = self.kept_nodes
        super().__init__(
            whole.spec + PAST, whole.labels(kept), ends, None if whole.relays is None else whole.relays[kept]
        )
        self.family, self.adds, self.symmetry = "", self.relays, None  # what carries arcs may not carry routes
        if len(self.walk):
            turn = np.empty_like(self.walk)
            turn[self.walk] = np.roll(self.walk, -1)
            self.symmetry = AbelianSymmetry(self, [Automorphism("place+1", len(turn), turn)])
        self.kinds = tuple(whole.kinds[v] for v in kept) if whole.kinds else ()
        self.chunk_rate, self.remarks, self.remedy = whole.chunk_rate, whole.remarks, whole.remedy
        self.notes = whole.notes

    @property
    def spelled(self) -> bool:
        """Whether the whole network is."""
        return self.whole.spelled

    @property
    def stored(self) -> bool:
        """Whether plans hold the nodes and arcs of the whole network."""
        return self.whole.stored

    @property
    def apart(self) -> Network:
        """The same nodes and arcs, each arc with a channel of its own."""
        return self._apart

    @cached_property
    def _apart(self) -> Network:
        arcs = arcs_of(self)
        found = Graph(f"{self.spec} apart", self.labels(), np.stack([arcs.tail, arcs.head], axis=1), self.relays)
        found.adds, found.symmetry = self.relays, None
        return found

    def reversed(self) -> Network:
        """Return the network with its routes turned round: itself where the routes back are the same ones turned."""
        return super().reversed() if self.whole.both_ways else self._with_arcs_reversed

    def route(self, u: int, port: int) -> list[tuple[int, int]]:
        """Return the arcs of the whole network, by source and port, on the route of the arc that leaves ``u`` by ``port``."""
        channel = self._channel[int(arcs_of(self).number(u, port))]
        arcs = arcs_of(self.whole)
        return [(int(arcs.tail[a]), int(arcs.port[a])) for a in channel[channel >= 0].tolist()]

    def crossing(self, nodes: Collection[int] = (), arcs: Collection[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """Return the arcs, by source and port, whose routes lead past some nodes of the whole network, or over some of its arcs.

        >>> from treecast import network
        >>> where = network("fat-tree:2 past relays")
        >>> where.crossing(nodes=np.flatnonzero(where.whole.relays)[:1])
        [(0, 0), (1, 0)]
        """
        within, mine = arcs_of(self.whole), arcs_of(self)
        cut = np.isin(within.tail, list(nodes)) | np.isin(within.head, list(nodes))
        cut[[int(within.number(u, port)) for u, port in arcs]] = True
        found = (np.append(cut, False)[self._channel]).any(axis=1)
        return list(zip(mine.tail[found].tolist(), mine.port[found].tolist(), strict=True))

    def without(self, nodes: Collection[str | int] = (), links: Collection[str] = ()) -> Network:
        """Return the whole network less broken parts, past the relays that are left. Relays may be among the parts."""
        gone = [node if isinstance(node, str) else self.label(node) for node in nodes]
        return self.whole.without(gone, links).past_relays()

    def _parse_label(self, text: str) -> int | None:
        found = self.whole._parse_label(text)
        at = int(np.searchsorted(self.kept_nodes, -1 if found is None else found))
        return at if found is not None and at < self.nodes and self.kept_nodes[at] == found else None

    def why_no_label(self, text: str) -> str:
        """Return that a text names a relay, which has no part in a schedule past relays."""
        if self.whole._parse_label(text) is None:
            return ""
        return f"{text} is a relay that does not add, which only passes on what others send"


def straight_of(network: object) -> PastRelays | None:
    """Return a network that goes past its relays; None for any other."""
    return network if isinstance(network, PastRelays) else None


def whole_of(network: Network) -> Network:
    """Return the network with its relays of which one is past them; any other is whole."""
    return network.whole if isinstance(network, PastRelays) else network


class _Routing:
    """The search for routes past plain relays, and how many use each arc so far."""

    def __init__(self, whole: Network, arcs: Arcs, plain: NDArray[np.bool_]) -> None:
        self.whole, self.arcs, self.plain = whole, arcs, plain.tolist()
        self.tail, self.head = arcs.tail.tolist(), arcs.head.tolist()
        self.first = arcs.first.tolist()
        self.load = [0] * len(self.tail)

    def routes(self, kept: Ints, back: list[int]) -> tuple[Ints, list[_Route]]:
        """Return the ends of the routes between some nodes, by their places there, int64 (routes, 2), and their arcs; sorted.

        ``back``: the number of the arc back of each.
        """
        place = {v: i for i, v in enumerate(kept.tolist())}
        both = self.whole.both_ways
        ports = np.diff(self.arcs.first).tolist()
        most = max(1, _MOST_ROUTES // max(1, len(kept) * (len(kept) - 1)))
        found = defaultdict[tuple[int, int], list[_Route]](list)
        for u in kept.tolist():
            for v, into in self._reached(u):
                if both and v < u:
                    continue
                for route in self._several(u, v, into, min(most, max(ports[u], ports[v], _SEVERAL))):
                    found[place[u], place[v]].append(route)
                    if both:
                        turned = tuple(back[a] for a in reversed(route))
                        found[place[v], place[u]].append(turned)
                        self._count(turned)
        ends = sorted(found)
        many = [len(found[pair]) for pair in ends]
        return np.repeat(np.array(ends, np.int64).reshape(-1, 2), many, axis=0), [
            r for pair in ends for r in found[pair]
        ]

    def _reached(self, u: int) -> Iterator[tuple[int, dict[int, list[int]]]]:
        """Yield the nodes, none of them a plain relay, to which ways lead past plain relays, and the last arcs of shortest ways.

        The arcs are those into every node on the way: one table for all.
        """
        level, into, now = {u: 0}, dict[int, list[int]](), [u]
        while now:
            further = list[int]()
            for w in now:
                for a in range(self.first[w], self.first[w + 1]):
                    x = self.head[a]
                    if x not in level:
                        level[x] = level[w] + 1
                        if self.plain[x]:
                            further.append(x)
                    if level[x] == level[w] + 1:
                        into.setdefault(x, []).append(a)
            now = further
        yield from ((v, into) for v in sorted(level) if v != u and not self.plain[v])

    def _several(self, u: int, v: int, into: dict[int, list[int]], most: int) -> Iterator[_Route]:
        """Yield up to so many different shortest ways from u to v, those whose arcs have least load, and count them."""
        order, seen = [v], {v}  # the nodes between, the farther from v the later
        for x in order:
            for a in into.get(x, ()):
                if (w := self.tail[a]) != u and w not in seen:
                    seen.add(w)
                    order.append(w)
        # least load first: a route costs 2 for each route over an arc so far, and 1 for each arc
        known = set[_Route]()
        for _ in range(most):
            # from u on: the nodes between are in the order of their distance from v, so backwards
            cost, via = {u: 0}, dict[int, int]()
            for x in reversed(order):
                via[x] = min(into[x], key=lambda a: cost[self.tail[a]] + 2 * self.load[a])
                cost[x] = cost[self.tail[via[x]]] + 2 * self.load[via[x]] + 1
            route, x = list[int](), v
            while x != u:
                route.append(via[x])
                x = self.tail[via[x]]
            this = tuple(reversed(route))
            if this in known:
                return
            known.add(this)
            self._count(this)
            yield this

    def _count(self, route: _Route) -> None:
        for a in route:
            self.load[a] += 1


def _routes_on(tree: LowTree, back: Ints, u: Ints, v: Ints) -> Ints:
    """Return the arcs of the ways between nodes of a tree: int64 (len(u), longest), -1 behind the last."""
    there, here = list[Ints](), list[Ints]()
    while (u != v).any():
        # whichever is farther from the root goes up, and both where they are as far
        apart = u != v
        up, down = ((tree.level[a] >= tree.level[b]) & apart for a, b in ((u, v), (v, u)))
        there.append(np.where(up, back[tree.into[u]], -1))
        here.append(np.where(down, tree.into[v], -1))
        u, v = np.where(up, tree.parent[u], u), np.where(down, tree.parent[v], v)
    channel = np.stack([*there, *reversed(here)], axis=1)
    channel = np.take_along_axis(channel, np.argsort(channel < 0, axis=1, kind="stable"), axis=1)
    return channel[:, : int((channel >= 0).sum(axis=1).max())]


def _around(whole: Network, back: Ints, plain: NDArray[np.bool_], kept: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the kept nodes in the order of a walk, the ends of its routes and skips, and their arcs.

    Raises NetworkError where there is no walk.
    """
    nodes = len(kept)
    many = f"{whole.spec} has {nodes:,} nodes besides relays that do not add: routes past these join up to "
    many += f"{int(_MOST_PAIRS**0.5):,}, or more where"
    if whole.adds is not None:
        raise NetworkError(f"{many} no relay adds; --relays-add yes or no says so of all")
    if not whole.both_ways:
        raise NetworkError(f"{many} all links lead both ways; --relays-add says that they add")
    # the relays that join all are some beside the first
    tree, apart = None, kept[1:]
    for v in dict.fromkeys(v for v in whole.neighbors(int(kept[0])) if plain[v]):
        if len(apart):
            tree = low_tree(whole, v, plain)
            apart = kept[tree.level[kept] < 0]
    if tree is None or len(apart):
        ends = " to ".join(whole.labels(np.array([kept[0], apart[0]])))
        raise NetworkError(f"{many} these join all, and none leads from {ends}; --relays-add says that they add")
    # skips of 1, 2, 4 … places each way, fewer powers of two where there is no room for all
    around = np.argsort(tree.place[kept])
    count = max(1, min((nodes - 1).bit_length(), _MOST_SKIPS // (2 * nodes)))
    skips = 1 << np.arange(count) * (nodes - 1).bit_length() // count
    skips = np.unique(np.concatenate([skips, nodes - skips]) % nodes)
    at, skip = (each.ravel() for each in np.meshgrid(np.arange(nodes), skips, indexing="ij"))
    ends = np.stack([around[at], around[(at + skip) % nodes]], axis=1)
    ends = ends[np.lexsort(ends.T[::-1])]
    return around, ends, _routes_on(tree, back, kept[ends[:, 0]], kept[ends[:, 1]])


def _backs(network: Network, arcs: Arcs) -> Ints:
    """Return the number of the arc back of each arc, -1 where there is none."""
    port = network.back(arcs.tail, arcs.port)
    return np.where(port < 0, -1, arcs.number(arcs.head, np.maximum(port, 0)))


def adding(network: Network, adds: bool = True) -> Network:
    """Return a network whose relays all add, or none of them; itself where it has none, or they are so."""
    relays, now = network.relays, network.adds
    if relays is None or (now is None or not now.any() if not adds else now is not None and now[relays].all()):
        return network
    found = copy(network)
    for name in (KEPT, "_straight"):
        vars(found).pop(name, None)
    found.adds = relays if adds else None
    spec = reduce(str.removesuffix, ADDING, network.spec)
    word = next(word for word, says in ADDING.items() if says == adds)
    several = spec.startswith("file:") and read_asked(spec)[0] != spec
    vars(found)["_spec"] = spec + (word.removeprefix(" with") if several else word)
    return found
