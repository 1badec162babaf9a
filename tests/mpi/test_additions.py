"""Sums down trees: equal calls give equal bits, however contributions come."""

import itertools

import numpy as np
import pytest

from treecast.running.engine.memory import Additions, Part
from treecast.running.engine.transfers import Transfer

CONTRIBUTIONS = {4: 1e16, 2: 1.0, 7: -1e16, 5: 1.0}  # by the peer that brings it, in the order of steps
TRANSFERS = [Transfer(False, peer, 0, 3, step, 1, 0, 0, 3) for step, peer in enumerate(CONTRIBUTIONS)]


def additions():
    totals = [np.zeros(1).view(np.uint8) for _ in range(3)]

    def add(into, contribution):
        into.view(float)[:] += contribution.view(float)

    return Additions(
        Part(totals.__getitem__, (), {chunk: len(TRANSFERS) for chunk in range(3)}, add=add), TRANSFERS
    ), totals


@pytest.mark.parametrize("order", [*itertools.permutations(TRANSFERS)])
def test_contributions_are_added_in_the_order_of_the_schedule(order):
    """In whichever they come; and every buffer is given back once."""
    sums, totals = additions()
    for chunk in range(3):
        lent = {transfer: np.array([CONTRIBUTIONS[transfer.peer]]).view(np.uint8) for transfer in order}
        back = [buffer for transfer in order for buffer in sums.take(transfer, chunk, lent[transfer])]
        assert sorted(map(id, back)) == sorted(map(id, lent.values()))
        assert sums.missing[chunk] == 0
        assert totals[chunk].view(float)[0] == ((1e16 + 1.0) - 1e16) + 1.0


@pytest.mark.parametrize("order", [*itertools.permutations(TRANSFERS[1:])])
def test_what_waits_in_a_sum_that_is_lost_is_given_back(order):
    sums, _ = additions()
    first, *later = order
    lent = {transfer: np.zeros(8, np.uint8) for transfer in order}
    assert sums.take(first, 1, lent[first]) == []  # the contribution before is not there
    assert [id(buffer) for buffer in sums.lose(1)] == [id(lent[first])]
    assert [id(buffer) for each in later for buffer in sums.take(each, 1, lent[each])] == [
        id(lent[each]) for each in later
    ]
    assert sums.missing[1] == len(TRANSFERS)
