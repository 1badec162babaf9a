"""Figures: what is in them, against the schedule and the trace; that texts have room; that files are whole and repeatable."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from matplotlib.image import AxesImage

from tests.drawing.on_page import check_room, on_page
from treecast.collectives import Collective
from treecast.drawing.figures import space_time
from treecast.drawing.figures.network import draw_network
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.passages import fewest_steps, find_received
from treecast.drawing.pictures import draw, save
from treecast.drawing.registry import USUAL, View, choose
from treecast.drawing.style import colour
from treecast.errors import TreecastError
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.steps import NEVER

KINDS = ("trees", "space-time")  # of any schedule


@cache
def s4(copies=3):
    return plan("broadcast", "star:4", messages=6, copies=copies, trees="paper")


def two_dying(schedule):
    node = schedule.network.node
    return Faults({node("1432"): 3, node("2413"): 3})


def by_gid(figure, gid):
    (found,) = (artist for artist in figure.findobj() if artist.get_gid() == gid)
    return found


def labels(axes, network):
    names = {network.label(u) for u in range(network.nodes)}
    return [text for text in axes.texts if text.get_text() in names]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def words(figure):
    return " ".join(text.get_text() for text in figure.texts)


def test_each_tree_has_its_nodes_arcs_and_ports():
    schedule = s4()
    network, rows = schedule.network, schedule.rows
    figure = on_page(draw_trees, schedule)
    assert len(figure.axes) == 3
    for tree, axes in enumerate(figure.axes):
        names = labels(axes, network)
        where = {text.get_text(): np.array(text.get_position()) for text in names}
        assert Counter(text.get_text() for text in names) == Counter(network.label(u) for u in range(24))
        arcs = by_gid(axes, f"arcs-{tree}-all")
        ends = {tuple(np.round(np.concatenate([p.vertices[0], p.vertices[-1]]), 9)) for p in arcs.get_paths()}
        mine = np.flatnonzero(rows.tree == tree)
        pairs = [(where[network.label(int(rows.src[r]))], where[network.label(int(rows.dst[r]))]) for r in mine]
        assert ends == {tuple(np.round(np.concatenate(pair), 9)) for pair in pairs}
        assert all(above[1] < below[1] for above, below in pairs)
        assert not by_gid(axes, f"arcs-{tree}-some").get_paths()
        assert not by_gid(axes, f"arcs-{tree}-none").get_paths()
        ports = Counter(text.get_text() for text in axes.texts if text.get_fontsize() == 6)
        assert ports == Counter(network.port_name(int(rows.port[r])) for r in mine)
        assert "depth 7, 6 chunks" in {text.get_text() for text in axes.texts}
    assert "broadcast on star:4 from 1234 M = 6 chunks  ·  3 copies  ·  12 steps" in words(figure)


def test_layers_are_even_and_parents_amid_their_children():
    schedule = s4()
    network, rows = schedule.network, schedule.rows
    axes = on_page(draw_trees, schedule, View(tree=1)).axes[0]
    where = {network.node(text.get_text()): text.get_position() for text in labels(axes, network)}
    children = {}
    for r in np.flatnonzero(rows.tree == 1).tolist():
        children.setdefault(int(rows.src[r]), []).append(int(rows.dst[r]))
    for parent, below in children.items():
        across = [where[child][0] for child in below]
        assert where[parent][0] == pytest.approx((min(across) + max(across)) / 2)
        for child in below:
            assert where[child][1] - where[parent][1] == pytest.approx(0.62)
    leaves = sorted(where[u][0] for u in range(24) if u not in children)
    assert np.diff(leaves) == pytest.approx(leaves[1] - leaves[0])


def test_trees_under_faults_show_what_arrives():
    schedule = s4()
    faults = two_dying(schedule)
    figure = on_page(draw_trees, schedule, View(faults=faults))
    trace = simulate(schedule, faults)
    runs = find_received(trace)
    arrived = np.bincount(runs.row, runs.chunks, len(schedule.rows))
    for tree, axes in enumerate(figure.axes):
        mine = schedule.rows.tree == tree
        truth = {
            "all": mine & (arrived == 6),
            "some": mine & (arrived > 0) & (arrived < 6),
            "none": mine & (arrived == 0),
        }
        for name, which in truth.items():
            assert len(by_gid(axes, f"arcs-{tree}-{name}").get_paths()) == which.sum()
        crossed = by_gid(axes, f"dead-{tree}").get_offsets().tolist()
        dead = {text.get_position() for text in labels(axes, schedule.network) if text.get_text() in ("1432", "2413")}
        assert {tuple(place) for place in crossed} == dead
    assert "faults: 1432@3, 2413@3" in words(figure)
    too_late = on_page(draw_trees, schedule, View(faults=Faults({5: schedule.steps})))
    assert len(by_gid(too_late, "dead-0").get_offsets()) == 0
    assert len(by_gid(too_late, "arcs-0-all").get_paths()) == 23


def test_trees_of_an_orbit_schedule_are_those_of_node_0():
    schedule = plan("broadcast", "star:3", messages=1, copies=2)
    orbit = replace(schedule, collective=Collective("allgather", 6, 1), orbit=True, claims=None)
    for faults in (None, Faults({3: 2})):
        figures = [on_page(draw_trees, s, View(faults=faults, tree=1)) for s in (orbit, schedule)]
        for name in ("all", "some", "none"):
            found, truth = (by_gid(figure, f"arcs-1-{name}").get_paths() for figure in figures)
            assert [path.vertices.tolist() for path in found] == [path.vertices.tolist() for path in truth]
    assert len(on_page(draw_run_on, orbit).axes) == 1


def test_trees_that_cannot_be_drawn():
    for schedule, view, why in (
        (s4(), View(tree=9), "tree 9 carries nothing"),
        (plan("broadcast", "path:1"), USUAL, "the schedule uses no trees"),
        (plan("broadcast", "star:8", messages=7), USUAL, "trees of 282,233 arcs cannot be drawn"),
    ):
        with pytest.raises(TreecastError, match=why):
            choose(schedule, "svg", "trees", view)


def notes(figure):
    return [text.get_text() for text in figure.texts if (text.get_gid() or "").startswith("note-")]


def test_what_is_left_out_of_trees_is_said():
    assert notes(on_page(draw_trees, s4())) == ["on arcs: the names of ports, 2, 3, 4 for 0, 1, 2"]
    assert notes(on_page(draw_trees, plan("broadcast", "star:6"))) == [
        "labels and ports of arcs are left out: too many nodes"
    ]
    spare = on_page(draw_trees, plan("broadcast", "complete:6", copies=3))
    assert notes(spare) == ["trees keep their numbers: this schedule uses 0, 1, 4", "on arcs: ports"]
    null = on_page(draw_trees, plan("scatterv", "tree:2,2", lengths=[0, 3, 1, 2, 0, 4, 1]))
    assert notes(null)[0] == "not drawn, since nothing goes there: 1 node (4)"


def test_labels_lie_flat_where_their_layers_have_room_and_notes_are_wrapped():
    figure = on_page(draw_trees, plan("broadcast", "fat-tree:4"))
    check_room(figure)
    assert {text.get_rotation() for text in figure.axes[0].texts} == {0}
    assert figure.get_size_inches()[0] < 10
    assert [note[-15:] for note in notes(figure)] == ["core-1.0, …)", "-3.1, core-0.1,", "on arcs: ports"]


def test_who_hears_from_whom_is_a_tree_without_a_number():
    schedule = plan("broadcast", "mesh:4x4", model="wormhole")
    figure = on_page(draw_trees, schedule)
    assert figure.axes[0].texts[0].get_text() == "tree"
    assert len(by_gid(figure, "arcs--1-all").get_paths()) == 15


def test_arcs_are_clear_of_the_labels_beside():
    """Between labels a curve is lower than those of the layer above and higher than those below."""
    figure = on_page(draw_trees, plan("broadcast", "torus:4x4x4", messages=3), View(tree=0))
    for path in by_gid(figure, "arcs-0-all").get_paths():
        above, begin, _, _, end, below = path.vertices
        assert (begin[0], end[0]) == (above[0], below[0])
        assert below[1] - end[1] == pytest.approx(begin[1] - above[1])
        assert begin[1] - above[1] > 0.15


def test_large_networks_have_dots_for_labels():
    figure = on_page(draw_trees, plan("broadcast", "star:6", messages=5))
    for tree, axes in enumerate(figure.axes):
        assert len(by_gid(axes, f"nodes-{tree}").get_offsets()) == 720
        assert len(by_gid(axes, f"arcs-{tree}-all").get_paths()) == 719
    assert max(figure.get_size_inches()) < 30
    wide = on_page(draw_trees, plan("broadcast", nx.star_graph(129)))
    assert len(by_gid(wide, "nodes-0").get_offsets()) == 130
    assert max(wide.get_size_inches()) < 30


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_space_time_has_a_bar_and_a_stroke_for_each_row(copies):
    schedule = s4(copies)
    network, rows = schedule.network, schedule.rows
    figure, bound = on_page(draw_run_on, schedule), fewest_steps(schedule, None)
    axes = figure.axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    far = network.distance(0, np.arange(24)).tolist()
    assert names == [network.label(u) for u in sorted(range(24), key=lambda u: (far[u], u))]
    line = {network.node(name): i for i, name in enumerate(names)}
    for tree in range(3):
        mine = np.flatnonzero(rows.tree == tree).tolist()
        bars = [path.get_extents() for path in by_gid(axes, f"bars-{tree}").get_paths()]
        found = sorted((round((b.y0 + b.y1) / 2), b.x0, b.x1) for b in bars)
        assert found == sorted((line[int(rows.dst[r])], rows.step[r], rows.step[r] + rows.steps[r]) for r in mine)
        strokes = by_gid(axes, f"strokes-{tree}").get_segments()
        found = sorted((x0, y0, x1, round(y1)) for (x0, y0), (x1, y1) in strokes)
        truth = [(rows.step[r], line[int(rows.src[r])], rows.step[r] + 1, line[int(rows.dst[r])]) for r in mine]
        assert found == sorted(truth)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "tree 0",
        "tree 1",
        "tree 2",
        *(["pale: a spare copy"] if copies > 1 else []),
        "complete",
        f"lower bound: {bound} steps",
    ]
    assert by_gid(axes, "bound").get_xdata() == [bound, bound]


def test_space_time_under_faults():
    schedule = s4(2)
    faults = replace(two_dying(schedule), arcs={(0, 0): 2})
    trace = simulate(schedule, faults)
    axes = on_page(draw_run_on, schedule, View(faults)).axes[0]
    network, runs = schedule.network, find_received(trace)
    line = {network.node(text.get_text()): i for i, text in enumerate(axes.get_yticklabels())}
    for tree in range(3):
        mine = np.flatnonzero(schedule.rows.tree[runs.row] == tree)
        bars = [path.get_extents() for path in by_gid(axes, f"bars-{tree}").get_paths()]
        found = sorted((round((b.y0 + b.y1) / 2), b.x0, b.x1) for b in bars)
        assert found == sorted((line[int(schedule.rows.dst[runs.row[i]])], runs.start[i], runs.stop[i]) for i in mine)
        assert len(by_gid(axes, f"strokes-{tree}").get_segments()) == len(np.unique(runs.row[mine]))
    dead = {(3, line[network.node("1432")]), (3, line[network.node("2413")])}
    assert set(map(tuple, by_gid(axes, "dead").get_xydata().tolist())) == dead
    assert {tuple(segment[0]) for segment in by_gid(axes, "after-death").get_segments()} == dead
    lacking = Counter()
    for node, first, stop in trace.lost:
        lacking[line[node]] += stop - first
    found = {text.get_position()[1]: text.get_text() for text in axes.texts if "lacks" in text.get_text()}
    assert found == {y: f"  lacks {n} chunk{'s' * (n > 1)}" for y, n in lacking.items()}
    assert len(found) == 2
    done = {(step, line[u]) for u, step in enumerate(trace.completion.tolist()) if 0 < step < NEVER}
    assert set(map(tuple, by_gid(axes, "complete").get_xydata().tolist())) == done


@pytest.mark.parametrize("draw_on", [draw_run_on, draw_network])
def test_of_many_nodes_one_tree_is_drawn_unless_more_is_asked_for(draw_on):
    schedule = plan("broadcast", "star:5", messages=8, copies=2)
    hint = "and 3 more trees: --tree all draws all"
    for view, trees in (
        (USUAL, ["tree 0", hint]),
        (View(tree=2), ["tree 2"]),
        *(
            (view, [f"tree {t}" for t in range(4)])
            for view in (View(every=True), View(Faults({5: 1})), View(steps=(0, 5)))
        ),
    ):
        figure = on_page(draw_on, schedule, view)
        assert [text for text in legend(figure) if "tree" in text] == trees
        assert not [text for text in figure.axes[0].texts if "lacks" in text.get_text()]
    few = plan("broadcast", "star:4", messages=6, copies=2)
    assert "tree 2" in legend(on_page(draw_on, few))


def test_under_faults_one_tree_lacks_what_it_carries_itself():
    schedule = s4(2)
    child = int(schedule.rows.dst[(schedule.rows.tree == 0) & (schedule.rows.src == 0)][0])
    carried = np.unique(schedule.rows.payload[schedule.rows.tree == 0])
    (chunks,) = schedule.rows.payloads.lengths[carried]
    figure = on_page(draw_run_on, schedule, View(Faults({child: 0}), tree=0))
    lacking = [text.get_text() for text in figure.axes[0].texts if "lacks" in text.get_text()]
    assert lacking == 22 * [f"  lacks {chunks} chunks"]
    assert chunks < 6


def test_a_long_stream_is_quick_to_draw():
    schedule = plan("broadcast", "star:6", messages=2_000_000, copies=5)
    trace = simulate(schedule, Faults({100: 500_000}))
    figure = on_page(draw_run_on, schedule, View(trace.faults))
    (image,) = (artist for artist in figure.findobj(AxesImage) if artist.get_gid() == "raster")
    steps_in_cell = -(-trace.schedule.steps // 1500)
    whole = np.asarray(image.get_array()).sum() * steps_in_cell
    last = (trace.schedule.steps - 1) % steps_in_cell + 1  # the last cell has fewer steps
    whole -= np.asarray(image.get_array())[:, -1].sum() * (steps_in_cell - last)
    assert whole == pytest.approx(find_received(trace).chunks.sum())


def test_colours_differ():
    found = [colour(tree) for tree in range(28)]
    assert len(set(found)) == 28
    assert colour(-1) not in found


def test_some_trees(tmp_path):
    draw(plan("broadcast", "star:3", copies=2), tmp_path / "a.svg", tree=1)
    ids = {element.get("id") for element in ElementTree.parse(tmp_path / "a.svg").iter()}
    assert "arcs-1-all" in ids
    assert "arcs-0-all" not in ids


def test_names_of_any_kind(tmp_path):
    graph = nx.relabel_nodes(
        nx.path_graph(4), dict(enumerate(["$x^2$", "節点", "<a&b>", "a_rather_long_name_of_a_node"]))
    )
    for kind in KINDS:
        draw(plan("broadcast", graph, messages=2), tmp_path / "a.svg", kind=kind)
        ElementTree.parse(tmp_path / "a.svg")
    names = [text.get_text() for text in on_page(draw_trees, plan("broadcast", graph)).axes[0].texts]
    assert "$x^2$" in names
    assert "a_rather…_a_node" in names


def test_files_that_cannot_be_written(tmp_path):
    for name in ("a.bmp", "a", "-"):
        with pytest.raises(TreecastError, match=r"its name must end in \.svg, \.png, \.pdf"):
            draw(s4(), tmp_path / name)
    with pytest.raises(TreecastError, match="'map' is no kind of picture: write one of trees, space-time"):
        draw(s4(), tmp_path / "a.svg", kind="map")
    (tmp_path / "folder.svg").mkdir()
    figure = on_page(draw_trees, plan("broadcast", "path:2"))
    for path in (tmp_path / "nowhere" / "a.svg", tmp_path / "folder.svg"):
        with pytest.raises(TreecastError, match="cannot be written") as caught:
            save(figure, path)
        assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for make in (lambda: on_page(draw_trees, s4()), lambda: on_page(draw_run_on, s4())):
        with pytest.raises(TreecastError, match=r"^pictures need matplotlib: pip install matplotlib$"):
            make()


HEADS = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(
    "what",
    ["star:4", pytest.param("star:5", marks=pytest.mark.long), "hypercube:4", "mesh:4x3x2", "tree:3,2", "path:25"],
)
def test_texts_have_room(what):
    schedule = plan("broadcast", what, messages=200)  # over trees
    faulty = View(Faults({schedule.network.nodes - 1: 2}))
    runs = [on_page(draw_run_on, schedule, view) for view in (faulty, USUAL)]
    for figure in (on_page(draw_trees, schedule), *runs):
        check_room(figure)


def counts_by_hand(trace):
    """Chunks received by (line, step), by going through the sends of every step."""
    schedule, network = trace.schedule, trace.schedule.network
    order = np.lexsort((np.arange(network.nodes), network.distance(schedule.collective.root, np.arange(network.nodes))))
    line = np.argsort(order)
    dies = np.full(network.nodes, NEVER)
    dies[list(trace.faults.nodes)] = list(trace.faults.nodes.values())
    count = np.zeros((network.nodes, schedule.steps))
    arrival = [[trace.arrival_step(u, c) for c in range(schedule.collective.messages)] for u in range(network.nodes)]
    holds = np.array([[NEVER if step is None else step for step in row] for row in arrival])
    for sends in schedule.expand():
        up = (
            (sends.step < dies[sends.src])
            & (sends.step < dies[sends.dst])
            & (holds[sends.src, sends.chunk] <= sends.step)
        )
        np.add.at(count, (line[sends.dst[up]], sends.step), 1)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "tall", "wide"), [((1000, 1500), 1, 1), ((100, 4), 8, 4)])
def test_large_networks_are_rasters(monkeypatch, cells, tall, wide):
    monkeypatch.setattr(space_time, "_CELLS", cells)
    schedule = plan("broadcast", "star:6", messages=20, copies=2)
    trace = simulate(schedule, Faults({100: 5, 200: 6, 600: 9}))
    figure = on_page(draw_run_on, schedule, View(trace.faults))
    (image,) = (artist for artist in figure.findobj(AxesImage) if artist.get_gid() == "raster")
    truth = counts_by_hand(trace)
    rows, columns = -(-720 // tall), -(-schedule.steps // wide)
    expected = [
        [truth[i * tall : (i + 1) * tall, j * wide : (j + 1) * wide].mean() for j in range(columns)]
        for i in range(rows)
    ]
    assert np.asarray(image.get_array()) == pytest.approx(np.array(expected), abs=1e-9)
    mean = f", mean over {tall} nodes and {wide} steps" if tall > 1 else ""
    assert f"raster of chunks received per node and step{mean} M = 20 chunks" in words(figure)
    assert len(by_gid(figure, "dead").get_xydata()) == 3


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", HEADS)
def test_files_are_whole_and_repeatable(tmp_path, kind, suffix):
    schedule = plan("broadcast", "star:3", messages=3, builder="disjoint-trees")
    faults = Faults({4: 2}) if suffix == "svg" else None
    for name in ("one", "two"):
        draw(schedule, tmp_path / f"{name}.{suffix}", kind=kind, faults=faults)
    one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(HEADS[suffix])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one.{suffix}", f"two.{suffix}"]
    if suffix == "svg":
        groups = {element.get("id") for element in ElementTree.parse(one).iter()}
        assert groups >= ({f"arcs-{t}-all" for t in range(2)} if kind == "trees" else {f"bars-{t}" for t in range(2)})


@pytest.mark.slow
def test_the_bound_is_drawn_without_faults_only(tmp_path):
    for faults, drawn in ((None, True), (Faults({5: 3}), False)):
        draw(plan("broadcast", "star:3"), tmp_path / "a.svg", kind="space-time", faults=faults)
        ids = {element.get("id") for element in ElementTree.parse(tmp_path / "a.svg").iter()}
        assert ("bound" in ids) == drawn


@pytest.mark.slow
def test_nothing_global_is_touched(tmp_path):
    # to ask for the setting "backend" would import pyplot
    code = (
        "import sys, treecast.drawing.pictures as f; assert 'matplotlib' not in sys.modules\n"
        "from treecast.plans import plan; import matplotlib as m\n"
        "settings = lambda: {key: m.rcParams[key] for key in m.rcParams if key != 'backend'}; before = settings()\n"
        f"f.draw(plan('broadcast', 'star:3'), {str(tmp_path / 'a.svg')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules and settings() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
