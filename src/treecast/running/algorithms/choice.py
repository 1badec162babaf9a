"""MIN and MAX of floats by the order of ranks: 0 and -0 are equal, and nans are of several kinds, so one has to come first."""

from typing import Any, NamedTuple

import numpy as np

from treecast.running.algorithms.exact import parts_of, widen


class Choice(NamedTuple):
    """MIN or MAX, which takes of equals that of the lowest rank, and the first nan where there is one.

    Those of MPI, numpy and torch take other ones at the end of a message than before it, where many numbers are compared at
    once. ``spelled``: the type, as of ``Exact``.

    Examples
    --------
    >>> rows = [np.array([each], np.float32) for each in (-0.0, 0.0)]
    >>> Choice("MAX", "f4").reduce_pieces([rows[0], 1, None], [rows[1], 1, None])
    >>> float(rows[1][0])
    -0.0
    """

    name: str
    spelled: str

    @np.errstate(invalid="ignore")  # of nans
    def reduce_pieces(self, one: Any, other: Any) -> None:
        """Leave what is chosen of two contributions, ``[bytes, entries, datatype]`` each, in the second, of the higher rank."""
        first, second = (np.frombuffer(piece[0], parts_of(self.spelled)) for piece in (one, other))
        mine, theirs = (each if each.dtype.kind == "f" else widen(each) for each in (first, second))
        found = (np.maximum if self.name == "MAX" else np.minimum)(mine, theirs)
        # Only 0 and nan have several bit patterns for equal values. The vector instructions may choose either, so
        # these are chosen here.
        which = np.flatnonzero((found == 0) | np.isnan(found))  # all others that are equal have the same bits
        low, high, chosen = mine[which], theirs[which], first[which]
        leaves = ~((low >= high if self.name == "MAX" else low <= high) | np.isnan(low))
        chosen[leaves] = second[which[leaves]]
        # A bfloat16 is the upper half of a float32, so its bits come back unrounded.
        second[:] = found if second.dtype.kind == "f" else found.view(np.uint32) >> 16
        second[which] = chosen
