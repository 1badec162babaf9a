"""The record of the last calls of a rank in the form of PyTorch's flight recorder, so that its tools read it, too.

Source of the form: torch/csrc/distributed/c10d/FlightRecorder.hpp of PyTorch, version 2.10 of the record. What it has no field
for stands under ``treecast`` in each entry. Calls that it has no name for go by the nearest one.
"""

import os
import pickle
import socket
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

from treecast.running.groups.group import Group
from treecast.running.groups.members import name_ranks
from treecast.running.groups.record import KEPT, Made
from treecast.running.groups.waiting import Waiting
from treecast.running.groups.words import spell
from treecast.writing import write_whole

VERSION = "2.10"
_KNOWN = {"allgather": "all_gather", "alltoall": "all_to_all", "reduce_scatter": "reduce_scatter", "bcast": "broadcast"}
_NAMES = _KNOWN | {name: name for name in ("barrier", "gather", "scatter", "reduce")}
"""By the begin of a call's name in mpi4py, what PyTorch calls it."""
_FLOATS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "bool": "Bool"}
_TYPES = _FLOATS | {"int8": "Char", "uint8": "Byte", "int16": "Short", "int32": "Int", "int64": "Long"}
_FEW = 8  # ranks that the title of a group names
_INPUTS, _OUTPUTS = {"scatter", "all_to_all"}, {"gather", "all_gather", "all_to_all"}
"""Calls whose input, or output, has a block for each rank."""


class CommGroups(NamedTuple):
    """The groups of a communicator, whose ranks are ``ranks`` of the job. ``prefix``: what tells its groups from others."""

    waiting: Waiting
    ranks: Sequence[int]
    prefix: str = ""

    def name(self, group: Group) -> str:
        """Return the name of a group in records."""
        return f"{self.prefix}{group.ident}"

    def title(self, group: Group) -> str:
        """Return how people call a group."""
        few = group.size <= _FEW  # no list of thousands in a title
        said = f" of {name_ranks(self.members(group)) if few else f'{group.size} ranks'}" if self.prefix else ""
        return f"group {self.name(group)}{said}" if self.prefix or group.ident else "default_pg"

    def members(self, group: Group) -> list[int]:
        """Return the ranks of a group in the job."""
        return [self.ranks[seat] for seat in group.seats]

    def configs(self) -> dict[str, dict[str, str]]:
        """Return the names, titles and ranks of its groups as in a flight record."""
        found = [(self.name(group), group) for group in list(self.waiting.groups.values())]
        return {n: {"name": n, "desc": self.title(group), "ranks": str(self.members(group))} for n, group in found}


def entry_of(made: Made, part: CommGroups, number: int) -> dict[str, Any]:
    """Return a call as an entry of a flight record."""
    # 1. The name that the recorder has for the call.
    group = part.waiting.groups[made.group]
    words, plain = made.words, made.words.name.lower()
    # the recorder has no name for others: sums of all kinds
    name = next((name for begin, name in _NAMES.items() if plain.startswith(begin)), "all_reduce")
    # 2. Sizes in entries, and the line of the program.
    kind, counts = spell(words.datatype), words.counts
    total = counts if isinstance(counts, int) else 0 if counts is None else sum(counts)
    # counts are bytes, and the recorder's sizes are entries
    entries = total // max(1, words.itemsize)
    ins = entries * group.size if name in _INPUTS else entries
    outs = entries * group.size if name in _OUTPUTS else entries
    outs = outs // group.size if name == "reduce_scatter" else outs  # there words count the whole input
    splits = [[many // max(1, words.itemsize) for many in side] for side in words.splits]
    ins, outs = map(sum, splits) if splits else (ins, outs)
    types = [_TYPES.get(kind, kind or "Byte")]
    file, _, line = made.site.rpartition(":")  # the last colon: a path may have some
    is_over = bool(made.ended)
    # 3. The entry, in the recorder's own words.
    return {
        "record_id": number,
        "pg_id": part.name(group) if part.prefix else group.ident,
        "process_group": (part.name(group), part.title(group)),
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
        "state": "completed" if is_over and not made.error else "started",  # a call that raised never completed
        "retired": is_over,
        "timeout_ms": int(1000 * (group.terms.late or 0)),
        "is_p2p": False,
        "frames": [{"name": "", "filename": file, "line": int(line)}] if made.site else [],
        "treecast": {name: getattr(words, name) for name in ("name", "op", "root")}
        | ({"splits": splits} if splits else {})
        | {"error": made.error, "waited": list(made.waited)},
    }


def flight_record(*parts: CommGroups) -> dict[str, Any]:
    """Return the record of the last calls: entries, the ranks of each group, and how far each has come."""
    # `now`: the time of day at which the other clock shows 0.
    made, now = dict[tuple[int, int, int], Made](), time_ns() - perf_counter_ns()
    for k, (waiting, *_) in enumerate(parts):
        # ``k`` parts have groups with the same numbers
        made |= {(k, one.group, one.call): one for one in list(waiting.record.calls) if one.group in waiting.groups}
        for group in list(waiting.groups.values()):  # those that went past it have the times of another clock
            if group.transport.lock.acquire(
                blocking=False
            ):  # else it is inside a call, which has noted those before it
                group.catch_up()
                group.transport.lock.release()
            over = [Made.over(group.ident, each, now) for each in list(group.unlike.quick)]
            made |= {(k, group.ident, one.call): one for one in over}  # one that took long was noted twice
    # the last by their begin, whichever group they are of
    last = sorted(made.items(), key=lambda pair: pair[1].began)[-KEPT:]
    status = {part.name(group): _status_of(group) for part in parts for group in list(part.waiting.groups.values())}
    return {
        "version": VERSION,
        "entries": [entry_of(each, parts[k], number) for number, ((k, *_), each) in enumerate(last)],
        "pg_config": {name: row for part in parts for name, row in part.configs().items()},
        "pg_status": status,
        "treecast": {"taken_ns": time_ns(), "host": socket.gethostname(), "pid": os.getpid()},
    }


def _status_of(group: Group) -> dict[str, int]:
    last = max(group.made.call, group.unlike.last)
    begun = {"last_enqueued_collective": last, "last_started_collective": last}
    # the call that it is inside of is not over
    return {**begun, "last_completed_collective": last - group.unlike.is_inside}


def dump(rank: int, folder: str, *parts: CommGroups) -> Path:
    """Write the record of a rank into a folder, as ``treecast_rank_RANK``; return the file. Raises FormatError."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder, f"treecast_rank_{rank}")
    write_whole(file, pickle.dumps(flight_record(*parts), protocol=4))  # protocol 4: what the readers take apart
    return file
