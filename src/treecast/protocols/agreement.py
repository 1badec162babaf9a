"""The comparison of the sends of nodes, each on its own, with those of the schedule."""

from collections import Counter
from dataclasses import dataclass

from treecast.description import Description, describe
from treecast.protocols.synchronous import Conversation
from treecast.schedule import Schedule

Send = tuple[int, int, int, tuple[int, int] | None]
"""Step, source, target, and (owner, place) of a flit of data; None for a control flit."""
_KINDS = ("wakeup", "token", "certificate", "order")
_SHOWN = 5  # sends of each kind that are missing, or too many


@dataclass(frozen=True)
class Agreement:
    """The sends of the nodes; those of the schedule that are ``missing``, and those that are ``more`` than it has."""

    schedule: Schedule
    conversation: Conversation
    missing: list[Send]
    more: list[Send]

    @property
    def holds(self) -> bool:
        """Whether the sends of the nodes are those of the schedule."""
        return not self.missing and not self.more


@describe.register
def _(found: Agreement) -> Description:
    conversation, kinds = found.conversation, Counter(one.kind for one in found.conversation.sends)
    figures = {
        "protocol": found.schedule.builder,
        "steps": conversation.steps,
        "data": conversation.flits,
        "control": conversation.control,
        "kinds": kinds,
        "not_said": len(found.missing),
        "not_planned": len(found.more),
    }
    verdict = "the sends of the schedule, one by one"
    if not found.holds:
        verdict = f"NOT the sends of the schedule: {len(found.missing):,} not said, {len(found.more):,} not planned"
    control = ", ".join(f"{kinds[kind]:,} {kind}s" for kind in _KINDS if kinds[kind])
    lines = {
        "nodes say": verdict,
        "protocol": found.schedule.builder,
        "steps": conversation.steps,
        "data": f"{conversation.flits:,} flits sent",
        "control": f"{conversation.control:,} flits sent" + (f": {control}" if control else ""),
    }
    label = found.schedule.network.label
    notes = list[str]()
    for title, sends in (("not said", found.missing), ("not planned", found.more)):
        for step, src, dst, flit in sends[:_SHOWN]:
            content = "a control flit" if flit is None else f"flit {flit[1]} of {label(flit[0])}"
            notes.append(f"{title}: {content}, step {step}, {label(src)} to {label(dst)}")
    return Description(figures, lines, notes=notes, holds=found.holds)
