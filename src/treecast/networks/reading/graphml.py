"""Graphs in GraphML, read as a stream: a node or link is forgotten when it is read, so that large files need little memory.

Source: Brandes, Eiglsperger, Lerner & Pich, "Graph Markup Language (GraphML)" (2013).
"""

from collections import Counter
from dataclasses import dataclass, field

from treecast.errors import TreecastError
from treecast.networks.reading.data import Element, tree_of
from treecast.networks.reading.links import Links, Parts, label_or_name, passed_over, unquoted
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.units import parse_rate

_LABELS = ("NodeLabel", "label", "name")  # yEd's element comes first
_RATES = {"LinkSpeedRaw": "{}bit/s", "rate": "{}"}  # how the text of each is a rate
_VALUES = ("capacity", "relay", *_RATES, *_LABELS)
_OURS = ("kind", "port")  # which treecast writes, too
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
    return found.parts(directed=_is_directed(graphs[0]))


def _is_directed(graph: Element) -> bool:
    return graph.of.get("edgedefault") == "directed"


@dataclass
class _Found:
    """The graph that has been read so far."""

    links: Links = field(default_factory=Links)
    keys: dict[str, str] = field(default_factory=dict[str, str])  # the value of each key, or another attribute
    usual: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    passed: dict[str, None] = field(default_factory=dict[str, None])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    rates: list[tuple[str, str, float, bool]] = field(default_factory=list[tuple[str, str, float, bool]])
    loops: int = 0
    edges: int = 0

    def key(self, key: Element, _: Element) -> None:
        """Read the meaning of a key."""
        value, default = key.of.get("attr.name", ""), key.first("default")
        if value not in _OURS:
            self.keys[key.of.get("id", "")] = value
        if default is not None and value in _VALUES:
            for of in ("node", "edge") if key.of.get("for", "all") == "all" else (key.of["for"],):
                self.usual[of, value] = default.text

    def node(self, node: Element, _: Element) -> None:
        """Read a node."""
        if node.first("graph") is not None:
            raise ValueError("it holds several graphs: leave one")
        name, said = unquoted(_needed(node, "id")), self._said(node)
        for label in node.every("NodeLabel"):
            said.setdefault(label.tag, label.text)
        self.links.add(name, said.get("relay") or False)
        labels = ("_".join(said.get(label, "").split())[:256] for label in _LABELS)
        self.labels[name] = next(filter(None, labels), "")

    def edge(self, edge: Element, graph: Element) -> None:
        """Read a link."""
        u, v, said = unquoted(_needed(edge, "source")), unquoted(_needed(edge, "target")), self._said(edge)
        one_way = _WAYS.get(edge.of.get("directed", ""), _is_directed(graph))
        self.links.join(u, v, said.get("capacity"), one_way)
        rates = (_gigabits(spelled.format(said[name])) for name, spelled in _RATES.items() if name in said)
        if len(self.rates) == self.edges and (rate := next(filter(None, rates), 0.0)):
            self.rates.append((u, v, rate, one_way))
        elif "rate" in said:
            self.passed["rate, which is read where all links have it with its unit, as in 100Gbit/s"] = None
        self.edges += 1
        self.loops += u == v

    def hyperedge(self, _: Element, __: Element) -> None:
        """Refuse a hyperedge."""
        raise ValueError("it holds hyperedges, which join more than two nodes: make each a relay")

    def _said(self, element: Element) -> dict[str, str]:
        """Return the values of a node or link."""
        said = {value: text for (of, value), text in self.usual.items() if of == element.tag}
        for each in element.below:
            value = self.keys.get(each.of.get("key", "")) if each.tag == "data" else None
            if value in _VALUES:
                said[value] = each.text
            elif value:
                self.passed[value] = None
        return said

    def parts(self, directed: bool) -> Parts | Machine:
        """Return the graph that has been read."""
        parts, many = self.links.parts(), Counter(self.labels.values())
        missing = many.pop("", 0)
        names = label_or_name([self.labels.get(name, "") for name in parts.names], parts.names)
        facts = {
            "directed": directed,
            "edges": self.edges,
            "loops": self.loops,
            "labels_twice": sum(count > 1 for count in many.values()),
            "labels_missing": missing,
        }
        remarks = passed_over(self.passed)
        if not self.rates or len(self.rates) < self.edges:
            return parts._replace(names=names, remarks=remarks, facts=facts)
        kinds = zip(parts.names, names, parts.relays.tolist(), strict=True)
        nodes = {name: Node("switch" if relay else "host", called) for name, called, relay in kinds}
        links, one = list[Link](), Counter[tuple[str, str, float]]()
        for u, v, rate, one_way in self.rates:
            if one_way and not one[v, u, rate]:
                one[u, v, rate] += 1
            else:  # an arc back of the same rate makes a link
                one[v, u, rate] -= one_way
                links += [Link(u, v, rate)] if u != v else []
        links += [Link(u, v, rate, many, one_way=True) for (u, v, rate), many in one.items() if many and u != v]
        loops = [Complaint(f"{self.loops} links from a node to itself", (), "left out")] if self.loops else []
        return Machine("GraphML", nodes, links, facts, [*map(Complaint, remarks), *loops])


def _needed(element: Element, attribute: str) -> str:
    if attribute not in element.of:
        raise ValueError("a node lacks its id, or an edge its source or target")
    return element.of[attribute]


def _gigabits(text: str) -> float:
    """Return a rate as Gbit/s, 0 for any text that is none."""
    try:
        rate = parse_rate(text) * 8 / 1e9
    except TreecastError:
        return 0.0
    return rate if 1e-9 <= rate <= 1e9 else 0.0
