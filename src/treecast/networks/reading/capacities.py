"""From rates to capacities: in a unit of which every rate is nearly a whole number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST_UNITS = 64  # parts of the least rate


@dataclass(frozen=True)
class Unit:
    """The rate of a capacity of 1, by how much of itself a rate was rounded at most, and the capacities of all rates."""

    rate: float
    worst: float
    capacities: NDArray[np.int64]


def unit_of(rates: ArrayLike, rounding: float = 0.05, unit: float = 0.0) -> Unit:
    """Return the unit in which rates, each above 0 and in any unit, are whole numbers, nearly.

    It is the least rate in the fewest parts, at most 64, in which no rate is rounded by more than ``rounding`` of itself; if
    there are none, in those in which the worst is rounded least. Where ``unit`` is given, it is that.

    >>> found = unit_of([126.0, 192.0, 252.0])
    >>> found.rate, found.capacities.tolist(), f"{found.worst:.1%}"
    (63.0, [2, 3, 4], '1.6%')
    """
    every = np.asarray(rates, np.float64)
    if not every.size:
        return Unit(unit or 1.0, 0.0, np.zeros(0, np.int64))
    some, place = np.unique(every, return_inverse=True)
    best: tuple[float, float, NDArray[np.float64]] | None = None
    for tried in [unit] if unit else [float(some[0]) / parts for parts in range(1, _MOST_UNITS + 1)]:
        counts = np.maximum(1.0, np.rint(some / tried))
        worst = float(np.abs(counts * tried / some - 1).max())
        if best is None or worst < best[1] - 1e-12:
            best = tried, worst, counts
        if worst <= rounding:
            break
    rate, worst, counts = best or (1.0, 0.0, some)
    return Unit(rate, worst, np.minimum(counts, 2.0**40).astype(np.int64)[place])
