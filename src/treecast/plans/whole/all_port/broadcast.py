"""Broadcast: over the trees of a network that has some by a rule, or down one tree of any network.

Source: Fragopoulou & Akl, sections 4.2 and 4.3.
"""

from collections.abc import Callable
from dataclasses import dataclass

from treecast.collectives.traits import one_to_all
from treecast.networks import Network
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every_port
from treecast.plans.times.pipelines import (
    claims,
    hops_of,
    rows_at_node_of_streams,
    rows_of_streams,
    rows_of_trees,
    streams,
    uneven_streams,
)
from treecast.plans.ways.trees import axes, rotated
from treecast.plans.ways.trees.disjoint import TREES, lacks_trees, trees_of_job
from treecast.plans.ways.trees.hops import ParentRule
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.plans.whole.all_port.tree_facts import facts_of_trees
from treecast.schedule import Claims
from treecast.schedule.trees import TreeSet


@dataclass(frozen=True)
class _Down:
    """Pipelines down trees that follow a rule: the trees, and in how many steps each carries which chunks."""

    rules: Callable[[Job[Network]], ParentRule]
    carried: Callable[[Job[Network]], tuple[int, list[list[tuple[int, int]]]]]

    def claims(self, job: Job[Network]) -> Claims:
        """Return the steps and transmissions, in closed form."""
        return Claims(self.carried(job)[0], job.collective.messages * job.copies * (job.network.nodes - 1))

    def built(self, job: Job[Network]) -> Built:
        """Return the whole schedule."""
        trees = self.rules(job).trees(job.network, job.collective.root)
        return Built(rows_of_streams(trees, self.carried(job)[1]), self.claims(job))

    def at(self, job: Job[Network], node: int) -> Built:
        """Return the rows of one node, from its label alone, whatever the size of the network; the claims are of the whole."""
        hops = hops_of(self.rules(job), job.network, node, job.collective.root)
        return Built(rows_at_node_of_streams(hops, self.carried(job)[1]), self.claims(job))


def _evenly(job: Job[Network], depth: int) -> tuple[int, list[list[tuple[int, int]]]]:
    """Return the steps over as many trees as a node has ports, all as deep, and the chunks of each."""
    trees = job.network.ports
    return claims(job, trees, depth).steps, streams(job.collective.messages, trees, job.copies)


_RULED = _Down(trees_of_job, lambda job: _evenly(job, trees_of_job(job).depth(job.network)))
_ROTATED = _Down(lambda job: rotated.RULE, lambda job: _evenly(job, rotated.exact_depth(job.network)))
_AXES = _Down(
    lambda job: axes.RULE,
    lambda job: uneven_streams(job.collective.messages, job.copies, axes.depths(job.network, job.collective.root)),
)


def _number_of_axes(network: Network) -> int:
    return len(axes.axes_of(network)) if network.grid else 1


@builder(
    "disjoint-trees",
    one_to_all,
    on=lacks_trees,
    summary="pipelines down the k disjoint trees",
    most_copies=every_port,
    claims=_RULED.claims,
    at=_RULED.at,
    options=(TREES,),
    facts=facts_of_trees,
)
def over_disjoint_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down the k disjoint trees of the network, each message down x = ``copies`` of them.

    ⌈Mx/k⌉ + depth - 1 steps, Mx(N-1) transmissions; every living node gets everything under any x-1 faults.
    """
    return _RULED.built(job)


@builder(
    "disjoint-trees",
    one_to_all,
    on=rotated.lacks_equal_sides,
    summary="pipelines down 2n trees of a torus with equal sides, shallower than disjoint-trees",
    claims=_ROTATED.claims,
    at=_ROTATED.at,
    facts=facts_of_trees,
)
def over_rotated_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down the 2n trees of a torus with n equal sides that are rotations of one another.

    ⌈M/(2n)⌉ + depth - 1 steps, the depth being the diameter + 1 as a rule; M(N-1) transmissions. The trees share no arc, and are
    shallower than those whose ways to a node share no node: so they carry one copy.
    """
    return _ROTATED.built(job)


@builder(
    "disjoint-trees",
    one_to_all,
    on=axes.lacks_axes,
    summary="pipelines down one tree for each axis",
    most_copies=_number_of_axes,
    claims=_AXES.claims,
    at=_AXES.at,
    facts=facts_of_trees,
)
def over_axis_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down n trees of a mesh or torus of n axes, each message down x = ``copies`` of them.

    ⌈Mx/n⌉ + eccentricity - 1 steps where the root has two nodes on the longer side of every axis; Mx(N-1) transmissions. Each
    tree carries as many messages as its depth leaves it steps for.
    """
    return _AXES.built(job)


def _claims_of_shortest_paths(job: Job[Network]) -> Claims:
    network, root = job.network, job.collective.root
    found = claims(job, 1, network.eccentricity(root))
    if network.relays is None:
        return found
    sends = job.collective.messages * (len(breadth_first(network, root)) - 1)  # to relays on the way, too
    return Claims(found.steps if sends else 0, sends)


@builder(
    "breadth-first-tree",
    one_to_all,
    claims=_claims_of_shortest_paths,
    summary="one breadth-first tree of any network",
    facts=facts_of_trees,
)
def over_breadth_first_tree(job: Job[Network]) -> Built:
    """All-port: all M messages down one tree of shortest paths: M + eccentricity - 1 steps, M(N-1) transmissions."""
    tree = TreeSet.of(breadth_first(job.network, job.collective.root))
    return Built(rows_of_trees(tree, job.collective.messages, job.copies), _claims_of_shortest_paths(job))
