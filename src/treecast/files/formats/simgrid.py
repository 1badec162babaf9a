"""SimGrid: a trace for each node, which it replays, and the network to replay them on; traces are also read, whoever wrote them.

A trace has step by step the receives of its node, its sends, and a wait for both. All that a node does in a step begins together
and ends before the next. Were all messages posted at once, they would share the links and take several times as long. Every line
names its rank, so that a folder of traces is judged as the one file that its traces are together.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from treecast.errors import FormatError, shorten
from treecast.files.formats.header import one_line, text_of
from treecast.files.formats.judging import judge_lists
from treecast.files.formats.operations import (
    LONGEST,
    MOST_RANKS,
    Listed,
    Reading,
    comments_of,
    comments_of_job,
    read_number,
)
from treecast.files.formats.registry import BYTES, LATENCY, RATE, Setting, begins_like, exporter, link_costs
from treecast.files.formats.registry import read_number as read_positive
from treecast.files.programs.messages import Messages, chunk_places, messages_of, parcels
from treecast.files.programs.program import RECEIVE, SEND
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, next_hops
from treecast.networks.past_relays import PastRelays, straight_of, whole_of
from treecast.ragged import Ints, starts
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, rate_of
from treecast.schedule.sizes import blocks_of

_Way = tuple[int, int, list[tuple[int, int]]]
"""Two nodes, and the arcs of a way from one to the other."""
_LEAST = 65_472  # bytes of a chunk: SimGrid sends shorter ones in another regime
_TAGS = 30_000  # of messages; then they begin again
_MOST_NODES = 512
_FIRST = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="net" routing="Full">
"""
_LAST = "</zone>\n</platform>\n"

_BEGIN = re.compile(rb"\s*(?:#[^\n]*\n\s*)*\d+[ \t]+init\s")
_NUMBERS = dict.fromkeys(("send", "isend", "recv", "irecv"), (3, 4)) | {
    "wait": (3, 3),
    "init": (0, 1),
    "finalize": (0, 0),
    "waitall": (0, 1),
    "compute": (1, 1),
    "sleep": (1, 1),
}
_COLLECTIVE = re.compile(r"bcast|(all)?reduce|reducescatter|barrier|(ex)?scan|(all)?gatherv?|scatterv?|alltoallv?")

_SPEED = Setting(
    name="additions",
    summary="How many numbers of 8 bytes a node adds in a second, as in 1e9; by default adding takes no time.",
    read=read_positive,
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

    Step by step come its receives, its sends, a wait for both, and its additions. ``sizes`` are the bytes of each message,
    ``numbers`` the numbers that are added with it.
    """
    one = parcels(messages)  # messages that go together are one send
    size, added = (np.bincount(one, each).astype(np.int64).tolist() for each in (sizes, numbers))
    for node, some in messages.at_each_node():
        sends, lines = messages.src[some] == node, list[str]()
        said = iter(comments_of(messages, some[sends]))
        columns = (messages.step[some], sends, messages.src[some], messages.dst[some], one[some])
        every = zip(*(column.tolist() for column in columns), strict=True)
        for step, moves in groupby(every, key=lambda move: move[0]):
            awaited, sent, tag, work = dict[int, str](), dict[int, list[str]](), step % _TAGS, 0
            for _, out, src, dst, parcel in moves:
                if out:
                    # what a send carries stands before it
                    sent.setdefault(parcel, [f"{node} isend {dst} {tag} {size[parcel]}\n"]).insert(
                        -1, f"# {next(said)}\n"
                    )
                elif parcel not in awaited:
                    awaited[parcel] = f"{node} irecv {src} {tag} {size[parcel]}\n"
                    work += added[parcel]
            lines += [*awaited.values(), *(line for several in sent.values() for line in several), f"{node} waitall\n"]
            lines += [f"{node} compute {work}\n"] if work else []
        yield node, "".join(lines)


# -- the network: a host for each node, a link for each arc, a route for each pair, so that MPI's own algorithms run there -


def network_file(network: Network, model: Model, *, costs: Costs, speed: float) -> bytes:
    """Return a network as a file for SimGrid, whose nodes do ``speed`` operations in a second.

    With half-duplex links both ways share one link. Where ports are counted, all sends of a node go over a link of its own of so
    many times the rate of its fastest arc, and all its receives over another. ``costs`` are those of arcs; parallel arcs are one
    link of so many times the rate. Raises FormatError when the network has too many nodes for routes between all of them, or
    when arcs that share a link have different costs.
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
    # parallel arcs are one link, as wide as they all
    pairs, width = np.unique(np.stack([arcs.tail, arcs.head]), axis=1, return_counts=True)
    lines = [f'<host id="h{u}" speed="{speed:.0f}f"/>' for u in range(network.nodes)]
    links, ports = dict[str, tuple[float, float]](), dict[str, float]()
    for u, v, count in zip(*pairs.tolist(), width.tolist(), strict=True):
        name, of = _link(u, v, model), costs.arcs.get((u, v), cost)
        said = rate_of(of) * count, of.startup
        # both ways of half duplex have one name
        if links.setdefault(name, said) != said:
            raise FormatError(
                f"the arcs between {network.label(u)} and {network.label(v)} share a link, and differ in cost"
            )
        for port in (f"up{u}", f"down{v}"):  # as fast as its fastest arc: a send over another is as slow as that
            ports[port] = max(ports.get(port, 0.0), rate_of(of))
    if model.room:
        every = (f"{way}{u}" for u in range(network.nodes) for way in ("up", "down"))
        links |= {port: (ports.get(port, rate_of(cost)) * model.room, 0) for port in every}
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


def _routes_past_relays(network: PastRelays) -> Iterator[_Way]:
    """Yield the first of the routes of each pair, in arcs of the whole network."""
    first = arcs_of(network, single=True)
    for u, v, port in zip(first.tail.tolist(), first.head.tolist(), first.port.tolist(), strict=True):
        yield u, v, [(a, int(network.whole.neighbor(a, by))) for a, by in network.route(u, port)]


def _shortest_routes(network: Network) -> Iterator[_Way]:
    """Yield a shortest route of each pair, and of those the one whose first ports are least."""
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


def _routes_of_model(network: Network, model: Model) -> Iterator[_Way]:
    """Yield the route of each pair as wormhole switching takes them, in no order that means anything."""
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


# -- read ---------------------------------------------------------------------------------------------------------------


@dataclass
class _Trace:
    """The state of the trace of a rank.

    ``barrier``: the operation that must have ended before any other begins, or -1. ``open``: those that nothing has awaited yet,
    by source, destination and tag.
    """

    reading: Reading
    rank: int
    barrier: int = -1
    open: dict[tuple[int, int, int], list[int]] = field(default_factory=dict[tuple[int, int, int], list[int]])
    ended: bool = False

    def block(self, awaited: list[int], line: int) -> None:
        """Let all that follows wait until these operations have ended, and all that were awaited before."""
        one = self.reading.add((self.rank, 0, 0, 0, 0), line)
        for other in [*awaited, *([self.barrier] if self.barrier >= 0 else [])]:
            self.reading.wait(one, other)
        self.barrier = one

    def begin(self, word: str, numbers: tuple[int, ...], line: int) -> None:
        """Begin a send or receive of this peer, tag and size, and await its end where the word says so."""
        peer, tag, size = numbers
        code = SEND if word.endswith("send") else RECEIVE
        one = self.reading.add((self.rank, code, peer, tag, size), line)
        if self.barrier >= 0:
            self.reading.wait(one, self.barrier)
        if word.startswith("i"):
            ends = (self.rank, peer) if code == SEND else (peer, self.rank)
            self.open.setdefault((*ends, tag), []).append(one)
        else:
            self.block([one], line)


def read_traces(data: bytes) -> Listed:
    """Return the operations of the traces of all ranks. Raises FormatError with the line where they stop being some."""
    reading, ranks = Reading("simgrid"), dict[int, _Trace]()
    for line, raw in enumerate(text_of(data, "trace").split("\n"), 1):
        text = raw.strip()
        if text.startswith("#"):
            reading.comment(text[1:].strip(), line)
        elif text:
            _read(reading, ranks, text.split(), line)
    if sorted(ranks) != list(range(len(ranks))) or not ranks:
        missing = min(set(range(len(ranks) + 1)) - set(ranks))
        raise FormatError(
            f"there is no trace of rank {missing}: ranks are 0, 1, …, and all traces stand in one file or folder"
        )
    for rank, state in sorted(ranks.items()):
        if not state.ended:
            raise FormatError(f"the trace of rank {rank} does not end with '{rank} finalize': it is cut off")
    reading.ranks = len(ranks)
    return reading.listed(eager=False)


judge = judge_lists("simgrid", read_traces, recognises=begins_like(_BEGIN), folder="list.txt")


def _read(reading: Reading, ranks: dict[int, _Trace], words: list[str], line: int) -> None:
    """Read a line of some rank."""
    # 1. Is it a line that can stand here?
    rank, word, numbers = read_number(words[0], line, MOST_RANKS - 1), "".join(words[1:2]).lower(), words[2:]
    if _COLLECTIVE.fullmatch(word):
        raise FormatError(
            f"line {line}: {word} is a collective whose messages SimGrid chooses: give its sends and receives"
        )
    least, most = _NUMBERS.get(word, (1, 0))
    if not least <= len(numbers) <= most:
        known = ", ".join(sorted(_NUMBERS))
        raise FormatError(
            f"line {line}: {shorten(one_line(' '.join(words)))!r} is none of RANK and {known} with its numbers"
        )
    if (word == "init") == (rank in ranks) or (rank in ranks and ranks[rank].ended):
        raise FormatError(f"line {line}: the trace of rank {rank} goes from init to finalize, each once")
    # 2. What it does to the trace of its rank.
    trace = ranks.setdefault(rank, _Trace(reading, rank))
    left = [one for several in trace.open.values() for one in several]
    if word in ("compute", "sleep"):
        if not re.fullmatch(r"\d{1,30}(\.\d{1,30})?(e\+?\d{1,3})?", numbers[0]):
            raise FormatError(f"line {line}: {shorten(numbers[0])!r} is no amount of work")
        trace.block([], line)
    elif word == "finalize":
        if left:
            raise FormatError(f"line {line}: rank {rank} ends and has not waited for all that it began")
        trace.ended = True
    elif word == "waitall":
        trace.open = {}
        if left:
            trace.block(left, line)
    elif word == "wait":
        src, dst, tag = (read_number(part, line) for part in numbers)
        if not (several := trace.open.get((src, dst, tag))):
            raise FormatError(
                f"line {line}: rank {rank} waits for a request from {src} to {dst} of tag {tag}, which it has not begun"
            )
        trace.block([several.pop(0)], line)
    elif word != "init":
        trace.begin(word, tuple(_amount(part, line) for part in numbers[:3]), line)


def _amount(text: str, line: int) -> int:
    """Return a number of bytes, or a rank or tag; SimGrid also writes 1e+06."""
    if re.fullmatch(r"\d(\.\d{1,15})?e\+?\d{1,2}", text) and float(text) < 10**LONGEST and float(text).is_integer():
        return int(float(text))
    return read_number(text, line)
