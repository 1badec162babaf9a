"""A tree as characters: a line per node."""

from treecast.description import count_of
from treecast.drawing.registry import TEXT, View, picture
from treecast.drawing.shapes import DrawnTree, chosen_trees, why_no_trees
from treecast.schedule import Schedule


@picture("trees", of=Schedule, into=TEXT, fits=why_no_trees, summary="the trees, side by side", rank=10)
def trees_text(schedule: Schedule, view: View) -> str:
    """Return the trees of a schedule, one below the other."""
    return "\n\n".join(tree_text(schedule, tree, view.ascii) for tree in chosen_trees(schedule, view))


def tree_text(schedule: Schedule, tree: int, ascii: bool = False, max_nodes: int = 1000) -> str:  # noqa: A002
    """Return one tree of a schedule, a line per node: the port that leads to it, its label, and ``@`` the step from
    which it can hold the first chunk that comes over this tree (towards the root: at which it first sends one); behind it
    the length of its message, where messages have lengths.

    Children stand in the order of their ports; on the star network cyclically from the tree's own port, as in the paper.
    Raises ScheduleError when that tree has no rows, or they form no tree.
    """
    bar, tee, corner, dash = ("|", "|", "`", "-") if ascii else ("│", "├", "└", "─")
    drawn, network, rows = DrawnTree.of(schedule, tree), schedule.network, schedule.rows
    lines: list[str] = []
    lengths = schedule.part.lengths if schedule.part.traits.blocks == "node" else None
    waiting = [(root, "", "") for root in reversed(drawn.roots)]
    while waiting and len(lines) < max_nodes:
        node, branch, margin = waiting.pop()
        row = drawn.row.get(node)
        flits = "" if lengths is None or row is None else f"  {count_of(int(lengths.flits[node]), 'flit')}"
        when = " (root)" if row is None else f" @{rows.step[row] + (schedule.part.direction != 'to')}"
        lines.append(branch + network.label(node) + when + flits)
        children = drawn.children.get(node, [])
        for child in reversed(children):
            last, port = child == children[-1], int(rows.port[drawn.row[child]])
            twig = (corner if last else tee) + dash + (network.port_name(port) + dash if port >= 0 else "") + " "
            waiting.append((child, margin + twig, margin + (" " if last else bar).ljust(len(twig))))
    left = len(drawn.row) + len(drawn.roots) - len(lines)
    return "\n".join([*lines, f"left out: {count_of(left, 'node')}"] if left else lines)
