"""Allgather over one tree that all ranks share, on any network whose links lead both ways: many ranks, in few rows.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.

Each block goes up the tree to its root, and down to all nodes that have not passed it on. Block b has a slot of its own, its M
steps from b M on: over the arc between levels l + 1 and l it goes D - l - 1 steps later, and down there D + l. Slots do not
overlap, and each arc has one such delay, so no two blocks meet. Where each rank has one link, no plan takes less than M (N - 1).
"""

import numpy as np

from treecast.collectives.traits import all_to_all
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.kept import kept
from treecast.networks.low_trees import LowTree, low_tree
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import builder
from treecast.ragged import places
from treecast.schedule import Claims, Payloads, Rows


@kept(4)
def _tree(network: Network) -> LowTree:
    return low_tree(network, int(network.ranks[0]))


def _fits(job: Job[Network]) -> str:
    return "" if job.network.both_ways else "needs links that lead both ways"


@builder(
    "shared-tree",
    all_to_all,
    fits=_fits,
    orbit=False,
    baseline=True,
    summary="up one low tree and down again, each block in a slot of its own: any number of ranks, in few rows",
)
def over_a_shared_tree(job: Job[Network]) -> Built:
    """All-port: M N + 2 D - 1 steps at most, if D is the depth of the tree.

    M N (n - 1) transmissions, if the tree has n nodes. N (D + 1) rows up, and about as many down.
    """
    network, messages, tree = job.network, job.collective.messages, _tree(job.network)
    ranks = network.rank_count
    if ranks < 2:
        return NOTHING
    # 1. Whose block passes which node on its way up, from the lowest level on.
    at, block, passes = network.ranks, np.arange(ranks), list[tuple[np.ndarray, np.ndarray]]()
    while len(at):
        below = tree.parent[at] >= 0
        at, block = at[below], block[below]
        passes.append((at, block))
        at = tree.parent[at]
    node, block = (np.concatenate(column) for column in zip(*passes, strict=True))
    deep = int(tree.level[network.ranks].max())
    # 2. All others go down to that node: a stream for each gap between them.
    order = np.lexsort([block, node])
    below, sent = node[order], block[order]
    change = np.diff(below, prepend=-1, append=-1) != 0  # where those of a node begin, and behind the last
    new, last = change[:-1], change[1:]
    first = np.concatenate([np.where(new, 0, np.append(0, sent[:-1]) + 1), sent[last] + 1])
    stop = np.concatenate([sent, np.full(np.count_nonzero(last), ranks)])
    into = np.concatenate([below, below[last]])
    # 3. A payload has no numbers of relays between its own: a stream is cut there.
    cut = np.flatnonzero(np.diff(network.ranks) > 1) + 1
    low = np.searchsorted(cut, first, side="right")
    pieces = np.where(first < stop, np.searchsorted(cut, stop) - low + 1, 0)
    run, place = np.repeat(np.arange(len(first)), pieces), places(pieces)
    ends = np.append(np.append(0, cut), ranks)
    first = np.maximum(first[run], ends[low[run] + place])
    stop, into = np.minimum(stop[run], ends[low[run] + place + 1]), into[run]
    # 4. The rows of both.
    first, stop = np.concatenate([block, first]), np.concatenate([block + 1, stop])
    src = np.concatenate([node, tree.parent[into]])
    dst = np.concatenate([tree.parent[node], into])
    step = first * messages + np.concatenate([deep - tree.level[node], deep + tree.level[into] - 1])
    ranges, payload = np.unique(first * (ranks + 1) + stop, return_inverse=True)
    begin, end = np.divmod(ranges, ranks + 1)
    table = Payloads.of_ranges(network.ranks[begin] * messages, (network.ranks[end - 1] + 1) * messages)
    step, arcs = step - step.min(), arcs_of(network)  # the first block may not come from as far below as others
    port = np.concatenate([network.port_between(node, tree.parent[node]), arcs.port[tree.into[into]].astype(np.int64)])
    rows = Rows.of(
        table, step=step, steps=(stop - first) * messages, src=src, dst=dst, port=port, payload=payload.reshape(-1)
    )
    steps = int((step + (stop - first) * messages).max(initial=0))
    return Built(rows, Claims(steps, int(((stop - first) * messages).sum())))
