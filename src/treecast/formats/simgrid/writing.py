"""A trace for each node, which SimGrid replays: step by step its receives, its sends, and a wait for both.

All that a node does in a step begins together and ends before the next. Were all messages posted at once, they would share the
links and take several times as long.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from treecast.errors import FormatError
from treecast.formats.operations.reading import comments_of, comments_of_job
from treecast.formats.registry import BYTES, LATENCY, RATE, Setting, exporter, link_costs, read_number
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, next_hops
from treecast.networks.past_relays import PastRelays, straight_of, whole_of
from treecast.programs.messages import Messages, chunk_places, messages_of, parcels
from treecast.ragged import Ints, starts
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, rate_of
from treecast.schedule.sizes import blocks_of

_LEAST = 65_472  # bytes of a chunk: SimGrid sends shorter ones in another regime
_TAGS = 30_000
_MOST_NODES = 512
_FIRST = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="net" routing="Full">
"""
_LAST = "</zone>\n</platform>\n"

_SPEED = Setting(
    name="additions",
    summary="How many numbers of 8 bytes a node adds in a second, as in 1e9; by default adding takes no time.",
    read=read_number,
)


def _advise(schedule: Schedule, size: int | None = None, **others: Any) -> str:
    """Return a sentence on chunks that are too short, or an empty text."""
    begins, collective = chunk_places(schedule, size), schedule.collective
    lengths = np.diff(begins)
    shortest = int(lengths[lengths > 0].min(initial=_LEAST))  # chunks of relays have none
    if shortest >= _LEAST:
        return ""
    total, blocks = int(begins[collective.sums or -1]), blocks_of(collective)
    return (
        f"chunks have {shortest:,} bytes; below {_LEAST:,} SimGrid takes another regime: "
        + (f"plan with --messages {total // blocks // _LEAST} or " if total >= blocks * _LEAST else "")
        + f"give --bytes {blocks * collective.messages * _LEAST} or more"
    )


@exporter(
    "simgrid",
    suffix=".simgrid",
    summary="a folder of traces and the network, to replay with SimGrid",
    settings=(BYTES, RATE, LATENCY, _SPEED),
    advise=_advise,
)
def encode(
    schedule: Schedule,
    *,
    size: int | None = None,
    rate: float | None = None,
    latency: float | None = None,
    additions: float | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Return the files of a folder for SimGrid: ``platform.xml``, ``hosts``, ``list.txt`` and a trace for each node."""
    nodes = schedule.network.nodes
    costs = link_costs(schedule, latency, rate)
    where = network_file(schedule.network, schedule.model, costs=costs, speed=additions or 1e9)
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    numbers = messages.numbers(begins) if additions else np.zeros(len(messages), np.int64)
    job = "".join(f"# {line}\n" for line in comments_of_job(messages, begins))
    traces = _traces(messages, messages.sizes(begins), numbers)

    def files() -> Iterator[tuple[str, bytes]]:
        yield "platform.xml", where
        yield "hosts", "".join(f"h{u}\n" for u in range(nodes)).encode()
        yield "list.txt", "".join(f"rank{u}.txt\n" for u in range(nodes)).encode()
        for node, lines in traces:
            yield f"rank{node}.txt", f"{node} init\n{'' if node else job}{lines}{node} finalize\n".encode()

    return files()


def _traces(messages: Messages, sizes: Ints, numbers: Ints) -> Iterator[tuple[int, str]]:
    """Yield the trace of each node without its first and last line, one at a time: all of them together may be gigabytes.

    ``sizes`` are the bytes of each message, ``numbers`` the numbers that are added with it.
    """
    one = parcels(messages)
    together = [np.bincount(one, each).astype(np.int64) for each in (sizes, numbers)] if len(one) else [sizes, numbers]
    for node, some in messages.at_each_node():
        yield node, "".join(_lines(messages, node, some, one[some], together))


def _lines(messages: Messages, node: int, some: Ints, one: Ints, together: list[Ints]) -> Iterator[str]:
    """Yield the lines of a node, step by step: its receives, its sends, a wait for both, and its additions.

    ``one`` says which messages go together, and ``together`` the bytes and additions of those.
    """
    sends = messages.src[some] == node
    said = iter(comments_of(messages, some[sends]))
    columns = (messages.step[some], sends, messages.src[some], messages.dst[some], one)
    every = list(zip(*(column.tolist() for column in columns), strict=True))
    for step, moves in groupby(every, key=lambda move: move[0]):
        awaited, sent, comments, added = dict[int, str](), dict[int, str](), dict[int, list[str]](), 0
        for _, out, src, dst, parcel in moves:
            size, tag = int(together[0][parcel]), step % _TAGS
            if out:
                comments.setdefault(parcel, []).append(f"# {next(said)}\n")
                sent[parcel] = f"{node} isend {dst} {tag} {size}\n"
            elif parcel not in awaited:
                awaited[parcel] = f"{node} irecv {src} {tag} {size}\n"
                added += int(together[1][parcel])
        yield from awaited.values()
        yield from ("".join(comments[parcel]) + line for parcel, line in sent.items())
        yield f"{node} waitall\n"
        if added:
            yield f"{node} compute {added}\n"


# -- the network: a host for each node, a link for each arc, a route for each pair, so that MPI's own algorithms run there -


def network_file(network: Network, model: Model, *, costs: Costs, speed: float) -> bytes:
    """Return a network as a file for SimGrid, whose nodes do ``speed`` operations in a second.

    With half-duplex links both ways share one link. Where ports are counted, all sends of a node go over a link of its own of so
    many times the rate, and all its receives over another. ``costs`` are those of arcs; parallel arcs are one link of so many
    times the rate. Raises FormatError when the network has too many nodes for routes between all of them, or when arcs that
    share a link have different costs.
    """
    if network.nodes > _MOST_NODES:
        raise FormatError(
            f"{network.spec} has {network.nodes:,} nodes: SimGrid's routes between all of them are written for {_MOST_NODES} "
            "at most"
        )
    whole, cost = whole_of(network), costs.default
    if whole is not network and costs.arcs:
        raise FormatError("the costs of routes past relays are those of no link: leave --costs out")
    arcs = arcs_of(whole)
    pairs, width = np.unique(np.stack([arcs.tail, arcs.head]), axis=1, return_counts=True)
    lines = [f'<host id="h{u}" speed="{speed:.0f}f"/>' for u in range(network.nodes)]
    links: dict[str, tuple[float, float]] = {}
    for u, v, count in zip(*pairs.tolist(), width.tolist(), strict=True):
        name, of = _link(u, v, model), costs.arcs.get((u, v), cost)
        said = rate_of(of) * count, of.startup
        if links.setdefault(name, said) != said:
            raise FormatError(
                f"the arcs between {network.label(u)} and {network.label(v)} share a link, and differ in cost"
            )
    if model.room:
        if {each.per_byte for each in costs.arcs.values()} > {cost.per_byte}:
            raise FormatError(
                "a port of SimGrid has one rate, and the arcs of a node have several: plan under all-port"
            )
        links |= {f"{way}{u}": (rate_of(cost) * model.room, 0) for u in range(network.nodes) for way in ("up", "down")}
    begun = {_link(u, v, model) for u, v in pairs.T.tolist() if whole is network or whole.label(u) in network}
    for name, (carries, delay) in links.items():
        delay = delay if name in begun else 0  # a send that goes past relays starts once
        lines.append(f'<link id="{name}" bandwidth="{carries:.0f}Bps" latency="{delay:g}s"/>')
    return (_FIRST + "".join(f"{line}\n" for line in [*lines, *_routes(network, model)]) + _LAST).encode()


def _link(u: int, v: int, model: Model) -> str:
    """Return the name of the link that the arc from u to v is."""
    return f"l{min(u, v)}_{max(u, v)}" if model.duplex == "half" else f"l{u}_{v}"


def _routes(network: Network, model: Model) -> Iterator[str]:
    """Yield the route of every ordered pair of nodes, but where no way leads."""
    ways = _routes_of_model(network, model) if model.routing else _shortest_routes(network)
    if (straight := straight_of(network)) is not None:
        ways = _routes_past_relays(straight)
    ends = ('<link_ctn id="up{}"/>', '<link_ctn id="down{}"/>') if model.room else ("", "")
    for u, v, arcs in ways:
        links = "".join(f'<link_ctn id="{_link(a, b, model)}"/>' for a, b in arcs)
        links = ends[0].format(u) + links + ends[1].format(v)
        yield f'<route src="h{u}" dst="h{v}" symmetrical="NO">{links}</route>'


def _routes_past_relays(network: PastRelays) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield (u, v, arcs of the whole network): the first of the routes of each pair."""
    first = arcs_of(network, single=True)
    for u, v, port in zip(first.tail.tolist(), first.head.tolist(), first.port.tolist(), strict=True):
        yield u, v, [(a, int(network.whole.neighbor(a, by))) for a, by in network.route(u, port)]


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
