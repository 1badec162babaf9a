"""What all living ranks know alike: with silent ranks and lost messages, without MPI."""

import itertools
import random

import pytest

from tests.mpi.ways.fabric import together
from treecast.errors import DeliveryError
from treecast.mpi.ways import personal, spread
from treecast.mpi.ways.outcome import Shape, settle
from treecast.mpi.ways.views import State, bits_of, ranks_of, see_all

QUIET = 0.4  # seconds


def seen_by(call):
    """Return the states that a rank sees, and what it knows afterwards."""
    states = see_all(call, {(call.rank + 1) % call.size})
    return states, sorted(call.cuts), call.dead


def check_equal(size, found, silent):
    living = {rank: seen for rank, seen in found.items() if rank not in silent}
    assert not any(isinstance(seen, Exception) for seen in living.values()), living
    assert len({str(seen) for seen in living.values()}) == 1, living
    states, cuts, dead = next(iter(living.values()))
    assert set(living) <= set(states)
    for rank, state in states.items():
        assert ranks_of(state.lacks) == [(rank + 1) % size]
    assert not dead
    gone = set(range(size)) - set(states)
    assert {(min(a, b), max(a, b)) for a in gone for b in states} <= set(cuts)


@pytest.mark.parametrize("last", range(0, 8, 3))
def test_a_rank_falls_silent_in_mid_flood(last):
    check_equal(4, together(4, 1, QUIET, seen_by, last={2: last}), {2})


@pytest.mark.long
@pytest.mark.parametrize("rank", range(4))
def test_each_rank_falls_silent_after_each_message(rank):
    for last in range(7):
        check_equal(4, together(4, 1, QUIET, seen_by, last={rank: last}), {rank})


@pytest.mark.long
def test_two_of_five_ranks_fall_silent():
    """After any numbers of messages: chains, in which one is heard by the other alone, are among them."""
    draw = random.Random(3)
    for a, b in itertools.permutations(range(5), 2):
        for _ in range(3):
            last = {a: draw.randrange(13), b: draw.randrange(13)}
            check_equal(5, together(5, 2, QUIET, seen_by, last=last), {a, b})


def test_more_ranks_than_one_agreement_has_bits():
    found = together(40, 1, None, seen_by)
    assert len(found) == 40
    check_equal(40, found, set())


def test_cut_links_hide_nobody():
    found = together(5, 2, QUIET, seen_by, cut=[(0, 1), (3, 1)])
    for rank, (states, cuts, dead) in found.items():
        assert (sorted(states), cuts, dead) == ([0, 1, 2, 3, 4], [], set()), rank
        assert states == {r: State(bits_of([(r + 1) % 5])) for r in range(5)}


def test_a_rank_that_nobody_hears_knows_it():
    """The others go on without it, with one outcome."""
    found = together(
        4, 1, QUIET, lambda call: settle(call, set(), Shape("broadcast", source=0)), cut=[(3, 0), (3, 1), (3, 2)]
    )
    assert [found[rank] for rank in range(3)] == [(), (), ()]
    assert isinstance(found[3], DeliveryError)
    assert "cut off" in str(found[3])


@pytest.mark.parametrize("cut", [[(0, 1)], [(0, 2), (0, 3)], [(0, 1), (2, 3)]])
def test_data_goes_past_cut_links(cut):
    """Of broadcasts from a hub whose links are cut, and pieces that have one way left, or two."""

    def job(call):
        data = bytearray(b"root" if call.rank == 0 else b"none")
        first = spread.broadcast(call, data, 0)
        call.begin()
        pieces = [bytes([call.rank, other]) * (1 + other) for other in range(call.size)]
        places = [bytearray(2 + 2 * call.rank) for _ in range(call.size)]
        second = personal.alltoall(call, pieces, places)
        return first, bytes(data), second, [bytes(place) for place in places]

    found = together(5, 2, QUIET, job, cut=cut)
    for rank, seen in found.items():
        assert seen == ((), b"root", (), [bytes([other, rank]) * (1 + rank) for other in range(5)]), seen


@pytest.mark.parametrize(("agreement", "lacks"), [(1, {2}), (0, set())])
def test_a_call_beside_the_program_asks_for_no_agreement(agreement, lacks):
    """Whatever MPI's agreement says then, that all is well or that nothing is; calls that ask for it would believe it."""

    def outcomes(beside):
        def job(call):
            call.beside = beside
            return settle(call, lacks if call.rank == 1 else set())

        return [str(seen) for seen in together(4, 1, None, job, agreement=agreement).values()]

    right = "transfer: rank 1 lacks the data of rank 2" if lacks else "()"
    assert outcomes(beside=True) == [right] * 4
    assert right not in outcomes(beside=False)
