"""HOW: plans, sorted by the machine that they are for; every builder stands in the registry beside its own code."""

from typing import Any, overload

from treecast.errors import PlanError
from treecast.networks import NodeName
from treecast.networks import network as find_network
from treecast.plans.after.repairs import Repair, repair
from treecast.plans.baselines import Baseline, baseline, one_tree_steps, single_tree_steps
from treecast.plans.built import Job
from treecast.plans.carried import carried, known_node
from treecast.plans.choice import Alternatives, Candidate, alternatives, build, choose
from treecast.plans.copies import copies_of
from treecast.plans.entries import all_builders, all_options, builders_of
from treecast.plans.entries import builders as _builders
from treecast.plans.fastest import plan
from treecast.plans.job import collective_of, job, node_of
from treecast.plans.lengths import lengths_by_node, lengths_by_pair
from treecast.plans.registry import Builder, Option
from treecast.plans.request import check_memory, facts, recipe_of, request, request_again
from treecast.plans.ways.trees import disjoint
from treecast.schedule import Schedule
from treecast.schedule.trees import TreeSet

__all__ = [
    "Alternatives",
    "Baseline",
    "Builder",
    "Candidate",
    "Job",
    "Option",
    "Repair",
    "all_builders",
    "all_options",
    "alternatives",
    "baseline",
    "builders",
    "collective_of",
    "copies_of",
    "disjoint_trees",
    "facts",
    "job",
    "lengths_by_node",
    "lengths_by_pair",
    "one_tree_steps",
    "plan",
    "plan_again",
    "program",
    "repair",
    "single_tree_steps",
]


def plan_again(schedule: Schedule) -> Schedule:
    """Return the schedule that a schedule's recipe makes: the same rows. Raises PlanError when it does not say its builder."""
    return build(*request_again(schedule))


@overload
def program(collective: Job[Any], network: NodeName, /) -> Schedule: ...
@overload
def program(collective: str, network: Any, node: NodeName, **words: Any) -> Schedule: ...
def program(collective: str | Job[Any], network: Any, node: NodeName | None = None, **words: Any) -> Schedule:
    """Return the rows of one node in ``plan(…)``, from its own label alone: the same rows, in time independent of N.

    Broadcasts and reductions over disjoint trees have 2k rows or fewer for most nodes. A scatter or gather by
    ``disjoint-trees-by-number`` has a row for each share that the node receives or passes on: a few for most nodes, but x (N - 1)
    for the root, and nearly as many for its children; more than 12,000 nodes below it are refused. In an allgather or alltoall
    each node receives N - 1 messages or more, so no program of such is independent of N. There, ``treecast paths`` gives the ways
    from one node to another, in networks of any size.

    Parameters
    ----------
    collective, network : str and Network, spelling or networkx graph
        The job: a Job in place of both, or its words, with ``words``, as ``treecast.job`` takes them. The default builder is the
        best of those that know a node's rows from its label.
    node : int or str
        The node whose rows are wanted, or its label.

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
    # 1. Builders with a rule for one node.
    *asked, which = (collective, network) if node is None else (collective, network, node)
    job, entries = request(*asked, **words)
    kind, where = job.collective.kind, job.network
    able = [entry for entry in entries if entry.at is not None]
    entry = choose(job, able)[0] if able else entries[0]
    # 2. None: why, and what has one.
    if entry.at is None:
        many = f"; every node hears at least {where.nodes - 1:,} messages" if job.collective.all_source else ""
        if job.builder:
            raise PlanError(
                f"{entry.name} has no rule by which a node knows its rows from its label alone: use plan(){many}"
            )
        others = sorted({each.name for each in builders_of(kind) if each.at is not None})
        some = f"; on other networks {', '.join(others)} {'has' if len(others) == 1 else 'have'} one" if others else ""
        raise PlanError(
            f"on {where.spec} there is no rule by which a node knows its rows of {kind} from its label alone: use plan()"
            + (many or some)
        )
    # 3. The rows of the node, as the whole plan has them.
    given = where if job.likeness is None else job.likeness.given
    mine = entry.at(job, known_node(job, node_of(given, which, "node"))).rows
    found = Schedule(where, job.collective, job.model, mine, job.copies, recipe=recipe_of(job, entry, job.copies))
    return found if job.likeness is None else carried(found, job.likeness)  # from the network that stood in for it


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
    >>> [builder.name for builder in treecast.builders("broadcast", "star:4")][:2]
    ['disjoint-trees', 'breadth-first-tree']
    """
    return _builders(collective, find_network(network))


def disjoint_trees(network: Any, root: NodeName = 0, *, trees: str = "") -> TreeSet:
    """Return the edge-disjoint spanning trees of a network at a root: as many as its degree, with node-disjoint paths.

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
