"""Messages of any length in space and time, as figures and as text: against an expansion of the rows, flit by flit."""

from collections import defaultdict

import numpy as np

from tests.drawing.on_page import on_page
from tests.drawing.test_parallelograms import below_of, bound_of, expanded, polygons
from tests.drawing.test_parallelograms import schedule as schedule
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.passages import CERTIFICATE, CONTROLS


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
