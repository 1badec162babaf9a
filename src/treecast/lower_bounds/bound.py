"""A lower bound, with its formula and its source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A lower bound: of what (``steps``, ``transmissions``, or ``tcd``, the sum of all distances), its value, its formula, and
    where it comes from.
    """

    of: str
    value: int
    formula: str
    source: str


def best(found: list[Bound], of: str) -> Bound:
    """Return the greatest of the bounds of ``steps``, of ``transmissions`` or of ``tcd``."""
    return max((bound for bound in found if bound.of == of), key=lambda bound: bound.value)
