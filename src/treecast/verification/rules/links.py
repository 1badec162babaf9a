"""Rules of the machine: the load of an arc, a link and a node in one step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.ragged import explode, read_only, starts
from treecast.verification.case import Case
from treecast.verification.report import Broken


def adjacent(case: Case) -> Broken:
    """Rule ``adjacent``: the arc that a row names exists: it leaves ``src`` by ``port`` and leads to ``dst``."""
    rows, network = case.rows, case.schedule.network
    named = (rows.port >= 0) & (rows.port < network.ports)
    if named.any() and len(rows) * 2 > case.nodes and case.affordable(case.nodes * network.ports):
        wrong = ~named | (network.neighbor_table()[rows.src, np.where(named, rows.port, 0)] != rows.dst)
    else:
        wrong = network.neighbor(rows.src, rows.port) != rows.dst

    def why(row: int) -> str:
        src, dst = int(rows.src[row]), int(rows.dst[row])
        right = int(network.port_between(src, dst))
        there = "; arcs lead to " + ", ".join(map(case.label, network.neighbors(src))) if network.ports <= 64 else ""
        return f"by port {rows.port[row]}: " + (
            f"there is no such arc{there}" if right < 0 else f"the arc leaves by port {right}"
        )

    return case.broken("adjacent", wrong, why)


def _busy(case: Case, rule: str, node: NDArray[Any], port: NDArray[Any], ports: int, *, why: str) -> Broken:
    """Return the rows that begin while an earlier row of the same node and port is under way."""
    from treecast.kernels.verification.rules import overlaps

    streams = case.streams
    node, port, clash = streams.at(node), streams.of(port), np.zeros(len(streams.row), np.bool_)
    nodes = int(node.max(initial=-1)) + 1
    if not case.affordable(nodes * ports):  # number only the keys that occur
        key = np.where((port >= 0) & (port < ports), node.astype(np.int64) * ports + port, -1)
        node, port, ports = np.unique(key, return_inverse=True)[1].reshape(-1), np.where(key < 0, -1, 0), 1
        nodes = int(node.max(initial=-1)) + 1
    node, port = read_only(node, np.int32), read_only(port, np.int16)
    turns = (read_only(column, np.int32) for column in (streams.step, streams.steps))
    columns = (node, port, ports, *turns, np.zeros(nodes * ports, np.int32), clash)
    case.by_node(lambda low, high: overlaps(low, high, *columns), nodes)
    return case.broken(rule, case.marked(streams.row[clash]), lambda row: why)


def link_once(case: Case) -> Broken:
    """Rule ``link-once``: an arc carries one message a step.

    An orbit obeys it exactly when no two rows of a step share a port (Lemma 7): the translates of a row use every arc of
    its port once.
    """
    port, ports = case.rows.port, case.schedule.network.ports
    if case.schedule.orbit:
        return _busy(
            case, "link-once", np.zeros_like(port), port, ports, why="uses a port that an earlier row is using"
        )
    return _busy(case, "link-once", case.rows.src, port, ports, why="uses an arc that is busy with an earlier row")


def one_chunk(case: Case) -> Broken:
    """Rule ``one-chunk``, where messages do not combine: a row sends one chunk a step."""
    return case.broken("one-chunk", case.rows.pace == 0, lambda row: "combines several chunks in one message")


def send_port(case: Case) -> Broken:
    """Rule ``send-port``: a node sends one message at a time. Where messages combine: over one arc at a time.

    Of an orbit: one row at a time, or rows of one port.
    """
    return _one_at_a_time(case, "send-port", case.rows.src, "leaves a node that is still sending")


def recv_port(case: Case) -> Broken:
    """Rule ``recv-port``: a node receives one message at a time. Where messages combine: over one arc at a time.

    Of an orbit: one row at a time, or rows of one port.
    """
    return _one_at_a_time(case, "recv-port", case.rows.dst, "reaches a node that is still receiving")


def _one_at_a_time(case: Case, rule: str, node: NDArray[Any], why: str) -> Broken:
    rows, none, network, src = case.rows, np.zeros_like(node), case.schedule.network, case.rows.src
    if case.schedule.orbit:  # of the translates of a row, the one at node 0
        node, src = none, network.untranslate(node, src)
    if not case.model.combining:
        return _busy(case, rule, node, none, 1, why=why)
    return contended(case, rule, np.arange(len(rows)), node, why, key=src.astype(np.int64) * network.ports + rows.port)


def contended(
    case: Case, rule: str, row: Ints, taken: NDArray[Any], why: str, *, key: NDArray[Any] | None = None
) -> Broken:
    """Return the rows that begin while something that they take is in use under another key.

    ``row[i]`` takes ``taken[i]`` under ``key[i]``; without keys each row has its own, so two never share a thing.
    """
    from treecast.kernels.verification.rules import contended as clashing

    streams = case.streams
    of, entry = explode(starts(np.bincount(row, minlength=len(case.rows))), streams.row)
    entry = np.argsort(row, kind="stable")[entry]
    number = taken[entry] * np.int64(streams.period) + streams.remainder[of]
    if not case.affordable(2 * int(number.max(initial=-1)) + 2):
        number = np.unique(number, return_inverse=True)[1].reshape(-1)
    columns = number, (row if key is None else key)[entry], streams.step[of], streams.steps[of]
    busy, clash = np.zeros((2, int(number.max(initial=-1)) + 1), np.int64), np.zeros(len(of), np.bool_)
    clashing(*(read_only(column, np.int64) for column in columns), *busy, clash)
    return case.broken(rule, case.marked(streams.row[of[clash]]), lambda row: why)


def half_port(case: Case) -> Broken:
    """Rule ``half-port``, of one port with half duplex: in a step a node sends or receives, not both.

    Every row of an orbit breaks it: all nodes send and receive at once.
    """
    rows, every = case.rows, np.arange(len(case.rows))
    ends = np.concatenate([rows.src, rows.dst]) * (not case.schedule.orbit)
    why, role = "meets a node that sends and receives at once", np.repeat([0, 1], len(rows))
    return contended(case, "half-port", np.tile(every, 2), ends, why, key=role)


def one_partner(case: Case) -> Broken:
    """Rule ``one-partner``: a node that sends to one neighbour and receives from another does so in different steps."""
    rows, every = case.rows, np.tile(np.arange(len(case.rows)), 2)
    ends, partners = np.concatenate([rows.src, rows.dst]), np.concatenate([rows.dst, rows.src])
    if case.schedule.orbit:
        # of the translates of a row u > v, node 0 sends to u⁻¹v and receives from v⁻¹u: these are its partners
        ends, partners = np.zeros_like(every), case.schedule.network.untranslate(ends, partners)
    return contended(case, "one-partner", every, ends, "joins a node that is busy with a third one", key=partners)


def duplex(case: Case) -> Broken:
    """Rule ``duplex``, of half-duplex links: a link carries messages one way at a time.

    The translates of a row u > v go over all links of the kind u⁻¹v; both ways when u⁻¹v = v⁻¹u.
    """
    rows, network = case.rows, case.schedule.network
    why = "uses a link that an earlier row, or its own translate, is using"
    there, back = rows.src.astype(np.int64), rows.dst.astype(np.int64)
    # each cable between two nodes is a link
    cable = 0 if case.schedule.orbit else network.cable(there, rows.port) * case.nodes
    if case.schedule.orbit:
        there, back = network.untranslate(there, back), network.untranslate(back, there)
        if (own := (there == back) & (there != 0)).any():
            return case.broken("duplex", own, lambda row: why)
    low, high = np.minimum(there, back), np.maximum(there, back)
    # where messages combine, chunks that go the same way at once are one
    key = np.greater(there, back) if case.model.combining else None
    return contended(case, "duplex", np.arange(len(rows)), (low + cable) * case.nodes + high, why, key=key)
