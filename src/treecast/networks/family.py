"""Families of networks: how each is spelled, and how its members are made. The entry stands on their maker.

A new family is a new file in this folder: a class under ``@family``, or a function. Help, error messages and tables
read the entries; who only lists them reads them as text, by ``discovery.decorators("treecast.networks", "family")``.
The functions at the end make rules that say which members of a family have so many ranks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import isqrt
from types import MappingProxyType
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from treecast.discovery import import_all
from treecast.errors import NetworkError, closest_name, did_you_mean
from treecast.networks.core import Network

_WHOLE = re.compile("[0-9]{1,19}")
_TEXTS = ("PATH", "NAME")  # how arguments begin that are no numbers
Members = Callable[[int], Iterable[str]]
"""From a number of ranks to the arguments of each member with so many."""
_Make = TypeVar("_Make", bound=Callable[..., Network])


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of networks: the word before the colon, such a network in a few words, and one as it is spelled.

    ``arguments``: the text behind the colon, as help texts write it: ``N``, ``AxBx…``, ``ARITY,DEPTH``, ``A,H[,P]`` where the
    last may be left out. Or ``PATH`` or ``NAME``: a text. Empty of a family with one member, which is spelled without a colon.

    ``make`` returns a member, of the whole numbers behind the colon or of the text; it raises NetworkError when there is none.
    ``variants``: the makers of members that are spelled with a comma and this word behind the numbers.

    ``nodes``, ``degree``, ``diameter``: formulas in the letters of ``arguments``; empty where the family has none.
    ``members``: the texts behind the colon of the members with some number of ranks, of which those that are worth a look.
    """

    name: str
    arguments: str
    example: str
    summary: str
    make: Callable[..., Network]
    nodes: str = ""
    degree: str = ""
    diameter: str = ""
    members: Members = lambda ranks: ()
    variants: Mapping[str, Callable[..., Network]] = field(default_factory=dict[str, Callable[..., Network]])

    def with_ranks(self, ranks: int) -> list[str]:
        """Return the spellings of its members with so many ranks that are worth a look: see ``members``."""
        return [f"{self.name}:{text}" if text else self.name for text in self.members(ranks)]

    def __repr__(self) -> str:
        return f"<family {self.spelling}: {self.summary}>"

    @property
    def spelling(self) -> str:
        """How its members are spelled, as in ``star:N``."""
        return f"{self.name}:{self.arguments}" if self.arguments else self.name

    @property
    def hint(self) -> str:
        """How a member is spelled, for somebody who wrote a text that spells none."""
        return f"write {self.spelling}" + (f", as in {self.example}" if self.arguments else "")

    def network(self, text: str | None = None) -> Network:
        """Return the member that ``text``, which stands behind the colon, spells; without one, that of a family with one member.

        Raises NetworkError when it spells none.
        """
        if self.arguments.startswith(_TEXTS):  # a file or a name: any text
            return self.make(text)
        make, numbers, said = self.make, list[int](), self.name
        if text is not None:
            front, _, word = text.rpartition(",")  # the word of a variant stands last
            make, said = self.variants.get(word, self.make), f"{self.name}:{text}"
            found = self.numbers(front if word in self.variants else text)
            if found is None:
                raise NetworkError(f"{said!r} is no network: {self.hint}{self.meant(said)}")
            numbers = found
        key = make, *numbers
        if (member := _MADE.get(key)) is None:  # one network for one spelling, with what it keeps
            member = make(*numbers)
            if not member.spelled:  # a graph that a function makes has no name of its own, and others may have it
                member = copy(member)
                vars(member).update({"family": self.name, "_spec": said.replace(" ", "")})
            _MADE[key] = member
        return member

    def numbers(self, text: str) -> list[int] | None:
        """Return the numbers of which ``text``, which stands behind the colon, consists; None when it spells no member."""
        if not self.arguments or self.arguments.startswith(_TEXTS):
            return None
        sign = self._sign
        parts, wanted = (some.split(sign) if sign else [some] for some in (text, self.arguments))
        if sign == ",":  # after which people write a space
            parts = [part.strip(" ") for part in parts]
        fewest = len(wanted) - self.arguments.count("[")  # what stands in brackets may be left out
        fitting = "…" in self.arguments or fewest <= len(parts) <= len(wanted)
        return list(map(int, parts)) if fitting and all(map(_WHOLE.fullmatch, parts)) else None

    def meant(self, text: str) -> str:
        """Return a hint to the meaning of a wrong text: this family in other letters, or other signs between the numbers."""
        rest = text.partition(":")[2].strip().lower()
        for tried in (rest, re.sub("[x,]", self._sign, rest) if self._sign else rest):
            if self.numbers(tried) is not None:
                return f"; did you mean '{self.name}:{tried}'?"
        return ""

    @property
    def _sign(self) -> str:
        """The sign between the numbers."""
        return next((sign for sign in ",x" if sign in self.arguments), "")


_ENTRIES: dict[str, Family] = {}
# members that somebody still has, with the results that they keep
_MADE = WeakValueDictionary[tuple[Any, ...], Network]()


def family(name: str, arguments: str, *, members: Members = lambda ranks: (), **more: Any) -> Callable[[_Make], _Make]:
    """Register the class or function below as the maker of the members of a family; ``more`` are fields of Family."""

    def register(make: _Make) -> _Make:
        _ENTRIES[name] = Family(name=name, arguments=arguments, make=make, members=members, **more)
        if isinstance(kind := cast("object", make), type):  # a class: its members know their family
            type.__setattr__(kind, "family", name)
        return make

    return register


def families() -> Mapping[str, Family]:
    """Return every family of networks by its name: in alphabetical order, those without formulas last.

    >>> import treecast
    >>> treecast.families()["mesh"]
    <family mesh:AxBx…: grid without wrap-around>
    """
    import_all("treecast.networks")
    # families of files have no formulas
    names = sorted([(not entry.nodes, name) for name, entry in _ENTRIES.items()])
    return MappingProxyType({name: _ENTRIES[name] for _, name in names})


def family_called(name: str) -> Family | None:
    """Return the family of a name, None where there is none; for one that is known already nobody looks for extensions."""
    return _ENTRIES.get(name) or families().get(name)


def no_network(text: str) -> NetworkError:
    """Return the error that ``text`` spells no network, with the family whose name is most like its own."""
    known, name = families(), text.partition(":")[0]
    near = closest_name(name, known)
    if near:
        meant = known[near].meant(text) or did_you_mean(name, known)
        return NetworkError(f"{text!r} is no network: {known[near].hint}{meant}")
    return NetworkError(f"{text!r} is no network: write one of {', '.join(entry.example for entry in known.values())}")


def any_from(least: int) -> Members:
    """Return a rule that lists the one member of each size from ``least`` on.

    >>> list(any_from(3)(5)), list(any_from(3)(2))
    (['5'], [])
    """
    return lambda ranks: [str(ranks)] if ranks >= least else []


def counted(size: Callable[[int], int], spell: Callable[[int], str] = str, least: int = 1) -> Members:
    """Return a rule that lists the member K, from ``least``, with ``size(K)`` ranks, which grow with K; ``spell`` writes it.

    >>> list(counted(lambda k: 2**k)(64)), list(counted(lambda k: 2**k)(65))
    (['6'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        k = next(k for k in count(least) if size(k) >= ranks)  # sizes grow, so it ends
        return [spell(k)] if size(k) == ranks > 1 else []

    return members


def words(size: Callable[[int, int], int], most: int = 9) -> Members:
    """Return a rule that lists the members D,K with ``size(D, K)`` ranks, for D from 2 to ``most`` and K from 2.

    >>> list(words(lambda d, k: d**k)(64))
    ['2,6', '4,3', '8,2']
    """
    each = [counted(partial(size, d), f"{d},{{}}".format, 2) for d in range(2, most + 1)]
    return lambda ranks: [text for members in each for text in members(ranks)]


def sides(least: int, most_axes: int = 4) -> Members:
    """Return a rule that lists, for each number of axes from 2, the member with sides from ``least`` on that are most alike.

    >>> list(sides(3)(64)), list(sides(3)(36)), list(sides(3)(35)), list(sides(3)(37))
    (['8x8', '4x4x4'], ['6x6', '4x3x3'], ['7x5'], [])
    """

    def members(ranks: int) -> Iterable[str]:
        # the greatest side first, and as small as it can be
        every = sorted(found[::-1] for found in products(ranks, least))
        for axes in range(2, most_axes + 1):
            for found in [some for some in every if len(some) == axes][:1]:
                yield "x".join(map(str, found))

    return members


def products(number: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield all ascending tuples of numbers from ``least`` on with this product."""
    yield (number,)
    for side in range(least, isqrt(number) + 1):  # ascending: no side is above the root of what is left
        if number % side == 0:
            yield from ((side, *rest) for rest in products(number // side, side))
