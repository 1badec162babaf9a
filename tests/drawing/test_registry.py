"""The registry of pictures: which picture is chosen for what, which media there are, and that a new file suffices."""

import doctest
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.drawing.on_page import on_page
from treecast.drawing import pictures, registry
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View, all_pictures, choose, listed_kinds, suffixes
from treecast.drawing.text import lanes_text, space_time_text, tree_text
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
from treecast.simulation.replay import simulate

KINDS = (
    "broadcast",
    "scatter",
    "gather",
    "reduce",
    "reduce-broadcast",
    "allgather",
    "alltoall",
    "reduce-scatter",
    "allreduce",
)
LENGTHS = [0, 2, 3, 1, 0, 4]


@cache
def trees():
    return plan("broadcast", "star:4", messages=6, copies=3)


@cache
def treeless():
    schedule = plan("broadcast", "mesh:4x4", model="wormhole", builder="bisection")
    assert schedule.trees == 0
    return schedule


@cache
def lengths():
    return plan("scatterv", "path:6", lengths=LENGTHS)


@pytest.mark.parametrize(
    ("make", "kind", "faults", "into_text", "into_file"),
    [
        (trees, None, None, "trees_text", "draw_trees"),
        (trees, "trees", Faults({3: 1}), "trees_text", "draw_trees"),
        (trees, "space-time", None, "run_text", "draw_run_on"),
        (treeless, None, None, "trees_text", "draw_trees"),
        (treeless, None, Faults({3: 1}), "trees_text", "draw_trees"),
        (treeless, "steps", None, None, "draw_steps"),
        (treeless, "sources", None, None, "draw_sources_of_schedule"),
        (lengths, "space-time", None, "messages_text", "draw_parallelograms"),
        (lengths, "space-time", Faults({3: 1}), "run_text", "draw_run_on"),
        (lambda: plan("broadcast", "path:1"), None, None, "run_text", "draw_run_on"),
    ],
)
def test_the_picture_that_is_chosen(make, kind, faults, into_text, into_file):
    schedule, view = make(), View(faults)
    for medium, name in (("text", into_text), ("svg", into_file), ("axes", into_file)):
        if name is None:
            with pytest.raises(
                TreecastError, match=r"cannot be drawn as text: write to a file that ends in \.svg, \.png"
            ):
                choose(schedule, medium, kind, view)
        else:
            assert choose(schedule, medium, kind, view).draw.__name__ == name


@pytest.mark.each(7)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", ["star:3", "hypercube:3", "mesh:3x2", "ring:5", "complete:4"])
def test_every_plan_has_a_picture_without_asking_for_its_kind(kind, spec, tmp_path):
    try:
        schedule = plan(kind, spec, messages=2)
    except TreecastError:
        pytest.skip("there is no such plan")
    assert draw(schedule).count("\n") >= 3
    draw(schedule, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_text_is_what_its_pictures_return(tmp_path):
    star, faults = trees(), Faults({3: 1})
    assert draw(star) == "\n\n".join(tree_text(star, tree) for tree in range(3))
    assert draw(star, tree=1, ascii=True) == tree_text(star, 1, True)
    assert draw(star, kind="space-time", faults=faults) == space_time_text(simulate(star, faults))
    assert draw(star, kind="space-time", tree=2) == space_time_text(simulate(star.tree(2)))
    assert draw(lengths(), kind="space-time", ascii=True) == lanes_text(lengths(), True)
    assert draw(star, tmp_path / "a.TXT", ascii=True) is None
    assert (tmp_path / "a.TXT").read_text() == draw(star, ascii=True) + "\n"


def test_no_faults_are_as_good_as_none():
    assert draw(lengths(), kind="space-time", faults=Faults()) == draw(lengths(), kind="space-time")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"kind": "map"}, "'map' is no kind of picture: write one of trees, space-time, network, steps, sources"),
        ({"tree": 7}, "the schedule has no tree 7; it has 0, 1, 2"),
        ({"kind": "steps"}, "kind steps: star:4 is neither mesh nor torus; draw trees, space-time"),
        ({"output": "a.svg", "kind": "steps"}, "kind steps: star:4 is neither mesh nor torus; draw trees, space-time"),
        ({"output": "a.svg", "kind": "sources"}, "no picture of kind sources: star:4 is no mesh; draw"),
        ({"output": "a.bmp"}, r"'a.bmp' is no picture: its name must end in \.svg, \.png, \.pdf, \.gif, /, \.html, \.txt"),
        ({"output": ".svg"}, "is no picture"),
        ({"output": "a.svg", "ax": object()}, "into a file or into axes"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(wrong, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TreecastError, match=why) as caught:
        draw(trees(), **wrong)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_has_no_picture():
    with pytest.raises(TreecastError, match="there is no picture of a list"):
        draw([1, 2])
    with pytest.raises(
        TreecastError, match="there is no picture of kind trees: the schedule uses no trees; draw space-time"
    ):
        draw(plan("alltoall", "ring:4"), kind="trees")


# --- into axes ---


# --- entries ---


def test_kinds_are_listed_without_importing_anything_heavy():
    code = (
        "import sys; from treecast.drawing.registry import listed_kinds\n"
        "print(list(listed_kinds()), [m for m in ('numpy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "['trees', 'space-time', 'network', 'steps', 'sources', 'explorer'] []\n"


@pytest.mark.parametrize("of", ["Schedule", "Mesh", "Paths", "CubeProblem"])
def test_what_is_listed_is_what_is_registered(of):
    assert listed_kinds(of) == {entry.kind: entry.summary for entry in all_pictures() if entry.of.__name__ == of}
    assert listed_kinds(of)


def test_what_cannot_be_a_file_has_no_suffix():
    assert suffixes() == (".svg", ".png", ".pdf", ".gif", "/", ".html", ".txt")


def test_a_new_file_is_all_that_a_picture_needs(tmp_path):
    (tmp_path / "page.py").write_text(
        "from treecast.drawing.registry import picture\n"
        "from treecast.schedule import Schedule\n"
        "@picture('page', of=Schedule, into=('htm',), summary='how many rows', rank=90)\n"
        "def page(schedule, view):\n    return f'<p>{len(schedule)} rows</p>'\n"
    )
    path = str(tmp_path / "a.htm")
    code = (
        f"import treecast, treecast.drawing as d; d.__path__.append({str(tmp_path)!r})\n"
        "from treecast.drawing.registry import listed_kinds\n"
        f"treecast.draw(treecast.plan('broadcast', 'ring:4'), {path!r})\n"
        f"print(open({path!r}).read(), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "<p>3 rows</p>\n"


@pytest.mark.parametrize("module", [pictures, registry])
def test_examples_run(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.slow
def test_too_many_arcs_for_trees_are_drawn_as_a_run_by_default():
    schedule = plan("broadcast", "star:8", messages=7)
    assert choose(schedule, "text", None, View()).kind == "trees"
    assert choose(schedule, "png", None, View()).kind == "space-time"
    with pytest.raises(TreecastError, match="kind trees: trees of 282,233 arcs cannot be drawn"):
        choose(schedule, "png", "trees", View())


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
