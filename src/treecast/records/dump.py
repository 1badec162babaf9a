"""The record of one rank: its calls as columns, checked field by field.

Source of the form: torch/csrc/distributed/c10d/FlightRecorder.hpp of PyTorch, versions 2.2 to 2.10 of the record, as a pickle and
as JSON. Any backend writes it, treecast's recorder as well.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.ragged import Ints
from treecast.records.plain import Plain

CALL = np.dtype(
    [(name, np.int64) for name in ("record", "number", "begun")]
    + [(name, np.int32) for name in ("rank", "group", "kind", "place")]
    + [("ended", np.bool_), ("completed", np.bool_)]
)
"""A call: its place in the record of its rank and its number in its group, nanoseconds since 1970 at its begin.

``kind`` and ``place``: numbers of its kind and its line in ``Tables``. ``ended``: it ended or failed; ``completed``: it is
recorded that it ended well.
"""
KIND = np.dtype([("like", np.int32), *((name, np.int64) for name in ("way", "peer", "shift", "sent", "received"))])
"""What calls have in common: ``like``, the number of their signature; ``way``: 1 for a send, 2 for a receive, with its ``peer`` as a
place in the group and ``shift`` places beyond its own, else 0; elements in and out."""
Calls = NDArray[np.void]
SEND, RECEIVE = 1, 2
_LIKE = {
    **dict.fromkeys(("broadcast", "scatter"), "o"),
    **dict.fromkeys(("reduce", "gather"), "i"),
    **dict.fromkeys(("barrier", "coalesced"), ""),
}
"""Of some kinds the sides whose elements must be alike at all ranks: input, output; of others both are."""
_TO_ONE = re.compile(r"\b(send|recv) (\d+)(?:->|<-)(\d+)")
_INSIDE = re.compile(
    r"(^|/)torch/(distributed|nn|utils|autograd|optim|cuda|_)|(^|/)treecast/(calls|groups|jobs|mpi|tcp|torch)/"
    r"|^<frozen|threading\.py$|^\?\?"
)
_MOST = 1 << 40


class Signature(NamedTuple):
    """What must be alike at all ranks: kind, elements of each tensor, datatypes; root, operation, splits where recorded."""

    kind: str
    sizes: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        sides = " -> ".join(dict.fromkeys("+".join(f"{each:,}" for each in side) for side in self.sizes))
        said = f" {', '.join(self.types)}" if self.types else ""
        more = f" ({', '.join(self.more)})" if self.more else ""
        return f"{self.kind}{said}{f'[{sides}]' if sides else ''}{more}"


@dataclass
class Tables:
    """What columns have numbers of: kinds, their signatures, and lines of the program ("" is 0); and numbers by digests."""

    signatures: dict[Signature, int] = field(default_factory=dict[Signature, int])
    places: dict[str, int] = field(default_factory=lambda: {"": 0})
    kinds: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    lines: dict[int, int] = field(default_factory=dict[int, int])


@dataclass
class Dump:
    """The record of a rank. ``groups``: the names of groups in the order of their numbers in ``calls``.

    ``words`` and ``members``: of some groups a title, and the ranks in them. ``status``: of some groups the last number begun and
    the last ended. ``local``: of some groups how many the rank joined before. ``alone``: it is in no group but the first.
    ``vague``: the record does not tell calls that ended from those that failed, and knows no sends (gloo). ``written``: seconds.
    ``name``: the file.
    """

    rank: int
    calls: Calls
    groups: list[str] = field(default_factory=list[str])
    words: dict[str, str] = field(default_factory=dict[str, str])
    members: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    status: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    local: dict[str, int] = field(default_factory=dict[str, int])
    alone: bool = False
    vague: bool = False
    backend: str = ""
    version: str = ""
    written: float = 0.0
    size: int = 0
    stack: str = ""
    name: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether its first calls are no longer there."""
        return len(self.calls) > 0 and int(self.calls["record"][0]) > 0 and bool(self.calls["ended"].any())


def _ints(values: Iterable[object], what: str, most: int = _MOST) -> list[int]:
    """Return whole numbers, 0 for none. Raises FormatError."""
    found = [0 if value is None else value for value in values]
    for value in found:
        if not isinstance(value, int) or not -1 <= value < most:
            raise FormatError(f"{what} is not a number from 0 to {most - 1}")
    return cast(list[int], found)


def _sizes(value: object) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of tensors. Whatever is no list of lists of numbers raises FormatError before it is walked."""
    if not isinstance(value, list | tuple):
        raise FormatError("the sizes of a call are no lists: write [[2, 3]]")
    for shape in cast(list[object], value):
        if not isinstance(shape, list | tuple):
            raise FormatError("the sizes of a call are no lists of lists: write [[2, 3]]")
        for side in cast(list[object], shape):
            if side.__class__ is not int or not 0 <= cast(int, side) < _MOST:
                raise FormatError("the sizes of a call are no numbers: write [[2, 3]]")
    return tuple(map(tuple, cast(list[list[int]], value)))


def _types(value: object) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or any(not isinstance(each, str) for each in cast(list[object], found)):
        raise FormatError("the datatypes of a call are no names")
    return tuple(cast(list[str], found))


def is_exchange(kind: str) -> bool:
    """Return whether each rank sends each other data of its own in calls of a kind, by its name."""
    return "all_to_all" in kind or "alltoall" in kind


def _plain(value: object) -> str:
    return str(value)[:80] if isinstance(value, str | int | float | None) else "?"


def _kind_of(entry: dict[str, Any], tables: Tables) -> int:
    """Return the number of a call's kind."""
    name, further = entry.get("profiling_name"), entry.get("treecast")
    if not isinstance(name, str):
        raise FormatError("an entry is no call: each has a profiling_name, which is a text")
    ins, outs = _sizes(entry.get("input_sizes") or ()), _sizes(entry.get("output_sizes") or ())
    types = _types(entry.get("input_dtypes") or ()), _types(entry.get("output_dtypes") or ())
    said = {**entry, **cast(dict[str, Any], further)} if isinstance(further, dict) else entry
    more = tuple(f"{key} {_plain(said[key])}" for key in ("root", "op", "splits") if said.get(key) is not None)
    kind, match = name.split(":")[-1].split(" ")[0][:80], _TO_ONE.search(name)
    sides = _LIKE.get(kind, "" if is_exchange(kind) or kind.endswith("_v") else "io")
    elements = [tuple(map(math.prod, side)) for side in (ins, outs)]
    sizes = tuple(each for each, letter in zip(elements, "io", strict=True) if letter in sides)
    signature = Signature(kind, sizes, tuple(sorted({*types[0], *types[1]} - {""})), more)
    way, peer, shift = 0, 0, 0
    if match and entry.get("is_p2p"):
        way, peer = SEND if match[1] == "send" else RECEIVE, int(match[3][:9])
        shift = peer - int(match[2][:9])
    like = tables.signatures.setdefault(signature, len(tables.signatures))
    row = like, way, peer, shift, *(min(sum(each), _MOST) for each in elements)
    return tables.kinds.setdefault(row, len(tables.kinds))


def _place_of(frames: object, tables: Tables) -> int:
    """Return the number of the line of the user's program that made a call: the first outside of libraries."""
    for frame in cast(list[Any], frames if isinstance(frames, list) else ()):
        said = cast(dict[str, Any], frame if isinstance(frame, dict) else {})
        file, line, name = said.get("filename"), said.get("line"), said.get("name")
        if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
            return 0
        if not _INSIDE.search(file):
            where = f"{PurePosixPath(file).name[:80]}:{line}{f' ({name[:60]})' if name else ''}"
            return tables.places.setdefault(where, len(tables.places))
    return 0


def _group_of(found: object, own: object) -> tuple[str, str]:
    """Return the name and the title of a call's group, by what the call says of it or the rank's own number of it."""
    if isinstance(found, list | tuple) and len(cast(list[object], found)) == 2:
        name, words = cast(list[object], found)
        return _plain(name), _plain(words)
    return (_plain(found) if isinstance(found, str) else _plain("0" if own is None else own)), ""


_COLUMNS = ("record_id", "collective_seq_id", "seq_id", "p2p_seq_id", "time_created_ns", "retired")
_COLUMNS += ("time_discovered_completed_ns", "state", "frames", "process_group", "pg_id")
_OF_KIND = ("profiling_name", "input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "is_p2p")
_OF_KIND += ("treecast", "root", "op", "splits")


def _whole(values: Ints, what: str, most: int = _MOST) -> Ints:
    """Return the whole numbers of a column, 0 for none. Raises FormatError."""
    found = np.where(values & 1, values >> 1, 0)
    if ((values & 1 == 0) & (values > 2)).any() or (len(found) and not -1 <= found.min() <= found.max() < most):
        raise FormatError(f"{what} is not a number from 0 to {most - 1}")
    return found


def _numbered(marks: Ints, known: dict[int, int], number: Callable[[int], int]) -> Ints:
    """Return a number for each row: that known of its mark, else what ``number`` returns of the first row with it."""
    alike, first, which = np.unique(marks, return_index=True, return_inverse=True)
    for mark, row in sorted(zip(alike.tolist(), first.tolist(), strict=True), key=lambda pair: pair[1]):
        if mark not in known:
            known[mark] = number(row)
    return np.array([known[mark] for mark in alike.tolist()], np.int64)[which]


def read_dump(found: Plain, rank: int, tables: Tables, written: float = 0.0) -> Dump:
    """Return the record of a rank from plain data in the form of PyTorch's flight recorder. Raises FormatError.

    ``rank``: whose it is if the record does not say. Calls that are alike are checked once.
    """
    # 1. The columns.
    items = found.items(found.root)
    values = {found.plain(key): value for key, value in zip(items[::2], items[1::2], strict=False)}
    entries = values.pop("entries", 0)
    table = found.table(entries, (*_COLUMNS, *_OF_KIND))
    column, rows = dict(zip((*_COLUMNS, *_OF_KIND), table.T, strict=True)), table[:, len(_COLUMNS) :]
    data = {key: found.plain(value) for key, value in values.items()}
    said = data.get("rank")
    dump = Dump(
        said if isinstance(said, int) and 0 <= said < 1 << 30 else rank, np.zeros(len(table), CALL), written=written
    )
    calls, local = dump.calls, dict[str, str]()

    def kind(row: int) -> int:
        return _kind_of(
            {key: found.plain(each) for key, each in zip(_OF_KIND, rows[row].tolist(), strict=True)}, tables
        )

    def group(row: int) -> int:
        own = found.plain(int(column["pg_id"][row]))
        name, words = _group_of(found.plain(int(column["process_group"][row])), own)
        local[_plain(own)], dump.words[name] = name, words
        if name not in dump.groups:
            dump.groups.append(name)
        return dump.groups.index(name)

    calls["kind"] = _numbered(found.digests(rows), tables.known, kind)
    calls["group"] = _numbered(found.digests(table[:, -2 - len(_OF_KIND) : -len(_OF_KIND)]), {}, group)
    lines = column["frames"]
    calls["place"] = _numbered(
        found.digests(lines[:, None]), tables.lines, lambda row: _place_of(found.plain(int(lines[row])), tables)
    )
    calls["record"] = np.where(column["record_id"], _whole(column["record_id"], "record_id"), np.arange(len(table)))
    to_one = column["is_p2p"] > 2
    number = np.where(column["collective_seq_id"], column["collective_seq_id"], column["seq_id"])
    calls["number"] = _whole(np.where(to_one, column["p2p_seq_id"], number), "collective_seq_id")
    calls["begun"] = _whole(column["time_created_ns"], "time_created_ns", 1 << 62)
    states = [each for each in np.unique(column["state"]).tolist() if found.plain(each) == "completed"]
    calls["completed"] = np.isin(column["state"], states)
    calls["ended"] = calls["completed"] | (column["retired"] > 2) | (column["time_discovered_completed_ns"] > 2)
    dump.calls = calls[np.argsort(calls["record"], kind="stable")]

    # 2. The groups.
    first = _plain(found.plain(int(rows[0, 0]))).split(":")[0][:20] if len(rows) else ""
    further = data.get("treecast")
    own = isinstance(further, dict)
    dump.backend, dump.version = "treecast" if own else first, _plain(data.get("version", ""))
    dump.vague = first == "gloo" and not own
    if own and isinstance(taken := cast(dict[str, Any], further).get("taken_ns"), int):
        dump.written = taken / 1e9
    _read_groups(dump, data, local)
    kinds, names = list(tables.kinds), list(tables.signatures)
    for number, place in {(int(each["kind"]), int(each["group"])) for each in dump.calls[:50]}:
        like, _, _, _, sent, received = kinds[number]  # an allgather of all tells how many there are
        if sent and dump.words.get(dump.groups[place]) == "default_pg" and re.search("all_?gather", names[like].kind):
            dump.size = max(dump.size, received // sent)
    return dump


def _read_groups(dump: Dump, data: dict[str, Any], local: dict[str, str]) -> None:
    """Add what a record says of its groups. ``local``: from the rank's own numbers of groups to their names."""
    # 1. Titles and members. gloo keeps one nameless row, of the group made last: the world at ranks in no other group.
    rows: Any = data.get("pg_config")
    for key, row in cast(dict[str, Any], rows).items() if isinstance(rows, dict) else ():
        said = cast(dict[str, Any], row if isinstance(row, dict) else {"name": key, "ranks": row})
        try:
            ranks = said.get("ranks") or ()
            ranks = json.loads(ranks) if isinstance(ranks, str) else ranks
            found = tuple(_ints(cast(list[object], ranks), "a member"))
        except (ValueError, TypeError, RecursionError):
            raise FormatError("the members of a group are no ranks: write [0, 1, 2]") from None
        name = _plain(said.get("name", key))
        if name == "":
            dump.alone = bool(found)
            if found and len(dump.groups) == 1 and dump.words[dump.groups[0]] == "default_pg":
                dump.members[dump.groups[0]] = found
        else:
            dump.words[name] = _plain(said.get("desc", "")) or dump.words.get(name, "")
            dump.members |= {name: found} if found else {}

    # 2. How far each has come, by the rank's own numbers of groups; these rise as the names do.
    status = cast(dict[str, Any], data.get("pg_status") or {})
    named = [name for name in dump.words if name.isdigit()]
    if len(status) == len(dump.words) == len(named) and all(key.isdigit() for key in status):
        for key, name in zip(sorted(status, key=int), sorted(named, key=int), strict=True):
            local.setdefault(key, name)
    for key, row in status.items():
        if key in local and isinstance(row, dict):
            last = [cast(dict[str, Any], row).get(f"last_{word}_collective", -1) for word in ("enqueued", "completed")]
            begun, ended = _ints([int(each) if isinstance(each, str) else each for each in last], "a status")
            dump.status[local[key]] = begun, ended
    dump.local = {name: int(key) for key, name in local.items() if key.isdigit() and len(key) < 10}
