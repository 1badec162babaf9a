"""Rules of the machine: the load of an arc, a link and a node in one step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.ragged import explode, read_only, starts
from treecast.verification.case import Case
from treecast.verification.report import Broken


def adjacent(case: Case) -> Broken:
    """Rule ``adjacent``: the arc that a row names exists: it leaves ``src`` by ``port`` and leads to ``dst``."""
    rows, network = case.rows, case.schedule.network
    named = (rows.port >= 0) & (rows.port < network.ports)
    # many rows look up a table, few ask for each
    if named.any() and len(rows) * 2 > case.nodes and case.affordable(case.nodes * network.ports):
        wrong = ~named | (network.neighbor_table()[rows.src, np.where(named, rows.port, 0)] != rows.dst)
    else:
        wrong = network.neighbor(rows.src, rows.port) != rows.dst

    def why(row: int) -> str:
        src, dst = int(rows.src[row]), int(rows.dst[row])
        right = int(network.port_between(src, dst))
        there = "; arcs lead to " + ", ".join(map(case.label, network.neighbors(src))) if network.ports <= 64 else ""
        if rows.port[row] < 0:  # nobody said one, as there is none
            return f"has no arc to go over{there}"
        return f"by port {rows.port[row]}: " + (
            f"there is no such arc{there}" if right < 0 else f"the arc leaves by port {right}"
        )

    return case.broken("adjacent", wrong, why)


def _busy(
    case: Case,
    rule: str,
    node: NDArray[Any],
    port: NDArray[Any],
    ports: int,
    *,
    why: str,
    crowded: NDArray[np.bool_] | None = None,
    room: int = 1,
) -> Broken:
    """Return the rows that begin while ``room`` rows of the same node and port are under way, and those that are crowded."""
    from treecast.verification.kernels.rules import overlaps

    streams = case.streams
    node, port, clash = streams.at(node), streams.of(port), np.zeros(len(streams.row), np.bool_)
    nodes = int(node.max(initial=-1)) + 1
    if not case.affordable(nodes * ports):  # number only the keys that occur
        key = np.where((port >= 0) & (port < ports), node.astype(np.int64) * ports + port, -1)
        node, port, ports = np.unique(key, return_inverse=True)[1].reshape(-1), np.where(key < 0, -1, 0), 1
        nodes = int(node.max(initial=-1)) + 1
    node, port = read_only(node, np.int32), read_only(port, np.int16)
    turns = (read_only(column, np.int32) for column in (streams.step, streams.steps))
    columns = (node, port, ports, *turns, np.zeros((nodes * ports, room), np.int32), clash)
    case.by_node(lambda low, high: overlaps(low, high, *columns), nodes)
    found = case.marked(streams.row[clash])
    return case.broken(rule, found if crowded is None else found | crowded, lambda row: why)


def link_once(case: Case) -> Broken:
    """Rule ``link-once``: an arc carries one message a step.

    An orbit obeys it exactly when no two rows of a step take arcs of one orbit, and none is crowded (Lemma 7): of a Cayley
    network, the translates of a row use every arc of its port once.
    """
    rows, ports = case.rows, case.schedule.network.ports
    if case.orbits is None:
        return _busy(case, "link-once", rows.src, rows.port, ports, why="uses an arc that another row is using")
    orbit, crowded = case.orbits.arcs()
    why = "uses an arc to which another row, or its own copy, is carried"
    return _busy(case, "link-once", orbit, np.zeros_like(rows.port), 1, why=why, crowded=crowded)


def channel_once(case: Case) -> Broken:
    """Rule ``channel-once``, past relays: no two messages of a step cross one link the same way; of half duplex, either way.

    The rows of an orbit cross what all arcs of their orbits do.
    """
    network, rows, routes = case.schedule.network, case.rows, case.schedule.network.past_routes
    if routes is None:
        return 0, []
    there = np.flatnonzero(network.neighbor(rows.src, rows.port) >= 0)
    arc = arcs_of(network).number(rows.src[there], rows.port[there])
    channels, crowded = routes.taken(half=case.model.duplex == "half"), None
    if case.orbits is not None:
        arc = case.orbits.of_arcs(arc)
        channels, twice = _crossed(channels, case.orbits.of_arcs(np.arange(len(channels))), arc)
        crowded = np.zeros(len(rows), np.bool_)
        crowded[there] = twice[arc]
    channel = channels[arc]
    at, place = np.nonzero(channel >= 0)
    key = arc[at] if case.model.combining else None
    why = "crosses a link that another message is using"
    return contended(case, "channel-once", there[at], channel[at, place], why, key=key, crowded=crowded)


def _crossed(channels: Ints, orbit: Ints, used: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return what each orbit of arcs crosses of those that are used, -1 behind the last; and whether two of its arcs meet.

    Channels that the same orbits cross are one: so a table of some orbits has few columns.
    """
    used = np.unique(used)
    place = np.full(int(orbit.max(initial=0)) + 1, -1)
    place[used] = np.arange(len(used))
    arc, column = np.nonzero(channels >= 0)
    arc, column = (each[place[orbit[arc]] >= 0] for each in (arc, column))
    many = np.zeros((int(channels.max(initial=0)) + 1, len(used)), np.int64)
    np.add.at(many, (channels[arc, column], place[orbit[arc]]), 1)
    kinds = np.unique(many > 0, axis=0)
    found = np.full((len(place), max(1, int(kinds.sum(axis=0).max(initial=0)))), -1)
    for i, which in enumerate(used.tolist()):
        crossed = np.flatnonzero(kinds[:, i])
        found[which, : len(crossed)] = crossed
    twice = np.zeros(len(place), np.bool_)
    twice[used] = (many > 1).any(axis=0)
    return found, twice


def one_chunk(case: Case) -> Broken:
    """Rule ``one-chunk``, where messages do not combine: a row sends one chunk a step."""
    return case.broken("one-chunk", case.rows.pace == 0, lambda row: "combines several chunks in one message")


def send_port(case: Case) -> Broken:
    """Rule ``send-port``: a node sends one message at a time, or one by each of its ports. Where messages combine: over one arc.

    Of an orbit: one row at a time, or rows of one port.
    """
    return _by_ports(case, "send-port", case.rows.src, "leaves a node that is still sending")


def recv_port(case: Case) -> Broken:
    """Rule ``recv-port``: a node receives one message at a time, or one by each port. Where messages combine: over one arc.

    Of an orbit: one row at a time, or rows of one port.
    """
    return _by_ports(case, "recv-port", case.rows.dst, "reaches a node that is still receiving")


def _by_ports(case: Case, rule: str, node: NDArray[Any], why: str) -> Broken:
    rows, none, network = case.rows, np.zeros_like(node), case.schedule.network
    key, crowded = rows.src.astype(np.int64) * network.ports + rows.port, None
    if case.orbits is not None:
        (node, crowded), key = case.orbits.nodes(node), case.orbits.arcs_at(node)
    if case.model.room > 1:
        why += f" by all of its {case.model.room} ports"
    if not case.model.combining:
        return _busy(case, rule, node, none, 1, why=why, crowded=crowded, room=case.model.room)
    return contended(case, rule, np.arange(len(rows)), node, why, key=key, crowded=crowded, room=case.model.room)


def contended(
    case: Case,
    rule: str,
    row: Ints,
    taken: NDArray[Any],
    why: str,
    *,
    key: NDArray[Any] | None = None,
    crowded: NDArray[np.bool_] | None = None,
    room: int = 1,
) -> Broken:
    """Return the rows that begin while something that they take is in use under ``room`` other keys, and those that are crowded.

    ``row[i]`` takes ``taken[i]`` under ``key[i]``; without keys each row has its own, so two never share a thing.
    """
    from treecast.verification.kernels.rules import contended as clashing

    streams = case.streams
    # 1. Each stream takes all that its row does.
    of, entry = explode(starts(np.bincount(row, minlength=len(case.rows))), streams.row)
    entry = np.argsort(row, kind="stable")[entry]
    # 2. A number for each thing at each remainder; only those that occur where there are too many.
    number = taken[entry] * np.int64(streams.period) + streams.remainder[of]
    if not case.affordable(2 * int(number.max(initial=-1)) + 2):
        number = np.unique(number, return_inverse=True)[1].reshape(-1)
    # 3. Is it in use under other keys?
    columns = number, of if key is None else key[entry], streams.step[of], streams.steps[of]
    busy, clash = np.zeros((2, int(number.max(initial=-1)) + 1, room), np.int64), np.zeros(len(of), np.bool_)
    clashing(*(read_only(column, np.int64) for column in columns), *busy, clash)
    found = case.marked(streams.row[of[clash]])
    return case.broken(rule, found if crowded is None else found | crowded, lambda row: why)


def half_port(case: Case) -> Broken:
    """Rule ``half-port``, of ports with half duplex: in a step each sends or receives, not both.

    Every row of an orbit between nodes of one orbit breaks it, as all rows do on a Cayley network: all nodes send and receive at
    once.
    """
    rows, every = case.rows, np.arange(len(case.rows))
    ends, _ = _ends(case)
    why, key, room = "meets a node that sends and receives at once", np.repeat([0, 1], len(rows)), case.model.room
    if room > 1:  # all that it sends and receives counts
        why = f"meets a node that sends and receives by all of its {room} ports"
        together = case.model.combining and case.orbits is None
        message = case.schedule.network.arc(rows.src, rows.port) if together else every
        key = np.concatenate([message, message + int(message.max(initial=0)) + 1])  # copies of a row may leave and come
    return contended(case, "half-port", np.tile(every, 2), ends, why, key=key, room=room)


def one_partner(case: Case) -> Broken:
    """Rule ``one-partner``: a node that sends to one neighbour and receives from another does so in different steps."""
    rows, every = case.rows, np.tile(np.arange(len(case.rows)), 2)
    partners, (ends, crowded) = np.concatenate([rows.dst, rows.src]), _ends(case)
    if case.orbits is not None:
        partners = case.orbits.partners()
    why = "joins a node that is busy with a third one"
    return contended(case, "one-partner", every, ends, why, key=partners, crowded=crowded)


def _ends(case: Case) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the sources and then the targets of rows, of an orbit the orbits of these, and which rows are crowded there."""
    if case.orbits is None:
        return np.concatenate([case.rows.src, case.rows.dst]), None
    out, into = case.orbits.nodes(case.rows.src), case.orbits.nodes(case.rows.dst)
    return np.concatenate([out.orbit, into.orbit]), out.crowded | into.crowded


def duplex(case: Case) -> Broken:
    """Rule ``duplex``, of half-duplex links: a link carries messages one way at a time.

    The copies of a row go over all links of an orbit; both ways when an element turns a link round.
    """
    rows, network = case.rows, case.schedule.network
    why = "uses a link that another row, or its own copy, is using"
    src, dst = rows.src.astype(np.int64), rows.dst.astype(np.int64)
    if case.orbits is None:
        # each cable between two nodes is a link
        there = np.minimum(src, dst) + network.cable(src, rows.port) * case.nodes
        link, crowded, way = there * case.nodes + np.maximum(src, dst), None, np.greater(src, dst)
    else:
        (link, crowded), way = case.orbits.links(), case.orbits.arcs().orbit
    # where messages combine, chunks that go the same way at once are one
    return contended(
        case, "duplex", np.arange(len(rows)), link, why, key=way if case.model.combining else None, crowded=crowded
    )
