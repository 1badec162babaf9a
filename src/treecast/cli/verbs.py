"""The command line: parsing and printing only. What a verb does is done by the functions of the package."""

import os
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from treecast import console

if TYPE_CHECKING:
    from treecast.faults import Faults
    from treecast.networks import Network
    from treecast.report import Report
    from treecast.schedule import Schedule
    from treecast.simulator import Trace

File = Annotated[str, Parameter(allow_leading_hyphen=True)]
Output = Annotated[str | None, Parameter(alias="-o", allow_leading_hyphen=True)]
Flag = Annotated[bool, Parameter(negative="")]
Many = Annotated[list[str], Parameter(consume_multiple=True, negative="")]

app = App(
    name="treecast",
    help="Collective communication that is proven to arrive: plan it, verify it, break it, run it, draw it.",
    version=lambda: version("treecast"),
    result_action="return_value",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 it holds, 1 it is violated, 2 it cannot be done, 130 interrupted."""
    from treecast.errors import TreecastError

    try:
        status = app(sys.argv[1:] if arguments is None else arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except (TreecastError, CycloptsError) as error:
        console.say("error: " + " ".join(str(error).split()))
        return 2
    except MemoryError:
        console.say("error: there is not enough memory for this; take a smaller network")
        return 2
    except KeyboardInterrupt:
        console.say("interrupted")
        return 130
    except BrokenPipeError:  # whoever read our output has left: nothing to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


@app.command
def plan(
    collective: str,
    network: str,
    /,
    *,
    root: str = "0",
    messages: int = 1,
    copies: int | None = None,
    survive: int | None = None,
    model: str | None = None,
    builder: str | None = None,
    output: Output = None,
    json: Flag = False,
) -> int:
    """Plan a collective on a network, verify the schedule, and report it beside the lower bound.

    Example: treecast plan broadcast star:5 --messages 400 --survive 2 -o plan.tc

    Parameters
    ----------
    collective
        What is to be done: broadcast.
    network
        Where: star:5, hypercube:6, mesh:8x8, torus:4x4x4, path:9, ring:8, tree:3,2, file:net.graphml.
    root
        The node that has the data: a label (21345) or a number.
    messages
        How many messages (chunks) the data consists of.
    copies
        Over how many disjoint ways each message reaches each node.
    survive
        How many faults that nobody knows of must do no harm: copies - 1.
    model
        The model of the machine: all-port, one-port, whispering, shouting; ',half' behind it for half-duplex links.
    builder
        The construction, where there are several: disjoint-trees, shortest-path-tree, breadth-first-tree.
    output
        Write the schedule to this file: binary when it ends in .tcb, else text; - is standard output.
    json
        Print the report as JSON.
    """
    from treecast import formats, plans, verifier

    if json and output == "-":
        raise _usage("--json and '-o -' both want standard output: choose one")
    schedule = plans.plan(
        collective,
        network,
        root=root,
        messages=messages,
        copies=copies,
        survive=survive,
        model=model,
        builder=builder,
    )
    report = verifier.verify(schedule)
    if report and output is not None:
        formats.save(schedule, output)
    _show_report(schedule, report, json, quiet=output == "-", extra=_baseline(schedule))
    if report and output not in (None, "-"):
        console.say(f"written: {output}, {len(schedule):,} rows, {Path(str(output)).stat().st_size:,} bytes")
    return _status(report)


@app.command
def verify(
    file: File,
    /,
    *,
    model: str | None = None,
    expanded: Flag = False,
    sweep: str | None = None,
    most: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    keep_going: Flag = False,
    json: Flag = False,
) -> int:
    """Verify a schedule file against every rule; with --sweep also replay it under sets of faults.

    Example: treecast verify plan.tc --sweep nodes

    Parameters
    ----------
    file
        The schedule; - is standard input.
    model
        Judge it under this model instead of its own.
    expanded
        Judge every single send, slowly, instead of whole streams.
    sweep
        Also replay it under every set of faults: nodes, arcs, links, nodes+arcs or nodes+links.
    most
        The most faults of a set; else as many as the schedule claims to survive.
    sample
        Instead of all sets, this many random ones of exactly that size.
    seed
        The seed of the random sets.
    keep_going
        Count all failing sets, instead of stopping at the first.
    json
        Print the report as JSON.
    """
    from treecast.faults import KINDS, FaultError
    from treecast.faults import sweep as sweep_faults
    from treecast.formats import read
    from treecast.verifier import verify as check

    schedule = read(file)
    report = check(schedule, model, "expanded" if expanded else "fast")
    extra: dict[str, object] = {}
    survived = True
    if sweep is not None and report:
        if sweep not in KINDS:
            raise FaultError(f"{sweep!r} cannot fail: write one of {', '.join(KINDS)}")
        with console.progress("fault sets") as tell:
            found = sweep_faults(schedule, most, sweep, sample, seed, keep_going, tell)
        survived = found.holds
        extra["sweep"] = {
            "kind": found.kind, "most": found.most, "sets": found.sets, "exhaustive": found.exhaustive,
            "failing": found.failing, "seconds": round(found.seconds, 6),
        }  # fmt: skip
        if found.counterexample is not None:
            extra["counterexample"] = {
                "faults": found.counterexample.describe(schedule.network),
                "node": schedule.network.label(found.node), "chunk": found.chunk,
            }  # fmt: skip
    _show_report(schedule, report, json, extra=extra)
    return _status(bool(report) and survived)


@app.command
def simulate(
    file: File,
    /,
    *,
    kill_nodes: Many = [],  # noqa: B006
    cut_links: Many = [],  # noqa: B006
    random_faults: int = 0,
    seed: int = 0,
    startup: float = 0.0,
    per_byte: float = 0.0,
    chunk_bytes: int = 1,
    json: Flag = False,
) -> int:
    """Replay a schedule under faults and tell what arrives when, and what is lost.

    Example: treecast simulate plan.tc --kill-nodes 21345 32145@5 --cut-links 12345-52341

    Parameters
    ----------
    file
        The schedule; - is standard input.
    kill_nodes
        Nodes that fail, each as NODE or NODE@STEP.
    cut_links
        Links that fail: A-B both ways, A>B one way, with @STEP behind.
    random_faults
        Besides, this many random nodes that fail from the start.
    seed
        The seed of the random nodes.
    startup
        The start-up time of a send, in seconds (beta).
    per_byte
        The time of a byte, in seconds (tau).
    chunk_bytes
        The size of a message, in bytes (F).
    json
        Print everything as JSON, each node's completion too.
    """
    from treecast.draw.text import completion_text
    from treecast.models import Cost
    from treecast.simulator import NEVER
    from treecast.simulator import simulate as replay

    if min(startup, per_byte, chunk_bytes, random_faults) < 0:
        raise _usage("times, sizes and counts cannot be negative")
    schedule = _load(file)
    faults = _faults(schedule, kill_nodes, cut_links, random_faults, seed)
    trace = replay(schedule, faults)
    network = schedule.network
    found: dict[str, object] = {
        **_named(schedule), "faults": faults.describe(network), "living": int(trace.living.sum()),
        "delivered": trace.delivered, "lost": _lost(trace), "steps": trace.steps, "transmissions": trace.transmissions,
        "busiest_arc": int(trace.arc_load().max(initial=0)), "busiest_node": int(trace.node_load().max(initial=0)),
    }  # fmt: skip
    if startup or per_byte:
        found["time"] = trace.seconds(Cost(startup, per_byte), chunk_bytes)
    if json:
        done = trace.completion.tolist()
        found["complete_from_step"] = {network.label(u): None if at == NEVER else at for u, at in enumerate(done)}
        console.show_json(found)
    else:
        console.show_figures(found | {"lost": _lost_words(found["lost"])})
        console.show_text("\n" + completion_text(trace))
    return _status(not trace.lost)


@app.command
def bounds(
    collective: str,
    network: str,
    /,
    *,
    root: str = "0",
    messages: int = 1,
    copies: int | None = None,
    survive: int | None = None,
    model: str = "all-port",
    json: Flag = False,
) -> int:
    """Print the lower bounds of a collective on a network, each with its formula and source.

    Example: treecast bounds broadcast star:5 --messages 400 --survive 2

    Parameters
    ----------
    collective
        What is to be done: broadcast.
    network
        Where: star:5, hypercube:6, mesh:8x8, …
    root
        The node that has the data.
    messages
        How many messages the data consists of.
    copies
        Over how many disjoint ways each message reaches each node.
    survive
        The same, less one: how many faults must do no harm.
    model
        The model of the machine.
    json
        Print them as JSON.
    """
    from treecast import lower_bounds as lower
    from treecast import networks, plans
    from treecast.collectives import Collective
    from treecast.models import model as find_model

    where = networks.network(network)
    what = Collective(collective, where.nodes, messages, where.node(root))
    found = lower.bounds(where, what, plans.copies_of(copies, survive), find_model(model))
    if json:
        console.show_json([asdict(bound) for bound in found])
    else:
        console.show_table(
            ["of", "at least", "formula", "source"], [(b.of, b.value, b.formula, b.source) for b in found]
        )
    return 0


@app.command
def draw(
    file: File,
    /,
    *,
    output: Output = None,
    kind: str = "trees",
    tree: int | None = None,
    kill_nodes: Many = [],  # noqa: B006
    cut_links: Many = [],  # noqa: B006
    ascii: Flag = False,  # noqa: A002
) -> int:
    """Draw the trees or the space-time picture of a schedule: into an SVG, PNG or PDF file, or as text in the terminal.

    Example: treecast draw plan.tc --kind space-time -o picture.svg

    Parameters
    ----------
    file
        The schedule; - is standard input.
    output
        The picture to write; its ending chooses the format. Without it, text on standard output.
    kind
        What to draw: trees or space-time.
    tree
        Draw this tree only.
    kill_nodes
        Nodes that fail, for space-time.
    cut_links
        Links that fail, for space-time.
    ascii
        Draw text without box-drawing characters.
    """
    from treecast.draw.text import space_time_text, tree_text
    from treecast.simulator import simulate as replay

    if kind not in ("trees", "space-time"):
        raise _usage(f"--kind is trees or space-time, not {kind!r}")
    schedule = _load(file)
    numbers = sorted({int(t) for t in schedule.rows.tree if t >= 0}) if tree is None else [tree]
    if kind == "trees" and tree is not None and not (schedule.rows.tree == tree).any():
        raise _usage(f"the schedule has no tree {tree}")
    faults = _faults(schedule, kill_nodes, cut_links, 0, 0)
    if output is not None:
        from treecast.draw.figures import draw as draw_figure

        draw_figure(schedule if tree is None else schedule.on_tree(tree), output, kind, faults)
        console.say(f"written: {output}")
    elif kind == "trees":
        console.show_text("\n\n".join(tree_text(schedule, number, ascii) for number in numbers))
    else:
        console.show_text(space_time_text(replay(schedule, faults), ascii))
    return 0


@app.command
def run(
    file: File,
    /,
    *,
    input: File,  # noqa: A002
    kill_nodes: Many = [],  # noqa: B006
    cut_links: Many = [],  # noqa: B006
    random_faults: int = 0,
    seed: int = 0,
    json: Flag = False,
) -> int:
    """Broadcast a real file by a schedule: move its bytes step by step between one buffer per node, faults and all.

    Example: treecast run plan.tc --input photo.png --kill-nodes 2143@3 3142@3

    Parameters
    ----------
    file
        The schedule.
    input
        The file whose bytes are sent; it is cut into as many messages as the schedule has.
    kill_nodes
        Nodes that fail, each as NODE or NODE@STEP.
    cut_links
        Links that fail: A-B both ways, A>B one way, with @STEP behind.
    random_faults
        Besides, this many random nodes that fail from the start.
    seed
        The seed of the random nodes.
    json
        Print everything as JSON, for every node.
    """
    from treecast.execute.local import run as execute
    from treecast.files import read_whole

    schedule = _load(file)
    data = read_whole(input)
    faults = _faults(schedule, kill_nodes, cut_links, random_faults, seed)
    with console.progress("steps") as tell:
        done = execute(schedule, data, faults, tell)
    label, intact = schedule.network.label, set(done.intact)
    found: dict[str, object] = {
        **_named(schedule), "input": input, "bytes": done.size, "sha256": done.digest,
        "faults": faults.describe(schedule.network), "living": len(done.living), "delivered": len(intact),
        "steps": done.steps, "transmissions": done.transmissions, "seconds": round(done.seconds, 6),
    }  # fmt: skip
    nodes = [
        {
            "node": label(u), "verdict": "dead" if u in faults.nodes else "intact" if u in intact else "INCOMPLETE",
            "sha256": digest, "by_tree": {str(t): c for t, c in done.by_tree(u).items()},
            "lost": [] if u in faults.nodes else [_range(a, b) for a, b in done.lost(u)],
        }
        for u, digest in enumerate(done.digests)
    ]  # fmt: skip
    if json:
        console.show_json(found | {"node_reports": nodes})
    else:
        console.show_figures(found)
        console.show_text("")
        _show_nodes(nodes)
    return _status(len(intact) == len(done.living))


@app.command
def show(
    file: File,
    /,
    *,
    node: str | None = None,
    tree: int | None = None,
    steps: str | None = None,
    all: Flag = False,  # noqa: A002
) -> int:
    """Print the rows of a schedule, or those of one node, one tree or some steps.

    Example: treecast show plan.tc --node 21345

    Parameters
    ----------
    file
        The schedule; - is standard input.
    node
        Only what this node sends and receives: its program.
    tree
        Only the rows of this tree.
    steps
        Only rows under way in steps A:B (B not included).
    all
        Print all rows, also when there are more than 200.
    """
    from treecast.formats import text

    schedule = _load(file)
    if node is not None:
        schedule = schedule.program(schedule.network.node(node))
    if tree is not None:
        schedule = schedule.on_tree(tree)
    if steps is not None:
        first, colon, last = steps.partition(":")
        if not colon or not (first + last).isdigit():
            raise _usage(f"--steps is written A:B, as in 3:8, not {steps!r}")
        schedule = schedule.between(int(first or 0), int(last or schedule.steps))
    shown = len(schedule) if all else min(len(schedule), 200)
    for line in text.lines(schedule.select(slice(0, shown))):
        console.show_text(line)
    if shown < len(schedule):
        console.say(f"{len(schedule) - shown:,} more rows: --all shows them")
    return 0


@app.command
def theorems(paper: str = "star", /, *, up_to: int | None = None, json: Flag = False) -> int:
    """Check the statements of a paper by computing, and print for which sizes each was checked, the verdict and the time.

    Example: treecast theorems star --up-to 10

    Parameters
    ----------
    paper
        The paper: star.
    up_to
        Check up to this n, as far as each check can go.
    json
        Print the findings as JSON.
    """
    from treecast.theorems import check_theorems as check

    with console.progress("theorems") as tell:
        found = check(paper, up_to, lambda what, done, total: tell(done, total))
    if json:
        console.show_json([asdict(finding) for finding in found])
    else:
        console.show_table(
            ["", "statement", "checked", "verdict", "found", "seconds"],
            [
                (f.name, f.says, f.checked, "holds" if f.holds else "FALSE", f.detail, round(f.seconds, 2))
                for f in found
            ],
            {"holds": "green", "FALSE": "bold red"},
        )
    return _status(all(finding.holds for finding in found))


@app.command
def networks(spec: str | None = None, /, *, json: Flag = False) -> int:
    """List the families of networks, or describe one network.

    Example: treecast networks star:5

    Parameters
    ----------
    spec
        A network: star:5, mesh:8x8, file:net.graphml.
    json
        Print it as JSON.
    """
    from treecast import networks as known

    if spec is None:
        rows = [(family.spelling, family.example, family.what) for family in known.FAMILIES.values()]
        if json:
            console.show_json([dict(zip(("spelling", "example", "what"), row, strict=True)) for row in rows])
        else:
            console.show_table(["spelling", "example", "what"], rows)
        return 0
    found = _described(known.network(spec))
    if json:
        console.show_json(found)
    else:
        console.show_figures(found)
    return 0


# --- what several verbs share ---


def _usage(text: str) -> Exception:
    from treecast.errors import TreecastError

    return TreecastError(text)


def _status(holds: object) -> int:
    return 0 if holds else 1


def _described(network: "Network") -> dict[str, object]:
    from treecast.networks import Cayley
    from treecast.plans import BUILDERS

    collectives = sorted({b.collective for b in BUILDERS if isinstance(network, b.family)})
    return {
        "network": network.spec, "nodes": network.nodes, "degree": network.degree, "diameter": network.diameter,
        "arcs": network.arcs, "ports": [network.port_name(port) for port in range(network.ports)],
        "first_node": network.label(0), "last_node": network.label(network.nodes - 1),
        "translations": isinstance(network, Cayley), "plans": collectives,
    }  # fmt: skip


def _load(file: str) -> "Schedule":
    """Return the schedule of a file that verification finds right; say so. Raises when it is wrong."""
    from treecast.formats import load_verified

    schedule, report = load_verified(file)
    console.say(
        f"verified {report.method}: {schedule.collective.kind} on {schedule.network.spec}, {len(schedule):,} rows"
    )
    return schedule


def _faults(schedule: "Schedule", nodes: list[str], links: list[str], count: int, seed: int) -> "Faults":
    from treecast.faults import Faults, parse_faults, random_faults

    named = parse_faults(schedule.network, nodes, links)
    chosen = random_faults(schedule.network, count, seed, {schedule.collective.root, *named.nodes})
    return Faults({**named.nodes, **chosen.nodes}, named.arcs)


def _named(schedule: "Schedule") -> dict[str, object]:
    return {
        "collective": schedule.collective.kind, "network": schedule.network.spec, "nodes": schedule.network.nodes,
        "root": schedule.network.label(schedule.collective.root), "messages": schedule.collective.messages,
        "copies": schedule.copies, "survives": schedule.copies - 1,
    }  # fmt: skip


def _baseline(schedule: "Schedule") -> dict[str, object]:
    """Return the steps of the single-tree baseline on the same job, and how many times faster the schedule is."""
    from treecast.plans import single_tree_steps

    steps = single_tree_steps(schedule.network, schedule.collective)
    if not steps or not schedule.steps:
        return {}
    return {"single_tree_steps": steps, "speed_up": round(steps / schedule.steps, 4)}


def _show_report(
    schedule: "Schedule",
    report: "Report",
    json: bool,
    quiet: bool = False,
    extra: dict[str, object] | None = None,
) -> None:
    from treecast.report import figures

    found = figures(schedule, report) | (extra or {})
    if json:
        console.show_json(found)
        return
    if not quiet:
        broken = {rule: count for rule, count in report.counts.items() if count}
        kept = ", ".join(rule for rule, count in report.counts.items() if not count)
        sources = [f"{b.of} ≥ {b.value:,} = {b.formula}  ({b.source})" for b in report.bounds]
        hidden = ("rules", "violations", "verified")
        console.show_figures({name: value for name, value in found.items() if name not in hidden})
        for source in sources:
            console.show_text(f"bound  {source}")
        console.show_text(f"rules kept  {kept}")
        console.show_text(
            f"verified  {'yes' if report else 'NO: ' + ', '.join(f'{r} broken {c:,} times' for r, c in broken.items())}"
        )
    for violation in report.violations:
        console.show_text(f"  {violation.rule}: {violation.text}")


def _range(first: int, stop: int) -> str:
    return str(first) if stop == first + 1 else f"{first}-{stop - 1}"


def _lost(trace: "Trace") -> list[dict[str, object]]:
    label = trace.schedule.network.label
    return [{"node": label(node), "chunks": _range(a, b)} for node, a, b in trace.lost]


def _lost_words(lost: Any) -> str:
    words = [f"{item['node']} lacks {item['chunks']}" for item in lost]
    return "; ".join(words[:10]) + (f"; {len(words) - 10:,} more" if len(words) > 10 else "") if words else "nothing"


def _show_nodes(nodes: list[dict[str, Any]]) -> None:
    """Print a line per node; of large networks only those that are dead or lack something."""
    shown = nodes if len(nodes) <= 130 else [node for node in nodes if node["verdict"] != "intact"][:130]
    console.show_table(
        ["node", "verdict", "sha256", "chunks by tree", "lost"],
        [
            (n["node"], n["verdict"], (n["sha256"] or "")[:16], " ".join(f"{t}:{c}" for t, c in n["by_tree"].items()),
             " ".join(n["lost"][:6]))
            for n in shown
        ],
        {"intact": "green", "dead": "dim", "INCOMPLETE": "bold red"},
    )  # fmt: skip
    if len(shown) < len(nodes):
        console.say(f"{len(nodes) - len(shown):,} other nodes: --json lists them")


if __name__ == "__main__":
    sys.exit(main())
