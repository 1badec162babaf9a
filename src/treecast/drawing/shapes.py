"""The trees in pictures: the tree that rows of a schedule form, children in the order of their ports."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treecast.description import count_of
from treecast.drawing.registry import View
from treecast.errors import ScheduleError
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import link_ends, outward, trees_of_rows

_MOST_COVERED = 60  # nodes of a figure in which the lines of several trees can be told apart


def centre_of(schedule: Schedule) -> int:
    """Return the node from which a schedule is drawn: the root, or the one owner of all sums; else the first rank."""
    part = schedule.part
    if len(owners := {node for _, node in part.owners}) == 1 and not part.shared:
        return owners.pop()
    return int(part.ranks[0]) if part.all_source else part.root


def origins_of(schedule: Schedule) -> list[int]:
    """Return the nodes that are drawn as sources: of a demand those that have something and want nothing; else the centre."""
    demand = schedule.collective.demand
    if demand is not None and len(found := np.setdiff1d(demand.holder, demand.want)):
        return found.tolist()
    return [centre_of(schedule)]


def drawn_rows(schedule: Schedule, tree: int) -> Ints:
    """Return the rows of one tree; of a reduction whose sums go out again, those by which they go out."""
    return np.flatnonzero((schedule.rows.tree == tree) & outward(schedule))


def trees_of(schedule: Schedule) -> list[int]:
    """Return the trees that the rows of a schedule use; -1 where no row names a tree, but all data of one node goes down one."""
    rows = schedule.rows
    if used := np.unique(rows.tree[rows.tree >= 0]).tolist():
        return used
    # as many links as nodes that hear: a single tree
    links = len(np.unique(rows.src.astype(np.int64) * schedule.network.nodes + rows.dst))
    is_one = links == len(np.unique(rows.dst)) and schedule.collective.traits.one_to_all
    return [-1] if links and is_one else []


def chosen_trees(schedule: Schedule, view: View) -> list[int]:
    """Return the trees that a picture of trees shows."""
    return trees_of(schedule) if view.tree is None else [view.tree]


def chosen_rows(schedule: Schedule, view: View) -> Schedule:
    """Return the rows that a picture other than one of trees shows: the whole schedule, or the rows of one tree."""
    return schedule if view.tree is None else schedule.tree(view.tree)


def uncovered_rows(schedule: Schedule, view: View) -> tuple[Schedule, list[str]]:
    """Return the rows that a figure shows in which trees cover one another, and words on the trees that it leaves out.

    Of many nodes it shows the first tree, unless more is asked for; under faults, and of some steps, it shows all trees.
    """
    used, whole = trees_of(schedule), view.every or view.faults or view.steps or view.step is not None
    if view.tree is not None or whole or schedule.network.nodes <= _MOST_COVERED or len(used) < 2:
        return chosen_rows(schedule, view), []
    return schedule.tree(used[0]), [f"and {count_of(len(used) - 1, 'more tree')}: --tree all draws all"]


def why_no_trees(schedule: Schedule, view: View) -> str:
    """Return why the trees of a schedule cannot be drawn, or an empty text."""
    if not (used := chosen_trees(schedule, view)):
        return "the schedule uses no trees"
    try:
        for tree in used:
            DrawnTree.of(schedule, tree)
    except ScheduleError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class DrawnTree:
    """One tree of a schedule: its roots, the children of each node in order, and the first row by which each node hears."""

    roots: list[int]
    children: dict[int, list[int]]
    row: dict[int, int]

    @staticmethod
    def of(schedule: Schedule, tree: int) -> "DrawnTree":
        """Return one tree of a schedule. Raises ScheduleError when it has no rows, or they form no tree."""
        rows, network = schedule.rows, schedule.network
        of_tree = drawn_rows(schedule, tree)
        above, below = (nodes[of_tree] for nodes in link_ends(schedule))
        if not len(of_tree):
            used = ", ".join(map(str, np.unique(rows.tree).tolist())) or "none"
            raise ScheduleError(f"tree {tree} carries nothing; the trees that carry something: {used}")
        # of a network of any size, a few nodes
        known, number = np.unique(np.concatenate([above, below]), return_inverse=True)
        number = number.reshape(2, -1)
        found = trees_of_rows(number[0], number[1], len(known))
        for other in np.flatnonzero(found.clash)[:1].tolist():
            twice, there = int(below[other]), int(above[other])
            one = int(known[found.parent[0, np.searchsorted(known, twice)]])
            u, v, w = (network.label(x) for x in (twice, one, there))
            raise ScheduleError(f"the rows of tree {tree} form no tree: {u} hears from both {v} and {w}")
        turn = network.first_child_port(tree)
        led_to = np.flatnonzero(found.row[0] >= 0)
        node, parent, first = known[led_to], known[found.parent[0, led_to]], of_tree[found.row[0, led_to]]
        order = np.lexsort((node, (rows.port[first].astype(int) - turn) % network.ports, parent))
        children: dict[int, list[int]] = {}
        for u, v in zip(parent[order].tolist(), node[order].tolist(), strict=True):
            children.setdefault(u, []).append(v)
        row = dict(zip(node.tolist(), first.tolist(), strict=True))
        drawn = DrawnTree([u for u in children if u not in row], children, row)
        circling = len(row) + len(drawn.roots) - sum(1 for _ in drawn.nodes())
        if circling:
            raise ScheduleError(f"the rows of tree {tree} form no tree: {count_of(circling, 'node')} hear in a circle")
        return drawn

    def nodes(self) -> Iterator[int]:
        """Yield the nodes, each before its children, and whole subtrees in the order of the children."""
        waiting = self.roots[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(self.children.get(node, []))
