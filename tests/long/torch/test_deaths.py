"""Training whose ranks die or stop at every frame of a step: survivors are bit-equal, and as a serial run without the dead."""

import signal

import pytest

from tests.torch.test_deaths import check, frames


@pytest.mark.parametrize("size", [3, 4, 5])
def test_each_rank_dies_at_every_frame_of_a_step(size):
    for victim in range(size):
        for frame in range(1, frames(size, victim) + 1):
            check(size, victim, frame)


@pytest.mark.parametrize("size", [3, 4])
def test_each_rank_stops_at_every_frame_of_a_step(size):
    for victim in range(size):
        for frame in range(1, frames(size, victim) + 1):
            check(size, victim, frame, signal.SIGSTOP, deadline=1.5)
