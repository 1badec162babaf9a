"""A demand: who has which chunk, who wants it, and what is added. Every collective is one, and any other wish is one, too."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.forms import Class, check_class, read
from treecast.errors import PlanError
from treecast.networks import Network, NodeName
from treecast.networks.core import Ints
from treecast.ragged import explode, starts

_MOST = 2**22  # holders and wanters of all classes


@dataclass(frozen=True, eq=False, repr=False)
class Demand:
    """Classes of chunks: who holds each, who wants it, and what is added.

    Class k has ``size[k]`` chunks, the parts ``part[k] … part[k+1]-1``, and the wanters ``want[wants[k]] … want[wants[k+1]-1]``.
    Part p is held by ``holder[holders[p]] … holder[holders[p+1]-1]``. With one part a class is a copy, with several a sum of one
    of each. All int64. ``names``: where nodes are numbers of these names, which a network knows.

    >>> from treecast.collectives import Demand
    >>> wish = Demand.of([(["a", "b"], ["c", "d"], 12), (["a", "+", "b"], "c", 4)])
    >>> wish
    <Demand: 2 classes of 16 chunks>
    >>> print(wish)
    12: a b > c d
    4: a + b > c
    """

    size: Ints
    part: Ints
    holders: Ints
    holder: Ints
    wants: Ints
    want: Ints
    names: tuple[NodeName, ...] = ()

    # --- as people say it ---

    @staticmethod
    def of(given: Any) -> "Demand":
        """Return a demand as people say it.

        Parameters
        ----------
        given
            A demand; its text, a line for each class, as in ``12: a b > c d`` or ``a + b > c``; a mapping from each holder to who
            wants its chunk; a mapping with ``classes``, as JSON files have it; or rows ``(holders, wanters)``, or
            ``(holders, wanters, chunks)``, of numbers or labels, with "+" between the parts of a sum. Numbers are those of ranks:
            relays are not counted.

        Raises
        ------
        PlanError
            When it is none of these: the error names the first class that will not do.

        Examples
        --------
        >>> from treecast.collectives import Demand
        >>> print(Demand.of({"a": ["b", "c"], "b": "a"}))
        1: a > b c
        1: b > a
        >>> Demand.of("3: a b > c") == Demand.of([(["a", "b"], "c", 3)])
        True
        """
        return given if isinstance(given, Demand) else _of_classes(read(given))

    def classes(self) -> Iterator[Class]:
        """Yield each class, nodes by their names if they have some."""
        size, part, holders, wants = (c.tolist() for c in (self.size, self.part, self.holders, self.wants))
        named: Any = np.array(self.names, object) if self.names else np.arange(self._most + 1)
        holder, want = named[self.holder].tolist(), named[self.want].tolist()
        for k, chunks in enumerate(size):
            parts = tuple(tuple(holder[holders[p] : holders[p + 1]]) for p in range(part[k], part[k + 1]))
            yield Class(chunks, parts, tuple(want[wants[k] : wants[k + 1]]))

    def numbered(self) -> "Iterator[tuple[int, tuple[tuple[int, ...], ...], tuple[int, ...]]]":
        """Yield the size, parts and wanters of each class of a demand in numbers."""
        return cast("Any", self.classes())

    @property
    def _most(self) -> int:
        return max(int(self.holder.max(initial=0)), int(self.want.max(initial=0)))

    def named(self, network: Network) -> "Demand":
        """Return the demand, which is in numbers, with the labels of its nodes on a network."""
        number, place = np.unique(np.concatenate([self.holder, self.want]), return_inverse=True)
        holder, want = np.split(place, [len(self.holder)])
        return self._replaced(holder=holder, want=want, names=tuple(network.labels(number)))

    def spell(self, network: Network) -> str:
        """Return the demand, which is in numbers, as text on one line, with the labels of a network."""
        return " ; ".join(str(self.named(network)).split("\n"))

    def __str__(self) -> str:
        return "\n".join(
            f"{size}: {' + '.join(' '.join(map(str, part)) for part in parts)} > {' '.join(map(str, wants))}"
            for size, parts, wants in self.classes()
        )

    def __repr__(self) -> str:
        return f"<Demand: {len(self):,} class{'' if len(self) == 1 else 'es'} of {self.chunks:,} chunks>"

    def to_json(self) -> str:
        """Return the demand as a JSON file has it, a line.

        >>> Demand.of("2: a + b > c").to_json()
        '{"classes": [{"chunks": 2, "from": [["a"], ["b"]], "to": ["c"]}]}'
        """
        return json.dumps({"classes": [{"chunks": s, "from": p, "to": w} for s, p, w in self.classes()]})

    # --- as numbers ---

    def __len__(self) -> int:
        return len(self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Demand) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        columns = self.size, self.part, self.holders, self.holder, self.wants, self.want
        return (self.names, *(column.tobytes() for column in columns))

    @property
    def chunks(self) -> int:
        """How many chunks the classes have in all; finished sums are not counted again."""
        return int(self.size.sum())

    @cached_property
    def sums(self) -> int:
        """How many classes, the first ones once it stands on a network, are sums."""
        return int(np.count_nonzero(np.diff(self.part) > 1))

    def on(self, network: Network) -> "Demand":
        """Return the demand in numbers of nodes, in the order in which its chunks are numbered: sums come first.

        Its own numbers are those of ranks, which are nodes where there are no relays.

        Who holds a copy does not want it, and a class that nobody wants is dropped. Of a sum each part has one giver from here
        on: a wanter if one holds it, else who gives least.

        Raises
        ------
        PlanError, NetworkError
            For a node that is none, a relay that holds or wants something, and a node that stands twice in a part.

        Examples
        --------
        >>> from treecast.networks import network
        >>> print(Demand.of([(0, [0, 1, 2], 5), ([0, 1, "+", 2], [1, 3], 4)]).on(network("ring:4")))
        4: 1 + 2 > 1 3
        5: 0 > 1 2
        """
        return self.ordered(network)[0]

    def ordered(self, network: Network) -> "tuple[Demand, Ints]":
        """Return the demand as ``on`` does, and which of its classes each class there is: int64.

        >>> from treecast.networks import network
        >>> Demand.of([(0, 1, 5), (0, 0, 9), ([0, "+", 1], 1, 4)]).ordered(network("ring:4"))[1]
        array([2, 0])
        """
        if len(self.holder) + len(self.want) > _MOST:
            many = len(self.holder) + len(self.want)
            raise PlanError(f"{many:,} holders and wanters are too many for a demand: {_MOST:,} at most")
        found = self._renamed(network)
        adds = np.diff(found.part) > 1
        of = np.repeat(np.arange(len(found)), np.diff(found.wants))  # the class of each wanter
        # who holds a class, as pairs
        has = set(zip(*(column.tolist() for column in found.held), strict=True))
        pairs = zip(of.tolist(), found.want.tolist(), strict=True)
        # Who holds a copy does not want it. Who gives to a sum may well want it.
        kept = adds[of] | np.array([pair not in has for pair in pairs], np.bool_)
        found = found._replaced(wants=starts(np.bincount(of[kept], minlength=len(found))), want=found.want[kept])
        used = np.flatnonzero((np.diff(found.wants) > 0) & (found.size > 0))
        # Sums first, each sort in the order in which it was said: stable.
        used = used[np.argsort(~adds[used], kind="stable")]
        found, order = found.take(used)._given_by_one()
        return found, used[order]

    def _renamed(self, network: Network) -> "Demand":
        """Return the demand in numbers of nodes, ascending within each part and wish. Raises as ``on`` does."""
        if self.names:
            number = np.array([network.node(name) for name in self.names], np.int64)
        elif self._most >= network.rank_count:
            last = network.rank_count - 1
            raise PlanError(
                f"{self._most} is no rank of {network.spec}: the demand is of {self._most + 1:,} ranks, which go from 0 to "
                f"{last:,} there"
            )
        else:
            number = network.ranks.astype(np.int64)
        if network.relays is not None and (relays := np.flatnonzero(network.relays[number])).size:
            used = relays[np.isin(relays, np.concatenate([self.holder, self.want]))]
            if len(used):
                label = network.label(int(number[used[0]]))
                raise PlanError(f"{label} is a relay, which holds nothing and wants nothing: name ranks alone")
        columns = dict[str, Ints]()
        for name, table, word in (("holder", self.holders, "part"), ("want", self.wants, "the wanters of class")):
            entry = number[getattr(self, name)]
            row = np.repeat(np.arange(len(table) - 1), np.diff(table))
            order = np.lexsort((entry, row))
            # sorted, so that equal ones are neighbours
            twice = np.flatnonzero((np.diff(entry[order]) == 0) & (np.diff(row[order]) == 0))
            if len(twice):
                at = order[twice[0]]
                raise PlanError(f"{network.label(int(entry[at]))} stands twice in {word} {int(row[at]) + 1}")
            columns[name] = entry[order]
        return self._replaced(names=(), **columns)

    def _given_by_one(self) -> "tuple[Demand, Ints]":
        """Return the demand with one giver for each part of a sum, and the order of classes: parts of one node are one."""
        if not self.sums:
            return self, np.arange(len(self))
        given, rows = dict[int, int](), list[Class]()
        for size, parts, wants in self.numbered():
            if len(parts) > 1:
                givers = list[int]()
                # Parts with least choice first. A giver that is not used yet is preferred.
                for part in sorted(parts, key=len):
                    free = [v for v in part if v not in givers] or list(part)
                    # A wanter first, as the sum ends there anyway; then who gives least so far; then the lowest,
                    # alike everywhere.
                    best = min(free, key=lambda v: (v not in wants, given.get(v, 0), v))
                    given[best] = given.get(best, 0) + size
                    givers.append(best)
                parts = tuple((v,) for v in sorted(set(givers)))
            rows.append(Class(size, parts, wants))
        found = _of_classes(rows)
        order = np.argsort(np.diff(found.part) == 1, kind="stable")  # parts that one node gives are a copy
        return found.take(order), order

    @cached_property
    def sources(self) -> Ints:
        """The first that wants each sum, those of finished ones once more, and the first that holds each copy: int64."""
        wanter = self.want[self.wants[: self.sums]]
        return np.concatenate([wanter, wanter, self.holder[self.holders[self.part[self.sums : -1]]]])

    def lives(self, dead: Iterable[int]) -> NDArray[np.bool_]:
        """Return of the sums, the finished ones, and the copies whether somebody who gives or holds is not dead: bool."""
        block, node = self.held
        found = np.isin(np.arange(len(self)), block[~np.isin(node, list(dead))])
        return np.concatenate([found[: self.sums], found])  # of finished sums as of sums

    def given_by(self, node: int) -> list[int]:
        """Return the classes of a demand on a network of which a node has something: copies, and sums that it gives to.

        >>> from treecast.networks import network
        >>> found = Demand.of([(0, [1, 2], 5), ([0, "+", 2], 1, 4)]).on(network("ring:4"))
        >>> found.given_by(0), found.given_by(2), found.wanted_by(1)
        ([0, 1], [0], [0, 1])
        """
        block, holder = self.held
        return block[holder == node].tolist()

    def wanted_by(self, node: int) -> list[int]:
        """Return the classes that a node wants."""
        block, want = self.wanted
        return block[want == node].tolist()

    @property
    def held(self) -> tuple[Ints, Ints]:
        """The class and the node of each that holds a part: int64 both."""
        return np.repeat(np.arange(len(self)), np.diff(self.holders[self.part])), self.holder

    @property
    def wanted(self) -> tuple[Ints, Ints]:
        """The class and the node of each wanter: int64 both."""
        return np.repeat(np.arange(len(self)), np.diff(self.wants)), self.want

    def take(self, some: Ints) -> "Demand":
        """Return some of the classes, in the order given."""
        of, parts = explode(self.part, some)
        _, holder = explode(self.holders, parts)
        _, want = explode(self.wants, some)
        return self._replaced(
            size=self.size[some],
            part=starts(np.bincount(of, minlength=len(some))),
            holders=starts(np.diff(self.holders)[parts]),
            holder=self.holder[holder],
            wants=starts(np.diff(self.wants)[some]),
            want=self.want[want],
        )

    def times(self, number: int) -> "Demand":
        """Return the demand in which there is each chunk so often."""
        if not hasattr(number, "__index__") or not 1 <= number < 2**31:
            raise PlanError(f"{number} messages cannot be sent: write a number from 1 to {2**31 - 1}")
        return self._replaced(size=self.size * int(number))

    def within(self, network: Network) -> "Demand":
        """Return the demand of those of its nodes, which have names, that a network has.

        Raises PlanError if nobody is left that holds a part of what somebody wants.
        """
        rows = list[Class]()
        for size, parts, wants in self.classes():
            left = tuple(tuple(v for v in part if v in network) for part in parts)
            if wanted := tuple(v for v in wants if v in network):
                rows.append(check_class(len(rows), size, left, wanted))
        return _of_classes(rows)

    def merged(self) -> "Demand":
        """Return the demand in which classes of equal parts and wanters are one.

        >>> print(Demand.of("2: 0 > 1\\n1: 1 > 0\\n3: 0 > 1").merged())
        5: 0 > 1
        1: 1 > 0
        """
        found = dict[tuple[object, ...], int]()
        for size, parts, wants in self.classes():
            key = tuple(sorted(parts)), wants
            found[key] = found.get(key, 0) + size
        return _of_classes(Class(size, *cast("Any", key)) for key, size in found.items())

    def reversed(self) -> "Demand":
        """Return the demand in which data goes back: of a copy from one holder a sum for it, of a sum for one node copies.

        A schedule of one, run backwards on the network with its arcs turned round, is one of the other. Raises PlanError where a
        class has several holders of a part, or a sum several wanters.

        >>> print(Demand.of("2: 0 > 1 2\\n1: 1 + 2 > 0").reversed())
        2: 1 + 2 > 0
        1: 0 > 1 2
        """
        rows = list[Class]()
        for size, parts, wants in self.classes():
            if any(len(part) > 1 for part in parts) or (len(parts) > 1 and len(wants) > 1):
                raise PlanError(
                    f"a class with several holders of a part, or a sum for several, has no way back: {wants}"
                )
            back = tuple(part[0] for part in parts)
            rows.append(Class(size, tuple((v,) for v in wants), back))
        return _of_classes(rows)

    def _replaced(self, **columns: Any) -> "Demand":
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Demand(**(kept | columns))


def _of_classes(classes: Iterable[Class]) -> Demand:
    """Return a demand of classes whose nodes are all numbers, or else names."""
    rows = list(classes)
    # In the order in which they are met: equal texts make equal demands.
    names = list(dict.fromkeys(v for _, parts, wants in rows for group in (*parts, wants) for v in group))
    whole = all(isinstance(name, int) for name in names)
    number = {name: name if whole else place for place, name in enumerate(names)}
    if whole and min((cast("int", name) for name in names), default=0) < 0:
        raise PlanError("nodes go from 0 on: a demand names a negative number")
    parts = [part for row in rows for part in row.parts]
    return Demand(
        np.array([row.size for row in rows], np.int64),
        starts([len(row.parts) for row in rows]),
        starts([len(part) for part in parts]),
        np.array([number[v] for part in parts for v in part], np.int64),
        starts([len(row.wants) for row in rows]),
        np.array([number[v] for row in rows for v in row.wants], np.int64),
        () if whole else tuple(names),
    )
