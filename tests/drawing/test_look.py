"""How figures look: dark and transparent grounds, sizes, titles, SVG whose text is text, and names that stay apart."""

import warnings
from itertools import combinations
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from tests.drawing.on_page import on_page
from treecast.drawing.figures.network import draw_network
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.look import Look, drawn_on, read_size
from treecast.drawing.pictures import draw, lend_letters
from treecast.drawing.registry import View
from treecast.drawing.style import DARK, LIGHT, colour, drawing_in, letters_on, short_label
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.papers.figures.charts import draw_times
from treecast.papers.figures.mesh_steps import draw_steps
from treecast.papers.figures.paths import draw_paths
from treecast.papers.hypercube.times import MODELS, CubeProblem
from treecast.papers.paths import node_disjoint_paths
from treecast.plans import plan
from treecast.simulation.faults import parse_faults

SVG = "{http://www.w3.org/2000/svg}"


def s3():
    return plan("broadcast", "star:3", messages=3, copies=2)


def size_of(path):
    with Image.open(path) as found:
        return found.size


def luminance(ink):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(ink)]
    return float(np.dot(channels, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_dark_colours_can_be_seen_and_told_apart():
    assert DARK.ground == "#181818"
    assert contrast(DARK.ink, DARK.ground) > 7
    assert contrast(DARK.grey, DARK.ground) > 4
    assert 1.2 < contrast(DARK.pale, DARK.ground) < 3
    with drawing_in(DARK):
        trees = [colour(tree) for tree in range(14)]
    assert min(contrast(ink, DARK.ground) for ink in trees) > 4.5
    assert min(np.abs(np.subtract(to_rgb(a), to_rgb(b))).max() for a, b in combinations(trees, 2)) > 0.05


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_letters_can_be_read_on_any_fill(theme):
    with drawing_in(theme):
        fills = [colour(tree, darker) for tree in range(14) for darker in (0.0, -0.45, 0.35)]
    assert min(contrast(letters_on(fill), fill) for fill in fills) > 4.5


def test_a_figure_has_the_size_asked_for(tmp_path):
    draw(s3(), tmp_path / "one.png", look=Look(size=(6, 4)))
    assert size_of(tmp_path / "one.png") == (900, 600)
    schedule = s3()
    wide, high = on_page(draw_trees, schedule).get_size_inches()
    page = drawn_on(lambda page: draw_trees(schedule, View(page=page)), Look(size=(3, None)))
    assert page.figure.get_size_inches() == pytest.approx((3, 3 * high / wide))


@pytest.mark.parametrize(
    ("text", "size"), [("8x4.5", (8, 4.5)), ("8", (8, None)), ("25.4x50.8cm", (10, 20)), ("4X3in", (4, 3))]
)
def test_sizes_as_people_write_them(text, size):
    assert read_size(text) == pytest.approx(size)


@pytest.mark.parametrize("text", ["", "x4", "8x", "8by4", "-3x4", "0.1x4", "999"])
def test_sizes_that_are_none(text):
    with pytest.raises(TreecastError, match=r"no size|a picture is between"):
        read_size(text)


def test_a_title_of_ones_own_is_in_the_picture_and_in_the_file(tmp_path):
    draw(s3(), tmp_path / "one.svg", kind="space-time", look=Look(title="Two deaths & <nobody> notices"))
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    assert root.get("role") == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "Two deaths & <nobody> notices"
    assert root[1].text.startswith("the arrivals at each node, by tree and step; M = 3 chunks")
    written = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "Two deaths & <nobody> notices" in written
    assert {"123", "step", "tree 0", "complete"} <= set(written)


def test_a_long_title_shrinks():
    schedule = s3()
    figure = drawn_on(lambda page: draw_trees(schedule, View(page=page)), Look(title="very long " * 20))
    (title,) = (text for text in figure.texts if text.get_gid() == "title")
    assert title.get_fontsize() < 6


def test_looks_are_for_figures():
    assert draw(s3(), look=Look(dark=True)).medium == "svg"
    with pytest.raises(TreecastError, match="a text has no look of a figure"):
        draw(s3(), "plan.txt", look=Look(dark=True))
    with pytest.raises(TreecastError, match="a html has no look of a figure"):
        draw(s3(), "plan.html", look=Look(title="one"))
    with pytest.raises(TreecastError, match="axes have the size and the ground of their figure"):
        draw(s3(), ax=Figure().add_subplot(), look=Look(size=(3, 3)))


def test_long_names_stay_apart():
    names = [f"supercomputer-node-{i:04}" for i in range(12)]
    found = network(nx.path_graph(12))
    graph = nx.relabel_nodes(nx.path_graph(12), dict(enumerate(names)))
    short = [short_label(network(graph), u) for u in range(12)]
    assert len(set(short)) == 12
    assert max(map(len, short)) <= 16
    assert [short_label(found, u) for u in range(12)] == [str(u) for u in range(12)]
    alike = nx.relabel_nodes(nx.path_graph(9), {i: f"the-same-beginning-{i}-and-the-same-long-end" for i in range(9)})
    assert len({short_label(network(alike), u) for u in range(9)}) == 9


def test_letters_that_no_font_has_are_said():
    graph = nx.relabel_nodes(nx.path_graph(3), {0: "\U000e0e00", 1: "beijing", 2: "上"})
    figure = drawn_on(lambda page: draw_trees(plan("broadcast", graph), View(page=page)), Look())
    with pytest.warns(UserWarning, match=r"no font here has the letters .*\U000e0e00"):
        lend_letters(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lend_letters(drawn_on(lambda page: draw_trees(s3(), View(page=page)), Look()))


@pytest.mark.slow
def test_a_dark_figure_has_no_dark_letters():
    schedule, job = s3(), CubeProblem("allgather", MODELS[0], 3, 1)
    collect = plan("scatterv", "tree:3,2", lengths=3)
    for drawing in (
        lambda page: draw_trees(schedule, View(faults=parse_faults(schedule.network, ["213"]), page=page)),
        lambda page: draw_run_on(schedule, View(page=page)),
        lambda page: draw_network(schedule, View(page=page)),
        lambda page: draw_network(schedule, View(page=page, step=2)),
        lambda page: draw_parallelograms(collect, View(page=page)),
        lambda page: draw_paths(node_disjoint_paths(network("star:4"), 23), View(page=page)),
        lambda page: draw_steps(plan("broadcast", "mesh:4x4", model="wormhole"), View(page=page)),
        lambda page: draw_times(job, View(page=page)),
    ):
        figure = drawn_on(drawing, Look(dark=True))
        assert to_rgb(figure.get_facecolor()) == pytest.approx(to_rgb(DARK.ground))
        figure.canvas.draw()
        for text in figure.findobj(Text):
            box = text.get_bbox_patch()
            ground = DARK.ground if box is None else to_rgb(box.get_facecolor())
            if text.get_text() and text.get_visible() and text.zorder < 6:  # those above are on messages
                assert contrast(text.get_color(), ground) > 3.5, text.get_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dark", "transparent", "corner"), [(0, 0, (255,) * 4), (1, 0, (24, 24, 24, 255)), (0, 1, None)]
)
def test_the_ground_of_a_file(tmp_path, dark, transparent, corner):
    draw(s3(), tmp_path / "one.png", look=Look(dark=bool(dark), transparent=bool(transparent)))
    with Image.open(tmp_path / "one.png") as image:
        found = image.convert("RGBA").getpixel((1, 1))
    assert found[3] == 0 if corner is None else np.abs(np.subtract(found, corner)).max() <= 1
