"""The verbs of the command line: parsing only. What a verb does, and how its findings are laid out, is done elsewhere."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from treecast.cli import console
from treecast.cli.lab import lab
from treecast.drawing.registry import listed_kinds

if TYPE_CHECKING:
    from treecast.schedule import Schedule
    from treecast.simulation.faults import Faults
    from treecast.verification.report import Report


_MANY_SENDS = 2**20  # of an orbit: more are replayed with a bit per source, where that can be done


def _version() -> str:
    from importlib.metadata import version

    return version("treecast")


app = App(
    name="treecast",
    help="Collective communication that is proven to arrive: plan it, verify it, break it, run it, draw it.",
    help_format="plaintext",
    version=_version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=""),
)

app.command(lab)

File = Annotated[str, Parameter(allow_leading_hyphen=True, help="The schedule; - is standard input.")]
Job = Annotated[
    str,
    Parameter(
        help="What is to be done: broadcast, multicast, scatter, gather, scatterv, gatherv, reduce, reduce-broadcast, "
        "allgather, alltoall, reduce-scatter, allreduce."
    ),
]
Spec = Annotated[
    str, Parameter(help="Where: star:5, hypercube:6, mesh:8x8, tree:3,2, … ('treecast networks' lists them).")
]
Root = Annotated[str, Parameter(help="The node that all data comes from, or goes to: a label (21345) or a number.")]
Messages = Annotated[int, Parameter(help="How many messages (chunks) the data consists of.")]
Copies = Annotated[int | None, Parameter(help="Over how many disjoint ways each message reaches each node.")]
Survive = Annotated[int | None, Parameter(help="How many faults that nobody knows of must do no harm: copies - 1.")]
ModelName = Annotated[
    str | None,
    Parameter(
        name="--model",
        help="The machine: all-port, one-port, whispering, shouting, wormhole, wormhole-last, wormhole-diagonal, bufferless, "
        "bufferless-multiport; ',half' behind it for half-duplex links.",
    ),
]
Of = Annotated[
    str | None,
    Parameter(
        name="--lengths",
        help="Of scatterv and gatherv: the flits of each node's message: 3 (all), 0,3,2,… (by node), random:9 (0 to 9), or a "
        "file with a node and its length a line.",
    ),
]
OfFiles = Annotated[
    str | None,
    Parameter(help="Of scatterv and gatherv: a folder with a file for each node, for its messages' lengths."),
]
Flit = Annotated[int, Parameter(help="The bytes of a flit.")]
Output = Annotated[str | None, Parameter(alias="-o", allow_leading_hyphen=True)]
Json = Annotated[bool, Parameter(name="--json", show_default=False, help="Print the findings as JSON.")]
Targets = Annotated[
    tuple[str, ...], Parameter(consume_multiple=True, show_default=False, help="Of multicast: the nodes to reach.")
]
Flag = Annotated[bool, Parameter(show_default=False)]
DeadNodes = Annotated[
    tuple[str, ...],
    Parameter(
        name="--kill-nodes", consume_multiple=True, show_default=False, help="Nodes that fail: NODE, or NODE@STEP."
    ),
]
DeadLinks = Annotated[
    tuple[str, ...],
    Parameter(
        name="--cut-links",
        consume_multiple=True,
        show_default=False,
        help="Links that fail: A-B both ways, A>B one way (in quotes), with @STEP behind if not from the start.",
    ),
]
LyingNodes = Annotated[
    tuple[str, ...],
    Parameter(
        name="--lying-nodes",
        consume_multiple=True,
        show_default=False,
        help="Nodes that alter what they pass on: NODE, or NODE@STEP.",
    ),
]
LyingLinks = Annotated[
    tuple[str, ...],
    Parameter(
        name="--lying-links",
        consume_multiple=True,
        show_default=False,
        help="Links that alter what they carry: A-B both ways, A>B one way (in quotes), also with @STEP.",
    ),
]
Kind = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help=f"What to draw: {', '.join(f'{kind} ({what})' for kind, what in listed_kinds().items())}; "
        "by default the first that fits.",
    ),
]
RandomFaults = Annotated[
    int, Parameter(name="--random-faults", help="Besides, this many random nodes, from the start.")
]
Seed = Annotated[int, Parameter(help="The seed of what is random.")]


@app.command
def plan(
    collective: Job,
    network: Spec,
    /,
    *,
    root: Root = "0",
    messages: Messages = 1,
    copies: Copies = None,
    survive: Survive = None,
    model: ModelName = None,
    builder: str | None = None,
    order: str | None = None,
    fault_free: Flag = False,
    initiator: str | None = None,
    targets: Targets = (),
    lengths: Of = None,
    files: OfFiles = None,
    flit: Flit = 4096,
    tree: str | None = None,
    first: str | None = None,
    collect: str | None = None,
    seed: Seed = 0,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Plan a collective on a network, verify the schedule, and report it beside the lower bound.

    Example: treecast plan broadcast star:5 --messages 400 --survive 2 -o plan.tc

    Parameters
    ----------
    builder
        The construction, where there are several: disjoint-trees, port-matching, dimension-order, bisection, eyes, exhaustive,
        farthest-first, transmission-certificate, shoulder-tap, nearest-first, cover, …; an unknown name is told which there are.
    order
        Of dimension-order: the ports in the order in which they are used, as in 3,2,1,0.
    fault_free
        Of dimension-order: leave out the last step, which serves only when something has failed.
    initiator
        Of allgather on a hypercube: the node that starts the others, instead of all starting at once.
    tree
        Of scatterv and gatherv: the spanning tree: breadth-first, balanced, broadcast-time, depth-bounded:D, best.
    first
        Of scatterv and the ideal gatherv: which messages go first: farthest, nearest, longest, shortest, node.
    collect
        Of transmission-certificate: how certificates come up: slots, walk.
    output
        Write the schedule to this file: binary when it ends in .tcb, else text; - is standard output.
    """
    from treecast import formats, plans
    from treecast.cli import reports
    from treecast.verification import verifier

    if as_json and output == "-":
        raise _usage("--json and '-o -' both want standard output: choose one")
    with console.progress("plan", after=2):
        schedule = plans.plan(
            collective,
            network,
            root=root,
            messages=messages,
            copies=copies,
            survive=survive,
            model=model,
            builder=builder,
            order=_order(order),
            fault_free=fault_free,
            initiator=initiator,
            targets=targets,
            lengths=_lengths(network, root, lengths, files, flit, seed),
            tree=tree,
            first=first,
            collect=collect,
        )
    report = verifier.verify(schedule)
    if report and output is not None:
        formats.save(schedule, output)
    if output != "-" or not report:
        reports.show_report(schedule, report, as_json, with_baseline=True)
    if report and output not in (None, "-"):
        console.say(f"written: {output}, {len(schedule):,} rows")
    return _status(report)


@app.command
def verify(
    file: File,
    /,
    *,
    model: ModelName = None,
    expanded: Flag = False,
    sweep: Literal["nodes", "arcs", "links", "nodes+arcs", "nodes+links"] | None = None,
    most: int | None = None,
    sample: int | None = None,
    seed: Seed = 0,
    keep_going: Flag = False,
    as_json: Json = False,
) -> int:
    """Verify a schedule file against every rule; with --sweep also replay it under sets of faults.

    Example: treecast verify plan.tc --sweep nodes

    Parameters
    ----------
    expanded
        Judge every single send, slowly, instead of whole streams.
    sweep
        Also replay it under every set of such faults.
    most
        The most faults of a set; else as many as the schedule claims to survive.
    sample
        Instead of all sets, this many random ones of exactly that size.
    keep_going
        Count all failing sets, instead of stopping at the first.
    """
    from treecast.cli import reports
    from treecast.formats import read
    from treecast.simulation.faults import sweep as sweep_faults
    from treecast.verification.verifier import verify as check

    _not_negative(seed)
    schedule = read(file)
    report = check(schedule, model, "expanded" if expanded else "fast")
    if sweep is None or not report:
        reports.show_report(schedule, report, as_json)
        return _status(report)
    with console.progress("fault sets"):
        found = sweep_faults(schedule, most, sweep, sample=sample, seed=seed, keep_going=keep_going)
    reports.show_report(schedule, report, as_json, found)
    return _status(found.holds)


@app.command
def simulate(
    file: File,
    /,
    *,
    kill_nodes: DeadNodes = (),
    cut_links: DeadLinks = (),
    random_faults: RandomFaults = 0,
    seed: Seed = 0,
    startup: float = 0.0,
    per_byte: float = 0.0,
    chunk_bytes: int = 1,
    distributed: Flag = False,
    as_json: Json = False,
) -> int:
    """Replay a schedule under faults and tell what arrives when, and what is lost.

    Example: treecast simulate plan.tc --kill-nodes 21345 32145@5 --cut-links 12345-52341

    Parameters
    ----------
    startup
        The start-up time of a send, in seconds (beta).
    per_byte
        The time of a byte, in seconds (tau).
    chunk_bytes
        The size of a message, in bytes (F).
    distributed
        Of scatterv and gatherv: let every node find out by itself what to say, and compare that with the schedule.
    """
    from treecast.cli import reports
    from treecast.machine import Cost
    from treecast.simulation.bit_replay import gossip, is_gossip
    from treecast.simulation.replay import simulate as replay

    _not_negative(startup, per_byte, chunk_bytes)
    schedule, report = _load(file)
    if distributed:
        from treecast.cli.tree_report import show_conversation

        if kill_nodes or cut_links or random_faults:
            raise _usage("the protocols are for machines without faults: leave out either those or --distributed")
        return _status(show_conversation(schedule, as_json))
    faults, cost = _faults(schedule, kill_nodes, cut_links, random_faults, seed), Cost(startup, per_byte)
    if is_gossip(schedule) and schedule.network.nodes * len(schedule) > _MANY_SENDS:
        with console.progress("steps"):
            found = gossip(schedule, faults)
        reports.show_gossip(found, report, found.seconds(cost, chunk_bytes) if startup or per_byte else None, as_json)
        return _status(not found.missing.any())
    trace = replay(schedule, faults)
    time = trace.seconds(cost, chunk_bytes) if startup or per_byte else None
    reports.show_trace(trace, report, time, as_json)
    return _status(not trace.lost)


@app.command
def bounds(
    collective: Job,
    network: Spec,
    /,
    *,
    root: Root = "0",
    messages: Messages = 1,
    copies: Copies = None,
    survive: Survive = None,
    model: ModelName = None,
    targets: Targets = (),
    lengths: Of = None,
    files: OfFiles = None,
    flit: Flit = 4096,
    seed: Seed = 0,
    as_json: Json = False,
) -> int:
    """Print the lower bounds of a collective on a network, each with its formula and source.

    Under wormhole switching also what the default builder reaches, and whether that is known to be the minimum.
    Example: treecast bounds broadcast star:5 --messages 400 --survive 2
    """
    from treecast import networks, plans
    from treecast.cli import reports
    from treecast.collectives import Collective
    from treecast.machine import model as find_model

    where = networks.network(network)
    start, given = where.node(root), _lengths(network, root, lengths, files, flit, seed)
    each = None if given is None else plans.lengths_by_node(where, start, given)
    aims = {where.node(target) for target in targets}
    what = Collective(collective, where.nodes, messages, start, tuple(sorted(aims - {start})), each)
    machine = find_model(model or ("all-port" if each is None else "bufferless"))
    reports.show_bounds(where, what, plans.copies_of(copies, survive), machine, as_json)
    return 0


@app.command
def draw(
    file: File,
    /,
    *,
    output: Output = None,
    kind: Kind = None,
    tree: int | None = None,
    kill_nodes: DeadNodes = (),
    cut_links: DeadLinks = (),
    in_ascii: Annotated[Flag, Parameter(name="--ascii")] = False,
) -> int:
    """Draw a schedule: into an SVG, PNG, PDF or text file, or as text in the terminal.

    Example: treecast draw plan.tc --kind space-time -o picture.svg

    Parameters
    ----------
    output
        The picture to write; its ending chooses the format. Without it, text on standard output.
    tree
        Draw this tree only.
    in_ascii
        Draw text without box-drawing characters.
    """
    from treecast.drawing.pictures import draw as draw_picture

    schedule, _ = _load(file)
    faults = _faults(schedule, kill_nodes, cut_links, 0, 0)
    text = draw_picture(schedule, output, kind=kind, tree=tree, faults=faults, ascii=in_ascii)
    if output is None:
        console.show_text(text)
    else:
        console.say(f"written: {output}")
    return 0


@app.command
def run(
    file: File,
    /,
    *,
    data: Annotated[str, Parameter(name="--input", allow_leading_hyphen=True)],
    kill_nodes: DeadNodes = (),
    cut_links: DeadLinks = (),
    random_faults: RandomFaults = 0,
    lying_nodes: LyingNodes = (),
    lying_links: LyingLinks = (),
    seed: Seed = 0,
    flit: Flit = 4096,
    mpi: Flag = False,
    kill: tuple[str, ...] = (),
    deadline: float = 30.0,
    timeout: float = 600.0,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Carry out a schedule on a real file: move its bytes step by step between one buffer per node, faults and all.

    With nodes or links that lie, each node elects what most of its copies say, and the report tells who is fooled. Scatterv
    and gatherv take a folder with a file for each node, and move it flit by flit. With --mpi every node is a process of its own,
    which mpirun starts, and whoever is to be killed is killed.

    Example: treecast run plan.tc --input photo.png --kill-nodes 2143@3 3142@3

    Parameters
    ----------
    data
        The file: the data of all nodes, one behind the other, cut into as many chunks as the schedule has. For sums each node
        adds one part of it, byte by byte. - is standard input. Of scatterv and gatherv: the folder.
    mpi
        Over MPI, with a process for each node: started here, or by the mpirun that this runs under already.
    kill
        With --mpi: ranks that kill themselves (SIGKILL) in the middle of a transfer: 5@3,17@10 at steps 3 and 10. Nodes may be
        numbers or labels.
    deadline
        With --mpi: seconds without any message after which a rank takes the links that it waits for as cut.
    timeout
        With --mpi: seconds after which everything is ended.
    output
        Of scatterv and gatherv: write what arrives into this folder, a file for each node.
    """
    if mpi:
        if cut_links or random_faults or lying_nodes or lying_links:
            raise _usage(
                "over MPI processes can be killed (--kill 5@3), and nothing else can be had: leave the rest out"
            )
        return _run_over_mpi(file, data, flit, (*kill, *kill_nodes), deadline, timeout, output, as_json)
    if kill:
        raise _usage("--kill kills processes, with --mpi: write --kill-nodes here, or --mpi as well")
    from treecast.cli import reports
    from treecast.execution.election import elect
    from treecast.execution.local import run as execute
    from treecast.files import read_whole
    from treecast.simulation.faults import parse_faults

    if file == data == "-":
        raise _usage("the schedule and the data cannot both be standard input: name a file for one of them")
    if (lying_nodes or lying_links) and (kill_nodes or cut_links or random_faults):
        raise _usage("what is dead and what lies cannot be had in one run: give one or the other")
    schedule, report = _load(file)
    faults = _faults(schedule, kill_nodes, cut_links, random_faults, seed)
    liars = parse_faults(schedule.network, lying_nodes, lying_links)
    if schedule.collective.lengths is not None:
        if len(liars):
            raise _usage("a scatterv or gatherv sends each message one way: there is nothing to elect, leave liars out")
        return _relay(schedule, report, data, flit, faults, output, as_json)
    if output is not None:
        raise _usage("--output takes the files of a scatterv or gatherv: leave it out")
    content = read_whole(data)
    if len(liars):
        with console.progress("steps"):
            election = elect(schedule, content, liars)
        reports.show_election(election, report, data, as_json)
        return _status(len(election.right) == len(election.honest))
    with console.progress("steps"):
        done = execute(schedule, content, faults)
    reports.show_execution(done, report, data, as_json)
    return _status(len(done.intact) == len(done.living))


@app.command
def launch(
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    ranks: Annotated[int, Parameter(alias="-n")],
    timeout: float | None = None,
) -> int:
    """Start a program in many ranks by Open MPI's mpirun, so that the others live on when one dies; end all of it in time.

    Also as root, and with more ranks than cores. Ctrl-C and the time limit end what was started, and nothing else.

    Example: treecast launch -n 24 --timeout 60 -- python my_program.py

    Parameters
    ----------
    program
        The program and its arguments, behind --.
    ranks
        How many.
    timeout
        Seconds after which all ranks are ended; the exit status is then 124.
    """
    from treecast.mpi.job.launch import launch as start

    if timeout is not None:
        _not_negative(timeout)
    return start(ranks, program, timeout)


@app.command
def show(
    file: File,
    /,
    *,
    node: str | None = None,
    tree: int | None = None,
    steps: str | None = None,
    every: Annotated[Flag, Parameter(name="--all")] = False,
    as_json: Json = False,
) -> int:
    """Print the rows of a schedule, or those of one node, one tree or some steps.

    Example: treecast show plan.tc --node 21345

    Parameters
    ----------
    node
        Only what this node sends and receives: its program.
    tree
        Only the rows of this tree.
    steps
        Only rows under way in steps A:B (B not included).
    every
        Print all rows, also when there are more than 200 and this is a terminal.
    """
    from treecast.cli import reports

    first, last = _steps(steps)
    schedule, _ = _load(file)
    if node is not None:
        schedule = schedule.program(schedule.network.node(node))
    if tree is not None:
        schedule = schedule.on_tree(tree)
    if steps is not None:
        schedule = schedule.between(first, last)
    reports.show_rows(schedule, every, as_json)
    return 0


@app.command
def theorems(paper: str = "star", /, *, up_to: int | None = None, as_json: Json = False) -> int:
    """Check the statements of a paper by computing, and print for which sizes each was checked, the verdict and the time.

    Example: treecast theorems star --up-to 10

    Parameters
    ----------
    paper
        The paper: star, hypercube, mesh, trees.
    up_to
        Check up to this n (symbols of the star network), d (dimensions of the hypercube), k (sides 2^k of the mesh) or N (nodes
        of the tree), as far as each check can go.
    """
    from treecast.cli import reports
    from treecast.papers import check_theorems as check

    with console.progress("theorems"):
        found = check(paper, up_to)
    reports.show_theorems(found, as_json)
    return _status(all(finding.holds for finding in found))


@app.command
def compare(
    *specs: Spec,
    collective: str | None = None,
    messages: Messages = 1,
    copies: Copies = None,
    survive: Survive = None,
    tables: Flag = False,
    as_json: Json = False,
) -> int:
    """Set networks side by side: steps and transmissions of collectives, planned and verified, beside the lower bounds.

    Example: treecast compare star:5 hypercube:7 --collective allgather

    Parameters
    ----------
    collective
        What is compared; else the problems of the paper: broadcast, allgather, scatter, alltoall.
    tables
        Print the paper's tables of lower bounds (1 to 3) for these star networks and hypercubes instead: nothing is planned.
    """
    from treecast import networks as known
    from treecast import plans
    from treecast.cli import comparison_report
    from treecast.papers import compare as comparison

    where, wanted = [known.network(spec) for spec in specs], plans.copies_of(copies, survive)
    if tables:
        if not where or collective is not None:
            raise _usage("--tables takes one star network or hypercube, or more, and no --collective")
        found = [table for network in where for table in comparison.tables(network, messages, wanted)]
        comparison_report.show_tables(found, as_json)
        return 0
    with console.progress("comparison"):
        side_by_side = comparison.compare(where, collective, messages, wanted)
    comparison_report.show_comparison(side_by_side, as_json)
    return _status(all(entry.verified is not False for entry in side_by_side.entries))


@app.command
def times(
    network: Spec,
    /,
    *,
    survive: int | None = None,
    collective: Literal["broadcast", "allgather"] = "allgather",
    fault_free: Flag = False,
    startup: float = 0.0,
    per_byte: float = 0.0,
    chunk_bytes: int = 1,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Print what the schemes of the hypercube paper cost: as claimed, in closed form and measured, and where which wins.

    Example: treecast times hypercube:6 --startup 1e-5 --per-byte 1e-9 --chunk-bytes 4096 -o times.svg

    Parameters
    ----------
    survive
        How many faults must do no harm; else as many as can be survived, d - 1.
    collective
        What is to be done.
    fault_free
        The cube is declared to be without faults: what serves only when something has failed is left out.
    startup
        The start-up time of a send, in seconds (beta).
    per_byte
        The time of a byte, in seconds (tau).
    chunk_bytes
        The size of a node's message, in bytes (F).
    output
        Also draw a picture into this file: SVG, PNG or PDF.
    """
    from treecast import networks as known
    from treecast.cli import hypercube_report
    from treecast.machine import Cost
    from treecast.papers.hypercube import times as hypercube_times

    _not_negative(startup, per_byte, chunk_bytes)
    cube = known.network(network)
    if not isinstance(cube, known.Hypercube):
        raise _usage(f"these are times of schemes on hypercubes, as in hypercube:6, not on {cube.spec}")
    k = cube.d - 1 if survive is None else survive
    jobs = [hypercube_times.Job(collective, model, cube.d, k, fault_free) for model in hypercube_times.MODELS]
    found = [hypercube_times.timings(job) for job in jobs]
    if output is not None:
        from treecast.drawing.pictures import draw as draw_picture

        draw_picture(jobs[0], output)
    cost = Cost(startup, per_byte) if startup or per_byte else None
    hypercube_report.show_times(found, cost, chunk_bytes, as_json)
    if output is not None:
        console.say(f"written: {output}")
    return 0


@app.command
def paths(
    network: Spec,
    node: str,
    /,
    *,
    root: Root = "0",
    order: str | None = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Print the node-disjoint paths from the root to a node: on a hypercube the calling paths, on a star network the trees'.

    Example: treecast paths hypercube:4 14 --order 3,2,1,0

    Parameters
    ----------
    node
        The node to which they lead: a label or a number.
    order
        On a hypercube: the ports in the order in which they are used, as in 3,2,1,0.
    output
        Also draw a picture into this file: SVG, PNG or PDF.
    """
    from treecast import networks as known
    from treecast.cli import hypercube_report
    from treecast.papers.paths import node_disjoint_paths

    where = known.network(network)
    found = node_disjoint_paths(where, where.node(node), where.node(root), _order(order))
    if output is not None:
        from treecast.drawing.pictures import draw as draw_picture

        draw_picture(found, output)
    hypercube_report.show_paths(found, as_json)
    if output is not None:
        console.say(f"written: {output}")
    return 0


@app.command
def networks(spec: Spec | None = None, /, *, as_json: Json = False) -> int:
    """List the families of networks, or describe one network.

    Example: treecast networks star:5
    """
    from treecast import networks as known
    from treecast.cli import reports

    if spec is None:
        reports.show_families(as_json)
    else:
        reports.show_network(known.network(spec), as_json)
    return 0


# --- what several verbs share ---


def _usage(text: str) -> Exception:
    from treecast.errors import TreecastError

    return TreecastError(text)


def _status(holds: object) -> int:
    return 0 if holds else 1


def _not_negative(*numbers: float) -> None:
    for number in numbers:
        if number < 0 or number >= 2**63 or not isfinite(number):
            raise _usage(f"{number} will not do: times, sizes and seeds are numbers from 0 to 2^63 - 1")


def _lengths(network: str, root: str, text: str | None, folder: str | None, flit: int, seed: int) -> "Any":
    """Return the lengths that were asked for as plans take them, or None."""
    from treecast import networks as known
    from treecast.cli.lengths import parse_lengths
    from treecast.execution.folders import flits_of, node_files

    _not_negative(seed)
    if text is not None and folder is not None:
        raise _usage("lengths are given by --lengths, or by the sizes of --files: choose one")
    if text is None and folder is None:
        return None
    where = known.network(network)
    if text is not None:
        return parse_lengths(where, text, seed)
    return flits_of(where, node_files(where, folder or "", where.node(root)), flit)


def _relay(
    schedule: "Schedule", report: "Report", folder: str, flit: int, faults: "Faults", output: str | None, as_json: bool
) -> int:
    from treecast.cli.relay_report import show_relay
    from treecast.execution import relay as bufferless
    from treecast.execution.folders import flits_of, node_files

    files = node_files(schedule.network, folder, schedule.collective.root)
    flits_of(schedule.network, files, flit)
    if output is not None:
        bufferless.check_target(files, output)
    with console.progress("steps"):
        done = bufferless.relay(schedule, bufferless.read_messages(files), flit, faults)
    if output is not None:
        bufferless.write_messages(done, files, output)
    show_relay(done, report, folder, flit, as_json)
    if output is not None:
        console.say(f"written: {output}, {len(done.intact):,} files")
    return _status(len(done.intact) == len(files))


def _run_over_mpi(
    file: str, data: str, flit: int, kill: tuple[str, ...], deadline: float, timeout: float, output: str | None, as_json: bool
) -> int:  # fmt: skip
    from treecast.cli.mpi_report import show_run
    from treecast.mpi import library as mpi
    from treecast.mpi.job import run as runs
    from treecast.mpi.job.start import run_ranks

    _not_negative(timeout)
    if "-" in (file, data):
        raise _usage("over MPI many processes read the files: name them, standard input is one process's")
    if not mpi.inside_mpirun():
        if not mpi.has_mpi4py():
            raise _usage(mpi.MISSING)
        schedule, report = _load(file)
        what = runs.request(schedule, file, data, flit=flit, kill=kill, deadline=deadline, output=output)
        found = run_ranks(what, schedule.network.nodes, timeout)
        show_run(found, what, schedule, report, as_json)
        return _status(found["delivered"] == found["living"])
    loaded: list[Any] = []

    def ask() -> runs.Request:
        loaded[:] = _load(file)
        return runs.request(loaded[0], file, data, flit=flit, kill=kill, deadline=deadline, output=output)

    found, status, what = runs.run_rank(ask)
    if found is not None and "error" in found:
        raise _usage(found["error"])
    if found is not None:
        schedule, report = loaded or (runs.own_program(what, 0), None)
        show_run(found, what, schedule, report, as_json)
    return status


def _steps(text: str | None) -> tuple[int, int]:
    """Return the first step and the one behind the last of ``A:B``; each may be left out."""
    first, colon, last = (text or ":").partition(":")
    if not colon or any(part and not (part.isascii() and part.isdigit() and len(part) < 10) for part in (first, last)):
        raise _usage(f"--steps is written A:B, as in 3:8, not {text!r}")
    return int(first or 0), int(last or 2**31 - 1)


def _order(text: str | None) -> tuple[int, ...] | None:
    """Return the ports of ``3,2,1,0``."""
    parts = [] if text is None else text.split(",")
    if any(not (part.isascii() and part.isdigit() and len(part) < 10) for part in parts):
        raise _usage(f"--order is written as ports behind commas, as in 3,2,1,0, not {text!r}")
    return None if text is None else tuple(map(int, parts))


def _load(file: str) -> "tuple[Schedule, Report]":
    """Return the schedule of a file that verification finds right, and the report; say so. Raises when it is wrong."""
    from treecast.formats import load_verified

    schedule, report = load_verified(file)
    console.say(f"verified {report.method}: {len(schedule):,} rows")
    return schedule, report


def _faults(schedule: "Schedule", nodes: tuple[str, ...], links: tuple[str, ...], count: int, seed: int) -> "Faults":
    from treecast.simulation.faults import Faults, parse_faults, random_faults

    _not_negative(seed)
    named = parse_faults(schedule.network, nodes, links)
    chosen = random_faults(schedule.network, count, seed, {schedule.collective.root, *named.nodes})
    return Faults({**named.nodes, **chosen.nodes}, named.arcs)
