"""The picture of advice: how long each option takes, by the links that a node needs, and which of them nothing beats."""

from typing import Any

from treecast.advice.networks import Advice, Option
from treecast.drawing.registry import FIGURE, View, picture
from treecast.drawing.style import MARGIN, colour, heading, name_axes, theme, write
from treecast.units import spell_bytes

_WIDTH, _HEIGHT = 9.0, 5.6
_MARKS = "osD^vP"  # by the faults that an option survives: told apart without colours, too
_MOST_NAMED = 14


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


def _draw(axes: Any, options: list[Option], place: int, faults: int) -> None:
    ink, mark = colour(place), _MARKS[place % len(_MARKS)]
    for front, face in ((False, "none"), (True, ink)):
        some = [each for each in options if each.front == front]
        if some:
            gid, label = f"survives-{faults}-{'front' if front else 'others'}", f"survives {faults}" if front else None
            look = {"markersize": 6, "markerfacecolor": face, "markeredgecolor": ink, "gid": gid, "label": label}
            axes.plot([each.degree for each in some], [each.seconds for each in some], mark, **look)


def _name_front(axes: Any, advice: Advice) -> None:
    """Write names beside options that nothing beats, one for each place in the picture."""
    named = dict[tuple[int, int, float], Option]()
    for each in advice.options:
        if each.front:
            named.setdefault((each.survives, each.degree, round(each.seconds, 12)), each)
    for each in list(named.values())[:_MOST_NAMED]:
        look = {"offset": (7, -3), "ha": "left", "va": "baseline", "halo": 3}
        write(axes, (each.degree, each.seconds), each.network, 8, **look)
