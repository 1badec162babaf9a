"""The two verifiers agree on machines without buffers: on right schedules, and on those of which rows are moved or gone."""

import numpy as np
import pytest

from tests.bufferless_cases import KINDS, MACHINES, NETWORKS, changed, planned
from treecast import PlanError, verify
from treecast.collectives import Collective
from treecast.models import model
from treecast.networks import network
from treecast.plans.built import rows_between
from treecast.schedule import Payloads, Schedule
from treecast.verification.expanded import check_expanded


def both(schedule, machine):
    """Whether each of the two verifiers accepts a schedule."""
    return verify(schedule, machine).holds, not any(count for count, _ in check_expanded(schedule, machine)[0].values())


def agree(machine, where, kinds):
    """Check that both agree on plans, with buffers and without, and on changed ones."""
    dice, wrong = np.random.default_rng(52), 0
    for kind in kinds:
        try:  # a plan of nodes with buffers waits at times
            right = [planned(kind, NETWORKS[where], each, 2).plain() for each in (machine, "one-port")]
        except PlanError:
            continue
        for schedule in right:
            for each in (schedule, *(changed(schedule, dice) for _ in range(3))):
                fast, slow = both(each, model(machine))
                assert fast == slow, kind
                wrong += not fast
    assert wrong


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("where", NETWORKS)
@pytest.mark.parametrize("machine", [*MACHINES, "bufferless,half"])
def test_both_agree_on_changed_schedules(machine, where):
    agree(machine, where, KINDS)


def test_both_agree_on_few_changed_schedules():
    agree("bufferless", "path:4", ("multicast", "scatter", "gather", "alltoall", "demand"))


def by_hand(where, kind, rows, **more):
    """A schedule of (step, source, target) rows of one chunk each."""
    place = network(NETWORKS[where])
    step, src, dst = np.array(rows).T
    sends = rows_between(place, Payloads.of_ranges([0], [1]), step, src, dst, payload=np.zeros_like(step))
    return Schedule(place, Collective.over(place, kind, **more), model("bufferless-multiport"), sends)


def test_a_node_keeps_what_it_wants_and_passes_on_the_rest_at_once():
    late = [(0, 0, 1), (2, 1, 2), (4, 2, 3)]
    assert both(by_hand("path:4", "broadcast", late), model("bufferless")) == (True, True)
    # only node 3 wants it
    assert both(by_hand("path:4", "multicast", late, targets=(3,)), model("bufferless")) == (False, False)
    # node 2 keeps it, too
    soon = [(0, 0, 1), (1, 1, 2), (4, 2, 3)]
    assert both(by_hand("path:4", "multicast", soon, targets=(2, 3)), model("bufferless")) == (True, True)
