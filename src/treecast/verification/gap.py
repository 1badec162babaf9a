"""The lower bounds of a job, and how near the default builder comes to them."""

from dataclasses import asdict, dataclass

from treecast.against import Against
from treecast.collectives import Collective
from treecast.description import Description, describe
from treecast.errors import PlanError
from treecast.lower_bounds import Bound, best, bounds, spell_bounds
from treecast.models import Model
from treecast.networks import Network
from treecast.plans import plan
from treecast.verification.report import Report, spell_distance
from treecast.verification.verifier import verify

_MOST_PLANNED = 4096  # nodes of a network on which bounds are held against plans
_NAMES = {"steps": "steps", "told": "steps, if told", "transmissions": "transmissions", "tcd": "total distance"}


@dataclass(frozen=True)
class Gap:
    """A job, its lower bounds, and the value of the default builder; None where nothing is planned to see that."""

    network: Network
    collective: Collective
    copies: int
    model: Model
    bounds: tuple[Bound, ...]
    reached: Report | None
    against: Against = "nodes"


def find_gap(network: Network, collective: Collective, copies: int, model: Model, *, against: Against = "nodes") -> Gap:
    """Return the lower bounds of a job; under wormhole switching also how far the default builder is from them.

    Raises PlanError as ``bounds`` does.
    """
    found = tuple(bounds(collective, network, copies, model, against=against))
    return Gap(network, collective, copies, model, found, _reach(network, collective, model), against)


def _reach(network: Network, collective: Collective, model: Model) -> Report | None:
    if not model.routing or network.nodes > _MOST_PLANNED or network.nodes == 1:
        return None
    name = model.name.partition(",")[0]
    root, messages, targets = collective.root, collective.messages, collective.targets
    try:
        schedule = plan(collective.kind, network, root=root, messages=messages, model=name, targets=targets)
    except PlanError:  # nobody builds it yet
        return None
    return verify(schedule, model)


@describe.register
def _(gap: Gap) -> Description:
    network, collective, found = gap.network, gap.collective, list(gap.bounds)
    of = {bound.of for bound in found}
    figures: dict[str, object] = {
        "collective": collective.kind,
        "network": network.spec,
        "model": gap.model.name,
        "nodes": network.nodes,
        "root": network.label(collective.root),
        "messages": collective.messages,
        "copies": gap.copies,
        "survives": gap.copies - 1,
        "against": gap.against,
        "steps_lower_bound": best(found, "steps").value,
        **({"told_lower_bound": best(found, "told").value} if "told" in of else {}),
        "transmissions_lower_bound": best(found, "transmissions").value,
        "bounds": [asdict(bound) for bound in found],
    }
    lines: dict[str, object] = {name: spell_bounds(found, measure) for measure, name in _NAMES.items() if measure in of}
    report = gap.reached
    if report is not None:
        beside = ("gap", "minimal") if report else ()
        figures |= describe(report).pick("builder", "holds", "tcd", "tcd_lower_bound", *beside)
        words = spell_distance(report)
        if not report:
            words += f", but that breaks a rule: {', '.join(rule for rule, count in report.counts.items() if count)}"
        lines[f"by {report.schedule.builder}"] = words
    return Description(figures, lines)
