"""What the ranks of a run report at its end, and the findings that are made of it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.execution.layout import Ranges, ranges, ranges_at, ranges_by_node
from treecast.mpi.engine.engine import Outcome
from treecast.mpi.job.data import Prepared, Source, true_memory
from treecast.mpi.job.records import Record
from treecast.networks import Network

_MOST_LOST = 500  # ranges of chunks that a rank names at most

SPARED = "all but the dead's"
"""The verdict on a rank that lacks nothing but what dead ranks had."""
Found = dict[str, Any]
"""The findings of a run: what a report needs, as JSON can hold it."""


def record_of(prepared: Prepared, rank: int, outcome: Outcome, unwritten: str) -> Found:
    """Return what a rank reports: what is missing of all that it wants, and the digest of the rest.

    Where it lacks very many ranges of chunks, the last that it names covers all further ones. ``unwritten``: why its files could
    not be written, or nothing.
    """
    wanted = ranges_at(prepared.program.collective.wanted(), rank)
    lacks = [pair for first, stop in wanted for pair in _lacking(first, stop, outcome.held)]
    if len(lacks) > _MOST_LOST:
        lacks[_MOST_LOST - 1 :] = [(lacks[_MOST_LOST - 1][0], lacks[-1][1])]
    rows = prepared.program.rows
    return {
        "digest": prepared.source.layout.digest(prepared.memory, _without(wanted, lacks)),
        "lacks": lacks,
        "by_tree": {tree: count for tree, count in sorted(outcome.by_tree.items()) if tree >= 0},
        "sent": outcome.sent,
        "received": outcome.received,
        "seconds": round(outcome.seconds, 6),
        "dead": sorted(outcome.dead),
        "cut": sorted(outcome.cut),
        "peers": sorted({*rows.src.tolist(), *rows.dst.tolist()} - {rank}),
        "rows": len(prepared.program),
        "unwritten": unwritten,
    }


def _lacking(first: int, stop: int, held: set[int]) -> Ranges:
    mask = np.array([chunk not in held for chunk in range(first, stop)], bool)
    return [(first + a, first + b) for a, b in ranges(mask)]


def _without(wanted: Ranges, lacks: Ranges) -> Ranges:
    """Return what is left of ranges of chunks without others, both in ascending order."""
    found: Ranges = []
    for first, stop in wanted:
        for a, b in lacks:
            if first < b and a < stop:
                found.append((first, a))
                first = b
        found.append((first, stop))
    return [(first, stop) for first, stop in found if first < stop]


def conclude(network: Network, source: Source, records: Mapping[int, Record], dead: Collection[int]) -> Found:
    """Return the findings of a run, or an ``error`` in their place: what a rank could not do. As ``collect_findings``."""
    for record in records.values():
        error = record.get("error") or record.get("unwritten")
        if error:
            return {"error": error}
    return collect_findings(network, source, records, set(dead) - set(records))


def holds(found: Found) -> bool:
    """Return whether every living rank holds all, or all that living ranks had."""
    return bool(0 < found["living"] == found["delivered"] and not found["lost_with_root"])


def collect_findings(network: Network, source: Source, records: Mapping[int, Record], dead: Collection[int]) -> Found:
    """Return the findings of a run.

    Parameters
    ----------
    network
        What joins the ranks.
    source
        The input: what each rank wants is measured by it.
    records
        The records of ranks, by rank.
    dead
        The ranks that have died without a record. One that has none and is not among them is *silent*.
    """
    collective, layout, true = source.collective, source.layout, true_memory(source)
    to_have, rights = ranges_by_node(collective.wanted(), network.nodes), dict[tuple[tuple[int, int], ...], str]()

    def digest(chunks: Ranges) -> str:
        key = tuple(chunks)
        if key not in rights:
            rights[key] = layout.digest(true, chunks)
        return rights[key]

    nodes = list[Found]()
    for rank in range(network.nodes):
        if rank in collective.relays and rank in records:
            continue  # it wants nothing: there is nothing to be said of it
        node: Found = {"node": network.label(rank), "rank": rank}
        if rank not in records:
            nodes.append({**node, "verdict": "dead" if rank in dead else "silent"})
            continue
        record = records[rank]
        lacks = [(int(first), int(stop)) for first, stop in record["lacks"]]
        has = _without(to_have[rank], lacks)
        node |= {
            "verdict": _verdict(collective, lacks, dead, record["digest"] == digest(has)),
            "sha256": record["digest"] if has or not lacks else "",
            "true_sha256": digest(to_have[rank]),
        }
        node |= {key: record[key] for key in ("by_tree", "lacks", "sent", "received", "seconds", "rows")}
        nodes.append({**node, "cut_off": [network.label(peer) for peer in record["cut"]]})
    delivered = [node for node in nodes if node["verdict"] in ("intact", SPARED)]
    return {
        "bytes": source.size,
        "ranks": network.nodes,
        "killed": [network.label(rank) for rank in sorted(dead)],
        "silent": [node["node"] for node in nodes if node["verdict"] == "silent"],
        "lost_with_root": _lost_with_root(collective, nodes, dead),
        "living": len(set(collective.ranks.tolist()) - set(dead)),
        "delivered": len(delivered),
        "messages_sent": sum(record["sent"] for record in records.values()),
        "transfer_seconds": max((record["seconds"] for record in records.values()), default=0.0),
        "node_reports": nodes,
    }


def _verdict(collective: Collective, lacks: Ranges, dead: Collection[int], is_right: bool) -> str:
    """Return what is to be said of the data of a living rank."""
    if not is_right:
        return "WRONG"
    if not lacks:
        return "intact"
    sources = {int(node) for first, stop in lacks for node in np.unique(collective.source_of(np.arange(first, stop)))}
    return SPARED if collective.traits.starts == "own" and sources <= set(dead) else "INCOMPLETE"


def _lost_with_root(collective: Collective, nodes: list[Found], dead: Collection[int]) -> bool:
    """Return whether the root has died, and with it what only it had, or was to get."""
    if collective.root not in dead:
        return False
    lacking = any(node["verdict"] == "INCOMPLETE" for node in nodes)
    return collective.traits.ends == "root" or (collective.traits.starts == "root" and lacking)
