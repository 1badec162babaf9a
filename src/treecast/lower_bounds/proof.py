"""Proofs of bounds by prices, checked in whole numbers by other algorithms than those that look for prices.

A proof is a price for a send over each arc. All data pays D for its cheapest ways at least, and the sends of a step cost W
at most, so M messages in x copies take ⌈M x D / W⌉ steps or more (``prices`` has the theorem). Here D follows from cuts that
are raised one after the other (Fulkerson 1974; past relays that is D or less), or from Dijkstra's paths, and W from the
dearest sends that fit in a step: all arcs, one of each link, or a matching. No floating point number takes part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

from treecast.collectives import Collective
from treecast.lower_bounds.bound import Bound
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.kept import kept

FLAT = "cheapest ways cost"
"""How the source of a bound begins whose prices are the same in all steps."""
_MOST_NODES, _MOST_WORK = 128, 5_000_000  # of a network; inner steps of a check
_Arc = tuple[int, int, int]  # tail, head, price
_KEPT = "_proof"


class Proof(NamedTuple):
    """No schedule of a job takes fewer than ``steps``: the price of a send over each arc, in the order of ``arc_lists``."""

    steps: int
    prices: tuple[int, ...]


def of_bounds(bounds: Iterable[Bound]) -> Proof | None:
    """Return the best proof that some bounds have by prices that are the same in all steps; None where none has any."""
    found = [bound for bound in bounds if bound.of == "steps" and bound.certificate and bound.source.startswith(FLAT)]
    best = max(found, key=lambda bound: bound.value, default=None)
    return best and Proof(best.value, best.certificate)


def proven(prices: Sequence[int], collective: Collective, network: Network, copies: int, model: Model) -> int | None:
    """Return how many steps a job takes at least by the prices of a send over each arc; None where they are not for it.

    They are for machines whose messages do not combine, for sums with owners, and for networks on which they can be checked
    in a moment.

    >>> from treecast.models import model
    >>> from treecast.networks import network
    >>> line = network("path:3")
    >>> proven([0, 1, 0, 0], Collective.over(line, "scatter", 5), line, 1, model("all-port"))
    5
    """
    return _proven(network, tuple(prices), collective, copies, model)


@kept(8)  # who writes a file asks, and the rule, and who shows the bound
def _proven(network: Network, prices: tuple[int, ...], collective: Collective, copies: int, model: Model) -> int | None:
    kind, arcs = collective.traits, arcs_of(network)
    roots = network.ranks.tolist() if kind.all_source else [collective.root]
    refused = model.combining or model.routing or not model.buffered or collective.shared
    work = len(roots) * network.nodes * network.arcs
    if (
        refused
        or network.nodes > _MOST_NODES
        or work > _MOST_WORK
        or len(prices) != network.arcs
        or any(price < 0 for price in prices)
    ):
        return None
    priced = list(zip(arcs.tail.tolist(), arcs.head.tolist(), map(int, prices), strict=True))
    paid = _paid(collective, network, priced, roots)
    sold = _sold(priced, network.cable(arcs.tail, arcs.port).tolist(), model)
    return None if paid is None or not sold else -(-collective.messages * copies * paid // sold)


def _paid(collective: Collective, network: Network, arcs: list[_Arc], roots: list[int]) -> int | None:
    """Return the cost of the cheapest ways of one message of every demand, or less; None where there are none."""
    kind, ranks = collective.traits, network.ranks.tolist()
    wanted, back = collective.targets or tuple(ranks), [(v, u, price) for u, v, price in arcs]
    if kind.personal:
        total, needs = 0, replace(collective, messages=1).demands().tolist()
        for root in roots:
            far = _far(root, back if kind.direction == "to" else arcs)
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


def _far(root: int, arcs: list[_Arc]) -> dict[int, int]:
    """Return the cost of the cheapest path to each node."""
    leaving = dict[int, list[tuple[int, int]]]()
    for u, v, price in arcs:
        leaving.setdefault(u, []).append((v, price))
    far, waiting = dict[int, int](), [(0, root)]
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
    left, total = [price for _, _, price in arcs], 0
    into = dict[int, list[int]]()
    for a, (_, v, _) in enumerate(arcs):
        into.setdefault(v, []).append(a)

    def behind(v: int) -> set[int]:
        found, open_ = {v}, [v]
        while open_:
            for a in into.get(open_.pop(), []):
                u = arcs[a][0]
                if not left[a] and u not in found:
                    found.add(u)
                    open_.append(u)
        return found

    for start in wanted:
        while root not in (some := behind(start)):
            alike = set[int]()
            while rest := [
                v for v in wanted if v in some and v not in alike
            ]:  # down to nodes that all reach one another
                fewer = behind(rest[0])
                alike = alike | {rest[0]} if len(fewer) == len(some) else set[int]()
                some = fewer
            entering = [a for v in some for a in into.get(v, []) if arcs[a][0] not in some]
            if not entering:
                return None
            low = min(left[a] for a in entering)
            total += low
            for a in entering:
                left[a] -= low
    return total


def _sold(arcs: list[_Arc], cables: list[int], model: Model) -> int:
    """Return the most that the sends of one step cost."""
    half = model.duplex == "half"
    if model.ports == "all":
        dearest = dict[tuple[int, ...], int]()
        for a, ((u, v, price), cable) in enumerate(zip(arcs, cables, strict=True)):
            key = (min(u, v), max(u, v), cable) if half else (a,)
            dearest[key] = max(dearest.get(key, 0), price)
        return sum(dearest.values())
    import networkx as nx  # heavy, and for one port alone

    dear = dict[tuple[int, int], int]()
    for u, v, price in arcs:
        ends = (min(u, v), max(u, v)) if half else (u, -1 - v)  # a node's way in is another end than its way out
        dear[ends] = max(dear.get(ends, 0), price)
    graph: nx.Graph[int] = nx.Graph()
    for (u, v), price in dear.items():
        if price:
            graph.add_edge(u, v, weight=price)
    return sum(dear[(u, v) if (u, v) in dear else (v, u)] for u, v in nx.max_weight_matching(graph))


def carried(schedule: object) -> Proof | None:
    """Return the proof that a schedule's file has; None where it has none."""
    return vars(schedule).get(_KEPT)


def carry(schedule: object, proof: Proof | None) -> None:
    """Have a schedule carry the proof of its file. It goes when the schedule is altered, as it is for that job alone."""
    if proof is not None:
        vars(schedule)[_KEPT] = proof
