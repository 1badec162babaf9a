"""``run()`` and ``elect()``: what has bytes is moved as it is, and what has none is refused in one line."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import treecast
from treecast.errors import PlanError

SCHEDULE = treecast.plan("broadcast", "star:4", messages=6, copies=3)
DTYPES = st.one_of(
    arrays.integer_dtypes(), arrays.floating_dtypes(), arrays.complex_number_dtypes(), arrays.boolean_dtypes()
)


@given(arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_an_array_is_moved_byte_by_byte(array):
    done = treecast.run(SCHEDULE, array, ["2134"])
    assert done.size == array.nbytes
    assert done.digest == hashlib.sha256(array.tobytes()).hexdigest()
    assert done.holds


def test_every_node_ends_with_the_bytes_of_the_array():
    array = np.array([1000.5, 2.0])
    assert treecast.run(SCHEDULE, array).digests[7] == hashlib.sha256(array.tobytes()).hexdigest()
    assert treecast.elect(SCHEDULE, array, ["2134"]).size == 16
    assert treecast.run(SCHEDULE, np.zeros(3, "i4, f8")).size == 36
    assert treecast.run(SCHEDULE, memoryview(array)).size == 16
    assert treecast.run(SCHEDULE, bytearray(b"some")).size == 4


@pytest.mark.parametrize(
    ("data", "right"),
    [
        (None, "of type NoneType has no bytes"),
        ("text", r"encode it, as in text.encode\(\)"),
        ([1, 2], "give bytes, or a numpy array"),
        (np.array([1, None]), "array of objects"),
        (np.arange(8)[::2], "ascontiguousarray"),
        (np.ones((2, 3), order="F"), "ascontiguousarray"),
        (np.array(["2026-01-01"], "M8[D]"), "has no bytes to move"),
    ],
)
def test_what_has_no_bytes_is_refused_in_one_line(data, right):
    for judged in (lambda: treecast.run(SCHEDULE, data), lambda: treecast.elect(SCHEDULE, data, ["2134"])):
        with pytest.raises(PlanError, match=rf"^[^\n]*{right}[^\n]*$"):
            judged()
