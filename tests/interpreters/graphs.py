"""Graphviz's language as far as networks need it: ``digraph "NAME" {``, a line for each node and arc, ``}``."""

import re

import networkx as nx

NODE = re.compile(r'  (\d+) \[label="((?:[^"\\]|\\.)*)"(, shape=box)?\];')
ARC = re.compile(r"  (\d+) -> (\d+) \[((?:\w+=\d+(?:, )?)+)\];")


def read_dot(data):
    """Return the graph of a DOT file; raise ValueError when it is none."""
    first, *lines, last = data.decode().rstrip("\n").split("\n")
    if not re.fullmatch(r'digraph "(?:[^"\\]|\\.)*" \{', first) or last != "}":
        raise ValueError("it is no digraph")
    graph = nx.DiGraph()
    for line in lines:
        node, arc = NODE.fullmatch(line), ARC.fullmatch(line)
        if node:
            graph.add_node(int(node[1]), label=re.sub(r"\\(.)", r"\1", node[2]), relay=bool(node[3]))
        elif arc:
            u, v = int(arc[1]), int(arc[2])
            if not {u, v} <= set(graph) or graph.has_edge(u, v):
                raise ValueError(f"{line!r} has no nodes, or stands there twice")
            graph.add_edge(u, v, **{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", arc[3])})
        else:
            raise ValueError(f"{line!r} is neither a node nor an arc")
    return graph
