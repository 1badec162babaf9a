"""Lower bounds: figures that no schedule can beat, each with its formula and its source."""

from collections.abc import Sequence
from dataclasses import replace

from treecast.against import Against, apart
from treecast.collectives import Collective
from treecast.collectives.reach import check_reach
from treecast.errors import PlanError
from treecast.lower_bounds import classes as classes  # registers its bounds
from treecast.lower_bounds import distances
from treecast.lower_bounds import unequal as unequal
from treecast.lower_bounds.bound import Bound, best, spell_bounds, tightest
from treecast.lower_bounds.job import Job
from treecast.lower_bounds.lengths import of_lengths
from treecast.lower_bounds.prices import by_prices
from treecast.lower_bounds.store_and_forward import proved
from treecast.lower_bounds.windows import by_windows
from treecast.lower_bounds.wormhole import LEAST_OF_ALL, MOST_SEARCHED, search, taking_part, wormhole
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.kept import kept
from treecast.schedule import Schedule

__all__ = [
    "LEAST_OF_ALL",
    "MOST_SEARCHED",
    "Bound",
    "best",
    "bounds",
    "is_least",
    "schedule_bounds",
    "search",
    "spell_bounds",
    "taking_part",
    "tightest",
]


def bounds(
    collective: Collective,
    network: Network,
    copies: int,
    model: Model,
    *,
    sparing: bool = False,
    against: Against = "nodes",
) -> list[Bound]:
    """Return the known lower bounds of schedules of a collective on a network: at least one of steps and one of transmissions.

    ``copies`` is the number x of disjoint paths, which share no nodes, links or arcs (``against``), over which each chunk reaches
    its nodes. Where messages combine, and of ``sparing`` schedules, in which a chunk need not cross a link again that it has
    crossed, it stands for the f = x - 1 faults that a collective which spreads data has to survive, whatever the paths. ``given``
    says under which condition a bound holds: those of several copies for schedules of so many disjoint paths, as one whose paths
    meet may survive as much; some of an allreduce if each sum has an owner.

    Raises PlanError when fewer arcs leave a source, or lead to whoever gathers, than there are copies, when sums are asked for
    with several copies, when there are too many nodes to count distances, and when ranks are not reached.
    """
    return list(_bounds(network, collective, copies, model, sparing=sparing, against=against))


def is_least(
    steps: int,
    collective: Collective,
    network: Network,
    model: Model,
    *,
    transmissions: int | None = None,
    copies: int = 1,
    against: Against = "nodes",
) -> bool:
    """Return whether a lower bound says that no builder's schedule takes fewer steps than some; nor transmissions, if given.

    Bounds that are quick to count are asked first: if they are met, cuts and flows need not be searched for. Raises PlanError as
    ``bounds`` does.
    """
    for quick in (True, False):
        known = list(_bounds(network, collective, copies, model, sparing=False, against=against, quick=quick))
        if transmissions is not None and transmissions != tightest(known, "transmissions").value:
            return False
        if steps == tightest(known, "steps").value:
            return True
    return False


@kept(128)  # planning, choosing and judging ask for the same ones
def _bounds(
    network: Network,
    collective: Collective,
    copies: int,
    model: Model,
    *,
    sparing: bool,
    against: Against,
    quick: bool = False,
) -> Sequence[Bound]:
    check_reach(collective, network)
    unequal = collective.personal and collective.lengths is not None
    empty = not len(collective.addressed()[0]) if unequal else not collective.chunks
    if network.rank_count == 1 or empty:
        counted = ("steps", "transmissions", *(["tcd"] if model.routing else []))
        why = "one node alone takes part" if network.rank_count == 1 else "there is nothing to send"
        return [Bound(of, 0, "0", why) for of in counted]
    if copies > 1 and collective.sums:
        raise PlanError(f"a sum has 1 copy, not {copies}: contributions that went two ways would be added twice")
    if collective.lengths is not None and collective.traits.one_way and copies == 1:
        return of_lengths(collective, collective.lengths, network, model)
    if collective.lengths is not None and model.routing:
        raise PlanError(f"no lower bounds of {collective.kind} under wormhole switching are known")
    if model.routing:
        return wormhole(collective, network, copies)
    _check_ways(collective, network, copies)
    job = Job(network, collective.messages, copies, model, against=against, quick=quick, collective=collective)
    given = f"for {copies} {apart(against)} paths"
    if (model.combining or sparing) and not collective.personal:
        job = replace(job, copies=1, faults=copies - 1, against="nodes")
        given = f"if any {copies - 1} of the nodes and links may fail"
    found = _proved(collective, job)
    return found if copies == 1 else [replace(bound, given=given) for bound in found]


def _proved(collective: Collective, job: Job) -> list[Bound]:
    """Return the bounds of a job that several proofs are for; those by prices, which take longer, where they say more."""
    found = proved(job, collective)
    if job.quick:
        return found
    known = tightest(found, "steps").value
    found += [bound for bound in by_prices(job, collective) if bound.value > known]
    return found + by_windows(job, collective, tightest(found, "steps").value)


def schedule_bounds(schedule: Schedule, model: Model | None = None) -> list[Bound]:
    """Return the lower bounds of a schedule's job, under its own model or another one. Raises PlanError as ``bounds`` does.

    Of the two clocks of a gather only that of the schedule is left: a gather with control flits is told when to begin.
    """
    chosen = model or schedule.model
    found = bounds(
        schedule.collective,
        schedule.network,
        schedule.copies,
        chosen,
        sparing=schedule.sparing,
        against=schedule.against,
    )
    if schedule.collective.shared:
        found = without_owners(found)
    told = [replace(bound, of="steps") for bound in found if bound.of == "told"]
    rest = [bound for bound in found if bound.of != "told"]
    return told + [b for b in rest if b.of != "steps"] if told and bool(schedule.rows.control.any()) else rest


def without_owners(found: Sequence[Bound]) -> list[Bound]:
    """Return the bounds that hold for sums without an owner, too."""
    return [bound for bound in found if "owner" not in bound.given]


def _check_ways(collective: Collective, network: Network, copies: int) -> None:
    """Raise PlanError when more copies are asked for than arcs leave some source, or lead to whoever gathers."""
    if copies == 1:  # who is reached has one way
        return
    along = network.reversed() if collective.direction == "to" else network
    degree = along.degree_at(collective.root)
    if collective.all_source and not network.seen_alike and network.nodes <= distances.LOOKED_AT:
        # those that send, and those that hear: some may do neither
        ends = collective.addressed()[1:] if collective.personal else (network.ranks, network.ranks)
        counted = zip((network, network.reversed()), ends, strict=True)
        degree = min(int(distances.degrees(where)[nodes].min(initial=copies)) for where, nodes in counted)
    if copies > degree:
        end = "lead to" if along is not network else "leave"
        raise PlanError(
            f"{copies} copies need {copies} disjoint paths, but {degree} arcs {end} the root, or some source, on {network.spec}"
        )
