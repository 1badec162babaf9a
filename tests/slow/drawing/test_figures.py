"""Figures: what is in them, against the schedule and the trace; that texts have room; that files are whole and repeatable."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import AxesImage

from tests.drawing.on_page import check_room, on_page
from tests.drawing.test_figures import KINDS, by_gid, words
from treecast.drawing.figures import space_time
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.pictures import draw
from treecast.drawing.registry import USUAL, View
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.steps import NEVER

HEADS = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}


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


def test_the_bound_is_drawn_without_faults_only(tmp_path):
    for faults, drawn in ((None, True), (Faults({5: 3}), False)):
        draw(plan("broadcast", "star:3"), tmp_path / "a.svg", kind="space-time", faults=faults)
        ids = {element.get("id") for element in ElementTree.parse(tmp_path / "a.svg").iter()}
        assert ("bound" in ids) == drawn


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
