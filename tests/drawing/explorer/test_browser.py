"""The page in headless Chromium: it opens, obeys keys and clicks, replays as Python does, and nothing goes wrong."""

import random
import re
from pathlib import Path

import pytest

import treecast
from tests.drawing.explorer.browser import browser_tab
from tests.drawing.explorer.cases import planned
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
AXE = ROOT / "node_modules/axe-core/axe.min.js"
CLICKS = 60


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser_tab(tmp_path_factory.mktemp("browser")) as found:
        yield found


def written(schedule, folder):
    file = folder / "plan.html"
    treecast.draw(schedule, file)
    return file.as_uri()


def test_the_keyboard_goes_all_the_way(tab, tmp_path):
    schedule = planned("streams in trees")
    tab.open(written(schedule, tmp_path))
    assert tab.ask("document.getElementById('verdict').textContent").startswith("Nothing fails: all 24")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 11), ("Home", 0)):
        tab.press(key)
        assert tab.ask("explorer.app.step") == step
    tab.press("2", "2")
    assert tab.ask("[...explorer.app.hidden]") == [1]
    tab.press("k", "k")
    assert "is the root" in tab.ask("document.getElementById('verdict').textContent")
    tab.ask("document.querySelector('.node[tabindex=\"0\"]').focus()")
    tab.press("ArrowDown")
    chosen = tab.ask("explorer.app.chosen")
    assert chosen in schedule.network.neighbors(0)
    tab.press("Enter")
    assert tab.ask("[...explorer.app.nodes]") == [[chosen, 0]]
    tab.press("h", "h")
    assert tab.ask("[...explorer.app.nodes]") == []
    tab.press(" ", " ")
    tab.wait("explorer.app.step > 1")
    tab.press(" ", " ")
    assert not tab.ask("explorer.app.playing")
    assert tab.errors == []


def test_the_address_shows_the_same(tab, tmp_path):
    schedule = planned("streams in trees")
    address = written(schedule, tmp_path)
    tab.open(f"{address}#t=7&n=12&k=12@3,9&c=4@2&x=1")
    state = "[explorer.app.step, explorer.app.chosen, [...explorer.app.nodes], [...explorer.app.arcs]]"
    assert tab.ask(state) == [7, 12, [[12, 3], [9, 0]], [[4, 2]]]
    for wrong in ("#t=99999&n=77&k=0,88@1&s=x", "#t=&k=@,@&c=-1", "#%%%"):
        tab.ask(f"location.hash = {wrong!r}")
        tab.wait("explorer.app.step <= explorer.app.job.span")
    assert tab.errors == []


PLANS = {
    "star:5": ("broadcast", "star:5", {"messages": 400, "survive": 2}),
    "torus": ("alltoall", "torus:4x4x4", {"messages": 8}),
    "hypercube:10": ("broadcast", "hypercube:10", {"messages": 64, "copies": 10}),
    "wormhole": ("broadcast", "mesh:8x8", {"model": "wormhole"}),
    "fat tree": ("broadcast", "fat-tree:4", {"messages": 8}),
}


@pytest.mark.parametrize("name", PLANS)
def test_network_and_time_are_seen_together(tab, tmp_path, name):
    """At 1400 x 900, without scrolling; and on a telephone nothing goes beyond the screen sideways."""
    kind, network, options = PLANS[name]
    address = written(treecast.plan(kind, network, **options), tmp_path)
    tab.open(address, size=(1400, 900))
    corners = "['map', 'time-canvas'].map((id) => document.getElementById(id).getBoundingClientRect())"
    low, high = (
        f"{corners}.map((box) => Math.{of}(box.{side}))" for of, side in (("floor", "top"), ("ceil", "bottom"))
    )
    assert min(tab.ask(low)) >= 0
    assert max(tab.ask(high)) <= 900
    tab.open(address, size=(390, 800))
    assert tab.ask("document.documentElement.scrollWidth") <= 390
    assert tab.errors == []


@pytest.mark.parametrize("name", PLANS)
def test_random_clicks_do_what_python_does(tab, tmp_path, name):
    """Kills, cuts and steps at random; after each the page starves whom the simulator starves."""
    kind, network, options = PLANS[name]
    schedule = treecast.plan(kind, network, **options)
    part, ports = schedule.of_node_zero(), schedule.network.ports
    tab.open(written(schedule, tmp_path))
    rng, compared = random.Random(name), 0
    for _ in range(CLICKS):
        if rng.random() < 0.4:
            tab.click(rng.randrange(40, 960), rng.randrange(260, 800))
        elif rng.random() < 0.5:
            tab.ask(f"explorer.change({{ step: {rng.randrange(schedule.steps + 1)} }})")
        else:
            tab.press(
                *rng.choice(
                    [("k", "k"), ("ArrowRight",), ("End",), ("w", "w") if part.network.nodes < 200 else ("Home",)]
                )
            )
        state = "[[...explorer.app.nodes], [...explorer.app.arcs], explorer.app.run.lacking]"
        nodes, arcs, lacking = tab.ask(state)
        faults = Faults(dict(nodes), {divmod(arc, ports): step for arc, step in arcs})
        if faults.nodes.get(part.part.root) == 0:
            continue  # of an orbit: the simulator refuses a part without its only source
        assert lacking == sorted({node for node, _, _ in replay(part, faults).lost})
        compared += bool(faults)
    assert compared > CLICKS / 3
    assert tab.errors == []


def test_all_single_faults_are_tried(tab, tmp_path):
    tab.open(written(planned("streams in trees"), tmp_path))
    tab.ask("document.getElementById('all').click()")
    tab.wait("!document.getElementById('trials').hidden")
    assert tab.ask("document.querySelector('#trials h2').textContent") == (
        "59 single faults from the start (23 nodes, 36 links): none does harm. Every living node gets everything."
    )


def test_frames_are_saved_for_every_step(tab, tmp_path):
    tab.open(f"{written(planned('streams in trees'), tmp_path)}#t=4")
    saved = """
        let kept = null;
        URL.createObjectURL = (blob) => { kept = blob; return "#"; };
        document.getElementById("frames").click();
        globalThis.kept = () => kept;
    """
    tab.ask(saved)
    tab.wait("globalThis.kept() !== null")
    assert tab.ask("explorer.app.step") == 4
    text = tab.ask("globalThis.kept().text()")
    assert len(set(re.findall(r"step-\d\d\.svg", text))) == 12
    assert text.count("<title>broadcast on star:4, step ") == 12
    assert tab.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sort", ["streams in trees", "alltoall", "wormhole", "gather without buffers"])
def test_axe_finds_nothing(tab, tmp_path, sort, scheme):
    if not AXE.exists():
        pytest.skip("no axe-core here: npm install --no-save axe-core")
    tab.open(f"{written(planned(sort), tmp_path)}#t=2&k=3@1", scheme=scheme)
    tab.ask("document.getElementById('all').click()")
    tab.wait("!document.getElementById('trials').hidden")
    tab.ask("for (const details of document.querySelectorAll('details')) details.open = true")
    tab.ask(AXE.read_text("utf-8"))
    found = tab.ask("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))")
    assert found == []
