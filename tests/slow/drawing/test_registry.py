"""The registry of pictures: which picture is chosen for what, which media there are, and that a new file suffices."""

from functools import cache

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.drawing.on_page import on_page
from tests.drawing.test_registry import lengths, treeless, trees
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View, choose
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.papers.figures.charts import draw_times
from treecast.papers.figures.mesh_sources import draw_sources
from treecast.papers.figures.mesh_steps import draw_steps
from treecast.papers.figures.paths import draw_paths
from treecast.papers.hypercube.times import CubeProblem
from treecast.papers.paths import node_disjoint_paths
from treecast.plans import plan
from treecast.simulation.faults import Faults


def test_too_many_arcs_for_trees_are_drawn_as_a_run_by_default():
    schedule = plan("broadcast", "star:8", messages=7)
    assert choose(schedule, "text", None, View()).kind == "trees"
    assert choose(schedule, "png", None, View()).kind == "space-time"
    with pytest.raises(TreecastError, match="kind trees: trees of 282,233 arcs cannot be drawn"):
        choose(schedule, "png", "trees", View())


def test_pictures_of_other_things(tmp_path):
    cube = network("hypercube:4")
    things = [
        node_disjoint_paths(cube, 14, 0, None),
        CubeProblem("broadcast", "shouting", 4, 3, False),
        network("mesh:3x5"),
    ]
    for thing in things:
        draw(thing, tmp_path / "a.svg")
        assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
        assert draw(thing).medium == "svg"
        for wrong in ({"tree": 0}, {"faults": Faults({1: 0})}):
            with pytest.raises(TreecastError, match="only pictures of schedules"):
                draw(thing, tmp_path / "a.svg", **wrong)


PICTURES = {
    "trees": (trees(), {"kind": "trees"}, lambda: on_page(draw_trees, trees())),
    "faults": (trees(), {"faults": Faults({3: 1})}, lambda: on_page(draw_trees, trees(), View(faults=Faults({3: 1})))),
    "space-time": (
        trees(),
        {"kind": "space-time"},
        lambda: on_page(draw_run_on, trees()),
    ),
    "raster": (
        plan("broadcast", "star:6", messages=9),
        {"kind": "space-time", "faults": Faults({9: 3})},
        lambda: on_page(draw_run_on, plan("broadcast", "star:6", messages=9), View(Faults({9: 3}))),
    ),
    "parallelograms": (
        lengths(),
        {"kind": "space-time"},
        lambda: on_page(draw_parallelograms, lengths()),
    ),
    "steps": (treeless(), {"kind": "steps"}, lambda: on_page(draw_steps, treeless())),
    "sources": (network("mesh:4x4"), {}, lambda: on_page(draw_sources, network("mesh:4x4"))),
    "large sources": (network("mesh:20x20"), {}, lambda: on_page(draw_sources, network("mesh:20x20"))),
    "paths": (
        node_disjoint_paths(network("hypercube:4"), 14, 0, None),
        {},
        lambda: on_page(draw_paths, node_disjoint_paths(network("hypercube:4"), 14, 0, None)),
    ),
    "times": (
        CubeProblem("broadcast", "shouting", 4, 3, False),
        {},
        lambda: on_page(draw_times, CubeProblem("broadcast", "shouting", 4, 3, False)),
    ),
}


def seen_texts(axes):
    legend = axes.get_legend()
    found = [*axes.texts, axes.title, axes._left_title, *(legend.get_texts() if legend else [])]
    if axes.axison:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]  # others are not drawn
            found += [axis.label, *(tick.label1 for tick in ticks)]
    return found + [text for inset in axes.child_axes for text in seen_texts(inset)]


def texts(figure):
    """Every text that is seen, and where, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    found += [text for axes in figure.axes for text in seen_texts(axes)]
    return sorted(
        (text.get_text(), *text.get_window_extent(renderer).extents)
        for text in found
        if text.get_text() and text.get_visible()
    )


@cache
def shown(name):
    """The size of a figure in inches, its pixels per inch, and its texts."""
    figure = PICTURES[name][2]()
    return tuple(figure.get_size_inches()), figure.dpi, texts(figure)


@pytest.mark.each(7)
@pytest.mark.parametrize("name", PICTURES)
def test_axes_as_large_as_the_figure_show_the_figure(name):
    what, more, _ = PICTURES[name]
    size, dpi, truth = shown(name)
    own = Figure(figsize=size, dpi=dpi)
    ax = own.add_axes((0, 0, 1, 1))
    assert draw(what, ax=ax, **more) is ax
    found = texts(own)
    for text in truth:
        near = [other for other in found if other[0] == text[0] and np.abs(np.subtract(other[1:], text[1:])).max() < 2]
        assert near, f"{text} is not at its place"


@pytest.mark.each(7)
@pytest.mark.parametrize("name", PICTURES)
def test_small_axes_show_it_small(name):
    what, more, _ = PICTURES[name]
    size, _, seen = shown(name)
    own = Figure(figsize=size)
    ax = own.add_axes((0.5, 0, 0.5, 1))  # half as wide: the picture is half as large
    ax.set_title("mine")
    draw(what, ax=ax, **more)
    truth = {text: x1 - x0 for text, x0, _, x1, _ in seen}
    left, bottom, right, top = ax.get_window_extent().extents
    compared = 0
    for text, x0, y0, x1, y1 in texts(own):
        if text != "mine":
            assert x0 >= left - 9  # small letters are relatively wider
            assert x1 <= right + 9
            assert y0 >= bottom - 2
            assert y1 <= top + 2
        if text in truth and len(text) >= 8:
            assert x1 - x0 == pytest.approx(truth[text] / 2, rel=0.12)
            compared += 1
    assert compared >= 1
