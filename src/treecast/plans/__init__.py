"""HOW: plans, sorted by the machine that they are for; every builder stands in the registry beside its own code."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import NodeName
from treecast.networks import network as find_network
from treecast.plans.after.repairs import Repair, repair
from treecast.plans.baselines import Baseline, baseline, one_tree_steps, single_tree_steps
from treecast.plans.carried import carried, known_node
from treecast.plans.choice import Alternatives, Candidate, build, choose
from treecast.plans.choice import alternatives as _alternatives
from treecast.plans.copies import against_of, copies_of
from treecast.plans.facts import facts
from treecast.plans.fastest import amount_of, costs_of, plan_bytes
from treecast.plans.lengths import lengths_by_node, lengths_by_pair
from treecast.plans.registry import Builder, Option, all_builders, all_options
from treecast.plans.registry import builders as _builders
from treecast.plans.request import (
    check_memory,
    collective_of,
    job_of,
    keywords,
    node_of,
    place_of,
    recipe_of,
    request,
    schedule_of,
)
from treecast.plans.ways.trees import disjoint
from treecast.schedule import Schedule
from treecast.schedule.trees import TreeSet

__all__ = [
    "Alternatives",
    "Baseline",
    "Builder",
    "Candidate",
    "Option",
    "Repair",
    "against_of",
    "all_builders",
    "all_options",
    "alternatives",
    "baseline",
    "builders",
    "collective_of",
    "copies_of",
    "disjoint_trees",
    "facts",
    "lengths_by_node",
    "lengths_by_pair",
    "one_tree_steps",
    "place_of",
    "plan",
    "plan_again",
    "program",
    "repair",
    "single_tree_steps",
]


def plan(
    collective: str,
    network: Any,
    *,
    root: NodeName | None = None,
    messages: int | None = None,
    copies: int | None = None,
    survive: int | None = None,
    against: str | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
    targets: Sequence[NodeName] = (),
    lengths: int | Sequence[int] | Mapping[Any, int] | None = None,
    bytes: int | str | None = None,  # noqa: A002
    latency: float | str | None = None,
    rate: float | str | None = None,
    item: int | str = 1,
    least_chunk: int | str = 1,
    chunk: int | str | None = None,
    **options: Any,
) -> Schedule:
    """Return a schedule of a collective on a network, with the claims of its builder; nothing is verified yet.

    Parameters
    ----------
    collective
        The collective: ``"broadcast"``, ``"allgather"``, …
    network
        Where: a Network, its spelling (``"star:5"``), or a networkx graph.
    root
        The node, or its label, that all data comes from or goes to; the default is the first rank.
    messages
        The number of chunks of each source; 1 by default, or the number that takes the least time for the bytes.
    copies, survive
        Over how many disjoint ways each chunk reaches each node, or how many unannounced faults must do no harm:
        ``survive`` = ``copies`` - 1. The default is one copy.
    against
        Against which faults the copies are: dead ``"nodes"`` (the default; they cover links and arcs), ``"links"`` or ``"arcs"``.
        A network may survive more dead links, or arcs, than nodes.
    model
        The machine: a Model or the name of a preset. The default is ``all-port``, or the model of the builder.
    builder
        The name of a builder. The default is the one that takes the fewest steps, then the fewest transmissions.
    targets
        The nodes or labels that a multicast is to reach.
    lengths
        The flits of each node's message, of a scatterv, gatherv or allgatherv: one number for all, one for each node, or a
        mapping from nodes or labels; a root's counts as 0. Of an alltoallv a matrix: the flits of each node (row) for each
        (column).
    bytes
        How much data there is: ``"16MiB"``, or a number of bytes; all blocks together, those of all nodes or the sum.
    latency, rate
        The costs of a send: its start-up time (``"1us"``, or seconds), and the rate of arcs (``"12.5GB/s"``, ``"100Gbit/s"``, or
        bytes a second). Then the builder and the number of chunks are those that take the least time.
    item
        The bytes of an item, which is not cut, as 8 of a float64.
    least_chunk
        The fewest bytes of a chunk.
    chunk
        The bytes of a chunk, where they are given; where there are lengths, of a flit, which says how many bytes there are.
    **options
        Options of the builder: ``treecast.builders(collective, network)`` lists those of each.

    Returns
    -------
    Schedule
        Its ``recipe`` says how to plan it again.

    Raises
    ------
    PlanError, NetworkError
        When there is no such plan; the error says why.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    >>> schedule.steps, schedule.recipe.builder
    (307, 'disjoint-trees')
    >>> treecast.plan("broadcast", "star:4").steps
    4
    >>> schedule = treecast.plan("broadcast", "torus:4x4x4", bytes="16MiB", latency="1us", rate="12.5GB/s")
    >>> print(schedule.sizes)
    222 chunks of 75,574 bytes, the last of 75,362 bytes
    """
    what: dict[str, Any] = {
        "root": root,
        "copies": copies,
        "survive": survive,
        "against": against,
        "model": model,
        "builder": builder,
        "targets": targets,
        "lengths": lengths,
        "options": options,
    }
    flits = lengths is not None
    amount = amount_of(bytes, item=item, least_chunk=least_chunk, chunk=chunk, messages=messages, flits=flits)
    if latency is not None and rate is None:
        network = place_of(collective, network)
        rate = network.chunk_rate  # of a file that says so
    costs = costs_of(latency, rate)
    if amount is not None:
        return replace(plan_bytes(collective, network, amount, costs, what), costs=costs)
    if costs is not None:
        raise PlanError("latency and rate are for bytes: say how many, as in bytes='16MiB'")
    return build(*request(collective, network, messages=1 if messages is None else messages, **what))


def plan_again(schedule: Schedule) -> Schedule:
    """Return the schedule that a schedule's recipe makes: the same rows. Raises PlanError when it does not say its builder."""
    job, entry = job_of(schedule)
    return schedule_of(job, entry, entry.build(job))


def program(
    collective: str,
    network: Any,
    node: NodeName,
    *,
    root: NodeName | None = None,
    messages: int = 1,
    copies: int | None = None,
    survive: int | None = None,
    against: str | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
    **options: Any,
) -> Schedule:
    """Return the rows of one node in ``plan(…)``, from its own label alone: the same rows, in time independent of N.

    Broadcasts and reductions over disjoint trees have 2k rows or fewer for most nodes. A scatter or gather by
    ``disjoint-trees-by-number`` has a row for each share that the node receives or passes on: a few for most nodes, but x (N - 1)
    for the root, and nearly as many for its children; more than 12,000 nodes below it are refused. In an allgather or alltoall
    each node receives N - 1 messages or more, so no program of such is independent of N. There, ``treecast paths`` gives the ways
    from one node to another, in networks of any size.

    Parameters
    ----------
    collective : str
        The collective, as ``plan`` takes it.
    network : Network, str or networkx graph
        Where.
    node : int or str
        The node whose rows are wanted, or its label.
    root, messages, copies, survive, against, model
        As ``plan`` takes them.
    builder : str, optional
        The name of a builder. The default is the best of those that know a node's rows from its label.
    **options : str
        Options of the builder, as ``plan`` takes them.

    Returns
    -------
    Schedule
        The rows that the node sends or receives, which are those of ``plan(…).at(node)`` by the builder that the recipe names.

    Raises
    ------
    PlanError
        When no builder can do so without building the whole schedule, and when the node has too many rows.

    Examples
    --------
    >>> import treecast
    >>> mine = treecast.program("broadcast", "star:15", 10**12, messages=1000)
    >>> len(mine)
    28
    >>> relayed = treecast.program("scatter", "star:15", 10**12, survive=13)
    >>> len(relayed), int(relayed.rows.step.max()) > 10**12
    (104, True)
    """
    job, entries = request(
        collective,
        network,
        root=root,
        messages=messages,
        copies=copies,
        survive=survive,
        against=against,
        model=model,
        builder=builder,
        options=options,
    )
    where = job.network
    able = [entry for entry in entries if entry.at is not None]
    entry = choose(job, able)[0] if able else entries[0]
    if entry.at is None:
        many = f"; every node hears at least {where.nodes - 1:,} messages" if job.collective.all_source else ""
        if builder:
            raise PlanError(
                f"{entry.name} has no rule by which a node knows its rows from its label alone: use plan(){many}"
            )
        others = sorted({each.name for each in all_builders() if each.at is not None and collective in each.kinds})
        some = f"; on other networks {', '.join(others)} {'has' if len(others) == 1 else 'have'} one" if others else ""
        raise PlanError(
            f"on {where.spec} there is no rule by which a node knows its rows of {collective} from its label alone: use plan()"
            + (many or some)
        )
    given = where if job.likeness is None else job.likeness.given
    mine = entry.at(job, known_node(job, node_of(given, node, "node"))).rows
    found = Schedule(where, job.collective, job.model, mine, job.copies, recipe=recipe_of(job, entry, job.copies))
    return found if job.likeness is None else carried(found, job.likeness)


def builders(collective: str, network: Any) -> list[Builder]:
    """Return the builders of a collective on a network, in the order in which they are tried.

    Parameters
    ----------
    collective
        The collective's name.
    network
        A Network, its spelling, or a networkx graph.

    Examples
    --------
    >>> import treecast
    >>> [builder.name for builder in treecast.builders("broadcast", "star:4")][:4]
    ['disjoint-trees', 'shortest-path-tree', 'breadth-first-tree', 'hamiltonian-path']
    """
    return _builders(collective, find_network(network))


def alternatives(collective: str, network: Any, **what: Any) -> Alternatives:
    """Return the cost of every builder for a job: the one that ``plan`` takes first, and those that cannot do it last.

    Parameters
    ----------
    collective
        The collective's name.
    network
        A Network, its spelling, or a networkx graph.
    **what
        The rest of the job, as ``plan`` takes it: ``root``, ``messages``, ``survive``, ``model``, …

    Returns
    -------
    Alternatives
        ``candidates``: each has a ``builder``, and its ``claims`` or the ``reason`` why it has none. ``why`` the first is taken.

    Raises
    ------
    PlanError, NetworkError
        When no builder can do it; the error says why not.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.alternatives("broadcast", "torus:4x4x4", messages=600)
    >>> found.chosen.name, found.candidates[0].claims.steps, found.why
    ('disjoint-trees', 106, 'the fewest steps')
    """
    options = {**what.pop("options", {}), **{name: what.pop(name) for name in list(what) if name not in keywords()}}
    job, entries = request(collective, network, options=options, **what)
    return _alternatives(job, entries)


def disjoint_trees(network: Any, root: NodeName = 0, *, trees: str = "") -> TreeSet:
    """Return the edge-disjoint spanning trees of a network at a root: as many as its degree, with node-disjoint ways.

    Parameters
    ----------
    network
        A star network, hypercube, complete network, torus or ring, its spelling, or a networkx graph.
    root
        A node or its label.
    trees
        The name of others than the best, where there are several: ``"paper"`` on star networks.

    Raises
    ------
    PlanError
        For networks for which none are known, or whose trees do not fit in memory.

    Examples
    --------
    >>> import treecast
    >>> trees = treecast.disjoint_trees("star:4")
    >>> len(trees), trees.height
    (3, 6)
    >>> treecast.disjoint_trees("star:4", trees="paper").height
    7
    """
    where = find_network(network)
    known = disjoint.trees_of(where, trees)
    rows = where.ports * (where.nodes - 1)
    check_memory(
        rows,
        f"the trees of {where.spec}",
        lambda: "a broadcast" if any(entry.at for entry in _builders("broadcast", where)) else "",
    )
    return known.disjoint_trees(where, where.node(root))
