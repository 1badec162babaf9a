"""Who has to go, what ranks tell one another, and how many messages a call takes when nobody fails."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.scheduler import World
from treecast.running.groups.members import cover, may_go_on
from treecast.running.groups.states import (
    Action,
    Decision,
    State,
    join,
    pack_decision,
    pack_state,
    read_decision,
    read_state,
)
from treecast.running.transport.base import SMALL, FrameError

PAIRS = st.sets(st.sampled_from(list(combinations(range(6), 2))), max_size=9)
BITS = st.integers(0, (1 << 9) - 1)


@given(PAIRS)
def test_as_few_go_as_can_be_and_the_lowest_stay(pairs):
    enough = [set(out) for k in range(7) for out in combinations(range(6), k) if all(set(out) & set(p) for p in pairs)]
    least = [out for out in enough if len(out) == len(enough[0])]
    assert cover(pairs) == max(least, key=sorted)


@given(st.sets(st.integers(0, 7), min_size=1), st.data())
def test_two_parts_never_go_on(members, data):
    ordered = sorted(members)
    part = data.draw(st.sets(st.sampled_from(ordered)))
    assert not (may_go_on(sorted(part), ordered) and may_go_on(sorted(members - part), ordered))


HAS = st.dictionaries(BITS, BITS, max_size=5)


@given(BITS, HAS, BITS, PAIRS)
def test_states_are_read_as_they_were_written(lacks, has, dead, pairs):
    state = State(lacks, has, dead, tuple(sorted(pairs)))
    assert read_state(pack_state(state, 9), 9) == state


@given(st.sampled_from(Action), BITS, BITS, HAS)
def test_decisions_are_read_as_they_were_written(action, out, missing, has):
    decision = Decision(action, out, missing, has)
    assert read_decision(pack_decision(decision, 9), 9) == decision


def test_the_states_of_many_fit_into_a_frame():
    size = 1024
    states = [State(0, {(1 << size) - 1 - (1 << rank): 1 << rank}, 0, ()) for rank in range(size)]
    assert len(pack_state(join(states), size)) <= SMALL
    alike = [State(1 << rank, {(1 << size) - 1: 1 << rank}, 0, ()) for rank in range(size)]
    assert join(alike) == State((1 << size) - 1, {(1 << size) - 1: (1 << size) - 1}, 0, ())


@given(st.binary(max_size=40))
def test_other_bytes_are_no_state(body):
    for read in (read_state, read_decision):
        try:
            read(body, 9)
        except FrameError:
            continue


@pytest.mark.parametrize(("name", "sent"), [("broadcast", 3), ("allgather", 12), ("allreduce", 6), ("barrier", 6)])
def test_a_small_call_takes_no_message_more_than_without_survival(name, sent):
    world = World.of([(name, 0, 1)], 4, relays=True)
    assert world.run() == "fine"
    assert world.net.sent == sent


@pytest.mark.parametrize("name", ["alltoall", "scatter", "gather", "reduce_scatter"])
def test_other_calls_take_a_state_to_the_first_rank_and_its_answer(name):
    world = World.of([(name, 0, 1)], 4)
    assert world.run() == "fine"
    assert world.net.sent == 6 + (12 if name in ("alltoall", "reduce_scatter") else 3)
