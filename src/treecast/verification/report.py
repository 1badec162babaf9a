"""The verifier's report: violations of rules, measured figures, and the lower bounds beside them."""

from dataclasses import asdict, dataclass, field
from typing import NamedTuple, cast

import numpy as np

from treecast.description import Described, Description, count_of, describe
from treecast.lower_bounds import LEAST_OF_ALL, Bound, best, spell_bounds, spell_greatest, tightest
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.description import degraded
from treecast.schedule import Schedule, describe_job
from treecast.schedule.tree_of_rows import first_controls, told_trees
from treecast.units import spell_ratio, spell_seconds
from treecast.verification.bits import bits_of_plan

SHOWN = 3
"""How many breaches of each rule a report describes; it counts all."""


@dataclass(frozen=True, repr=False)
class Violation:
    """One breach of a rule: its place, and a sentence on it.

    Parameters
    ----------
    rule : str
        The name of the rule.
    text : str
        The fault in the schedule, in a sentence.
    row : int
        The row; -1 where there is none.
    nodes : tuple of int
        The nodes.
    chunk : int
        The chunk; -1 where there is none.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "path:4")
    >>> print(treecast.verify(schedule.select(schedule.rows.step != 1)).violations[0])
    holds: row 1: 2 > 3 at step 2 carries chunk 0, but 2 never receives it
    """

    rule: str
    text: str
    row: int = -1
    nodes: tuple[int, ...] = ()
    chunk: int = -1

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"

    def __repr__(self) -> str:
        text = self.text if len(self.text) < 120 else self.text[:119] + "…"
        return f"<Violation of {self.rule} in row {self.row}: {text}>"


@dataclass(frozen=True, repr=False)
class Report(Described):
    """The verdict on a schedule. It is true when no rule is broken.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    model : Model
        The machine that it was judged under.
    method : str
        ``by streams``, ``by symmetry`` (Lemma 7) or ``expanded``.
    counts : dict from str to int
        The breaches of each rule that was checked, in the order of checking.
    violations : tuple of Violation
        The first few breaches of each rule.
    steps, transmissions, depth : int
        As measured.
    bounds : tuple of Bound
        The lower bounds beside them.
    seconds : float
        The time that it took.
    distance : int, optional
        The distance of all messages together, under wormhole switching.
    depth_contention : int, optional
        The pairs of messages that may meet where steps are not synchronised, where that is known.

    Examples
    --------
    >>> import treecast
    >>> report = treecast.verify(treecast.plan("broadcast", "star:5", messages=400, survive=2))
    >>> report
    <Report under all-port: holds, 307 steps, 142,800 transmissions>
    >>> bool(report), report.depth, sum(report.counts.values())
    (True, 8, 0)
    >>> round(report.ratio, 4)
    1.0066
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

    @property
    def ratio(self) -> float | None:
        """The steps as a multiple of the lower bound; None where no bound is known."""
        # no bound on steps may be known
        least = best(list(self.bounds), "steps").value if any(bound.of == "steps" for bound in self.bounds) else None
        return None if least is None else self.steps / least if least else 1.0

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"{sum(self.counts.values()):,} breaches"
        sizes = f"{count_of(self.steps, 'step')}, {count_of(self.transmissions, 'transmission')}"
        return f"<Report under {self.model.name}: {verdict}, {sizes}>"


Broken = tuple[int, list[Violation]]
"""How often a rule is broken, and the first few breaches."""


@describe.register
def _(report: Report) -> Description:
    schedule = report.schedule
    found = Description({}, {"verified": _verdict(report)}, holds=report.holds).joined(describe_job(schedule))
    lines: dict[str, object] = {"model": report.model.name}
    if schedule.builder:
        lines["builder"] = schedule.builder
    if schedule.trees and not schedule.sparing:  # there, tree 0 marks the rows that answer
        depth = f", the deepest of depth {report.depth:,}" if report.depth else ""
        lines["trees"] = f"{schedule.trees:,}{depth}"
    if waking := waking_of(schedule):
        lines["waking"] = str(waking)
    for measure, measured in (("steps", report.steps), ("transmissions", report.transmissions)):
        lines[measure] = [
            f"{measured:,}{beside_bound(report, measure, measured)}",
            *spell_greatest(report.bounds, measure),
        ]
    if report.distance is not None:
        lines["total distance"] = [spell_distance(report), *spell_greatest(report.bounds, "tcd")]
    bits = bits_of_plan(schedule) if report else None
    if report.depth_contention is not None:
        pairs = count_of(report.depth_contention, "pair")
        lines["depth contention"] = f"{pairs}: messages that may meet where steps are not synchronised"
    found = found.adding(_figures(report), lines | {"verified in": spell_seconds(report.seconds)})
    found = found if bits is None else found.joined(describe(bits), after="transmissions")
    return found.joined(degraded(schedule.network))


def with_all_bounds(report: Report, found: Description) -> Description:
    """Return the description of a report with every bound under its figure, where it has the greatest alone."""
    names = {"steps": "steps", "transmissions": "transmissions", "tcd": "total distance"}
    lines = {
        name: [cast("list[object]", found.lines[name])[0], *spell_bounds(report.bounds, of)]
        for of, name in names.items()
        if name in found.lines
    }
    return found.adding({}, lines)


def _figures(report: Report) -> dict[str, object]:
    network = report.schedule.network
    return {
        "model": report.model.name,
        "degree": network.degree,
        "diameter": network.diameter if network.diameter_is_cheap else None,
        "trees": report.schedule.trees,
        "depth": report.depth,
        **({"waking": waking._asdict()} if (waking := waking_of(report.schedule)) else {}),
        "steps": report.steps,
        **_against(report, "steps"),
        "transmissions": report.transmissions,
        **_against(report, "transmissions"),
        **({} if report.distance is None else {"tcd": report.distance, **_against(report, "tcd")}),
        **({} if report.depth_contention is None else {"depth_contention": report.depth_contention}),
        "bounds": [asdict(bound) for bound in report.bounds],
        "holds": report.holds,
        "open": False,
        "method": report.method,
        "rules": report.counts,
        "findings": [_finding(violation, network) for violation in report.violations],
        "seconds": round(report.seconds, 6),
    }


def _finding(violation: Violation, network: Network) -> dict[str, object]:
    """Return a violation as JSON has those of all files: its place, in words and in numbers, apart from the sentence."""
    where, _, text = violation.text.partition(": ") if violation.row >= 0 else ("", "", violation.text)
    at = [violation.row] if violation.row >= 0 else []
    found: dict[str, object] = {"rule": violation.rule, "text": text, "where": where, "at": at}
    return found | {"nodes": [network.label(u) for u in violation.nodes], "chunk": violation.chunk}


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


def beside_bound(report: Report, measure: str, measured: int) -> str:
    """Return how steps or transmissions stand to the best bound, as words that go on behind their number."""
    if not report.bounds or not report:  # bounds are of right schedules only
        return ""
    bound, under = best(report.bounds, measure).value, tightest(report.bounds, measure)
    if measured == bound or not bound:
        return ", the lower bound" if measured == bound else ""
    near = 0 < (measured - bound) * 1000 < bound  # "1 x" would say that it is met
    least = f"; the least {under.given}" if measured == under.value else ""
    return f", {f'{measured - bound:,} above' if near else f'{spell_ratio(measured / bound)} x'} the lower bound{least}"


def spell_distance(report: Report) -> str:
    """Return the total distance and its bounds in words; the bounds hold for schedules in the fewest steps."""
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


def _against(report: Report, of: str) -> dict[str, object]:
    if not any(bound.of == of for bound in report.bounds):
        return {}
    bound = best(list(report.bounds), of).value
    extra: dict[str, object] = {f"{of}_lower_bound": bound}
    if of == "tcd" and report:
        extra |= {"gap": (report.distance or 0) - bound, "minimal": report.distance == bound}
    if of == "steps" and report:  # bounds are of right schedules only
        extra["ratio"] = round(report.ratio or 1.0, 4)
    return extra


class Waking(NamedTuple):
    """The figures of a gather that tells its nodes when to begin, in the letters of Bhatt, Pucci, Ranade & Rosenberg.

    ``broadcast``: B, the steps in which tokens or wake-ups go down. ``collection``: C, the steps from then until the root has all
    certificates; 0 where nodes do not certify. ``flits``: M, of all messages. ``height``: H, of the tree.
    """

    broadcast: int
    collection: int
    flits: int
    height: int

    def __str__(self) -> str:
        return f"B = {self.broadcast:,}, C = {self.collection:,}, M = {self.flits:,}, H = {self.height:,}"


def waking_of(schedule: Schedule) -> Waking | None:
    """Return the figures of a gather that tells its nodes when to begin; None where none is told, or those of several trees."""
    rows, part, trees = schedule.rows, schedule.part, told_trees(schedule)
    if part.direction != "to" or part.lengths is None or len(trees) != 1:
        return None
    parent, row = first_controls(schedule, trees[0])
    broadcast = int(rows.step[row[parent >= 0]].max(initial=-1)) + 1
    up = rows.control & (parent[rows.src] == rows.dst)
    # without certificates the collection takes no step
    done = int(rows.step[up].max(initial=broadcast - 1)) + 1
    above = np.where(parent >= 0, parent, part.root)
    depth = (parent >= 0).astype(np.int64)  # arcs to the node ``above``, which is twice as far each time
    while (depth[above] > 0).any():
        depth, above = depth + depth[above], above[above]
    return Waking(broadcast, done - broadcast, part.lengths.total, int(depth.max()))
