"""The rules of verification, each a small function with a stable name, and which of them apply to a schedule."""

from collections.abc import Callable
from typing import TypeVar

from treecast.models import Model
from treecast.schedule.torn import Torn
from treecast.verification.case import Case
from treecast.verification.report import SHOWN, Broken, Violation
from treecast.verification.rules import bufferless, calling, disjoint, links, personal, spreading, sums, torn, wormhole

__all__ = ["Case", "rules_for"]
_Judged = TypeVar("_Judged")


def rules_for(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that a schedule has to obey under a model, by name, in the order in which they are checked."""
    model: Model = case.model
    if case.schedule.torn is not None and not model.routing:
        return _of_torn(case.schedule.torn, model)
    if model.routing and case.schedule.orbit:
        return {"routed": lambda: (1, [Violation("routed", "an orbit cannot be judged under wormhole switching")])}
    if model.routing:
        return _by_name(case, wormhole.routed, wormhole.one_role, wormhole.channel_once) | _of_data(case)
    of_links = [links.adjacent]
    if not model.combining:  # else chunks that share an arc and a step are one message
        of_links += [links.link_once, links.one_chunk]
    if model.room > 1:
        of_links += [links.half_port] if model.half_port else [links.send_port, links.recv_port]
    elif model.room:
        if not model.combining or model.partner == "any" or case.schedule.network.parallel_arcs:
            of_links += [links.send_port, links.recv_port]
        if model.partner == "same":
            of_links.append(links.one_partner)
        if model.half_port:
            of_links.append(links.half_port)
    if case.schedule.network.past_routes is not None:
        of_links.append(links.channel_once)
    elif model.duplex == "half":
        of_links.append(links.duplex)
    of_data = _of_parts if len(case.schedule.roots) > 1 else _of_data
    if not model.buffered and not case.part.all_keep:
        return _by_name(case, *of_links) | _of_relays(case)
    kept: dict[str, Callable[[], Broken]] = {} if model.buffered else {"no-buffer": lambda: (0, [])}
    return _by_name(case, *of_links) | of_data(case) | kept


def _of_torn(of: Torn, model: Model) -> dict[str, Callable[[], Broken]]:
    """Return the rules of an orbit where arcs are gone, for the orbit and for what it does not bring."""
    every = [*map(rules_for, torn.cases_of(of, model)), {"adjacent": torn.known(of)}]
    return {name: lambda name=name: _together([some[name]() for some in every if name in some]) for name in every[0]}


def _of_parts(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that the data of each root of an orbit must obey."""
    every = [_of_data(part) for part in case.by_root()]
    return {name: lambda name=name: _together([rules[name]() for rules in every]) for name in every[0]}


def _together(found: list[Broken]) -> Broken:
    return sum(count for count, _ in found), [each for _, shown in found for each in shown][:SHOWN]


def _by_name(judged: _Judged, *rules: Callable[[_Judged], Broken]) -> dict[str, Callable[[], Broken]]:
    return {check.__name__.replace("_", "-"): lambda check=check: check(judged) for check in rules}


def _of_relays(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules of data where some nodes pass on what they do not keep, and have no buffer for it."""
    part = case.part
    if case.schedule.orbit:
        why = "an orbit is judged only where every node keeps all data"
        return {"no-buffer": lambda: (1, [Violation("no-buffer", why)])}
    if not part.personal:
        return _of_data(case) | {"no-buffer": lambda: bufferless.passed_on(case)}
    relays, flow = bufferless.Relays(case), (bufferless.contiguous, bufferless.once)
    if part.all_source or part.relays:
        rules = _of_data(case) | {"no-buffer": lambda: bufferless.passed_on(case)} | _by_name(relays, *flow)
    else:  # of one node, or to it, messages are judged by runs, however many flits they have
        rules = _by_name(relays, bufferless.holds, bufferless.no_buffer, *flow, bufferless.delivered)
    if case.schedule.copies > 1:
        rules["copies"] = lambda: (
            1,
            [Violation("copies", "a message that is not divided goes one way: there is one copy")],
        )
    if part.direction == "to" and bool(case.rows.control.any()):
        rules |= _by_name(case, bufferless.told)
    return rules


def _of_data(case: Case) -> dict[str, Callable[[], Broken]]:
    """Return the rules that the data must obey on every machine."""
    several = case.schedule.copies > 1
    if case.part.personal:
        return _by_name(personal.Visits(case), personal.holds, personal.delivered, *[personal.copies] * several)
    rules = _by_name(case, spreading.holds)
    if case.part.shared:
        rules |= {"once": lambda: sums.joined_once(case)} | _by_name(case, spreading.delivered)
    elif case.part.sums:
        rules |= _by_name(case, sums.complete, sums.once, sums.delivered)
    else:
        rules |= _by_name(case, spreading.delivered)
    if case.part.sums and case.schedule.network.relays is not None:
        rules |= _by_name(case, sums.adds)
    return rules | _by_name(case, *[(calling if case.schedule.sparing else disjoint).copies] * several)
