"""A run over MPI from its request to its outcome, from outside or inside mpirun, and how the outcome is described."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from treecast.against import dead
from treecast.description import (
    Described,
    Description,
    Mark,
    Table,
    count_of,
    describe,
    list_few,
    node_table,
    spell_counts,
    spell_ranges,
)
from treecast.errors import PlanError
from treecast.mpi import library as mpi
from treecast.mpi.job import run as runs
from treecast.mpi.job.findings import SPARED, Found, holds
from treecast.mpi.job.launch import TIMED_OUT
from treecast.mpi.job.run import Request
from treecast.mpi.job.start import run_ranks
from treecast.schedule import Schedule, describe_job
from treecast.simulation.delivery import describe_delivery
from treecast.units import spell_seconds

_MOST_RANGES = 10  # ranges of lost chunks in a line of the table
_MARKS: dict[str, Mark] = {
    "intact": "good",
    SPARED: "good",
    "dead": "quiet",
    "silent": "bad",
    "INCOMPLETE": "bad",
    "WRONG": "bad",
}


@dataclass(frozen=True)
class MpiRun(Described):
    """What the living ranks of a run ended with. ``schedule``: the plan, or the rows of one rank; ``found``: the findings."""

    schedule: Schedule
    request: Request
    found: Found

    @property
    def holds(self) -> bool:
        """Whether every living rank ended with all that it wants, or lacks blocks of the dead alone."""
        return holds(self.found)


def run_over_mpi(ask: Callable[[], tuple[Schedule, Request]], timeout: float) -> tuple[MpiRun | None, int]:
    """Carry out a run: in new processes, or where mpirun has started this one, as one of its ranks.

    Parameters
    ----------
    ask : callable
        Returns the schedule and the request. Of several ranks only rank 0 calls it, for all.
    timeout : float
        Seconds after which new processes are ended.

    Returns
    -------
    tuple of MpiRun or None, and int
        The outcome, which one rank gets, and the exit status: 0 it holds, 1 it does not, 124 the time limit was up.

    Raises
    ------
    PlanError
        When it cannot be done: no mpi4py, no mpirun, an input that a rank cannot read.
    """
    if not mpi.inside_mpirun():
        if not mpi.has_mpi4py():
            raise PlanError(mpi.MISSING)
        schedule, request = ask()
        outcome = MpiRun(schedule, request, run_ranks(schedule, request, timeout))
        if outcome.found["mpirun_status"] == TIMED_OUT:
            return outcome, TIMED_OUT
        return outcome, 0 if outcome.holds else 1
    asked: list[Schedule] = []

    def ask_once() -> Request:
        schedule, request = ask()
        asked.append(schedule)
        return request

    found, status, request = runs.run_rank(ask_once)
    if found is None or request is None:
        return None, status
    if "error" in found:
        raise PlanError(str(found["error"]))
    return MpiRun(asked[0] if asked else runs.own_program(request, 0), request, found), status


@describe.register
def _(outcome: MpiRun) -> Description:
    schedule, request, found = outcome.schedule, outcome.request, outcome.found
    collective, network = schedule.collective, schedule.network
    source = "of every rank" if collective.all_source else f"{collective.direction} {network.label(collective.root)}"
    lines = {
        "input": f"{request.input}, {count_of(found['bytes'], 'byte')}",
        "collective": f"{collective.kind} {source}, {count_of(collective.chunks, 'chunk')}",
        "network": f"{network.spec}, {count_of(network.nodes, 'node')}, a process each",
        "copies": f"{schedule.copies:,}, to survive any {_failures(schedule)}",
        "programs": "each rank's own rows, " + ("from its label alone" if request.rule else "read from the plan"),
        "messages": found["messages_sent"],
        "moved in": spell_seconds(float(found["transfer_seconds"])),
    }
    begin = describe_delivery(found["delivered"], found["living"], found["killed"], words=("rank", "killed"))
    begin = replace(begin, lines={**begin.lines, **_exceptions(outcome)}, holds=outcome.holds)
    job = Description(describe_job(schedule).figures)
    return begin.joined(job).adding({"input": request.input, **found}, lines, _node_table(found["node_reports"]))


def _exceptions(outcome: MpiRun) -> dict[str, object]:
    """Return the lines of a report that say what is out of the common."""
    collective, found = outcome.schedule.collective, outcome.found
    lines: dict[str, object] = {}
    if found["lost_with_root"]:
        lines["delivered"] = f"LOST with its root {outcome.schedule.network.label(collective.root)}"
    elif outcome.holds and any(node["verdict"] == SPARED for node in found["node_reports"]):
        lines["delivered"] = f"all that living ranks had to all {found['living']:,} living ranks"
    if found["silent"]:
        lines["silent"] = list_few(found["silent"])
    if found.get("mpirun_status") == TIMED_OUT:
        lines["time"] = "the ranks did not end in time, and were ended: give --timeout more"
    return lines


def _failures(schedule: Schedule) -> str:
    survived = schedule.copies - 1
    return count_of(survived, "failure") if schedule.against == "nodes" else dead(survived, schedule.against)


def _node_table(nodes: list[dict[str, Any]]) -> Table:
    rows = [
        (
            node["node"],
            node["rank"],
            node["verdict"],
            node.get("sha256", "")[:16],
            spell_counts(node.get("by_tree", {})),
            node.get("seconds", ""),
            spell_ranges([(first, stop) for first, stop in node.get("lacks", [])[:_MOST_RANGES]]),
        )
        for node in nodes
    ]
    return node_table(("node", "rank", "verdict", "sha256 …", "tree:chunks", "seconds", "lacks"), rows, _MARKS, "ranks")
