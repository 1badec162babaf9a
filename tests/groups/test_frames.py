"""Frames that no rank sends: each is refused as such, or passes; none is an error of the group's own."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.groups.scheduler import NAMES, World
from treecast.running.groups.states import Action, Decision, State, pack_decision, pack_state, read_decision
from treecast.running.transport.base import FrameError, FrameKind, Key

KINDS = (
    FrameKind.STATE,
    FrameKind.DECIDED,
    FrameKind.FETCH,
    FrameKind.ENDED,
    FrameKind.FENCE,
    FrameKind.LEFT,
    FrameKind.BYE,
    FrameKind.UNLIKE,
)
FEW, BIT = st.integers(0, 3), st.integers(0, 1)
KEYS = st.builds(Key, st.sampled_from(KINDS), FEW, BIT, st.sampled_from((0, 0, 2, 3, 1 << 15)), BIT)
BITS = st.integers(0, 255)
HAS = st.dictionaries(BITS, BITS, max_size=3)
BODIES = st.one_of(
    st.binary(max_size=30),
    st.builds(lambda *sets: pack_state(State(*sets, ((0, 1),)), 3), BITS, HAS, BITS),
    st.builds(lambda *sets: pack_decision(Decision(*sets), 3), st.sampled_from(Action), BITS, BITS, HAS),
)


@settings(max_examples=40)
@given(st.sampled_from(NAMES), st.integers(0, 15), st.lists(st.tuples(KEYS, BODIES), max_size=8))
def test_any_frame_is_refused_or_passes(name, turns, frames):
    """They come in the middle of a call, or after it, from a rank that sends them one after another."""
    world = World.of([(name, 0, 9)] * 2, 3)
    for rank in world.ranks:
        rank.go_on()
    for _ in range(turns):
        if (ready := world._choose()) is not None:
            world.net.deliver(*ready)
            for rank in world.ranks:
                rank.go_on()
    group = world.ranks[0].group
    for key, body in frames:
        with suppress(FrameError):
            group.hear(1, key, body)
        world.ranks[0].go_on()


@pytest.mark.parametrize("body", [b"", b"\0", bytes(4), bytes(6), b"\3" + bytes(4)])
def test_a_decision_has_an_action_and_says_who_has_what(body):
    assert read_decision(bytes(5), 3).has == {0: 0}
    with pytest.raises(FrameError):
        read_decision(body, 3)


def test_nobody_is_asked_for_the_data_of_who_is_none():
    world = World.of([("broadcast", 0, 9)], 3)
    assert world.run() == "fine"
    with pytest.raises(FrameError):
        world.ranks[0].group.hear(1, Key(FrameKind.FETCH, 1, about=3), b"")
