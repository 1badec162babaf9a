"""What logs tell of calls: lines of PyTorch's watchdog, and stacks as py-spy, faulthandler and gdb print them."""

import pickle
import re
from pathlib import PurePosixPath
from typing import Any

from treecast.files.records.dump import Dump, Tables, read_dump
from treecast.files.records.plain import Plain

_CALL = re.compile(
    r"\[Rank (\d{1,9})\] Watchdog caught collective operation timeout: "
    r"Work\w+\(SeqNum=(\d{1,12}), OpType=(\w{1,40}), NumelIn=(\d{1,12}), NumelOut=(\d{1,12})"
)
_GROUP = re.compile(
    r"PG GUID (\S{1,80}?)\((\S{0,80}?)\) Rank (\d{1,9})\][^\n]*?work sequence id: (\d{1,12}) "
    r"PG status: last enqueued work: (-?\d{1,12}), last completed work: (-?\d{1,12})"
)
_KINDS = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "all_to_all"}
_FRAMES = (
    (re.compile(r"^\s+(\S+) \(([^():]+\.\w+):(\d+)\)", re.M), (1, 2, 3)),  # py-spy
    (re.compile(r'^\s*File "([^"\n]+)", line (\d+),? in (\S+)', re.M), (3, 1, 2)),  # faulthandler
    (re.compile(r"^#\d+\s+(?:0x\w+ in )?(\S+) \(.*?\) at (\S+?):(\d+)", re.M), (1, 2, 3)),  # gdb
)
_LIBRARY = re.compile(
    r"(^|/)(torch|treecast|site-packages|threading|selectors|socket|queue|subprocess)(/|\.py$)|^<|/lib/python"
)


def read_log(text: str, tables: Tables) -> list[Dump]:
    """Return a record of each rank of which lines of PyTorch's watchdog tell the call that did not end."""
    entries, groups = dict[int, list[dict[str, Any]]](), dict[int, dict[str, dict[str, Any]]]()
    status = dict[int, dict[str, dict[str, int]]]()
    for rank, number, kind, ins, outs in _CALL.findall(text):
        kind = _KINDS.get(kind.lower(), kind.lower())
        entry: dict[str, Any] = dict.fromkeys(("record_id", "collective_seq_id"), int(number))
        entry |= {"profiling_name": f"nccl:{kind}", "process_group": ("?", ""), "pg_id": "?"}
        entry |= {"input_sizes": [[int(ins)]], "output_sizes": [[int(outs)]]}
        entries.setdefault(int(rank), []).append(entry)
    for name, words, who, number, begun, ended in _GROUP.findall(text):
        rank = int(who)
        for entry in entries.get(rank, ()):
            if entry["collective_seq_id"] == int(number):
                entry |= {"process_group": (name, words), "pg_id": name}
        groups.setdefault(rank, {})[name] = {"name": name, "desc": words}
        row = {"last_enqueued_collective": int(begun), "last_completed_collective": int(ended)}
        status.setdefault(rank, {})[name] = row
    found = list[Dump]()
    for rank, mine in entries.items():
        data = {"entries": mine, "pg_config": groups.get(rank, {}), "pg_status": status.get(rank, {}), "version": "log"}
        # As a record of one call: all that judges records then judges logs, too.
        dump = read_dump(Plain(pickle.dumps(data)), rank, tables)
        # the numbers in these lines are names of groups, none of the rank's own
        dump.local = {}
        found.append(dump)
    return found


def read_stack(text: str) -> str:
    """Return where the main thread of a process stands in its own program, "" of other text.

    >>> read_stack('Thread 7 (idle): "MainThread"\\n    wait (threading.py:331)\\n    load (data.py:42)')
    'load at data.py:42'
    """
    # the main thread, as py-spy, faulthandler and gdb call it
    begins = [text.find(mark) for mark in ('"MainThread"', "Current thread", "Thread 1 ")]
    text = text[max(0, min((begin for begin in begins if begin >= 0), default=0)) :]
    for pattern, (name, file, line) in _FRAMES:
        frames = list(pattern.finditer(text))
        for match in [match for match in frames if not _LIBRARY.search(match[file])] or frames[:1]:
            return f"{match[name][:60]} at {PurePosixPath(match[file]).name[:80]}:{match[line]}"
    return ""
