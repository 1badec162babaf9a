"""Charts: what was compared side by side (options, builders, networks), sweeps, losses, and times on the hypercube."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.advice.networks import Advice, Design
from treecast.description import count_of, describe, to_text
from treecast.drawing.registry import FIGURE, View, choose, picture
from treecast.drawing.style import (
    MARGIN,
    SUBTITLE,
    TITLE,
    add_panel,
    colour,
    draw_legend,
    entry,
    heading,
    name_axes,
    theme,
    write,
    write_below,
)
from treecast.lower_bounds import best, bounds
from treecast.plans.choice import Alternatives
from treecast.simulation.losses import Curves
from treecast.simulation.sweeps import Sweep
from treecast.units import spell_bytes

if TYPE_CHECKING:
    from treecast.simulation.losses import Interval

_WIDTH, _HEIGHT = 9.0, 5.6  # inches, as all that follow
_MARKS = "osD^vP"  # by the faults that an option survives: told apart without colours, too
_MOST_NAMED = 14  # options


@picture(
    "options", of=Advice, into=FIGURE, summary="time and degree of networks and plans, and which of them nothing beats"
)
def draw_options(advice: Advice, view: View) -> None:
    """Draw the options of an advice on a page: degree across, time upwards on a log axis."""
    figure: Any = view.page
    figure.set_size_inches(_WIDTH, _HEIGHT)
    shared = "" if advice.rate_per == "link" else "  ·  the links of a node share its rate"
    heading(
        figure,
        f"{advice.kind} of {spell_bytes(advice.amount.total)}: time by degree",
        f"{len(advice.options)} options  ·  full and named: nothing beats them in degree, time and faults survived{shared}",
    )
    axes = figure.add_axes((0.09, 0.11, 0.88, 0.72))
    survived = sorted({each.survives for each in advice.options})
    for place, faults in enumerate(survived):
        _draw(axes, [each for each in advice.options if each.survives == faults], place, faults)
    axes.set_yscale("log")
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
    axes.yaxis.set_major_formatter(_in_microseconds)
    axes.yaxis.set_minor_formatter("")
    degrees = sorted({each.degree for each in advice.options})
    axes.set_xlim(degrees[0] - 0.5, degrees[-1] + 0.25 * (degrees[-1] - degrees[0] + 2))  # names stand to the right
    name_axes(axes, "links of a node", "time in µs, by steps")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(True, which="major", color=theme().pale, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(
        frameon=False, fontsize=9, labelcolor=theme().ink, loc="upper right", handletextpad=0.2, borderaxespad=MARGIN
    )
    _name_front(axes, advice)


def _in_microseconds(seconds: float, place: int | None) -> str:
    return f"{seconds * 1e6:,.4g}"


def _draw(axes: Any, options: list[Design], place: int, faults: int) -> None:
    ink, mark = colour(place), _MARKS[place % len(_MARKS)]
    for front, face in ((False, "none"), (True, ink)):
        some = [each for each in options if each.front == front]
        if some:
            gid, label = f"survives-{faults}-{'front' if front else 'others'}", f"survives {faults}" if front else None
            look = {"markersize": 6, "markerfacecolor": face, "markeredgecolor": ink, "gid": gid, "label": label}
            axes.plot([each.degree for each in some], [each.seconds for each in some], mark, **look)


def _name_front(axes: Any, advice: Advice) -> None:
    """Write names beside options that nothing beats, one for each place in the picture."""
    named = dict[tuple[int, int, float], Design]()
    for each in advice.options:
        if each.front:
            # equal but for rounding is one place
            named.setdefault((each.survives, each.degree, round(each.seconds, 12)), each)
    for each in list(named.values())[:_MOST_NAMED]:
        look = {"offset": (7, -3), "ha": "left", "va": "baseline", "halo": 3}
        write(axes, (each.degree, each.seconds), each.network, 8, **look)


_WIDTH_OF_BARS, _LEFT, _ROW = 8.0, 2.3, 0.27
_LONGEST = 30  # letters of a name


class Bar(NamedTuple):
    """A bar: its name, its length, the least that it could have, and whether it is the one that is taken."""

    name: str
    value: int
    least: int | None
    chosen: bool = False


@picture("builders", of=Alternatives, into=FIGURE, summary="the steps of each builder, beside the lower bound")
def draw_alternatives(found: Alternatives, view: View) -> None:
    """Draw a bar for each builder that has a plan; that which is taken is filled."""
    job = found.job
    least = best(bounds(job.collective, job.network, job.copies, job.model, against=job.against), "steps").value
    able = [(each.builder, each.claims) for each in found.candidates if each.claims]
    bars = [Bar(builder.name, claims.steps, least, builder == found.chosen) for builder, claims in able]
    words = f"{found.chosen.name}: {found.why}  ·  {count_of(len(found.candidates) - len(bars), 'builder')} cannot"
    draw_bars(view.page, f"{job.collective.kind} on {job.network.spec}, by builder", words, {"steps": bars})


@picture("sweep", of=Sweep, into=FIGURE, summary="the network under the first set of faults that does harm")
def draw_sweep(found: Sweep, view: View) -> None:
    """Draw the schedule under the faults that left a node without something; without any where none did."""
    schedule, shown = found.schedule, replace(view, faults=found.counterexample)
    choose(schedule, "svg", "network", shown).draw(schedule, shown)
    verdict = "holds" if found.holds else f"{found.failing:,} of {count_of(found.sets, 'set')} do harm"
    words = " ".join(to_text({"": describe(found).lines["faults"]}).split())
    _retitle(
        view.page,
        {TITLE: f"Faults of {schedule.collective.kind} on {schedule.network.spec}: {verdict}", SUBTITLE: words},
    )


def _retitle(page: Any, said: dict[str, str]) -> None:
    for text in list(page.texts):
        if text.get_gid() in said:
            text.remove()
    heading(page, said[TITLE], said[SUBTITLE])


def draw_bars(figure: Any, title: str, more: str, panels: dict[str, list[Bar]]) -> None:
    """Draw panels of bars, one below the other."""
    high = [_ROW * len(bars) + 0.75 for bars in panels.values()]
    top = sum(high) + 0.5
    figure.set_size_inches(_WIDTH_OF_BARS, top + 0.75)
    heading(figure, title, more)
    for (name, bars), height in zip(panels.items(), high, strict=True):
        top -= height
        _panel(add_panel(figure, (_LEFT, top + 0.5), (_WIDTH_OF_BARS - _LEFT - 0.9, height - 0.75)), name, bars)
    handles = [entry("lower bound", color=theme().ink, marker="|", markersize=9)]
    handles += (
        [entry("taken", color=colour(0), linewidth=5)]
        if any(b.chosen for bars in panels.values() for b in bars)
        else []
    )
    draw_legend(figure, handles, bottom=0.06, column=2.0)


def _panel(axes: Any, name: str, bars: Sequence[Bar]) -> None:
    most = max((bar.value for bar in bars), default=1)
    plain = not any(bar.chosen for bar in bars)
    for place, bar in enumerate(bars):
        ink = colour(0) if bar.chosen or plain else colour(0, -0.6)
        axes.barh([place], [bar.value], height=0.68, color=ink, zorder=2, gid=f"bar-{place}")
        write(axes, (bar.value, place), f"  {bar.value:,}", 8, ha="left")
        if bar.least is not None:
            axes.plot([bar.least] * 2, [place - 0.42, place + 0.42], color=theme().ink, linewidth=1.6, zorder=3)
    axes.set(xlim=(0, most * 1.08), ylim=(len(bars) - 0.4, -0.6))  # the first on top
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels([bar.name if len(bar.name) <= _LONGEST else bar.name[: _LONGEST - 1] + "…" for bar in bars])
    name_axes(axes, name, "")


_WIDTH_OF_LOSSES, _HEIGHT_OF_LOSSES = 8.0, 5.6
_LEAST = 1e-16  # the smallest probability on the axis
_NARROW = 1.02  # a band whose ends are so near cannot be seen


@picture("losses", of=Curves, into=FIGURE, summary="the probability of a loss by that of a fault")
def draw_losses(curves: Curves, view: View) -> None:
    """Draw a curve for each schedule, in a band between the ends of its interval."""
    figure, groups = view.page, curves.found[0].elements.groups
    unit, factors = float(groups[0].probability[0]), curves.factors()
    figure.set_size_inches(_WIDTH_OF_LOSSES, _HEIGHT_OF_LOSSES)
    heading(figure, "How likely a living node lacks something", _say_what_fails(curves))
    axes = add_panel(figure, (0.9, 0.95), (_WIDTH_OF_LOSSES - 2.6, _HEIGHT_OF_LOSSES - 1.85))
    ends, bands = [unit], False
    for place, one in enumerate(curves.found):
        losses = {unit * factor: loss for factor, loss in curves.losses(place).items() if loss.estimate > _LEAST}
        if losses:
            _draw_one(axes, place, losses)
            if (given := one.loss.estimate) > _LEAST:
                axes.plot([unit], [given], "o", color=colour(place), markersize=5, zorder=4, gid=f"given-{place}")
            ends.append(max(losses))
            bands |= any(loss.high > _NARROW * loss.low for loss in losses.values())
    axes.set(xscale="log", yscale="log", xlim=(unit * factors[0], max(ends)))
    if len(ends) > 1:
        lines = [value for line in axes.lines for value in line.get_ydata()]
        axes.set_ylim(min(lines) / 3, min(1.5, max(lines) * 3))  # room on either side
    axes.axvline(unit, color=theme().pale, linewidth=1, zorder=0)
    one = {"nodes": "a node", "links": "a link"}.get(groups[0].kind, "an arc")
    name_axes(axes, f"probability that {one} fails", "probability of a loss")
    axes.grid(visible=True, which="major", color=theme().pale, linewidth=0.4)
    _name_all(figure, curves, bands)


def _say_what_fails(curves: Curves) -> str:
    jobs = {f"{one.schedule.collective.kind} on {one.schedule.network.spec}" for one in curves.found}
    groups = curves.found[0].elements.groups
    given = ", ".join(f"{g.kind} {float(g.probability[0]):g}" for g in groups)
    others = "" if len(groups) == 1 else "; along the curves all in this proportion"
    return f"{jobs.pop() + '  ·  ' if len(jobs) == 1 else ''}circles: {given}{others}"


def _draw_one(axes: Any, place: int, losses: "dict[float, Interval]") -> None:
    ink, across = colour(place), list(losses)
    up = [loss.estimate for loss in losses.values()]
    axes.plot(across, up, color=ink, linewidth=1.8, zorder=3, gid=f"loss-{place}")
    low, high = [max(_LEAST, loss.low) for loss in losses.values()], [loss.high for loss in losses.values()]
    axes.fill_between(across, low, high, color=ink, alpha=0.2, linewidth=0, zorder=2, gid=f"interval-{place}")


def _name_all(figure: Any, curves: Curves, bands: bool) -> None:
    """Write beside the picture which curve is whose, its copies, its loss as given, and its slope."""
    lines = list[Any]()
    for place, (name, one) in enumerate(zip(curves.names, curves.found, strict=True)):
        words = f"{name}\nx = {one.schedule.copies}: {one.loss.estimate:.3g}"
        words += "" if one.fewest is None else f"\nslope {one.fewest}"
        lines.append(entry(words, color=colour(place), linewidth=3))
    look: dict[str, Any] = {"loc": "upper left", "frameon": False, "labelspacing": 1.0, "labelcolor": theme().ink}
    place = (_WIDTH_OF_LOSSES - 1.6) / _WIDTH_OF_LOSSES, 1 - 0.85 / _HEIGHT_OF_LOSSES
    figure.legend(handles=lines, bbox_to_anchor=place, fontsize=8, borderaxespad=0, **look)
    if bands:
        words = "bands: between the ends of the intervals; a curve ends where too little is known of so many faults"
        write_below(figure, 0.18, words, 7.5, va="bottom")
