"""How a run over MPI is laid out."""

from typing import Any

from treecast.cli import console
from treecast.mpi.job.findings import Found
from treecast.mpi.job.run import Request
from treecast.schedule import Schedule
from treecast.verification.report import Report, figures

_MANY = 130
_MARKS = {"intact": "green", "dead": "dim", "INCOMPLETE": "bold red"}


def show_run(found: Found, what: Request, schedule: Schedule, report: Report | None, as_json: bool) -> None:
    """Print what the living ranks ended with, rank by rank."""
    nodes: list[dict[str, Any]] = found["node_reports"]
    if as_json:
        about = {} if report is None else figures(schedule, report)
        shown = (
            "collective",
            "network",
            "root",
            "messages",
            "copies",
            "survives",
            "builder",
            "model",
            "verified",
            "method",
        )
        console.show_json({**{key: about[key] for key in shown if key in about}, "input": what.input, **found})
        return
    whole = found["delivered"] == found["living"]
    verdict = f"everything to all {found['living']:,} living ranks"
    lacking = f"NOT to all: {found['living'] - found['delivered']:,} of {found['living']:,} living ranks lack something"
    collective, network = schedule.collective, schedule.network
    source = "of every rank" if collective.all_source else f"{collective.direction} {network.label(collective.root)}"
    console.show_figures({
        "delivered": verdict if whole else lacking,
        "killed": ", ".join(found["killed"]) or "none",
        "input": f"{what.input}, {found['bytes']:,} bytes",
        "collective": f"{collective.kind} {source}, {collective.chunks:,} chunks",
        "network": f"{network.spec}, {network.nodes:,} nodes, a process each",
        "copies": f"{schedule.copies:,}, to survive any {schedule.copies - 1:,} failures",
        "programs": "each rank's own rows, " + ("from its label alone" if what.rule else "read from the plan"),
        "messages": found["messages_sent"],
        "seconds": f"{console.spelled(float(found['transfer_seconds']))} for the transfer",
    })  # fmt: skip
    console.show_text("")
    rows = [node for node in nodes if len(nodes) <= _MANY or node["verdict"] != "intact"][:_MANY]
    console.show_table(
        ["node", "rank", "verdict", "sha256 …", "tree:chunks", "seconds", "lacks"],
        [
            (node["node"], node["rank"], node["verdict"], node.get("sha256", "")[:16],
             " ".join(f"{tree}:{count}" for tree, count in node.get("by_tree", {}).items()), node.get("seconds", ""),
             ", ".join(f"{a}-{b - 1}" for a, b in node.get("lacks", [])[:10]))
            for node in rows
        ],
        _MARKS,
    )  # fmt: skip
    if len(rows) < len(nodes):
        console.show_text(f"and {len(nodes) - len(rows):,} other ranks: --json lists them")
