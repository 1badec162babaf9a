"""Blocks whose lengths others do not know: rows that all ranks pack are what every rank wants, whatever the lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import PlanError
from treecast.running.algorithms.little import of_alltoall, of_gather, of_scatter
from treecast.running.algorithms.packed import ROOM, PackedCall
from treecast.running.transport.base import SMALL

SIZE = 3
LENGTHS = st.lists(st.integers(0, 500), min_size=SIZE, max_size=SIZE)


def packed(plan):
    found = PackedCall.of(plan, SIZE)
    assert found is not None
    return found


def blocks_of(lengths):
    return [[bytes([16 * s + t + 1]) * n for t, n in enumerate(row)] for s, row in enumerate(lengths)]


def rows_of(calls, length):
    return {rank: call.row(length) for rank, call in enumerate(calls) if call.plan.mine is not None}


@given(st.lists(LENGTHS, min_size=SIZE, max_size=SIZE))
def test_every_rank_finds_its_blocks_in_the_rows_of_all(lengths):
    blocks = blocks_of(lengths)
    places = [[bytearray(n) for n in column] for column in zip(*lengths, strict=True)]
    calls = [packed(of_alltoall(me, SIZE, blocks[me], places[me])) for me in range(SIZE)]
    (length,) = {call.next_length(ROOM, rows_of(calls, ROOM)) for call in calls}  # alike at all
    assert length == max(ROOM, *[len(call.head) + sum(row) for call, row in zip(calls, lengths, strict=True)])
    rows = rows_of(calls, length)
    assert {*map(len, rows.values())} == {length}
    assert {call.next_length(length, rows) for call in calls} == {length}
    for me, call in enumerate(calls):
        call.take(rows)
        assert places[me] == [row[me] for row in blocks]


@given(LENGTHS, st.integers(0, SIZE - 1))
def test_the_root_gives_or_takes_alone(lengths, root):
    blocks = blocks_of([lengths])[0]
    places = [bytearray(n) for n in lengths]
    outgoing = [blocks if me == root else None for me in range(SIZE)]
    calls = [packed(of_scatter(me, SIZE, outgoing[me], places[me], root, False)) for me in range(SIZE)]
    (row,) = rows_of(calls, 4 * ROOM).values()
    for call in calls:
        call.take({root: row})
    assert places == blocks
    incoming = [[bytearray(n) for n in lengths] if me == root else None for me in range(SIZE)]
    calls = [packed(of_gather(me, SIZE, blocks[me], incoming[me], root, False)) for me in range(SIZE)]
    for call in calls:
        call.take(rows_of(calls, 4 * ROOM))
    assert incoming[root] == blocks


def test_rows_that_are_too_long_go_another_way():
    long, short = b"a" * (SMALL // SIZE), b"b"
    calls = [packed(of_gather(me, SIZE, long if me == 1 else short, None, 0, False)) for me in range(SIZE)]
    (length,) = {call.next_length(ROOM, rows_of(calls, ROOM)) for call in calls}
    assert length == len(calls[1].head) + len(long)
    assert not any(call.is_little(length) for call in calls)
    assert all(call.is_little(ROOM) for call in calls)
    assert PackedCall.of(of_gather(0, SMALL // ROOM + 1, short, None, 0, False), SMALL // ROOM + 1) is None
    assert PackedCall.of(of_gather(0, SIZE, short, None, 0, True), SIZE) is None  # all lengths are known to be one


@pytest.mark.parametrize("room", [0, 4, 6])
def test_a_block_that_is_not_as_long_as_its_place_is_refused_before_any_is_taken(room):
    sent = [b"ab", b"abcde", b"x"]
    places = [bytearray(2), bytearray(room), bytearray(1)]
    calls = [packed(of_gather(me, SIZE, sent[me], places if me == 0 else None, 0, False)) for me in range(SIZE)]
    calls[0] = calls[0]._replace(plan=calls[0].plan._replace(mine=[sent[0]]))
    with pytest.raises(PlanError, match=f"5 bytes come from rank 1 where {room} are received"):
        calls[0].take(rows_of(calls, ROOM))
    assert places == [bytearray(2), bytearray(room), bytearray(1)]
