"""Sums along a chain of the ranks: right, in closed form, and in one order of additions for all chunks."""

import pytest

import treecast
from treecast.errors import PlanError
from treecast.verification.bits import Bits, bits_of_plan


@pytest.mark.parametrize("family", ["ring", "path", "complete"])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("messages", [1, 3])
def test_all_chunks_are_added_in_the_order_of_ranks(family, ranks, messages):
    if family == "ring" and ranks < 3:
        return
    schedule = treecast.plan("allreduce", f"{family}:{ranks}", messages=messages, by_rank=True)
    report = treecast.verify(schedule)
    assert report.holds
    sums = messages * ranks
    assert (report.steps, report.transmissions) == (sums + 2 * ranks - 3, 2 * sums * (ranks - 1))
    assert bits_of_plan(schedule) == Bits(sums, 1, 1, sums, ranks - 1)


@pytest.mark.parametrize("ranks", [4, 9])
def test_many_messages_take_little_more_on_a_ring_than_the_fewest(ranks):
    """2 (N - 1) sends of each sum over 2 N arcs: (N - 1) / N of the sums, at least."""
    schedule = treecast.plan("allreduce", f"ring:{ranks}", messages=64, by_rank=True)
    assert schedule.steps <= 64 * (ranks - 1) * ranks / (ranks - 1) + 2 * ranks


def test_it_is_asked_for_and_needs_links_from_rank_to_rank():
    assert treecast.plan("allreduce", "complete:2").builder != "hamiltonian"
    for spec in ("hypercube:3", "torus:4x4", "fat-tree:2"):
        with pytest.raises(PlanError):
            treecast.plan("allreduce", spec, by_rank=True)
    with pytest.raises(PlanError):  # a cycle has the same name there, and another order of additions
        treecast.plan("allreduce", "ring:5", model="one-port", by_rank=True)
    assert treecast.plan("allreduce", "ring:5", by_rank=True).steps == 12
