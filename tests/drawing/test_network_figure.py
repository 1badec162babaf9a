"""The picture of a network: where nodes stand, which arcs lie over which links, and what is crossed out."""

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tests.drawing.explorer.test_network_view import rails
from tests.drawing.on_page import check_room, on_page
from treecast.drawing.figures.network import draw_network, used_arcs
from treecast.drawing.figures.plan_view import PlanView, beside, links_of, points_on
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View
from treecast.drawing.shapes import centre_of
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.faults import Faults


def by_gid(figure, gid):
    (found,) = (artist for artist in figure.findobj() if artist.get_gid() == gid)
    return found


@pytest.mark.parametrize(
    "spec", ["star:4", "hypercube:4", "torus:4x4", "mesh:3x5", "complete:6", "fat-tree:4", "tree:3,2", "ring:9"]
)
def test_links_are_those_of_the_graph_and_nodes_stand_apart(spec):
    where = network(spec)
    view = PlanView.of(where, 0)
    drawn = nx.Graph(where.to_networkx())
    assert {tuple(link) for link in view.links.tolist()} == {tuple(sorted(link)) for link in drawn.edges}
    gaps = view.at[:, None] - view.at[None]
    apart = np.hypot(gaps[..., 0], gaps[..., 1]) + 9 * np.eye(where.nodes)
    assert apart.min() > 2 * view.radius
    assert max(view.size) <= 13.001


def test_layers_keep_numbers_together_unless_links_are_shorter_otherwise():
    where = network("fat-tree:4")
    at = PlanView.of(where, 0).at
    switches = [node for node in range(where.nodes) if where.label(node).startswith("aggregation")]
    assert sorted(switches, key=lambda node: at[node, 0]) == switches
    crossed: nx.Graph[Any] = nx.Graph([("a", "y"), ("b", "x"), ("x", "z"), ("y", "w"), ("z", "w")])
    for switch in "xyzw":
        crossed.nodes[switch]["relay"] = True
    tidy = network(crossed)
    column = dict(zip(tidy.labels(), PlanView.of(tidy, 0).at[:, 0].tolist(), strict=True))
    assert (column["a"] < column["b"]) == (column["y"] < column["x"]) == (column["w"] < column["z"])


def test_links_go_through_no_node():
    """On a ring of four in a line of the torus, the link round it is bent."""
    where = network("torus:4x4")
    view = PlanView.of(where, 0)
    round_ = {tuple(pair) for pair in links_of(where).tolist() if pair[1] - pair[0] in (3, 12)}
    assert set(view.bend) == round_


@pytest.mark.parametrize("spec", ["hypercube:6", "torus:4x4", "ring:9", "dragonfly:3,1"])
def test_all_that_is_drawn_lies_in_the_picture(spec):
    figure = on_page(draw_network, plan("broadcast", spec))
    (axes,) = figure.axes
    paths = by_gid(figure, "links").get_paths()
    lines = [line for path in paths for line in path.to_polygons(axes.transData, closed_only=False)]
    spots, box = np.concatenate(lines), axes.bbox
    assert box.x0 < spots[:, 0].min() < spots[:, 0].max() < box.x1
    assert box.y0 < spots[:, 1].min() < spots[:, 1].max() < box.y1


def test_each_tree_lies_over_its_links():
    schedule = plan("broadcast", "star:4", messages=6, copies=3)
    figure, view = on_page(draw_network, schedule), PlanView.of(schedule.network, 0)
    rows = schedule.rows
    for tree in range(3):
        mine = np.flatnonzero(rows.tree == tree)
        curves = [path.vertices for path in by_gid(figure, f"arcs-{tree}").get_paths()]
        found = Counter()
        for curve in curves:
            ends = [int(np.argmin(np.hypot(*(view.at - point).T))) for point in (curve[0], curve[-1])]
            found[tuple(ends)] += 1
        assert found == Counter(zip(rows.src[mine].tolist(), rows.dst[mine].tolist(), strict=True))
    styles = {
        (tuple(a.get_edgecolor()[0]), str(a.get_linestyle())) for a in (by_gid(figure, f"arcs-{t}") for t in range(3))
    }
    assert len(styles) == len({dash for _, dash in styles}) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["tree 0", "tree 1", "tree 2"]
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names == {schedule.network.label(u) for u in range(24)}


def test_arcs_over_one_link_lie_beside_one_another():
    found = beside(np.array([7, 3, 7, 7, 5]), 0.1)
    assert found.tolist() == pytest.approx([-0.1, 0, 0, 0.1, 0])


def test_wormhole_messages_go_by_their_routes():
    schedule = plan("broadcast", "mesh:4x4", model="wormhole")
    used = used_arcs(schedule)
    where = schedule.network
    _, arc = where.channels(schedule.rows.src.astype(int), schedule.rows.dst.astype(int))
    assert used.chunks.sum() == len(arc)
    assert all(int(v) in where.neighbors(int(u)) for u, v in zip(used.src, used.dst, strict=True))


def test_faults_are_crossed_out():
    schedule = plan("broadcast", "mesh:3x3")
    figure = on_page(draw_network, schedule, View(Faults({4: 0, 8: 99}, {(0, 0): 1})))
    view = PlanView.of(schedule.network, 0)
    assert by_gid(figure, "dead").get_offsets().tolist() == [view.at[4].tolist()]
    assert len(by_gid(figure, "cut").get_offsets()) == 1


@pytest.mark.parametrize(
    ("kind", "where", "options"),
    [
        ("allgather", "hypercube:3", {"model": "whispering"}),
        ("alltoall", "torus:3x3", {}),
        ("reduce", "star:3", {}),
        ("allreduce", "hypercube:3", {}),
        ("scatterv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1]}),
        ("broadcast", "path:1", {}),
        ("broadcast", "debruijn:2,3", {}),
    ],
)
def test_every_sort_of_schedule_has_one(kind, where, options, tmp_path):
    draw(plan(kind, where, **options), tmp_path / "a.svg", kind="network")
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_large_networks_have_dots():
    figure = on_page(draw_network, plan("broadcast", "star:6"))
    assert len(by_gid(figure, "nodes").get_offsets()) == 720
    assert "labels left out: no room" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_petersens_graph_is_a_pentagon_around_a_pentagram():
    at = PlanView.of(network("petersen"), 0).at
    points = (at - at.mean(axis=0)) @ np.array([1, 1j])
    far = np.abs(points)
    assert np.allclose(far[:5], far[0])
    assert np.allclose(far[5:], far[0] / 2)
    assert np.allclose(np.angle(points[:5]), np.angle(points[5:]))
    for u, v in network("petersen").to_networkx().edges:
        turn = abs(np.degrees(np.angle(points[v] / points[u])))
        assert turn == pytest.approx(0 if abs(u - v) == 5 else 72 if u < 5 else 144, abs=1e-6)


@pytest.mark.parametrize("spec", ["dragonfly:4,2", "dragonfly:4,2,2", "dragonfly:2,1", "dragonfly:3,1,3"])
def test_groups_of_a_dragonfly_stand_apart(spec):
    where = network(spec)
    at, group = (
        PlanView.of(where, 0).at,
        np.array([int(label.split(".")[0]) for label in where.labels(range(where.nodes))]),
    )
    centre = np.stack([at[group == g].mean(axis=0) for g in range(group.max() + 1)])
    far = np.hypot(*(at[:, None] - centre[None]).transpose(2, 0, 1))
    assert (far.argmin(axis=1) == group).all()
    assert len(np.unique(at.round(6), axis=0)) == where.nodes


def test_switches_of_hosts_stand_below_and_rails_above():
    where = rails()
    height = dict(zip(where.labels(range(where.nodes)), PlanView.of(where, 0).at[:, 1].tolist(), strict=True))
    ranks = {y for label, y in height.items() if label[0] == "h"}
    assert len(ranks) == 1
    assert {y > max(ranks) for label, y in height.items() if label.startswith("nvswitch")} == {True}
    assert {y < min(ranks) for label, y in height.items() if label.startswith("rail")} == {True}


def boxes_of(figure):
    """Return the boxes of the nodes, as matplotlib draws them."""
    FigureCanvasAgg(figure).draw()  # boxes get their size
    return [text.get_bbox_patch().get_window_extent() for text in figure.axes[0].texts if not text.get_gid()]


@pytest.mark.parametrize("where", [rails(), network("dragonfly:4,2")], ids=["rails", "dragonfly"])
def test_no_link_runs_through_the_box_of_another_node(where):
    figure = on_page(draw_network, plan("broadcast", where))
    boxes = boxes_of(figure)
    for path in by_gid(figure, "links").get_paths():
        (points,) = path.to_polygons(figure.axes[0].transData, closed_only=False)
        assert sum(any(box.contains(*point) for point in points) for box in boxes) == 2


def test_every_line_ends_in_the_boxes_of_its_nodes():
    """Eight trees over links of capacity 9: the boxes are those that matplotlib draws."""
    figure = on_page(draw_network, plan("broadcast", rails(2), messages=64, builder="packed-trees"))
    axes, boxes = figure.axes[0], boxes_of(figure)
    trees = [artist for artist in figure.findobj() if str(artist.get_gid()).startswith("arcs-")]
    assert len(trees) == 8
    for tree in trees:
        for path in tree.get_paths():
            for end in axes.transData.transform(path.vertices[[0, -1]]):
                assert any(box.contains(*end) for box in boxes)


def cables_in(figure):
    return [text for text in figure.axes[0].texts if text.get_gid() == "cables"]


def test_links_of_several_cables_say_how_many():
    where = rails(2)
    figure, view = on_page(draw_network, plan("broadcast", where)), PlanView.of(where, 0)
    fat = [pair for pair in view.links if "nvswitch" in " ".join(where.labels(pair))]
    middles = np.sort(view.at[fat].mean(axis=1), axis=0)
    assert np.sort([text.get_position() for text in cables_in(figure)], axis=0) == pytest.approx(middles)
    assert {text.get_text() for text in cables_in(figure)} == {"×9"}
    assert "×9: 9 parallel cables" in [text.get_text() for text in figure.legends[0].get_texts()]
    check_room(figure)
    aside = nx.DiGraph([("a", "b", {"capacity": 3}), ("b", "a", {"capacity": 1}), ("b", "c"), ("c", "b")])
    assert [text.get_text() for text in cables_in(on_page(draw_network, plan("broadcast", aside)))] == ["×1/3"]


def test_numbers_of_cables_on_crossing_links_lie_apart():
    clos = nx.complete_bipartite_graph(4, 4)
    nx.set_edge_attributes(clos, 2, "capacity")
    nx.set_node_attributes(clos, {node: node > 3 for node in clos}, "relay")
    figure = on_page(draw_network, plan("broadcast", clos))
    assert len(cables_in(figure)) == 16
    check_room(figure)


def test_sums_are_drawn_from_their_owner():
    graph = nx.Graph([("s", "a"), ("s", "b"), ("s", "c")])  # node 0 is the relay
    graph.nodes["s"].update(relay=True, adds=True)
    owned, spread = plan("allreduce", graph), plan("allgather", graph)
    assert centre_of(owned) == owned.collective.owners[0][1]
    assert centre_of(spread) == spread.network.ranks[0] == 1
    assert centre_of(plan("broadcast", graph, root="b")) == graph_node(graph, "b")


def graph_node(graph, name):
    return network(graph).node(name)


def test_arcs_of_sums_that_nobody_owns_are_drawn():
    schedule = plan("allreduce", "hypercube:3", without_owners=True)
    assert len(used_arcs(schedule).src) == len(np.unique(schedule.rows.src * 8 + schedule.rows.dst))


def through_nodes(view):
    """Return how many nodes all bent links run through."""
    low, high = np.array(list(view.bend)).T
    curves = view.curves(low, high, np.zeros(len(low)))
    met = 0
    for (u, v), curve in zip(view.bend, curves, strict=True):
        points = np.stack([points_on(curve[None], place)[0][0] for place in np.linspace(0.05, 0.95, 91)])
        others = np.delete(view.at, [u, v], axis=0)
        met += int((np.hypot(*(points[:, None] - others).transpose(2, 0, 1)) < view.radius).any(axis=0).sum())
    return met


@pytest.mark.slow
@pytest.mark.parametrize("where", [rails(), network("star:5"), network("dragonfly:4,2")], ids=lambda where: where.spec)
def test_links_bend_to_the_side_with_fewer_nodes(where):
    view = PlanView.of(where, 0)
    right, left = (view._replace(bend={pair: side * abs(by) for pair, by in view.bend.items()}) for side in (1, -1))
    assert through_nodes(view) <= min(through_nodes(right), through_nodes(left))
    assert through_nodes(view) < max(through_nodes(right), through_nodes(left))
