"""The network as SimGrid reads it: a host for each node, a link for each arc, and a route for every ordered pair.

MPI's own algorithms send between any two nodes, so that they run on the same network beside the schedule.
"""

from collections.abc import Iterator

import numpy as np

from treecast.errors import FormatError
from treecast.models import Cost, Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, next_hops
from treecast.ragged import starts
from treecast.schedule.costs import rate_of

_MOST_NODES = 512
_FIRST = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="net" routing="Full">
"""
_LAST = "</zone>\n</platform>\n"


def network_file(network: Network, model: Model, *, cost: Cost, speed: float) -> bytes:
    """Return a network as a file for SimGrid, whose nodes do ``speed`` operations in a second.

    With half-duplex links both ways share one link. With one port all sends of a node go over one link of its own, and all its
    receives over another. ``cost`` is that of each arc; parallel arcs are one link of so many times the rate. Raises FormatError
    when the network has too many nodes for routes between all of them.
    """
    if network.nodes > _MOST_NODES:
        raise FormatError(
            f"{network.spec} has {network.nodes:,} nodes: SimGrid's routes between all of them are written for {_MOST_NODES} "
            "at most"
        )
    arcs, rate = arcs_of(network), rate_of(cost)
    pairs, width = np.unique(np.stack([arcs.tail, arcs.head]), axis=1, return_counts=True)
    lines = [f'<host id="h{u}" speed="{speed:.0f}f"/>' for u in range(network.nodes)]
    links: dict[str, float] = {}
    for u, v, count in zip(*pairs.tolist(), width.tolist(), strict=True):
        links[_link(u, v, model)] = rate * count
    if model.ports == "one":
        links |= {f"{way}{u}": rate for u in range(network.nodes) for way in ("up", "down")}
    for name, carries in links.items():
        delay = 0 if name[0] in "ud" else cost.startup
        lines.append(f'<link id="{name}" bandwidth="{carries:.0f}Bps" latency="{delay:g}s"/>')
    return (_FIRST + "".join(f"{line}\n" for line in [*lines, *_routes(network, model)]) + _LAST).encode()


def _link(u: int, v: int, model: Model) -> str:
    """Return the name of the link that the arc from u to v is."""
    return f"l{min(u, v)}_{max(u, v)}" if model.duplex == "half" else f"l{u}_{v}"


def _routes(network: Network, model: Model) -> Iterator[str]:
    """Yield the route of every ordered pair of nodes, but where no way leads."""
    ways = _routes_of_model(network, model) if model.routing else _shortest_routes(network)
    ends = ('<link_ctn id="up{}"/>', '<link_ctn id="down{}"/>') if model.ports == "one" else ("", "")
    for u, v, arcs in ways:
        links = "".join(f'<link_ctn id="{_link(a, b, model)}"/>' for a, b in arcs)
        links = ends[0].format(u) + links + ends[1].format(v)
        yield f'<route src="h{u}" dst="h{v}" symmetrical="NO">{links}</route>'


def _shortest_routes(network: Network) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield (u, v, arcs of the route): a shortest one, and of those the one whose first ports are least."""
    distance, following = next_hops(network)
    after = following.tolist()
    for u in range(network.nodes):
        for v in np.flatnonzero(distance[u] >= 0).tolist():
            arcs, here = list[tuple[int, int]](), u
            while here != v:
                arcs.append((here, after[here][v]))
                here = after[here][v]
            if arcs:
                yield u, v, arcs


def _routes_of_model(network: Network, model: Model) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield (u, v, arcs of the route) as wormhole switching takes them, in no order that means anything."""
    every = np.arange(network.nodes)
    u, v = np.repeat(every, network.nodes), np.tile(every, network.nodes)
    u, v = u[u != v], v[u != v]
    route, number = network.channels(u, v, model.routing)
    order = np.argsort(route, kind="stable")
    node, port = np.divmod(number[order], network.ports)
    arcs = list(zip(node.tolist(), network.neighbor(node, port).tolist(), strict=True))
    begin = starts(np.bincount(route, minlength=len(u))).tolist()
    for i, (a, b) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        yield a, b, arcs[begin[i] : begin[i + 1]]
