"""A lower bound, with its formula and its source."""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, repr=False)
class Bound:
    """A lower bound: a figure that no schedule can beat, with its formula and its source.

    Parameters
    ----------
    of : {"steps", "told", "transmissions", "tcd"}
        The figure that it bounds; ``told`` are the steps of a gather whose nodes do not know when to begin, but the root;
        ``tcd`` is the sum of the distances of all messages.
    value : int
        The least that there can be.
    formula : str
        How the value comes about.
    source : str
        Where the formula comes from.
    given : str
        Under which condition it holds, as "if …" or "for …"; empty: it holds for all schedules.
    certificate : tuple of int
        Of a bound by prices: the price of a send over each arc, in the order of ``network.arc_lists()``. The formula follows
        from the cost of the cheapest trees or paths at these prices, and the greatest cost of the sends of one step.

    Examples
    --------
    >>> import treecast
    >>> for bound in treecast.bounds("broadcast", "star:4", messages=6):
    ...     print(bound)
    transmissions at least 138 = M x (N - 1)  (each node but the root receives M messages, x times)
    steps at least 5 = ⌈M x / degree⌉ + eccentricity - 1  (Fragopoulou & Akl, Table 1)
    steps at least 5 = ⌈M x / in-degree⌉ + distance - 1  (all chunks enter by the arcs of a node)
    steps at least 6 = least T with Σ (T - distance of its neighbor) ≥ M x  (the arcs into one node, as their tails are told)
    """

    of: str
    value: int
    formula: str
    source: str
    given: str = ""
    certificate: tuple[int, ...] = ()

    def __str__(self) -> str:
        of = "steps, told when to begin," if self.of == "told" else self.of
        return f"{of} {_spelled(self)}"

    def __repr__(self) -> str:
        return f"<Bound: {self.of} at least {self.value:,} = {self.formula[:120]}>"


def arrived(bound: Bound, late: int) -> Bound:
    """Return a bound of steps until the last send begins as one until it has arrived, which takes ``late`` steps."""
    if late == 1 or bound.of not in ("steps", "told") or not bound.value:
        return bound
    return replace(bound, value=bound.value + late - 1, formula=f"{bound.formula} + {late - 1:,}")


def best(found: Iterable[Bound], of: str) -> Bound:
    """Return the lower bound of ``steps``, ``told``, ``transmissions`` or ``tcd``: the greatest that holds for all schedules.

    Where each holds under a condition, it is the greatest of these.
    """
    some = [bound for bound in found if bound.of == of]
    return max((b for b in some if not b.given), key=lambda b: b.value, default=None) or tightest(some, of)


def tightest(found: Iterable[Bound], of: str) -> Bound:
    """Return the greatest of the bounds, under whatever condition: builders make schedules that keep all conditions."""
    return max((bound for bound in found if bound.of == of), key=lambda bound: bound.value)


def spell_bounds(found: Iterable[Bound], of: str) -> list[str]:
    """Return the bounds of ``of`` as people read them, a line each."""
    return [_spelled(bound) for bound in found if bound.of == of]


def spell_greatest(found: Iterable[Bound], of: str) -> list[str]:
    """Return the greatest bound of ``of`` as people read it, and that under a condition, where it is greater."""
    some = [bound for bound in found if bound.of == of]
    return [_spelled(bound) for bound in dict.fromkeys((best(some, of), tightest(some, of)))] if some else []


def _spelled(bound: Bound) -> str:
    given = f"; {bound.given}" * bool(bound.given)
    return f"at least {bound.value:,} = {bound.formula}  ({bound.source}{given})"
