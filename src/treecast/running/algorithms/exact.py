"""Exact sums of floats: the true sum, rounded once to nearest even, whatever the order.

A float64 holds all sums of shorter floats that are no farther apart than its bits: a look at their exponents tells. Two hold the
true sum of most others, and each addition tells whether it lost anything. Entries for which it did are added again by as many
float64 as that takes, and by fractions where those overflow in between. Then the true sum is known as a float64 and the sign of
what is left. It is rounded to odd, and then to the type: that is as one rounding, as a float64 has two bits more than any shorter
type (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).

A nan, or both infinities, make the one nan of the type; else an infinity stays. A sum is -0 where all contributions are.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.running.transport.base import Piece

_BLOCK = 1 << 14  # numbers whose sums stay in the cache while all contributions are added
_LEAST, _ONE = 5e-324, 1.0  # names: Python would multiply constants when it compiles
_PAIRS = 8  # bytes of floats of whose sums a float64 holds few
_LITTLE, _ROOM = 1 << 16, 53 - 24  # bytes that are soonest copied; bits that a float64 has beyond a float32
BFLOAT16 = "bfloat16"  # which numpy has not
Floats = NDArray[np.floating[Any]]


def check_small() -> None:
    """Raise PlanError where this thread takes floats near 0 for 0: no sum would be exact."""
    if _LEAST * _ONE == 0:
        raise PlanError("exact sums need floats near 0, which this thread takes for 0: set_flush_denormal(False)")


class Exact(NamedTuple):
    """Exact sums of entries of a type, of complex numbers those of their parts.

    ``spelled``: the type, as numpy spells it, or ``bfloat16``. ``columns``: how many float64 a contribution to an entry
    has, whose sum it is (``Accumulator``), and the result is the first of them; 0 for entries of the type itself.

    Examples
    --------
    >>> parts = [np.array([each], np.float32) for each in (1e8, 1, -1e8)]
    >>> Exact("f4").fold([memoryview(part).cast("B") for part in parts])
    >>> float(parts[-1][0])
    1.0
    """

    spelled: str
    columns: int = 0

    @staticmethod
    @cache
    def adds(spelled: str) -> bool:
        """Return whether there are exact sums of a type."""
        try:
            return spelled == BFLOAT16 or np.dtype(spelled).char in "efdFD"
        except TypeError:  # a type that torch alone has
            return False

    def fold(self, parts: Sequence[Piece]) -> None:
        """Leave the sum of contributions, contiguous bytes, in the last of them."""
        dtype = np.dtype("f8") if self.columns else parts_of(self.spelled)
        if dtype != np.float32 or (table := _table_of(parts)) is None:
            self._fold([np.frombuffer(part, dtype).reshape(-1, self.columns or 1) for part in parts])
            return
        total = np.frombuffer(parts[-1], np.float32)
        # Most blocks are summed exactly in one float64. The rest is done again, the long way.
        for first, stop in _add_narrow(table, total):
            self._fold([*table[:-1, first:stop, None], total[first:stop, None]])

    @np.errstate(over="ignore", invalid="ignore")
    def _fold(self, rows: Sequence[NDArray[Any]]) -> None:
        work = np.empty((3, min(_BLOCK, len(rows[0]))))  # once: new memory is slow
        for first in range(0, len(rows[0]), _BLOCK):
            here = [row[first : first + _BLOCK] for row in rows]
            sums = self.round(*add_exactly([widen(row[:, k]) for row in here for k in range(row.shape[1])], work))
            if self.columns:
                here[-1][:], sums = 0, widen(sums)
            here[-1][:, 0] = sums

    @property
    def partial(self) -> tuple[np.dtype[Any], int]:
        """The type of the floats of a partial sum, twice as many bytes as of what it adds, and how many it has."""
        size = parts_of(self.spelled).itemsize
        return np.dtype(f"f{min(2 * size, 8)}"), 1 + (size == _PAIRS)

    @np.errstate(invalid="ignore")  # of nans
    def begin(self, contribution: Piece) -> NDArray[np.uint8]:
        """Return partial sums of one contribution each: true sums, or marked as not known."""
        row, (dtype, count) = widen(np.frombuffer(contribution, parts_of(self.spelled))), self.partial
        found = np.full((len(row), count), -0.0, dtype) if count > 1 else np.empty((len(row), 1), dtype)
        found[:, 0] = row  # and -0, which changes no sum
        if (off := np.isnan(row)).any():
            found[off, 0] = nan
        return found.reshape(-1).view(np.uint8)

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, into: NDArray[np.uint8], other: NDArray[np.uint8]) -> None:
        """Add partial sums, in whatever order: a sum that its floats do not hold is marked, and stays so.

        By induction each is the true sum of its contributions, or marked; so is that of all.
        """
        dtype, count = self.partial
        mine, theirs = (each.view(dtype).reshape(-1, count) for each in (into, other))
        lost = _add_held(mine, theirs)
        one, two, mark = mine[lost, 0], theirs[lost, 0], _mark_of(dtype)
        # An addition that lost something marks the entry; infinities and nans stay what they are; a mark stays a
        # mark.
        ends, stays = one + two, np.isfinite(one) & np.isfinite(two) | _is(one, mark) | _is(two, mark)
        mine[lost, 0] = np.where(stays, mark.view(dtype), np.where(np.isnan(ends), nan, ends))
        mine[lost, 1:] = -0.0

    @np.errstate(over="ignore", invalid="ignore")
    def end(self, total: NDArray[np.uint8], partial: NDArray[np.uint8]) -> None:
        """Round partial sums of all contributions, once; those that are marked are so as sums, too."""
        (dtype, count), form = self.partial, parts_of(self.spelled)
        high = partial.view(dtype)[::count]
        found = self.round(high.astype(np.float64), None)
        mark = _mark_of(form)
        found.view(mark.dtype)[_is(high, _mark_of(dtype))] = mark
        total[:] = found.view(np.uint8)

    def marked(self, totals: Piece, entries: int) -> NDArray[np.int64]:
        """Return the entries, one of whose sums at least is marked."""
        found = np.frombuffer(totals, parts_of(self.spelled))
        return np.flatnonzero(_is(found, _mark_of(found.dtype)).reshape(entries, -1).max(axis=1))

    def round(self, high: Floats, rest: Floats | None) -> NDArray[Any]:
        """Return true sums, as ``add_exactly`` returns them, in the type of entries; bfloat16 as whole numbers."""
        dtype = parts_of(self.spelled)
        if rest is not None and dtype.itemsize < high.itemsize:
            high = _to_odd(high, rest)
        return _to_bfloat16(high) if dtype.kind == "u" else high.astype(dtype, copy=False)


def _add_held(mine: Floats, theirs: Floats) -> NDArray[np.int64]:
    """Add floats, or pairs, where they hold the sums; return the places of the others, which are left as they were."""
    from treecast.running.algorithms.kernels.sums import add_held, add_row, begin_sums, end_sums  # late, as all kernels

    lost = np.zeros(len(mine), np.bool_)
    if mine.shape[1] == 1:
        return np.flatnonzero(lost) if add_held(mine[:, 0], theirs[:, 0], lost) else np.zeros(0, np.int64)
    high, low, error = np.empty((3, len(mine)))
    begin_sums(np.ascontiguousarray(mine[:, 0]), high, low, error)
    for row in (mine[:, 1], *theirs.T):
        add_row(np.ascontiguousarray(row), high, low, error)
    end_sums(high, low, error)
    low[low == 0] = -0.0  # which changes no sum
    np.copyto(mine, np.stack([high, low], 1), where=(error == 0)[:, None])
    return np.flatnonzero(error)


def _table_of(parts: Sequence[Piece]) -> NDArray[np.float32] | None:
    """Return contributions of float32 as one table; None where they are none, or many that do not lie one behind the other."""
    length = len(parts[0])
    if len(parts) * length <= _LITTLE:
        return np.frombuffer(b"".join(parts), np.float32).reshape(len(parts), -1) if length else None
    rows = [np.frombuffer(part, np.float32) for part in parts]
    first, *others = (row.__array_interface__["data"][0] for row in rows)
    there = others == [first + (k + 1) * length for k in range(len(others))]
    return np.lib.stride_tricks.as_strided(rows[0], (len(rows), rows[0].size), (length, 4)) if there else None


def _add_narrow(table: NDArray[np.float32], total: Floats) -> list[list[int]]:
    """Add rows in float64; return from where to where that does not hold the sums, or they are not finite, and are left out."""
    from treecast.running.algorithms.kernels.sums import (  # late, as all kernels: most jobs add by rank
        BLOCK,
        add_narrow,
    )

    lost = np.empty(-(-len(total) // BLOCK), np.bool_)
    # N numbers of 24 bits have a sum of at most 24 + ⌈log2 N⌉ bits: so much of the room goes to carries, the rest to
    # exponents.
    if not add_narrow(table, total, lost, _ROOM - (len(table) - 1).bit_length()):
        return []
    found: list[list[int]] = (
        (np.flatnonzero(np.diff(lost, prepend=False, append=False)) * BLOCK).reshape(-1, 2).tolist()
    )
    return found


def add_exactly(rows: Sequence[Floats], work: Floats) -> tuple[Floats, Floats | None]:
    """Return the true sums of rows of floats: the nearest float64, and the sign of what is left; None where nothing is.

    ``work``: three rows of float64, in which they are returned.
    """
    from treecast.running.algorithms.kernels.sums import add_all, add_row, begin_sums, end_sums  # late, as all kernels

    high, low, lost = work[:, : len(rows[0])]
    if rows[0].dtype == np.float32 and not _add_narrow(np.array(rows), high):
        return high, None
    begin_sums(rows[0], high, low, lost)
    for row in rows[1:]:
        add_row(row, high, low, lost)
    # `others`: there are entries for which two float64 were not enough.
    others, inexact = end_sums(high, low, lost)
    if others:
        which = np.flatnonzero(lost)
        columns, (total, sign) = np.array([row[which] for row in rows], np.float64).T.copy(), np.empty((2, len(which)))
        if add_all(columns, total, sign):
            for j in np.flatnonzero(np.isnan(sign)):
                total[j], sign[j] = add_slowly(columns[j].tolist())
        high[which], low[which] = total, sign
    return high, low if others or inexact else None


def add_slowly(values: list[float]) -> tuple[float, float]:
    """Return the float nearest to the true sum, and the sign of what is left, of any values."""
    if not all(map(isfinite, values)):
        ends = {each for each in values if not isfinite(each)}
        # a nan of a contribution has bits of its own
        return (ends.pop() if ends in ({inf}, {-inf}) else nan), 0.0
    true = sum(map(Fraction, values))
    try:
        total = float(true)
    except OverflowError:
        return (inf if true > 0 else -inf), 0.0
    return total, float((true > total) - (true < total))


@cache
def parts_of(spelled: str) -> np.dtype[Any]:
    """Return the type of the floats that an entry has, that of whole numbers for bfloat16."""
    dtype = np.dtype(np.uint16 if spelled == BFLOAT16 else spelled)
    return np.dtype(f"{dtype.byteorder}f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


@cache
def _mark_of(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the bits by which floats of a type are marked: those of a nan that no sum is; of bfloat16 as of float32."""
    bits = 0x7FC0 if dtype.kind == "u" else int(np.array(nan, dtype.newbyteorder("=")).view(f"u{dtype.itemsize}"))
    # The usual nan, and one more in its bits. `begin` makes each nan of a contribution the usual one, so no sum has
    # these.
    return np.array(bits + 1, f"{dtype.byteorder}u{dtype.itemsize}")


def _is(floats: NDArray[Any], mark: NDArray[Any]) -> NDArray[np.bool_]:
    return floats.view(mark.dtype) == mark


def widen(row: NDArray[Any]) -> Floats:
    """Return floats of any type as contiguous float32 or float64."""
    if row.dtype == np.uint16:
        return (row.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(row, np.float64 if row.dtype.itemsize == np.dtype(np.float64).itemsize else np.float32)


def _to_odd(high: Floats, rest: Floats) -> Floats:
    """Round to odd: cut off, with the last bit set where anything is left."""
    bits = high.view(np.int64).copy()
    off = (rest != 0) & np.isfinite(high)
    # Toward 0 first: where the rest points there, the float next to it is one less in its bits.
    bits[off & ((rest > 0) != (high > 0))] -= 1
    bits[off] |= 1
    return bits.view(np.float64)


def _to_bfloat16(values: Floats) -> NDArray[np.uint16]:
    """Return float64 as bfloat16: to float32 by odd, and then to nearest even."""
    short = values.astype(np.float32)
    bits = short.view(np.uint32)
    if (off := short != values).any():  # also of a nan
        back = short.astype(np.float64)
        bits[off & (np.abs(back) > np.abs(values))] -= 1
        bits[off] |= 1
    # To nearest even: just under half of the last place, and one more where the bit that stays is odd.
    near = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    near[np.isnan(values)] = 0x7FC0
    return near
