"""Options that a registry knows: a class that has them as fields, for the command line to read."""

from collections.abc import Callable, Iterable
from dataclasses import field, make_dataclass
from typing import Annotated, TypeVar

from cyclopts import Group, Parameter

_T = TypeVar("_T")


def options_under(head: str, order: int) -> Parameter:
    """Return the parameter that makes fields of a class options, which ``--help`` shows under a head, in this order."""
    return Parameter(name="*", group=Group(head, sort_key=order))


def with_options(under: Parameter, options: Iterable[tuple[str, str, str, type]]) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator that gives a class fields: options that may be left out, which are then None, False or ().

    ``under``: the head under which help shows them: see ``options_under``. ``options``: of each its field, its name without
    dashes, its help, and its type: str, int, bool for one without a value, tuple for one with several values.
    """

    def fill(empty: type[_T]) -> type[_T]:
        fields = [
            (
                keyword,
                Annotated[
                    {str: str | None, int: int | None, bool: bool, tuple: tuple[str, ...]}[kind],
                    Parameter(
                        f"--{name}", group=under.group, help=words, show_default=False, consume_multiple=kind is tuple
                    ),
                ],
                field(default={bool: False, tuple: ()}.get(kind)),
            )
            for keyword, name, words, kind in options
        ]
        found = make_dataclass(
            empty.__name__, fields, bases=(empty,), namespace={"__module__": empty.__module__}, frozen=True
        )
        return under(found)

    return fill
