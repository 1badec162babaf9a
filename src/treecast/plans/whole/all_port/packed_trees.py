"""Broadcast over arc-disjoint trees of any network: those that are packed (plans/ways/trees/packed.py).

Each tree is a pipeline, and carries as many messages as its depth leaves it steps for. Few messages go over few trees, which are
shallower; one message over one tree of shortest paths. Several copies of a message go over trees whose ways to
each node share no other node; against dead links no link, against dead arcs no arc.
"""

from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treecast.against import Against, apart
from treecast.collectives.traits import one_to_all
from treecast.description import Description
from treecast.errors import PlanError
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.arcs import cables_of
from treecast.networks.flows import arc_connectivity, connectivity, fewest_apart, fewest_ways
from treecast.networks.kept import kept
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.times.pipelines import rows_of_streams, sends_of_streams, streams, uneven_streams
from treecast.plans.times.timetable import in_turns
from treecast.plans.ways.trees import axes, rotated
from treecast.plans.ways.trees.disjoint import known_trees
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.trees.packed import packed_trees
from treecast.plans.ways.trees.pairs import has_thin_links, priced_pairs
from treecast.plans.ways.trees.split_off import takes_long, trees_past_relays
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.tree_facts import about_copies, facts_of_trees
from treecast.plans.whole.all_port.trees_of_every_root import SEED, list_of_trees, seed_of
from treecast.schedule import Claims, Rows, Schedule
from treecast.schedule.trees import TreeSet

_MOST_ARCS = 2**17  # of larger networks no trees are packed
_MOST_BESIDE_A_RULE = 2**16  # arcs times diameter, where trees for copies are searched for though a rule gives such
_PAIRS = (2, 3, 4, 6)  # of trees that are tried
_NEEDLESS = "is for networks on which no rule gives trees as good: builder"


class _Choice(NamedTuple):
    trees: TreeSet
    steps: int
    carried: list[list[tuple[int, int]]]
    rows: Rows | None = None  # where trees share arcs, so that streams go one after the other
    pairs: int = 0  # of trees, where it is pairs whose ways to a node share nothing


def _lacks_need(network: Network) -> str:
    """Return why no trees are packed on a network; empty when they are."""
    known = known_trees().get(network.family)
    if known is not None and known.none_is_shallower(network):
        return f"{_NEEDLESS} disjoint-trees has those"
    if network.arcs > _MOST_ARCS:
        return f"packs trees on networks of up to {_MOST_ARCS:,} arcs"
    return ""


def _why_not(job: Job[Network]) -> str:
    """Return who has better trees for one copy; of several copies which node has fewer ways."""
    network, root, copies = job.network, job.collective.root, job.copies
    if copies == 1 and rotated.none_is_shallower(network):
        return f"{_NEEDLESS} disjoint-trees has those"
    if copies == 1 or network.nodes == 1:
        return ""
    ruled = known_trees().get(network.family) is not None
    if ruled and network.arcs * network.diameter > _MOST_BESIDE_A_RULE:
        return f"is too slow on {network.spec}, where disjoint-trees has trees in closed form"
    found = fewest_apart(network, root, job.against)
    if copies <= found.ways:
        return ""
    return f"needs {copies} {apart(job.against)} paths from {network.label(root)}; {network.label(found.node)} has {found.ways}"


def _claims(job: Job[Network]) -> Claims:
    """Return the fewest steps over the trees that are found; Mx(N - 1) transmissions, and those to relays."""
    found = _choice_of(job)
    return Claims(found.steps, sends_of_streams(found.trees, found.carried))


def _facts(job: Job[Network], schedule: Schedule, depth: int) -> Description:
    found, seed, pairs = facts_of_trees(job, schedule, depth), seed_of(job), _choice_of(job).pairs
    if pairs:
        told = Description({"pairs": pairs}, {"trees": f"{pairs} pairs", "depth": f"{depth:,}"})
        found = told.joined(about_copies(job.copies, job.against))
    return found.adding({"seed": seed}, {"seed": seed}) if schedule.trees > 1 else found


@builder(
    "packed-trees",
    one_to_all,
    on=_lacks_need,
    summary="pipelines down arc-disjoint trees packed by Edmonds' theorem, as many as take the fewest steps",
    most_copies=connectivity,
    weaker={"links": arc_connectivity, "arcs": arc_connectivity},
    by_root=True,
    fits=_why_not,
    claims=_claims,
    options=(SEED,),
    facts=_facts,
)
def over_packed_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down arc-disjoint trees of depths d_i, as many as take the fewest steps; Mx(N-1) transmissions.

    The least T with Σ max(0, T - d_i + 1) ≥ Mx; every living node gets everything under any x-1 faults.
    """
    found = _choice_of(job)
    return Built(found.rows or rows_of_streams(found.trees, found.carried), _claims(job))


def _choice_of(job: Job[Network]) -> _Choice:
    collective = job.collective
    return _choice(
        job.network, collective.root, collective.messages, job.copies, against=job.against, seed=seed_of(job)
    )


@kept(16)
def _choice(network: Network, root: int, messages: int, copies: int, *, against: Against, seed: int) -> _Choice:
    """Return the trees that take the fewest steps of all numbers of trees, and the chunks of each. Raises PlanError."""
    if copies > 1 and network.nodes > 1:
        return _apart(network, root, messages, copies, against=against, seed=seed)
    far, best = network.eccentricity(root), _over(packed_trees(network, root, 1), messages, 1)
    most = 1 if messages == 1 or network.nodes == 1 else fewest_ways(network, root, ranks=True).ways
    # of numbers of trees that all carry as much, the least is tried: fewer trees are shallower
    shares = {-(-messages // number): number for number in range(most, 1, -1)}
    numbers = [number for share, number in shares.items() if share + far - 1 < best.steps]
    for number in numbers:
        if -(-messages // number) + far - 1 < best.steps:
            for trees in _arc_disjoint(network, root, number, seed, len(numbers)):
                found = _down(trees, messages, 1)
                best = found if found.steps < best.steps else best
    return best


def _arc_disjoint(network: Network, root: int, number: int, seed: int, searches: int) -> list[TreeSet]:
    """Return so many trees that share no arc to a rank: packed ones, and past relays others, which may share arcs to relays.

    Packed trees lead to every relay, so there are no more of them than ways to each. Where there are fewer ways to some relay,
    relays are split off first.
    """
    packed = not _is_mesh(network) and (network.relays is None or number <= fewest_ways(network, root).ways)
    found = [packed_trees(network, root, number, seed, searches)] if packed else []
    if network.relays is not None and not packed and not takes_long(network):
        with suppress(PlanError):  # of a relay to which more arcs lead than from it, or fewer
            found.append(trees_past_relays(network, root, number, seed))
    ruled = network.relays is not None or _is_mesh(network)
    others = _trees(network, root, number, "arcs", seed, searches=searches) if ruled else None
    return [*found, others] if others is not None else found


def _apart(network: Network, root: int, messages: int, copies: int, *, against: Against, seed: int) -> _Choice:
    """Return the same of trees whose ways to each rank share no node, link or arc. Raises PlanError."""
    best = None
    wide = 1 if against == "arcs" else int(cables_of(network).max())
    total = -(-messages * copies // wide)
    for number in range(fewest_apart(network, root, against).ways, copies - 1, -1):
        if number > copies and not _is_mesh(network) and -(-total // (number - 1)) == -(-total // number):
            continue
        if best is not None and -(-total // number) + least_depth(network, root, number) - 1 >= best.steps:
            continue
        trees = _trees(network, root, number, against, seed)
        if trees is not None:
            found = _down(trees, messages, copies, any_cable=network.parallel_arcs and against != "arcs")
            best = found if best is None or found.steps < best.steps else best
    if best is None:
        raise PlanError(
            f"no {copies} trees to all ranks with {apart(against)} paths were found on {network.spec}: try another --tree-seed"
        )
    for pairs in _PAIRS if copies == 2 and has_thin_links(network, against) else ():
        found = _in_pairs(network, root, messages, pairs, best.steps, against=against, seed=seed)
        best = best if found is None else found
    return best


def _in_pairs(
    network: Network, root: int, messages: int, pairs: int, steps: int, *, against: Against, seed: int
) -> _Choice | None:
    """Return how two copies go down so many pairs of trees in fewer steps than so many; None where they do not."""
    found = priced_pairs(network, (root,) * pairs, against, seed) if pairs <= messages else None
    if found is None:
        return None
    parent, port = (np.concatenate([getattr(pair, name) for pair in found]) for name in ("parent", "port"))
    trees = TreeSet(network, root, parent, port)
    cuts = [pair * messages // pairs for pair in range(pairs + 1)]
    carried = [[ends] for ends in pairwise(cuts) for _ in range(2)]
    ways = Ways.of_trees(network, [(trees, carried)])
    made = in_turns(ways, ways.tree)
    return _Choice(trees, made.steps, carried, made.built().rows, pairs) if made.steps < steps else None


def _trees(
    network: Network, root: int, number: int, against: Against, seed: int, *, searches: int = 1
) -> TreeSet | None:
    """Return so many trees; None where none are found. On a mesh those of the axes are as many as there can be."""
    if _is_mesh(network):
        return axes.axis_trees(network, root) if number == len(axes.axes_of(network)) else None
    return independent_trees(network, root, number, seed, against, searches=searches)


def _is_mesh(network: Network) -> bool:
    return network.grid is not None and not network.grid.wraps


def _down(trees: TreeSet, messages: int, copies: int, *, any_cable: bool = False) -> _Choice:
    """Return how the messages go down trees; where trees share an arc, it serves them in turn.

    ``any_cable``: a chunk may take any cable of a link, as no two ways to a node share the link; against arcs they may.
    """
    if any_cable or _share_arcs(trees):
        return _in_turn(trees, messages, copies, any_cable)
    return _over(trees, messages, copies)


def _over(trees: TreeSet, messages: int, copies: int) -> _Choice:
    steps, carried = uneven_streams(messages, copies, [int(depth) for depth in trees.depths.max(axis=1)])
    return _Choice(trees, steps, carried)


def _share_arcs(trees: TreeSet) -> bool:
    taken = trees.network.arc(trees.parent.astype(np.int64), trees.port)[trees.parent >= 0]
    return len(np.unique(taken)) < len(taken)


def _in_turn(trees: TreeSet, messages: int, copies: int, any_cable: bool) -> _Choice:
    """Return the same of trees that share arcs, or whose links have several cables, which any tree of theirs may take."""
    carried = streams(messages, len(trees), copies)
    ways = Ways.of_trees(trees.network, [(trees, carried)], apart=any_cable)
    made = (in_turns(ways, ways.tree) if any_cable else list_of_trees(ways)).built()
    return _Choice(trees, made.claims.steps, carried, made.rows)
