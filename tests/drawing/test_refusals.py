"""Pictures that cannot be drawn say why; what has no room in one is counted below it."""

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast.drawing.pictures import save
from treecast.drawing.places import layout_of
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.plans import plan


@pytest.mark.parametrize(
    ("schedule", "kind", "says"),
    [
        (("broadcast", "mesh:2x2x2x2", {"model": "wormhole"}), "steps", "has more than 3 axes"),
        (("broadcast", "complete:150", {}), "network", "has 22,350 arcs, more than 20,000"),
    ],
)
def test_refused(tmp_path, schedule, kind, says):
    collective, where, how = schedule
    with pytest.raises(TreecastError, match=says):
        treecast.draw(plan(collective, where, **how), tmp_path / "x.svg", kind=kind)


def test_figures_are_files_of_figures(tmp_path):
    with pytest.raises(TreecastError, match=r"is no picture: its name must end in \.svg, \.png, \.pdf"):
        save(None, tmp_path / "x.txt")


def test_nodes_beyond_the_last_line_are_counted():
    lengths = [0] + [1, 0] * 25
    text = treecast.draw(plan("scatterv", "path:51", lengths=lengths), kind="space-time")
    assert text.splitlines()[-1] == "left out: the last 11 nodes, of which 6 null"


def test_many_nodes_without_an_order_stand_on_a_circle():
    points, even = layout_of(network(nx.random_regular_graph(3, 702, seed=1)), 0)
    assert even
    assert np.allclose(np.hypot(*points.T), np.hypot(*points[0]))
