"""Broadcast over one tree for each axis of a mesh or torus.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Each tree is a pipeline, and carries as many messages as its depth leaves it steps for.
"""

from treecast.networks import Network
from treecast.plans.all_port.pipelines import hops_of, rows_at_node_of_streams, rows_of_streams, uneven_streams
from treecast.plans.all_port.tree_facts import facts_of_trees
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.trees import axes
from treecast.schedule import Claims
from treecast.schedule.recipe import Job


def _number_of_axes(network: Network) -> int:
    return len(axes.axes_of(network)) if network.grid else 1


def _carried(job: Job[Network]) -> tuple[int, list[list[tuple[int, int]]]]:
    depths = axes.depths(job.network, job.collective.root)
    return uneven_streams(job.collective.messages, job.copies, depths)


def _claims(job: Job[Network]) -> Claims:
    return Claims(_carried(job)[0], job.collective.messages * job.copies * (job.network.nodes - 1))


def over_axis_trees_at(job: Job[Network], node: int) -> Built:
    """All-port: what one node does in ``over_axis_trees``, from its label alone, whatever the size of the network."""
    hops = hops_of(axes, job.network, node, job.collective.root)
    return Built(rows_at_node_of_streams(hops, _carried(job)[1]), _claims(job))


@builder(
    "axis-trees",
    "broadcast",
    on=axes.lacks_axes,
    under=ALL_PORT,
    what="pipelines down one tree for each axis",
    most_copies=_number_of_axes,
    claims=_claims,
    at=over_axis_trees_at,
    rank=92,
    facts=facts_of_trees,
)
def over_axis_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down n trees of a mesh or torus of n axes, each message down x = ``copies`` of them.

    ⌈Mx/n⌉ + eccentricity - 1 steps where the root has two nodes on the longer side of every axis; Mx(N-1) transmissions.
    """
    trees = axes.axis_trees(job.network, job.collective.root)
    return Built(rows_of_streams(trees, _carried(job)[1]), _claims(job))
