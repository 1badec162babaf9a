"""Facts of trees beside those that can be measured: how many there could be, and how deep they are at least."""

from typing import Any

from treecast.against import Against
from treecast.description import Description
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.flows import fewest_ways
from treecast.plans.built import Job
from treecast.schedule import Schedule

_MOST_ARCS = 2**17  # of larger networks the ways are not counted, unless all nodes look alike


def facts_of_trees(job: Job[Any], schedule: Schedule, depth: int) -> Description:
    """Return the facts of a broadcast down trees from its root, whose copies are against the faults that the job names."""
    found = about_trees(job.network, job.collective.root, schedule.trees, depth)
    return found.joined(about_copies(job.copies, job.against))


def about_trees(network: Network, root: int, used: int, depth: int) -> Description:
    """Return how many trees that share no arc there can be from a root, and how deep so many are at least.

    ``used``: the number of trees that carry something. ``depth``: that of the deepest, in arcs; 0 where it is not known.

    >>> from treecast.networks import network
    >>> about_trees(network("torus:3x7"), 0, 4, 7).lines
    {'trees': '4 of 4 that share no arc', 'paths': '4 that share no arc, to every node', 'depth': '7: at least 5'}
    """
    if network.nodes == 1 or not used:
        return Description({})
    figures, lines = dict[str, object](), dict[str, object]()
    if network.seen_alike or network.arcs <= _MOST_ARCS:
        ways, where = _fewest(network, root)
        figures |= {"ways": ways, "fewest_ways_to": where}
        lines["trees"] = f"{used:,} of {ways:,} that share no arc"
        lines["paths"] = f"{ways:,} that share no arc, " + (f"fewest to {where}" if where else "to every node")
    if depth:
        bound = least_depth(network, root, used)
        figures |= {"depth_lower_bound": bound, "least_depth_proved": depth == bound}
        lines["depth"] = f"{depth:,}: " + ("the least, proved" if depth == bound else f"at least {bound:,}")
    return Description(figures, lines)


def about_copies(copies: int, against: Against = "nodes") -> Description:
    """Return the fact that the ways of several copies to a node share no node, link or arc."""
    if copies == 1:
        return Description({})
    kept = "other node, and no arc" if against == "nodes" else against[:-1]
    return Description({"ways_share_no": against[:-1]}, {"apart": f"the paths to a node share no {kept}"})


def _fewest(network: Network, root: int) -> tuple[int, str | None]:
    """Return how many arc-disjoint paths lead to every node, and a node that no more lead to; None if no more leave the root.

    Where all nodes look alike, so many as leave a node (Mader, "Minimale n-fach kantenzusammenhängende Graphen", 1971).
    """
    leaving = network.degree_at(root)
    if network.seen_alike:
        return leaving, None
    found = fewest_ways(network, root, ranks=True)
    return found.ways, None if found.ways == leaving else network.label(found.node)
