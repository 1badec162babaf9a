"""The picture of what may fail: a network whose cables and switches have the colour of what they cost if they die."""

from typing import Any

import numpy as np

from treecast.advice.failing import Failures, spell_worst
from treecast.description import count_of
from treecast.drawing.figures.network import Scene, add_curves, draw_nodes, why_no_network
from treecast.drawing.figures.plan_view import PlanView
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import colour, draw_legend, entry, heading, letters_on, short_label, theme, write

_CUT_OFF, _COSTS = 5, 0  # colours
_MOST_NAMED = 60  # switches


@picture(
    "failures",
    of=Failures,
    into=FIGURE,
    fits=why_no_network,
    summary="a network, with the cost of each cable and switch if it dies",
)
def draw_failures(found: Failures, view: View) -> None:
    """Draw cables thicker and darker the more they cost, those that cut ranks off dashed; switches are filled alike."""
    # 1. The page, and what is worst.
    figure, network = view.page, found.network
    scene = Scene.on(figure, PlanView.of(network, 0))
    most = max((each.more for each in found.found), default=0.0)
    worst = spell_worst(found)
    said = f"worst: {worst[0]}" if worst else "no cable or switch costs time"
    heading(figure, f"What a dead part costs: {found.kind}", f"{network.spec}  ·  {said}")
    # 2. The colour of each switch; of cables between two nodes that of the dearest.
    fills, links = dict[int, tuple[str, str]](), dict[tuple[int, int], tuple[bool, float]]()
    for each in found.found:
        for part in each.parts:
            ink = _ink(bool(each.cut_off), each.more, most)
            if part.sort == "switch":
                fills[part.nodes[0]] = ink, letters_on(ink)
                continue
            ends = min(part.nodes), max(part.nodes)
            # cutting off is worse than any cost
            links[ends] = max(links.get(ends, (False, 0.0)), (bool(each.cut_off), each.more))
    # 3. Cables, the dearest first: these are the ones that the legend has room for.
    handles = list[Any]()
    for (cut_off, more), some in _by_cost(links).items():
        ends = np.array(some, np.int64)
        look: dict[str, Any] = {"color": _ink(cut_off, more, most), "width": 0.8 + 2.2 * more / (most or 1.0)}
        curves = scene.view.curves(ends[:, 0], ends[:, 1], np.zeros(len(ends)))
        add_curves(scene, curves, "cut-off" if cut_off else "cables", dash=(0, (4, 2)) if cut_off else "-", **look)
        does = "cuts ranks off" if cut_off else f"+{more:.1%}" if more else "costs nothing"
        words = f"{does}: cables of {count_of(len(some), 'pair')}"
        handles.append(entry(words, color=look["color"], linewidth=look["width"], linestyle="--" if cut_off else "-"))
    # 4. Nodes above them, and what colours mean.
    draw_nodes(scene, network, fills)
    if not scene.view.font and len(fills) <= _MOST_NAMED:
        for u in fills:
            x, y = scene.view.at[u].tolist()
            write(scene.axes, (x, y - 0.14), short_label(network, u), 7, ha="center", halo=3)
    draw_legend(figure, handles[:6], bottom=0.06, column=2.2, handlelength=2.6, columnspacing=1.4, borderpad=0)


def _ink(cut_off: bool, more: float, most: float) -> str:
    """Return the colour of a cost: from grey, of none, to that of the greatest."""
    if cut_off:
        return colour(_CUT_OFF)
    return theme().pale if not more else colour(_COSTS, -0.6 * (1 - more / most))


def _by_cost(links: dict[tuple[int, int], tuple[bool, float]]) -> dict[tuple[bool, float], list[tuple[int, int]]]:
    """Return pairs of nodes by the cost of their cables, the dearest first; costs that are told alike are one."""
    found = dict[tuple[bool, float], list[tuple[int, int]]]()
    for ends, (cut_off, more) in sorted(links.items(), key=lambda each: each[1], reverse=True):
        found.setdefault((cut_off, round(more, 3)), []).append(ends)
    return found
