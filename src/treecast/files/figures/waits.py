"""The picture of a job that stands still: who waits for whom, a box for ranks with the same wait."""

from collections import defaultdict

import networkx as nx

from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import add_panel, colour, heading, letters_on, theme, write
from treecast.files.records.job import spell_ranks
from treecast.files.records.why import Why

_WIDE, _HIGH = 2.2, 1.1
"""Inches from one box to the next."""
_MOST = 40
_Boxes = dict[tuple[int, ...], tuple[tuple[int, ...], ...]]


def boxes_of(found: Why) -> _Boxes:
    """Return the boxes: ranks that wait for the same others, or are a cause alike, and the boxes for which each waits.

    Ranks that others wait for stand apart from those that nobody waits for.
    """
    cause, alike = set(found.verdicts[0].ranks), defaultdict[object, list[int]](list)
    awaited = {other for others in found.waits.values() for other in others}
    for rank in range(found.ranks):
        others = tuple(sorted(found.waits.get(rank, ())))
        if others or rank in awaited or rank in cause:
            alike[(others, rank in cause, rank if rank in cause and not others else rank in awaited)].append(rank)
    box = {rank: tuple(ranks) for ranks in alike.values() for rank in ranks}
    waits = found.waits
    return {
        ranks: tuple(
            dict.fromkeys(box[other] for rank in ranks for other in waits.get(rank, ()) if box[other] != ranks)
        )
        for ranks in map(tuple, alike.values())
    }


def _why_not(found: Why, view: View) -> str:
    several = len(boxes_of(found))
    return "nobody waits" if not several else f"{several} sets of ranks wait" if several > _MOST else ""


@picture("waits", of=Why, into=FIGURE, fits=_why_not, summary="who waits for whom in a job that stands still")
def draw_waits(found: Why, view: View) -> None:
    """Draw a box for each set of ranks, those that nobody waits for on the left, and arrows to those they wait for."""
    # 1. Columns: who waits for others stands left of them, and who waits in a circle in one column.
    figure, boxes = view.page, boxes_of(found)
    graph = nx.DiGraph((one, other) for one, others in boxes.items() for other in others)
    graph.add_nodes_from(boxes)
    whole = nx.condensation(graph)
    depth = dict.fromkeys(whole, 0)
    for part in reversed(list(nx.topological_sort(whole))):
        depth[part] = max((depth[after] + 1 for after in whole.successors(part)), default=0)
    columns = defaultdict[int, list[tuple[int, ...]]](list)
    for part, about in whole.nodes.items():
        columns[max(depth.values()) - depth[part]] += sorted(about["members"])
    place = {box: (c, -r + (len(some) - 1) / 2) for c, some in columns.items() for r, box in enumerate(some)}
    # 2. The page, as large as they need.
    wide, high = len(columns) * _WIDE, max(map(len, columns.values())) * _HIGH
    figure.set_size_inches(wide + 0.5, high + 1.2)
    heading(
        figure,
        f"Who waits for whom: {found.verdicts[0].kind}",
        f"{len(found.recorded)} of {found.ranks} ranks recorded",
    )
    axes = add_panel(figure, (0.25, 0.15), (wide, high))
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-high / _HIGH / 2, high / _HIGH / 2))
    axes.axis("off")
    # 3. Arrows, bold along the chain that the verdict names.
    links = set(zip(found.verdicts[0].chain, found.verdicts[0].chain[1:], strict=False))
    for one, others in boxes.items():
        for other in others:
            bold = any((a, b) in links or (b, a) in links for a in one for b in other)
            arrow = {
                "arrowstyle": "-|>",
                "color": theme().ink,
                "linewidth": 2.2 if bold else 0.9,
                "shrinkA": 26,
                "shrinkB": 26,
            }
            axes.annotate("", place[other], place[one], arrowprops=arrow)
    # 4. Boxes, coloured where the verdict names their ranks.
    for box, at in place.items():
        fill = colour(5) if set(box) & set(found.verdicts[0].ranks) else theme().pale
        look = {"boxstyle": "round,pad=0.4", "facecolor": fill, "edgecolor": "none"}
        write(axes, at, spell_ranks(box, 3), 10, ha="center", va="center", color=letters_on(fill), bbox=look, zorder=4)
