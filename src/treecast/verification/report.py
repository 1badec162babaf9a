"""The verifier's report: violations of rules, measured figures, and the lower bounds beside them."""

from dataclasses import asdict, dataclass, field

from treecast.description import Described, Description, count_of, describe
from treecast.lower_bounds import LEAST_OF_ALL, Bound, best, spell_bounds
from treecast.machine import Model
from treecast.networks import Network
from treecast.schedule import Schedule, describe_job

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
class Report(Described):
    """The verdict on a schedule.

    ``counts``: breaches of each rule that was checked, in the order of checking. ``violations``: the first few of each.
    ``steps, transmissions, depth``: as measured. ``bounds``: the lower bounds beside them.
    ``distance``: of all messages together, under wormhole switching (TCD), else None.
    ``depth_contention``: pairs of messages that may meet where steps are not synchronised; None where that is not known.
    ``method``: ``by streams``, ``by symmetry`` (Lemma 7) or ``expanded``. ``seconds``: what the check took.
    """

    schedule: Schedule = field(repr=False, compare=False)
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


@describe.register
def _(report: Report) -> Description:
    schedule = report.schedule
    found = Description({}, {"verified": _verdict(report)}, holds=report.holds).joined(describe_job(schedule))
    lines: dict[str, object] = {"model": report.model.name}
    if schedule.builder:
        lines["builder"] = schedule.builder
    if schedule.trees:
        lines["trees"] = f"{schedule.trees:,}, the deepest of depth {report.depth:,}"
    for what, measured in (("steps", report.steps), ("transmissions", report.transmissions)):
        lines[what] = [f"{measured:,}{_ratio(report, what, measured)}", *spell_bounds(report.bounds, what)]
    if report.distance is not None:
        lines["total distance"] = [spell_distance(report), *spell_bounds(report.bounds, "tcd")]
    if report.depth_contention is not None:
        pairs = count_of(report.depth_contention, "pair")
        lines["depth contention"] = f"{pairs}: messages that may meet where steps are not synchronised"
    return found.adding(_figures(report), lines | {"seconds": report.seconds})


def _figures(report: Report) -> dict[str, object]:
    network = report.schedule.network
    return {
        "model": report.model.name,
        "degree": network.degree,
        "diameter": _diameter(network),
        "trees": report.schedule.trees,
        "depth": report.depth,
        "steps": report.steps,
        **_against(report, "steps"),
        "transmissions": report.transmissions,
        **_against(report, "transmissions"),
        **({} if report.distance is None else {"tcd": report.distance, **_against(report, "tcd")}),
        **({} if report.depth_contention is None else {"depth_contention": report.depth_contention}),
        "verified": report.holds,
        "method": report.method,
        "rules": report.counts,
        "violations": [asdict(v) | {"nodes": [network.label(u) for u in v.nodes]} for v in report.violations],
        "seconds": round(report.seconds, 6),
    }


def _verdict(report: Report) -> list[str]:
    kept = ", ".join(rule for rule, count in report.counts.items() if not count)
    if report:
        return [f"yes, {report.method}: {kept}"]
    broken = ", ".join(f"{rule} is broken {_times(count)}" for rule, count in report.counts.items() if count)
    shown = [f"{violation.rule}: {violation.text}" for violation in report.violations]
    more = sum(report.counts.values()) - len(shown)
    return [f"NO: {broken}", *shown, *([f"and {more:,} more"] if more else []), f"kept: {kept or 'no rule'}"]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _ratio(report: Report, what: str, measured: int) -> str:
    if not report.bounds:
        return ""
    bound = best(list(report.bounds), what).value
    return ", the lower bound" if measured == bound else f", {measured / bound:.4g} x the lower bound" if bound else ""


def spell_distance(report: Report) -> str:
    """Return the total distance in words, beside its bounds, which speak of schedules in the fewest steps."""
    distance, bounds = report.distance or 0, list(report.bounds)
    if not report or not bounds:
        return f"{distance:,}"
    if report.steps > best(bounds, "steps").value:
        return f"{distance:,}, in more than the fewest steps"
    least = best(bounds, "tcd").value
    gap = distance - least
    if not gap:
        kind = report.schedule.collective.kind
        return f"{distance:,}: the minimum, as no {kind} in the fewest steps can do with less"
    if any(LEAST_OF_ALL in bound.formula and bound.value == least for bound in bounds):
        return f"{distance:,}: {gap:,} above the minimum"
    return f"{distance:,}: {gap:,} above the bound; whether it is the minimum is not known"


def _diameter(network: Network) -> int | None:
    """Return the diameter, but of a large graph that has to be searched from every node."""
    return network.diameter if network.diameter_is_cheap else None


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
