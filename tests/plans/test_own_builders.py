"""Builders that a notebook or program registers for itself, at any time."""

import pytest

import treecast
from treecast.plans import all_builders, registry
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.whole.all_port.broadcast import over_breadth_first_tree
from treecast.schedule import Claims


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    treecast.builders("broadcast", "path:3")  # all of the package are there
    known = list(registry._ENTRIES)
    yield
    registry._ENTRIES[:] = known
    registry.forget()


def register(late):
    @builder("late", "broadcast", under=ALL_PORT, summary="one tree, later", baseline=True)
    def build(job):
        built = over_breadth_first_tree(job)
        columns = built.rows.columns() | {"step": built.rows.step + late}
        rows = treecast.Rows.of(built.rows.payloads, **columns)
        return Built(rows, Claims(built.claims.steps + late, built.claims.transmissions))


def test_a_builder_is_known_from_when_it_is_registered():
    with pytest.raises(treecast.TreecastError, match="there is no builder 'late'"):
        treecast.plan("broadcast", "path:4", builder="late")
    register(2)
    schedule = treecast.plan("broadcast", "path:4", builder="late")
    assert schedule.steps == 5
    assert treecast.verify(schedule).holds
    assert treecast.plan("reduce", "path:4", builder="late").steps == 3  # backwards the wait comes last, and is none


def test_one_that_is_defined_again_takes_the_place_of_the_first():
    register(2)
    count = len(all_builders())
    register(4)
    assert treecast.plan("broadcast", "path:4", builder="late").steps == 7
    assert len(all_builders()) == count
