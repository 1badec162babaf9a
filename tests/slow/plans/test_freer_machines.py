"""A schedule for one machine holds on every freer one: so a freer machine takes no more steps, where jobs are small."""

import pytest

from tests.plans.test_freer_machines import check


@pytest.mark.parametrize("messages", [1, 4])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "allgather", "alltoall", "allreduce"])
@pytest.mark.parametrize("spec", ["petersen", "debruijn:2,3", "mesh:3x3", "hypercube:3", "fat-tree:2"])
def test_a_freer_machine_takes_no_more_steps(spec: str, kind: str, messages: int) -> None:
    check(kind, spec, messages)
