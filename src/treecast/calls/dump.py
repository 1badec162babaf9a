"""The record of the last calls of a rank in the form of PyTorch's flight recorder, so that its tools read it, too.

Source of the form: torch/csrc/distributed/c10d/FlightRecorder.hpp of PyTorch, version 2.10 of the record. What it has no field
for stands under ``treecast`` in each entry. Calls that it has no name for go by the nearest one.
"""

import os
import pickle
import socket
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import Any

from treecast.files import write_whole
from treecast.groups.group import Group
from treecast.groups.record import KEPT, Made
from treecast.groups.waiting import Waiting
from treecast.groups.words import spell

VERSION = "2.10"
_KNOWN = {"allgather": "all_gather", "alltoall": "all_to_all", "reduce_scatter": "reduce_scatter", "bcast": "broadcast"}
_NAMES = _KNOWN | {name: name for name in ("barrier", "gather", "scatter", "reduce")}
"""By the begin of a call's name in mpi4py, what PyTorch calls it."""
_FLOATS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "bool": "Bool"}
_TYPES = _FLOATS | {"int8": "Char", "uint8": "Byte", "int16": "Short", "int32": "Int", "int64": "Long"}
_INPUTS, _OUTPUTS = {"scatter", "all_to_all"}, {"gather", "all_gather", "all_to_all"}
"""Calls whose input, or output, has a block for each rank."""


def entry_of(made: Made, group: Group, number: int) -> dict[str, Any]:
    """Return a call as an entry of a flight record."""
    words, plain = made.words, made.words.name.lower()
    name = next((name for begin, name in _NAMES.items() if plain.startswith(begin)), "all_reduce")
    kind, counts = spell(words.datatype), words.counts
    total = counts if isinstance(counts, int) else 0 if counts is None else sum(counts)
    entries = total // max(1, words.itemsize)
    ins = entries * group.size if name in _INPUTS else entries
    outs = entries * group.size if name in _OUTPUTS else entries
    outs = outs // group.size if name == "reduce_scatter" else outs
    splits = [[many // max(1, words.itemsize) for many in side] for side in words.splits]
    ins, outs = map(sum, splits) if splits else (ins, outs)
    types = [_TYPES.get(kind, kind or "Byte")]
    file, _, line = made.site.rpartition(":")
    is_over = bool(made.ended)
    return {
        "record_id": number,
        "pg_id": group.ident,
        "process_group": (str(group.ident), _title(group)),
        "collective_seq_id": made.call,
        "p2p_seq_id": 0,
        "op_id": made.call,
        "profiling_name": f"gloo:{name}",
        "time_created_ns": made.began,
        "time_discovered_started_ns": made.began,
        "time_discovered_completed_ns": made.ended,
        "duration_ms": (made.ended - made.began) / 1e6 if is_over else None,
        "input_sizes": [[ins]],
        "input_dtypes": types,
        "output_sizes": [[outs]],
        "output_dtypes": types,
        "state": "completed" if is_over and not made.error else "started",
        "retired": is_over,
        "timeout_ms": int(1000 * (group.terms.late or 0)),
        "is_p2p": False,
        "frames": [{"name": "", "filename": file, "line": int(line)}] if made.site else [],
        "treecast": {name: getattr(words, name) for name in ("name", "op", "root")}
        | ({"splits": splits} if splits else {})
        | {"error": made.error, "waited": list(made.waited)},
    }


def flight_record(waiting: Waiting) -> dict[str, Any]:
    """Return the record of the last calls: entries, the ranks of each group, and how far each has come."""
    known, now = list(waiting.groups.values()), time_ns() - perf_counter_ns()
    for group in known:
        if group.transport.lock.acquire(blocking=False):  # else it is inside a call, which has noted those before it
            group.catch_up()
            group.transport.lock.release()
    made = {(each.group, each.call): each for each in list(waiting.record.calls) if each.group in waiting.groups}
    for group in known:  # calls that went past it have the times of another clock; one that took long was noted twice
        made |= {(group.ident, each[0]): Made.over(group.ident, each, now) for each in list(group.unlike.quick)}
    last = sorted(made.values(), key=lambda each: each.began)[-KEPT:]
    return {
        "version": VERSION,
        "entries": [entry_of(each, waiting.groups[each.group], k) for k, each in enumerate(last)],
        "pg_config": groups_of(known),
        "pg_status": {str(group.ident): _status_of(group) for group in known},
        "treecast": {"taken_ns": time_ns(), "host": socket.gethostname(), "pid": os.getpid()},
    }


def groups_of(groups: Iterable[Group]) -> dict[str, dict[str, str]]:
    """Return the names, titles and ranks of groups as in a flight record."""
    found = [(str(group.ident), group) for group in groups]
    return {name: {"name": name, "desc": _title(group), "ranks": str(group.seats)} for name, group in found}


def _status_of(group: Group) -> dict[str, int]:
    last = max(group.made.call, group.unlike.last)
    begun = {"last_enqueued_collective": last, "last_started_collective": last}
    return {**begun, "last_completed_collective": last - group.unlike.is_inside}


def _title(group: Group) -> str:
    return f"group {group.ident}" if group.ident else "default_pg"


def dump(waiting: Waiting, rank: int, folder: str) -> Path:
    """Write the record of a rank into a folder, as ``treecast_rank_RANK``; return the file. Raises FormatError."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder, f"treecast_rank_{rank}")
    write_whole(file, pickle.dumps(flight_record(waiting), protocol=4))
    return file
