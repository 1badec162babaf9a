"""A lower bound, with its formula and its source."""

from collections.abc import Iterable
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


def spell_bounds(found: Iterable[Bound], of: str) -> list[str]:
    """Return the bounds of ``of`` as people read them, a line each."""
    return [f"at least {b.value:,} = {b.formula}  ({b.source})" for b in found if b.of == of]
