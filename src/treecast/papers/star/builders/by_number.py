"""Scatter down disjoint trees in the order of the nodes' numbers, from which the part of a node follows.

Source of the trees: Fragopoulou & Akl; the order is treecast's own.

*By number* every node but the root has a number i = 1 … N-1, as seen from the root, and takes its x copies over the trees i, i+1,
…, i+x-1 modulo k. The greatest number goes first. So when a share leaves is a formula, whatever the size of the network. Farthest
first saves the last few steps, but to know who comes before whom takes the depths of all nodes.
"""

from collections.abc import Iterator

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Rotational
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every_port
from treecast.plans.times.pipelines import columns_of
from treecast.plans.ways.trees.disjoint import TREES, trees_of_job
from treecast.plans.whole.all_port.scatter import one_by_one, whole_blocks
from treecast.schedule import Claims, Payloads, Rows

# nodes below a node in all trees together, for its program: up to half a minute of work on a star network
_MOST_BELOW = 12_000


def _carried(number: int, tree: int, trees: int, copies: int) -> int:
    """Return how many of the nodes 1 … ``number`` take a copy over a tree."""
    whole, rest = divmod(number, trees)
    # k numbers in a row take each tree x times
    return whole * copies + sum((tree - i) % trees < copies for i in range(1, rest + 1))


def _steps(job: Job[Rotational]) -> int:
    """Return the steps of the scatter: only the last shares of each tree, as many as it is deep, can be the last to arrive."""
    network, root, messages, k = job.network, job.collective.root, job.collective.messages, job.network.ports
    trees, last = trees_of_job(job), 0
    for tree in range(k):
        end, number = messages * _carried(network.nodes - 1, tree, k, job.copies), 0
        # no share arrives later than its way is deep: once that is too early, all before are
        while number < network.nodes - 1 and end + trees.depth(network) - 1 > last:
            number += 1
            if (tree - number) % k < job.copies:
                node = int(network.translate(root, number))
                last = max(last, end + trees.depth_of(network, node, tree, root) - 1)
                end -= messages
    return last


def by_number_at(job: Job[Rotational], node: int) -> Built:
    """All-port: the rows of one node in ``by_number``, from its label alone: one for each share that it receives or sends on.

    These are the nodes below it in the trees, and as many for each as it has arcs there. A leaf has a few rows; the root has
    N - 1 shares in all, and its children nearly as many. The claims are the steps of the whole schedule, and no
    transmissions. Raises PlanError when more than 12,000 nodes lie below the node in all trees together: it passes on the
    shares of these.
    """
    network, root, messages, k = job.network, job.collective.root, job.collective.messages, job.network.ports
    # 1. A limit on the nodes below: their number is the work.
    trees, found, table = trees_of_job(job), list[tuple[int, ...]](), list[list[tuple[int, int]]]()
    met = 0  # nodes below, in the trees gone through so far

    def check(below: int) -> None:
        if below > _MOST_BELOW:
            raise PlanError(
                f"{network.label(node)} has more than {_MOST_BELOW:,} nodes below it in the trees of {job.collective.kind} on "
                f"{network.spec}, and passes on the chunks for them: ask for a node with fewer"
            )

    def below(top: int, tree: int) -> Iterator[int]:
        nonlocal met
        waiting = [top]
        while waiting:
            v = waiting.pop()
            met += 1
            check(met)
            yield v
            waiting += [child for child, _ in trees.children(network, v, tree, root)]

    # 2. The row of one share: it leaves after the shares of all greater numbers on the same tree.
    def pass_on(v: int, tree: int, arcs: list[tuple[int, int, int, int]]) -> None:
        number = int(network.untranslate(root, v))
        if (tree - number) % k >= job.copies:
            return
        ahead = _carried(network.nodes - 1, tree, k, job.copies) - _carried(number, tree, k, job.copies)
        table.append([(v * messages, (v + 1) * messages)])
        for depth, source, target, port in arcs:
            found.append((messages * ahead + depth, messages, source, target, port, tree, len(table) - 1))

    # 3. In each tree what comes from above, and what goes to each child.
    check(k * (network.nodes - 1) if node == root else 0)
    for tree in range(k):
        depth, above = trees.depth_of(network, node, tree, root), trees.parent(network, node, tree, root)
        into = [(depth - 1, above[0], node, above[1])] if above else []
        if above:
            pass_on(node, tree, into)
        for child, port in trees.children(network, node, tree, root):
            for v in below(child, tree):
                pass_on(v, tree, [*into, (depth, node, child, port)])
    return Built(Rows.of_any_steps(Payloads.of(table), **columns_of(found)), Claims(_steps(job), 0))


@builder(
    "disjoint-trees-by-number",
    "scatter",
    on=Rotational,
    most_copies=every_port,
    baseline=True,
    at=by_number_at,
    options=(TREES,),
    summary="down the k disjoint trees in the order of the nodes, so that a node knows its part from its label",
)
def by_number(job: Job[Rotational]) -> Built:
    """All-port: scatter over the disjoint trees, each message over x = ``copies`` of them, in the order of the nodes.

    At most ⌈Mx(N-1)/k⌉ + M + depth - 1 steps: the trees' loads differ by one share at most.
    """
    network, root, k = job.network, job.collective.root, job.network.ports
    trees = trees_of_job(job).disjoint_trees(network, root)
    number = np.repeat(np.arange(1, network.nodes), job.copies)
    tree = (number + np.tile(np.arange(job.copies), network.nodes - 1)) % max(k, 1)
    dealt = whole_blocks(trees, network.translate(root, number), tree, job.collective.messages)
    return one_by_one(trees, dealt, (-number, tree), tree)
