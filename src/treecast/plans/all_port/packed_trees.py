"""Broadcast over arc-disjoint trees of any network: those that are packed (plans/trees/packed.py).

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Each tree is a pipeline, and carries as many messages as its depth leaves it steps for. Few messages go over few trees, which are
less deep; one message over one tree of shortest paths. Several copies of a message go over trees whose ways to
each node share no other node.
"""

from functools import lru_cache
from typing import NamedTuple

from treecast.description import Description
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.flows import connectivity, fewest_ways, least_cut
from treecast.plans.all_port.pipelines import rows_of_streams, sends_of_streams, uneven_streams
from treecast.plans.all_port.tree_facts import facts_of_trees
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, Option, builder
from treecast.plans.trees import axes, rotated
from treecast.plans.trees.disjoint import known_trees
from treecast.plans.trees.packed import independent_trees, packed_trees
from treecast.schedule import Claims, Schedule
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet

_MOST_ARCS = 2**17  # of larger networks no trees are packed
_SHOWN = 5  # nodes of a cut
_NEEDLESS = "is for networks on which no rule gives trees as good: builder"


class _Choice(NamedTuple):
    trees: TreeSet
    steps: int
    carried: list[list[tuple[int, int]]]


def _read_seed(text: str, network: Network) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise PlanError(f"{text!r} is no seed: write a number from 0 to 999999999")
    return int(text)


SEED = Option(
    name="tree-seed",
    what="What the search for packed trees begins with: the same seed gives the same trees.",
    read=_read_seed,
)


def _lacks_need(network: Network) -> str:
    """Return why no trees are packed on a network; empty when they are."""
    known = known_trees().get(network.family)
    if known is not None and known.none_is_less_deep(network):
        return f"{_NEEDLESS} disjoint-trees has those"
    if network.arcs > _MOST_ARCS:
        return f"packs trees on networks of up to {_MOST_ARCS:,} arcs"
    return ""


def _why_not(job: Job[Network]) -> str:
    """Return who has better trees for one copy; of several copies which node has fewer ways, and what cuts it off."""
    network, root, copies = job.network, job.collective.root, job.copies
    if copies == 1 and rotated.none_is_less_deep(network):
        return f"{_NEEDLESS} rotated-trees has those"
    if copies == 1 or network.nodes == 1:
        return ""
    found = fewest_ways(network, root, nodes=True)
    if copies <= found.ways:
        return ""
    cut = network.labels(least_cut(network, root, found.node))
    names = ", ".join(cut[:_SHOWN]) + (" …" if len(cut) > _SHOWN else "")
    where = f" (cut off by {names})" if cut else ""
    return (
        f"needs {copies} node-disjoint ways from {network.label(root)} to every node, but {network.label(found.node)} "
        f"has {found.ways}{where}: at most {found.ways} {'copies' if found.ways > 1 else 'copy'} here"
    )


def _claims(job: Job[Network]) -> Claims:
    """Return the fewest steps over the trees that are found; Mx(N - 1) transmissions, and those to relays."""
    if job.network.nodes == 1:
        return Claims(0, 0)
    found = _choice(job.network, job.collective.root, job.collective.messages, job.copies, _seed(job))
    return Claims(found.steps, sends_of_streams(found.trees, found.carried))


def _facts(job: Job[Network], schedule: Schedule, depth: int) -> Description:
    found, seed = facts_of_trees(job, schedule, depth), _seed(job)
    return found.adding({"seed": seed}, {"seed": seed}) if schedule.trees > 1 else found


@builder(
    "packed-trees",
    "broadcast",
    on=_lacks_need,
    under=ALL_PORT,
    what="pipelines down arc-disjoint trees packed by Edmonds' theorem, as many as take the fewest steps",
    most_copies=connectivity,
    by_root=True,
    fits=_why_not,
    claims=_claims,
    options=(SEED,),
    rank=95,
    facts=_facts,
)
def over_packed_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down arc-disjoint trees of depths d_i, as many as take the fewest steps; Mx(N-1) transmissions.

    The least T with Σ max(0, T - d_i + 1) ≥ Mx; every living node gets everything under any x-1 faults.
    """
    if job.network.nodes == 1:
        return Built(rows_of_streams(packed_trees(job.network, 0, 1), [[]]), Claims(0, 0))
    found = _choice(job.network, job.collective.root, job.collective.messages, job.copies, _seed(job))
    return Built(rows_of_streams(found.trees, found.carried), _claims(job))


def _seed(job: Job[Network]) -> int:
    return int(job.options.get(SEED.keyword, 1))


@lru_cache(16)
def _choice(network: Network, root: int, messages: int, copies: int, seed: int) -> _Choice:
    """Return the trees that take the fewest steps of all numbers of trees, and what each carries. Raises PlanError."""
    far, best = network.eccentricity(root), None
    if copies == 1:
        best = _over(packed_trees(network, root, 1), messages, 1)
    total, number = messages * copies, _most(network, root, copies, messages)
    while number >= max(2, copies):
        if best is None or -(-total // number) + far - 1 < best.steps:
            trees = _trees(network, root, number, copies, seed)
            if trees is not None:
                found = _over(trees, messages, copies)
                best = found if best is None or found.steps < best.steps else best
        number -= 1
    if best is None:
        raise PlanError(
            f"no {copies} spanning trees with node-disjoint ways were found on {network.spec}: try another --tree-seed"
        )
    return best


def _trees(network: Network, root: int, number: int, copies: int, seed: int) -> TreeSet | None:
    """Return so many trees; None where none are found. On a mesh those of the axes are as many as there can be."""
    if network.grid is not None and not network.grid.wraps:
        return axes.axis_trees(network, root) if number == len(axes.axes_of(network)) else None
    if copies == 1:
        return packed_trees(network, root, number, seed)
    return independent_trees(network, root, number, seed)


def _most(network: Network, root: int, copies: int, messages: int) -> int:
    """Return the most trees that can be of use."""
    if messages * copies == 1:
        return 1
    return fewest_ways(network, root, nodes=copies > 1).ways


def _over(trees: TreeSet, messages: int, copies: int) -> _Choice:
    steps, carried = uneven_streams(messages, copies, [int(depth) for depth in trees.depths.max(axis=1)])
    return _Choice(trees, steps, carried)
