"""The verifier: is a schedule right, under a model of the machine, and how far is it from the lower bound?

Each rule is a small function with a stable name. A rule that cannot be decided counts as broken. A stream is judged as a
whole, never chunk by chunk, and an orbit by its own rows, those of node 0. ``method="expanded"`` judges every single send
instead, slowly and by other means.
"""

import time
from typing import Any

from treecast.against import apart
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import Bound, schedule_bounds
from treecast.lower_bounds.proof import carried, proven
from treecast.models import Model
from treecast.models import model as find_model
from treecast.schedule import Schedule
from treecast.verification.expanded import check_expanded
from treecast.verification.report import Broken, Report, Violation
from treecast.verification.rules import Case, rules_for
from treecast.verification.rules.wormhole import depth_contention

_MOST_SENDS = 10_000_000


def verify(schedule: Schedule, model: str | Model | None = None, method: str = "fast") -> Report:
    """Check a schedule against every rule, under its own model or another one.

    ``method``: ``fast`` judges streams and orbits as a whole; ``expanded`` judges every send of every chunk.
    Raises ScheduleError when the schedule is too large to judge in memory. A schedule never changes, so each question is answered
    once, and the answer stays with it.
    """
    chosen = schedule.model if model is None else find_model(model)
    # in the schedule itself: whoever lets it go lets the answers go
    known: dict[tuple[Model, str], dict[str, Any]] = vars(schedule).setdefault("_judged", {})
    if (chosen, method) not in known:
        known[chosen, method] = _judge(schedule, chosen, method)
    return Report(schedule=schedule, model=chosen, **known[chosen, method])


def _judge(schedule: Schedule, chosen: Model, method: str) -> dict[str, Any]:
    """Return the fields of a report but for the schedule, which is to be free to go, and the model."""
    # 1. Every rule, by one method or the other.
    began = time.perf_counter()
    if chosen.arcs:  # of an orbit not all arcs take as long
        schedule = schedule.plain()
    if method not in ("fast", "expanded"):
        raise ScheduleError(f"method must be fast or expanded, not {method!r}")
    if method == "expanded":
        holders = 2 if schedule.collective.personal else schedule.network.nodes  # one has a chunk, and one wants it
        cells = schedule.transmissions + holders * schedule.collective.chunks
        if cells > _MOST_SENDS:
            raise ScheduleError(f"{cells:,} sends and holdings are too many to judge one by one: use the fast method")
        found, depth = check_expanded(schedule, chosen)
        how = "expanded"
    else:
        case = Case(schedule, chosen)
        found = {rule: check() for rule, check in rules_for(case).items()}
        depth = case.depth
        how = "by symmetry" if schedule.orbit else "by streams"
    # 2. What the schedule itself claims.
    proof, why = _judge_proof(schedule)
    found["claims"] = _claims_broken(schedule, why)
    shown = [violation for broken in found.values() for violation in broken[1]]
    # 3. How far it is from the lower bounds.
    try:
        lower = schedule_bounds(schedule, chosen)
    except PlanError:  # more copies are claimed than there can be: the rule says so
        lower = []
    if chosen == schedule.model and proof is not None:  # a proof is for the machine of the plan
        lower = [*lower, proof]
    counts = {rule: count for rule, (count, _) in found.items()}
    seconds = time.perf_counter() - began
    return {
        "method": how,
        "counts": counts,
        "violations": tuple(shown),
        "steps": schedule.rows.until(schedule.late(chosen)),
        "transmissions": schedule.transmissions,
        "depth": depth,
        "bounds": tuple(lower),
        "seconds": seconds,
        "distance": _distance(schedule) if chosen.routing else None,
        "depth_contention": depth_contention(schedule, chosen),
    }


def _distance(schedule: Schedule) -> int:
    """Return the sum of the distances of all messages; combined chunks are one message."""
    rows = schedule.rows
    return int((schedule.network.distance(rows.src, rows.dst) * rows.messages).sum())


def _claims_broken(schedule: Schedule, proof_fails: str) -> Broken:
    """Rule ``claims``: the steps and transmissions are those that the builder claims, and a file's proof of a bound holds."""
    claims, broken = schedule.claims, [Violation("claims", proof_fails)] if proof_fails else []
    if claims is not None:
        for measure, claimed, measured in (
            ("steps", claims.steps, schedule.steps),
            ("transmissions", claims.transmissions, schedule.transmissions),
        ):
            if claimed != measured:
                broken.append(Violation("claims", f"{claimed} {measure} are claimed, {measured} are in the rows"))
    return len(broken), broken


def _judge_proof(schedule: Schedule) -> tuple[Bound | None, str]:
    """Return the bound whose proof the file has, if it holds, and the words on a proof that does not."""
    proof, network, copies = carried(schedule), schedule.network, schedule.copies
    if proof is None:
        return None, ""
    steps = proven(proof.prices, schedule.collective, network, copies, schedule.model)
    if steps is not None and steps >= proof.steps:  # the file may claim less than its prices prove
        traits = schedule.collective.traits
        owned = "if each sum has an owner" if traits.results and traits.all_source else ""
        given = f"for {copies} {apart(schedule.against)} paths" if copies > 1 else owned
        formula = f"{proof.steps:,} by the prices in the file"
        return Bound("steps", proof.steps, formula, "prices of arcs, checked in whole numbers", given, proof.prices), ""
    why = "prices prove nothing of this job" if steps is None else f"its prices prove {steps:,} and no more"
    if len(proof.prices) % network.arcs:
        why = f"it has {len(proof.prices):,} prices, and {network.spec} has {network.arcs:,} arcs"
    return None, f"the file says that no schedule takes fewer than {proof.steps:,} steps, but {why}"
