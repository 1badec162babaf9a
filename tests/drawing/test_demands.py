"""Pictures of demands: those that have something and want nothing are its sources, and the title counts its classes."""

import treecast
from treecast.drawing.shapes import centre_of, origins_of


def test_sources_of_a_demand_are_those_that_give_and_want_nothing(tmp_path):
    plan = treecast.plan([([0, 1], [2, 3], 2), (1, 4), (4, 5)], "ring:6")
    assert origins_of(plan) == [0, 1]
    both = treecast.plan([(0, 1), (1, 0)], "ring:4")
    assert origins_of(both) == [centre_of(both)]
    other = treecast.plan("broadcast", "ring:4", root=2)
    assert origins_of(other) == [2]
    for kind in ("network", "space-time"):
        treecast.draw(plan, tmp_path / "demand.svg", kind=kind)
        text = (tmp_path / "demand.svg").read_text()
        assert "4 chunks in 3 classes" in text
        assert "flits" not in text
