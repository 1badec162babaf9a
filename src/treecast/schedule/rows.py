"""Rows: who sends which chunks to whom over which arc at which step, as columns.

A *row* says: ``src`` sends ``payload`` to ``dst`` by ``port`` during steps ``step … step+steps-1``. Its *pace* is the number of
steps from one chunk to the next, in the order of its payload: n chunks take (n - 1) · pace + 1 steps.

- A **stream** has pace 1: one chunk a step. A row of one chunk is a stream: one chunk in one step. A row without chunks, a
  *control flit*, counts as a stream too: it takes the one step in which a node tells its neighbour when to begin.
- A **paced stream** has pace T > 1: one chunk in every T steps. In the steps between, its arc and its nodes are free.
- A **combined** row has pace 0: it sends several chunks in one step.

``Rows.pace`` is this definition, ``Rows.leaves`` says in which step a chunk leaves by it, and ``Rows.pieces`` lists the
chunks that rows carry. A pipelined broadcast of a million messages has one row per arc of its trees.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.description import count_of
from treecast.errors import ScheduleError
from treecast.ragged import Ints, explode, places
from treecast.schedule.payloads import Payloads, check_payloads, drop_duplicates, number_by_first_use
from treecast.steps import NEVER

COLUMNS = {
    "step": np.int32,
    "steps": np.int32,
    "src": np.int32,
    "dst": np.int32,
    "port": np.int16,
    "tree": np.int16,
    "payload": np.int32,
}
"""The columns of a row and their types."""
_LEAST = {"steps": 1, "port": -1, "tree": -1}  # of columns that do not begin at 0
_MOST = {dtype: int(np.iinfo(dtype).max) for dtype in (np.int16, np.int32, np.int64)}
_SHOWN = 12  # rows that are printed


class Pieces(NamedTuple):
    """The loads of rows: an entry for each row and each range of its payload, by row and in the order of the payload.

    Row ``row[i]`` carries the chunks ``first[i] … stop[i]-1``, and ``place[i]`` chunks before them. All int64, of one length.
    """

    row: Ints
    first: Ints
    stop: Ints
    place: Ints


_NO_LINES = np.empty(0, np.int64)


class Row(NamedTuple):
    """One row; its payload is a number in the table of payloads."""

    step: int
    steps: int
    src: int
    dst: int
    port: int
    tree: int
    payload: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a schedule, sorted by (step, src, dst, tree), and the table of payloads that they name.

    ``Rows.of`` makes them from columns in any order. Rows are iterated, counted and sliced like a list of tuples.

    Parameters
    ----------
    step, steps : int32 (rows,)
        The first step of each row, and how many steps it takes. Steps from 2^31 on are int64: see ``of_any_steps``.
    src, dst : int32 (rows,)
        The nodes at its ends; int64 in networks of 2^31 nodes and more.
    port : int16 (rows,)
        The port by which it leaves ``src``; -1 where the model chooses the route.
    tree : int16 (rows,)
        The tree that it belongs to; -1 where it belongs to none.
    payload : int32 (rows,)
        The number of its payload.
    payloads : Payloads
        The table of payloads.
    lines : int64 (rows,) or (0,)
        The line of each row in the file that people wrote; empty where there is none.

    Examples
    --------
    >>> import treecast
    >>> treecast.plan("broadcast", "ring:5", messages=2).rows
    <Rows: 4 rows, 1 payload>
    >>> treecast.plan("broadcast", "ring:5", messages=2).rows[-1]
    Row(step=1, steps=2, src=4, dst=3, port=1, tree=0, payload=0)
    >>> print(treecast.plan("broadcast", "ring:5", messages=2).rows)
        step    steps      src      dst     port     tree  payload
           0        2        0        1        0        0        0
           0        2        0        4        1        0        0
           1        2        1        2        0        0        0
           1        2        4        3        1        0        0
    """

    step: NDArray[np.int32] | NDArray[np.int64]
    steps: NDArray[np.int32]
    src: NDArray[np.int32] | NDArray[np.int64]
    dst: NDArray[np.int32] | NDArray[np.int64]
    port: NDArray[np.int16]
    tree: NDArray[np.int16]
    payload: NDArray[np.int32]
    payloads: Payloads
    lines: Ints = field(default_factory=lambda: _NO_LINES)

    @staticmethod
    def of(payloads: Payloads, *, lines: ArrayLike = _NO_LINES, **columns: ArrayLike) -> "Rows":
        """Return rows from columns in any order of rows; one number counts for all rows. ``lines``: of a file.

        ``steps`` left out are those of streams, ``tree`` is -1, and ``payload`` the numbers of all payloads, one for each row.
        Payloads are numbered by their first use, equal ones once, so that equal rows have equal columns.
        Raises ScheduleError when the columns do not fit together, and for steps that no table of steps holds.
        """
        found = Rows.of_any_steps(payloads, lines=lines, **columns)
        if found.late:
            if int(found.step.max()) > NEVER:
                raise ScheduleError(f"column step holds a number outside 0 … {NEVER}")
            raise ScheduleError(f"a row ends after step {NEVER - 2}, the last there is")
        return found

    @property
    def late(self) -> bool:
        """Whether steps are too late for whole schedules to be judged or carried out; then they are int64."""
        return self.step.dtype == np.int64

    @staticmethod
    def of_any_steps(payloads: Payloads, *, lines: ArrayLike = _NO_LINES, **columns: ArrayLike) -> "Rows":
        """Return the same of rows that may be later: a node's program in a network that no machine could hold."""
        whole = _completed(payloads, columns)
        given = {name: _column(name, whole[name], dtype) for name, dtype in COLUMNS.items()}
        if given["src"].dtype != given["dst"].dtype:
            given |= {name: given[name].astype(np.int64, copy=False) for name in ("src", "dst")}
        if len({column.shape for column in given.values()}) != 1 or given["step"].ndim != 1:
            raise ScheduleError("the columns of a schedule must be one-dimensional and of one length")
        # the greatest step and the greatest length: an upper bound first, which most rows pass
        ends_late = sum(int(given[name].max(initial=0)) for name in ("step", "steps")) >= NEVER
        if ends_late and int(np.add(given["step"], given["steps"], dtype=np.int64).max()) >= NEVER:
            given["step"] = given["step"].astype(np.int64)
        check_payloads(payloads, given)
        # payloads are numbered by their contents for as long as rows are sorted, so that the order depends on nothing else
        given["payload"], table = drop_duplicates(given["payload"], payloads)
        order, own = _sorted_order(given), np.asarray(lines, np.int64)
        if order is not None:
            given, own = {name: column[order] for name, column in given.items()}, own[order[: len(own)]]
        given["payload"], table = number_by_first_use(given["payload"], table)
        for column in (*given.values(), table.start, table.first, table.stop):
            column.setflags(write=False)
        return Rows(**given, payloads=table, lines=own)

    def __len__(self) -> int:
        return len(self.step)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def take(self, where: Any) -> "Rows":
        """Return the rows that a mask, slice or index array picks."""
        lines = self.lines[where] if len(self.lines) else self.lines
        columns = {name: column[where] for name, column in self.columns().items()}
        return Rows.of_any_steps(self.payloads, lines=lines, **columns)

    def name(self, row: int) -> str:
        """Return how findings call a row: by its line in the file that people wrote, else by its number."""
        return f"line {self.lines[row]}" if len(self.lines) else f"row {row}"

    @property
    def highest(self) -> str:
        """The line that names the highest chunk, as the beginning of an error; nothing where rows have no lines."""
        payload = int(np.searchsorted(self.payloads.start, self.payloads.stop.argmax(), side="right")) - 1
        return f"{self.name(int((self.payload == payload).argmax()))}: " if len(self.lines) else ""

    @cached_property
    def chunks_sent(self) -> Ints:
        """The number of chunks that each row sends: int64 (rows,)."""
        return self.payloads.lengths[self.payload]

    @property
    def control(self) -> NDArray[np.bool_]:
        """Which rows are control flits: bool (rows,)."""
        return self.chunks_sent == 0

    @cached_property
    def pace(self) -> NDArray[np.int32]:
        """The steps from one chunk of each row to the next, as the module defines them; 0: all go in one step. int32 (rows,)."""
        gaps = self.chunks_sent - 1
        # (steps - 1) / gaps: n chunks take (n - 1) · pace + 1 steps
        return np.where(gaps > 0, (self.steps - 1) // np.maximum(gaps, 1), 1).astype(np.int32)

    @property
    def messages(self) -> Ints:
        """The number of messages that each row is: one for each chunk, or one for all: int64 (rows,)."""
        return np.where(self.pace > 0, np.maximum(self.chunks_sent, 1), 1)

    @cached_property
    def pieces(self) -> Pieces:
        """Every range of chunks that every row carries.

        >>> rows = Rows.of(
        ...     Payloads.of([[(0, 2), (5, 9)]]), step=[0, 6], steps=[6, 6], src=[0, 1], dst=[1, 2], port=[0, 0],
        ...     tree=[0, 0], payload=[0, 0],
        ... )
        >>> for piece in zip(*(column.tolist() for column in rows.pieces)):
        ...     print(piece)
        (0, 0, 2, 0)
        (0, 5, 9, 2)
        (1, 0, 2, 0)
        (1, 5, 9, 2)
        """
        table = self.payloads
        row, entry = explode(table.start, self.payload)
        return Pieces(row, table.first[entry], table.stop[entry], table.before[entry])

    @cached_property
    def runs(self) -> Pieces:
        """The same, with those of paced streams cut into single chunks: the chunks of each go one a step, or all in one."""
        row, first, stop, place = self.pieces
        count = np.where(self.pace[row] > 1, stop - first, 1)
        of, inside = np.repeat(np.arange(len(row)), count), places(count)
        begin = first[of] + inside
        return Pieces(row[of], begin, np.where(count[of] > 1, begin + 1, stop[of]), place[of] + inside)

    def leaves(self, row: Ints, place: Ints) -> Ints:
        """Return the step in which the chunk at ``place`` (0-based) of each ``row``'s payload leaves: int64."""
        return self.step[row].astype(np.int64) + self.pace[row] * place

    def until(self, late: Ints) -> int:
        """Return the number of steps until all has arrived, of each row so many steps after it has left: int64 (rows,)."""
        return int((self.step + self.steps - 1 + late).max()) if len(self) else 0

    @property
    def begins(self) -> Ints:
        """The steps in which some chunk leaves, ascending: int64."""
        row = np.repeat(np.arange(len(self)), self.messages)
        return np.unique(self.leaves(row, places(self.messages)))

    def __repr__(self) -> str:
        return f"<Rows: {count_of(len(self), 'row')}, {count_of(len(self.payloads), 'payload')}>"

    def __str__(self) -> str:
        """Return the columns of the first rows, a line each."""
        lines = [" ".join(f"{name:>8}" for name in COLUMNS)]
        for row in zip(*(column[:_SHOWN].tolist() for column in self.columns().values()), strict=True):
            lines.append(" ".join(f"{value:>8}" for value in row))
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"and {count_of(more, 'more row')}"] if more > 0 else [])])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        mine, its = self.payloads, other.payloads
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS) and all(
            np.array_equal(a, b) for a, b in ((mine.start, its.start), (mine.first, its.first), (mine.stop, its.stop))
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        table = self.payloads
        arrays = (*self.columns().values(), table.start, table.first, table.stop)
        return hash(tuple(array.astype(np.int64).tobytes() for array in arrays))

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, as tuples of Python's numbers."""
        columns = (column.tolist() for column in self.columns().values())
        return map(Row._make, zip(*columns, strict=True))

    @overload
    def __getitem__(self, which: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> "Rows": ...
    def __getitem__(self, which: SupportsIndex | slice) -> "Row | Rows":
        """Return one row, as a tuple, or some of them as ``rows[first:stop]``."""
        if isinstance(which, slice):
            return self.take(which)
        return Row._make(int(column[which]) for column in self.columns().values())


def _completed(payloads: Payloads, columns: dict[str, ArrayLike]) -> dict[str, ArrayLike]:
    """Return all columns, where some are left out or one number for all rows, as ``Rows.of`` says."""
    found: dict[str, ArrayLike] = {"tree": -1, "payload": np.arange(len(payloads))} | columns
    if "steps" not in found:
        found["steps"] = np.maximum(payloads.lengths[np.asarray(found["payload"], np.int64)], 1)
    shape = np.shape(found["step"])
    return {name: each if np.ndim(each) else np.broadcast_to(each, shape) for name, each in found.items()}


def _column(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    # checked before it is made narrow, as a number that does not fit would become another one
    wide = np.asarray(values)
    if wide.size == 0:
        return np.empty(0, dtype)
    if wide.dtype.kind not in "iu":
        raise ScheduleError(f"column {name} must hold whole numbers")
    lowest, least, most = _LEAST.get(name, 0), int(wide.min()), int(wide.max())
    if name in ("step", "src", "dst") and most > _MOST[np.int32]:
        dtype = np.int64
    if least < lowest or most > _MOST[dtype]:
        raise ScheduleError(f"column {name} holds a number outside {lowest} … {_MOST[dtype]}")
    return wide.astype(dtype)


def _sorted_order(given: dict[str, NDArray[Any]]) -> Ints | None:
    """Return the order that sorts the rows, or None when they are sorted. Payloads are numbered by their contents."""
    columns = [given[name] for name in ("step", "src", "dst", "tree")]
    # a tree of -1 becomes 0
    bits = [(int(column.max(initial=0)) + (column is columns[3])).bit_length() for column in columns]
    # one number for all four columns, if there is room: an order of numbers is found sooner than one of columns
    #     key = step | src | dst | tree + 1
    if sum(bits) <= 62:  # and the sign, and one more for the 1 that is added
        key = columns[0].astype(np.int64)
        for column, width in zip(columns[1:], bits[1:], strict=True):
            key <<= width
            key += column
        key += 1
        if bool((key[1:] > key[:-1]).all()):
            return None
        order = np.argsort(key, kind="stable")
        found = key[order]
        if bool((found[1:] > found[:-1]).all()):
            return order
    else:  # too wide for one integer
        order = np.lexsort(columns[::-1])
        # no two rows have all four alike
        if bool(np.any([np.diff(column[order]) != 0 for column in columns], axis=0).all()):
            return order
    # rows of one tree, arc and step: ordered by all they say
    return np.lexsort([given[name] for name in ("payload", "steps", "port")] + columns[::-1])


@dataclass(frozen=True)
class Claims:
    """The claims of a schedule's builder. The verifier measures, and compares.

    Parameters
    ----------
    steps : int
        The number of steps.
    transmissions : int
        The number of (chunk, arc) sends when nothing fails.

    Examples
    --------
    >>> import treecast
    >>> treecast.plan("broadcast", "star:4").claims
    Claims(steps=4, transmissions=23)
    """

    steps: int
    transmissions: int

    def __str__(self) -> str:
        return f"{count_of(self.steps, 'step')}, {count_of(self.transmissions, 'transmission')}"


class Send(NamedTuple):
    """One send of one chunk over one arc in one step; ``port`` is -1 where the model chooses the route."""

    step: int
    src: int
    dst: int
    port: int
    tree: int
    chunk: int


@dataclass(frozen=True)
class Sends:
    """All sends of one step, one entry per chunk and arc: int64 arrays of one length; ``row`` is the row they come from."""

    step: int
    src: Ints
    dst: Ints
    port: Ints
    tree: Ints
    chunk: Ints
    row: Ints

    def take(self, some: NDArray[np.bool_]) -> "Sends":
        """Return some of them."""
        columns = (self.src, self.dst, self.port, self.tree, self.chunk, self.row)
        return self if some.all() else Sends(self.step, *(column[some] for column in columns))
