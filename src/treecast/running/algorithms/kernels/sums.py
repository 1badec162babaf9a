"""Additions that tell what they lose: an exact sum as two float64 for each number, the second with what the first cannot hold.

The error of a sum of two floats is a float, and is found as here (Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B).
"""

from contextlib import suppress
from math import fsum, isfinite, nan
from typing import Any

import numpy as np

from treecast.compiled import compilable, njit

BLOCK = 1024  # sums that are judged together, and fit in a core's first cache
SIZE, ONE = np.uint32(0x7FFFFFFF), np.uint32(1)  # the bits of a float32 without its sign


@compilable
def is_narrow(top: Any, least: Any, room: Any) -> bool:
    """Return whether a float64 holds all sums of some float32, in whatever order.

    ``top``: the most of their bits without the sign, as whole numbers; ``least``: the least of them less 1, which is the most
    for 0. ``room``: how far exponents may be apart, ``53 - 24 - ceil(log2 N)`` of N numbers a sum.

    A float32 of exponent e, in biased bits, is below 2^(e - 126) and a multiple of 2^(e - 150); subnormals are such
    of e = 1. So all sums of N, and of fewer, are multiples of 2^(least - 150) and at most N 2^(top - 126). They are
    float64s, and no addition rounds, if ``N 2^(top - 126) <= 2^53 2^(least - 150)``. A 0 is a multiple of everything,
    and is left out. A sum is -0 where all contributions are, as IEEE 754 adds. Infinities and nans have the largest
    bits, and are never narrow.
    """
    # exponents, biased: bits 23 and more     0xFF: infinities and nans     max(…, 1): subnormals
    return top < 0xFF << 23 and max(top >> 23, 1) - max(least + 1 >> 23, 1) <= room


def _add_narrow(rows: Any, total: Any, lost: Any, room: Any) -> int:
    sizes = rows.view(np.uint32) & SIZE  # - 1 turns 0 into the most of an uint32, so that zeros are no least
    high = rows[0].astype(np.float64)
    # nothing rounds, so rows are added plainly
    if is_narrow(int(sizes.max()), int((sizes - ONE).min()), room):
        for row in rows[1:]:
            high += row
        lost[:], total[:] = False, high
        return 0
    error = np.zeros(len(high))  # else sizes of what additions lose
    for row in rows[1:]:
        t = high + row
        z = t - high
        error += np.abs((high - (t - z)) + (row - z))
        high = t
    # inf - inf is nan, and nan != 0
    lost[:] = np.logical_or.reduceat(error + (high - high) != 0.0, np.arange(0, len(high), BLOCK))
    # casts to float32 round once, at the end
    np.copyto(total, high, "same_kind", where=~np.repeat(lost, BLOCK)[: len(high)])
    return int(lost.sum())


@njit(arrays=True, by_numpy=_add_narrow)
def add_narrow(rows: Any, total: Any, lost: Any, room: Any) -> int:
    """Add rows (ranks, numbers) of float32 in float64, which mostly hold the sums, and round them; return how many are lost.

    Where the numbers of a block are narrow (``is_narrow``, with ``room``) there is nothing to notice; else each
    addition tells what it loses. ``lost`` (blocks,): whether any of ``BLOCK`` sums is not held, or not finite; then
    these are to be found otherwise, and ``total``, which may be the last of the rows, is left as it was.

    A block stays in the cache over all rows. One step for each number of each row, with some more operations where it is not
    narrow: O(ranks × numbers). Invariant: ``high`` is the exact sum of the rows so far while ``error`` is 0.
    """
    # 1. A block: the largest and the least of its numbers say whether it is narrow.
    every, other, losses = np.empty(BLOCK), np.empty(BLOCK), 0  # once for all blocks
    for block in range(len(lost)):
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        out = total[here]
        high, error, some = every[: len(out)], other[: len(out)], False
        top, least = np.uint32(0), np.uint32(0xFFFFFFFF)  # of no number: the least yet
        for k in range(len(rows)):
            bits = rows[k, here].view(np.uint32)
            for j in range(len(bits)):
                size = bits[j] & SIZE
                top = max(top, size)
                least = min(least, np.uint32(size - ONE))  # 0 - 1 wraps round: a 0 is never the least
        # 2. Add the rows: two at once where nothing can be lost, else with what each addition loses.
        row = rows[0, here]
        for j in range(len(row)):
            high[j] = row[j]
        if is_narrow(int(top), int(least), room):
            for k in range(1, len(rows) - 1, 2):  # two rows a pass: half as many loads and stores of ``high``
                one, two = rows[k, here], rows[k + 1, here]
                for j in range(len(out)):
                    high[j] += np.float64(one[j]) + np.float64(two[j])
            if len(rows) % 2 == 0:  # an even number of rows: one is left over
                row = rows[len(rows) - 1, here]
                for j in range(len(row)):
                    high[j] += np.float64(row[j])
        else:
            error[:] = 0.0
            for k in range(1, len(rows)):
                row = rows[k, here]
                for j in range(len(row)):
                    a = high[j]
                    b = np.float64(row[j])
                    t = a + b
                    # Knuth's two-sum: what the addition loses, exactly, whichever is the greater
                    z = t - a
                    error[j] += abs((a - (t - z)) + (b - z))
                    high[j] = t
            for j in range(len(out)):
                some |= error[j] + (high[j] - high[j]) != 0.0  # nan of what is infinite
        # 3. Only a block that is held is written.
        lost[block] = some
        losses += some
        if not some:
            for j in range(len(out)):  # ``total`` may be the last row: nothing is written before all was read
                out[j] = high[j]
    return losses


def _add_held(total: Any, row: Any, lost: Any) -> int:
    t = total + row
    z = t - total
    np.not_equal((total - (t - z)) + (row - z), 0.0, out=lost)
    np.copyto(total, t, where=~lost)  # sums that are lost keep what they had
    return int(lost.sum())


@njit(arrays=True, by_numpy=_add_held)
def add_held(total: Any, row: Any, lost: Any) -> int:
    """Add a row of floats to sums of their type, where these hold the sum, in which no nan is; return how many are ``lost``.

    Two passes, O(numbers), as ``total`` must stay as it is where the sum is lost.
    """
    losses = 0
    for j in range(len(row)):
        a = total[j]
        b = row[j]
        t = a + b
        z = t - a
        lost[j] = (a - (t - z)) + (b - z) != 0.0
        losses += lost[j]
    for j in range(len(row)):
        if not lost[j]:
            total[j] += row[j]
    return losses


@njit
def begin_sums(row: Any, high: Any, low: Any, lost: Any) -> None:
    """Begin sums with a row of floats.

    O(numbers). Invariant of the three: ``high + low`` is the sum of the rows so far where ``lost`` is 0.
    """
    for j in range(len(row)):
        high[j] = float(row[j])
        low[j] = 0.0
        lost[j] = 0.0


@njit
def add_row(row: Any, high: Any, low: Any, lost: Any) -> None:
    """Add a row of floats. ``lost`` gets the sizes of what the second could not hold; where it is 0, ``high + low`` is true.

    ``lost``.
    Two additions without error (Knuth) for each number, O(numbers): what ``high`` loses goes to ``low``, what that loses to
    """
    for j in range(len(row)):
        a = high[j]
        b = float(row[j])
        t = a + b
        z = t - a
        error = (a - (t - z)) + (b - z)
        high[j] = t
        a = low[j]
        t = a + error
        z = t - a
        lost[j] += abs((a - (t - z)) + (error - z))
        low[j] = t


@njit
def end_sums(high: Any, low: Any, lost: Any) -> tuple[int, int]:
    """Leave the float64 nearest to a sum in the first, and what is left in the second, which has its sign.

    Return how many sums are lost, or not finite, and so are to be found otherwise; and how many of all are no float64.

    O(sums).
    """
    others, inexact = 0, 0
    for j in range(len(high)):
        a = high[j]
        b = low[j]
        t = a if b == 0.0 else a + b  # which keeps -0
        z = t - a
        high[j] = t
        low[j] = (a - (t - z)) + (b - z)  # the exact rest of the last addition
        lost[j] += abs(t - t)  # a nan, of what is not finite
    for j in range(len(high)):
        others += lost[j] != 0.0
        inexact += low[j] != 0.0
    return others, inexact


def _add_all(columns: Any, total: Any, sign: Any) -> int:
    sign[:] = nan
    for j, values in enumerate(columns.tolist()):
        with suppress(OverflowError, ValueError):  # also of infinities
            total[j] = high = fsum(values)
            rest = fsum([*values, -high])  # what the nearest float leaves out
            sign[j] = (rest > 0) - (rest < 0) if isfinite(high) else nan
    return int(np.isnan(sign).sum())


@njit(arrays=True, by_numpy=_add_all)
def add_all(columns: Any, total: Any, sign: Any) -> int:
    """Add columns (sums, numbers) of float64 with as many floats, none of which overlap, as a sum takes.

    ``total`` gets the float64 nearest to each sum, and ``sign`` that of what is left: -1, 0 or 1; nan where numbers, or floats
    on the way, are not finite. Return how many those are (Shewchuk, Adaptive precision floating-point arithmetic, 1997).

    Invariant: ``parts[:count]``, the least first, do not overlap, and add up to all numbers so far exactly. Each number
    passes all parts, and leaves at each what its sum with it loses:

        x + parts[0] ─▶ x', error        x' + parts[1] ─▶ x'', error'        parts = [ error, error', …, x'' ]

    Cost: O(numbers × parts), mostly one or two.
    """
    parts, losses = np.empty(columns.shape[1]), 0
    for j in range(len(columns)):
        # 1. Add the numbers to the parts, one after the other.
        count = 0
        for k in range(columns.shape[1]):
            x = columns[j, k]
            kept = 0
            for i in range(count):
                y = parts[i]
                t = x + y
                z = t - x
                error = (x - (t - z)) + (y - z)
                if error != 0.0:  # an exact addition leaves no part
                    parts[kept] = error
                    kept += 1
                x = t
            parts[kept] = x
            count = kept + 1
        # 2. From the greatest part down, until an addition rounds.
        count -= 1
        x, rest = parts[count], 0.0
        while count > 0 and rest == 0.0:  # until a rest shows that the sum does not fit
            count -= 1
            t = x + parts[count]
            rest = parts[count] - (t - x)
            x = t
        # 3. Just in the middle between two floats, the parts below decide to which side it goes.
        # a half way case alone can go wrong: the rest is half of the last digit
        if count > 0 and rest != 0.0 and (rest > 0.0) == (parts[count - 1] > 0.0):
            t = x + 2.0 * rest  # more than half of the last digit, if rest is half
            if t - x == 2.0 * rest:  # exactly half: round to the side of the parts below
                x, rest = t, -rest
        total[j] = x
        sign[j] = 1.0 if rest > 0.0 else -1.0 if rest < 0.0 else 0.0
        if x - x != 0.0:  # not finite: inf - inf is nan
            sign[j] = np.nan
            losses += 1
    return losses
