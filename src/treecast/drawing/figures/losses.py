"""The picture of losses: how likely each schedule leaves a living node without something, by how likely faults are."""

from typing import TYPE_CHECKING, Any

from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import add_panel, colour, entry, heading, name_axes, theme, write_below
from treecast.simulation.losses import Curves

if TYPE_CHECKING:
    from treecast.simulation.losses import Interval

_WIDTH, _HEIGHT = 8.0, 5.6
_LEAST = 1e-16  # the smallest probability on the axis
_NARROW = 1.02  # a band whose ends are so near cannot be seen


@picture("losses", of=Curves, into=FIGURE, summary="the probability of a loss by that of a fault")
def draw_losses(curves: Curves, view: View) -> None:
    """Draw a curve for each schedule, in a band between the ends of its interval."""
    figure, groups = view.page, curves.found[0].elements.groups
    unit, factors = float(groups[0].probability[0]), curves.factors()
    figure.set_size_inches(_WIDTH, _HEIGHT)
    heading(figure, "How likely a living node lacks something", _say_what_fails(curves))
    axes = add_panel(figure, (0.9, 0.95), (_WIDTH - 2.6, _HEIGHT - 1.85))
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
        axes.set_ylim(min(lines) / 3, min(1.5, max(lines) * 3))
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
    place = (_WIDTH - 1.6) / _WIDTH, 1 - 0.85 / _HEIGHT
    figure.legend(handles=lines, bbox_to_anchor=place, fontsize=8, borderaxespad=0, **look)
    if bands:
        words = "bands: between the ends of the intervals; a curve ends where too little is known of so many faults"
        write_below(figure, 0.18, words, 7.5, va="bottom")
