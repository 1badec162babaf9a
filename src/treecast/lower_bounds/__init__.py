"""Lower bounds: figures that no schedule can beat, each with its formula and its source."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treecast.against import Against, apart
from treecast.collectives import Collective
from treecast.collectives.checks import check_reach
from treecast.errors import PlanError
from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, best, spell_bounds, spell_greatest, tightest
from treecast.lower_bounds.job import Problem
from treecast.lower_bounds.ladder import Climb
from treecast.lower_bounds.wormhole import LEAST_OF_ALL, MOST_SEARCHED, search, taking_part
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
    "spell_greatest",
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
    *_, known = _rungs(network, collective, copies, model, sparing=sparing, against=against)
    return list(known)


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

    Bounds that are quick to count are asked first: if they are met, cuts and prices need not be searched for. Raises PlanError as
    ``bounds`` does.
    """
    for known in _rungs(network, collective, copies, model, sparing=False, against=against):
        if not known:
            continue
        sends, least = (
            max((bound.value for bound in known if bound.of == of), default=-1) for of in ("transmissions", "steps")
        )
        if steps < least or transmissions not in (None, sends):
            break
        if steps == least:
            return True
    return False


@kept(128)  # planning, choosing and judging ask for the same ones
def _rungs(
    network: Network, collective: Collective, copies: int, model: Model, *, sparing: bool, against: Against
) -> Climb:
    check_reach(collective, network)
    unequal = collective.personal and collective.lengths is not None
    empty = not len(collective.addressed()[0]) if unequal else not collective.chunks
    if network.rank_count == 1 or empty:
        counted = ("steps", "transmissions", *(["tcd"] if model.routing else []))
        why = "one node alone takes part" if network.rank_count == 1 else "there is nothing to send"
        nothing = [Bound(of, 0, "0", why) for of in counted]
        return Climb(Problem(collective, network, 1, model), known=nothing)
    if copies > 1 and collective.sums:
        raise PlanError(f"a sum has 1 copy, not {copies}: contributions that went two ways would be added twice")
    given = f"for {copies} {apart(against)} paths" if copies > 1 else ""
    if not model.routing:
        _check_ways(collective, network, copies)
    if copies > 1 and collective.demand is not None:
        # what goes over one way is a chunk of its own: whoever wants a chunk gets x of them; where messages combine, with it
        times = 1 if model.combining else copies
        collective, copies = Collective.of_demand(network, collective.demand.named(network).times(times)), 1
    if (
        network.past_routes is not None
        and model.buffered
        and (not model.room or model.room > network.past_routes.ports)
    ):
        model = replace(model, ports=network.past_routes.ports)  # however many routes begin with each link
    if network.past_routes is not None and not network.past_routes.mirrored:
        model = replace(model, duplex="full")  # the arcs there and back are no links
    job = Problem(collective, network, copies, model, against=against)
    if copies > 1 and (model.combining or sparing) and not collective.personal and not model.routing:
        job = replace(job, copies=1, faults=copies - 1, against="nodes")
        given = f"if any {copies - 1} of the nodes and links may fail"
    return Climb(job, given)


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
    if collective.demand is not None:
        along = network.reversed()
        degree = min(along.degree_at(node) for node in np.unique(collective.demand.want).tolist())
    elif collective.all_source and not network.seen_alike and network.nodes <= distances.LISTED:
        # those that send, and those that hear: some may do neither
        ends = collective.addressed()[1:] if collective.personal else (network.ranks, network.ranks)
        counted = zip((network, network.reversed()), ends, strict=True)
        degree = min(int(distances.degrees(where)[nodes].min(initial=copies)) for where, nodes in counted)
    if copies > degree:
        end = "lead to" if along is not network else "leave"
        of = "the root, or some source," if collective.demand is None else "some wanter"
        raise PlanError(f"{copies} copies need {copies} disjoint paths, but {degree} arcs {end} {of} on {network.spec}")
