"""What the ranks of a run report at its end, and the findings that are made of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treecast.execution.layout import Ranges, ranges, ranges_at, ranges_by_node
from treecast.mpi.engine.engine import Outcome
from treecast.mpi.job.data import Prepared, true_memory
from treecast.simulation.faults import Faults, wanted

_MOST_LOST = 20  # ranges of chunks that a rank names at most

Found = dict[str, Any]
"""The findings of a run: what a report needs, as JSON can hold it."""


def closing_words(prepared: Prepared, rank: int, outcome: Outcome, dead: set[int], unwritten: str) -> bytes:
    """Return what a rank reports at the end: the digest of its data, and what is missing.

    ``unwritten``: why its files could not be written, or nothing.
    """
    mine = ranges_at(wanted(prepared.program.collective, Faults(dict.fromkeys(dead, 0))), rank)
    lacks = [pair for first, stop in mine for pair in _lacking(first, stop, outcome.held)]
    return json.dumps(
        {
            "digest": prepared.source.layout.digest(prepared.memory, mine),
            "lacks": lacks[:_MOST_LOST],
            "by_tree": {tree: count for tree, count in sorted(outcome.by_tree.items()) if tree >= 0},
            "sent": outcome.sent,
            "received": outcome.received,
            "seconds": round(outcome.seconds, 6),
            "cut": sorted(outcome.cut),
            "rows": len(prepared.program),
            "unwritten": unwritten,
        }
    ).encode()


def _lacking(first: int, stop: int, held: set[int]) -> Ranges:
    mask = np.array([chunk not in held for chunk in range(first, stop)], bool)
    return [(first + a, first + b) for a, b in ranges(mask)]


def collect_findings(prepared: Prepared, records: Mapping[int, Mapping[str, Any]], dead: set[int]) -> Found:
    """Return the findings of a run, from the reports of the living ranks and the input."""
    schedule, layout = prepared.program, prepared.source.layout
    network, true = schedule.network, true_memory(prepared.source)
    to_have = ranges_by_node(wanted(schedule.collective, Faults(dict.fromkeys(dead, 0))), network.nodes)
    nodes, rights = list[Found](), dict[tuple[tuple[int, int], ...], str]()
    for rank in range(network.nodes):
        node: Found = {"node": network.label(rank), "rank": rank}
        if rank not in records:
            nodes.append({**node, "verdict": "dead"})
            continue
        record, mine = records[rank], tuple(to_have[rank])
        if mine not in rights:
            rights[mine] = layout.digest(true, mine)
        intact = record["digest"] == rights[mine] and not record["lacks"]
        node |= {
            "verdict": "intact" if intact else "INCOMPLETE",
            "sha256": record["digest"],
            "true_sha256": rights[mine],
        }
        node |= {key: record[key] for key in ("by_tree", "lacks", "sent", "received", "seconds", "rows")}
        nodes.append({**node, "cut_off": [network.label(peer) for peer in record["cut"]]})
    return {
        "bytes": prepared.source.size,
        "ranks": network.nodes,
        "killed": [network.label(rank) for rank in sorted(dead)],
        "living": len(records),
        "delivered": sum(node["verdict"] == "intact" for node in nodes),
        "messages_sent": sum(record["sent"] for record in records.values()),
        "transfer_seconds": max(record["seconds"] for record in records.values()),
        "node_reports": nodes,
    }


def write_findings(path: str, found: Mapping[str, object]) -> None:
    """Write findings to the file that the process which started the ranks reads."""
    beside = Path(path).with_suffix(".part")
    beside.write_text(json.dumps(found))
    beside.replace(path)
