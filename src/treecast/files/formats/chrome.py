"""A trace of the sends and receives of each node, as Perfetto and Chrome's ``about:tracing`` show it.

A node is a process, with two threads for each port: its sends there, and its receives. Arrows lead from the message that brought
a chunk to that which sends it on. Under faults it shows which messages are really sent, which are lost, and when something dies.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import spell_range
from treecast.errors import FormatError
from treecast.files.formats.registry import BYTES, LATENCY, RATE, Setting, exporter, link_costs
from treecast.files.programs.messages import Messages, chunk_places, messages_of, parcels
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.ragged import Ints, places, starts
from treecast.schedule import Payloads, Rows, Schedule
from treecast.schedule.costs import Costs, Floats, events_of
from treecast.schedule.sizes import under_way
from treecast.simulation.faults import Faults, parse_faults
from treecast.simulation.replay import replay

_MOST_EVENTS = 1_000_000
_Event = dict[str, Any]
_Marks = NDArray[np.bool_]
_Shown = tuple[_Marks, _Marks]
"""Which nodes are shown, and which messages."""

_NODES = Setting(
    name="nodes", summary="Show these nodes only: labels or numbers, with spaces between them (in quotes)."
)
_KILL = Setting(name="dead-nodes", summary="Nodes that fail: NODE, or NODE@STEP.", read=str.split, several=True)
_CUT = Setting(
    name="cut-links",
    summary="Links that fail: A-B both ways, A>B one way (in quotes); with @STEP behind if not from the start.",
    read=str.split,
    several=True,
)
_STEPS = Setting(name="steps", summary="Show these steps only, as in 3:8 for steps 3 to 7.")


@exporter(
    "chrome",
    suffix=".trace.json",
    summary="a timeline of each node, for Perfetto",
    settings=(BYTES, RATE, LATENCY, _NODES, _STEPS, _KILL, _CUT),
)
def encode(
    schedule: Schedule,
    *,
    size: int | None = None,
    rate: float | None = None,
    latency: float | None = None,
    nodes: str = "",
    steps: str = ":",
    dead_nodes: Sequence[str] = (),
    cut_links: Sequence[str] = (),
) -> bytes:
    """Return the messages of a schedule as events in JSON. Raises FormatError when they are too many to show."""
    if schedule.model.routing:
        raise FormatError(
            "under wormhole switching messages leave by no port of their own: a timeline shows those of other models; "
            "--to simgrid takes routes"
        )
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    shown = _shown(messages, nodes, steps)
    fates = _fates_of(messages, dead_nodes, cut_links)
    times = _times_of(messages, begins, link_costs(schedule, latency, rate))
    events = [*_threads(schedule.network, shown[0]), *_deaths(messages, fates, times, shown[0])]
    events += _events(messages, fates, begins, times, shown)
    head: dict[str, object] = {
        "network": schedule.network.spec,
        "collective": schedule.collective.kind,
        "messages": schedule.collective.messages,
        "steps": schedule.steps,
        "step_microseconds": times.steps,
        "microseconds": round(float(times.end.max(initial=0)), 3),
        "command": schedule.command,
    }
    head |= {"faults": fates.faults.describe(schedule.network)} if len(fates.faults) else {}
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)
    return f'{{"displayTimeUnit":"ns","otherData":{json.dumps(head)},"traceEvents":[\n{lines}\n]}}\n'.encode()


class _Times(NamedTuple):
    """When each message begins, and has arrived, float64 (messages,), and how long steps are, if they are; in microseconds."""

    begin: Floats
    end: Floats
    steps: Sequence[float] = ()


def _times_of(messages: Messages, begins: Ints, costs: Costs) -> _Times:
    """Return the times of messages, as in the time of a report.

    A step is as long as its slowest send, and all chunks count as long as the longest. Where arcs cost differently each message
    begins as soon as it can.
    """
    schedule, one = messages.schedule, parcels(messages)
    if costs.unlike or schedule.model.arcs:
        events = events_of(schedule, costs, begins)
        chunk = messages.payloads.chunk(np.arange(len(messages)), 0)
        own = (events.step, events.src, events.port, events.chunk), (messages.step, messages.src, messages.port, chunk)
        told = 3 if schedule.model.combining else 4  # what goes over an arc in a step is one message then, or one chunk
        keys, ours = (zip(*(column.tolist() for column in columns[:told]), strict=True) for columns in own)
        place = {key: at for at, key in enumerate(keys)}
        at = np.array([place[key] for key in ours], np.int64)
        return _Times(1e6 * events.begin[at], 1e6 * events.end[at])
    chunks = np.bincount(one, messages.sizes(np.arange(len(begins))), minlength=1)[one]
    startup, per_byte = costs.of_arcs(messages.src, messages.dst)
    seconds = np.zeros(schedule.steps)
    # a step is as long as its slowest send; each chunk counts as the longest
    np.maximum.at(seconds, messages.step, startup + per_byte * int(np.diff(begins).max(initial=0)) * chunks)
    begin = 1e6 * np.concatenate([[0.0], np.cumsum(under_way(seconds, schedule.model.latency))])
    return _Times(begin[messages.step], begin[messages.step + 1], np.diff(begin).round(3).tolist())


def _shown(messages: Messages, nodes: str, steps: str) -> _Shown:
    """Return what is shown. Raises FormatError for steps that are none, and when there are too many events to show."""
    network = messages.schedule.network
    shown = np.full(network.nodes, not nodes.split())
    shown[[network.node(name) for name in nodes.split()]] = True
    found = re.fullmatch("([0-9]{0,9}):([0-9]{0,9})", steps)
    if not found:
        raise FormatError(f"{steps!r} are no steps: write FIRST:STOP, as in 3:8")
    some = (messages.step >= int(found[1] or 0)) & (messages.step < int(found[2] or messages.schedule.steps))
    of, needs = _arrows_of(messages)
    events = 2 * int((some[of] & some[needs] & shown[messages.src[of]]).sum())
    events += int((some & shown[messages.src]).sum()) + int((some & shown[messages.dst]).sum())
    if events > _MOST_EVENTS:
        raise FormatError(
            f"{events:,} events are too many to show: the most are {_MOST_EVENTS:,}; choose some by --nodes or --steps"
        )
    return shown, some


def _arrows_of(messages: Messages) -> tuple[Ints, Ints]:
    """Return each message beside each that it needs."""
    return np.repeat(np.arange(len(messages)), np.diff(messages.needs_start)), messages.needs


@dataclass(frozen=True, eq=False)
class _Fates:
    """The fates of messages under some faults.

    ``sent`` and ``arrived``, bool (messages,): which are sent, and which of them arrive. ``carried``: the chunks that are really
    sent, message by message.
    """

    faults: Faults
    sent: _Marks
    arrived: _Marks
    carried: Payloads


def _both_ports(network: Network) -> tuple[Ints, Ints, Ints, Ints]:
    """Return tail, head, port and the port of the arc back of all arcs: where none leads back, a number behind all ports."""
    arcs = arcs_of(network)
    tail, head, out = (column.astype(np.int64) for column in (arcs.tail, arcs.head, arcs.port))
    found = network.back(tail, out)
    alone = np.flatnonzero(found < 0)
    alone = alone[np.argsort(head[alone], kind="stable")]
    found[alone] = network.ports + places(np.bincount(head[alone], minlength=network.nodes))
    return tail, head, out, found


def _threads(network: Network, shown: _Marks) -> Iterator[_Event]:
    """Yield the names of nodes and of their threads at each port."""
    label = network.labels(np.arange(network.nodes))
    for u in np.flatnonzero(shown).tolist():
        yield {"ph": "M", "name": "process_name", "pid": u, "args": {"name": label[u]}}
    for u, v, p, q in zip(*(column.tolist() for column in _both_ports(network)), strict=True):
        for node, thread, words in ((u, 2 * p, f"to {label[v]}"), (v, 2 * q + 1, f"from {label[u]}")):
            if shown[node]:
                yield {"ph": "M", "name": "thread_name", "pid": node, "tid": thread, "args": {"name": words}}


def _deaths(messages: Messages, fates: _Fates, times: _Times, shown: _Marks) -> Iterator[_Event]:
    """Yield a mark where a node dies, and one at the sending thread of an arc that is cut."""
    marks = [(step, node, "p", "dies", 0) for node, step in sorted(fates.faults.nodes.items())]
    marks += [(step, node, "t", "is cut", 2 * port) for (node, port), step in sorted(fates.faults.arcs.items())]
    for step, node, scope, name, thread in marks:
        if shown[node]:
            later = times.begin[messages.step >= step]  # the step may have no messages
            begin = float(later.min() if len(later) else times.end.max(initial=0))
            at = {"ts": round(begin, 3), "pid": node, "tid": thread}
            yield {"ph": "i", "s": scope, "name": name} | at


def _events(messages: Messages, fates: _Fates, begins: Ints, times: _Times, shown: _Shown) -> Iterator[_Event]:
    """Yield messages at both ends, those that go together as one, and arrows from each that brought a chunk to the next.

    One that is lost stands at its source alone, in the colour of terrible things; one that is not sent nowhere.
    """
    # 1. Both ends of an arc have a line: 2 port as it leaves, 2 port + 1 as it arrives.
    nodes, steps = shown
    network, one = messages.schedule.network, parcels(messages)
    label = network.labels(np.arange(len(nodes)))
    tail, _, out, back = _both_ports(network)
    thread = np.full(network.nodes * network.ports, -1)
    thread[network.arc(tail, out)] = 2 * back + 1
    arriving = thread[network.arc(messages.src, messages.port)]
    # 2. Messages that go together are one event, at each end that is shown.
    for several in np.split(np.argsort(one, kind="stable"), np.flatnonzero(np.diff(np.sort(one))) + 1):
        which = several[fates.sent[several]]
        if not len(which):
            continue
        m = int(which[0])  # they share ends, port and times
        src, dst, step = int(messages.src[m]), int(messages.dst[m]), int(messages.step[m])
        if not steps[m] or not (nodes[src] or nodes[dst]):
            continue
        ranges = [pair for each in which for pair in fates.carried.ranges(int(each))]
        trees = {int(messages.tree[each]) for each in which}
        said = {"step": step, "src": label[src], "dst": label[dst], "port": int(messages.port[m])}
        event = {
            "ph": "X",
            "name": f"chunks {', '.join(spell_range(*pair) for pair in ranges)}" if ranges else "control",
            "cat": f"tree {min(trees)}" if len(trees) == 1 else "several trees",
            "ts": round(float(times.begin[m]), 3),
            "dur": round(float(times.end[m] - times.begin[m]), 3),
            "args": said
            | {"chunks": ranges, "bytes": sum(int(begins[stop] - begins[first]) for first, stop in ranges)},
        }
        if not fates.arrived[m]:
            event |= {"cname": "terrible", "name": f"{event['name']}, lost"}
        for node, thread in ((src, 2 * int(messages.port[m])), (dst, int(arriving[m]))):
            if nodes[node] and (node == src or fates.arrived[m]):
                yield event | {"pid": node, "tid": thread}
    # 3. Arrows between them.
    yield from _arrows(messages, fates, arriving, times, shown)


def _arrows(messages: Messages, fates: _Fates, arriving: Ints, times: _Times, shown: _Shown) -> Iterator[_Event]:
    """Yield the two ends of each arrow: in the middle of a receive, and where its chunk begins to be sent on."""
    nodes, steps = shown
    of, needs = _arrows_of(messages)
    seen = steps[of] & steps[needs] & nodes[messages.src[of]] & fates.sent[of] & fates.arrived[needs]
    for number, (m, need) in enumerate(zip(of[seen].tolist(), needs[seen].tolist(), strict=True)):
        shared = {"name": "sent on", "cat": "needs", "id": number, "pid": int(messages.src[m])}
        middle, begin = float(times.begin[need] + times.end[need]) / 2, float(times.begin[m])
        yield shared | {"ph": "s", "ts": round(middle, 3), "tid": int(arriving[need])}
        yield shared | {"ph": "f", "bp": "e", "ts": round(begin, 3), "tid": 2 * int(messages.port[m])}


# -- under faults -------------------------------------------------------------------------------------------------------


def _fates_of(messages: Messages, dead_nodes: Sequence[str], cut_links: Sequence[str]) -> _Fates:
    """Return the fate of each message when nodes and links fail, which are written as ``simulate`` takes them.

    Raises FaultError or NetworkError for nodes and links that do not exist, and when the root is dead from the start.
    """
    faults = parse_faults(messages.schedule.network, dead_nodes, cut_links)
    count, payloads = len(messages), messages.payloads
    if not len(faults):
        every = np.ones(count, np.bool_)
        return _Fates(faults, every, every, payloads)
    if bool((np.diff(payloads.start) == 0).any()):
        raise FormatError("control flits have no timeline under faults: leave the faults out")
    columns = {name: getattr(messages, name) for name in ("step", "src", "dst", "port", "tree")}
    rows = Rows.of(payloads, **columns, steps=np.ones(count, np.int64), payload=np.arange(count))
    trace = replay(replace(messages.schedule, rows=rows, claims=None), faults)
    order = np.empty(count, np.int64)  # the message of each row: rows of one arc and step have an order of their own
    order[_order(trace.schedule.rows)] = _order(messages)
    atom = trace.moves.atom[trace.moved]
    message = order[trace.moves.row[trace.moved]]
    turn = np.lexsort([atom, message])
    first, stop = trace.atoms.bounds[:-1][atom[turn]], trace.atoms.bounds[1:][atom[turn]]
    start = starts(np.bincount(message, minlength=count))
    sent, arrived = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    sent[message] = True
    arrived[order[trace.moves.row[trace.arrived]]] = True
    return _Fates(faults, sent, arrived, Payloads(start, first, stop))


def _order(these: Messages | Rows) -> Ints:
    """Return an order of messages, or of rows that are messages, that depends on their columns alone."""
    chunk = these.payloads.first[these.payloads.start[:-1]]
    chunk = chunk if isinstance(these, Messages) else chunk[these.payload]
    return np.lexsort([chunk, these.port, these.tree, these.dst, these.src, these.step])
