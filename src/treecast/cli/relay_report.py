"""How a run of a scatterv or gatherv on a folder of files is laid out."""

from hashlib import sha256

from treecast.cli import console
from treecast.execution.relay import Relay
from treecast.verification.report import Report, figures

_MANY = 130


def show_relay(done: Relay, report: Report, folder: str, flit: int, as_json: bool) -> None:
    """Print which messages arrived, node by node."""
    schedule, intact = done.schedule, set(done.intact)
    network, faults = schedule.network, done.faults.describe(schedule.network)
    verb = "to" if schedule.collective.direction == "from" else "from"
    nodes = [
        (network.label(node), "intact" if node in intact else "LOST", len(content), int(done.lost[node]),
         sha256(content).hexdigest() if node in intact else "")
        for node, content in sorted(done.contents.items())
    ]  # fmt: skip
    if as_json:
        found = figures(schedule, report)
        console.show_json({
            **{key: found[key] for key in ("collective", "network", "root", "builder", "model", "verified", "method")},
            "input": folder, "bytes": done.size, "flit_bytes": flit, "faults": faults, "delivered": len(intact),
            "steps": done.steps, "transmissions": done.transmissions, "most_held_for_others": done.held,
            "seconds": round(done.seconds, 6),
            "messages": [
                {"node": label, "verdict": verdict, "bytes": size, "lost_flits": lost, "sha256": digest}
                for label, verdict, size, lost, digest in nodes
            ],
        })  # fmt: skip
        return
    whole = len(intact) == len(nodes)
    console.show_figures({
        "delivered": f"{'every one' if whole else f'only {len(intact):,}'} of {len(nodes):,} messages",
        "faults": ", ".join(faults) or "none",
        "input": f"{folder}, {done.size:,} bytes in flits of {flit:,}",
        "collective": f"{schedule.collective.kind}, root {network.label(schedule.collective.root)}",
        "network": f"{network.spec}, {network.nodes:,} nodes",
        "steps": done.steps, "transmissions": done.transmissions,
        "buffers": f"no node ever held more than {done.held} flit{'' if done.held == 1 else 's'} for others",
        "seconds": done.seconds,
    })  # fmt: skip
    console.show_text("")
    shown = nodes if len(nodes) <= _MANY else [node for node in nodes if node[1] != "intact"][:_MANY]
    console.show_table(
        [f"{verb} node", "verdict", "bytes", "lost flits", "sha256 …"],
        [(label, verdict, size, lost or "", digest[:16]) for label, verdict, size, lost, digest in shown],
        {"intact": "green", "LOST": "bold red"},
    )
    if len(shown) < len(nodes):
        console.show_text(f"and {len(nodes) - len(shown):,} other messages: --json lists them")
