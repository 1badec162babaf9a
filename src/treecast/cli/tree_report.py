"""How what the nodes of a tree say, each by itself, is laid out: as JSON, or as lines that people read."""

from collections import Counter

from treecast import console, protocols
from treecast.protocols import Conversation
from treecast.schedule import Schedule

_SHOWN = 5


def show_conversation(schedule: Schedule, as_json: bool) -> bool:
    """Print whether nodes that know only their neighbours say what the schedule has; return it."""
    said = protocols.run(schedule)
    missing, more = protocols.differences(schedule, said)
    figures = _figures(schedule, said, len(missing), len(more))
    if as_json:
        console.show_json(figures)
    else:
        console.show_figures(figures)
        label = schedule.network.label
        for what, sends in (("not said", missing), ("not planned", more)):
            for step, src, dst, flit in sends[:_SHOWN]:
                content = "a control flit" if flit is None else f"flit {flit[1]} of {label(flit[0])}"
                console.show_text(f"{what}: {content}, step {step}, {label(src)} to {label(dst)}")
    return not missing and not more


def _figures(schedule: Schedule, said: Conversation, missing: int, more: int) -> dict[str, object]:
    kinds = Counter(one.kind for one in said.sends)
    return {
        "protocol": schedule.builder,
        "agrees": "yes, send by send" if not missing and not more else f"NO: {missing} not said, {more} not planned",
        "steps": said.steps,
        "data flits": said.flits,
        "control flits": said.control,
        **{f"  {kind}s": kinds[kind] for kind in ("wakeup", "token", "certificate", "order") if kinds[kind]},
    }
