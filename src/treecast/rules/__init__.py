"""The rules of verification, each a small function with a stable name, and which of them apply to a schedule."""

from collections.abc import Callable

from treecast.models import Model
from treecast.report import Broken
from treecast.rules import calling, disjoint, links, personal, spreading, sums
from treecast.rules.case import Case
from treecast.schedule import Schedule

__all__ = ["Case", "rules_for"]


def rules_for(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that a schedule has to obey under a model, by name, in the order in which they are checked."""
    schedule: Schedule = case.schedule
    model: Model = case.model
    of_links = [links.adjacent]
    if not model.combining:  # else what shares an arc and a step is one message
        of_links += [links.link_once, links.one_chunk]
    if model.ports == "one":
        if not model.combining:
            of_links += [links.send_port, links.recv_port]
        if model.partner == "same":
            of_links.append(links.one_partner)
    if model.duplex == "half":
        of_links.append(links.duplex)
    rules: dict[str, Callable[[], Broken]] = {
        check.__name__.replace("_", "-"): lambda check=check: check(case) for check in of_links
    }
    if case.part.personal:
        visits = personal.Visits(case)
        rules |= {"holds": lambda: personal.holds(visits), "delivered": lambda: personal.delivered(visits)}
        if schedule.copies > 1:
            rules["copies"] = lambda: personal.copies(visits)
        return rules
    rules["holds"] = lambda: spreading.holds(case)
    if case.part.sums:
        rules |= {"complete": lambda: sums.complete(case), "once": lambda: sums.once(case)}
        rules["delivered"] = lambda: sums.delivered(case)
    else:
        rules["delivered"] = lambda: spreading.delivered(case)
    if schedule.copies > 1:
        rules["copies"] = lambda: (calling if schedule.sparing else disjoint).copies(case)
    return rules
