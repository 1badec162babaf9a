"""Proofs of bounds by prices, checked in whole numbers by other algorithms than those that look for prices.

A proof is a price for a send over each arc. All data pays D for its cheapest trees or paths at least, and the sends of a step
cost W at most, so M messages in x copies take ⌈M x D / W⌉ steps or more (``prices`` has the theorem). Here D follows from cuts
that are raised one after the other (Fulkerson 1974; past relays that is D or less), or from Dijkstra's paths, and W from the
dearest sends that fit in a step: all arcs, one of each link, a matching, or a flow. Where all data is at one root, the first
steps sell less: only the arcs that it can have reached. Or a proof is a price for a send over each arc in each of T steps: if the
cheapest sends in time cost more than T steps sell, T are too few (``windows`` has the theorem). No floating point number takes
part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

from treecast.collectives import Collective, Demand
from treecast.lower_bounds.bound import Bound
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.kept import kept

_MOST_NODES, _MOST_WORK = 128, 5_000_000  # of a network; inner steps of a check
_Arc = tuple[int, int, int]  # tail, head, price
_KEPT = "_proof"


class Proof(NamedTuple):
    """No schedule of a job takes fewer than ``steps``: the price of a send over each arc, in the order of ``arc_lists``.

    Or the prices of all arcs in step 0, then those in step 1, and so on, up to one step less than ``steps``.
    """

    steps: int
    prices: tuple[int, ...]


def of_bounds(
    bounds: Iterable[Bound], collective: Collective, network: Network, copies: int, model: Model
) -> Proof | None:
    """Return the best proof that some bounds have, of as many steps as it is found to prove here; None where none has any."""
    known = [bound for bound in bounds if bound.of == "steps" and bound.certificate]
    found = [
        Proof(min(bound.value, steps), bound.certificate)
        for bound in known
        if (steps := proven(bound.certificate, collective, network, copies, model)) is not None
    ]
    # the most steps, by the fewest prices
    return max(found, key=lambda proof: (proof.steps, -len(proof.prices)), default=None)


def proven(prices: Sequence[int], collective: Collective, network: Network, copies: int, model: Model) -> int | None:
    """Return how many steps a job takes at least by the prices of a send over each arc; None where they are not for it.

    They are for machines whose messages do not combine, for sums with owners, and for networks on which they can be checked
    in a moment. Prices of single steps are for data that goes to all.

    >>> from treecast.models import model
    >>> from treecast.networks import network
    >>> line = network("path:3")
    >>> proven([0, 1, 0, 0], Collective.over(line, "scatter", 5), line, 1, model("all-port"))
    6
    """
    steps = _proven(network, tuple(prices), collective, copies, model)
    return None if steps is None else steps + (model.latency - 1) * bool(steps)  # the last send has to arrive


@kept(8)  # who writes a file asks, and the rule, and who shows the bound
def _proven(network: Network, prices: tuple[int, ...], collective: Collective, copies: int, model: Model) -> int | None:
    # 1. What is too large to check, or never proved so.
    kind, arcs = collective.traits, arcs_of(network)
    roots = network.ranks.tolist() if kind.all_source else [collective.root]
    refused = model.combining or model.routing or model.arcs or collective.shared
    ends_of = (
        roots if collective.demand is None else [*collective.demand.want.tolist(), *collective.demand.holder.tolist()]
    )
    work = len(ends_of) * network.nodes * network.arcs
    if (
        # the theorem is not for these
        refused
        or network.nodes > _MOST_NODES
        or work > _MOST_WORK
        or not prices
        or len(prices) % network.arcs
        or any(price < 0 for price in prices)
    ):
        return None
    # 2. Prices as a table of arcs, for each step if there are so many.
    ends = list(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    every = [
        [(*both, int(price)) for both, price in zip(ends, prices[at : at + network.arcs], strict=True)]
        for at in range(0, len(prices), network.arcs)
    ]
    cables: list[int] = network.cable(arcs.tail, arcs.port).tolist()
    # 3. What all data pays, and how many steps can be sold for that.
    if collective.demand is not None:
        paid, copies = _paid_by_classes(collective.demand.times(copies), every), 1  # each copy pays
    # prices for each step: sends in time
    elif len(every) > 1:
        paid = _paid_in_time(collective, network, every, roots)
    else:
        paid = _paid(collective, network, every[0], roots)
    if paid is None:
        return None
    if len(every) == 1:
        return _until_sold(collective.messages * copies * paid, collective, every[0], cables, model)
    sold = sum(_sold(priced, cables, model) for priced in every)
    # all that the steps sell is less than what the data pays
    return len(every) + 1 if collective.messages * paid > sold else None


def _until_sold(needed: int, collective: Collective, arcs: list[_Arc], cables: list[int], model: Model) -> int | None:
    """Return how many steps it takes to sell so much; None where nothing is sold.

    Where all data begins at the root, or ends there, only nodes at most t arcs away can send it in step t, over one port at most
    2^t of them.
    """
    kind, count, last = collective.traits, 0, 0
    if not (most := _sold(arcs, cables, model)):
        return None
    ways, far = arcs, dict[int, int]()
    if not kind.all_source and not kind.results:
        # data to the root comes backwards from it
        ways = _turned(arcs) if kind.adds or kind.direction == "to" else arcs
        far = _hops({collective.root}, ways)
        last = max(far.values())
    while needed > 0 and count < last:
        # arcs that the data cannot have reached sell nothing yet
        near, dearest = [(u, v, price if far.get(u, last) <= count else 0) for u, v, price in ways], dict[int, int]()
        for u, _, price in near:
            dearest[u] = max(dearest.get(u, 0), price)
        # over one port the number of those who have it doubles at most
        few = sum(sorted(dearest.values(), reverse=True)[: 2**count]) if model.ports == "one" else most
        needed, count = needed - min(few, _sold(near, cables, model)), count + 1
    # from then on each step sells the most
    return count - (-max(0, needed) // most)


def _paid_in_time(collective: Collective, network: Network, steps: list[list[_Arc]], roots: list[int]) -> int | None:
    """Return the cost of the cheapest sends in time of one message of every source, in so many steps; None if it has none.

    It pays once for each node that wants it, or without which some that want it are not reached: for an arc into that node, in a
    step late enough for it to have come there, and early enough for it to go on.
    """
    kind = collective.traits
    if kind.personal:
        return None
    wanted = collective.targets or tuple(network.ranks.tolist())
    back = [_turned(arcs) for arcs in reversed(steps)]  # sums are broadcasts backwards
    # a sum and its results are two errands
    sorts = [(back, steps)] * kind.adds + [(steps, back)] * (kind.results or not kind.adds)

    def paid(root: int) -> int | None:
        total = 0
        for ways, others in sorts:
            # results wait until the farthest contribution is there
            wait = _farthest(root, others[0], wanted) if kind.adds and kind.results else 0
            cost = None if wait is None else _errands({root}, ways, wanted, wait)
            if cost is None:
                return None
            total += cost
        return total

    if kind.results and kind.all_source:
        # whoever owns a sum: the cheapest owner
        costs = [cost for owner in range(network.nodes) if (cost := paid(owner)) is not None]
        return network.rank_count * min(costs) if len(costs) == network.nodes else None
    sizes: list[int] = collective.sizes().tolist() if collective.lengths is not None else [1] * network.nodes
    costs = [sizes[root] * cost for root in roots if (cost := paid(root)) is not None]
    return sum(costs) if len(costs) == len(roots) else None


def _farthest(root: int, arcs: list[_Arc], ends: Iterable[int]) -> int | None:
    """Return how many arcs the farthest of some nodes is away; None where one is not reached."""
    far = _hops({root}, arcs)
    return max((far[v] for v in ends), default=0) if all(v in far for v in ends) else None


def _errands(roots: set[int], steps: list[list[_Arc]], wanted: Sequence[int], wait: int = 0) -> int | None:
    """Return the cost of the cheapest sends in time from some roots that may begin after ``wait`` steps."""
    arcs, total = steps[0], 0
    far = _hops(roots, arcs)
    for v in far:
        # who is reached without v
        near = _hops(roots - {v}, [arc for arc in arcs if v not in arc[:2]])
        behind = [z for z in wanted if z not in near]
        if v in roots or not behind:
            continue
        rest = _farthest(v, arcs, behind)
        entering = [a for a, (u, head, _) in enumerate(arcs) if head == v and u in near]
        if rest is None:  # some node is not reached at all
            return None
        # not before the tail can have it, and not later than lets the farthest behind v hear
        costs = [steps[t][a][2] for a in entering for t in range(far[arcs[a][0]] + wait, len(steps) - rest)]
        if not costs:
            return None
        total += min(costs)
    return total


def _paid(collective: Collective, network: Network, arcs: list[_Arc], roots: list[int]) -> int | None:
    """Return the cost of the cheapest trees or paths of one message of every demand, or less; None where there are none."""
    kind, ranks = collective.traits, network.ranks.tolist()
    wanted, back = collective.targets or tuple(ranks), _turned(arcs)
    if kind.personal:
        total, needs = 0, replace(collective, messages=1).demands().tolist()
        for root in roots:
            far = _far({root}, back if kind.direction == "to" else arcs)
            for v in ranks:
                u, w = (v, root) if kind.direction == "to" else (root, v)
                if need := needs[u][w]:
                    if v not in far:
                        return None
                    total += need * far[v]
        return total
    sorts = [back] * kind.adds + [arcs] * (kind.results or not kind.adds)
    if kind.results and kind.all_source:  # each sum has its owner where that costs least
        both = [[_cuts(owner, some, wanted) for some in sorts] for owner in range(network.nodes)]
        found = [sum(one) for one in ([p for p in each if p is not None] for each in both) if len(one) == len(sorts)]
        return len(ranks) * min(found) if found else None
    times: list[int] = collective.sizes().tolist() if collective.lengths is not None else [1] * network.nodes
    total = 0
    for root in roots:
        for some in sorts:
            cost = _cuts(root, some, wanted)
            if cost is None:
                return None
            total += times[root] * cost
    return total


def _paid_by_classes(demand: Demand, steps: list[list[_Arc]]) -> int | None:
    """Return what all chunks of a demand pay for ways from holders to wanters, or less; None where there are none.

    A sum for several goes into each of them, and out of each that gives: the dearest of these counts. With prices of several
    steps they pay for sends in time.
    """
    total, arcs, back = 0, steps, [_turned(each) for each in reversed(steps)]
    for size, parts, wants in demand.merged().numbered():
        if len(parts) == 1:  # a copy: one class of holders
            ways = [(arcs, set(parts[0]), list(wants))]
        else:
            givers = [part[0] for part in parts]
            ways = [(back, {want}, [v for v in givers if v != want]) for want in wants]
            ways += [(arcs, {v}, [w for w in wants if w != v]) for v in givers if len(wants) > 1]
        paid = [
            _in_turns(roots, ends, over[0]) if len(over) == 1 else _errands(roots, over, ends)
            for over, roots, ends in ways
        ]
        known = [each for each in paid if each is not None]
        if len(known) < len(paid):
            return None
        # each way is a bound: the dearest counts
        total += size * max(known)
    return total


def _in_turns(roots: set[int], ends: list[int], arcs: list[_Arc]) -> int | None:
    """Return the price of ways from roots to some ends, or less: sets of nodes that reach an end are raised in turn."""
    left, total, waiting = _Left(arcs), 0, [(1, end) for end in ends]
    while waiting:
        again = list[tuple[int, int]]()
        for _, end in sorted(waiting):
            if (some := left.behind(end)) & roots:  # paid already
                continue
            paid = left.enter(some)
            if paid is None:
                return None
            total += paid
            again.append((len(some), end))
        waiting = again
    return total


class _Left:
    """What is left of the prices of arcs, while sets of nodes are paid for."""

    def __init__(self, arcs: list[_Arc]) -> None:
        self._arcs, self._left, self._into = arcs, [price for _, _, price in arcs], dict[int, list[int]]()
        for a, (_, v, _) in enumerate(arcs):
            self._into.setdefault(v, []).append(a)

    def behind(self, node: int) -> set[int]:
        """Return the nodes that reach one free of charge."""
        found, open_ = {node}, [node]
        while open_:
            for a in self._into.get(open_.pop(), []):
                u = self._arcs[a][0]
                if not self._left[a] and u not in found:
                    found.add(u)
                    open_.append(u)
        return found

    def enter(self, some: set[int]) -> int | None:
        """Pay the cheapest arc into a set of nodes, and make all arcs into it so much cheaper; None where none leads there."""
        entering = [a for v in some for a in self._into.get(v, []) if self._arcs[a][0] not in some]
        low = min((self._left[a] for a in entering), default=None)
        for a in entering:
            self._left[a] -= low or 0  # so that nothing is paid for twice
        return low


def _turned(arcs: list[_Arc]) -> list[_Arc]:
    """Return the arcs back, at the same prices."""
    return [(v, u, price) for u, v, price in arcs]


def _hops(roots: set[int], arcs: list[_Arc]) -> dict[int, int]:
    """Return how many arcs lead from some roots to each node at least."""
    return _far(roots, [(u, v, 1) for u, v, _ in arcs])


def _far(roots: set[int], arcs: list[_Arc]) -> dict[int, int]:
    """Return the cost of the cheapest path from some roots to each node."""
    leaving = dict[int, list[tuple[int, int]]]()
    for u, v, price in arcs:
        leaving.setdefault(u, []).append((v, price))
    far, waiting = dict[int, int](), [(0, root) for root in roots]
    while waiting:
        paid, u = heappop(waiting)
        if u not in far:
            far[u] = paid
            for v, price in leaving.get(u, []):
                heappush(waiting, (paid + price, v))
    return far


def _cuts(root: int, arcs: list[_Arc], wanted: Sequence[int]) -> int | None:
    """Return the least cost of a tree from a root to all wanted nodes, by cuts that each tree crosses; None: not all reached.

    Nodes that reach a wanted one free of charge, but not from the root, pay for the cheapest arc into all of them.
    """
    left, total = _Left(arcs), 0
    for start in wanted:
        while root not in (some := left.behind(start)):
            alike = set[int]()
            while rest := [
                v for v in wanted if v in some and v not in alike
            ]:  # down to nodes that all reach one another
                fewer = left.behind(rest[0])
                alike = alike | {rest[0]} if len(fewer) == len(some) else set[int]()
                some = fewer
            paid = left.enter(some)
            if paid is None:
                return None
            total += paid
    return total


def _sold(arcs: list[_Arc], cables: list[int], model: Model) -> int:
    """Return the most that the sends of one step cost."""
    half = model.duplex == "half"
    if model.room > 1:
        return _flowing(arcs, cables, model.room, half=half)
    if model.ports == "all":
        dearest = dict[tuple[int, ...], int]()
        for a, ((u, v, price), cable) in enumerate(zip(arcs, cables, strict=True)):
            key = (min(u, v), max(u, v), cable) if half else (a,)
            dearest[key] = max(dearest.get(key, 0), price)
        return sum(dearest.values())
    import networkx as nx  # heavy, and for one port alone

    dear, ways = dict[tuple[int, int], int](), dict[tuple[int, int], int]()
    for u, v, price in arcs:
        ways[u, v] = max(ways.get((u, v), 0), price)
    for (u, v), price in ways.items():
        # a node's way in is another end than its way out, but partners send both ways
        ends = (min(u, v), max(u, v)) if half or model.partner == "same" else (u, -1 - v)
        dear[ends] = max(dear.get(ends, 0), price) if half else dear.get(ends, 0) + price
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((u, v, price) for (u, v), price in dear.items() if price)
    return sum(dear[(u, v) if (u, v) in dear else (v, u)] for u, v in nx.max_weight_matching(graph))


def _flowing(arcs: list[_Arc], cables: list[int], ports: int, *, half: bool) -> int:
    """Return the dearest flow from nodes' ways out to nodes' ways in; with half duplex half of it, where links go both ways."""
    import networkx as nx  # heavy, and for several ports alone

    dearest = dict[tuple[int, int, int], int]()
    for (u, v, price), cable in zip(arcs, cables, strict=True):
        for key in ((u, v, cable), (v, u, cable)) if half else ((u, v, cable),):
            dearest[key] = max(dearest.get(key, 0), price)
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()  # from 0 to ways out, which are odd, to ways in, and back to 0
    for (u, v, _), price in dearest.items():
        graph.add_edge(2 * u + 1, 2 * v + 2, capacity=1, weight=-price)
    for node in list(graph.nodes):
        graph.add_edge(*((0, node) if node % 2 else (node, 0)), capacity=ports, weight=0)
    return -int(nx.network_simplex(graph)[0]) // (2 if half else 1)


def carried(schedule: object) -> Proof | None:
    """Return the proof that a schedule's file has; None where it has none."""
    return vars(schedule).get(_KEPT)


def carry(schedule: object, proof: Proof | None) -> None:
    """Have a schedule carry the proof of its file. It goes when the schedule is altered, as it is for that job alone."""
    if proof is not None:
        vars(schedule)[_KEPT] = proof
