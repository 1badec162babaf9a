"""Messages of any length in space and time, as figures and as text: against an expansion of the rows, flit by flit."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tests.drawing.on_page import on_page
from tests.oracles.plain import sends_of
from treecast import plan
from treecast.cli import main
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.passages import CERTIFICATE, CONTROLS, ORDER, MessageStreams
from treecast.drawing.pictures import draw
from treecast.drawing.text import lanes_text, tree_text
from treecast.errors import TreecastError
from treecast.files.formats import save
from treecast.lower_bounds import schedule_bounds
from treecast.simulation.faults import Faults

SEVEN = [0, 3, 2, 4, 0, 1, 5]
SIXTEEN = [0, *(i * 7 % 5 for i in range(15))]
TWENTY_FOUR = [0, *(i * 7 % 5 for i in range(23))]
CASES = {
    "scatter on a path": ("scatterv", "path:6", [0, 2, 3, 1, 0, 4], "bufferless", {}),
    "shoulder-tap": ("gatherv", "path:6", [0, 2, 3, 1, 0, 4], "bufferless", {"builder": "shoulder-tap"}),
    "certificates on a path": ("gatherv", "path:6", [0, 2, 3, 1, 0, 4], "bufferless", {"builder": "transmission-certificate"}),
    "certificates": ("gatherv", "tree:2,2", SEVEN, "bufferless", {"builder": "transmission-certificate"}),
    "walk": ("gatherv", "tree:2,2", SEVEN, "bufferless", {"builder": "transmission-certificate", "collect": "walk"}),
    "nearest first": ("gatherv", "star:4", TWENTY_FOUR, "bufferless", {"builder": "nearest-first"}),
    "scatter, many ports": (
        "scatterv", "star:4", TWENTY_FOUR, "bufferless-multiport", {"builder": "farthest-first"},
    ),
    "gather, many ports": (
        "gatherv", "mesh:4x4", SIXTEEN, "bufferless-multiport", {"builder": "transmission-certificate"},
    ),
    "nothing at all": ("gatherv", "path:3", [0, 0, 0], "bufferless", {"builder": "shoulder-tap"}),
}  # fmt: skip


@pytest.fixture(params=CASES)
def schedule(request):
    collective, where, lengths, model, more = CASES[request.param]
    return plan(collective, where, lengths=lengths, model=model, **more)


def bound_of(schedule):
    found = schedule_bounds(schedule)
    return max((b.value for b in found if b.of == "steps"), default=None)


def below_of(schedule, row):
    """The lower end of a row's link: these schedules all send flits along shortest ways, or in networks that are trees."""
    src, dst = int(schedule.rows.src[row]), int(schedule.rows.dst[row])
    far = {v: int(schedule.network.distance(schedule.collective.root, v)) for v in (src, dst)}
    return (src, far[src]) if far[src] > far[dst] else (dst, far[dst])


def expanded(schedule):
    """The steps in which flits of each message pass each link: by (message, node below), from single sends."""
    lengths, found = schedule.collective.lengths, defaultdict(set)
    owner = [int(v) for v in lengths.sequence for _ in range(int(lengths.flits[v]))]
    for step, _, _, _, _, chunk, row in sends_of(schedule):
        found[owner[chunk], below_of(schedule, row)[0]].add(step)
    return found


def polygons(figure):
    return [path.vertices[:6] for axes in figure.axes for item in axes.collections if item.get_gid() == "messages"
            for path in item.get_paths()]  # fmt: skip


def test_corners_of_a_scatter_by_hand():
    figure = on_page(draw_parallelograms, plan("scatterv", "path:3", lengths=[0, 1, 2], model="bufferless"))
    assert [points.tolist() for points in polygons(figure)] == [
        [[0, 0], [1.5, 0], [3, 1.5], [3, 2], [1.5, 2], [0, 0.5]],
        [[2, 0], [2.5, 0], [3, 0.5], [3, 1], [2.5, 1], [2, 0.5]],
    ]


def test_what_control_flits_say():
    collective, where, lengths, model, more = CASES["certificates"]
    controls = MessageStreams(plan(collective, where, lengths=lengths, model=model, **more)).controls()
    order = {v: controls.step[(controls.below == v) & (controls.kind == ORDER)].tolist() for v in range(1, 7)}
    assert order == {1: [7], 2: [8], 3: [8], 4: [], 5: [9], 6: [10]}
    assert controls.step[controls.kind == CERTIFICATE].max() == 6


@pytest.mark.each(7)
@pytest.mark.parametrize("what", CASES)
def test_texts_have_room(what):
    collective, where, lengths, model, more = CASES[what]
    schedule = plan(collective, where, lengths=lengths, model=model, **more)
    figure = on_page(draw_parallelograms, schedule)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    wide, high = figure.get_size_inches() * figure.dpi
    texts = [*figure.texts, *figure.legends[0].get_texts()]
    for axes in figure.axes:
        shown = [*axes.get_yticklabels(), *axes.get_xticklabels()]
        texts += [text for text in [*axes.texts, axes.xaxis.label, *shown] if text.get_visible() and text.get_text()]
    boxes = [(text.get_window_extent(renderer), text.get_text()) for text in texts]
    for box, text in boxes:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= wide and box.y1 <= high
        assert inside, f"{text!r} is clipped"
    for (a, one), (b, other) in combinations(boxes, 2):
        apart = b.x0 >= a.x1 - 1 or a.x0 >= b.x1 - 1 or b.y0 >= a.y1 - 1 or a.y0 >= b.y1 - 1
        assert apart, f"{one!r} and {other!r} overlap"


@pytest.mark.each(7)
def test_lines_of_text_are_what_links_carry(schedule):
    text = lanes_text(schedule, ascii=True)
    lines = [line for line in text.split("\n\n")[0].splitlines() if "dist" not in line][-schedule.network.nodes :]
    table, sign = {}, {}
    for line in lines[1:]:
        name, _, cells, told = line.split(maxsplit=3)
        v = schedule.network.node(name)
        table[v] = cells
        assert len(cells) == schedule.steps
        if told != "null":
            sign[v] = told[0]
            flits = schedule.collective.lengths.flits[v]
            assert told.startswith(f"{told[0]}: {flits} flit")
            end = v if schedule.collective.direction == "from" else None
            last = max(
                max(steps) for (message, below), steps in expanded(schedule).items()
                if message == v and (below == end or (end is None and schedule.network.distance(0, below) == 1))
            )  # fmt: skip
            assert told.endswith(f"@{last + 1}")
    assert set(sign) == set(np.flatnonzero(schedule.collective.lengths.flits).tolist())
    expected = {v: ["."] * schedule.steps for v in table}
    for (message, below), steps in expanded(schedule).items():
        for step in steps:
            expected[below][step] = sign[message]
    rows, heard = schedule.rows, set()
    for r in np.flatnonzero(rows.control).tolist():
        below = below_of(schedule, r)[0]
        up = int(rows.src[r]) == below
        expected[below][int(rows.step[r])] = "^" if up else "!" if below in heard else "v"
        heard |= set() if up else {below}
    assert table == {v: "".join(line) for v, line in expected.items()}


def test_trees_of_such_schedules_and_faults(tmp_path):
    collective, where, lengths, model, more = CASES["certificates"]
    schedule = plan(collective, where, lengths=lengths, model=model, **more)
    assert tree_text(schedule, 0).splitlines()[1].endswith("@9  3 flits")
    assert len(on_page(draw_trees, schedule).axes) == 1
    draw(schedule, tmp_path / "a.svg", kind="space-time", faults=Faults({3: 2}))
    assert b'id="bars-0"' in (tmp_path / "a.svg").read_bytes()
    with pytest.raises(TreecastError, match="no messages of different lengths"):
        on_page(draw_parallelograms, plan("scatter", "path:3"))


def test_the_verb_draws_them(tmp_path, capsys):
    schedule = plan("scatterv", "path:6", lengths=[0, 2, 3, 1, 0, 4], model="bufferless")
    save(schedule, tmp_path / "plan.tc")
    file = str(tmp_path / "plan.tc")
    assert main(["draw", file, "--kind", "space-time"]) == 0
    assert capsys.readouterr().out.strip() == lanes_text(schedule)
    assert main(["draw", file, "--kind", "space-time", "-o", str(tmp_path / "a.svg")]) == 0
    assert b'id="messages"' in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize("machine", ["shouting", "one-port,combining"])
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_where_messages_combine_flits_pass_at_once(kind, machine):
    schedule = plan(kind, "star:3", lengths=3, model=machine)
    passages = MessageStreams(schedule).passages()
    assert set(passages.steps.tolist()) == {1}
    assert int((passages.step + passages.steps).max()) == schedule.steps
    assert lanes_text(schedule).count("3 flits") == schedule.network.nodes - 1


@pytest.mark.slow
def test_every_message_is_one_shape_that_covers_its_steps_on_every_link(schedule):
    drawn = set()
    for points in polygons(on_page(draw_parallelograms, schedule)):
        near, far = points[:, 1].min() + 1, points[:, 1].max()
        ways = []
        for y in np.arange(near, far + 1) - 0.5:  # where the outline meets the middle of each strip
            crossed = [
                a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
                for a, b in zip(points, np.roll(points, -1, axis=0), strict=True)
                if min(a[1], b[1]) <= y <= max(a[1], b[1]) and a[1] != b[1]
            ]
            ways.append((int(y + 0.5), round(min(crossed)), round(max(crossed))))
        drawn.add(frozenset(ways))
    expected = defaultdict(set)
    far = schedule.network.distance(schedule.collective.root, np.arange(schedule.network.nodes))
    for (message, below), steps in expanded(schedule).items():
        assert max(steps) - min(steps) + 1 == len(steps)
        expected[message].add((int(far[below]), min(steps), max(steps) + 1))
    assert len(expected) == (schedule.collective.lengths.flits > 0).sum()
    assert drawn == {frozenset(ways) for ways in expected.values()}


@pytest.mark.slow
def test_there_is_an_arrow_for_each_control_flit_and_a_word_for_each_kind(schedule):
    figure = on_page(draw_parallelograms, schedule)
    rows, arrows = schedule.rows, defaultdict(list)
    for axes in figure.axes:
        for item in axes.collections:
            if (gid := item.get_gid() or "").startswith("controls-"):
                arrows[int(gid.split("-")[1])] += item.get_segments()
    assert sum(map(len, arrows.values())) == rows.control.sum()
    places = sorted((int(min(a[0], b[0])), int(max(a[1], b[1]) + 1)) for some in arrows.values() for a, b in some)
    control = np.flatnonzero(rows.control).tolist()
    assert places == sorted((int(rows.step[r]), below_of(schedule, r)[1]) for r in control)
    for what, some in arrows.items():
        assert all((a[1] > b[1]) == (what == CERTIFICATE) for a, b in some)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sum(any(name.startswith(word) for word in CONTROLS) for name in legend) == len(arrows)
    assert any(f"lower bound: {bound_of(schedule)} step" in name for name in legend)


@pytest.mark.long
def test_long_and_large_schedules_are_scaled_and_cut():
    lengths = [0, *(i * 7 % 5 for i in range(299))]
    schedule = plan("gatherv", "path:300", lengths=lengths, model="bufferless", builder="shoulder-tap")
    text = lanes_text(schedule)
    assert "a column is 7 steps" in text
    assert "left out: the last 260 nodes, of which 52 null" in text
    assert len(text.splitlines()) < 50
    assert max(map(len, text.splitlines())) < 160
    assert len(polygons(on_page(draw_parallelograms, schedule))) == sum(length > 0 for length in lengths)
    far = plan("gatherv", "path:2100", lengths=[0, *[1] * 2099], model="bufferless", builder="shoulder-tap")
    with pytest.raises(TreecastError, match="cannot be drawn, 2,000,000 at most: plan it on a smaller network"):
        on_page(draw_parallelograms, far)
