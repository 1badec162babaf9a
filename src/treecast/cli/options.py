"""Options of the command line that need nothing else, and classes whose fields are options: written out, or of a registry."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, make_dataclass
from math import isfinite
from typing import Annotated, TypeVar, dataclass_transform

from cyclopts import Group, Parameter

from treecast.errors import TreecastError

_T = TypeVar("_T")
Json = Annotated[bool, Parameter(name="--json", show_default=False, help="Print the findings as JSON.")]
Flag = Annotated[bool, Parameter(show_default=False)]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options_under(head: str, order: int) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator that makes the fields of a class options, which ``--help`` shows under a head, in this order."""
    under = Parameter(name="*", group=Group(head, sort_key=order))
    return lambda options: under(dataclass(frozen=True, kw_only=True)(options))


def with_options(
    head: str, order: int, options: Iterable[tuple[str, str, str, type]]
) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator that gives a class fields: options that may be left out, which are then None, False or ().

    ``head``, ``order``: see ``options_under``. ``options``: of each its field, its name without dashes, its help, and its
    type: str, int, bool for one without a value, tuple for one with several values.
    """
    group = Group(head, sort_key=order)

    def fill(empty: type[_T]) -> type[_T]:
        fields = [
            (
                keyword,
                Annotated[
                    {str: str | None, int: int | None, bool: bool, tuple: tuple[str, ...]}[kind],
                    Parameter(f"--{name}", group=group, help=words, show_default=False, consume_multiple=kind is tuple),
                ],
                field(default={bool: False, tuple: ()}.get(kind)),
            )
            for keyword, name, words, kind in options
        ]
        namespace = {"__module__": empty.__module__}
        found = make_dataclass(empty.__name__, fields, bases=(empty,), namespace=namespace, frozen=True)
        return Parameter(name="*", group=group)(found)

    return fill


def check_numbers(**numbers: float) -> None:
    """Raise TreecastError when one of some times, sizes or seeds, by option, is negative or beyond all measure."""
    for option, number in numbers.items():
        if number < 0 or number >= 2**63 or not isfinite(number):
            spelled = option.replace("_", "-")
            raise TreecastError(f"--{spelled} {number} will not do: write a number from 0 to 2^63 - 1")
