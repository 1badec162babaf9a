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
from treecast.files.records.plain import Plain
from treecast.ragged import Ints

CALL = np.dtype(
    [(name, np.int64) for name in ("record", "number", "begun")]
    + [(name, np.int32) for name in ("rank", "group", "kind", "place")]
    + [("ended", np.bool_), ("completed", np.bool_)]
)
"""A call: its place in the record of its rank and its number in its group, nanoseconds since 1970 at its begin.

``kind`` and ``place``: numbers of its kind and its line in ``Tables``. ``ended``: it ended or failed; ``completed``: it is
recorded that it ended well.
"""
KIND = np.dtype(
    [("like", np.int32), *((name, np.int64) for name in ("way", "peer", "shift", "sent", "received", "splits"))]
)
"""What calls have in common: ``like``, the number of their signature; ``way``: 1 for a send, 2 for a receive, with its ``peer``
as a place in the group and ``shift`` places beyond its own, else 0; elements in and out; the number of the splits, 0: none."""
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
# No call of a job has such a number. A stranger's numbers must not overflow when they are added.
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
    splits: dict[tuple[tuple[int, ...], ...], int] = field(default_factory=lambda: {(): 0})
    kinds: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    lines: dict[int, int] = field(default_factory=dict[int, int])


@dataclass
class Dump:
    """The record of a rank. ``groups``: the numbers of groups in ``calls``, by name.

    ``words`` and ``members``: of some groups a title, and the ranks in them. ``status``: of some groups the last number begun and
    the last ended. ``local``: of some groups how many the rank joined before. ``latest``: how many ranks are in the group that
    it joined last, where a nameless row says it (gloo); else 0.
    ``gone``: its process ended in the middle.
    ``vague``: the record does not tell calls that ended from those that failed, and knows no sends (gloo). ``written``: seconds.
    ``name``: the file.
    """

    rank: int
    calls: Calls
    groups: dict[str, int] = field(default_factory=dict[str, int])
    words: dict[str, str] = field(default_factory=dict[str, str])
    members: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    status: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    local: dict[str, int] = field(default_factory=dict[str, int])
    latest: int = 0
    gone: bool = False
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


def _ints(values: Iterable[object], what: str) -> tuple[int, ...]:
    """Return whole numbers, 0 for none. Raises FormatError."""
    found = tuple(0 if value is None else value for value in values)
    if not all(isinstance(value, int) and -1 <= value < _MOST for value in found):
        raise FormatError(f"{what} is not a number from 0 to {_MOST - 1}")
    return cast(tuple[int, ...], found)


def _elements(shapes: Any) -> tuple[int, ...]:
    """Return how many elements tensors have. Whatever is no list of lists of numbers raises FormatError before it is walked."""
    try:
        # Only how many elements there are: ranks may give one tensor other shapes.
        return tuple(math.prod(_ints(iter(shape), "a size")) for shape in shapes or ())
    except TypeError:
        raise FormatError("the sizes of a call are no lists of lists of numbers: write [[2, 3]]") from None


def _dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(cast(list[Any], value)) if isinstance(value, list | tuple) else []


def is_exchange(kind: str) -> bool:
    """Return whether each rank sends each other data of its own in calls of a kind, by its name."""
    return "all_to_all" in kind or "alltoall" in kind


def _plain(value: object) -> str:
    return str(value)[:80] if isinstance(value, str | int | float | None) else "?"


def _kind_of(entry: dict[str, Any], tables: Tables) -> int:
    """Return the number of a call's kind. Raises FormatError."""
    name = entry["profiling_name"]
    types = [each for key in ("input_dtypes", "output_dtypes") for each in _list(entry[key]) or [entry[key] or ""]]
    if not all(isinstance(each, str) for each in (name, *types)):
        raise FormatError("an entry is no call: each has a profiling_name and datatypes, which are texts")
    said = {**entry, **_dict(entry["treecast"])}
    more = tuple(f"{key} {_plain(said[key])}" for key in ("root", "op") if said.get(key) not in (None, ""))
    #   gloo:all_reduce      nccl:send 0->1      nccl:recv 1<-0
    kind, match = name.split(":")[-1].split(" ")[0][:80], _TO_ONE.search(name)
    sides = _LIKE.get(kind, "" if is_exchange(kind) or kind.endswith("_v") else "io")
    elements = {"i": _elements(entry["input_sizes"]), "o": _elements(entry["output_sizes"])}
    signature = Signature(kind, tuple(elements[side] for side in sides), tuple(sorted({*types} - {""})), more)
    way, peer, shift = 0, 0, 0
    if match and entry["is_p2p"]:
        way, peer = SEND if match[1] == "send" else RECEIVE, int(match[3][:9])
        shift = peer - int(match[2][:9])
    like = tables.signatures.setdefault(signature, len(tables.signatures))
    splits = tuple(_ints(_list(side), "a split") for side in _list(said.get("splits")))
    split = tables.splits.setdefault(splits if len(splits) == 2 else (), len(tables.splits))
    row = like, way, peer, shift, *(min(sum(each), _MOST) for each in elements.values()), split
    return tables.kinds.setdefault(row, len(tables.kinds))


def _place_of(frames: Any, tables: Tables) -> int:
    """Return the number of the line of the user's program that made a call: the first outside of libraries."""
    for frame in map(_dict, _list(frames)):
        file, line, name = (frame.get(key) for key in ("filename", "line", "name"))
        if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
            return 0
        if not _INSIDE.search(file):
            where = f"{PurePosixPath(file).name[:80]}:{line}{f' ({name[:60]})' if name else ''}"
            return tables.places.setdefault(where, len(tables.places))
    return 0


def _group_of(found: Any, own: object) -> tuple[str, str]:
    """Return the name and the title of a call's group, by what the call says of it or the rank's own number of it."""
    if len(both := _list(found)) == 2:
        return _plain(both[0]), _plain(both[1])
    return _plain(found if isinstance(found, str) else "0" if own is None else own), ""


_OF_GROUP = "process_group", "pg_id"
_SIDES = ("input_sizes", "output_sizes", "input_dtypes", "output_dtypes")
_OF_CALL = ("record_id", "collective_seq_id", "seq_id", "p2p_seq_id", "time_created_ns", "retired", "state", "frames")
_OF_KIND = ("profiling_name", *_SIDES, "is_p2p", "treecast", "root", "op", "splits")
_KEYS = (*_OF_CALL, "time_discovered_completed_ns", *_OF_GROUP, *_OF_KIND)


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
    whole = {found.plain(key): value for key, value in zip(items[::2], items[1::2], strict=False)}
    table = found.table(whole.pop("entries", 0), _KEYS)
    data = {str(key): found.plain(value) for key, value in whole.items()}
    column: dict[str, Ints] = dict(zip(_KEYS, table.T, strict=True))
    rows, calls = table[:, -len(_OF_KIND) :], np.zeros(len(table), CALL)
    said, own, local = data.get("rank"), _dict(data.get("treecast")), dict[str, str]()
    dump = Dump(said if isinstance(said, int) and 0 <= said < 1 << 30 else rank, calls, written=written)

    def kind(row: int) -> int:
        return _kind_of(dict(zip(_OF_KIND, map(found.plain, rows[row].tolist()), strict=True)), tables)

    def group(row: int) -> int:
        whole, number = (found.plain(int(column[key][row])) for key in _OF_GROUP)
        name, words = _group_of(whole, number)
        local[_plain(number)], dump.words[name] = name, words
        return dump.groups.setdefault(name, len(dump.groups))

    def place(row: int) -> int:
        return _place_of(found.plain(int(column["frames"][row])), tables)

    calls["kind"] = _numbered(found.digests(rows), tables.known, kind)
    calls["group"] = _numbered(found.digests(np.stack([column[key] for key in _OF_GROUP], 1)), {}, group)
    calls["place"] = _numbered(found.digests(column["frames"][:, None]), tables.lines, place)
    # Old records have `seq_id` alone; of newer ones sends and receives have a count of their own.
    # above 2 is true: whole numbers are 2 x + 1 here, and None is 2
    of_all, to_one = column["collective_seq_id"] != 0, column["is_p2p"] > 2
    column["number"] = np.choose(
        2 * to_one + of_all, [column["seq_id"], column["collective_seq_id"], *[column["p2p_seq_id"]] * 2]
    )
    for name, key, most in (
        ("record", "record_id", _MOST),
        ("number", "number", _MOST),
        ("begun", "time_created_ns", 1 << 62),
    ):
        # Plain values: the last bit is set where it is a whole number, which stands before it.
        values = np.where(column[key] & 1, column[key] >> 1, 0)
        if ((column[key] & 1 == 0) & (column[key] > 2)).any() or (values < -1).any() or (values >= most).any():
            raise FormatError(f"{key} is not a number from 0 to {most - 1}")
        calls[name] = values if key != "record_id" else np.where(column[key], values, np.arange(len(table)))
    states = [each for each in np.unique(column["state"]).tolist() if found.plain(each) == "completed"]
    calls["completed"] = np.isin(column["state"], states)
    calls["ended"] = calls["completed"] | (column["retired"] > 2) | (column["time_discovered_completed_ns"] > 2)
    dump.calls = calls[np.argsort(calls["record"], kind="stable")]

    # 2. Who wrote it, its groups, and of how many ranks it tells: as an allgather of all has blocks.
    dump.backend = _plain(found.plain(int(rows[0, 0]))).split(":")[0][:20] if len(rows) else ""
    dump.version, dump.vague = _plain(data.get("version", "")), dump.backend == "gloo" and not own
    if own:
        dump.backend, taken = "treecast", own.get("taken_ns")
        dump.written = taken / 1e9 if isinstance(taken, int) else written
        dump.gone = bool(own.get("gone"))
    _read_groups(dump, data, local)
    kinds, signatures, titles = list(tables.kinds), list(tables.signatures), [dump.words[name] for name in dump.groups]
    begin: list[tuple[int, int]] = dump.calls[["kind", "group"]][:50].tolist()
    for number, title in begin:
        like, *_, sent, received = kinds[number]
        if titles[title] == "default_pg" and sent and re.search("all_?gather", signatures[like].kind):
            dump.size = max(dump.size, received // sent)
    return dump


def _read_groups(dump: Dump, data: dict[str, Any], local: dict[str, str]) -> None:
    """Add what a record says of its groups. ``local``: from the rank's own numbers of groups to their names."""
    # 1. Titles and members. gloo keeps one nameless row, of the group made last, whose ranks it counts from 0, or leaves out.
    known = _dict(data.get("pg_status"))
    for key, row in _dict(data.get("pg_config")).items():
        said = _dict(row) or {"name": key, "ranks": row}
        try:
            ranks = said.get("ranks") or ()
            found = _ints(json.loads(ranks) if isinstance(ranks, str) else ranks, "a member")
        except (ValueError, TypeError, RecursionError):
            raise FormatError("the members of a group are no ranks: write [0, 1, 2]") from None
        name = _plain(said.get("name", key))
        if name:
            dump.words[name] = _plain(said.get("desc", "")) or dump.words.get(name, "")
        else:
            dump.latest, dump.size = len(found), max(dump.size, len(found))
        dump.members |= {name: found} if found and name else {}

    # 2. How far each has come, by the rank's own numbers of groups; these rise as the names do.
    named = [name for name in dump.words if name.isdigit()]
    if len(known) == len(dump.words) == len(named) and all(key.isdigit() for key in known):
        local = dict(zip(sorted(known, key=int), sorted(named, key=int), strict=True)) | local
    for key, row in known.items():
        if key in local:
            last = [_dict(row).get(f"last_{word}_collective", -1) for word in ("enqueued", "completed")]
            begun, ended = _ints([int(each) if isinstance(each, str) else each for each in last], "a status")
            dump.status[local[key]] = begun, ended
    dump.local = {name: int(key) for key, name in local.items() if key.isdigit() and len(key) < 10}
