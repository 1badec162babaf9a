"""Rules of the machine: the load of an arc, a link and a node in one step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import read_only
from treecast.verification.case import BLOCK, Case
from treecast.verification.report import Broken


def adjacent(case: Case) -> Broken:
    """Rule ``adjacent``: the arc that a row names exists: it leaves ``src`` by ``port`` and leads to ``dst``."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.verification.rules import wrong_arcs

    rows, network = case.rows, case.schedule.network
    wrong = np.zeros(len(rows), bool)
    if len(rows) * 2 > case.nodes and case.affordable(case.nodes * network.ports):
        table, columns = network.neighbor_table(), (rows.src, rows.dst, rows.port, wrong)
        in_parallel(lambda a, b: wrong_arcs(table, *(column[a:b] for column in columns)), len(rows), BLOCK)
    else:
        named = (rows.port >= 0) & (rows.port < network.ports)
        wrong[~named] = True
        wrong[named] = network.neighbor(rows.src[named], rows.port[named]) != rows.dst[named]

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
    columns = (node, port, ports, *streams.turns, np.zeros(nodes * ports, np.int32), clash)
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
    return _contended(case, rule, [node], [src.astype(np.int64) * network.ports + rows.port], why)


def _contended(
    case: Case, rule: str, resources: list[NDArray[Any]], keys: list[NDArray[Any]], why: str, *own: NDArray[np.bool_]
) -> Broken:
    """Return the rows that begin while one of their resources is in use under another key, and those of masks ``own``.

    ``resources``, ``keys``: columns of rows, one for each resource that a row takes.
    """
    from treecast.kernels.verification.rules import contended

    streams, each = case.streams, len(resources)
    resource = np.stack([streams.at(column) for column in resources], axis=1).reshape(-1)
    key = np.stack([streams.of(column) for column in keys], axis=1).reshape(-1)
    size, clash = int(resource.max(initial=-1)) + 1, np.zeros(len(resource), np.bool_)
    case.afford(2 * size, f"{size:,} nodes or links in a period of {streams.period:,}")
    columns = (resource, key, *(np.repeat(column, each) for column in streams.turns))
    contended(*(read_only(column, np.int64) for column in columns), *np.zeros((2, size), np.int64), clash)
    marked = np.any([*own, case.marked(np.repeat(streams.row, each)[clash])], axis=0)
    return case.broken(rule, marked, lambda row: why)


def half_port(case: Case) -> Broken:
    """Rule ``half-port``, of one port with half duplex: in a step a node sends or receives, not both.

    Every row of an orbit breaks it: all nodes send and receive at once.
    """
    rows, none = case.rows, np.zeros(len(case.rows), np.int64)
    ends = [none, none] if case.schedule.orbit else [rows.src, rows.dst]
    return _contended(case, "half-port", ends, [none, none + 1], "meets a node that sends and receives at once")


def one_partner(case: Case) -> Broken:
    """Rule ``one-partner``: a node that sends to one neighbour and receives from another does so in different steps."""
    rows, network = case.rows, case.schedule.network
    ends, partners = [rows.src, rows.dst], [rows.dst, rows.src]
    if case.schedule.orbit:
        # of the translates of a row u > v, node 0 sends to u⁻¹v and receives from v⁻¹u: these are its partners
        partners = [network.untranslate(*ends), network.untranslate(*partners)]
        ends = [np.zeros(len(rows), np.int64)] * 2
    return _contended(case, "one-partner", ends, partners, "joins a node that is busy with a third one")


def duplex(case: Case) -> Broken:
    """Rule ``duplex``, of half-duplex links: a link carries messages one way at a time.

    The translates of a row u > v go over all links of the kind u⁻¹v; both ways when u⁻¹v = v⁻¹u.
    """
    rows, network = case.rows, case.schedule.network
    why = "uses a link that an earlier row, or its own translate, is using"
    if case.schedule.orbit:
        there, back = network.untranslate(rows.src, rows.dst), network.untranslate(rows.dst, rows.src)
        low, high, own = np.zeros_like(there), np.minimum(there, back), (there == back) & (there != 0)
    else:
        there, back = rows.src.astype(np.int64), rows.dst.astype(np.int64)
        low, high, own = np.minimum(there, back), np.maximum(there, back), np.zeros(len(rows), np.bool_)
        low = low + network.cable(rows.src, rows.port) * case.nodes  # each cable between two nodes is a link
    link = np.unique(low * case.nodes + high, return_inverse=True)[1].reshape(-1)
    if case.model.combining:  # chunks that go the same way at once are one message: count it once
        return _contended(case, "duplex", [link], [np.greater(there, back)], why, own)
    count, shown = _busy(case, "duplex", link, np.zeros_like(link), 1, why=why)
    return case.broken("duplex", own, lambda row: why) if own.any() else (count, shown)
