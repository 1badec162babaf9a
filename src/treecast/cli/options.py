"""Options that a registry knows: a class that has them as fields, for the command line to read."""

from collections.abc import Iterable
from dataclasses import field, make_dataclass
from typing import Annotated, Any

from cyclopts import Parameter


def options_class(name: str, module: str, options: Iterable[tuple[str, str, str, bool]]) -> Any:
    """Return a class whose fields are options that may be left out: then they are None, or False.

    Parameters
    ----------
    name, module
        Those of the class. One without a module would be taken for a type of the standard library.
    options
        Of each its field, its name on the command line without dashes, its help, and whether it is given without a value.
    """
    fields = [
        (
            keyword,
            Annotated[bool if flag else str | None, Parameter(name=f"--{spelled}", help=words, show_default=False)],
            field(default=False if flag else None),
        )
        for keyword, spelled, words, flag in options
    ]
    return Parameter(name="*")(make_dataclass(name, fields, namespace={"__module__": module}, frozen=True))
