"""A new carrier is one file: it keeps the laws, and carries out every collective, also when a rank dies in the middle."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.groups.scheduler import NAMES, Call
from tests.transport.toy import Inbox
from treecast.errors import DeliveryError
from treecast.running.groups.group import Group
from treecast.running.groups.terms import Terms
from treecast.running.groups.unlike import called
from treecast.running.laws import transports
from treecast.running.transport.base import FrameKind, carry_out

SIZE, CALLS = 4, 3
FRAMES = (
    FrameKind.STATE,
    FrameKind.DECIDED,
    FrameKind.FETCH,
    FrameKind.ENDED,
    FrameKind.FENCE,
    FrameKind.LEFT,
    FrameKind.BYE,
)


@contextlib.contextmanager
def make(size, deadline):
    inboxes = dict.fromkeys(range(size))
    every = [Inbox(rank, inboxes, deadline) for rank in range(size)]
    try:
        yield every
    finally:
        for each in every:
            each.close()


@pytest.mark.parametrize("name", transports.LAWS)
def test_it_keeps_the_laws(name):
    transports.check_law(name, make)


class DeathError(Exception):
    """Ends a rank at once."""


def be_rank(transport, name, death):
    """Make some calls; return the outcome of each, and whether all results are right. ``death``: the wait at which it ends."""
    group = Group(transport, range(SIZE), terms=Terms(SIZE, None))
    for kind in FRAMES:
        transport.on(kind, group.hear)
    transport.watch(group.lose)
    transport.start()  # no sooner, or the group would miss what has come
    outcomes, right, waits = [], True, 0

    def wait(until):
        nonlocal waits
        waits += 1
        if waits == death:
            transport.close()
            raise DeathError
        transport.wait(until, 30)
        assert until()

    with contextlib.suppress(DeathError), transport.lock:
        for number, each in enumerate([name] * CALLS + ["barrier"]):
            call = Call(group, number, each, 1, 9 if number else 20_000)
            try:
                failed = carry_out(called(group, call.steps), wait)
                right &= bool(call.is_right(failed))
                outcomes.append(failed)
            except DeliveryError as error:
                outcomes.append(str(error))
        return outcomes, right
    return None


@pytest.mark.parametrize("death", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_it_carries_out_every_collective_though_a_rank_dies(name, death):
    with make(SIZE, None) as every, ThreadPoolExecutor(SIZE) as pool:
        found = list(pool.map(lambda each: be_rank(each, name, death if each.rank == 1 else 0), every))
    living = [each for each in found if each is not None]
    assert len(living) >= SIZE - (death > 0)
    assert all(right for _, right in living)
    assert all(outcomes == living[0][0] for outcomes, _ in living)
