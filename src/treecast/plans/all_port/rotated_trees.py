"""Broadcast over the trees of a torus with equal sides that are rotations of one another.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
The trees share no arc, and are less deep than those whose ways to a node share no node: so they carry one copy.
"""

from treecast.networks import Network
from treecast.plans.all_port.pipelines import claims, hops_of, rows_at_node, rows_of_trees
from treecast.plans.all_port.tree_facts import facts_of_trees
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.trees import rotated
from treecast.schedule import Claims
from treecast.schedule.recipe import Job


def _claims(job: Job[Network]) -> Claims:
    return claims(job, job.network.ports, rotated.exact_depth(job.network))


def over_rotated_trees_at(job: Job[Network], node: int) -> Built:
    """All-port: what one node does in ``over_rotated_trees``, from its label alone; it climbs to the root in each tree."""
    hops = hops_of(rotated, job.network, node, job.collective.root)
    return Built(rows_at_node(hops, job.network.ports, job.collective.messages, 1), _claims(job))


@builder(
    "rotated-trees",
    "broadcast",
    on=rotated.lacks_equal_sides,
    under=ALL_PORT,
    what="pipelines down 2n trees of a torus with equal sides, less deep than disjoint-trees",
    claims=_claims,
    at=over_rotated_trees_at,
    facts=facts_of_trees,
    rank=21,
)
def over_rotated_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down the 2n trees of a torus with n equal sides.

    ⌈M/(2n)⌉ + depth - 1 steps, the depth being the diameter + 1 as a rule; M(N-1) transmissions.
    """
    trees = rotated.rotated_trees(job.network, job.collective.root)
    return Built(rows_of_trees(trees, job.collective.messages, 1), _claims(job))
