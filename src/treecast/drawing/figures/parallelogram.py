"""The picture of messages of any length in space and time: a parallelogram each, between the root and its node.

Source: Bhatt, Pucci, Ranade & Rosenberg, Figures 1-4. Where nothing waits, a flit moves on a diagonal, and all diagonals meet
the root: over one port no two messages overlap, whatever the tree, and over several ports none below one child of the root.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from treecast.description import count_of
from treecast.drawing.passages import (
    CERTIFICATE,
    CONTROLS,
    ORDER,
    TOKEN,
    WAKE_UP,
    Controls,
    MessageStreams,
    Passages,
    fewest_steps,
    why_no_passages,
)
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.shapes import chosen_rows
from treecast.drawing.style import (
    add_many,
    add_panel,
    colour,
    draw_legend,
    entry,
    letters_on,
    short_label,
    theme,
    title,
    write,
)
from treecast.errors import TreecastError
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_MOST_SHAPES = 50_000  # messages and control flits
_MOST_PANELS = 24
_SHADES = (0.0, -0.45, 0.35)  # of each colour: as it is, with white, with black; then they begin again
_FONT = 7.5  # points
_LETTER = 0.0085  # inches that a character takes per point
_INK = {WAKE_UP: "#222222", TOKEN: "#222222", CERTIFICATE: "#C2185B", ORDER: "#6A1B9A"}


class Shapes(NamedTuple):
    """Shapes of messages: ``message`` passes the links at distances ``near … far`` from the root, ``flits`` flits wide.

    Its first flit passes the link at ``near`` in ``step``. ``branch``: the child of the root above it. int64.
    """

    message: Ints
    flits: Ints
    step: Ints
    near: Ints
    far: Ints
    branch: Ints


def shapes(passages: Passages, away: bool) -> Shapes:
    """Join the passages of a message that follow each other, each a step behind the one before, to one shape."""
    hop = passages.depth if away else -passages.depth
    # the same at all links, where nothing waits
    diagonal = passages.step - hop
    order = np.lexsort((hop, diagonal, passages.flits, passages.first, passages.message, passages.branch))
    key = np.column_stack([passages.branch, passages.message, passages.first, passages.flits, diagonal])[order]
    begins = np.ones(len(order), bool)
    # a new shape, or a link that is not the next one on the way
    begins[1:] = (key[1:] != key[:-1]).any(axis=1) | (np.diff(hop[order]) != 1)
    head = np.flatnonzero(begins)
    tail = np.append(head[1:], len(order)) - 1
    first, last = order[head], order[tail[: len(head)]]
    near, far = (first, last) if away else (last, first)
    return Shapes(
        passages.message[first],
        passages.flits[first],
        passages.step[near],
        passages.depth[near],
        passages.depth[far],
        passages.branch[first],
    )


def corners(found: Shapes, away: bool) -> Any:
    """Return six corners of each shape, (shapes, 6, 2): x in steps, y in distances from the root.

    Halfway along each link a shape covers exactly the steps in which its flits pass. Of the parallelogram, the two tips that
    would stick out of these steps, before its first and behind its last, are cut off.
    """
    turn = 1 if away else -1
    top, bottom = found.near - 1.0, found.far + 0.0
    left, wide, hops = found.step - turn * 0.5, found.flits, turn * (found.far - found.near)
    right = left + turn * (bottom - top)  # where the shape begins at the bottom
    begin, end = np.minimum(found.step, found.step + hops), np.maximum(found.step, found.step + hops) + wide
    (x, y), (u, v) = ((left, top), (right, bottom)) if away else ((right, bottom), (left, top))
    tip = turn * 0.5
    points = [(begin, y), (x + wide, y), (end, v - tip), (end, v), (u, v), (begin, y + tip)]
    points = points if away else [*points[4::-1], points[5]]
    return np.stack([np.column_stack(point) for point in points], axis=1).astype(float)


_T = TypeVar("_T", Shapes, Controls)


@picture(
    "space-time", of=Schedule, into=FIGURE, fits=why_no_passages, summary="the load of each link, by step", rank=20
)
def draw_parallelograms(schedule: Schedule, view: View) -> None:
    """Draw a scatterv or gatherv: steps to the right, distances from the root downwards.

    A message is a parallelogram, as many steps wide as it has flits, labelled ``node: flits`` where there is room. Arrows are
    control flits. Null messages stand on the right. Lines: the time taken, and the lower bound. Where messages overlap at the
    root (several ports), each child of the root has a panel. Raises TreecastError when there is too much to draw.
    """
    # 1. What is drawn, if it is not too much.
    figure, schedule = view.page, chosen_rows(schedule, view)
    streams, bound = MessageStreams(schedule), fewest_steps(schedule, view.faults)
    away = schedule.part.direction == "from"
    passages, controls = streams.passages(), streams.controls()
    found = shapes(passages, away)
    if (many := len(found.step) + len(controls.step)) > _MOST_SHAPES:
        raise TreecastError(
            f"{many:,} messages and control flits cannot be drawn, {_MOST_SHAPES:,} at most: "
            "draw it in the terminal, where it is cut"
        )
    panels, left_out = _panels(found, controls)
    # 2. How large: a panel for each strip, with the null messages beside.
    steps = max(schedule.steps, bound or 0, 1)
    strips = sum(panel.height for panel in panels)
    unit = max(0.02, min(0.42 if strips > 4 else 0.65, (9 - 0.3 * len(panels)) / strips))
    nulls = _nulls(streams, panels) if unit > 0.13 else [dict[int, str]()] * len(panels)
    wide = min(max(0.3 * steps, 5.0), 14.0)
    head, foot, left, gap = 0.95, 0.95, 0.75, 0.32
    right = 0.35 + 0.062 * max((len(text) for texts in nulls for text in texts.values()), default=0)
    width, height = wide + left + right, strips * unit + head + foot + gap * (len(panels) - 1)
    # 3. The page and its title.
    figure.set_size_inches(width, height)
    title(figure, schedule, Faults(), f": {left_out} more branches left out" if left_out else "")
    at = height - head
    scale = _Scale(steps, wide, unit, bound)
    handles: dict[str, Any] = {}
    # 4. Panel by panel, from the top down.
    for panel, texts in zip(panels, nulls, strict=True):
        at -= panel.height * unit
        axes = add_panel(figure, (left, at), (wide, panel.height * unit))
        at -= gap
        axes.set(xlim=(0, steps), ylim=(panel.height, 0))
        axes.spines[:].set_visible(False)
        _draw_messages(axes, streams, panel.take(found), scale)
        handles |= _draw_controls(axes, panel.take(controls), wide / steps, unit)
        handles |= _draw_times(axes, schedule.steps, bound)
        _draw_frame(axes, panel, texts, scale)
        if len(panels) > 1:
            name = short_label(schedule.network, int(panel.branches[0]))
            write(axes, (0, -0.08 / unit), f"by way of {name}", 8, color=theme().grey, ha="left", va="bottom")
        if panel is not panels[-1]:
            axes.tick_params(axis="x", labelbottom=False)
    # 5. Names of the axes, once, and what the shapes mean.
    figure.axes[-1].set_xlabel("step", fontsize=9)
    inner = height - head - foot
    words = "distance from the root" if inner > 1.6 else "distance"
    write(figure, (0.22 / width, 1 - (head + inner / 2) / height), words, 9, rotation=90)
    from matplotlib.patches import Patch

    handles = {"message " + ("for" if away else "of") + " a node (node: length)": Patch(color=colour(0)), **handles}
    for name, handle in handles.items():
        handle.set_label(name)
    draw_legend(figure, list(handles.values()), bottom=0.05, column=2.3, handlelength=1.8, columnspacing=1.5)


class _Scale(NamedTuple):
    """The measures of a panel: steps, and how wide they are together; the height of a distance (inches); the lower bound."""

    steps: int
    wide: float
    unit: float
    bound: int | None

    @property
    def step(self) -> float:
        """The width of a step, in inches."""
        return self.wide / self.steps


class _Panel(NamedTuple):
    """A picture of its own below the others: the branches of the root in it, and how many distances it has."""

    branches: Ints
    height: int

    def take(self, all_of_them: _T) -> _T:
        """Return the part in these branches."""
        mine = np.isin(all_of_them.branch, self.branches)
        return type(all_of_them)(*(column[mine] for column in all_of_them))


def _panels(found: Shapes, controls: Controls) -> tuple[list[_Panel], int]:
    """Return one panel where no two messages are at the root at once, else one for each child of the root."""
    branch = np.concatenate([found.branch, controls.branch])
    far = np.concatenate([found.far, controls.depth])
    every = np.unique(branch)
    at_root = found.near == 1
    step, flits = found.step[at_root], found.flits[at_root]
    order = np.argsort(step, kind="stable")
    if len(every) < 2 or bool((step[order][1:] >= (step + flits)[order][:-1]).all()):
        return [_Panel(every, max(1, int(far.max(initial=1))))], 0
    panels = [_Panel(np.array([b]), int(far[branch == b].max())) for b in every.tolist()]
    return panels[:_MOST_PANELS], len(panels[_MOST_PANELS:])


def _nulls(streams: MessageStreams, panels: list[_Panel]) -> list[dict[int, str]]:
    """Return for each panel the text beside a distance: the nodes there whose messages are null."""
    walk, network = streams.walk(), streams.schedule.network
    null = np.flatnonzero(streams.flits == 0)
    null = null[null != streams.schedule.part.root]
    found: list[dict[int, str]] = []
    for panel in panels:
        mine = null[np.isin(walk.branch[null], panel.branches) | (len(panels) == 1)]
        texts: dict[int, str] = {}
        for far in np.unique(walk.depth[mine]).tolist():
            nodes = mine[walk.depth[mine] == far]
            named = [short_label(network, v) for v in nodes[:3].tolist()]
            more = [f"and {len(nodes) - 3} more"] if len(nodes) > 3 else []
            if far <= panel.height:
                texts[far] = f"{', '.join(named)} {' '.join(more)}".strip() + ": null"
        found.append(texts)
    return found


def _draw_messages(axes: Any, streams: MessageStreams, found: Shapes, scale: _Scale) -> None:
    """Draw the parallelograms, and labels where there is room."""
    away = streams.schedule.part.direction == "from"
    order = np.argsort(found.step, kind="stable")
    found = Shapes(*(column[order] for column in found))
    nodes, first = np.unique(found.message, return_index=True)
    place = dict(zip(nodes[np.argsort(first)].tolist(), range(len(nodes)), strict=True))
    inks = [colour(place[v] % 7, _SHADES[place[v] // 7 % len(_SHADES)]) for v in found.message.tolist()]
    thin = min(1.0, 30 * scale.step, 10 * scale.unit)
    look: dict[str, Any] = {"edgecolors": theme().ground, "linewidths": thin, "gid": "messages", "zorder": 3}
    add_many(axes, "Poly", corners(found, away), facecolors=inks, **look)
    if scale.unit > 1.15 * _FONT / 72:
        for fill, shape in zip(inks, zip(*(column.tolist() for column in found), strict=True), strict=True):
            if label := _label(streams, shape, away, scale):
                x, y, text = label
                write(axes, (x, y), text, _FONT, va="center_baseline", color=letters_on(fill), zorder=6)


def _label(
    streams: MessageStreams, shape: tuple[int, ...], away: bool, scale: _Scale
) -> tuple[float, float, str] | None:
    """Return where in one of ``Shapes`` its label has room, near its middle, but not on the line of the bound; and the label."""
    message, wide, step, near, far, _ = shape
    room = wide * scale.step - _FONT / 72 * scale.step / scale.unit - 0.04
    middle, turn = (near + far) / 2, 1 if away else -1
    name = short_label(streams.schedule.network, message)
    for text in (f"{name}: {count_of(wide, 'flit')}", f"{name}: {wide}", name):
        half = len(text) * _LETTER * _FONT / 2
        if 2 * half > room:
            continue
        for hop in sorted(range(near, far + 1), key=lambda hop: abs(hop - middle))[:9]:
            x = step + turn * (hop - near) + wide / 2
            if scale.bound is None or abs(x - scale.bound) * scale.step > half + 0.03:
                return x, hop - 0.5, text
    return None


def _draw_controls(axes: Any, controls: Controls, step: float, unit: float) -> dict[str, Any]:
    """Draw an arrow for each control flit, those on links at one distance in one step beside each other."""
    order = np.lexsort((controls.below, controls.kind, controls.step, controls.depth))
    at = np.column_stack([controls.depth, controls.step])[order]
    count = np.unique(at, axis=0, return_counts=True)[1]
    size = np.repeat(count, count)
    slot = 0.8 / size  # of the width of a step
    left = at[:, 1] + 0.1 + slot * places(count)
    size_in_points = 72 * min(step * (0.75 if size.max(initial=1) > 1 else 1), unit)
    head, line = max(1.2, min(4.5, 0.24 * size_in_points)), max(0.5, min(1.3, 0.07 * size_in_points))
    handles: dict[str, Any] = {}
    for kind in np.unique(controls.kind).tolist():
        mine = np.flatnonzero(controls.kind[order] == kind)
        x, y, far = left[mine] + 0.1 * slot[mine], at[mine, 0], np.where(size[mine] > 1, 0.5, 0.8) * slot[mine]
        up, ink = kind == CERTIFICATE, theme().of(_INK[kind])
        sign = "^" if up else "D" if kind == ORDER else "v"
        begin, end = (y - 0.15, y - 0.75) if up else (y - 0.85, y - 0.25)
        lines = np.stack([np.column_stack([x, begin]), np.column_stack([x + far, end])], axis=1)
        for width, under, gid in ((line + 1.2, theme().ground, None), (line, ink, f"controls-{kind}")):
            add_many(axes, "Line", lines, colors=under, linewidths=width, zorder=4, gid=gid)
        large = head * (0.85 if kind == ORDER else 1.15)
        look = {"markeredgecolor": theme().ground, "markeredgewidth": 0.4, "gid": f"heads-{kind}"}
        axes.plot(x + far, end, sign, color=ink, markersize=large, zorder=5, **look)
        name = f"{CONTROLS[kind]} ({'up' if up else 'down'})"
        handles[name] = entry(name, color=ink, marker=sign, linestyle="-", linewidth=1.2, markersize=5)
    return handles


def _draw_times(axes: Any, steps: int, bound: int | None) -> dict[str, Any]:
    """Draw the time and the lower bound as lines from top to bottom."""
    look: dict[str, Any] = {"color": theme().ink, "clip_on": False, "zorder": 7}
    words = "time = lower bound" if bound == steps else "time"
    handles = {f"{words}: {count_of(steps, 'step')}": axes.axvline(steps, linewidth=1.4, gid="time", **look)}
    if bound not in (None, steps):
        line = axes.axvline(bound, linestyle="--", linewidth=1.2, gid="bound", **look)
        handles[f"lower bound: {count_of(bound, 'step')}"] = line
    return handles


def _draw_frame(axes: Any, panel: _Panel, nulls: dict[int, str], scale: _Scale) -> None:
    """Draw the background: a line for each distance, a column for each step, and the texts beside them."""
    from matplotlib.ticker import MaxNLocator

    steps, wide, unit = scale.steps, scale.wide, scale.unit
    ink, thick = theme().grey if unit > 0.2 else theme().pale, 0.6 if unit > 0.05 else 0
    axes.hlines(range(panel.height + 1), 0, steps, color=ink, linewidth=thick, zorder=2)
    if wide / steps > 0.1:
        axes.vlines(range(steps + 1), 0, panel.height, color=theme().pale, linewidth=0.5, zorder=1)
        for s in range(1, steps, 2):
            axes.axvspan(s, s + 1, color=theme().band, linewidth=0, zorder=0)
    most = max(1, int(panel.height * unit / 0.2))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))
    axes.tick_params(axis="both", length=0, labelsize=8, labelcolor=theme().ink)
    every = max(1, -(-int(steps * (0.15 + 0.07 * len(f"{steps:,}"))) // int(wide)))
    every = next(n for n in (1, 2, 5, 10, 20, 50, *(10**k for k in range(2, 12))) if n >= every)
    # the number of a step stands amid its column
    axes.set_xticks([s + 0.5 for s in range(0, steps, every)], [f"{s:,}" for s in range(0, steps, every)])
    axes.yaxis.set_major_formatter("{x:,.0f}")
    for far, text in nulls.items():
        look = {"transform": axes.get_yaxis_transform(), "color": theme().grey, "ha": "left"}
        write(axes, (1 + 0.1 / wide, far), text, _FONT, **look)
