"""What a rank holds besides its own data: buffers of chunks that pass, and of copies that it has no use for."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mpi.conftest import ROOT
from treecast.running.engine.memory import Memory, Part
from treecast.running.engine.transfers import Transfer

LARGE = 1 << 16


def memory(sends, places, passing):
    """Return the memory of a rank: chunks with places, and the lengths of those that pass; its sends as (peer, first, stop)."""
    part = Part(places.__getitem__, (), passing=passing.get)
    return Memory(part, [Transfer(True, peer, first, stop, 0, 1, 0, 0, 1) for peer, first, stop in sends])


def test_a_chunk_that_passes_stays_until_its_last_send_is_over():
    of = memory([(1, 5, 6), (2, 5, 6)], {}, {5: 10})
    buffer, lands = of.receive(5, apart=False)
    assert (len(buffer), lands) == (10, False)
    of.keep(5, buffer)
    of.sent(5)
    assert of.view(5) is buffer
    of.sent(5)
    assert of.receive(5, apart=True)[0] is buffer  # the same memory again


def test_what_nobody_is_to_get_any_more_is_not_kept():
    of = memory([(1, 5, 6)], {}, {5: 10})
    buffer, _ = of.receive(5, apart=False)
    of.sent(5)  # given up before the chunk was there
    of.keep(5, buffer)
    assert of.receive(5, apart=True)[0] is buffer


def test_memory_that_mpi_may_still_read_is_not_used_again():
    of = memory([(1, 5, 6), (2, 5, 6)], {}, {5: LARGE})
    buffer, _ = of.receive(5, apart=False)
    of.keep(5, buffer)
    of.sent(5, in_use=True)
    of.sent(5)
    assert of.receive(5, apart=True)[0] is not buffer


def test_a_chunk_with_a_place_lands_there_once():
    place = np.zeros(LARGE, np.uint8)
    of = memory([], {3: place}, {})
    assert not of.waits(3, apart=False)
    own, lands = of.receive(3, apart=False)
    assert own is place
    assert lands
    assert of.waits(3, apart=False)  # it is on its way: another copy of it waits until it is there
    spare, lands = of.receive(3, apart=False)
    assert (len(spare), lands) == (LARGE, False)
    spare[:] = 7
    of.keep(3, spare)
    assert (place == 7).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_no_more_is_lent_than_comes_back(steps):
    """However chunks come and go, the pool is whole again when all sends are over."""
    of = memory([(1, 0, 6)], {}, dict.fromkeys(range(6), LARGE))
    lent, done = {}, set()
    for chunk, gives_up in steps:
        if chunk in lent:
            if gives_up:
                of.give_back(lent.pop(chunk), in_use=True)
            else:
                of.keep(chunk, lent.pop(chunk))
            if chunk not in done:
                of.sent(chunk, in_use=gives_up)
                done.add(chunk)
        elif chunk not in done:
            lent[chunk] = of.receive(chunk, apart=False)[0]
    for buffer in lent.values():
        of.give_back(buffer, in_use=True)
    room = 0
    while of.has_room:
        of.receive(0, apart=True)
        room += 1
    assert room == 8


@pytest.mark.long
@pytest.mark.parametrize("ranks", [8, 24])
def test_an_alltoall_that_survives_two_failures_takes_little_memory(treecast, ranks):
    """With the buffers themselves, which take 1, that is at most twice of them."""
    cases = ROOT / "tests" / "mpi" / "memory_cases.py"
    done = treecast("launch", "-n", ranks, "--timeout", 900, "--", sys.executable, cases, 8 << 20, 2)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 1


@pytest.mark.long
def test_an_alltoall_that_survives_nothing_takes_none(treecast):
    cases = ROOT / "tests" / "mpi" / "memory_cases.py"
    done = treecast("launch", "-n", 4, "--timeout", 300, "--", sys.executable, cases, 32 << 20, 0)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 0.25
