"""The record of one rank: its calls as columns, checked field by field.

Source of the form: torch/csrc/distributed/c10d/FlightRecorder.hpp of PyTorch, versions 2.2 to 2.10 of the record, as a pickle and
as JSON. Any backend writes it, treecast's recorder as well.
"""

import json
import marshal
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError

CALL = np.dtype(
    [(name, np.int64) for name in ("record", "number", "begun", "sent", "received")]
    + [(name, np.int32) for name in ("rank", "group", "kind", "place", "way", "peer", "shift")]
    + [("ended", np.bool_), ("completed", np.bool_)]
)
"""A call: its place in the record of its rank and its number in its group, nanoseconds since 1970 at its begin, elements in
and out.

``kind`` and ``place``: numbers of its signature and its line in ``Tables``. ``way``: 1 for a send, 2 for a receive, with its
``peer`` as a place in the group and ``shift`` places beyond its own, else 0. ``ended``: it ended or failed;
``completed``: it is recorded that it ended well.
"""
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


class Tables:
    """The texts that columns have numbers of: signatures, and lines of the program; "" is line 0."""

    def __init__(self) -> None:
        self.signatures: dict[Signature, int] = {}
        self.places: dict[str, int] = {"": 0}
        self.known: dict[bytes, tuple[int, ...]] = {}
        self.lines: dict[Any, int] = {}

    def listed(self) -> tuple[list[Signature], list[str]]:
        """Return both in the order of their numbers."""
        return list(self.signatures), list(self.places)


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
    groups: list[str]
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


def _kind_of(entry: dict[str, Any], tables: Tables) -> tuple[int, ...]:
    """Return the number of a call's signature, its way, peer and shift, its elements in and out."""
    get = entry.get
    said = get("profiling_name"), get("input_sizes"), get("output_sizes"), get("input_dtypes"), get("output_dtypes")
    said += tuple(map(get, ("treecast", "root", "op", "splits")))
    try:
        bits = marshal.dumps(said)  # calls alike are checked once; lists that hold one another cost nothing
    except ValueError:
        raise FormatError("the sizes or datatypes of a call are no plain lists") from None
    if bits not in tables.known:
        tables.known[bits] = _check_kind(entry, tables)
    return tables.known[bits]


def _check_kind(entry: dict[str, Any], tables: Tables) -> tuple[int, ...]:
    """Return what ``_kind_of`` does for a call that is not known yet."""
    name, further = entry["profiling_name"], entry.get("treecast")
    if not isinstance(name, str):
        raise FormatError("the name of a call is no text")
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
    if match:
        way, peer = SEND if match[1] == "send" else RECEIVE, int(match[3][:9])
        shift = peer - int(match[2][:9])
    number = tables.signatures.setdefault(signature, len(tables.signatures))
    sums = [min(sum(each), _MOST) for each in elements]
    return number, way, peer, shift, *sums


def _place_of(frames: object, tables: Tables) -> int:
    """Return the number of the line of the user's program that made a call: the first outside of libraries."""
    if not isinstance(frames, list):
        return 0
    for frame in cast(list[Any], frames):
        if not isinstance(frame, dict):
            return 0
        said = cast(dict[str, Any], frame)
        file, line, name = said.get("filename"), said.get("line"), said.get("name")
        if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
            return 0
        if (number := tables.lines.get(key := (file, line, name))) is None:
            where = f"{PurePosixPath(file).name[:80]}:{line}{f' ({name[:60]})' if name else ''}"
            number = 0 if _INSIDE.search(file) else tables.places.setdefault(where, len(tables.places))
            tables.lines[key] = number
        if number:
            return number
    return 0


def _group_of(entry: dict[str, Any]) -> tuple[str, str]:
    found = entry.get("process_group")
    if isinstance(found, list | tuple) and len(cast(list[object], found)) == 2:
        name, words = cast(list[object], found)
        return _plain(name), _plain(words)
    return (_plain(found) if isinstance(found, str) else _plain(entry.get("pg_id", "0"))), ""


def read_dump(data: Any, rank: int, tables: Tables, written: float = 0.0) -> Dump:
    """Return the record of a rank from plain data in the form of PyTorch's flight recorder. Raises FormatError."""
    if not isinstance(data, dict) or not isinstance(cast(dict[str, Any], data).get("entries"), list):
        raise FormatError("it has no list of entries: write the dump of a flight recorder")
    data = cast(dict[str, Any], data)
    entries: list[Any] = data["entries"]
    if any(not isinstance(entry, dict) or "profiling_name" not in entry for entry in entries):
        raise FormatError("an entry is no call: each has a profiling_name")

    # 1. The columns.
    calls, where = np.zeros(len(entries), CALL), [_group_of(entry) for entry in entries]
    names = list(dict.fromkeys(name for name, _ in where))
    place = {name: number for number, name in enumerate(names)}
    kinds = [_kind_of(entry, tables) for entry in entries]
    for column, values in zip(
        ("kind", "way", "peer", "shift", "sent", "received"), zip(*kinds, strict=True), strict=False
    ):
        calls[column] = values
    calls["way"] = np.where([bool(entry.get("is_p2p")) for entry in entries], calls["way"], 0) if entries else 0
    calls["rank"], calls["group"] = rank, [place[name] for name, _ in where]
    calls["place"] = [_place_of(entry.get("frames"), tables) for entry in entries]
    calls["record"] = _ints((e.get("record_id", i) for i, e in enumerate(entries)), "record_id")
    numbers = (
        (e.get("p2p_seq_id") if e.get("is_p2p") else e.get("collective_seq_id", e.get("seq_id"))) for e in entries
    )
    calls["number"] = _ints(numbers, "collective_seq_id")
    calls["begun"] = _ints((entry.get("time_created_ns") for entry in entries), "time_created_ns", 1 << 62)
    calls["completed"] = [entry.get("state") == "completed" for entry in entries]
    over = [bool(entry.get("retired") or entry.get("time_discovered_completed_ns")) for entry in entries]
    calls["ended"] = np.array(over, bool) | calls["completed"]
    calls = calls[np.argsort(calls["record"], kind="stable")]

    # 2. The groups.
    first = next((entry["profiling_name"].split(":")[0][:20] for entry in entries), "")
    further = data.get("treecast")
    own = isinstance(further, dict)
    dump = Dump(rank, calls, names, backend="treecast" if own else first, version=_plain(data.get("version", "")))
    dump.vague, dump.words = first == "gloo" and not own, dict(where)
    dump.written = written
    if own and isinstance(taken := cast(dict[str, Any], further).get("taken_ns"), int):
        dump.written = taken / 1e9
    _read_groups(
        dump, data, {_plain(entry.get("pg_id")): name for entry, (name, _) in zip(entries, where, strict=True)}
    )
    dump.size = max([0, *(_size_by(calls[i], tables, dump) for i in range(min(len(calls), 50)))])
    return dump


def _size_by(call: Any, tables: Tables, dump: Dump) -> int:
    """Return the size of the first group as an allgather tells it, 0 for other calls."""
    gathers = "all_?gather" if dump.words.get(dump.groups[int(call["group"])]) == "default_pg" else "^$"
    signatures = tables.listed()[0]
    kind = signatures[int(call["kind"])].kind if call["sent"] else ""
    return int(call["received"] // call["sent"]) if kind and re.search(gathers, kind) else 0


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
