"""Training whose ranks die or stop at every frame of a step: survivors are bit-equal, and as a serial run without the dead."""

import signal

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.torch import training_cases as cases  # noqa: E402
from tests.torch.ranks import run  # noqa: E402


def frames(size, victim):
    """Return how many frames a rank sends in a step."""
    return run(size, cases.train, victim, -1)[victim][3]


def check(size, victim, frame, what=signal.SIGKILL, deadline=None):
    """Check what the ranks say when one dies, or stops, at a frame of a step."""
    found = run(size, cases.train, victim, frame, what, deadline=deadline)
    living = [rank for rank in range(size) if rank != victim]
    first = found[living[0]]
    assert found[victim] == (None if what == signal.SIGKILL else "Evicted")
    for rank in living:
        assert found[rank][0] == first[0], (victim, frame, "they differ")
        assert found[rank][2] == (victim,)
    near = [cases.train_alone(size, victim, last) for last in (cases.AT, cases.AT + 1)]
    assert any(torch.allclose(first[1], each, rtol=0, atol=1e-12) for each in near), (victim, frame, "another mean")


def test_without_a_death_it_is_the_serial_run():
    found = run(3, cases.train)
    assert len({each[0] for each in found}) == 1
    assert torch.allclose(found[0][1], cases.train_alone(3), rtol=0, atol=1e-12)
    assert found[0][2] == ()


@pytest.mark.parametrize("victim", range(3))
def test_a_rank_dies_in_a_step(victim):
    last = frames(3, victim)
    assert last > 8  # buffers and several buckets
    for frame in range(1 + victim, last + 1, 5):
        check(3, victim, frame)


@pytest.mark.parametrize("size", [3, 4])
def test_a_rank_stops_in_a_step(size):
    check(size, 1, frames(size, 1) // 2, signal.SIGSTOP, deadline=1.5)


@pytest.mark.long
@pytest.mark.parametrize("size", [3, 4, 5])
def test_each_rank_dies_at_every_frame_of_a_step(size):
    for victim in range(size):
        for frame in range(1, frames(size, victim) + 1):
            check(size, victim, frame)


@pytest.mark.long
@pytest.mark.parametrize("size", [3, 4])
def test_each_rank_stops_at_every_frame_of_a_step(size):
    for victim in range(size):
        for frame in range(1, frames(size, victim) + 1):
            check(size, victim, frame, signal.SIGSTOP, deadline=1.5)
