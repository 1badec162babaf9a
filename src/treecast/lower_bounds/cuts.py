"""Lower bounds by cuts: all that has to come into some nodes X from outside must cross the arcs into X.

*Parts.* Let the nodes be in g parts, a rank in each. Before the ranks of some part have all of a sum, contributions to it have
crossed between parts g - 1 times at least, since fewer crossings do not join all parts. No crossing completes it in two parts.
So in each of the other g - 1 parts one more has to arrive. That makes 2 (g - 1), the least number of calls one way by which g
people tell each other everything (Harary & Schwenk 1974), whether a sum has an owner or not. All nodes, and two parts, are
special.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Job, steps
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.flows import away, fewest_ways
from treecast.networks.kept import kept
from treecast.networks.over_time import quickest, searched, size, slowest_cuts
from treecast.networks.separators import best_separator, weakest_parts

_MOST_SEARCHED = 2**11  # nodes of a network whose worst cut is looked for
_MOST_SIZE, _MOST_UNITS = 2**19, 2**12  # steps times arcs, and units, of flows that are searched for
_FEW = 8  # cuts of which the distances are counted, too

Mask = NDArray[np.bool_]


class Cut(NamedTuple):
    """Some nodes X of a network, ``ranks`` of them no relays, and the arcs that lead there.

    ``arcs`` lead from ``tails`` nodes outside X to ``heads`` nodes of X. ``beyond[d]``: how many ranks, or flits, are d + 1 arcs
    or more from X. From the nearest of the heads some rank of X is ``depth`` arcs away.
    """

    ranks: int
    arcs: int
    tails: int
    heads: int
    beyond: tuple[int, ...]
    depth: int


def into_cuts(job: Job, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound that the worst of many cuts gives where all hear all: by nodes of least degree, by layers, by flows.

    The data of a rank outside X first enters X over one of the arcs; over x of them, if it is to reach each rank of X by x
    ways. So Mx times the ranks that are δ arcs or more away pass these arcs, no chunk of them before step δ - 1. The last to
    enter has yet to reach all ranks of X. For many messages nothing counts but the greatest of all quotients, ranks outside X
    by arcs into X (Zhao et al., "ForestColl", 2024). On networks that look alike from all nodes no cut says more than a single
    node: as many arcs enter any set of nodes as enter one, at least (Mader 1971).
    """
    network, lengths = job.along, job.collective.lengths
    if job.model.combining or network.seen_alike or network.nodes > distances.LISTED:
        return []
    if lengths is None:
        cuts = _worst_cuts(network)
    else:
        cuts = [_measure(network, arcs_of(network), inside, job.collective.sizes()) for inside in _worst_masks(network)]
    found = [_bound_of(job, cut, lengths is not None) for cut in cuts if any(cut.beyond)]
    return [best(found, "steps")] if found else []


def _bound_of(job: Job, cut: Cut, in_flits: bool) -> Bound:
    room = min(cut.arcs, (job.model.room or cut.arcs) * min(cut.tails, cut.heads))
    values = [-(-job.total * count // room) + far if count else 0 for far, count in enumerate(cut.beyond)]
    far = int(np.argmax(values))
    late = far + cut.depth
    count, late_by = f"{cut.beyond[far]:,}", f" + {late}" if late else ""
    who = "nodes" if job.network.relays is None else "ranks"
    away = f", {far + 1} arcs away or more," if far else ""
    if in_flits:
        times = "x " if job.copies > 1 else ""
        said = f"{count} flits{away} enter {cut.ranks:,} of the {who} over {cut.arcs:,} arcs"
    else:
        times, said = "M x ", f"the data of {count} {who}{away} enters {cut.ranks:,} over {cut.arcs:,} arcs"
    formula = f"⌈{times}{count} / {room:,}⌉{late_by}"
    return steps(values[far] + cut.depth, formula, f"{said}; Zhao et al., ForestColl, 2024")


def optimum(network: Network) -> Fraction:
    """Return the messages of each rank that an allgather can carry in a step at most: the least arcs into X by ranks outside X.

    Over all X with a rank, some rank being outside; of two ranks or more. It is 1/U of Zhao et al., "ForestColl" (2024), and
    trees carry as much where as much leads to each relay as from it.

    >>> from treecast.networks import network
    >>> optimum(network("petersen")), optimum(network("mesh:3x4"))
    (Fraction(1, 3), Fraction(2, 11))
    """
    from treecast.kernels.networks.cuts import worst_cut

    arcs = arcs_of(network)
    least, others = int(np.diff(arcs.into)[network.ranks].min()), network.rank_count - 1
    if network.seen_alike:
        return Fraction(least, others)
    count, leaving = worst_cut(*arcs[:5], network.ranks, others, least, np.zeros(network.nodes, np.bool_))
    return Fraction(int(leaving), int(count))


def before_a_rank(job: Job, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound by the least cut between who gives all data and a rank, where fewer arcs cut it than end there.

    All chunks cross it to the rank's side, none before its distance from the root. The last has yet to reach the rank.
    """
    if job.model.combining:
        return []
    if job.kind.results:
        one = int(job.network.ranks[0])
        return _before(job, job.network, one) + _before(job, job.network.reversed(), one)
    return _before(job, job.along, job.collective.root)


def _before(job: Job, network: Network, root: int) -> list[Bound]:
    from treecast.kernels.networks.cuts import fill_still

    if network.seen_alike or not 1 < network.rank_count <= network.nodes <= _MOST_SEARCHED:
        return []
    arcs, found = arcs_of(network), fewest_ways(network, root, ranks=True)
    others = network.ranks[network.ranks != root]
    if found.ways == min(np.diff(arcs.first)[root], np.diff(arcs.into)[others].min()):
        return []
    every, inside = np.arange(network.nodes), np.zeros(network.nodes, np.bool_)
    fill_still(*arcs[:5], every == root, every == found.node, 1, found.ways + 1, inside)
    crossing = ~inside[arcs.tail] & inside[arcs.head]
    far = away(arcs, np.array([root]))[arcs.tail[crossing]]
    within = away(arcs, np.flatnonzero(np.bincount(arcs.head[crossing])))[found.node]
    late = int(far[far >= 0].min() + within)
    value = -(-job.chunks // found.ways) + late
    formula = f"⌈{job.spelled} / {found.ways:,}⌉" + (f" + {late}" if late else "")
    return [steps(value, formula, f"{found.ways:,} arcs cut {network.label(found.node)} off from the root")]


@kept(64)
def _worst_cuts(network: Network) -> list[Cut]:
    """Return the cuts with the fewest arcs for the data that has to enter, of those that are looked at."""
    return [_measure(network, arcs_of(network), inside) for inside in _worst_masks(network)]


@kept(64)
def _worst_masks(network: Network) -> list[Mask]:
    """Return the nodes inside each of these cuts."""
    arcs = arcs_of(network)
    entering = np.diff(arcs.into)
    at = int(network.ranks[entering[network.ranks].argmin()])
    single = np.arange(network.nodes) == at
    found = [single]
    if network.nodes <= distances.LOOKED_AT:
        found += _layers(network)
    if network.nodes <= _MOST_SEARCHED:
        found += _by_flows(network, arcs, int(entering[at]))
    return found


def _layers(network: Network) -> list[Mask]:
    """Return the nodes up to some distance of one, and those beyond, that arcs lead to least."""
    far, beyond = distances.from_each(network), distances.ranks_beyond(network)
    out, back = (across[:, 1 : beyond.shape[1] + 1] for across in distances.arcs_across(network))
    near = network.rank_count - beyond  # ranks nearer than each layer, from the second layer on
    rate = np.stack([near / np.maximum(out, 1), beyond / np.maximum(back, 1)], axis=2)
    rate[(beyond == 0)[:, :, None] | (np.stack([out, back], axis=2) == 0)] = 0
    worst = np.argsort(-rate, axis=None, kind="stable")[:_FEW]
    found = list[Mask]()
    for view, layer, inwards in zip(*np.unravel_index(worst, rate.shape), strict=True):
        if rate[view, layer, inwards] > 0:
            away = far[view]
            found.append((away <= layer) & (away >= 0) if inwards else away > layer)
    return found


def _by_flows(network: Network, arcs: Arcs, degree: int) -> list[Mask]:
    """Return the cut that most has to pass for each of its arcs; none where a node of least degree is as bad.

    It is, if no fewer arcs lead to any set of nodes.
    """
    from treecast.kernels.networks.cuts import worst_cut

    if network.relays is None and min(fewest_ways(some, 0).ways for some in (network, network.reversed())) == degree:
        return []
    inside = np.zeros(network.nodes, np.bool_)
    worst_cut(*arcs[:5], network.ranks, network.rank_count - 1, degree, inside)
    return [inside] if inside.any() else []


def _measure(network: Network, arcs: Arcs, inside: Mask, flits: NDArray[np.int64] | None = None) -> Cut:
    """Return a cut by its nodes; ``flits``: those of each node, instead of one message for each rank."""
    crossing = ~inside[arcs.tail] & inside[arcs.head]
    tails, heads = (np.flatnonzero(np.bincount(ends[crossing])) for ends in (arcs.tail, arcs.head))
    beside, within = away(arcs, np.flatnonzero(inside), back=True), away(arcs, heads)
    there = inside[network.ranks]
    outside = network.ranks[~there]
    count = np.bincount(beside[outside], None if flits is None else flits[outside]).astype(np.int64)[1:]
    beyond = np.cumsum(count[::-1])[::-1]
    depth = int(within[network.ranks[there]].max())
    ranks, entering = int(np.count_nonzero(there)), int(np.count_nonzero(crossing))
    return Cut(ranks, entering, len(tails), len(heads), tuple(beyond.tolist()), depth)


# --- data for one node each ---


def over_time(job: Job, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound of blocks from or to one root by cuts, and the least steps of a flow over time if that is quickly found.

    Mx chunks for each of n nodes at distance d and beyond cross the arcs that lead to these nodes, none before step d - 1. Copies
    that go different ways are different units of a flow.
    """
    network = job.along
    if job.model.combining or job.collective.lengths is not None or not searched(network):
        return []
    start = 0 if network.seen_alike else job.collective.root
    cut = max(slowest_cuts(network, start), key=lambda cut: (cut.steps(job.total), -cut.distance))
    later = f" + {cut.distance - 1:,}" if cut.distance > 1 else ""
    formula = f"⌈M x {cut.nodes:,} / {cut.arcs:,}⌉{later}"
    beyond = f", {cut.distance:,} or more arcs away" if cut.distance > 1 else ""
    found = [steps(cut.steps(job.total), formula, f"{cut.arcs:,} arcs lead to {cut.nodes:,} nodes{beyond}")]
    if size(network, start, job.total) <= _MOST_SIZE and job.total * job.others <= _MOST_UNITS:
        flow = quickest(network, start, job.total, patient=False)
        if flow is not None:
            found.append(steps(flow.steps, "least steps of a flow over time", "M x chunks for each node from the root"))
    return found


def across(job: Job, known: Sequence[Bound]) -> list[Bound]:
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


def between_parts(job: Job, known: Sequence[Bound]) -> list[Bound]:
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
