"""A network less its broken parts: any network without some of its nodes and links, spelled so that it can be found again.

The other nodes keep their labels. It is a graph like any other: it takes over none of the whole network's statements of itself.
"""

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.arcs import arcs_called, arcs_of, ports_to
from treecast.networks.core import Ints, Network
from treecast.networks.graph import Graph

_WORDS = ("links", "nodes")
_BETWEEN = re.compile(r"\s+without\s+(?=(?:links|nodes)\s)")
_MOST_ARCS = 1 << 25
_LARGE = 64  # nodes
_MOST_CUT = 64  # arcs that are gone of a symmetric network: what went over each is planned by itself


class Without(Graph):
    """A network without some nodes, and without some arcs, given by source and port; it may lack parts already.

    It is spelled ``SPEC without links A-B C>D nodes E F``: A-B are both arcs between two nodes, C>D is one of them. Raises
    NetworkError when nothing is left.

    >>> from treecast import network
    >>> where = network("hypercube:3 without links 0b000-0b001 nodes 0b111")
    >>> where.nodes, where.arcs, where.labels(where.neighbors(where.node("0b000")))
    (7, 16, ['0b010', '0b100'])
    >>> network("hypercube:3").without(nodes=[7], links=["0-1"]) == where
    True
    """

    described: ClassVar[str] = "a network without some of its parts"

    def __init__(self, whole: Network, nodes: Iterable[int] = (), arcs: Iterable[tuple[int, int]] = ()) -> None:
        gone, cut = set(nodes), set(arcs)
        if isinstance(whole, Without):  # leave parts out of its own whole network
            gone = {int(whole.kept[u]) for u in gone} | whole.gone
            cut = {whole.whole_arc(u, port) for u, port in cut} | whole.cut
            whole = whole.whole
        if whole.arcs > _MOST_ARCS:
            raise NetworkError(f"{whole.spec} has {whole.arcs:,} arcs, too many to list those that are left")
        self.whole: Network = whole
        self.gone: frozenset[int] = frozenset(gone)
        self.cut: frozenset[tuple[int, int]] = frozenset(cut)
        self.kept: Ints = np.delete(np.arange(whole.nodes), sorted(gone))
        if not self.kept.size:
            raise NetworkError(f"{whole.spec} has no other nodes: leave one at least")
        # the new number of each node, -1 of those gone
        place = np.full(whole.nodes, -1)
        place[self.kept] = np.arange(self.kept.size)
        every = arcs_of(whole)
        keep = (place[every.tail] >= 0) & (place[every.head] >= 0)
        keep[every.number(*np.array(list(self.cut), np.int64).reshape(-1, 2).T)] = False
        found = np.stack([place[every.tail[keep]], place[every.head[keep]]], axis=1)
        names = whole.labels(self.kept)
        super().__init__(self._spell(), names, found, None if whole.relays is None else whole.relays[self.kept])
        self.adds = None if whole.adds is None else whole.adds[self.kept]
        self.chunk_rate, self.notes = whole.chunk_rate, whole.notes
        ends = {(int(place[u]), int(place[v])): cost for (u, v), cost in whole.own_costs.items()}
        self.own_costs = {(u, v): cost for (u, v), cost in ends.items() if u >= 0 and v >= 0}
        self.family = ""

    @property
    def torn_from(self) -> tuple[Network, Ints] | None:
        """The whole network, where it is large, and no more than a node or a fiftieth of its arcs are gone."""
        little = len(self.gone) <= 1 and 50 * len(self.cut) <= self.whole.arcs
        return (self.whole, self.kept) if little and self.whole.nodes > _LARGE else None

    @cached_property
    def mended(self) -> Network | None:
        """The whole network, where few arcs are gone and no nodes, if it has a symmetry."""
        little = not self.gone and len(self.cut) <= min(_MOST_CUT, self.whole.arcs // 8)
        return self.whole if little and self.whole.symmetry is not None else super().mended

    @property
    def spelled(self) -> bool:
        """Whether the whole network is."""
        return self.whole.spelled

    @property
    def stored(self) -> bool:
        """Whether plans hold the nodes and arcs that are left: as they hold those of the whole network."""
        return self.whole.stored

    def whole_arc(self, u: int, port: int) -> tuple[int, int]:
        """Return source and port, in the whole network, of the arc that leaves ``u`` by ``port``."""
        v = int(self.neighbor(u, port))
        a, b = int(self.kept[u]), int(self.kept[v])
        left = [other for other in ports_to(self.whole, a, b) if (a, other) not in self.cut]
        # cables between two nodes keep their order
        return a, left[ports_to(self, u, v).index(port)]

    def adding(self, adds: bool = True) -> Network:
        """Return what is left of the whole network, whose relays all add, or none of them."""
        return Without(self.whole.adding(adds), self.gone, self.cut)

    def _spell(self) -> str:
        """Return the spelling: parts in the order of their numbers, links of nodes that are gone left out."""
        label, whole = self.whole.label, self.whole
        links, done = list[str](), set[tuple[int, int]]()
        for u, port in sorted(self.cut):
            v = int(whole.neighbor(u, port))
            if (u, port) in done or u in self.gone or v in self.gone:
                continue
            there, back = ports_to(whole, u, v) if whole.parallel_arcs else [port], ports_to(whole, v, u)
            cable = there.index(port)
            number = f"#{cable}" if max(len(there), len(back)) > 1 else ""
            other = (v, back[cable]) if cable < len(back) else None
            both = other in self.cut
            done |= {(u, port), *([other] if both and other else [])}
            links.append(f"{label(u)}{'-' if both else '>'}{label(v)}{number}")
        nodes = [label(u) for u in sorted(self.gone)]
        said = "".join(f" {word} {' '.join(some)}" for word, some in zip(_WORDS, (links, nodes), strict=True) if some)
        return f"{whole.spec} without{said}" if said else whole.spec

    def _parse_label(self, text: str) -> int | None:
        if text in self._gone_labels:
            raise NetworkError(f"{text!r} is no node of {self.spec}: it is left out")
        named = super()._parse_label(text)
        if named is not None:
            return named
        other = self.whole._parse_label(text)  # another way to write a label
        if other is None:
            return None
        if other in self.gone:
            raise NetworkError(f"{text!r} is no node of {self.spec}: it is left out")
        return int(np.searchsorted(self.kept, other))

    @cached_property
    def _gone_labels(self) -> frozenset[str]:
        return frozenset(map(self.whole.label, self.gone))


def read_without(text: str) -> tuple[str, list[str], list[str]] | None:
    """Return the spelling of the whole network, the links and the nodes of ``SPEC without …``; None where it is no such.

    >>> read_without("mesh:2x3 without links 0,0-0,1 nodes 1,2"), read_without("mesh:2x3")
    (('mesh:2x3', ['0,0-0,1'], ['1,2']), None)
    """
    parted = _BETWEEN.split(text)
    if len(parted) == 1:
        return None
    found: dict[str, list[str]] = {word: [] for word in _WORDS}
    for part in parted[1:]:
        kind = ""
        for word in part.split():
            if word in _WORDS:
                kind = word
            else:
                found[kind].append(word)
    return parted[0], found["links"], found["nodes"]


def leave_out(whole: Network, nodes: Collection[str | int] = (), links: Collection[str] = ()) -> Network:
    """Return a network without some nodes (labels or numbers) and links (``A-B``, arcs ``A>B``); itself where none are named.

    Raises NetworkError when one of them does not exist.

    >>> from treecast.networks import network
    >>> leave_out(network("ring:6"), links=["0-1"]).diameter
    5
    """
    gone = [whole.node(node) for node in nodes]
    arcs = [arc for link in links for arc in _arcs(whole, link)]
    return Without(whole, gone, arcs) if gone or arcs else whole


def _arcs(whole: Network, link: str) -> list[tuple[int, int]]:
    try:
        return arcs_called(whole, link)
    except NetworkError as error:
        ends = re.split("[->]", link)
        lost = [end for end in ends if end not in whole] if len(ends) == 2 else []
        raise NetworkError(f"{error}{whole.meant(lost[0]) if lost else ''}") from None
