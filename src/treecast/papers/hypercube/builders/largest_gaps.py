"""Allgather on the hypercube by the rule of the largest gaps: x copies in the fewest steps there can be, for every d, x and M.

The trees are those of Johnsson & Ho (plans/ways/trees/hypercube.py). In tree t a node whose bit t is 1 receives over its next
1-bit q, cyclically after t; the 0-bits between t and q are the *gap* of t. A node whose bit t is 0 receives over port t.

The rule, for a node of w 1-bits: its labels are the x 1-bits with the largest gaps. If w < x, they are all its 1-bits, and x - w
of its 0-bits. Ties are broken alike for all rotations of a node.

Why that is right (see also docs/explanation/allgather.md):

- *The labels are closed.* Let t be a 1-bit and a label of v, and w ≥ x. The parent lacks bit q. There the gap of t is larger than
  before, that of q is gone, and the others are unchanged. So nobody who was not ahead of t is ahead of it now: t is a label.
  With w < x all 1-bits are labels. If t is a 0-bit, w < x; the parent has bit t, and in all w + 1 ≤ x 1-bits, all of them labels.
- *Nothing hangs below a ragged pair* (label_sets.py). Of a ragged 0-bit t that is clear: in tree t only nodes with bit t are
  parents. Let t be a ragged 1-bit of v, in the orbit of the smallest gap that is taken. A child of v whose bit t is 1 has one
  more 1-bit, within the gap of t. Ahead of t are there all whole orbits of v, and the m - 1 other trees of t's own orbit: at
  least x, so t is no label. If a child whose bit t is 0 had the label t, it would have w < x. Then v has w ≤ x, so all its
  1-bits are labels, in whole orbits, and t is not ragged.
- *Nothing but whole orbits is above a ragged pair.* Two words of d bits that rotations repeat differ in two bits at least, so
  the parent is in a necklace of d nodes.
- *The ports are even*, and an orbit goes when the one above it has gone: orbits are served by their depth, w or w + 2.

So the steps are ⌈M x (N - 1) / d⌉: each node hears M x (N - 1) chunks over d arcs. Source: treecast's own.
"""

import numpy as np

from treecast.networks import Hypercube
from treecast.papers.label_sets import Preferences, by_rotation, least_steps
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every_port
from treecast.plans.ways.trees.hypercube import parent_ports


def preferences(cube: Hypercube) -> Preferences:
    """Return which trees the least node of each necklace prefers: 1-bits by their gaps, the largest first, then 0-bits."""
    d, (node, size) = cube.ports, cube.necklaces()
    tree = np.arange(d)[:, None]
    port = np.array([parent_ports(cube, node, t) for t in range(d)], np.int64).reshape(d, len(node))
    has = node >> tree & 1 == 1
    gap = (port - tree - 1) % max(d, 1)
    # Ascending: 1-bits with large gaps, 0-bits behind all of them, and what is no orbit of its own last.
    key = np.where(has, d - 1 - gap, d)
    key[tree >= size] = d + 1  # rotations of trees before them
    weight = np.bitwise_count(node).astype(np.int64)
    return Preferences(
        node,
        size,
        np.argsort(key, axis=0, kind="stable"),
        port,
        node ^ (np.int64(1) << port),
        np.where(has, weight, weight + 2),
    )


@builder(
    "largest-gaps",
    "allgather",
    on=Hypercube,
    most_copies=every_port,
    claims=least_steps,
    summary="each node by those of the d disjoint trees in which its gap is largest",
)
def over_largest_gaps(job: Job[Hypercube]) -> Built:
    """All-port: each node receives by the x trees in which its gap is largest: ⌈Mx(N-1)/d⌉ steps, the fewest there can be.

    M x N (N - 1) transmissions. The ways to a node are node-disjoint, so x - 1 faults do no harm. An orbit, of about x (N - 1)
    rows. A node sends as many, so nothing shorter could tell it its part: on Q_40 with two copies they are 2 (2^40 - 1).
    """
    return by_rotation(job, preferences(job.network))
