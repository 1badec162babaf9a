"""Pictures of what was compared: builders beside one another, networks beside one another, and the worst of a sweep."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from treecast.description import count_of, describe, to_text
from treecast.drawing.registry import FIGURE, View, choose, picture
from treecast.drawing.style import (
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
)
from treecast.lower_bounds import best, bounds
from treecast.papers.compare import Comparison
from treecast.plans.choice import Alternatives
from treecast.simulation.sweeps import Sweep

_WIDTH, _LEFT, _ROW = 8.0, 2.3, 0.27
_LONGEST = 30  # letters of a name


class _Bar(NamedTuple):
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
    bars = [_Bar(builder.name, claims.steps, least, builder == found.chosen) for builder, claims in able]
    words = f"{found.chosen.name}: {found.why}  ·  {count_of(len(found.candidates) - len(bars), 'builder')} cannot"
    _draw(view.page, f"{job.collective.kind} on {job.network.spec}, by builder", words, {"steps": bars})


@picture(
    "comparison", of=Comparison, into=FIGURE, summary="the steps of collectives on each network, beside lower bounds"
)
def draw_comparison(found: Comparison, view: View) -> None:
    """Draw a panel for each collective, with a bar for each network."""
    panels = dict[str, list[_Bar]]()
    for each in found.entries:
        name = each.collective + (f", {each.copies} copies" if each.copies > 1 else "")
        if each.steps is not None:
            panels.setdefault(f"{name}: steps", []).append(_Bar(each.network, each.steps, each.steps_lower_bound))
    sizes = "  ·  ".join(f"{each.network} has {count_of(each.nodes, 'node')}" for each in found.figures)
    _draw(view.page, "Networks beside one another", sizes, panels)


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


def _draw(figure: Any, title: str, more: str, panels: dict[str, list[_Bar]]) -> None:
    """Draw panels of bars, one below the other."""
    high = [_ROW * len(bars) + 0.75 for bars in panels.values()]
    top = sum(high) + 0.5
    figure.set_size_inches(_WIDTH, top + 0.75)
    heading(figure, title, more)
    for (name, bars), height in zip(panels.items(), high, strict=True):
        top -= height
        _panel(add_panel(figure, (_LEFT, top + 0.5), (_WIDTH - _LEFT - 0.9, height - 0.75)), name, bars)
    handles = [entry("lower bound", color=theme().ink, marker="|", markersize=9)]
    handles += (
        [entry("taken", color=colour(0), linewidth=5)]
        if any(b.chosen for bars in panels.values() for b in bars)
        else []
    )
    draw_legend(figure, handles, bottom=0.06, column=2.0)


def _panel(axes: Any, name: str, bars: Sequence[_Bar]) -> None:
    most = max((bar.value for bar in bars), default=1)
    plain = not any(bar.chosen for bar in bars)
    for place, bar in enumerate(bars):
        ink = colour(0) if bar.chosen or plain else colour(0, -0.6)
        axes.barh([place], [bar.value], height=0.68, color=ink, zorder=2, gid=f"bar-{place}")
        write(axes, (bar.value, place), f"  {bar.value:,}", 8, ha="left")
        if bar.least is not None:
            axes.plot([bar.least] * 2, [place - 0.42, place + 0.42], color=theme().ink, linewidth=1.6, zorder=3)
    axes.set(xlim=(0, most * 1.08), ylim=(len(bars) - 0.4, -0.6))
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels([bar.name if len(bar.name) <= _LONGEST else bar.name[: _LONGEST - 1] + "…" for bar in bars])
    name_axes(axes, name, "")
