"""The paper's SPT and SPG of the star network as schedules: broadcast down them, and scatter down the SPT.

Source: Fragopoulou & Akl, "Edge-Disjoint Spanning Trees on the Star Network with Applications to Fault Tolerance", section 3.
"""

import numpy as np

from treecast.networks import Star
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.times.pipelines import claims, rows_of_trees
from treecast.plans.ways.trees import star
from treecast.plans.whole.all_port.scatter import down_one_tree
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet


@builder(
    "spt",
    "broadcast",
    on=Star,
    baseline=True,
    summary="the SPT of Fragopoulou & Akl, and below it the nodes with symbol 1 in front, which it lacks",
)
def down_spt(job: Job[Star]) -> Built:
    """All-port: all M messages down the shortest-path tree SPT: M + diameter - 1 steps, M(N-1) transmissions.

    SPT lacks the nodes that have symbol 1 in front, seen from the root. Here each is a leaf below it; its row names no tree, all
    others name tree 0. So tree 0 is SPT, and is drawn as that.
    """
    network, root = job.network, job.collective.root
    rows = rows_of_trees(TreeSet.of(star.shortest_path_tree(network, root)), job.collective.messages, 1)
    # Nodes that the paper's tree lacks: their rows name no tree, so that tree 0 is drawn as the paper has it.
    leaf = star.symbol_1(network, root)[rows.dst] == 0
    rows = Rows.of(rows.payloads, **rows.columns() | {"tree": np.where(leaf, -1, 0)})
    return Built(rows, claims(job, 1, network.eccentricity(root)))


@builder(
    "spg",
    "broadcast",
    on=Star,
    baseline=True,
    backwards=False,
    summary="the SPG of Fragopoulou & Akl: nodes with symbol 1 in front receive over each of its n-1 subtrees",
)
def down_spg(job: Job[Star]) -> Built:
    """All-port: all M messages down the shortest-path graph SPG, which is as deep as the diameter, and 1 deeper for even n > 2.

    Each of the (n-1)! - 1 nodes with symbol 1 in front, seen from the root, hears n-1 times, over node-disjoint paths, none of
    which can be shorter (Lemma 5), all others once: M (N - 1 + (n-2)((n-1)! - 1)) transmissions. Tree t is the paper's T_(t+2).
    """
    network, collective, messages = job.network, job.collective, job.collective.messages
    graph = star.shortest_path_graph(network, collective.root)
    tree, dst = np.nonzero(graph.parent >= 0)
    src = graph.parent[tree, dst]
    depth = network.distance(collective.root, src)
    table, port = Payloads.of([[(0, messages)]]), graph.port[tree, dst]
    rows = Rows.of(table, step=depth, src=src, dst=dst, port=port, tree=tree, payload=0)
    leaves = network.nodes // network.n - 1
    one = claims(job, 1, star.graph_depth(network.n))
    return Built(rows, Claims(one.steps, one.transmissions + messages * leaves * (network.ports - 1)))


@builder("spt", "scatter", on=Star, baseline=True, summary="down the SPT, farthest first")
def scatter_down_spt(job: Job[Star]) -> Built:
    """All-port: scatter down SPT, and below it to the nodes that it lacks, over all arcs of the root at once."""
    return down_one_tree(star.shortest_path_tree(job.network, job.collective.root), job.collective.messages)
