"""The network of a schedule as GraphML or DOT, with the number of messages that each arc carries."""

from collections.abc import Iterator

import numpy as np

from treecast.files.formats.registry import Setting, exporter
from treecast.files.programs.messages import messages_of
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.past_relays import whole_of
from treecast.ragged import Ints
from treecast.schedule import Schedule

_LOAD = Setting(name="load", summary="Write the number of messages on each arc as its weight.", read=bool, flag=True)
_GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="relay" for="node" attr.name="relay" attr.type="boolean"/>
"""


@exporter("graphml", suffix=".graphml", summary="the network, for networkx, Gephi and yEd", settings=(_LOAD,))
def encode_graphml(schedule: Schedule, *, load: bool = False) -> bytes:
    """Return the network of a schedule as GraphML."""
    return graphml_of(whole_of(schedule.network), _weights(schedule) if load else None)


def graphml_of(network: Network, weights: Ints | None = None) -> bytes:
    """Return a network as GraphML, which ``network`` reads again.

    Where its file says rates, links have them as ``LinkSpeedRaw``, in bit/s, and nodes their kinds. ``weights``: the number of
    messages of each pair of nodes that arcs join, by source and destination; none are written by default.
    """
    from xml.sax.saxutils import escape, quoteattr  # it imports an HTTP client

    arcs, rate = _arcs(network, weights), network.chunk_rate and network.chunk_rate * 8
    lines = [f'<key id="{name}" for="edge" attr.name="{name}" attr.type="int"/>' for name in arcs[1]]
    lines += ['<key id="adds" for="node" attr.name="adds" attr.type="boolean"/>'] if network.adds is not None else []
    lines += ['<key id="kind" for="node" attr.name="kind" attr.type="string"/>'] if network.kinds else []
    lines += ['<key id="rate" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>'] if rate else []
    lines.append(f'<graph id={quoteattr(network.spec)} edgedefault="directed">')
    for u, (label, relay, adds) in enumerate(_nodes(network)):
        said = '<data key="relay">true</data>' * relay + '<data key="adds">true</data>' * adds
        said += f'<data key="kind">{escape(network.kinds[u])}</data>' if network.kinds else ""
        lines.append(f'<node id="{u}"><data key="label">{escape(label)}</data>{said}</node>')
    for (src, dst), about in _each(*arcs):
        said = "".join(f'<data key="{name}">{value}</data>' for name, value in about.items())
        said += f'<data key="rate">{about["capacity"] * rate:.12g}</data>' if rate else ""
        lines.append(f'<edge source="{src}" target="{dst}">{said}</edge>')
    return (_GRAPHML + "\n".join([*lines, "</graph>", "</graphml>"]) + "\n").encode()


@exporter("dot", suffix=".dot", summary="the network, for Graphviz", settings=(_LOAD,))
def encode_dot(schedule: Schedule, *, load: bool = False) -> bytes:
    """Return the network of a schedule in Graphviz's language."""
    return dot_of(whole_of(schedule.network), _weights(schedule) if load else None)


def dot_of(network: Network, weights: Ints | None = None) -> bytes:
    """Return a network in Graphviz's language; ``weights`` are those of ``graphml_of``."""
    lines = [f"digraph {_quote(network.spec)} {{"]
    for u, (label, relay, adds) in enumerate(_nodes(network)):
        lines.append(f"  {u} [label={_quote(label)}{', shape=box' * relay}{', adds=true' * adds}];")
    for (src, dst), about in _each(*_arcs(network, weights)):
        said = ", ".join(f"{name}={value}" for name, value in about.items())
        lines.append(f"  {src} -> {dst} [{said}];")
    return "\n".join([*lines, "}", ""]).encode()


def _nodes(network: Network) -> Iterator[tuple[str, bool, bool]]:
    """Yield the label of each node, whether it is a relay, and whether it adds."""
    none = np.zeros(network.nodes, bool)
    flags = [none if column is None else column for column in (network.relays, network.adds)]
    yield from zip(network.labels(np.arange(network.nodes)), *(column.tolist() for column in flags), strict=True)


def _quote(text: str) -> str:
    """Return a text as DOT quotes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _arcs(network: Network, weights: Ints | None = None) -> tuple[Ints, dict[str, Ints]]:
    """Return each pair that arcs join, as a number, with the first of their ports, how many they are, and their messages."""
    arcs = arcs_of(network)
    key = arcs.tail.astype(np.int64) * network.nodes + arcs.head  # both ends in one number
    order = np.lexsort([arcs.port, key])
    pair, first, count = np.unique(key[order], return_index=True, return_counts=True)
    about = {"port": arcs.port[order][first].astype(np.int64), "capacity": count}
    return np.stack(np.divmod(pair, network.nodes)), about | ({} if weights is None else {"weight": weights})


def _each(ends: Ints, about: dict[str, Ints]) -> Iterator[tuple[tuple[int, int], dict[str, int]]]:
    """Yield the ends of each pair that arcs join, by source and destination, and its figures."""
    columns = zip(*(column.tolist() for column in about.values()), strict=True)
    for src, dst, values in zip(*ends.tolist(), columns, strict=True):
        yield (src, dst), dict(zip(about, values, strict=True))


def _weights(schedule: Schedule) -> Ints:
    """Return the number of messages of each pair."""
    whole = whole_of(schedule.network)
    nodes, (src, dst) = whole.nodes, _arcs(whole)[0]
    source, target = _carriers(schedule)
    # pairs are in order
    return np.bincount(np.searchsorted(src * nodes + dst, source * nodes + target), minlength=len(src))


def _carriers(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return the ends of the arcs that carry messages, an entry for each message and each arc of its way."""
    messages, network = messages_of(schedule), schedule.network
    if network.past_routes is not None:
        of_routes = network.past_routes.channel[arcs_of(network).number(messages.src, messages.port)]
        crossed, within = of_routes[of_routes >= 0], arcs_of(whole_of(network))
        return within.tail[crossed].astype(np.int64), within.head[crossed].astype(np.int64)
    if not schedule.model.routing:
        return messages.src, messages.dst
    node, port = np.divmod(network.channels(messages.src, messages.dst, schedule.model.routing)[1], network.ports)
    return node, network.neighbor(node, port)
