"""Machines that are known by name, and twisted tori."""

import pytest

import treecast
from treecast.networks.machines import machines


@pytest.mark.parametrize("name", list(machines()))
def test_every_machine_is_whole_and_planned(name: str) -> None:
    where = treecast.network(f"machine:{name}")
    assert where.connected
    assert where.both_ways
    assert len({where.degree_at(u) for u in where.ranks.tolist()}) == 1 or name in ("mi250x", "tt-galaxy", "tt-loudbox")
    schedule = treecast.plan("allgather" if where.rank_count < 100 else "broadcast", where.spec)
    assert treecast.verify(schedule)
    assert treecast.network(schedule.network.spec) == where
