"""Rules of an orbit on a network that lacks few arcs of the one with its symmetry.

The orbit is judged on the whole network: where it is right, what is left of it shares nothing either. Each of its rows over arcs
of the orbit of a missing one is carried onto that by one element (Lemma 7): so many sends are cut, and all that waits for them.
The chunks of these are judged send by send, with the rows that stand alone; those begin when the orbit has ended, so nothing
else is under way.
"""

from collections.abc import Callable

import numpy as np

from treecast.models import Model
from treecast.schedule.carrying import symmetry_of
from treecast.schedule.torn import Torn
from treecast.verification.case import Case
from treecast.verification.orbits import orbits_of
from treecast.verification.report import Broken, Violation


def cases_of(torn: Torn, model: Model) -> list[Case]:
    """Return the cases of the orbit on the whole network, and of the chunks of which it does not bring all, if there are some."""
    rest = [Case(torn.rest, model, asked=torn.lost)] if len(torn.cut) + len(torn.alone) else []
    return [Case(torn.moves, model), *rest]


def known(torn: Torn) -> Callable[[], Broken]:
    """Return the rule ``adjacent`` of the cut: all sends over arcs that are gone are cut, by a count of their orbits."""

    def check() -> Broken:
        orbits = orbits_of(torn.moves, symmetry_of(torn.moves))
        there = np.bincount(orbits.arcs().orbit)
        gone = orbits.of_arcs(torn.gone)
        many = int(there[gone[gone < len(there)]].sum())
        if many == len(torn.hits) == len(np.unique(torn.hits)):
            return 0, []
        return 1, [
            Violation("adjacent", f"{many:,} sends go over arcs that are gone, and {len(torn.hits):,} are left out")
        ]

    return check
