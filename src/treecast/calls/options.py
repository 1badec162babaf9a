"""Which options of a communicator make sense, whatever carries its messages."""

from numbers import Integral, Real
from typing import Any

from treecast.errors import PlanError

ON_ERROR = ("abort", "die")


def check_common(survive: Any, on_error: str, **seconds: Any) -> None:
    """Raise PlanError for options of any communicator that make no sense; ``seconds``: times by name, None for none."""
    if not isinstance(survive, Integral) or survive < 0:
        raise PlanError(f"survive is a number of failures from 0, not {survive!r}")
    for name, given in seconds.items():
        if given is not None and not (isinstance(given, Real) and float(given) > 0):
            raise PlanError(f"{name} is a number of seconds above 0, not {given!r}")
    check_word("on_error", on_error, ON_ERROR)


def check_word(name: str, given: Any, known: tuple[str, ...]) -> None:
    """Raise PlanError for a word that is none of those known."""
    if given not in known:
        raise PlanError(f"{name} is {' or '.join(map(repr, known))}, not {given!r}")
