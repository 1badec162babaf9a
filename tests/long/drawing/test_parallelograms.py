"""Messages of any length in space and time, as figures and as text: against an expansion of the rows, flit by flit."""

import pytest

from tests.drawing.on_page import on_page
from tests.drawing.test_parallelograms import polygons
from tests.drawing.test_parallelograms import schedule as schedule
from treecast import plan
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.text import lanes_text
from treecast.errors import TreecastError


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
