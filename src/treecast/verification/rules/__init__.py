"""The rules of verification, each a small function with a stable name, and which of them apply to a schedule."""

from collections.abc import Callable

from treecast.models import Model
from treecast.verification.case import Case
from treecast.verification.report import Broken, Violation
from treecast.verification.rules import bufferless, calling, disjoint, links, personal, spreading, sums, wormhole

__all__ = ["Case", "rules_for"]


def rules_for(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that a schedule has to obey under a model, by name, in the order in which they are checked."""
    model: Model = case.model
    if model.routing:
        return _of_wormholes(case)
    of_links = [links.adjacent]
    if not model.combining:  # else chunks that share an arc and a step are one message
        of_links += [links.link_once, links.one_chunk]
    if model.ports == "one":
        if not model.combining or model.partner == "any" or case.schedule.network.parallel_arcs:
            of_links += [links.send_port, links.recv_port]
        if model.partner == "same":
            of_links.append(links.one_partner)
        if model.half_port:
            of_links.append(links.half_port)
    if model.duplex == "half":
        of_links.append(links.duplex)
    return _by_name(case, of_links) | (_of_data(case) if model.buffered else _of_relays(case))


def _by_name(case: Case, rules: list[Callable[[Case], Broken]]) -> dict[str, Callable[[], Broken]]:
    return {check.__name__.replace("_", "-"): lambda check=check: check(case) for check in rules}


def _of_wormholes(case: Case) -> dict[str, Callable[[], Broken]]:
    if case.schedule.orbit:
        return {"routed": lambda: (1, [Violation("routed", "an orbit cannot be judged under wormhole switching")])}
    return _by_name(case, [wormhole.routed, wormhole.one_role, wormhole.channel_once]) | _of_data(case)


def _of_relays(case: Case) -> dict[str, Callable[[], Broken]]:
    if case.schedule.orbit or not case.part.personal:
        return {
            "no-buffer": lambda: (1, [Violation("no-buffer", "without buffers only scatters and gathers are judged")])
        }
    relays = bufferless.Relays(case)
    rules: dict[str, Callable[[], Broken]] = {
        "holds": lambda: bufferless.holds(relays),
        "no-buffer": lambda: bufferless.no_buffer(relays),
        "contiguous": lambda: bufferless.contiguous(relays),
        "once": lambda: bufferless.once(relays),
        "delivered": lambda: bufferless.delivered(relays),
    }
    if case.schedule.copies > 1:
        rules["copies"] = lambda: (
            1,
            [Violation("copies", "a message that is not divided goes one way: there is one copy")],
        )
    if case.part.direction == "to" and bool(case.rows.control.any()):
        rules["told"] = lambda: bufferless.told(case)
    return rules


def _of_data(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that the data must obey on every machine."""
    schedule, rules = case.schedule, dict[str, Callable[[], Broken]]()
    if case.part.personal:
        visits = personal.Visits(case)
        rules |= {"holds": lambda: personal.holds(visits), "delivered": lambda: personal.delivered(visits)}
        if schedule.copies > 1:
            rules["copies"] = lambda: personal.copies(visits)
        return rules
    rules["holds"] = lambda: spreading.holds(case)
    if case.part.shared:
        rules |= {"once": lambda: sums.joined_once(case), "delivered": lambda: spreading.delivered(case)}
    elif case.part.sums:
        rules |= {"complete": lambda: sums.complete(case), "once": lambda: sums.once(case)}
        rules["delivered"] = lambda: sums.delivered(case)
    else:
        rules["delivered"] = lambda: spreading.delivered(case)
    if schedule.copies > 1:
        rules["copies"] = lambda: (calling if schedule.sparing else disjoint).copies(case)
    return rules
