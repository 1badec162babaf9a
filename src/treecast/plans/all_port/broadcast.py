"""Broadcast: over the disjoint trees of a network that has some by a rule, or down one tree of any network.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Source: Fragopoulou & Akl, sections 4.2 and 4.3.
"""

from treecast.networks import Network, Star
from treecast.plans.all_port.pipelines import claims, hops_of, rows_at_node, rows_of_trees
from treecast.plans.all_port.tree_facts import facts_of_trees
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every_port
from treecast.plans.trees import disjoint, star
from treecast.plans.trees.spanning import breadth_first
from treecast.schedule import Claims
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet


def claims_of_trees(job: Job[Network]) -> Claims:
    """Return the steps and transmissions of a broadcast over the disjoint trees, in closed form."""
    return claims(job, job.network.ports, disjoint.trees_of_job(job).depth(job.network))


def over_disjoint_trees_at(job: Job[Network], node: int) -> Built:
    """All-port: what one node does in ``over_disjoint_trees``, from its label alone, whatever the size of the network.

    The claims are those of the whole schedule.
    """
    network, root = job.network, job.collective.root
    trees = disjoint.trees_of_job(job)
    hops = hops_of(trees, network, node, root)
    return Built(rows_at_node(hops, network.ports, job.collective.messages, job.copies), claims_of_trees(job))


@builder(
    "disjoint-trees",
    "broadcast",
    on=disjoint.lacks_trees,
    under=ALL_PORT,
    what="pipelines down the k disjoint trees",
    most_copies=every_port,
    claims=claims_of_trees,
    at=over_disjoint_trees_at,
    rank=20,
    options=(disjoint.TREES,),
    facts=facts_of_trees,
)
def over_disjoint_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down the k disjoint trees of the network, each message down x = ``copies`` of them.

    ⌈Mx/k⌉ + depth - 1 steps, Mx(N-1) transmissions; every living node gets everything under any x-1 faults.
    """
    trees = disjoint.trees_of_job(job).disjoint_trees(job.network, job.collective.root)
    return Built(rows_of_trees(trees, job.collective.messages, job.copies), claims_of_trees(job))


def _claims_of_shortest_paths(job: Job[Network]) -> Claims:
    network, root = job.network, job.collective.root
    found = claims(job, 1, network.eccentricity(root))
    if network.relays is None:
        return found
    sends = job.collective.messages * (len(breadth_first(network, root)) - 1)  # to relays on the way, too
    return Claims(found.steps if sends else 0, sends)


@builder(
    "shortest-path-tree",
    "broadcast",
    on=Star,
    under=ALL_PORT,
    claims=_claims_of_shortest_paths,
    rank=30,
    what="one shortest-path tree: the baseline of Fragopoulou & Akl",
    facts=facts_of_trees,
)
def over_shortest_path_tree(job: Job[Star]) -> Built:
    """All-port: all M messages down one shortest-path tree: M + diameter - 1 steps, M(N-1) transmissions."""
    tree = TreeSet.of(star.shortest_path_tree(job.network, job.collective.root))
    return Built(rows_of_trees(tree, job.collective.messages, job.copies), _claims_of_shortest_paths(job))


@builder(
    "breadth-first-tree",
    "broadcast",
    under=ALL_PORT,
    claims=_claims_of_shortest_paths,
    rank=90,
    what="one breadth-first tree of any network",
    facts=facts_of_trees,
)
def over_breadth_first_tree(job: Job[Network]) -> Built:
    """All-port: all M messages down one tree of shortest paths: M + eccentricity - 1 steps, M(N-1) transmissions."""
    tree = TreeSet.of(breadth_first(job.network, job.collective.root))
    return Built(rows_of_trees(tree, job.collective.messages, job.copies), _claims_of_shortest_paths(job))
