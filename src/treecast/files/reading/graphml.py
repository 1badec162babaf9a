"""Graphs in GraphML, read as a stream: a node or link is forgotten when it is read, so that large files need little memory.

Source: Brandes, Eiglsperger, Lerner & Pich, "Graph Markup Language (GraphML)" (2013).
"""

from dataclasses import dataclass, field

from treecast.files.reading.data import Element, tree_of
from treecast.networks.reading.drawn import Drawn
from treecast.networks.reading.links import Parts, unquoted
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import begins_with_element, reader

_WAYS = {"true": True, "false": False}


@reader("graphml", summary="GraphML", recognises=begins_with_element("graphml"), suffixes=(".graphml", ".xml"))
def parts_of_graphml(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of a GraphML file; a machine where every link says its rate: ``rate``, with its
    unit, or ``LinkSpeedRaw``, in bit/s.

    Links have the attribute ``capacity``, nodes ``relay``; all others are passed over. A link leads both ways, unless it or the
    graph is directed. A node is called by its label, if no other has it: the one that yEd shows, or else ``label``, or ``name``.
    Raises ValueError when it is no GraphML, declares entities, or holds hyperedges or more graphs than one.
    """
    found = _Found()
    taken = {"key": found.key, "node": found.node, "edge": found.edge, "hyperedge": found.hyperedge}
    root = tree_of(data, "GraphML", taken)
    if root.tag != "graphml":
        raise ValueError(f"it is no GraphML: it begins with <{root.tag[:40]}>")
    graphs = list(root.every("graph"))
    if len(graphs) != 1:
        raise ValueError("it holds several graphs: leave one" if graphs else "it is no GraphML: it holds no graph")
    return found.drawn.parts(directed=_is_directed(graphs[0]))


def _is_directed(graph: Element) -> bool:
    return graph.of.get("edgedefault") == "directed"


@dataclass
class _Found:
    """The graph that has been read so far."""

    drawn: Drawn = field(default_factory=lambda: Drawn("GraphML"))
    keys: dict[str, str] = field(default_factory=dict[str, str])  # the value of each key, or another attribute
    # defaults, by node or edge and the attribute
    usual: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def key(self, key: Element, _: Element) -> None:
        """Read the meaning of a key."""
        value, default = key.of.get("attr.name", ""), key.first("default")
        self.keys[key.of.get("id", "")] = value
        if default is not None:
            for of in ("node", "edge") if key.of.get("for", "all") == "all" else (key.of["for"],):
                self.usual[of, value] = default.text

    def node(self, node: Element, _: Element) -> None:
        """Read a node."""
        if node.first("graph") is not None:
            raise ValueError("it holds several graphs: leave one")
        name, said = unquoted(_needed(node, "id")), self._said(node)
        for label in node.every("NodeLabel"):
            said.setdefault(label.tag, label.text)  # yEd's stands deeper; the first counts
        self.drawn.node(name, said)

    def edge(self, edge: Element, graph: Element) -> None:
        """Read a link."""
        u, v, said = unquoted(_needed(edge, "source")), unquoted(_needed(edge, "target")), self._said(edge)
        one_way = _WAYS.get(edge.of.get("directed", ""), _is_directed(graph))  # a link's own word comes first
        self.drawn.join(u, v, said, one_way)

    def hyperedge(self, _: Element, __: Element) -> None:
        """Refuse a hyperedge."""
        raise ValueError("it holds hyperedges, which join more than two nodes: make each a relay")

    def _said(self, element: Element) -> dict[str, str]:
        """Return the values of a node or link."""
        said = {value: text for (of, value), text in self.usual.items() if of == element.tag}
        datas = ((self.keys.get(each.of.get("key", "")), each.text) for each in element.below if each.tag == "data")
        return said | {value: text for value, text in datas if value}


def _needed(element: Element, attribute: str) -> str:
    if attribute not in element.of:
        raise ValueError("a node lacks its id, or an edge its source or target")
    return element.of[attribute]
