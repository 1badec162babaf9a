"""The network of a schedule as GraphML or DOT, with the number of messages that each arc carries."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treecast.formats.registry import Setting, exporter
from treecast.networks import Network
from treecast.networks.flows import arcs_of
from treecast.programs.messages import messages_of
from treecast.ragged import Ints
from treecast.schedule import Schedule

_LOAD = Setting(
    name="load",
    keyword="load",
    what="Say of each arc how many messages it carries, as its weight.",
    read=bool,
    flag=True,
)
_GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="relay" for="node" attr.name="relay" attr.type="boolean"/>
"""


class _Arc(NamedTuple):
    """All parallel arcs from ``src`` to ``dst``: the first of their ports, how many there are, and their messages."""

    src: int
    dst: int
    port: int
    capacity: int
    weight: int


@exporter("graphml", suffix=".graphml", what="the network, for networkx, Gephi and yEd", settings=(_LOAD,))
def encode_graphml(schedule: Schedule, *, load: bool = False) -> bytes:
    """Return the network of a schedule as GraphML."""
    return graphml_of(schedule.network, _weights(schedule) if load else None)


def graphml_of(network: Network, weights: Ints | None = None) -> bytes:
    """Return a network as GraphML, which ``network`` reads again.

    Parameters
    ----------
    network
        The network. Where its file says rates, links have them as ``LinkSpeedRaw``, in bit/s, and nodes their kinds.
    weights
        The number of messages of each pair of nodes that arcs join, by source and destination; none are written by default.
    """
    from xml.sax.saxutils import escape, quoteattr  # it imports an HTTP client

    names = ("port", "capacity", *(("weight",) if weights is not None else ()))
    rate = network.chunk_rate and network.chunk_rate * 8
    lines = [f'<key id="{name}" for="edge" attr.name="{name}" attr.type="int"/>' for name in names]
    lines += ['<key id="kind" for="node" attr.name="kind" attr.type="string"/>'] if network.kinds else []
    lines += ['<key id="rate" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>'] if rate else []
    lines.append(f'<graph id={quoteattr(network.spec)} edgedefault="directed">')
    for u, (label, relay) in enumerate(_nodes(network)):
        said = '<data key="relay">true</data>' if relay else ""
        said += f'<data key="kind">{escape(network.kinds[u])}</data>' if network.kinds else ""
        lines.append(f'<node id="{u}"><data key="label">{escape(label)}</data>{said}</node>')
    for arc in _arcs(network, weights):
        said = "".join(f'<data key="{name}">{getattr(arc, name)}</data>' for name in names)
        said += f'<data key="rate">{arc.capacity * rate:.12g}</data>' if rate else ""
        lines.append(f'<edge source="{arc.src}" target="{arc.dst}">{said}</edge>')
    return (_GRAPHML + "\n".join([*lines, "</graph>", "</graphml>"]) + "\n").encode()


@exporter("dot", suffix=".dot", what="the network, for Graphviz", settings=(_LOAD,))
def encode_dot(schedule: Schedule, *, load: bool = False) -> bytes:
    """Return the network of a schedule in Graphviz's language."""
    return dot_of(schedule.network, _weights(schedule) if load else None)


def dot_of(network: Network, weights: Ints | None = None) -> bytes:
    """Return a network in Graphviz's language; ``weights`` are those of ``graphml_of``."""
    names = ("port", "capacity", *(("weight",) if weights is not None else ()))
    lines = [f"digraph {_quote(network.spec)} {{"]
    for u, (label, relay) in enumerate(_nodes(network)):
        lines.append(f"  {u} [label={_quote(label)}{', shape=box' if relay else ''}];")
    for arc in _arcs(network, weights):
        said = ", ".join(f"{name}={getattr(arc, name)}" for name in names)
        lines.append(f"  {arc.src} -> {arc.dst} [{said}];")
    return "\n".join([*lines, "}", ""]).encode()


def _nodes(network: Network) -> Iterator[tuple[str, bool]]:
    """Yield the label of each node, and whether it is a relay."""
    relays = np.zeros(network.nodes, bool) if network.relays is None else network.relays
    yield from zip(network.labels(np.arange(network.nodes)), relays.tolist(), strict=True)


def _quote(text: str) -> str:
    """Return a text as DOT quotes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pairs(network: Network) -> tuple[Ints, Ints, Ints]:
    """Return each pair that arcs join, as a number, with the first of their ports, and how many they are."""
    arcs = arcs_of(network)
    key = arcs.tail.astype(np.int64) * network.nodes + arcs.head
    order = np.lexsort([arcs.port, key])
    pair, first, count = np.unique(key[order], return_index=True, return_counts=True)
    return pair, arcs.port[order][first].astype(np.int64), count


def _weights(schedule: Schedule) -> Ints:
    """Return the number of messages of each pair."""
    pair, _, _ = _pairs(schedule.network)
    weight = np.zeros(len(pair), np.int64)
    src, dst = _carriers(schedule)
    np.add.at(weight, np.searchsorted(pair, src * schedule.network.nodes + dst), 1)
    return weight


def _arcs(network: Network, weights: Ints | None) -> Iterator[_Arc]:
    """Yield all arcs, by source and destination."""
    pair, port, count = _pairs(network)
    weight = np.zeros(len(pair), np.int64) if weights is None else weights
    columns = (pair // network.nodes, pair % network.nodes, port, count, weight)
    for values in zip(*(column.tolist() for column in columns), strict=True):
        yield _Arc(*values)


def _carriers(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return the ends of the arcs that carry messages, an entry for each message and each arc of its way."""
    messages, network = messages_of(schedule), schedule.network
    if not schedule.model.routing:
        return messages.src, messages.dst
    node, port = np.divmod(network.channels(messages.src, messages.dst, schedule.model.routing)[1], network.ports)
    return node, network.neighbor(node, port)
