"""Allreduce by way of one node: right past relays, at the bound where switches form a tree, at any size."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_parting import switched
from tests.networks.test_relays import multigraphs
from tests.plans.whole.all_port.test_through_one_node import SLURM, least
from tests.strategies import examples
from treecast import load, network, plan, run, save, simulate, verify
from treecast.errors import FormatError
from treecast.plans import plan_again


@given(switched(), st.integers(1, 4))
@examples(40)
def test_sums_may_be_completed_by_any_node(graph, messages):
    where = network(graph).adding()
    if where.rank_count == 1:
        return
    schedule = plan("allreduce", where, messages=messages, builder="through-one-node")
    for report in (verify(schedule), verify(schedule, method="expanded")):
        assert report.holds, report.violations
    assert len({node for _, node in schedule.collective.owners}) == 1
    for of, taken in (("steps", schedule.steps), ("transmissions", schedule.transmissions)):
        assert taken >= least(where, messages, of)
    assert simulate(schedule).holds
    assert run(schedule, bytes(range(99))).holds
    assert plan_again(schedule).rows == schedule.rows


@given(multigraphs(most=7, whole=True), st.integers(1, 20))
@examples(100)
def test_no_bound_asks_for_owners_that_are_ranks(graph, messages):
    """Where arcs lead one way it may cost more to complete the sums of a block at its own rank."""
    where = network(graph).adding()
    schedule = plan("allreduce", where, messages=messages)
    assert verify(schedule).holds
    assert schedule.steps >= least(where, messages)


def test_a_file_says_who_owns_the_sums(tmp_path):
    made = plan("allreduce", network(SLURM).adding(), messages=2)
    assert "the sums are completed at switch3" in str(made)
    ((_, switch),) = made.collective.owners
    wrong = replace(made, collective=replace(made.collective, owners=((0, switch), (3, 0))))
    for name in ("plan.tc", "plan.tcb"):
        save(made, tmp_path / name)
        assert load(tmp_path / name) == made
        save(wrong, tmp_path / name)
        assert "once" in {violation.rule for violation in verify(tmp_path / name).violations}


@pytest.mark.parametrize(
    "owners", ["0", ":host0-0", "1:host0-0", "0:host0-0 0:host0-1", "0:nobody", "0:host0-0 99:host0-1"]
)
def test_a_file_with_wrong_owners_is_refused(tmp_path, owners):
    path = tmp_path / "plan.tc"
    save(plan("allreduce", network(SLURM).adding()), path)
    lines = [f"owners {owners}" if line.startswith("owners") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join([lines[0], *lines[2:], ""]))
    with pytest.raises(FormatError, match=r"owner|nobody"):
        load(path)
