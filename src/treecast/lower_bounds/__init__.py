"""Lower bounds: what no schedule can beat, each with its formula and its source."""

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.lower_bounds import distances, store_and_forward
from treecast.lower_bounds.bound import Bound, best, spell_bounds
from treecast.lower_bounds.lengths import of_lengths
from treecast.lower_bounds.store_and_forward import tolerance_bounds
from treecast.lower_bounds.wormhole import LEAST_OF_ALL, MOST_SEARCHED, search, taking_part, wormhole
from treecast.machine import Model
from treecast.networks import Network

__all__ = [
    "LEAST_OF_ALL",
    "MOST_SEARCHED",
    "Bound",
    "best",
    "bounds",
    "search",
    "spell_bounds",
    "taking_part",
    "tolerance_bounds",
]


def bounds(network: Network, collective: Collective, copies: int, model: Model) -> list[Bound]:
    """Return the known lower bounds of schedules in which every chunk reaches its nodes over ``copies`` disjoint ways.

    The list has at least one bound of steps and one of transmissions. Raises PlanError when a source has fewer arcs than
    copies, when sums are asked for with several copies, and when there are too many nodes to count distances.
    """
    if network.nodes == 1:
        counted = ("steps", "transmissions", *(["tcd"] if model.routing else []))
        return [Bound(of, 0, "0", "one node") for of in counted]
    if copies > 1 and collective.sums:
        raise PlanError(f"a sum has 1 copy, not {copies}: contributions that went two ways would be added twice")
    if collective.lengths is not None:
        return of_lengths(network, collective, collective.lengths, copies, model)
    if model.routing:
        return wormhole(network, collective, copies)
    if collective.targets:
        return store_and_forward.multicast(network, collective, copies, model)
    job, root = store_and_forward.Job(network, collective.messages, copies, model), collective.root
    degree = network.degree_at(root)
    if collective.all_source and not network.seen_alike and network.nodes <= distances.LOOKED_AT:
        degree = int(distances.degrees(network).min())
    if copies > degree:
        raise PlanError(
            f"{copies} copies need {copies} disjoint ways, but {degree} arcs leave the root, or some source, on {network.spec}"
        )
    if collective.kind not in store_and_forward.BOUNDS_OF:
        raise PlanError(f"no lower bounds of {collective.kind} are known yet")
    return store_and_forward.BOUNDS_OF[collective.kind](job, root)
