"""The schedule: who sends what to whom over which arc at which step, as columns.

A *row* says: ``src`` sends ``payload`` to ``dst`` by ``port`` during steps ``step … step+steps-1``. Either one chunk a
step, in the order of the payload (a pipelined stream; ``steps`` = length of the payload), or the whole payload combined
in one step (``steps`` = 1). So a pipelined broadcast of a million messages has one row per arc of its trees. A row without
chunks is a *control flit*: one step of telling a neighbour when to do what.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import ScheduleError
from treecast.networks.core import Ints
from treecast.schedule.payloads import Payloads, canonical, check_payloads, merged

COLUMNS = {
    "step": np.int32, "steps": np.int32, "src": np.int32, "dst": np.int32,
    "port": np.int16, "tree": np.int16, "payload": np.int32,
}  # fmt: skip
"""The columns of a row and their types."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a schedule, sorted by (step, src, dst, tree), and the table of payloads that they name.

    ``step, steps, payload``: int32; ``src, dst``: int32, or int64 in networks of 2^31 nodes and more; ``port, tree``: int16
    (tree -1: of no tree); all of one length.
    """

    step: NDArray[np.int32]
    steps: NDArray[np.int32]
    src: NDArray[np.int32] | NDArray[np.int64]
    dst: NDArray[np.int32] | NDArray[np.int64]
    port: NDArray[np.int16]
    tree: NDArray[np.int16]
    payload: NDArray[np.int32]
    payloads: Payloads

    @staticmethod
    def of(payloads: Payloads, **columns: ArrayLike) -> "Rows":
        """Return rows from columns in any order of rows.

        Payloads are numbered by their first use, equal ones once, so that equal rows have equal columns.
        Raises ScheduleError when the columns do not fit together.
        """
        given = {name: _column(name, columns[name], dtype) for name, dtype in COLUMNS.items()}
        wide = np.result_type(given["src"], given["dst"])
        given["src"], given["dst"] = (
            given["src"].astype(wide, copy=False),
            given["dst"].astype(wide, copy=False),
        )
        if len({column.shape for column in given.values()}) != 1 or given["step"].ndim != 1:
            raise ScheduleError("the columns of a schedule must be one-dimensional and of one length")
        if int((given["step"].astype(np.int64) + given["steps"]).max(initial=0)) >= np.iinfo(np.int32).max:
            raise ScheduleError(f"a row ends after step {np.iinfo(np.int32).max - 2}, the last there is")
        check_payloads(payloads, given)
        order = _sorted_order(given, payloads)
        if order is not None:
            given = {name: column[order] for name, column in given.items()}
        given["payload"], table = canonical(given["payload"], payloads)
        for column in (*given.values(), table.start, table.first, table.stop):
            column.setflags(write=False)
        return Rows(**given, payloads=table)

    def __len__(self) -> int:
        return len(self.step)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def take(self, where: Any) -> "Rows":
        """Return the rows that a mask, slice or index array picks."""
        return Rows.of(self.payloads, **{name: column[where] for name, column in self.columns().items()})

    @cached_property
    def chunks_sent(self) -> Ints:
        """The number of chunks that each row sends: int64 (rows,)."""
        return self.payloads.lengths[self.payload]

    @property
    def control(self) -> NDArray[np.bool_]:
        """Which rows are control flits: bool (rows,)."""
        return self.chunks_sent == 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        mine, its = self.payloads, other.payloads
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS) and all(
            np.array_equal(a, b) for a, b in ((mine.start, its.start), (mine.first, its.first), (mine.stop, its.stop))
        )

    __hash__ = None  # type: ignore[assignment]


def _column(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    wide = np.asarray(values)
    if wide.size == 0:
        return np.empty(0, dtype)
    if wide.dtype.kind not in "iu":
        raise ScheduleError(f"column {name} must hold whole numbers")
    lowest = {"steps": 1, "port": -1, "tree": -1}.get(name, 0)
    if name in ("src", "dst") and int(wide.max()) > np.iinfo(np.int32).max:
        dtype = np.int64
    if int(wide.min()) < lowest or int(wide.max()) > np.iinfo(dtype).max:
        raise ScheduleError(f"column {name} holds a number outside {lowest} … {np.iinfo(dtype).max}")
    return wide.astype(dtype)


def _sorted_order(given: dict[str, NDArray[Any]], table: Payloads) -> Ints | None:
    """Return the order that sorts the rows, or None when they are sorted."""
    keys = [given[name].astype(np.int64) for name in ("step", "src", "dst", "tree")]
    keys[3] += 1
    bits = [int(key.max(initial=0)).bit_length() for key in keys]
    if sum(bits) <= 62:
        key = keys[0]
        for other, width in zip(keys[1:], bits[1:], strict=True):
            key = (key << width) | other
        if bool((np.diff(key) > 0).all()):
            return None
        order = np.argsort(key, kind="stable")
        if bool((np.diff(key[order]) > 0).all()):
            return order
    else:  # too wide for one integer
        order = np.lexsort(keys[::-1])
        if bool(np.any([np.diff(key[order]) != 0 for key in keys], axis=0).all()):
            return order
    # rows of one tree, arc and step: ordered by all they say, and payloads by their contents, not by their numbers
    contents = [merged(table.ranges(p)) for p in range(len(table))]
    ranks = {content: rank for rank, content in enumerate(sorted(set(contents)))}
    said = np.array([ranks[content] for content in contents], np.int64)[given["payload"]]
    return np.lexsort([said, given["steps"], given["port"], *reversed(keys)])
