"""Lower bounds by prices: whatever arcs cost, all data pays for trees or paths, and a step carries no more than fits.

**Theorem.** Let arcs have prices w ≥ 0. D is the cost of the cheapest trees or paths of one message of every demand: a tree
from the root, or from each rank, a tree to it, or paths. W is the most that the sends of one step can cost. Where messages
do not combine, M messages in x copies take ⌈M x D / W⌉ steps or more. *Proof.* The sends of a chunk contain a way of
its demand (first arrivals form a tree or a path; sums run backwards), and those of a finished sum are different from
those of its contributions. x link-disjoint paths cross each cut x times, so they cost x times the cheapest at least
(Edmonds 1973, Menger). A step costs W at most. ∎

Prices belong to the resources of a send in a step: an arc, a link, or the ports of two nodes. So W is the sum of all of these,
each times its room. By the duality of linear programs the best prices give the least steps a message of all schedules, for many
messages and one copy. Multiplicative weights come near them in a few turns (Garg & Könemann 2007); as small whole numbers they
are a proof of their own, which nobody has to trust the search for.

*One partner.* Where a node has one partner in a step, a step is a matching of links. So both sends over a link cost as much as
its two nodes together, shared in any way: with one root, the arc that leads on pays all of it.

*By steps.* In step t of the data of one root, only arcs whose tail is t arcs or fewer from the root carry anything, and
with one port no more than k(t) nodes send. So the sends of T steps cost Y(0) + … + Y(T-1) at most.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Demand
from treecast.lower_bounds.bound import Bound, tightest
from treecast.lower_bounds.job import Problem, steps
from treecast.lower_bounds.one_port import senders
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.networks.separators import far_and_back
from treecast.ragged import read_only, starts
from treecast.takes import takes

Floats = NDArray[np.float64]

_MOST_ARCS, _MOST_OF_PATHS = 10_000, 2**18  # arcs times roots of a job; where ways are paths
_TURNS, _WORK, _CLOSE = 150, 1e8, 1.005  # of the search; steps of inner loops; how near above and below have to come
_LEVELS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 30, 60, 120, 840)  # whole prices are this at most


class Prices(NamedTuple):
    """Whole prices of resources: all cheapest trees or paths of one message cost ``ways``, the sends of a step at most ``room``.

    ``taken``: int64 (arcs, width), the resources of a send over each arc, as indices into ``prices`` and ``rooms``, which says
    how many sends take each at once. ``gap``: for how many steps each, int64 (arcs,).
    """

    prices: Ints
    rooms: Ints
    taken: Ints
    gap: Ints
    ways: int
    room: int

    @property
    def of_arcs(self) -> Ints:
        """The cost of a send over each arc, arcs as ``arcs_of`` numbers them."""
        return self.prices[self.taken].sum(axis=1) * self.gap


class _Demand(NamedTuple):
    """Ways from each root to all that are wanted, ``times`` over, or backwards; ``need``: how many to each, if they are paths."""

    arcs: Arcs
    roots: Ints
    times: Floats
    wanted: NDArray[np.int8]
    backwards: bool
    need: Floats | None

    def price(self, price: Floats, use: Floats) -> float:
        """Return the cost of the cheapest trees or paths; add to ``use`` how often they take each arc."""
        from treecast.lower_bounds.kernels.prices import paths, trees

        arcs, every = self.arcs, read_only(np.arange(len(self.arcs.tail)), np.int32)
        out, back = (arcs.tail, arcs.first, every), (arcs.head, arcs.into, arcs.entering)
        (tail, *leaving), (head, *entering) = (back, out) if self.backwards else (out, back)
        if self.need is None:
            return float(trees(tail, head, *entering, price, self.roots, self.times, self.wanted, use))
        return float(paths(tail, head, *leaving, price, self.roots, self.need, use))


_Family = tuple[int, tuple[int, ...], tuple[int, ...]]


class _Classes(NamedTuple):
    """Ways of the classes of a demand; of a sum for several those into a wanter, or out of a giver, that are dearest.

    ``sides``: the arcs forwards, and backwards, as the kernel takes them. ``size``: the chunks of each class. ``of``: the class
    of each family of ways, the forward ones before those ``backwards``. ``ends``: of each family the roots and the targets, as
    starts and nodes.
    """

    sides: tuple[tuple[Ints, Ints, Ints, Ints], ...]
    size: Ints
    of: Ints
    backwards: NDArray[np.bool_]
    ends: tuple[tuple[Ints, Ints, Ints, Ints], ...]

    @property
    def roots(self) -> Ints:
        """A number for each target."""
        return np.concatenate([targets for _, _, _, targets in self.ends])

    @staticmethod
    def over(demand: Demand, network: Network) -> "_Classes":
        """Return the ways of a demand on a network."""
        families, merged = (list[_Family](), list[_Family]()), demand.merged()
        for k, (_, parts, wants) in enumerate(merged.numbered()):
            givers = tuple(part[0] for part in parts)
            if len(parts) == 1:
                families[0].append((k, parts[0], wants))
                continue
            families[1].extend((k, (want,), tuple(v for v in givers if v != want)) for want in wants)
            if len(wants) > 1:
                families[0].extend((k, (giver,), tuple(v for v in wants if v != giver)) for giver in givers)
        ends = tuple(
            (*_ragged([roots for _, roots, _ in side]), *_ragged([targets for _, _, targets in side]))
            for side in families
        )
        of = np.array([k for side in families for k, _, _ in side], np.int64)
        back = np.arange(len(of)) >= len(families[0])
        first, head, tail, into, entering, _ = (column.astype(np.int64) for column in arcs_of(network))
        sides = (into, entering, tail, head), (first, np.arange(len(tail)), head, tail)
        return _Classes(sides, merged.size, of, back, ends)

    def price(self, price: Floats, use: Floats) -> float:
        """Return the cost of all chunks; add to ``use`` how often they take each arc."""
        from treecast.lower_bounds.kernels.short_sets import pay

        paid, used = np.zeros(len(self.of)), np.zeros((len(self.of), len(price)))
        for back, side, ends in zip((False, True), self.sides, self.ends, strict=True):
            some = self.backwards == back
            mine, taken = np.zeros(int(some.sum())), np.zeros((int(some.sum()), len(price)))
            if not pay(*side, price, *ends, mine, taken):
                return -1.0
            paid[some], used[some] = mine, taken
        order = np.lexsort((paid, self.of))
        dearest = order[np.append(np.diff(self.of[order]) > 0, True)]  # of each class
        use += self.size.astype(np.float64) @ used[dearest]
        return float(self.size @ paid[dearest])


def _ragged(rows: list[tuple[int, ...]]) -> tuple[Ints, Ints]:
    return starts([len(row) for row in rows]), np.array([v for row in rows for v in row], np.int64)


def by_prices(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound of a collective by prices, if they are looked for, and with one root another one by steps.

    Its certificate are the prices of arcs: the formula has the cost of the cheapest trees or paths, and the most of a step.
    """
    collective, network, kind = job.collective, job.network, job.kind
    if kind.all_source and network.seen_alike and collective.lengths is None:
        return []  # arcs that look alike cost the same: ports and distances say as much
    found = priced(job)
    if found is None or not found.ways:
        return []
    # 1. The bound of all steps alike.
    needed, certificate = job.total * found.ways, tuple(found.of_arcs.tolist())
    shape = "ways" if collective.demand is not None else "paths" if kind.personal else "trees"
    said = f"cheapest {shape} cost {found.ways:,}, the sends of a step cost at most {found.room:,}"
    times = "M x " if collective.lengths is None else "x " * (job.copies > 1)
    bounds = [steps(-(-needed // found.room), f"⌈{times}{found.ways:,} / {found.room:,}⌉", said)]
    # 2. With one root: the first steps sell less.
    if not kind.all_source and not kind.results:
        formula = f"least T with Y(0) + … + Y(T-1) ≥ {times}{found.ways:,}"
        value = _by_steps(job, found, needed, collective)
        bounds.append(steps(value, formula, f"cheapest {shape}, by the sends of each step"))
    more = [bound for bound in bounds if bound.value > tightest(known, "steps").value]
    return [replace(bound, certificate=certificate, given=job.given) for bound in more]


def priced(job: Problem) -> Prices | None:
    """Return good prices for one message of each source of a job; None where they are not looked for."""
    collective, model, network, kind = job.collective, job.model, job.network, job.kind
    roots = network.rank_count if kind.all_source else 1
    most = _MOST_OF_PATHS if kind.personal or collective.demand is not None else _MOST_ARCS
    if model.combining or model.routing or job.faults or network.arcs * roots > most:
        return None
    one = replace(collective, messages=1, owners=())
    found = [best_prices(network, one, each) for each in dict.fromkeys((model, replace(model, partner="any")))]
    several = (prices for prices in found if prices is not None and prices.room)
    return max(several, key=lambda prices: Fraction(prices.ways, prices.room), default=None)


@kept(64)
def best_prices(network: Network, collective: Collective, model: Model) -> Prices | None:
    """Return good prices for a collective on a network under a model; None where some rank is not reached.

    >>> from treecast.collectives import Collective
    >>> from treecast.models import model
    >>> from treecast.networks import network
    >>> mesh = network("mesh:4x4")
    >>> found = best_prices(mesh, Collective.over(mesh, "alltoall", 1), model("one-port"))
    >>> found.ways / found.room > 42.6
    True
    """
    # 1. What is asked, and of which resources.
    demands, (taken, rooms), gap = _demands(collective, network), taken_by(model, network), takes(model, network).gap
    if model.partner == "same" and model.ports == "one" and model.duplex == "full":
        arcs = arcs_of(network)
        taken, rooms = np.stack([arcs.tail, arcs.head], axis=1).astype(np.int64), np.full(network.nodes, 2)
        gap = gap * _shares(collective, network)
    count = len(rooms)

    def ask(y: Floats) -> tuple[float, Floats]:
        use = np.zeros(len(taken))
        paid = sum(demand.price(y[taken].sum(axis=1) * gap, use) for demand in demands)
        return paid, np.bincount(taken.ravel(), np.repeat(use * gap, taken.shape[1]), count) / rooms

    # 2. Turn by turn: loaded resources get dearer, by powers, and the load is a mean over what cheapest ways took.
    load = mean = np.zeros(count)
    above, below, best = np.inf, 0.0, np.ones(count)
    steep = 4.0
    for turn in range(_turns(network, demands)):
        # relative to the fullest, so that no power grows too large
        y = np.exp(steep * (load / load.max() - 1)) if turn else np.ones(count)  # of all the room of a resource
        # a mean to which later turns count more
        step = 2.0 / (turn + 3) if turn else 1.0
        paid, used = ask(y / rooms)
        if paid <= 0:
            return None
        mean, load = mean + step * (y / y.sum() - mean), load + step * (used - load)
        # the steeper, the more the fullest resources alone count
        above, steep = min(above, float(load.max())), min(1.03 * steep, 30.0)
        # any prices are a bound; the best are kept, as a search does not get better every time
        if paid / y.sum() > below:
            below, best = paid / float(y.sum()), y
        if above <= below * _CLOSE:
            break
    # 3. As small whole numbers, each of which is a proof; the best of them.
    several = [y / rooms for y in (best, mean, np.ones(count))]
    whole = [np.rint(level * y / y.max()) for y in several for level in _LEVELS]
    # sums: their owner may be where that costs least
    chosen = collective.traits.results and collective.all_source and collective.demand is None
    sold = [int((rooms * y).sum()) for y in whole]
    paid = [(Fraction(int(ask(y)[0]), sold[i]), -i) for i, y in enumerate(whole) if sold[i]]
    most, at = max(paid)
    if chosen:
        most = Fraction(-1)
        for more, i in sorted(paid, reverse=True):
            if more < most:  # by the best owner no other costs more: it is one of all, which cost so much
                break
            owed = _by_best_owner(demands, network, whole[-i][taken].sum(axis=1) * gap)
            most, at = max((most, at), (Fraction(int(owed), sold[-i]), i))
    at = -at
    return Prices(whole[at].astype(np.int64), rooms, taken, gap, int(most * sold[at]), sold[at])


def _by_best_owner(demands: "list[_Demand | _Classes]", network: Network, price: Floats) -> float:
    """Return the cost of the cheapest trees of a sum of each rank, there and back, by way of the node by which it is least."""
    one, use = np.ones(1), np.zeros(len(price))
    owners = far_and_back(network, range(network.nodes))[0]
    alone = (
        [cast("_Demand", d)._replace(roots=owners[i : i + 1], times=one) for d in demands] for i in range(len(owners))
    )
    return network.rank_count * min(sum(demand.price(price, use) for demand in each) for each in alone)


def _shares(collective: Collective, network: Network) -> Ints:
    """Return which part of the price of its link each arc pays, in halves: with one root those that lead on pay all of it."""
    arcs, kind, every = arcs_of(network), collective.traits, np.arange(network.nodes)
    tail, head, onward = arcs.tail, arcs.head, np.zeros(len(arcs.tail), np.int64)
    if not (kind.all_source or kind.results or collective.demand is not None):
        back = kind.adds or kind.direction == "to"
        far = (network.reversed() if back else network).distance(collective.root, every).astype(np.int64)
        onward = np.sign(far[head] - far[tail]) * (-1 if back else 1)
    return np.where(network.port_between(head, tail) < 0, 2, 1 + onward)


def taken_by(model: Model, network: Network) -> tuple[Ints, Ints]:
    """Return the resources that a send over each arc takes for itself alone, int64 (arcs, width), and their room."""
    found = takes(model, network)
    alone: Ints = found.resource[:, (found.key < 0).all(axis=0)]
    used, taken = np.unique(alone, return_inverse=True)
    return taken.reshape(alone.shape), found.room[used]


def _turns(network: Network, demands: "list[_Demand | _Classes]") -> int:
    work = sum(8.0 * len(demand.roots) * network.nodes * network.arcs for demand in demands)
    return int(min(_TURNS, max(2, _WORK / work)))


def _demands(collective: Collective, network: Network) -> "list[_Demand | _Classes]":
    """Return which ways one message of every source needs: one sort, or two where finished sums go out again."""
    if collective.demand is not None:
        return [_Classes.over(collective.demand, network)]
    kind, arcs = collective.traits, arcs_of(network)
    roots: Ints = np.array(network.ranks if kind.all_source else [collective.root], np.int64)
    one_each = kind.blocks == "node" and collective.lengths is not None
    times = collective.sizes()[roots].astype(np.float64) if one_each else np.ones(len(roots))
    wanted = np.zeros(network.nodes, np.int8)
    wanted[np.array(collective.targets or network.ranks)] = 1
    if kind.personal:
        pairs = kind.blocks == "pair"
        need = (collective.demands()[roots] if pairs else collective.sizes()[None] * wanted).astype(np.float64)
        need[np.arange(len(roots)), roots] = 0
        return [_Demand(arcs, roots, times, wanted, kind.direction == "to", need)]
    sorts = [True] * kind.adds + [False] * (kind.results or not kind.adds)
    return [_Demand(arcs, roots, times, wanted, backwards, None) for backwards in sorts]


def _by_steps(job: Problem, found: Prices, needed: int, collective: Collective) -> int:
    """Return the least number of steps whose sends can cost as much as the cheapest trees of all messages."""
    backwards, arcs = collective.traits.adds or collective.direction == "to", arcs_of(job.network)
    network, tail = (job.network.reversed(), arcs.head) if backwards else (job.network, arcs.tail)
    far = network.distance(collective.root, np.arange(network.nodes))[tail]
    price, sending = found.of_arcs, senders(network, collective.root) if job.model.ports == "one" else ()
    sold = count = 0
    while sold < needed and count <= max(int(far.max()), len(sending)):
        # 1. All arcs that the data can have come to by then.
        near = (far >= 0) & (far <= count)
        most = int((found.prices * found.rooms)[np.unique(found.taken[near])].sum())
        # 2. Over one port also no more nodes than can have heard, the dearest of them.
        if count < len(sending):
            dearest = np.zeros(network.nodes, np.int64)
            np.maximum.at(dearest, tail[near], price[near])
            most = min(most, int(np.sort(dearest)[::-1][: sending[count]].sum()))
        sold, count = sold + most, count + 1
    return count - (-max(0, needed - sold) // found.room)
