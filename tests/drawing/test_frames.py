"""Pictures that move: what each frame shows, against every single send; folders, GIFs, and what is refused."""

from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from treecast.cli import main
from treecast.drawing.figures.plan_view import PlanView
from treecast.drawing.look import Look, drawn_on
from treecast.drawing.passages import ALL, DEAD, NOTHING, SOME, moment_of
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View, choose, is_folder
from treecast.errors import TreecastError
from treecast.files.formats import save
from treecast.plans import plan
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate

SORTS = [
    ("broadcast", "star:4", {"messages": 6, "copies": 3}),
    ("allgather", "hypercube:3", {"messages": 2}),
    ("allgather", "hypercube:3", {"model": "shouting", "copies": 2}),
    ("reduce", "star:3", {"messages": 4}),
    ("scatter", "mesh:3x4", {"messages": 2}),
    ("gatherv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1]}),
    ("broadcast", "mesh:4x4", {"model": "wormhole"}),
]


@pytest.mark.parametrize(("kind", "where", "options"), SORTS)
def test_moments_have_every_send_once(kind, where, options):
    schedule = plan(kind, where, **options).of_node_zero()
    trace, planned = simulate(schedule), schedule
    for sends in planned.expand():
        moment = moment_of(trace, sends.step)
        some = moment.chunk >= 0
        rows = schedule.rows
        found = sorted(
            zip(
                rows.src[moment.row[some]].tolist(),
                rows.dst[moment.row[some]].tolist(),
                moment.chunk[some].tolist(),
                strict=True,
            )
        )
        silent = not schedule.sparing
        truth = sorted(zip(sends.src.tolist(), sends.dst.tolist(), sends.chunk.tolist(), strict=True))
        truth = [send for send in truth if send[2] >= 0]
        assert found == truth if silent else set(found) <= set(truth)
        assert moment.arrives.all()
    assert len(moment_of(trace, schedule.steps).row) == 0


def test_moments_under_faults_are_those_of_the_simulator():
    schedule = plan("broadcast", "star:4", messages=6, copies=2)
    faults = Faults({5: 3, 7: 0}, {(0, 1): 2})
    trace = simulate(schedule, faults)
    sent = sum(len(moment_of(trace, step).row) for step in range(schedule.steps))
    lost = sum(int((~moment_of(trace, step).arrives).sum()) for step in range(schedule.steps))
    assert (sent, lost) == (trace.transmissions, trace.lost_sends)
    for step in range(schedule.steps + 1):
        for node, has in enumerate(moment_of(trace, step).has.tolist()):
            held = [trace.arrival_step(node, chunk) for chunk in range(6)]
            holds = [at is not None and at <= step for at in held]
            truth = SOME if any(holds) else NOTHING
            if 0 < trace.completion[node] <= step:
                assert all(holds)
                truth = ALL
            if faults.nodes.get(node, step + 1) <= step:
                truth = DEAD
            assert has == truth, (step, node)


def by_gid(figure, gid):
    (found,) = (artist for artist in figure.findobj() if artist.get_gid() == gid)
    return found


def test_a_frame_shows_what_moves():
    schedule = plan("broadcast", "star:4", messages=6, copies=3)
    moment, view = moment_of(simulate(schedule), 3), PlanView.of(schedule.network, 0)
    entry = choose(schedule, "png", "network", View())
    figure = drawn_on(lambda page: entry.draw(schedule, View(page=page, step=3)), Look())
    for tree in range(3):
        mine = np.flatnonzero(schedule.rows.tree[moment.row] == tree)
        curves = [path.vertices for path in by_gid(figure, f"moves-{tree}").get_paths()]
        ends = {tuple(int(np.argmin(np.hypot(*(view.at - p).T))) for p in (c[0], c[-1])) for c in curves}
        rows = moment.row[mine]
        assert ends == set(zip(schedule.rows.src[rows].tolist(), schedule.rows.dst[rows].tolist(), strict=True))
    written = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "chunk"]
    assert sorted(written) == sorted(map(str, moment.chunk.tolist()))
    assert by_gid(figure, "now").get_text() == "step 3 of 11"


def test_the_command_line_draws_a_step(tmp_path, capsys):
    save(plan("broadcast", "star:3", messages=2, copies=2), tmp_path / "plan.tc")
    given = ["draw", str(tmp_path / "plan.tc"), "--kind", "network", "--steps", "1:2"]
    assert main([*given, "-o", str(tmp_path / "a.svg")]) == 0
    assert "step 1 of" in (tmp_path / "a.svg").read_text()
    assert main([*given[:4], "--steps", "0:2", "--dark", "-o", f"{tmp_path}/%d.png"]) == 0
    assert {"0.png", "1.png"} <= {path.name for path in tmp_path.iterdir()}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"output": "frames/", "kind": "trees"}, "trees cannot be drawn as frames: write to a file that ends in"),
        ({"output": "a.svg", "kind": "trees", "steps": (0, 1)}, "kind trees: it shows all steps; draw"),
        (
            {"output": "a.svg", "kind": "network", "steps": (9, 12)},
            "there are no steps 9 … 11: the schedule has steps 0 … ",
        ),
        ({"output": "a.svg", "kind": "network", "steps": (2, 2)}, "there are no steps 2 … 1"),
        ({"output": "%d.txt"}, "frames are figures: '%d.txt' must end in .png, .svg, .pdf"),
        ({"output": "a.gif", "look": Look(transparent=True)}, "a GIF has a ground"),
    ],
)
def test_what_does_not_move(wrong, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TreecastError) as caught:
        draw(plan("broadcast", "star:3", messages=2, copies=2), **wrong)
    assert why in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_too_many_frames_are_refused(tmp_path):
    long = plan("broadcast", "ring:4", messages=1000)
    assert isinstance(long, Schedule)
    with pytest.raises(TreecastError, match="frames are more than the 400 that are drawn: choose some steps"):
        draw(long, tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("path", "found"),
    [("frames/", True), ("a/%d.png", True), ("a/%03d.svg", True), ("a%.png", False), ("100%d/a.png", False)],
)
def test_folders(path, found):
    assert is_folder(path) is found


@pytest.mark.slow
def test_frames_are_files(tmp_path):
    schedule = plan("broadcast", "star:3", messages=2, copies=2)
    draw(schedule, f"{tmp_path}/frames/", steps=(1, 3), look=Look(size=(3, 3)))
    assert sorted(path.name for path in (tmp_path / "frames").iterdir()) == ["step-1.png", "step-2.png"]
    draw(schedule, tmp_path / "%03d.svg", steps=(2, 3), faults=Faults({3: 0}))
    assert (
        ElementTree.parse(tmp_path / "002.svg")
        .getroot()[1]
        .text.startswith("the network, with the trees laid over it, in step 2")
    )
    draw(schedule, tmp_path / "a.gif", steps=(0, 3), look=Look(dark=True, size=(3, 2)))
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size) == (3, (300, 200))
    before = (tmp_path / "a.gif").read_bytes()
    draw(schedule, tmp_path / "a.gif", steps=(0, 3), look=Look(dark=True, size=(3, 2)))
    assert (tmp_path / "a.gif").read_bytes() == before
