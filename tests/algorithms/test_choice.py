"""MIN and MAX of floats: against plain loops, with both zeros, infinities and nans of several kinds, at every place."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from tests.algorithms.test_exact import TYPES, cases, value
from treecast.running.algorithms.choice import Choice


def chosen(name, rows, is_better):
    """Return the bits that are chosen of rows, one number after the other."""
    found = []
    for column in rows.T:
        best = column[0]
        for other in column[1:]:
            mine, theirs = value(name, best), value(name, other)
            if not (math.isnan(mine) or is_better(mine, theirs) or mine == theirs):
                best = other
        found.append(best)
    return found


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(("op", "is_better"), [("MAX", float.__gt__), ("MIN", float.__lt__)])
def test_of_equals_and_of_nans_the_first_is_chosen(name, op, is_better):
    for ranks, count in ((2, 1), (3, 7), (4, 37), (5, 300)):
        rows = cases(name, ranks, count, np.random.default_rng(count))
        zeros = np.array(list(product((0, 1), repeat=ranks))).T << 8 * rows.itemsize - 1
        rows = np.ascontiguousarray(np.concatenate([rows, zeros.astype(rows.dtype)], axis=1))
        wanted = chosen(name, rows, is_better)
        for one, other in pairwise(memoryview(row).cast("B") for row in rows):
            Choice(op, name).reduce_pieces([one, 0, None], [other, 0, None])
        assert rows[-1].tolist() == wanted


@pytest.mark.parametrize("dtype", [">f4", "g"])
def test_other_floats_are_chosen_too(dtype):
    one, other = np.array([-0.0, 2, np.nan, 1], dtype), np.array([0.0, 3, 1, np.nan], dtype)
    Choice("MAX", dtype).reduce_pieces([one.tobytes(), 4, None], [memoryview(other.view("u1")), 4, None])
    assert np.signbit(other[0])
    assert other[1] == 3
    assert np.isnan(other[2:]).all()
