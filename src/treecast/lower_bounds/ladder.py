"""The list of lower bounds, those first that are found soonest: each is for collectives of a trait, none asks for a name.

Whoever asks whether some steps are the fewest climbs no higher than to the bound that says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock

from treecast.collectives.kinds import Kind
from treecast.collectives.traits import Trait, every_kind
from treecast.lower_bounds.bound import Bound, arrived
from treecast.lower_bounds.cuts import over_cuts
from treecast.lower_bounds.doors import doors, flight, one_way
from treecast.lower_bounds.job import Problem
from treecast.lower_bounds.one_port import serving
from treecast.lower_bounds.prices import by_prices
from treecast.lower_bounds.rates import by_rates, evened, in_evened
from treecast.lower_bounds.sends import sends, work
from treecast.lower_bounds.spreads import in_pairs, over_every_arc, spreading, surviving, there_and_back
from treecast.lower_bounds.windows import by_windows
from treecast.lower_bounds.wormhole import wormhole

Rung = Callable[[Problem, Sequence[Bound]], list[Bound]]
"""A function that returns lower bounds of a job, for which it may read those that are known so far."""


def _of_rows(kind: Kind) -> bool:
    """Whether it is a row of the table, rather than classes that somebody lists."""
    return kind.blocks != "class"


def of_whole(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds of a network that this one lacks few arcs of, where one with a symmetry is known: they hold here, too."""
    whole = job.network.mended
    if whole is None:
        return []
    # the last list has all bounds
    *_, found = Climb(replace(job, network=whole))
    return [replace(bound, certificate=(), source=f"{bound.source}; as without faults") for bound in found]


LADDER: Sequence[tuple[Rung, Trait]] = (
    (sends, every_kind),
    (doors, every_kind),
    (work, every_kind),
    (one_way, lambda kind: kind.one_way),
    (spreading, every_kind),
    (surviving, lambda kind: kind.spreads or kind.targets),
    (over_every_arc, lambda kind: kind.spreads),
    (in_pairs, lambda kind: _of_rows(kind) and kind.all_source),
    (there_and_back, lambda kind: _of_rows(kind) and kind.results),
    (serving, lambda kind: _of_rows(kind) and kind.all_source and not kind.targets),
    (over_cuts, every_kind),
    (of_whole, lambda kind: _of_rows(kind) and kind.personal and kind.all_source and not kind.lengths),
    (flight, lambda kind: _of_rows(kind) and kind.personal and kind.all_source and not kind.lengths),
    (by_prices, every_kind),
    (by_windows, every_kind),
)
"""All lower bounds, and for what collectives they are."""
_COUNT_LATENCY: Sequence[Rung] = (doors, spreading, there_and_back)
"""Those that count the latency of each arc. All others say when the last send begins."""


class Climb:
    """The bounds of a job after each function of the list that is for it, found when they are asked for.

    Of each figure a bound is kept if none before it says more. ``given``: the condition of all of them. Several threads may ask.
    """

    def __init__(self, job: Problem, given: str = "", known: Sequence[Bound] = ()) -> None:
        rungs = ((wormhole, every_kind),) if job.model.routing else LADDER
        self._real, self._late = job, (1, 1, 1)
        if job.model.arcs:
            even, *quickest = evened(job.model, job.network)
            job, self._late = replace(job, model=even), (even.latency, *quickest)
        self._job, self._given, self._known = job, given, [list(known)]
        self._rungs = [] if known else [rung for rung, trait in rungs if trait(job.kind)]
        self._climbing = Lock()

    def __iter__(self) -> Iterator[list[Bound]]:
        for at in range(len(self._rungs) + 1):
            with self._climbing:  # or a second thread takes the same rung, and the next one is left out
                if at == len(self._known):
                    self._known.append(self._after(self._rungs[at - 1], self._known[-1]))
            yield self._known[at] if not self._real.model.arcs else [in_evened(b, *self._late) for b in self._known[at]]
        if self._real.model.arcs and self._rungs:
            yield self._unlike

    @cached_property
    def _unlike(self) -> list[Bound]:
        """All bounds where sends over arcs take unlike times."""
        even = [in_evened(bound, *self._late) for bound in self._known[-1]]
        return [*even, *(replace(bound, given=self._given or bound.given) for bound in by_rates(self._real, even))]

    def _after(self, rung: Rung, known: Sequence[Bound]) -> list[Bound]:
        """Return the known bounds and those of another function."""
        found = list(known)
        for bound in _asked(rung, self._job, known):
            some = replace(bound, given=self._given or bound.given)
            if self._job.model.routing or _says_more(some, found):
                found.append(some)
        return found


def _asked(rung: Rung, job: Problem, known: Sequence[Bound]) -> Sequence[Bound]:
    """Return the bounds of a function, which may count no latency: what holds with one takes as long to arrive after it."""
    late = job.model.latency
    if late == 1 or rung in _COUNT_LATENCY:
        return rung(job, known)
    sooner = replace(job, model=replace(job.model, latency=1))
    before = [replace(bound, value=max(0, bound.value - late + 1)) if bound.of == "steps" else bound for bound in known]
    return [arrived(bound, late) for bound in rung(sooner, before)]


def _says_more(bound: Bound, known: Sequence[Bound]) -> bool:
    """Return whether it is new, and no known bound of its figure that holds wherever it does is above it."""
    above = (other.value for other in known if other.of == bound.of and other.given in ("", bound.given))
    return bound not in known and bound.value >= max(above, default=0)
