import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treecast.ragged import explode, places, ranks, starts

tables = st.lists(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), max_size=5), max_size=8)


@given(tables)
def test_starts_and_places_are_those_of_rows_laid_one_behind_the_other(table):
    count = [len(row) for row in table]
    assert starts(count).tolist() == [sum(count[:i]) for i in range(len(count) + 1)]
    assert places(count).tolist() == [i for row in table for i in range(len(row))]


@given(tables, st.data())
def test_explode_lists_the_entries_of_rows_in_any_order_with_repeats(table, data):
    flat = [entry for row in table for entry in row]
    which = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=9)) if table else []
    of, entry = explode(starts([len(row) for row in table]), np.array(which, np.int64))
    assert of.tolist() == [i for i, row in enumerate(which) for _ in table[row]]
    assert [flat[i] for i in entry] == [e for row in which for e in table[row]]


@given(tables)
def test_rows_rank_as_python_compares_tuples(table):
    flat = np.array([entry for row in table for entry in row], np.int64).reshape(-1, 2)
    expected = sorted({tuple(row) for row in table})
    found = ranks(starts([len(row) for row in table]), flat[:, 0], flat[:, 1])
    assert found.tolist() == [expected.index(tuple(row)) for row in table]


def test_long_rows_rank_too():
    ones = [[(1, 1)] * n for n in (1000, 999, 1, 0, 1000)]
    flat = np.ones(3000, np.int64)
    assert ranks(starts([len(row) for row in ones]), flat).tolist() == [3, 2, 1, 0, 3]
