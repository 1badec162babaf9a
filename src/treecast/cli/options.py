"""Options that a registry knows: a class that has them as fields, for the command line to read."""

from collections.abc import Collection, Iterable
from dataclasses import field, make_dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter


def options_under(head: str, order: int) -> Parameter:
    """Return the parameter that makes fields of a class options, which ``--help`` shows under a head, in this order."""
    return Parameter(name="*", group=Group(head, sort_key=order))


def options_class(
    name: str,
    module: str,
    under: Parameter,
    options: Iterable[tuple[str, str, str, bool]],
    several: Collection[str] = (),
) -> Any:
    """Return a class whose fields are options that may be left out: then they are None, or False.

    Parameters
    ----------
    name, module
        Those of the class. One without a module would be taken for a type of the standard library.
    under
        The head under which help shows them: see ``options_under``.
    options
        Of each its field, its name on the command line without dashes, its help, and whether it is given without a value.
    several
        The fields that take several values: then they are tuples.
    """
    kinds = {True: (bool, False), False: (str | None, None)}
    fields = [
        (
            keyword,
            Annotated[
                tuple[str, ...] if keyword in several else kinds[flag][0],
                Parameter(
                    name=f"--{spelled}",
                    group=under.group,
                    help=words,
                    show_default=False,
                    consume_multiple=keyword in several,
                ),
            ],
            field(default=() if keyword in several else kinds[flag][1]),
        )
        for keyword, spelled, words, flag in options
    ]
    return under(make_dataclass(name, fields, namespace={"__module__": module}, frozen=True))
