"""The symmetry of any graph: nodes that are alike are taken together, until nothing is left that is.

Three rules, for as long as one applies. *Twins*, nodes of one colour with the same neighbours, become one, and are told apart by
a digit. What *hangs* on one node goes into it. *Parts* that are left where relays of one colour are taken out, and hang on the
same of them in the same way, are twins as wholes. Each rule keeps a colour that tells what was taken in, so nodes of one colour
have the same inside. Then adding 1 to a digit, in all nodes that have it, is an automorphism, and all of these commute.

The digits of ranks lead. Digits that only relays have follow one of them, or stay as they are, so that no turn keeps an arc.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network
from treecast.networks.symmetry import AbelianSymmetry, Automorphism

_MOST_ARCS = 1 << 21
_MOST_CHOICES = 4096


def alike(network: Network) -> AbelianSymmetry | None:
    """Return a symmetry of a graph that is free on ranks and on arcs, as large as is found; None where there is none.

    >>> import networkx as nx
    >>> from treecast import network
    >>> fabric = nx.Graph([(f"host{leaf}.{host}", f"leaf{leaf}") for leaf in range(4) for host in range(2)])
    >>> fabric.add_edges_from((f"leaf{leaf}", f"spine{spine}") for leaf in range(4) for spine in range(2))
    >>> nx.set_node_attributes(fabric, {name: name[0] != "h" for name in fabric}, "relay")
    >>> found = alike(network(fabric))
    >>> found.order, found.words
    (8, 'A+1 B+1, C+1')
    """
    # of routes past relays other rules hold
    if not network.both_ways or network.arcs > _MOST_ARCS or network.past_routes is not None:
        return None
    reduced = _Reduced(network)
    # twins first: they cost least to find, and what hangs on them is less then
    # the cheap rules again after each success of a dear one
    while reduced.take_twins() or reduced.take_in() or reduced.take_parts():
        pass
    return reduced.turns()


class _Reduced:
    """A graph whose nodes stand for several, as the rules are applied.

    ``links``: of each node that is ``left`` its neighbours, and the colours of the links to them. ``inside``: the nodes that it
    stands for. ``place``: of each node where it is inside, the same for nodes that are alike.
    ``digits``: of each how many values it has, and that of each node or -1, int64 (N,). ``idle``: relays that lead to no rank.
    """

    def __init__(self, network: Network) -> None:
        self.network, self._numbers = network, dict[Hashable, int]()
        arcs = arcs_of(network)
        cables = Counter(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
        self.links = [dict[int, int]() for _ in range(network.nodes)]
        for (u, v), count in cables.items():
            self.links[u][v] = self._number("link", count)
        self.left = dict.fromkeys(range(network.nodes))
        self.relay = np.zeros(network.nodes, np.bool_) if network.relays is None else network.relays
        self.idle = self._idle()
        adds = self.relay & (network.adds if network.adds is not None else False)
        self.colour = [self._number("node", *kind) for kind in zip(self.relay.tolist(), adds.tolist(), strict=True)]
        self.place = list(self.colour)
        self.inside = [[u] for u in range(network.nodes)]
        self.digits = list[tuple[int, Ints]]()

    def _idle(self) -> NDArray[np.bool_]:
        """Return which nodes are relays that lead to no rank: bool (N,)."""
        neighbors = [len(each) for each in self.links]
        idle, ends = set[int](), [u for u, count in enumerate(neighbors) if count < 2 and self.relay[u]]
        # a relay at the end of a line leads nowhere; then the one before it is at the end
        while ends:
            u = ends.pop()
            idle.add(u)
            for v in self.links[u]:
                neighbors[v] -= 1
                if neighbors[v] == 1 and self.relay[v] and v not in idle:  # now it is at the end of a line
                    ends.append(v)
        return np.isin(np.arange(len(neighbors)), list(idle))

    def _number(self, *what: Hashable) -> int:
        """Return a number for something, the same whenever it is the same."""
        return self._numbers.setdefault(what, len(self._numbers))

    def take_twins(self) -> bool:
        """Take twins together; return whether there are any."""
        groups = defaultdict[Hashable, list[int]](list)
        for u in self.left:
            # the same colour and neighbours, by links of the same colours
            groups[self.colour[u], tuple(sorted(self.links[u].items()))].append(u)
        classes = defaultdict[tuple[int, int], list[list[int]]](list)
        for group in groups.values():
            if len(group) > 1:
                # groups of one colour and size get one digit together
                classes[self.colour[group[0]], len(group)].append(group)
        for (_, count), every in sorted(classes.items()):
            self._join(count, [[group] for group in every])
        return bool(classes)

    def take_parts(self) -> bool:
        """Take equal parts together that hang on the same relays of some colour; return whether there are any."""
        # only relays are taken out, with all that they stand for
        for colour in sorted({self.colour[u] for u in self.left if self.relay[self.inside[u]].all()}):
            groups = defaultdict[Hashable, list[list[int]]](list)
            for part in self._parts(colour):
                if key := self._key(part):
                    groups[tuple(each for each, _ in key)].append([u for _, u in key])
            classes = defaultdict[tuple[int, tuple[int, ...]], list[list[tuple[int, ...]]]](list)
            for some in groups.values():
                if len(some) > 1:
                    shape = tuple(sorted(self.colour[u] for u in some[0]))
                    classes[len(some), shape].append(list(zip(*some, strict=True)))
            for (count, _), every in sorted(classes.items()):
                self._join(count, every)
            if classes:  # cheaper rules may apply again
                return True
        return False

    def _parts(self, colour: int) -> Iterator[list[int]]:
        """Yield the parts of several nodes that are left without the nodes of a colour."""
        seen = {u for u in self.left if self.colour[u] == colour}
        for root in self.left:
            part = [] if root in seen else [root]
            seen.add(root)
            for u in part:  # which grows meanwhile
                new = [v for v in self.links[u] if v not in seen]
                seen.update(new)
                part += new
            if len(part) > 1:
                yield part

    def _key(self, part: Sequence[int]) -> list[tuple[int, int]]:
        """Return a number for each node of a part, ascending, by how it hangs on nodes of a colour; [] where two have the same.

        Parts with the same numbers hang in the same way.
        """
        number = {u: self.colour[u] for u in part}
        count = 0
        # numbers tell more nodes apart each time round, until they tell no more
        while len(set(number.values())) > count:
            count = len(set(number.values()))
            number = {
                u: self._number(
                    "hangs", number[u], *sorted((number.get(v, -1 - v), link) for v, link in self.links[u].items())
                )
                for u in part
            }
        # else two of them hang alike
        return sorted((each, u) for u, each in number.items()) if count == len(part) else []

    def _join(self, count: int, every: Sequence[Sequence[Sequence[int]]]) -> None:
        """Let the first of each of some twins stand for all, ``count`` of them, and tell them apart by a digit.

        ``every``: of each part its nodes, and of each of these the twins: the first ones of a part are one whole.
        """
        value = np.full(self.network.nodes, -1)
        for part in every:
            for twins in part:
                for i, u in enumerate(twins):
                    value[self.inside[u]] = i
            firsts = {twins[0] for twins in part}
            for first, *others in part:
                for u in others:
                    for v in self.links[u]:
                        self.links[v].pop(u, None)
                    del self.left[u]
                    self.inside[first] += self.inside[u]
                for v, link in self.links[first].items():
                    if v not in firsts:  # links within the whole stay
                        self.links[first][v] = self.links[v][first] = self._number("links", link, count)
            for first, *_ in part:
                self.colour[first] = self._number("twins", self.colour[first], count)
        self.digits.append((count, value))

    def take_in(self) -> bool:
        """Take what hangs on one node into it; return whether anything does."""
        hanging = defaultdict[int, list[tuple[int, int, int]]](list)
        for u in self.left:
            if len(self.links[u]) == 1:
                ((v, link),) = self.links[u].items()
                # two nodes that hang on each other: the higher one goes into the lower
                if len(self.links[v]) > 1 or u < v:
                    hanging[v].append((self.colour[u], link, u))
        for v, some in hanging.items():
            for colour, link, u in sorted(some):
                del self.left[u], self.links[v][u]
                for x in self.inside[u]:  # of all that it stands for
                    self.place[x] = self._number("inside", self.place[x], colour, link)
                self.inside[v] += self.inside[u]
            self.colour[v] = self._number("in", self.colour[v], *(each[:2] for each in sorted(some)))
        return bool(hanging)

    def turns(self) -> AbelianSymmetry | None:
        """Return turns by the digits of all ranks, with those of relays that make most of them free on arcs."""
        # 1. Levels: nodes that differ by their digits alone.
        home = np.zeros(self.network.nodes, np.int64)
        for u in self.left:
            home[self.inside[u]] = u
        level: Ints = np.unique(np.stack([np.array(self.place), home]), axis=1, return_inverse=True)[1].reshape(-1)
        first = np.unique(level, return_index=True)[1]
        has = np.array([value[first] >= 0 for _, value in self.digits], np.bool_).reshape(-1, len(first))
        # 2. Which digits are turned together.
        ranks = np.unique(level[self.network.ranks])
        arcs = arcs_of(self.network)
        used = ~(self.idle[arcs.tail] | self.idle[arcs.head])
        ends = np.unique(np.stack([level[arcs.tail[used]], level[arcs.head[used]]]), axis=1)
        leading, following = (np.flatnonzero(some).tolist() for some in (has[:, ranks].all(1), ~has[:, ranks].any(1)))
        chosen = self._choice(leading, following, has[:, ends[0]] | has[:, ends[1]])
        # 3. Where each turn carries a node: to that of its level with the digits that result.
        found = list[Automorphism]()
        number = self._numbered(level, has, [value for _, value in self.digits])
        node = np.argsort(number)  # the node of each number
        if not np.array_equal(number[node], np.arange(len(node))):  # digits do not tell all nodes apart
            return None
        for order, moved in chosen:
            values = [
                np.where(value < 0, -1, (value + count // order * (digit in moved)) % count)
                for digit, (count, value) in enumerate(self.digits)
            ]
            words = " ".join(f"{chr(65 + digit)}+{self.digits[digit][0] // order}" for digit in moved)
            found.append(Automorphism(words, order, node[self._numbered(level, has, values)]))
        return AbelianSymmetry(self.network, found) if found else None

    def _choice(self, leading: list[int], following: list[int], seen: NDArray[np.bool_]) -> list[tuple[int, list[int]]]:
        """Return the orders and digits of the turns that make the largest group that is free on arcs.

        ``seen``: which digits tell the arcs of a kind apart, bool (digits, kinds).
        """
        best, most = list[tuple[int, list[int]]](), 1
        for choice in self._choices(leading, following):
            turns = [[lead, *(f for f, of in zip(following, choice, strict=True) if of == lead)] for lead in leading]
            # each kind of arc has a digit that the turn moves: no arc is kept
            turns = [moved for moved in turns if seen[moved].any(axis=0).all()]
            # digits that turn together have a common order
            every = [(gcd(*(self.digits[digit][0] for digit in moved)), moved) for moved in turns]
            every = [(order, moved) for order, moved in every if order > 1]
            if (size := prod(order for order, _ in every)) > most:
                best, most = every, size
        return best

    @staticmethod
    def _choices(leading: list[int], following: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield which digit each follows, -1 for none; the last ones follow none where there are too many."""
        # as many as can be tried
        few = next(n for n in range(len(following), -1, -1) if (len(leading) + 1) ** n <= _MOST_CHOICES)
        for some in product((-1, *leading), repeat=few):
            yield (*some, *[-1] * (len(following) - few))

    def _numbered(self, level: Ints, has: NDArray[np.bool_], values: Sequence[Ints]) -> Ints:
        """Return a number for each node by its level and digits: 0 … N-1 where these tell all nodes apart."""
        size = np.ones(has.shape[1], np.int64)
        within = np.zeros(len(level), np.int64)
        for (count, _), value, there in zip(self.digits, values, has, strict=True):
            # the digits of a node as one number, the first the most significant
            within = np.where(value < 0, within, within * count + value)
            size *= np.where(there, count, 1)
        return np.concatenate(([0], np.cumsum(size)))[level] + within
