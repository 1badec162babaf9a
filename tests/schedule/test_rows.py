"""Rows, their canonical form, what they carry and when: held against plain loops over lists."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import sends_of
from tests.strategies import arbitrary, planned_of
from treecast.errors import ScheduleError
from treecast.plans import plan
from treecast.schedule import COLUMNS, Payloads, Rows


@st.composite
def ranges(draw):
    """The ranges of a payload, disjoint, in any order; some continue one another."""
    ends = sorted(draw(st.sets(st.integers(0, 9), max_size=6)))
    every = list(pairwise(ends))
    return draw(st.permutations(draw(st.lists(st.sampled_from(every), unique=True)) if every else []))


@st.composite
def tables(draw):
    """Columns of rows in any order, often alike, and a table of payloads, some of them equal or of no row."""
    payloads = draw(st.lists(ranges(), min_size=1, max_size=5))
    rows = []
    for _ in range(draw(st.integers(0, 10))):
        number = draw(st.integers(0, len(payloads) - 1))
        length = sum(b - a for a, b in payloads[number])
        steps = max(length - 1, 0) * draw(st.sampled_from([0, 1, 1, 2, 3])) + 1
        few = [draw(st.integers(0, most)) for most in (1, 2, 2, 1)]
        rows.append((few[0], steps, *few[1:], draw(st.integers(-1, 1)), number))
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    return payloads, dict(zip(COLUMNS, columns, strict=True))


def joined(payload):
    """A payload with ranges that continue the one before joined, by a plain loop."""
    found = []
    for first, stop in payload:
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((first, stop))
    return tuple(found)


def said(rows):
    """Every row as a tuple of its columns, its payload written out, in the order of the rows."""
    columns = [getattr(rows, name).tolist() for name in COLUMNS if name != "payload"]
    return [(*row, tuple(rows.payloads.ranges(p))) for *row, p in zip(*columns, rows.payload.tolist(), strict=True)]


@given(tables())
def test_the_canonical_form_is_sorted_rows_and_payloads_by_first_use(table):
    payloads, columns = table
    rows = Rows.of(Payloads.of(payloads), **columns)
    given_rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    expected = [(*row, joined(payloads[p])) for *row, p in given_rows]
    # by step, src, dst, tree, then by all else that a row says
    expected.sort(key=lambda row: (row[0], row[2], row[3], row[5], row[4], row[1], row[6]))
    assert said(rows) == expected
    order = list(dict.fromkeys(row[6] for row in expected))
    assert [tuple(rows.payloads.ranges(p)) for p in range(len(rows.payloads))] == order
    assert rows.payload.tolist() == [order.index(row[6]) for row in expected]


@given(tables(), st.data())
def test_taking_rows_is_making_rows_of_the_same_rows(table, data):
    payloads, columns = table
    rows = Rows.of(Payloads.of(payloads), **columns)
    n = len(rows)
    bound = st.none() | st.integers(-n - 1, n + 1)
    where = data.draw(
        st.lists(st.booleans(), min_size=n, max_size=n).map(lambda mask: np.array(mask, bool))
        | st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1]))
        | st.lists(st.integers(-n, n - 1), max_size=12).map(lambda index: np.array(index, np.int64))
        if n
        else st.just(slice(None))
    )
    found = rows.take(where)
    expected = Rows.of(rows.payloads, **{name: column[where] for name, column in rows.columns().items()})
    assert found == expected
    for name in COLUMNS:
        assert getattr(found, name).dtype == getattr(expected, name).dtype
        assert not getattr(found, name).flags.writeable


def test_nodes_are_as_narrow_after_taking_as_they_are_in_new_rows():
    columns = {name: [0, 0] for name in COLUMNS} | {"steps": [1, 1], "src": [0, 2**33]}
    rows = Rows.of(Payloads.of([[(0, 1)]]), **columns)
    assert rows.src.dtype == np.int64
    assert rows.take(slice(0, 1)).src.dtype == rows.take(slice(0, 1)).dst.dtype == np.int32
    assert rows.take(slice(1, 2)).src.dtype == rows.take(slice(1, 2)).dst.dtype == np.int64


@given(tables())
def test_pieces_are_every_range_of_every_row(table):
    payloads, columns = table
    rows = Rows.of(Payloads.of(payloads), **columns)
    expected = []
    for row, payload in enumerate(rows.payload.tolist()):
        place = 0
        for first, stop in rows.payloads.ranges(payload):
            expected.append((row, first, stop, place))
            place += stop - first
    assert list(zip(*(column.tolist() for column in rows.pieces), strict=True)) == expected


@given(tables())
def test_the_pace_of_a_row_is_that_of_its_chunks(table):
    payloads, columns = table
    rows = Rows.of(Payloads.of(payloads), **columns)
    chunks = [sum(b - a for a, b in rows.payloads.ranges(p)) for p in rows.payload.tolist()]
    for pace, steps, length, messages in zip(
        rows.pace.tolist(), rows.steps.tolist(), chunks, rows.messages.tolist(), strict=True
    ):
        assert steps == max(length - 1, 0) * pace + 1
        assert length > 1 or pace == 1
        assert messages == (1 if pace == 0 else max(length, 1))


@given(tables())
def test_runs_are_pieces_with_paced_streams_cut_into_chunks(table):
    payloads, columns = table
    rows = Rows.of(Payloads.of(payloads), **columns)
    expected = []
    for row, first, stop, place in zip(*(column.tolist() for column in rows.pieces), strict=True):
        if rows.pace[row] > 1:
            expected += [(row, c, c + 1, place + c - first) for c in range(first, stop)]
        else:
            expected.append((row, first, stop, place))
    assert list(zip(*(column.tolist() for column in rows.runs), strict=True)) == expected


@given(arbitrary() | planned_of())
def test_pieces_leave_when_their_chunks_are_sent(schedule):
    schedule = schedule.of_node_zero()
    rows, piece = schedule.rows, schedule.rows.pieces
    found = []
    for row, first, stop, place in zip(*(column.tolist() for column in piece), strict=True):
        for c in range(first, stop):
            step = rows.leaves(np.array([row]), np.array([place + c - first]))
            found.append((int(step[0]), c, row))
    assert sorted(found) == sorted((step, chunk, row) for step, _, _, _, _, chunk, row in sends_of(schedule))


@given(st.lists(ranges(), max_size=5), st.data())
def test_tables_of_payloads_are_taken_and_laid_together(payloads, data):
    table = Payloads.of(payloads)
    lists = [table.ranges(p) for p in range(len(table))]
    assert lists == [list(payload) for payload in payloads]
    which = data.draw(st.lists(st.integers(0, len(payloads) - 1), max_size=6)) if payloads else []
    taken = table.take(np.array(which, np.int64))
    assert [taken.ranges(p) for p in range(len(taken))] == [lists[p] for p in which]
    both = Payloads.concatenated([table, taken.shifted(3)])
    assert [both.ranges(p) for p in range(len(both))] == lists + [[(a + 3, b + 3) for a, b in lists[p]] for p in which]
    assert table.lengths.tolist() == [sum(b - a for a, b in payload) for payload in payloads]
    one_each = Payloads.of_ranges(table.first, table.stop)
    assert [one_each.ranges(p) for p in range(len(one_each))] == [[r] for payload in lists for r in payload]


def test_a_chunk_that_is_in_a_payload_twice_is_named():
    columns = {name: [0] for name in COLUMNS} | {"steps": [1]}
    for payload in ([(4, 9), (0, 5)], [(0, 2), (4, 9), (4, 5)]):
        with pytest.raises(ScheduleError, match="a payload holds chunk 4 twice"):
            Rows.of(Payloads.of([[(0, 1)], payload]), **columns | {"payload": [1]})
        assert len(Rows.of(Payloads.of([[(0, 1)], payload]), **columns)) == 1  # no row has it


def test_the_rows_of_a_node_are_those_in_which_it_takes_part():
    rows = plan("alltoall", "star:4", messages=2).plain().rows
    mask = (rows.src == 5) | (rows.dst == 5)
    assert rows.take(mask) == Rows.of(rows.payloads, **{n: c[mask] for n, c in rows.columns().items()})
    assert said(rows.take(mask)) == [row for row, mine in zip(said(rows), mask, strict=True) if mine]
