"""How what the nodes of a tree say, each by itself, is laid out: as JSON, or as lines that people read."""

from collections import Counter

from treecast import protocols
from treecast.cli import console
from treecast.schedule import Schedule

_SHOWN = 5


def show_conversation(schedule: Schedule, as_json: bool) -> bool:
    """Print whether nodes that know only their neighbours say what the schedule has; return it."""
    said = protocols.run_protocol(schedule)
    missing, more = protocols.differences(schedule, said)
    kinds = Counter(one.kind for one in said.sends)
    figures: dict[str, object] = {
        "protocol": schedule.builder,
        "steps": said.steps,
        "data": said.flits,
        "control": said.control,
    }
    if as_json:
        console.show_json(figures | {"kinds": kinds, "not_said": len(missing), "not_planned": len(more)})
    else:
        told = ", ".join(
            f"{kinds[kind]:,} {kind}s" for kind in ("wakeup", "token", "certificate", "order") if kinds[kind]
        )
        same = "what the schedule has, send by send"
        wrong = f"NOT what the schedule has: {len(missing):,} not said, {len(more):,} not planned"
        console.show_figures(
            {
                "nodes say": same if not missing and not more else wrong,
                **figures,
                "data": f"{said.flits:,} flits sent",
                "control": f"{said.control:,} flits sent" + (f": {told}" if told else ""),
            }
        )
        label = schedule.network.label
        for what, sends in (("not said", missing), ("not planned", more)):
            for step, src, dst, flit in sends[:_SHOWN]:
                content = "a control flit" if flit is None else f"flit {flit[1]} of {label(flit[0])}"
                console.show_text(f"{what}: {content}, step {step}, {label(src)} to {label(dst)}")
    return not missing and not more
