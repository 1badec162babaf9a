"""Exact sums: against whole numbers, of all bit patterns, in every order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast import Accumulator
from treecast.compiled import policy
from treecast.errors import PlanError
from treecast.running.algorithms.exact import Exact, add_slowly
from treecast.running.algorithms.kernels import sums as kernels
from treecast.running.algorithms.sums import Sums, fold

TYPES = {"float16": (11, "u2"), "bfloat16": (8, "u2"), "float32": (24, "u4"), "float64": (53, "u8")}
"""The bits of a fraction, with the hidden one, and whole numbers of the same length."""


def cases(name, ranks, count, random):
    """Return bit patterns (ranks, count): a kind of trouble for each block of columns."""
    digits, word = TYPES[name]
    bits = 8 * np.dtype(word).itemsize
    most = (1 << (bits - digits)) - 1  # the exponent of infinities

    def pack(sign, exponent, fraction):
        return (
            sign.astype(np.uint64) << np.uint64(bits - 1)
            | exponent.astype(np.uint64) << np.uint64(digits - 1)
            | fraction.astype(np.uint64)
        )

    def some(low, high, shape=(ranks, count)):
        return random.integers(low, high, shape, np.uint64)

    sign, fraction, bias = some(0, 2), some(0, 1 << (digits - 1)), most // 2
    kinds = [
        some(0, 1 << bits)
        if bits < 64
        else random.integers(0, (1 << 64) - 1, (ranks, count), np.uint64, endpoint=True),
        pack(sign, some(bias - 2, bias + 2), fraction),
        pack(sign, some(0, 3), fraction),  # subnormals, and near them
        pack(sign, some(most - 3, most), fraction),  # overflow
        pack(sign, some(bias - min(60, bias - 1), bias + min(60, most - bias)), some(0, 2)),  # ties
        pack(sign, some(0, 1), some(0, 1)),  # zeros
        pack(sign, some(most - 2, most + 1), some(0, 2) * some(0, 2)),  # infinities and nan
    ]
    which = random.integers(0, len(kinds), count)
    found = np.choose(which, kinds) if ranks == 1 else np.stack([kinds[k][:, j] for j, k in enumerate(which)], 1)
    if ranks > 2:  # what cancels
        half = random.random(count) < 0.4
        found[-1, half] = found[0, half] ^ np.uint64(1 << (bits - 1))
    return found.astype(word)


def value(name, pattern):
    if name == "bfloat16":
        return float(np.array([int(pattern) << 16], np.uint32).view(np.float32)[0])
    return float(np.array([pattern], TYPES[name][1]).view(name)[0])


def rounded(name, values):
    """Return the bits of the true sum, rounded once to nearest even, by whole numbers, or those of the one nan."""
    digits, word = TYPES[name]
    bits = 8 * np.dtype(word).itemsize
    bias = (1 << (bits - digits - 1)) - 1
    infinity = (2 * bias + 1) << (digits - 1)
    if not all(map(math.isfinite, values)):
        ends = {each for each in values if not math.isfinite(each)}
        if ends in ({math.inf}, {-math.inf}):
            return infinity | (min(ends) < 0) << (bits - 1)
        return infinity | 1 << (digits - 2)
    least = bias + digits - 2  # all are multiples of 2^-least
    total = sum(top * ((1 << least) // bottom) for top, bottom in (each.as_integer_ratio() for each in values))
    if not total:
        return (1 << (bits - 1)) * all(math.copysign(1, each) < 0 for each in values)
    over = max(0, abs(total).bit_length() - digits)
    whole = round(Fraction(abs(total), 1 << over))  # to even
    return min(whole + (over << (digits - 1)), infinity) | (total < 0) << (bits - 1)


def check(name, ranks, count, seed):
    random = np.random.default_rng(seed)
    given = cases(name, ranks, count, random)
    parts = [memoryview(given[k].tobytes()).cast("B") for k in range(ranks)]
    parts[-1] = memoryview(bytearray(parts[-1]))
    Exact(name).fold(parts)
    found = np.frombuffer(parts[-1], TYPES[name][1])
    for j in range(count):
        wanted = rounded(name, values := [value(name, each) for each in given[:, j]])
        assert found[j] == wanted, (values, found[j], wanted)
    return given, found


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 16])
def test_sums_are_true_and_rounded_once(name, ranks):
    contributions, found = check(name, ranks, 150, ranks)
    parts = [memoryview(bytearray(row.tobytes())) for row in np.random.default_rng(1).permutation(contributions)]
    Exact(name).fold(parts)
    assert bytes(parts[-1]) == found.tobytes()


@pytest.mark.parametrize(("ranks", "count"), [(3, 1500), (16, 400)])
@pytest.mark.parametrize("chosen", ["interpret", "compile"])
def test_large_sums_are_true(ranks, count, chosen):
    """As many as a kernel adds; some blocks take no second look, or some numbers in them do."""
    with policy(chosen):
        check("float32", ranks, count, 7)
    random = np.random.default_rng(ranks)
    widths = np.repeat([0, 20, 40, 60], count)  # bits; a float64 holds few of the last
    given = (random.standard_normal((ranks, 4 * count)) * 2.0 ** random.integers(0, 1 + widths)).astype(np.float32)
    parts = [memoryview(bytearray(row.tobytes())) for row in given]
    with policy(chosen):
        Exact("float32").fold(parts)
    right = np.array([math.fsum(column) for column in given.astype(float).T.tolist()]).astype(np.float32)
    assert bytes(parts[-1]) == right.tobytes()


@pytest.mark.parametrize("chosen", ["interpret", "compile"])
def test_sums_that_two_floats_do_not_hold_are_true(chosen):
    """Also where a third float turns a tie of the first two."""
    random = np.random.default_rng(5)
    table = random.standard_normal((2000, 6)) * 2.0 ** random.integers(-1000, 1000, (2000, 6))
    table[:1000, :3] = [1.0, 2.0**-53, 2.0**-120]
    table[:500, 3:] = random.choice([-1, 0, 1], (500, 3)) * [2.0**-53, 2.0**-120, 2.0**-300]
    table[500:1000, 3:] = random.choice([-1, 1], (500, 3)) * 2.0 ** random.integers(-60, 0, (500, 3))
    table[-2:, :3] = [[1.7e308] * 3, [math.inf, 1, 2]]
    total, sign = np.empty((2, len(table)))
    with policy(chosen):
        assert kernels.add_all(random.permuted(table, axis=1), total, sign) == 2
    assert np.isnan(sign).nonzero()[0].tolist() == [1998, 1999]
    for high, left, values in zip(total[:-2], sign[:-2], table[:-2].tolist(), strict=True):
        true = sum(map(Fraction, values))
        assert (high, left) == (float(true), (true > high) - (true < high))


@given(st.data())
def test_sums_of_narrow_numbers_are_float64s(data):
    """In any order, also where all are as far apart as they may be, and each has its first and its last bit."""
    most, ranks = data.draw(st.integers(0, 254)), data.draw(st.integers(1, 40))
    room = 53 - 24 - (ranks - 1).bit_length()
    exponents = st.integers(max(0, most - room), most)
    fractions = st.sampled_from([0, 1, (1 << 23) - 1]) | st.integers(0, (1 << 23) - 1)
    drawn = data.draw(st.lists(st.tuples(exponents, fractions, st.booleans()), min_size=ranks, max_size=ranks))
    bits = np.array([e << 23 | f | sign << 31 for e, f, sign in drawn], np.uint32)
    sizes = bits & kernels.SIZE
    narrow = kernels.is_narrow(int(sizes.max()), int((sizes - kernels.ONE).min()), room)
    assert narrow
    values, total = bits.view(np.float32).tolist(), 0.0
    for value in values:
        total += value
    assert Fraction(total) == sum(map(Fraction, values))
    assert not kernels.is_narrow(0x7F800000, 0, 53)


def test_parts_of_complex_numbers_and_other_orders_of_bytes():
    for dtype in ("c8", "c16", ">f4", ">c16", ">f8"):
        rows = np.array([[1e7, 3], [0.25, 1], [-1e7, 1]]).astype(dtype)
        parts = [memoryview(bytearray(row.tobytes())) for row in rows]
        Exact(dtype).fold(parts)
        assert np.frombuffer(parts[-1], dtype).tolist() == [0.25, 5]


def test_a_tie_of_bfloat16_that_is_none():
    values = [1.0, 2.0**-8, 2.0**-40]  # 1 + half a unit, and a little
    rows = [np.array([value]).astype(np.float32).view(np.uint32) >> 16 for value in values]
    parts = [memoryview(bytearray(row.astype(np.uint16).tobytes())) for row in rows]
    Exact("bfloat16").fold(parts)
    assert value("bfloat16", np.frombuffer(parts[-1], np.uint16)[0]) == 1 + 2.0**-7


def test_sums_that_overflow_on_the_way():
    assert add_slowly([1.7e308] * 3 + [-1.7e308] * 3 + [2.5]) == (2.5, 0.0)
    assert add_slowly([1.7e308, 1.7e308])[0] == math.inf
    assert math.isnan(add_slowly([math.inf, -math.inf])[0])


def test_no_contributions_have_no_sum():
    """As at a rank that passes its contribution on to one that sums for all."""
    for spelled in ("<f2", "<f4", "<f8", "bfloat16"):
        fold(Sums(None, None, 3, bits="exact", exact=Exact(spelled)), [], 3)


def test_an_accumulator_takes_what_is_like_the_first():
    total = Accumulator(np.zeros(3, np.float32))
    total.add(np.array([1e8, 1, 2], np.float32))
    state = total.state_dict()
    again = Accumulator(np.zeros(3, np.float32))
    again.load_state_dict(state)
    assert np.array_equal(again.rows, total.rows)
    for other in (np.zeros(5, np.float32), np.zeros(3), np.zeros((1, 3), np.float32)):
        with pytest.raises(PlanError, match=r"an Accumulator of .* takes no float32 \(3,\)"):
            Accumulator(other).load_state_dict(state)
        with pytest.raises(PlanError, match="takes no"):
            total.add(other)
    loss = Accumulator(np.float32(0))
    for each in (1e8, 1, -1e8):
        loss.add(np.float32(each))
    assert [row.tolist() for row in loss.rows] == [[1.0]]
    for other in ([1.0], 3.0, None):
        with pytest.raises(PlanError, match="adds arrays of numpy and tensors of torch, not"):
            total.add(other)


def merged(name, parts, random):
    """Add contributions, pieces of bytes, as partial sums along a random tree; return the sums, and which are marked."""
    exact = Exact(name)
    partial = [exact.begin(part) for part in parts]
    while len(partial) > 1:
        one, two = random.choice(len(partial), 2, replace=False)
        exact.merge(partial[one], partial[two])
        del partial[two]
    exact.end(total := np.empty(len(parts[0]), np.uint8), partial[0])
    return total, exact


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("chosen", ["interpret", "compile"])
def test_partial_sums_are_true_or_marked_along_every_tree(name, ranks, chosen):
    random, count = np.random.default_rng(ranks), 200
    given = cases(name, ranks, count, random)
    with policy(chosen):
        total, exact = merged(name, [memoryview(row.tobytes()) for row in given], random)
    marked, found = set(exact.marked(total.data, count).tolist()), total.view(TYPES[name][1])
    assert ranks > 1 or not marked
    for j in set(range(count)) - marked:
        assert found[j] == rounded(name, [value(name, each) for each in given[:, j]])
    for j in marked:  # no nan and no infinity alone marks a sum
        assert any(math.isfinite(value(name, each)) and value(name, each) for each in given[:, j])


@pytest.mark.parametrize("dtype", ["f4", ">f4", "f8", ">c8", "c16"])
def test_few_sums_of_numbers_of_one_width_are_marked(dtype):
    random = np.random.default_rng(3)
    rows = random.standard_normal((8, 3000)).astype(dtype)
    rows[2, 7], rows[5, 7] = 1e-30, 1e30  # which two float64 do not hold beside the others
    total, exact = merged(dtype, [memoryview(row.tobytes()) for row in rows], random)
    assert exact.marked(total.data, 3000).tolist() == [7]
    others = np.delete(np.arange(3000), 7)
    Exact(dtype).fold(parts := [memoryview(bytearray(row.tobytes())) for row in rows])
    assert (total.view(dtype)[others] == np.frombuffer(parts[-1], dtype)[others]).all()


@pytest.mark.long
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("seed", range(20))
def test_a_million_sums_are_true_and_rounded_once(name, seed):
    for ranks in (2, 3, 4, 8, 16):
        check(name, ranks, 10_000, 100 * seed + ranks)
