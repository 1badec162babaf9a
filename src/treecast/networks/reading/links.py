"""The nodes and links of a graph, as they are read one after another, with capacities and relays."""

import ast
import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.description import list_few
from treecast.networks.core import Ints

_LARGEST = 2**31 - 1  # capacity
_MOST_PARALLEL = 2**21  # cables beside the first between two nodes: a small file is not to make a huge network
_NUMBER = re.compile(r"[0-9]{1,10}(\.0*)?")
_PAIR = re.compile(r"[\[(]?\s*(-?[0-9.]+(?:e[+-]?[0-9]+)?)\s*,\s*(-?[0-9.]+(?:e[+-]?[0-9]+)?)\s*!?\s*[\])]?")
Place = tuple[float, float]
"""Where a node is drawn: how far right, and how far down."""
PLACES = {"pos": -1, "x": 1, "y": 1, "Longitude": -1, "Latitude": -1}
"""The attributes that say it, and whether they count down (1) or up."""
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False, "none": False}


class Parts(NamedTuple):
    """The parts of a graph: the labels of its nodes, its arcs, int64 (arcs, 2), and which nodes are relays, and which of these
    add contributions to sums, bool (N,).

    ``remarks``: notes for people on how it was read, a line each. ``facts``: the figures of the file. ``at``: where the nodes are
    drawn, right and down, float64 (N, 2); None where the source does not say it of each.
    """

    names: list[str]
    arcs: Ints
    relays: NDArray[np.bool_]
    adds: NDArray[np.bool_]
    remarks: tuple[str, ...] = ()
    facts: Mapping[str, int] = MappingProxyType({})
    at: NDArray[np.float64] | None = None


@dataclass(eq=False)
class LinkList:
    """Nodes and links, in the order in which they come; a node that only links name comes behind those that are given.

    >>> links = LinkList()
    >>> links.join("a", "b", capacity="2")
    >>> links.add("b", relay="true", adds="true")
    >>> links.parts().names, links.parts().arcs.tolist(), links.parts().relays.tolist(), links.parts().adds.tolist()
    (['b', 'a'], [[1, 0], [1, 0], [0, 1], [0, 1]], [True, False], [True, False])
    """

    _given: dict[Hashable, tuple[bool, bool]] = field(default_factory=dict[Hashable, tuple[bool, bool]])
    _at: dict[Hashable, Place] = field(default_factory=dict[Hashable, Place])
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _joined: "array[int]" = field(
        default_factory=lambda: array("q")
    )  # of each link its ends, cables, and whether one way

    def add(self, name: Hashable, relay: object = False, adds: object = False, at: Place | None = None) -> None:
        """Add a node: whether it is a relay, and adds, and where it is drawn.

        Raises ValueError when it was added before, or either is no yes or no.
        """
        if name in self._given:
            raise ValueError(f"it has two nodes named {label_of(name)!r}")
        flags = list[bool]()
        for word, said in (("relay", relay), ("adds", adds)):
            flag = False if said is False else _FLAGS.get(str(said).strip().lower())
            if flag is None:
                raise ValueError(f"node {label_of(name)!r} has {word} {said!r}: write true or false")
            flags.append(flag)
        self._given[name] = flags[0], all(flags)  # only relays are said to add
        if at is not None:
            self._at[name] = at

    def join(self, u: Hashable, v: Hashable, capacity: object = None, one_way: bool = False) -> None:
        """Add a link, or an arc; its capacity is 1 if none is given. Raises ValueError when that is no whole number from 1."""
        cables = cables_of(capacity)
        if cables < 1:
            raise ValueError(
                f"the link from {label_of(u)!r} to {label_of(v)!r} has capacity {capacity!r}: "
                "write a whole number from 1, how many parallel cables there are, or their rate with its unit: 4Gbit/s"
            )
        ends = (self._numbers.setdefault(name, len(self._numbers)) for name in (u, v))
        self._joined.extend((*ends, cables, one_way))

    def parts(self) -> Parts:
        """Return the nodes and arcs. Raises ValueError when there are too many arcs."""
        joined = np.array(self._joined, np.int64).reshape(-1, 4)
        ends, cables, one_way = joined[:, :2], joined[:, 2], joined[:, 3] > 0
        check_parallel(int(cables.sum()), len(cables), "divide all capacities by the same number")
        place = {name: u for u, name in enumerate(self._given)}
        for name in self._numbers:
            place.setdefault(name, len(place))
        number = np.array([place[name] for name in self._numbers], np.int64)
        arcs = np.repeat(number[ends], cables, axis=0)
        back = arcs[~np.repeat(one_way, cables), ::-1]  # links lead back, arcs do not
        flags = np.zeros((len(place), 2), np.bool_)
        flags[: len(self._given)] = np.array(list(self._given.values()), np.bool_).reshape(-1, 2)
        # places of all, or none
        at = np.array([self._at[name] for name in place]) if self._at and self._at.keys() == place.keys() else None
        labels = [label_of(name) for name in place]
        return Parts(labels, np.concatenate([arcs, back]), flags[:, 0], flags[:, 1], at=at)


def check_parallel(cables: int, pairs: int, remedy: str) -> None:
    """Raise ValueError when so many pairs of nodes have too many cables."""
    if cables - pairs > _MOST_PARALLEL:
        raise ValueError(f"it has {cables:,} cables, more than {_MOST_PARALLEL:,} of them in parallel: {remedy}")


def label_or_name(labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names of nodes: their labels; the names of those that have none, or share it; of all, if two clash.

    >>> label_or_name(["Bern", "Bern", "Rome", ""], ["a", "b", "c", "d"])
    ['a', 'b', 'Rome', 'd']
    """
    many = Counter(labels)
    found = [label if label and many[label] == 1 else name for label, name in zip(labels, names, strict=True)]
    # a name may be another node's label
    return found if len(set(found)) == len(found) else list(names)


def passed_over(attributes: Collection[str]) -> tuple[str, ...]:
    """Return the remark that attributes were passed over, if there are some.

    >>> passed_over(["weight", "km"])
    ("passed over: weight, km ('capacity' says how many cables a link has)",)
    """
    if not attributes:
        return ()
    return (f"passed over: {list_few(list(attributes), 8)} ('capacity' says how many cables a link has)",)


def place_of(said: Mapping[Any, Any]) -> Place | None:
    """Return where a node is drawn, if its attributes say it: ``pos``, as networkx and Graphviz have it, x and y, or a map's.

    >>> place_of({"pos": (1, 2)}), place_of({"x": "1", "y": "2"}), place_of({"Longitude": 7.4, "Latitude": 46.9}), place_of({})
    ((1.0, -2.0), (1.0, 2.0), (7.4, -46.9), None)
    """
    pos = said.get("pos")
    pair = _PAIR.fullmatch(pos.strip()) if isinstance(pos, str) else None
    tried: list[tuple[str, Any]] = [("pos", pair.groups() if pair else pos)]
    tried += [(down, (said.get(right), said.get(down))) for right, down in (("x", "y"), ("Longitude", "Latitude"))]
    for name, two in tried:
        with suppress(TypeError, ValueError):
            right, down = map(float, two)
            if abs(right) + abs(down) < math.inf:  # neither infinite nor nan
                return right, PLACES[name] * down
    return None


def label_of(name: object) -> str:
    """Return a name as the label of a node: a text as it is, the parts of a tuple with commas, all else without blanks.

    >>> label_of((0, (1, "b")))
    '0,1,b'
    """
    if isinstance(name, str):
        return name
    if isinstance(name, tuple):
        return ",".join(map(label_of, cast("tuple[object, ...]", name)))
    return "".join(str(name).split())


def unquoted(text: str) -> str:
    """Return the label of a node whose name stands in a file: networkx writes tuples as ``(0, 1)``.

    >>> unquoted("(0, 'b')"), unquoted("(0"), unquoted("a")
    ('0,b', '(0', 'a')
    """
    if not (text.startswith("(") and text.endswith(")")):
        return text
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        name: object = ast.literal_eval(text)
        return label_of(cast("object", name)) if isinstance(name, tuple) else text
    return text


def cables_of(value: object) -> int:
    """Return a capacity as a number, 1 if there is none, 0 if it is no whole number from 1; files have texts.

    >>> cables_of("2"), cables_of(None), cables_of("x")
    (2, 1, 0)
    """
    if value is None:
        return 1
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _NUMBER.fullmatch(text) else 0
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):  # True is a Real
        return 0
    number = float(value)
    return int(number) if 1 <= number <= _LARGEST and number.is_integer() else 0
