"""Pictures and tables of what was compared, places that people give, and letters that can be read."""

import io

import networkx as nx
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import treecast
from treecast.drawing.look import drawn_on
from treecast.drawing.places import layout_of
from treecast.drawing.registry import View, choose
from treecast.errors import TreecastError
from treecast.files import formats


def drawn(subject, kind=None, size=None):
    """Return the page of a picture."""
    entry = choose(subject, "svg", kind, View())
    look = treecast.Look(size=size)
    return drawn_on(lambda page: entry.draw(subject, View(page=page)), look)


def words(page):
    return [text.get_text() for text in page.figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def test_bars_are_as_long_as_the_table_says():
    found = treecast.alternatives("allgather", "torus:3x3", messages=2)
    page = drawn(found)
    able = [each for each in found.candidates if each.claims]
    assert [bar.get_width() for bar in page.axes[0].patches] == [each.claims.steps for each in able]
    assert "taken" in words(page)
    networks = ["star:4", "hypercube:4"]
    compared = treecast.compare(networks, survive=1)
    panels = drawn(compared).axes
    bars = [bar.get_width() for axes in panels for bar in axes.patches]
    assert bars == [entry.steps for entry in compared.entries]


@pytest.mark.parametrize("most", [1, 2])
def test_a_sweep_shows_its_faults(most):
    found = treecast.sweep(treecast.plan("broadcast", "star:4", messages=6, survive=1), most)
    page = drawn(found)
    assert ("dies" in words(page)) == (most == 2)
    titles = [text for text in page.texts if text.get_gid() == "title"]
    assert len(titles) == 1
    assert titles[0].get_text().endswith("holds" if found.holds else "of 277 sets do harm")


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    found = treecast.alternatives("broadcast", "torus:3x3")
    assert found.to_pandas()["name"].tolist() == [each.builder.name for each in found.candidates]
    compared = treecast.compare(["star:4", "hypercube:4"], collective="broadcast").to_pandas()
    assert compared["network"].tolist() == ["star:4", "hypercube:4"]
    schedule = treecast.plan("broadcast", "ring:5")
    rows = pandas.concat([treecast.sweep(schedule, most).to_pandas() for most in (0, 1)])
    assert rows["sets"].tolist() == [1, 5]  # the root does not fail


def test_a_prompt_shows_results_in_a_line():
    assert repr(treecast.compare(["ring:4", "ring:5"], collective="broadcast")) == "<Comparison of ring:4, ring:5>"
    assert "<table>" in treecast.alternatives("broadcast", "ring:4")._repr_html_()


@pytest.mark.parametrize("spelled", ["pos", "x", "map"])
def test_nodes_stand_where_people_put_them(tmp_path, spelled):
    graph = nx.random_geometric_graph(12, 0.6, seed=1)
    at = nx.get_node_attributes(graph, "pos")
    if spelled != "pos":
        names = ("x", "y") if spelled == "x" else ("Longitude", "Latitude")
        for node, (x, y) in at.items():
            graph.nodes[node].clear()
            graph.nodes[node].update(dict(zip(names, (x, y), strict=True)))
    wanted = np.array([at[node] for node in graph]) * (1, 1 if spelled == "x" else -1)
    np.testing.assert_allclose(layout_of(treecast.network(graph), 0).points, wanted)
    for node in graph if spelled == "pos" else ():
        graph.nodes[node]["pos"] = "{},{}!".format(*at[node])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    np.testing.assert_allclose(layout_of(treecast.network(tmp_path / "g.graphml"), 0).points, wanted)
    for edge in graph.edges:
        graph.edges[edge]["rate"] = "10Gbit/s"
    nx.write_graphml(graph, tmp_path / "rated.graphml")
    np.testing.assert_allclose(layout_of(treecast.network(tmp_path / "rated.graphml"), 0).points, wanted)


def test_nodes_named_by_coordinates_stand_on_a_grid():
    graph = nx.grid_2d_graph(3, 4)
    graph.remove_node((1, 1))
    where = treecast.network(graph)
    points = layout_of(where, 0).points
    np.testing.assert_array_equal(
        points[:, ::-1], [[int(part) for part in label.split(",")] for label in where.labels()]
    )


@pytest.mark.parametrize("kind", ["space-time", "network", "trees"])
@pytest.mark.parametrize("size", [(6, 4), (4, 5), (3.5, 3.5), (8, 8)])
def test_letters_of_a_size_can_be_read(kind, size):
    schedule = treecast.plan("broadcast", "torus:4x4x2", messages=8, survive=1)
    try:
        page = drawn(schedule, kind, size)
    except TreecastError as error:
        wide, high = str(error).split("it takes ")[1].split(" inches")[0].split("x")
        assert float(wide) > size[0] or float(high) > size[1]
        page = drawn(schedule, kind, (float(wide), float(high)))
    shown = [text for text in page.figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert min(text.get_fontsize() for text in shown) > 5.9
    assert any(label in words(page) for label in schedule.network.labels())


def test_the_size_that_would_do_does(tmp_path):
    schedule = treecast.plan("broadcast", "torus:4x4x3", messages=8, survive=1)
    with pytest.raises(TreecastError, match=r"it takes \d+\.\dx\d+\.\d inches, or show less of it"):
        treecast.draw(schedule, tmp_path / "a.png", kind="space-time", figsize=(2, 2))
    treecast.draw(schedule, tmp_path / "a.png", kind="space-time", figsize=(6, 5))
    assert (tmp_path / "a.png").stat().st_size


def test_axes_of_ones_own_are_as_before():
    ax = Figure(figsize=(2, 2)).subplots()
    assert treecast.draw(treecast.plan("broadcast", "star:4"), ax=ax) is ax


def test_open_files_are_loaded():
    schedule = treecast.plan("broadcast", "star:4", messages=3)
    for data in (formats.encode(schedule), formats.encode(schedule, "binary")):
        assert treecast.load(io.BytesIO(data)) == schedule
    assert treecast.load(io.StringIO(formats.encode(schedule).decode())) == schedule
    with pytest.raises(TreecastError, match="'the open file' is no treecast file"):
        treecast.load(io.StringIO("x"))
