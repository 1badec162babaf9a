"""Charts of networks beside one another, and of times on the hypercube."""

from fractions import Fraction
from math import ceil, log10
from typing import Any

from treecast.description import count_of
from treecast.drawing.figures.charts import Bar, draw_bars
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import add_panel, colour, draw_legend, entry, heading, name_axes, theme, write
from treecast.papers.compare import Comparison
from treecast.papers.hypercube.times import MODELS, SCHEMES, CubeProblem, crossings, fastest, timings


@picture(
    "comparison", of=Comparison, into=FIGURE, summary="the steps of collectives on each network, beside lower bounds"
)
def draw_comparison(found: Comparison, view: View) -> None:
    """Draw a panel for each collective, with a bar for each network."""
    panels = dict[str, list[Bar]]()
    for each in found.entries:
        name = each.collective + (f", {each.copies} copies" if each.copies > 1 else "")
        if each.steps is not None:
            panels.setdefault(f"{name}: steps", []).append(Bar(each.network, each.steps, each.steps_lower_bound))
    sizes = "  ·  ".join(f"{each.network} has {count_of(each.nodes, 'node')}" for each in found.figures)
    draw_bars(view.page, "Networks beside one another", sizes, panels)


_WIDTH_OF_TIMES, _HEIGHT_OF_TIMES, _PANEL = 10.5, 8.1, 4.3
_MOST_DIMENSIONS = 16  # of a map
_POINTS = 121  # of a curve


@picture("times", of=CubeProblem, into=FIGURE, summary="the times of the schemes on a hypercube, under each model")
def draw_times(job: CubeProblem, view: View) -> None:
    """Draw the schemes' times, by their closed forms, a column per model, whatever that of the job.

    Above: each scheme's time over that of the fastest, by r = Fτ/β; the paper's claims dashed, crossovers marked, and a line
    where the job's own r lies. Below: the fastest scheme by k and d, d from 1 up to 16 at most.
    Raises PlanError when there is no such job.
    """
    figure, jobs = view.page, [job._replace(model=model) for model in MODELS]
    found = {timing.scheme for each in jobs for timing in timings(each, measure=False)}
    figure.set_size_inches(_WIDTH_OF_TIMES, _HEIGHT_OF_TIMES)
    declared = "declared fault-free" if job.fault_free else "not declared fault-free"
    faults = f"k = {job.k} of at most {job.d - 1} faults to survive"
    more = f"{faults}  ·  {declared}  ·  times when nothing fails"
    heading(figure, f"{job.collective} on hypercube:{job.d}: a β + b Fτ", more)
    for column, each in enumerate(jobs):
        left = 0.75 + column * 5.1
        _draw_curves(add_panel(figure, (left, 4.3), (_PANEL, 2.65)), each)
        _draw_map(add_panel(figure, (left, 1.15), (_PANEL, 2.25)), each)
    _legend(figure, [name for name in SCHEMES if name in found])


def _plain(axes: Any, heading: str, across: str, up: str) -> None:
    axes.set_title(heading, fontsize=10, color=theme().ink, loc="left")
    name_axes(axes, across, up)


def _draw_curves(axes: Any, job: CubeProblem) -> None:
    """Draw each scheme's time over the least of all closed forms, by r on a log axis."""
    # 1. Ratios at which times are asked: exact fractions, evenly spread on a log axis.
    low, high = -1 - ceil(log10(1 << job.d)), 1
    exponents = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]
    axis = [Fraction(10**e).limit_denominator(10**15) for e in exponents]
    times = timings(job, measure=False)
    closed = [(t.scheme, t.closed) for t in times]
    least = [min(time.units(r) for _, time in closed) for r in axis]
    # 2. A curve for each scheme, over the fastest. Later ones are thinner and lie above, so that none hides another.
    for t in times:
        place = SCHEMES.index(t.scheme)
        for name, time, look in (
            ("claimed", t.claimed, {"linewidth": 1.1, "linestyle": "--", "zorder": 2}),
            ("closed", t.closed, {"linewidth": max(0.8, 3.2 - 0.6 * place), "zorder": 3 + place}),
        ):
            if time is not None:
                ratio = [float(time.units(r) / base) for r, base in zip(axis, least, strict=True)]
                gid = f"{name}-{job.model}-{t.scheme}"
                axes.plot([float(r) for r in axis], ratio, color=colour(place), gid=gid, **look)
    # 3. Where curves cross, with names that do not cover one another.
    found = crossings(closed)
    labelled = set[Fraction]()
    for crossing in found:
        if crossing.r is not None:
            time = next(time for name, time in closed if name == crossing.first)
            height = float(time.units(crossing.r) / min(other.units(crossing.r) for _, other in closed))
            axes.plot([float(crossing.r)], [height], "o", color=theme().ink, markersize=5, zorder=9, gid="crossing")
            if crossing.r in labelled:
                continue
            labelled.add(crossing.r)
            near = [c.r for c in found if c.r not in (None, crossing.r) and 1 / 5 < c.r / crossing.r < 5]
            offset, ha = (0, 11), "center"
            if near and not min(near) < crossing.r < max(near):  # beside the mark, away from its neighbours
                offset, ha = ((9, -3), "left") if crossing.r > min(near) else ((-9, -3), "right")
            at = float(crossing.r), height
            write(axes, at, f"r = {crossing.r}", 8, offset=offset, ha=ha, va="baseline", zorder=9, halo=3)
    # 4. Axes with room for all that.
    axes.set_xscale("log")
    axes.set_xlim(min(10.0**low, job.r or 1), max(10.0**high, job.r or 1))
    ratios = [height for line in axes.lines for height in line.get_ydata()]
    bottom, top = min(*ratios, 1.0), max(*ratios, 1.1)
    axes.set_ylim(bottom - 0.06 * (top - bottom), top + 0.12 * (top - bottom))
    axes.axhline(1, color=theme().band, linewidth=1, zorder=0)
    if job.r:
        _mark_own_ratio(axes, job.r, job.model)
    _plain(axes, job.model, "r = Fτ/β (short messages left, long ones right)", "time over the fastest scheme's")


def _mark_own_ratio(axes: Any, r: float, model: str) -> None:
    """Draw a line where one's own machine lies."""
    axes.axvline(r, color=theme().ink, linestyle=":", linewidth=1.2, zorder=8, gid=f"yours-{model}")
    look = {"transform": axes.get_xaxis_transform(), "va": "top", "ha": "left" if r < 1 else "right"}
    write(axes, (r, 0.98), f" yours: r = {r:.3g}", 8, **look)


def _draw_map(axes: Any, job: CubeProblem) -> None:
    """Draw a square for each d and k in the colour of the scheme that is fastest; two colours where two are."""
    from matplotlib.patches import Rectangle

    most, depends = min(job.d, _MOST_DIMENSIONS), False
    for d in range(1, most + 1):
        for k in range(d):
            intervals = fastest([(t.scheme, t.closed) for t in timings(job._replace(d=d, k=k), measure=False)])
            depends |= len(intervals) > 1
            names = intervals[-1][1]
            for i, name in enumerate(names):
                wide, ink = 0.84 / len(names), colour(SCHEMES.index(name))
                corner, gid = (k - 0.42 + i * wide, d - 0.42), f"fastest-{d}-{k}-{name}"
                axes.add_patch(Rectangle(corner, wide, 0.84, linewidth=0, facecolor=ink, gid=gid))
    axes.set(xlim=(-0.6, most - 0.4), ylim=(most + 0.6, 0.4))
    every = 1 if most <= 10 else 2
    axes.set_xticks(range(0, most, every))
    axes.set_yticks(range(1, most + 1, every))
    when = "for long messages" if depends else "the same for every r"
    _plain(axes, f"fastest scheme, {when}", "k, faults to survive", "d")


def _legend(figure: Any, schemes: list[str]) -> None:
    lines = [entry(name, color=colour(SCHEMES.index(name)), linewidth=3) for name in schemes]
    lines.append(entry("as the paper claims", color=theme().grey, linewidth=1.1, linestyle="--"))
    lines.append(entry("crossover", color=theme().ink, marker="o", markersize=5))
    draw_legend(figure, lines, bottom=0.04, column=1, ncols=-(-len(lines) // 2), fontsize=9)
