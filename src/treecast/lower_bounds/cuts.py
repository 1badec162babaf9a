"""Lower bounds by cuts: all that has to come into some nodes X from outside must cross the arcs into X.

*Parts.* Let the nodes be in g parts, a rank in each. Before the ranks of some part have all of a sum, contributions to it have
crossed between parts g - 1 times at least, since fewer crossings do not join all parts. No crossing completes it in two parts.
So in each of the other g - 1 parts one more has to arrive. That makes 2 (g - 1), the least number of calls one way by which g
people tell each other everything (Harary & Schwenk 1974), whether a sum has an owner or not. All nodes, and two parts, are
special.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Problem, steps
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import away, fewest_ways
from treecast.networks.kept import kept
from treecast.networks.separators import best_separator, weakest_parts

_MOST_SEARCHED = 2**11  # nodes of a network whose worst cut is looked for

Mask = NDArray[np.bool_]


def over_cuts(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds by the arcs over cuts: into some nodes, between parts, or from those inside to those outside."""
    kind = job.kind
    if kind.personal or kind.blocks == "class":
        return _across(job) if kind.personal and kind.all_source else []
    all_hear = kind.one_to_all or kind.results or (kind.all_source and not kind.targets)
    into = _into_cuts(job) if all_hear or (kind.adds and kind.ends == "root") else []
    return into + (_between_parts(job) if kind.results else [])


def _into_cuts(job: Problem) -> list[Bound]:
    """Return the bound that the worst of some cuts gives where all ranks hear of one, or of all.

    The data of a rank outside X first enters X over one of the arcs; over x of them, if it is to reach each rank of X by x ways.
    Data that begins δ arcs from X does not pass them before step δ - 1. The last to enter has yet to reach all ranks of X. A sum
    that all are told has something of each rank, so of the one that is farthest from X.

    For many messages of all ranks nothing counts but the greatest of all quotients, ranks outside X by arcs into X (Zhao et al.,
    "ForestColl", 2024); for those of one rank, the least flow from it to another. On networks that look alike from all nodes no
    cut says more than a single node: as many arcs enter any set of nodes as enter one, at least (Mader 1971).
    """
    network, one = job.along, job.collective.root
    if job.model.combining or network.seen_alike or not 1 < network.rank_count <= network.nodes <= distances.LISTED:
        return []
    if job.kind.results:
        one, back = int(network.ranks[0]), network.reversed()
        cuts = [(where, inside) for where in (network, back) for inside in _before_a_rank(where, one)]
    else:
        cuts = [
            (network, inside) for inside in (_worst(network) if job.kind.all_source else _before_a_rank(network, one))
        ]
    found = [_crossed(job, where, inside) for where, inside in cuts]
    return [best(found, "steps")] if found else []


def _crossed(job: Problem, network: Network, inside: Mask) -> Bound:
    """Return the bound by the arcs into some nodes, with a rank among them and a rank outside that has data."""
    arcs, ranks, spread = arcs_of(network), network.ranks, job.kind.all_source and not job.kind.results
    # 1. The arcs into the nodes, and their ends.
    crossing = ~inside[arcs.tail] & inside[arcs.head]
    tails, heads = (np.flatnonzero(np.bincount(ends[crossing])) for ends in (arcs.tail, arcs.head))
    # 2. How far data is from there outside, and from there to the last rank inside.
    far, within = away(arcs, np.flatnonzero(inside), back=True), away(arcs, heads)
    within, outside = int(within[ranks[inside[ranks]]].max()), ranks[~inside[ranks]]
    if not spread:
        outside = outside[[far[outside].argmax()]] if job.kind.results else np.array([job.collective.root])
    chunks = job.sizes(outside) if spread else np.array([job.chunks], object)
    # 3. Chunks from d arcs away or more, for the worst d.
    beyond = [int(chunks[far[outside] > d].sum()) for d in range(int(far[outside].max()))]
    entering, into = int(np.count_nonzero(crossing)), int(np.count_nonzero(inside[ranks]))
    room = min(entering, (job.model.room or entering) * min(len(tails), len(heads)))
    if not beyond[0]:
        return steps(0, "0", "nothing enters")
    values = [-(-count // room) + d if count else 0 for d, count in enumerate(beyond)]
    d = int(np.argmax(values))
    late, so_far = d + within, f", {d + 1} arcs away or more," if d else ""
    formula = f"⌈{beyond[d]:,} / {room:,}⌉" + (f" + {late}" if late else "")
    return steps(
        values[d] + within, formula, f"{beyond[d]:,} chunks{so_far} enter {into:,} ranks over {entering:,} arcs"
    )


@kept(64)
def _before_a_rank(network: Network, root: int) -> list[Mask]:
    """Return the nodes that the least cut parts from a root, where fewer arcs cut a rank off than end there."""
    from treecast.networks.kernels.cuts import fill_still

    if network.nodes > _MOST_SEARCHED:
        return []
    arcs, found = arcs_of(network), fewest_ways(network, root, ranks=True)
    others = network.ranks[network.ranks != root]
    # no cut is less than what an end has
    if found.ways == min(np.diff(arcs.first)[root], np.diff(arcs.into)[others].min()):
        return []
    every, inside = np.arange(network.nodes), np.zeros(network.nodes, np.bool_)
    fill_still(*arcs[:5], every == root, every == found.node, 1, found.ways + 1, inside)
    return [inside]


@kept(64)
def _worst(network: Network) -> list[Mask]:
    """Return a rank that fewest arcs lead to, and the nodes that most has to enter for each arc, if these are worse."""
    from treecast.networks.kernels.cuts import worst_cut

    arcs = arcs_of(network)
    entering = np.diff(arcs.into)
    at = int(network.ranks[entering[network.ranks].argmin()])
    found, degree = [np.arange(network.nodes) == at], int(entering[at])
    if network.nodes > _MOST_SEARCHED:
        return found
    if network.relays is None and min(fewest_ways(some, 0).ways for some in (network, network.reversed())) == degree:
        return found  # no fewer arcs lead to any set of nodes
    inside = np.zeros(network.nodes, np.bool_)
    worst_cut(*arcs[:5], network.ranks, network.rank_count - 1, degree, inside)
    return [*found, inside] if inside.any() else found


def optimum(network: Network) -> Fraction:
    """Return the messages of each rank that an allgather can carry in a step at most: the least arcs into X by ranks outside X.

    Over all X with a rank, some rank being outside; of two ranks or more. It is 1/U of Zhao et al., "ForestColl" (2024), and
    trees carry as much where as much leads to each relay as from it.

    >>> from treecast.networks import network
    >>> optimum(network("petersen")), optimum(network("mesh:3x4"))
    (Fraction(1, 3), Fraction(2, 11))
    """
    from treecast.networks.kernels.cuts import worst_cut

    arcs = arcs_of(network)
    least, others = int(np.diff(arcs.into)[network.ranks].min()), network.rank_count - 1
    if network.seen_alike:
        return Fraction(least, others)
    count, leaving = worst_cut(*arcs[:5], network.ranks, others, least, np.zeros(network.nodes, np.bool_))
    return Fraction(int(leaving), int(count))


def _across(job: Problem) -> list[Bound]:
    """Return the bound of blocks from each node to each by a cut.

    Each of the n nodes inside a cut sends Mx chunks to each of the n' outside, over the arcs that lead out: none before a chunk
    can be there, nor later than one still gets to a rank.
    """
    if job.model.combining or job.collective.lengths is not None or not (cut := best_separator(job.network)):
        return []
    later = f" + {cut.late:,}" if cut.late else ""
    formula = f"⌈M x {cut.nodes:,} x {cut.others:,} / {cut.arcs:,}⌉{later}"
    source = f"from {cut.nodes:,} nodes to {cut.others:,} others lead {cut.arcs:,} arcs"
    return [steps(-(-job.total * cut.pairs // cut.arcs) + cut.late, formula, source)]


# --- sums that all are told ---


def _between_parts(job: Problem) -> list[Bound]:
    """Return the bound by the arcs between parts, which every sum crosses again and again: see above.

    Its certificate is the parts: arcs between them cost 1, all others nothing.
    """
    network = job.network
    found = None if network.seen_alike or job.model.combining or job.model.ports == "one" else weakest_parts(network)
    if found is None:
        return []
    half = job.model.duplex == "half" and network.both_ways
    times, room, arcs = 2 * (found.groups - 1), found.arcs // (2 if half else 1), arcs_of(network)
    crossing = tuple((found.part[arcs.tail] != found.part[arcs.head]).astype(int).tolist())
    said = f"something of every sum crosses {times:,} times between {found.groups:,} parts, over {found.arcs:,} arcs"
    formula = f"⌈{times:,} {job.spelled.removesuffix(' x')} / {room:,}⌉"
    return [Bound("steps", -(-job.chunks * times // room), formula, said, certificate=crossing)]
