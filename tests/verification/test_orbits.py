"""Orbits: what the verifier says of the rows of few ranks is what it says of the rows of all."""

from dataclasses import replace

import numpy as np
import pytest

import treecast
from treecast.errors import ScheduleError
from treecast.networks import network
from treecast.networks.symmetry import AbelianSymmetry, Automorphism
from treecast.schedule import Rows

MACHINES = ["all-port", "all-port,half", "all-port,combining", "one-port", "one-port,half", "one-port,partner"]


def changed(schedule, seed):
    """Return an orbit with other steps in some rows, so that rules are broken here and there."""
    chance = np.random.default_rng(seed)
    columns = {name: column.copy() for name, column in schedule.rows.columns().items()}
    some = chance.random(len(schedule.rows)) < chance.choice([0.0, 0.02, 0.5])
    columns["step"][some] = chance.integers(0, schedule.steps, int(some.sum()))
    return replace(schedule, rows=Rows.of(schedule.rows.payloads, **columns), claims=None)


@pytest.mark.parametrize("spec", ["fat-tree:4", "dragonfly:2,1", "dragonfly:2,1,2", "dragonfly:3,1"])
@pytest.mark.parametrize("model", MACHINES)
@pytest.mark.parametrize("seed", range(6))
def test_the_rows_of_few_are_right_exactly_when_those_of_all_are(spec, model, seed):
    orbit = changed(treecast.plan("alltoall", spec, builder="orbits"), seed)
    if seed % 2:  # one row in a step: then even small machines may carry it
        rows = orbit.rows.columns() | {"step": np.arange(len(orbit.rows)) * (1 + seed)}
        orbit = replace(orbit, rows=Rows.of(orbit.rows.payloads, **rows))
    mine, every = treecast.verify(orbit, model), treecast.verify(orbit.plain(), model)
    assert {rule for rule, count in mine.counts.items() if count} == {
        rule for rule, count in every.counts.items() if count
    }


@pytest.mark.parametrize(
    ("image", "order", "why"),
    [
        ([0] * 36, 4, "does not carry nodes"),
        ([1, 0, *range(2, 36)], 3, "is not the unit"),
        ([2, 1, 0, *range(3, 36)], 2, "does not carry arcs"),
        ([1, 0, *range(2, 36)], 2, "does not carry each rank to 2 ranks"),
        ([*range(1, 36), 0], 36, "and ranks to ranks"),
    ],
)
def test_a_symmetry_that_is_none_is_refused(image, order, why):
    where = network("fat-tree:4")
    schedule = treecast.plan("alltoall", where, builder="orbits")
    other = type(where)(4)
    vars(other)["symmetry"] = AbelianSymmetry(other, [Automorphism("wrong", order, np.array(image))])
    wrong = replace(schedule, network=other, rows=schedule.rows.take(slice(0, 3)), claims=None)
    with pytest.raises(ScheduleError, match=why):
        treecast.verify(wrong)
