"""What tests hold the package against: plain loops over single sends, and networkx. Nothing here uses compiled code."""

from collections import defaultdict

import networkx as nx
import numpy as np

from treecast.networks import Network


def graph_of(network: Network) -> nx.DiGraph:
    """The network as a graph whose arcs know their port, built from scalar calls alone."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    for u in range(network.nodes):
        for port in range(network.ports):
            v = int(network.neighbor(u, port))
            if v >= 0:
                graph.add_edge(u, v, port=port)
    return graph


def sends_of(schedule):
    """Every single send as (step, src, dst, port, tree, chunk, row), read off the columns row by row."""
    rows = schedule.rows
    sends = []
    for r in range(len(rows)):
        chunks = [c for a, b in rows.payloads.ranges(int(rows.payload[r])) for c in range(a, b)]
        step, steps = int(rows.step[r]), int(rows.steps[r])
        ends = int(rows.src[r]), int(rows.dst[r]), int(rows.port[r]), int(rows.tree[r])
        if steps == len(chunks):
            sends += [(step + i, *ends, chunk, r) for i, chunk in enumerate(chunks)]
        else:
            assert steps == 1
            sends += [(step, *ends, chunk, r) for chunk in chunks]
    return sorted(sends)


def replay(schedule, node_dies=None, arc_dies=None):
    """Replay a plain broadcast send by send; return (arrival step by (node, chunk), sends made, their last step + 1)."""
    node_dies, arc_dies = node_dies or {}, arc_dies or {}
    root = schedule.collective.root
    arrival = {(root, c): 0 for c in range(schedule.collective.messages)} if node_dies.get(root, 1) > 0 else {}
    made, last = 0, 0
    by_step = defaultdict(list)
    for send in sends_of(schedule):
        by_step[send[0]].append(send)
    for step in sorted(by_step):
        new = []
        for _, src, dst, port, _, chunk, _ in by_step[step]:
            alive = step < node_dies.get(src, step + 1) and step < arc_dies.get((src, port), step + 1)
            if alive and arrival.get((src, chunk), step + 1) <= step:
                made, last = made + 1, step + 1
                if step < node_dies.get(dst, step + 1):
                    new.append((dst, chunk))
        for key in new:
            arrival.setdefault(key, step + 1)
    return arrival, made, last


def everybody_served(schedule, dead=()):
    """Whether every node that is not in ``dead`` gets every chunk when those in ``dead`` are, from the start."""
    arrival, _, _ = replay(schedule, dict.fromkeys(dead, 0))
    return all(
        (v, c) in arrival
        for v in range(schedule.network.nodes)
        if v not in dead
        for c in range(schedule.collective.messages)
    )


def is_right(schedule, graph):
    """Whether a plain all-port broadcast obeys adjacency, holding, one chunk an arc and step, delivery and its claims."""
    arrival = {(schedule.collective.root, c): 0 for c in range(schedule.collective.messages)}
    sends, taken = sends_of(schedule), []
    for step, _, dst, _, _, chunk, _ in sends:
        arrival[dst, chunk] = min(arrival.get((dst, chunk), step + 1), step + 1)
    for step, src, dst, port, _, chunk, _ in sends:
        if not graph.has_edge(src, dst) or graph[src][dst]["port"] != port:
            return False
        if arrival.get((src, chunk), step + 1) > step:
            return False
        taken.append((step, src, port))
    if len(set(taken)) != len(taken):
        return False
    last = max((s[0] + 1 for s in sends), default=0)
    claims = schedule.claims
    if claims is not None and (claims.steps, claims.transmissions) != (last, len(sends)):
        return False
    nodes, messages = schedule.network.nodes, schedule.collective.messages
    return all((v, c) in arrival for v in range(nodes) for c in range(messages))


def lexicographic(n):
    """All permutations of 1 … n in lexicographic order, as an array of rows."""
    from itertools import permutations

    return np.array(list(permutations(range(1, n + 1))))
