"""What all figures share: an empty figure, colours, titles, and how long texts may get. Sizes are in inches."""

from typing import Any

import numpy as np

from treecast.description import count_of
from treecast.errors import TreecastError
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

DARK, GREY, PALE, BAND = "#222222", "#808080", "#D0D0D0", "#F3F3F3"
MONO = "DejaVu Sans Mono"
"""A family that comes with matplotlib, so that pictures look alike everywhere."""
MARGIN = 0.25

# Okabe & Ito's colours without black: people with any colour vision can tell them apart
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_LONGEST_LABEL = 16
_MOST_FAULTS = 5


def empty_figure() -> Any:
    """Return an empty matplotlib Figure that no global state knows of. Raises TreecastError where matplotlib is missing.

    Any: matplotlib's own types leave too much unknown for a strict check.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TreecastError("pictures need matplotlib: pip install 'treecast[plot]'") from None
    return Figure(facecolor="white")


def colour(tree: int, darker: float = 0.0) -> str:
    """Return the colour of a tree, mixed with black (0 … 1) or with white (-1 … 0); from the eighth tree on, darker ones."""
    if tree < 0:
        return GREY
    base = np.array([int(_PALETTE[tree % len(_PALETTE)][i : i + 2], 16) for i in (1, 3, 5)], float)
    base *= 0.65 ** (tree // len(_PALETTE))
    mixed = base * (1 - darker) if darker >= 0 else base + (255 - base) * -darker
    return "#" + "".join(f"{int(c + 0.5):02X}" for c in mixed.tolist())


def shorten_label(label: str) -> str:
    """Return a label, its end cut off where it is too long for a picture."""
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def title(figure: Any, schedule: Schedule, faults: Faults, more: str = "") -> None:
    """Write at the top of a figure what it shows: collective and network, and below them M, copies, steps and faults."""
    collective, network = schedule.collective, schedule.network
    source = f" {collective.direction} {shorten_label(network.label(collective.root))}"
    if collective.all_source:
        source = f": the part of {shorten_label(network.label(0))}" if schedule.orbit else ""
    copies = "1 copy" if schedule.copies == 1 else f"{schedule.copies} copies"
    numbers = [f"M = {count_of(collective.messages, 'chunk')}", copies, count_of(schedule.steps, "step")]
    if collective.lengths is not None:
        some = int((collective.lengths.flits > 0).sum())
        null = collective.nodes - 1 - some
        told = f"{count_of(collective.lengths.total, 'flit')} in {count_of(some, 'message')}"
        numbers[:2] = [told + (f", {null} null" if null else ""), schedule.builder]
        numbers = [number for number in numbers if number]
    if faults:
        named = faults.describe(network)
        numbers.append(
            "faults: "
            + ", ".join(named[:_MOST_FAULTS])
            + ("" if len(named) <= _MOST_FAULTS else f" and {len(named) - _MOST_FAULTS} more")
        )
    width, height = figure.get_size_inches()
    spec = network.spec if len(network.spec) <= 40 else network.spec[:39] + "…"
    lines = (
        (f"{collective.kind} on {spec}{source}{more}", 0.28, 13, 0.0098, DARK, "bold"),
        ("  ·  ".join(numbers), 0.54, 9, 0.0085, GREY, "normal"),
    )
    for text, below, size, wide, ink, weight in lines:  # wide: inches that a character takes per point
        fitting = (width - 2 * MARGIN) / (wide * len(text))
        figure.text(
            MARGIN / width,
            1 - below / height,
            text,
            fontsize=min(size, fitting),
            weight=weight,
            color=ink,
            va="center",
            parse_math=False,
        )


def heading(figure: Any, text: str, more: str) -> None:
    """Write a heading at the top of a figure that shows no schedule, and more text below it in smaller letters."""
    width, height = figure.get_size_inches()
    lines = (text, 0.28, 13, DARK, "bold"), (more, 0.54, 9, GREY, "normal")
    for line, below, size, ink, weight in lines:
        look: dict[str, Any] = {"fontsize": size, "color": ink, "weight": weight, "va": "center", "parse_math": False}
        figure.text(MARGIN / width, 1 - below / height, line, **look)
