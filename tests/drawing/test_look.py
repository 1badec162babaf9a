"""How figures look: dark and transparent grounds, sizes, titles, SVG whose text is text, and names that stay apart."""

import warnings
from itertools import combinations
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from PIL import Image

from treecast.drawing.dark import GROUND, on_dark
from treecast.drawing.figures.space_time import draw_space_time
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.letters import lend_letters
from treecast.drawing.look import Look, drawn_on, read_size
from treecast.drawing.pictures import draw
from treecast.drawing.style import DARK, GREY, PALE, colour, short_label
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.replay import simulate

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


def darkened(ink):
    return tuple(on_dark(np.array([to_rgba(ink)]))[0].tolist())


def test_dark_colours_can_be_seen_and_told_apart():
    assert to_rgb(darkened("white")) == pytest.approx(to_rgb(GROUND), abs=0.003)
    assert contrast(darkened(DARK), GROUND) > 7
    assert contrast(darkened(GREY), GROUND) > 4
    assert 1.2 < contrast(darkened(PALE), GROUND) < 3
    trees = [darkened(colour(tree)) for tree in range(14)]
    assert min(contrast(ink, GROUND) for ink in trees) > 4.5
    assert min(np.abs(np.subtract(a, b)).max() for a, b in combinations(trees, 2)) > 0.05


def test_a_dark_figure_has_no_dark_letters():
    schedule = s3()
    for drawing in (
        lambda page: draw_trees(schedule, page=page),
        lambda page: draw_space_time(simulate(schedule), page=page),
    ):
        figure = drawn_on(drawing, Look(dark=True))
        assert figure.get_facecolor()[:3] == pytest.approx(to_rgb(GROUND), abs=0.003)
        for text in figure.texts:
            assert contrast(text.get_color()[:3], GROUND) > 4, text.get_text()


@pytest.mark.parametrize(
    ("dark", "transparent", "corner"), [(0, 0, (255,) * 4), (1, 0, (24, 24, 24, 255)), (0, 1, None)]
)
def test_the_ground_of_a_file(tmp_path, dark, transparent, corner):
    draw(s3(), tmp_path / "one.png", look=Look(dark=bool(dark), transparent=bool(transparent)))
    with Image.open(tmp_path / "one.png") as image:
        found = image.convert("RGBA").getpixel((1, 1))
    assert found[3] == 0 if corner is None else np.abs(np.subtract(found, corner)).max() <= 1


def test_a_figure_has_the_size_asked_for(tmp_path):
    draw(s3(), tmp_path / "one.png", look=Look(size=(6, 4)))
    assert size_of(tmp_path / "one.png") == (900, 600)
    schedule = s3()
    wide, high = draw_trees(schedule).get_size_inches()
    page = drawn_on(lambda page: draw_trees(schedule, page=page), Look(size=(3, None)))
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
    assert root[1].text.startswith("what each node receives over which tree at which step; M = 3 chunks")
    written = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "Two deaths & <nobody> notices" in written
    assert {"123", "step", "tree 0", "complete"} <= set(written)


def test_a_long_title_shrinks():
    schedule = s3()
    figure = drawn_on(lambda page: draw_trees(schedule, page=page), Look(title="very long " * 20))
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
    figure = drawn_on(lambda page: draw_trees(plan("broadcast", graph), page=page), Look())
    with pytest.warns(UserWarning, match=r"no font here has the letters .*\U000e0e00"):
        lend_letters(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lend_letters(drawn_on(lambda page: draw_trees(s3(), page=page), Look()))
