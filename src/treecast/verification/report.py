"""The verifier's report: violations of rules, measured figures, and the lower bounds beside them."""

from dataclasses import dataclass

from treecast.lower_bounds import Bound, best
from treecast.machine import Model
from treecast.networks import Graph, Network
from treecast.schedule import Schedule

_MOST_SEARCHED = 4096
SHOWN = 3
"""How many breaches of each rule a report describes; it counts all."""


@dataclass(frozen=True)
class Violation:
    """One violation of a rule: the row, nodes and chunk (-1 or () where there is none), and a sentence on what is wrong."""

    rule: str
    text: str
    row: int = -1
    nodes: tuple[int, ...] = ()
    chunk: int = -1


@dataclass(frozen=True)
class Report:
    """The verdict on a schedule.

    ``counts``: breaches of each rule that was checked, in the order of checking. ``violations``: the first few of each.
    ``steps, transmissions, depth``: as measured. ``bounds``: the lower bounds beside them.
    ``distance``: of all messages together, under wormhole switching (TCD), else None.
    ``depth_contention``: pairs of messages that may meet where steps are not synchronised; None where that is not known.
    ``method``: ``by streams``, ``by symmetry`` (Lemma 7) or ``expanded``. ``seconds``: what the check took.
    """

    model: Model
    method: str
    counts: dict[str, int]
    violations: tuple[Violation, ...]
    steps: int
    transmissions: int
    depth: int
    bounds: tuple[Bound, ...]
    seconds: float
    distance: int | None = None
    depth_contention: int | None = None

    @property
    def holds(self) -> bool:
        """Whether no rule is broken."""
        return not any(self.counts.values())

    def __bool__(self) -> bool:
        return self.holds


Broken = tuple[int, list[Violation]]
"""How often a rule is broken, and the first few breaches."""


def figures(schedule: Schedule, report: Report) -> dict[str, object]:
    """Return the figures of a report under the names that every ``--json`` uses."""
    network = schedule.network
    return {
        "collective": schedule.collective.kind, "network": network.spec, "model": report.model.name,
        "builder": schedule.builder, "nodes": network.nodes, "degree": network.degree, "diameter": _diameter(network),
        "root": network.label(schedule.collective.root), "messages": schedule.collective.messages,
        "copies": schedule.copies, "survives": schedule.copies - 1, "trees": schedule.trees, "depth": report.depth,
        "steps": report.steps, **_against(report, "steps"),
        "transmissions": report.transmissions, **_against(report, "transmissions"),
        **({} if report.distance is None else {"tcd": report.distance, **_against(report, "tcd")}),
        **({} if report.depth_contention is None else {"depth_contention": report.depth_contention}),
        "verified": report.holds, "method": report.method, "rules": report.counts,
        "violations": [
            {"rule": v.rule, "row": v.row, "nodes": [network.label(u) for u in v.nodes], "chunk": v.chunk, "text": v.text}
            for v in report.violations
        ],
        "seconds": round(report.seconds, 6),
    }  # fmt: skip


def _diameter(network: Network) -> int | None:
    """Return the diameter, but of a large graph that has to be searched from every node."""
    return None if isinstance(network, Graph) and network.nodes > _MOST_SEARCHED else network.diameter


def _against(report: Report, of: str) -> dict[str, object]:
    if not any(bound.of == of for bound in report.bounds):
        return {}
    bound = best(list(report.bounds), of).value
    extra: dict[str, object] = {f"{of}_lower_bound": bound}
    if of == "tcd":
        extra |= {"gap": (report.distance or 0) - bound, "minimal": report.holds and report.distance == bound}
    if of == "steps":
        extra["ratio"] = round(report.steps / bound, 4) if bound else 1.0
    return extra
