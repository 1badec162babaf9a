"""The common part of all ways to run a schedule on real bytes: the walk through the steps under faults, and its report."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.description import Described, Mark, Table, node_table
from treecast.progress import Progress, report, reporting
from treecast.schedule import Schedule, Sends
from treecast.simulation.faults import Faults, describe_sends
from treecast.steps import NEVER
from treecast.units import spell_seconds


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Outcome(Described):
    """The outcome of a run on real bytes; each way to run a schedule adds its findings.

    ``size``: the bytes of the data. ``transmissions``: the sends that took place. ``seconds``: the time that it took.
    """

    schedule: Schedule
    size: int
    transmissions: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Stepped(Outcome):
    """The outcome of a run in this process, under ``faults``: the ``steps`` of the sends that took place.

    ``lost_sends``: how many of them went over a failed arc or to a failed node.
    """

    faults: Faults
    steps: int
    lost_sends: int

    def figures_of_run(self) -> dict[str, object]:
        """Return the figures of the sends and the time for JSON."""
        return {
            "steps": self.steps,
            "transmissions": self.transmissions,
            "lost_sends": self.lost_sends,
            "seconds": round(self.seconds, 6),
        }

    def lines_of_run(self, more: str = "") -> dict[str, object]:
        """Return the lines on them for the terminal, with ``more`` of the sends."""
        sends = describe_sends(self.transmissions, self.lost_sends) + more
        return {"steps": self.steps, "transmissions": sends, "moved in": spell_seconds(self.seconds)}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Digested(Stepped):
    """A run whose nodes are judged by digests, the SHA-256 in hexadecimal; ``digest`` is that of the data.

    ``digests``: of the wanted chunks that each node ended with, in the order of the chunks; None where the node failed.
    ``true_digests``: of the chunks that each node should end with.
    """

    digest: str
    digests: list[str | None]
    true_digests: list[str]

    def reports(self, verdict: Callable[[int], str], **more: Callable[[int], object]) -> list[dict[str, Any]]:
        """Return the report of each rank: its verdict, its digests, and ``more``, by its number."""
        return [
            {
                "node": self.schedule.network.label(node),
                "verdict": verdict(node),
                "sha256": self.digests[node],
                "true_sha256": self.true_digests[node],
                **{name: say(node) for name, say in more.items()},
            }
            for node in self.schedule.collective.ranks.tolist()
        ]


def table_of(
    nodes: Sequence[dict[str, Any]],
    marks: Mapping[str, Mark],
    *columns: tuple[str, str, Callable[[Any], object]],
) -> Table:
    """Return the table of the reports of nodes; each column has a head, an entry, and how people write that."""
    every = (("sha256 …", "sha256", _shorten), *columns)
    rows = [[one["node"], one["verdict"], *(say(one[entry]) for _, entry, say in every)] for one in nodes]
    return node_table(("node", "verdict", *(head for head, _, _ in every)), rows, marks)


def _shorten(digest: str | None) -> str:
    return (digest or "")[:16]


class Living:
    """Which nodes and arcs still live, by the step from which each fails."""

    def __init__(self, schedule: Schedule, faults: Faults) -> None:
        faults.check(schedule)
        self._network = schedule.network
        self.node_dies, self.arc_dies = faults.by_step(schedule.network)

    def can_send(self, step: int | NDArray[Any], src: NDArray[Any]) -> NDArray[Any]:
        """Return which sources live in a step."""
        return self.node_dies[src] > step

    def can_hear(
        self, step: int | NDArray[Any], src: NDArray[Any], port: NDArray[Any], dst: NDArray[Any]
    ) -> NDArray[Any]:
        """Return over which arcs something arrives in a step."""
        return (self.arc_dies[self._network.arc(src, port)] > step) & (self.node_dies[dst] > step)


def carry_out(
    schedule: Schedule,
    faults: Faults,
    began: float,
    do: Callable[[Sends], tuple[int, int, Callable[[], object]]],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Carry out a schedule step by step; return the fields of ``Stepped``, but for the bytes.

    ``do`` carries out the sends of one step, and returns how many took place, how many of these were lost, and what is to be
    called when they arrive. ``began``: when all began, as ``time.perf_counter`` says it.
    """
    steps, transmissions, lost, last = 0, 0, 0, schedule.steps
    under_way = defaultdict[int, list[Callable[[], object]]](list)

    def arrived(by: int) -> None:
        for when in sorted(when for when in under_way if when <= by):
            for arrive in under_way.pop(when):
                arrive()

    with reporting(progress):
        for sends in schedule.expand():
            arrived(sends.step)
            late = schedule.model.ticks(sends.src, sends.dst)[1]
            for delay in np.unique(late).tolist():  # sends of one step arrive in several where arcs differ
                sent, gone, arrive = do(sends.take(late == delay))
                under_way[sends.step + delay].append(arrive)
                transmissions, lost = transmissions + sent, lost + gone
                steps = max(steps, sends.step + delay) if sent else steps
                report(sends.step + delay, last, "steps")
        arrived(NEVER)  # what is still under way
    counts = {"steps": steps, "transmissions": transmissions, "lost_sends": lost}
    return {"schedule": schedule, "faults": faults, **counts, "seconds": time.perf_counter() - began}
