"""The trees that rows describe: in each tree a node hangs below the node from which it first receives.

Any rows describe some trees, right ones and wrong ones: where rows lead to a node from two others, the earlier row counts, and
the later ones are marked. Each reader draws its own conclusions.
"""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import Ints
from treecast.schedule.schedule import Schedule
from treecast.schedule.trees import Tree

Nodes = NDArray[np.int32] | Ints
"""Nodes, as rows have them."""


class TreesOfRows(NamedTuple):
    """The trees that rows describe.

    ``parent``: the node above each node in each tree, of the rows' type of nodes (trees, N); -1 where no row leads to it.
    ``row``: the first row that leads there, int64 (trees, N); -1 where there is none.
    ``clash``: which rows lead to a node from another one than the first row of that tree does: bool (rows,).
    """

    parent: Nodes
    row: Ints
    clash: NDArray[np.bool_]


def trees_of_rows(above: Nodes, below: Nodes, nodes: int, tree: NDArray[np.int16] | None = None) -> TreesOfRows:
    """Return the trees of rows that lead from ``above`` to ``below``, nodes of N in all, the earliest first.

    ``above``, ``below``: int32 or int64 (rows,). ``tree``: the tree of each row, int16 (rows,); -1: of none. By default all
    rows are of one tree.

    >>> import numpy as np
    >>> found = trees_of_rows(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), nodes=4)
    >>> found.parent.tolist(), found.row.tolist(), found.clash.tolist()
    ([[-1, 0, 0, 1]], [[-1, 0, 1, 2]], [False, False, False, True])
    """
    trees, key, of = 1, below, slice(None)
    if tree is not None:
        trees = int(tree.max(initial=-1)) + 1
        of = slice(None) if len(tree) and tree.min() >= 0 else np.flatnonzero(tree >= 0)
        key = np.multiply(tree[of], nodes, dtype=np.int64)
        key += below[of]
    row = np.full(trees * nodes, -1, np.int64)
    row[key[::-1]] = np.arange(len(below))[of][::-1]  # the last one written stays
    parent = np.append(above, above.dtype.type(-1))[row]  # row -1 takes the last: -1
    clash = np.zeros(len(below), np.bool_)
    clash[of] = parent[key] != above[of]
    return TreesOfRows(cast("Nodes", parent.reshape(trees, nodes)), row.reshape(trees, nodes), clash)


def tree_of(schedule: Schedule, rows: Ints, ends: tuple[Nodes, Nodes]) -> Tree:
    """Return the tree from the root that some rows describe; nodes to which no way leads from the root are outside.

    ``rows``: their numbers, ascending. ``ends``: the upper and the lower node of every row, as ``link_ends`` returns them.
    """
    above, below = ends
    network, root = schedule.network, schedule.part.root
    parent, port = np.full((2, network.nodes), -1, np.int32)
    found = trees_of_rows(above[rows], below[rows], network.nodes)
    led_to = np.flatnonzero((found.row[0] >= 0) & (np.arange(network.nodes) != root))
    parent[led_to] = found.parent[0, led_to]
    port[led_to] = schedule.rows.port[rows[found.row[0, led_to]]]
    return Tree(network, root, parent, port)


def told_trees(schedule: Schedule) -> list[int]:
    """Return the trees that control flits name: -1 alone where there is one tree, which none of them names."""
    return np.unique(schedule.rows.tree[schedule.rows.control]).tolist()


def first_controls(schedule: Schedule, tree: int = -1) -> tuple[Ints, Ints]:
    """Return from whom each node receives its first control flit of a tree, and by which row; -1 for none: int64 (N,) both.

    Control flits spread from the root before others come back, so that is the tree that they describe. Nobody is above the root.
    """
    rows, nodes = schedule.rows, schedule.network.nodes
    parent, row = np.full((2, nodes), -1, np.int64)
    control = np.flatnonzero(rows.control & (rows.tree == tree))
    found = trees_of_rows(rows.src[control], rows.dst[control], nodes)
    led_to = np.flatnonzero(found.row[0] >= 0)
    parent[led_to], row[led_to] = found.parent[0, led_to], control[found.row[0, led_to]]
    parent[schedule.part.root] = -1
    return parent, row


def link_ends(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return for each row the node that is nearer to the root in the tree, and the other one: int64 (rows,) both.

    Data goes one way: to the root in a gather or a reduction, else from it. Control flits go both ways.
    """
    rows = schedule.rows
    above, below = rows.src.astype(np.int64), rows.dst.astype(np.int64)
    up = np.full(len(rows), schedule.part.direction == "to")
    for tree in told_trees(schedule):
        control = np.flatnonzero(rows.control & (rows.tree == tree))
        # a control flit goes down where it comes from the node above, else up
        up[control] = first_controls(schedule, tree)[0][below[control]] != above[control]
    above[up], below[up] = below[up], above[up]
    return above, below


def outward(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which rows describe trees: all, but where sums that a node owns go out again, only the rows that go out."""
    rows, table = schedule.rows, schedule.rows.payloads
    if not schedule.part.results or schedule.part.shared:
        return np.ones(len(rows), np.bool_)
    return table.first[table.start[rows.payload]] >= schedule.part.sums
