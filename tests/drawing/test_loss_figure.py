"""The picture of losses: its curves are the table, and texts have room."""

import numpy as np
import pytest

from tests.drawing.on_page import check_room
from tests.drawing.test_hypercube_figures import by_gid
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


@pytest.mark.slow
@pytest.mark.parametrize("links", [0.0, 0.002])
def test_curves_are_the_losses_and_end_where_they_are_not_known(links):
    plans = [plan("broadcast", "star:4", copies=x) for x in (1, 2, 3)]
    curves = Curves(tuple(reliability(one, 0.01, links, sets=20_000) for one in plans), ("one", "two", "three"))
    figure, factors = drawn(curves), curves.factors()
    check_room(figure)
    for place, one in enumerate(curves.found):
        (line,) = by_gid(figure, f"loss-{place}")
        across, up = line.get_data()
        assert np.count_nonzero(across < 0.0101) == sum(factor <= 1.001 for factor in factors)
        for x, y in zip(across[::6], up[::6], strict=True):
            assert one.loss_times(x / 0.01).estimate == pytest.approx(y)
            assert x <= 0.01 or one.tail_times(x / 0.01) <= 0.1 * y
        (point,) = by_gid(figure, f"given-{place}")
        assert point.get_data()[1] == [one.loss.estimate]
        slope = np.log(up[10] / up[0]) / np.log(across[10] / across[0])
        assert slope == pytest.approx(one.schedule.copies, abs=0.1)
