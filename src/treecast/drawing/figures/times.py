"""The picture of times on the hypercube: the schemes beside the fastest one as messages grow, and who is fastest where."""

from fractions import Fraction
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import colour, draw_legend, empty_figure, heading, name_axes
from treecast.drawing.theme import theme
from treecast.papers.hypercube.times import MODELS, SCHEMES, Job, crossings, fastest, timings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT, _PANEL = 10.5, 8.1, 4.3
_MOST_DIMENSIONS = 16  # of a map
_POINTS = 121


@picture("times", of=Job, into=FIGURE, what="the times of the schemes on a hypercube, under each model")
def draw_times_on(job: Job, view: View) -> None:
    """Draw the times of a job under each model on a page."""
    draw_times(job.collective, job.d, job.k, job.fault_free, view.page, r=job.r)


def draw_times(
    collective: str, d: int, k: int | None = None, fault_free: bool = False, page: Any = None, *, r: float | None = None
) -> "Figure":
    """Return a figure of the schemes' times, by their closed forms, a column per model.

    Above: each scheme's time over that of the fastest, by r = Fτ/β, on hypercube:d with ``k`` faults to survive (default
    d - 1); the paper's claims dashed, crossovers marked. Below: the fastest scheme by k and d, d from 1 up to 16 at most.
    ``page``: the page to draw on instead of a new figure. ``r``: where somebody's machine and messages lie, a line.
    Raises PlanError when there is no such job.
    """
    k = d - 1 if k is None else k
    jobs = [Job(collective, model, d, k, fault_free, r) for model in MODELS]
    found = [timings(job, measure=False) for job in jobs]
    figure = empty_figure() if page is None else page
    figure.set_size_inches(_WIDTH, _HEIGHT)
    schemes = [name for name in SCHEMES if any(t.scheme == name for timings_of in found for t in timings_of)]
    heading(
        figure,
        f"{collective} on hypercube:{d}: a β + b Fτ",
        f"k = {k} of at most {d - 1} faults to survive  ·  "
        f"{'declared fault-free' if fault_free else 'not declared fault-free'}  ·  times when nothing fails",
    )
    for column, job in enumerate(jobs):
        left = 0.75 + column * 5.1
        _draw_curves(_axes(figure, left, 4.3, _PANEL, 2.65), job)
        _draw_map(_axes(figure, left, 1.15, _PANEL, 2.25), job)
    _legend(figure, schemes)
    return figure


def _axes(figure: Any, left: float, below: float, width: float, height: float) -> Any:
    return figure.add_axes((left / _WIDTH, below / _HEIGHT, width / _WIDTH, height / _HEIGHT))


def _plain(axes: Any, heading: str, across: str, up: str) -> None:
    axes.set_title(heading, fontsize=10, color=theme().ink, loc="left")
    name_axes(axes, across, up)


def _draw_curves(axes: Any, job: Job) -> None:
    """Draw each scheme's time over the least of all closed forms, by r on a log axis."""
    from matplotlib.patheffects import withStroke

    low, high = -1 - ceil(log10(1 << job.d)), 1
    exponents = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]
    axis = [Fraction(10**e).limit_denominator(10**15) for e in exponents]
    found = timings(job, measure=False)
    closed = [(t.scheme, t.closed) for t in found]
    least = [min(time.units(r) for _, time in closed) for r in axis]
    for t in found:
        ink, place = colour(SCHEMES.index(t.scheme)), SCHEMES.index(t.scheme)
        if t.claimed is not None:
            ratio = [float(t.claimed.units(r) / base) for r, base in zip(axis, least, strict=True)]
            axes.plot(
                [float(r) for r in axis],
                ratio,
                color=ink,
                linewidth=1.1,
                linestyle="--",
                gid=f"claimed-{job.model}-{t.scheme}",
                zorder=2,
            )
        ratio = [float(t.closed.units(r) / base) for r, base in zip(axis, least, strict=True)]
        axes.plot(
            [float(r) for r in axis],
            ratio,
            color=ink,
            linewidth=max(0.8, 3.2 - 0.6 * place),
            zorder=3 + place,
            gid=f"closed-{job.model}-{t.scheme}",
        )
    labelled = set[Fraction]()
    for crossing in crossings(closed):
        if crossing.r is not None:
            time = next(time for name, time in closed if name == crossing.first)
            height = float(time.units(crossing.r) / min(other.units(crossing.r) for _, other in closed))
            axes.plot([float(crossing.r)], [height], "o", color=theme().ink, markersize=5, zorder=9, gid="crossing")
            if crossing.r in labelled:
                continue
            labelled.add(crossing.r)
            axes.annotate(
                f"r = {crossing.r}",
                (float(crossing.r), height),
                (0, 11),
                textcoords="offset points",
                fontsize=8,
                color=theme().ink,
                ha="center",
                zorder=9,
                path_effects=[withStroke(linewidth=3, foreground=theme().ground)],
            )
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
    look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "fontsize": 8, "color": theme().ink, "va": "top"}
    axes.text(r, 0.98, f" yours: r = {r:.3g}", ha="left" if r < 1 else "right", **look)


def _draw_map(axes: Any, job: Job) -> None:
    """Draw a square for each d and k in the colour of the scheme that is fastest; two colours where two are."""
    from matplotlib.patches import Rectangle

    most, depends = min(job.d, _MOST_DIMENSIONS), False
    for d in range(1, most + 1):
        for k in range(d):
            intervals = fastest([(t.scheme, t.closed) for t in timings(job._replace(d=d, k=k), measure=False)])
            depends |= len(intervals) > 1
            names = intervals[-1][1]
            for i, name in enumerate(names):
                wide = 0.84 / len(names)
                axes.add_patch(
                    Rectangle(
                        (k - 0.42 + i * wide, d - 0.42),
                        wide,
                        0.84,
                        linewidth=0,
                        facecolor=colour(SCHEMES.index(name)),
                        gid=f"fastest-{d}-{k}-{name}",
                    )
                )
    axes.set(xlim=(-0.6, most - 0.4), ylim=(most + 0.6, 0.4))
    every = 1 if most <= 10 else 2
    axes.set_xticks(range(0, most, every))
    axes.set_yticks(range(1, most + 1, every))
    when = "for long messages" if depends else "the same for every r"
    _plain(axes, f"fastest scheme, {when}", "k, faults to survive", "d")


def _legend(figure: Any, schemes: list[str]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour(SCHEMES.index(name)), linewidth=3, label=name) for name in schemes]
    lines.append(Line2D([], [], color=theme().grey, linewidth=1.1, linestyle="--", label="as the paper claims"))
    lines.append(Line2D([], [], color=theme().ink, marker="o", markersize=5, linewidth=0, label="crossover"))
    draw_legend(figure, lines, bottom=0.04, column=1, ncols=-(-len(lines) // 2), fontsize=9)
