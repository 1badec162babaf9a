"""The outcome of a run over MPI, made of the reports of its ranks, and how that is described."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.description import (
    Description,
    Mark,
    count_of,
    describe,
    list_few,
    node_table,
    spell_counts,
    spell_ranges,
)
from treecast.errors import PlanError
from treecast.mpi.job.data import Prepared, Source, true_memory
from treecast.mpi.job.records import Record
from treecast.running.engine.engine import PartOutcome
from treecast.running.execution.layout import Ranges, ranges, ranges_at, ranges_by_node
from treecast.running.execution.outcome import Outcome
from treecast.running.jobs.watch import TIMED_OUT
from treecast.schedule import Schedule, describe_job
from treecast.schedule.description import survived_by
from treecast.simulation.faults import describe_delivery
from treecast.units import spell_seconds

_MOST_LOST = 500  # ranges of chunks that a rank names at most
_MOST_RANGES = 10  # of them in a line of the table
_SPARED = "all but the dead's"  # the verdict on a rank that lacks nothing but the data of dead ranks
_MARKS: dict[str, Mark] = {
    "intact": "good",
    _SPARED: "good",
    "dead": "quiet",
    "silent": "bad",
    "INCOMPLETE": "bad",
    "WRONG": "bad",
}
_COPIED = ("by_tree", "lacks", "sent", "received", "seconds", "rows")  # from a record to the report on its rank


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MpiRun(Outcome):
    """The data with which the living ranks of a run ended; the ``schedule`` may be the rows of one rank.

    ``size``, ``transmissions``, ``seconds``: the bytes of the ``input``, the messages that were sent, and the time of the slowest
    rank. ``reports``: that of each rank, as JSON has it. ``killed``: the ranks that died, and left no record; ``living``: how
    many did not. ``lost_with_root``: whether the root died, and with it data that only it had, or was to get. ``status``: that of
    mpirun, 124 when the time limit was up; None inside the mpirun of somebody else.
    """

    input: str
    reports: list[dict[str, Any]]
    killed: list[str]
    living: int
    lost_with_root: bool
    status: int | None = None

    @property
    def silent(self) -> list[str]:
        """The ranks that were still there without a record when the job was ended."""
        return [one["node"] for one in self.reports if one["verdict"] == "silent"]

    @property
    def delivered(self) -> int:
        """How many ranks hold all, or all that living ranks had."""
        return sum(one["verdict"] in ("intact", _SPARED) for one in self.reports)

    @property
    def holds(self) -> bool:
        """Whether every living rank ended with all that it wants, or lacks blocks of the dead alone."""
        return 0 < self.living == self.delivered and not self.lost_with_root


def record_of(prepared: Prepared, rank: int, outcome: PartOutcome, unwritten: str) -> Record:
    """Return the report of a rank: the chunks that it lacks of all that it wants, and the digest of the rest.

    Where it lacks very many ranges of chunks, the last that it names covers all further ones. ``unwritten``: why its files could
    not be written, or nothing.
    """
    wanted = ranges_at(prepared.program.collective.wanted(), rank)
    lacks = Ranges()
    for first, stop in wanted:
        mask = np.array([chunk not in outcome.held for chunk in range(first, stop)], bool)
        lacks += [(first + a, first + b) for a, b in ranges(mask)]
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


def _without(wanted: Ranges, lacks: Ranges) -> Ranges:
    """Return the rest of ranges of chunks without others, both in ascending order."""
    found: Ranges = []
    for first, stop in wanted:
        for a, b in lacks:
            if first < b and a < stop:
                found.append((first, a))
                first = b
        found.append((first, stop))
    return [(first, stop) for first, stop in found if first < stop]


def conclude(
    schedule: Schedule, source: Source, records: Mapping[int, Record], dead: Collection[int], status: int | None = None
) -> MpiRun:
    """Return the outcome of a run, of which the rows of one rank are enough.

    ``source``: the input, by which the data of each rank is measured. ``records``: those of ranks, by rank. ``dead``: the ranks
    that have died; one that has no record and is not among them is *silent*. ``status``: as of ``MpiRun``. Raises PlanError for
    anything that a rank could not do.
    """
    # 1. Whatever a rank could not do is the error of the run.
    for record in records.values():
        if error := record.get("error") or record.get("unwritten"):
            raise PlanError(str(error))
    network, collective, dead = schedule.network, source.collective, set(dead) - set(records)
    # 2. The truth, from the input alone: no rank's memory goes into it.
    true, to_have = true_memory(source), ranges_by_node(collective.wanted(), network.nodes)
    digest = source.layout.digests_of(true)

    # 3. A report on each rank: its digest beside the true one of the chunks that it has.
    def report(rank: int) -> dict[str, Any]:
        begin = {"node": network.label(rank), "rank": rank}
        if rank not in records:
            return {**begin, "verdict": "dead" if rank in dead else "silent"}
        record = records[rank]
        lacks = [(int(first), int(stop)) for first, stop in record["lacks"]]
        has = _without(to_have[rank], lacks)
        return {
            **begin,
            "verdict": _verdict(collective, lacks, dead, record["digest"] == digest(*has)),
            "sha256": record["digest"] if has or not lacks else "",
            "true_sha256": digest(*to_have[rank]),
            **{key: record[key] for key in _COPIED},
            "cut_off": [network.label(peer) for peer in record["cut"]],
        }

    # 4. The outcome of all.
    told = [rank for rank in range(network.nodes) if rank not in collective.relays or rank not in records]
    reports = [report(rank) for rank in told]  # a relay wants nothing: there is nothing to be said of it
    lacking = any(one["verdict"] == "INCOMPLETE" for one in reports)
    kind, lost = collective.traits, collective.root in dead
    return MpiRun(
        schedule=schedule,
        size=source.size,
        transmissions=sum(record["sent"] for record in records.values()),
        seconds=max((record["seconds"] for record in records.values()), default=0.0),
        input=source.name,
        reports=reports,
        killed=[network.label(rank) for rank in sorted(dead)],
        living=len(set(collective.ranks.tolist()) - dead),
        lost_with_root=lost and (kind.ends == "root" or (kind.starts == "root" and lacking)),
        status=status,
    )


def _verdict(collective: Collective, lacks: Ranges, dead: Collection[int], is_right: bool) -> str:
    """Return the verdict on the data of a living rank."""
    if not is_right:
        return "WRONG"
    if not lacks:
        return "intact"
    sources = {int(node) for first, stop in lacks for node in np.unique(collective.source_of(np.arange(first, stop)))}
    return _SPARED if collective.traits.starts == "own" and sources <= set(dead) else "INCOMPLETE"


@describe.register
def _(run: MpiRun) -> Description:
    schedule, collective, network = run.schedule, run.schedule.collective, run.schedule.network
    # 1. The job, in lines.
    source = "of every rank" if collective.all_source else f"{collective.direction} {network.label(collective.root)}"
    lines = {
        "input": f"{run.input}, {count_of(run.size, 'byte')}",
        "collective": f"{collective.kind} {source}, {count_of(collective.chunks, 'chunk')}",
        "network": f"{network.spec}, {count_of(network.nodes, 'node')}, a process each",
        "copies": f"{schedule.copies:,}, to survive {survived_by(schedule)}",
        "messages": run.transmissions,
        "moved in": spell_seconds(float(run.seconds)),
    }
    # 2. What a reader must not overlook.
    unusual: dict[str, object] = {}
    if run.lost_with_root:
        unusual["delivered"] = f"LOST with its root {network.label(collective.root)}"
    elif run.holds and any(one["verdict"] == _SPARED for one in run.reports):
        unusual["delivered"] = f"all that living ranks had to all {run.living:,} living ranks"
    if run.silent:
        unusual["silent"] = list_few(run.silent)
    if run.status == TIMED_OUT:
        unusual["time"] = "the ranks did not end in time, and were ended: give --timeout more"
    # 3. The figures, for programs.
    figures = {
        "input": run.input,
        "bytes": run.size,
        "ranks": network.nodes,
        "killed": run.killed,
        "silent": run.silent,
        "lost_with_root": run.lost_with_root,
        "living": run.living,
        "delivered": run.delivered,
        "messages_sent": run.transmissions,
        "transfer_seconds": run.seconds,
        "node_reports": run.reports,
        **({} if run.status is None else {"mpirun_status": run.status}),
    }
    # 4. A table with a line for each rank.
    begin = describe_delivery(run.delivered, run.living, run.killed, words=("rank", "killed"))
    begin = replace(begin, lines={**begin.lines, **unusual}, holds=run.holds)
    rows = [
        (
            *(one[key] for key in ("node", "rank", "verdict")),
            one.get("sha256", "")[:16],
            spell_counts(one.get("by_tree", {})),
            one.get("seconds", ""),
            spell_ranges([(first, stop) for first, stop in one.get("lacks", [])[:_MOST_RANGES]]),
        )
        for one in run.reports
    ]
    heads = ("node", "rank", "verdict", "sha256 …", "tree:chunks", "seconds", "lacks")
    job = Description(describe_job(schedule).figures)
    return begin.joined(job).adding(figures, lines, node_table(heads, rows, _MARKS, "ranks"))
