"""How likely several schedules are to lose something, as elements become more or less likely to fail."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from treecast.description import Described, Description, Table, describe
from treecast.errors import FaultError
from treecast.simulation.losses import Interval, Reliability

_BELOW, _ABOVE, _MOST = 1e-2, 10.0, 0.5  # of the probabilities given; and the largest probability
_POINTS = 61
_UNKNOWN = 0.1  # of a loss: a curve ends where more may lie in numbers of faults of which nothing is known


@dataclass(frozen=True, repr=False)
class Curves(Described):
    """The reliability of several schedules, each with its name, under the same probabilities."""

    found: tuple[Reliability, ...]
    names: tuple[str, ...]

    def factors(self) -> list[float]:
        """Return how many times as likely as given everything is to fail, at the points of the curves.

        Raises FaultError where the probabilities differ from schedule to schedule.
        """
        given = {tuple((g.kind, float(g.probability[0])) for g in one.elements.groups) for one in self.found}
        if len(given) != 1 or not all(one.has_curve for one in self.found):
            raise FaultError("a picture needs one probability for all nodes, the same for all plans: leave it out")
        largest = max(p for groups in given for _, p in groups)
        most = max(1.0, min(_ABOVE, _MOST / largest))
        return np.geomspace(_BELOW, most, _POINTS).tolist()

    def losses(self, place: int) -> dict[float, Interval]:
        """Return the probability of a loss of one of the schedules at each factor, as far as enough is known of it."""
        one, known = self.found[place], dict[float, Interval]()
        for factor in self.factors():
            loss = one.loss_times(factor)
            if factor > 1 and one.tail_times(factor) > _UNKNOWN * loss.estimate:
                break
            known[factor] = loss
        return known


@describe.register
def _(curves: Curves) -> Description:
    every = [describe(one) for one in curves.found]
    figures = [
        {"plan": name, **cast("dict[str, object]", one.figures)} for name, one in zip(curves.names, every, strict=True)
    ]
    columns = ("plan", "copies", "steps", "loss", "unserved", "replayed", "fewest faults found to do harm")
    rows = [
        [
            name,
            one.schedule.copies,
            one.schedule.steps,
            shown.lines["loss"],
            shown.lines["unserved"],
            f"{one.tried:,}",
            "none" if one.fewest is None else one.fewest,
        ]
        for name, one, shown in zip(curves.names, curves.found, every, strict=True)
    ]
    lines = {"can fail": every[0].lines["can fail"]}
    return Description(figures, lines, (Table(columns, rows),))
