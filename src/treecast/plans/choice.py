"""Which builder does a job best, and the costs of the others.

The best takes the fewest steps, then the fewest transmissions, then, under wormhole switching, the least distance; of equal ones
the first. Builders without a closed form are compared by building, on networks of up to 4096 nodes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from treecast.description import Described, Description, Table, describe, list_few
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds, is_least, tightest
from treecast.plans.built import Built, Job
from treecast.plans.entries import builders
from treecast.plans.job import job, takes
from treecast.plans.registry import Builder
from treecast.plans.request import check_memory, request, schedule_of
from treecast.plans.search import MET
from treecast.schedule import Claims, Schedule

_MOST_COMPARED = 2**12  # nodes of a network on which builders without a closed form are compared by building
_MOST_FEWER_SENDS = 2**8  # nodes of a network on which others are built for fewer sends alone


@dataclass(frozen=True)
class Candidate:
    """A builder beside a job: the cost of its plan, or why it has none."""

    builder: Builder
    claims: Claims | None = None
    built: Built | None = None
    reason: str = ""
    distance: int = 0

    @property
    def cost(self) -> tuple[int, ...]:
        """Steps, transmissions and distance, which are compared in this order."""
        return () if self.claims is None else (self.claims.steps, self.claims.transmissions, self.distance)


def build(job: Job[Any], entries: list[Builder]) -> Schedule:
    """Return the schedule of a job by the best of some builders."""
    return schedule_of(job, *run_best(job, entries))


def run_best(job: Job[Any], entries: list[Builder]) -> tuple[Builder, Built]:
    """Return the best of some builders for a job, and its rows."""
    entry, built = choose(job, entries)
    return entry, built or run_builder(job, entry)


def choose(
    job: Job[Any], entries: list[Builder], known: Mapping[int, Candidate] = MappingProxyType({})
) -> tuple[Builder, Built | None]:
    """Return the best of some builders for a job, and the rows it built if they were needed to find out.

    Builders are tried until one meets both lower bounds, and not if their own bounds say that they take no less than another.
    Rules by which each node knows its part cost nothing to compare, so they are all compared first. On networks of more than
    4096 nodes the first is taken if it has no closed form. ``known``: the costs of some, by ``id()``.
    """
    tried = serious(entries, job)
    if len(tried) == 1:
        return tried[0], None
    if not any(entry.is_for(job) for entry in tried):  # to time ways anew takes longest
        tried.sort(key=by_work(job))
    # closed forms are all compared: bounds are needed only to stop building
    compared = all(entry.claims for entry in tried)
    found = list[Candidate]()
    for entry in tried:
        if found and entry.at is None and not compared and _is_least(job, _best(found)):
            break
        if entry.least and found and not compared and () < _best(found).cost[:2] <= entry.least(job):  # () is no cost
            continue
        if entry.claims is None and job.network.nodes > _MOST_COMPARED:
            if not found:
                return entry, None
            continue
        found.append(known.get(id(entry)) or _try(job, entry))
    chosen = _best(found)
    if chosen.claims is None:
        raise PlanError(found[0].reason)
    return chosen.builder, chosen.built


def by_work(job: Job[Any]) -> Callable[[Builder], tuple[bool, bool]]:
    """Return the key that puts closed forms first, and those last of which a bound of their own may say that they are not needed.

    But first come those of sums where messages combine: all go together, have few sends to time, and often meet the bound.
    """
    together = job.model.combining and job.collective.traits.adds
    return lambda entry: (entry.claims is None, (entry.least is not None) is not together)


def _best(found: list[Candidate]) -> Candidate:
    """Return the candidate that costs least, of equal ones the first."""
    return min(found, key=lambda candidate: (candidate.claims is None, candidate.cost))


@dataclass(frozen=True, repr=False)
class Alternatives(Described):
    """All builders of a collective on a network beside one job, the best one first, those that cannot do it last.

    Parameters
    ----------
    job : Job
        The collective, the network, and the wishes of the caller.
    candidates : tuple of Candidate
        The cost of each, or why it has no plan.
    why : str
        Why ``plan`` takes the first.
    """

    job: Job[Any]
    candidates: tuple[Candidate, ...]
    why: str

    @property
    def chosen(self) -> Builder:
        """The builder that ``plan`` takes."""
        return self.candidates[0].builder

    def __repr__(self) -> str:
        names = list_few([each.builder.name for each in self.candidates if each.claims], 4)
        return f"<Alternatives for {self.job.collective.kind} on {self.job.network.spec}: {names}>"


@takes(job)
def alternatives(job: Job[Any]) -> Alternatives:
    """Return the cost of every builder for a job: the one that ``plan`` takes first, and those that cannot do it last.

    Parameters
    ----------
    job
        A job, or its words: see ``treecast.job``.

    Returns
    -------
    Alternatives
        ``candidates``: each has a ``builder``, and its ``claims`` or the ``reason`` why it has none. ``why`` the first is taken.

    Raises
    ------
    PlanError, NetworkError
        When no builder can do it; the error says why not.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.alternatives("broadcast", "torus:4x4x4", messages=600)
    >>> found.chosen.name, found.candidates[0].claims.steps, found.why
    ('disjoint-trees', 106, 'the fewest steps')
    """
    # 1. Try every builder; on large networks only those that know their cost.
    task, entries = request(job)
    large = task.network.nodes > _MOST_COMPARED
    tried = [
        Candidate(entry, reason=f"not built: it has no closed form, and there are more than {_MOST_COMPARED:,} nodes")
        if large and entry.claims is None
        else _try(task, entry)
        for entry in entries
    ]
    # 2. The one that ``plan`` takes, and the others by their cost.
    chosen = choose(task, entries, {id(each.builder): each for each in tried})[0]
    others = sorted(
        (each for each in tried if each.builder != chosen),
        # those without a closed form come last
        key=lambda each: (each.claims is None, each.builder.baseline, each.cost),
    )
    mine = next(each for each in tried if each.builder == chosen)
    if mine.claims is None and not large:
        raise PlanError(mine.reason)
    # 3. Builders that are not asked, and why.
    unfit = [
        Candidate(entry, reason=reason)
        for entry in builders(task.collective.kind, task.network)
        if entry not in entries
        and (reason := entry.why_not(task) or f"is used only where no builder is for {task.model.name}")
    ]
    return Alternatives(task, (mine, *others, *unfit), _why(task, mine, others))


def _why(job: Job[Any], chosen: Candidate, others: list[Candidate]) -> str:
    rivals = [each.cost for each in others if each.claims and not each.builder.baseline]
    if not chosen.cost or not rivals:
        return "the first that fits" if not chosen.cost else "the only one that can"
    if _is_least(job, chosen):
        return "no builder takes fewer steps or transmissions"
    ranks = (
        "the fewest steps",
        "the fewest transmissions of those with the fewest steps",
        "the least distance of equals",
    )
    for place, words in enumerate(ranks):
        if all(chosen.cost[: place + 1] < cost[: place + 1] for cost in rivals):
            return words
    return "the first of equals"


def serious(entries: Sequence[Builder], job: Job[Any]) -> list[Builder]:
    """Return the builders that are there to be used; those to compare with, too, if none of the others is for this machine."""
    used = [entry for entry in entries if not entry.baseline]
    return used if any(entry.is_for(job) for entry in used) else list(entries)


def _try(job: Job[Any], entry: Builder) -> Candidate:
    """Return the cost of a builder's plan: by its closed form, or by building."""
    if entry.claims:
        return Candidate(entry, entry.claims(job))
    try:
        built = run_builder(job, entry)
    except PlanError as error:
        return Candidate(entry, reason=str(error))
    return Candidate(entry, built.claims, built, distance=_distance(job, built))


def _is_least(job: Job[Any], candidate: Candidate) -> bool:
    """Return whether a candidate meets the lower bounds of steps and transmissions, so that nobody has to look further.

    On large networks steps are enough. Where distance counts too, none tell.
    """
    if job.model.routing or candidate.claims is None:
        return False
    steps, machine, where = candidate.claims.steps, job.model, job.network
    try:
        if machine.arcs:
            found = bounds(job.collective, where, job.copies, machine, against=job.against)
            return steps <= (1 + MET) * tightest(found, "steps").value
        fewer = candidate.claims.transmissions if where.nodes <= _MOST_FEWER_SENDS else None
        return is_least(
            steps, job.collective, where, machine, transmissions=fewer, copies=job.copies, against=job.against
        )
    except PlanError:
        return False


def run_builder(job: Job[Any], entry: Builder) -> Built:
    """Build, if the rows fit in memory."""
    network, collective = job.network, job.collective
    ways = job.copies if collective.all_source or collective.personal else max(1, entry.most_copies(network))
    sources = network.nodes if collective.all_source and not entry.orbit else 1
    if collective.lengths is None:
        # of personal data a way has about half the diameter
        far = network.diameter if collective.personal and network.diameter_is_cheap else 1
        hops = max(1, far // 2) if collective.personal else 2 if collective.results else 1
        check_memory(
            ways * hops * (network.nodes - 1) * sources,
            f"{collective.kind} on {network.spec}",
            lambda: f"the {collective.kind}" if _has_rule(job) else "",
        )
    return entry.build(job)


def _has_rule(job: Job[Any]) -> bool:
    """Return whether ``program`` can tell a node's rows from its label."""
    known = builders(job.collective.kind, job.network)
    return any(entry.at is not None and not entry.why_not(job) for entry in known)


def _distance(job: Job[Any], built: Built) -> int:
    if not job.model.routing:
        return 0
    return int(job.network.distance(built.rows.src, built.rows.dst).sum())


@describe.register
def _(found: Alternatives) -> Description:
    job, first = found.job, found.candidates[0]
    least = bounds(job.collective, job.network, job.copies, job.model, against=job.against)
    steps, transmissions = (best(least, of) for of in ("steps", "transmissions"))
    rows = [
        [each.builder.name, *(each.cost[:2] or ("", "")), each.builder.summary if each.claims else each.reason]
        for each in found.candidates
    ]
    table = Table(("builder", "steps", "transmissions", "method, or why not"), rows)
    figures = {
        "chosen": found.chosen.name,
        "why": found.why,
        "lower_bounds": {"steps": steps.value, "transmissions": transmissions.value},
        "builders": [
            {
                "name": each.builder.name,
                "steps": each.claims.steps if each.claims else None,
                "transmissions": each.claims.transmissions if each.claims else None,
                "why_not": each.reason,
            }
            for each in found.candidates
        ],
    }
    taken = f"{first.builder.name}: {found.why}"
    return Description(
        figures, {"takes": taken, "bound": f"{steps.value:,} steps, {transmissions.value:,} transmissions"}, (table,)
    )
