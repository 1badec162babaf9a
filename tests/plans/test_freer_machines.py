"""A schedule for one machine holds on every freer one: so a freer machine takes no more steps, where jobs are small."""

import pytest

from treecast.models import model
from treecast.plans import plan

MACHINES = (
    "all-port",
    "all-port,half",
    "one-port",
    "one-port,half",
    "one-port,combining",
    "one-port,half,combining",
    "whispering",
    "shouting",
    "shouting,half",
)


def check(kind: str, spec: str, messages: int) -> None:
    """Plan a collective on each machine, and compare all that are in order."""
    steps = {name: plan(kind, spec, messages=messages, model=name).steps for name in MACHINES}
    for strict in MACHINES:
        for free in MACHINES:
            if model(strict) <= model(free):
                assert steps[free] <= steps[strict], (strict, free)


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("messages", [1, 4])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "allgather", "alltoall", "allreduce"])
@pytest.mark.parametrize("spec", ["ring:8", "complete:5"])
def test_a_freer_machine_takes_no_more_steps(spec: str, kind: str, messages: int) -> None:
    check(kind, spec, messages)


def test_messages_that_combine_go_together_whatever_their_number() -> None:
    assert plan("allgather", "complete:8", messages=10**6, model="shouting").steps == 1
    assert plan("broadcast", "star:4", messages=10**6, model="shouting").steps == 4


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("messages", [1, 4])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "allgather", "alltoall", "allreduce"])
@pytest.mark.parametrize("spec", ["petersen", "debruijn:2,3", "mesh:3x3", "hypercube:3", "fat-tree:2"])
def test_a_freer_machine_takes_no_more_steps_at_length(spec: str, kind: str, messages: int) -> None:
    check(kind, spec, messages)
