"""The picture of losses: its curves are the table, and texts have room."""

import pytest

from tests.drawing.on_page import check_room
from treecast.drawing.figures.charts import draw_losses
from treecast.drawing.registry import View
from treecast.drawing.style import empty_figure
from treecast.errors import FaultError
from treecast.plans import plan
from treecast.simulation.losses import Curves
from treecast.simulation.survival import reliability


def drawn(curves):
    page = empty_figure()
    draw_losses(curves, View(page=page))
    return page


def test_plans_of_different_probabilities_have_no_picture():
    found = [reliability(plan("broadcast", "ring:5"), p) for p in (0.1, 0.2)]
    with pytest.raises(FaultError, match="the same for all plans"):
        drawn(Curves(tuple(found), ("a", "b")))


def test_what_cannot_be_lost_leaves_an_empty_picture():
    found = reliability(plan("broadcast", "complete:3", copies=2), 0.1)
    assert found.loss.high == 0.0
    check_room(drawn(Curves((found,), ("complete",))))
