"""Graphs in GraphML, read as a stream: a node or link is forgotten when it is read, so that large files need little memory.

Source: Brandes, Eiglsperger, Lerner & Pich, "Graph Markup Language (GraphML)" (2013).
"""

from collections import Counter
from xml.parsers import expat

from treecast.networks.reading.links import Links, Parts, passed_over, unquoted
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.xml_tree import refuse_entities

_LONGEST = 1 << 16  # characters of a value
_LABELS = ("NodeLabel", "label", "name")  # yEd's element comes first
_RATE = "LinkSpeedRaw"
_VALUES = ("capacity", "relay", _RATE, *_LABELS)
_OURS = ("kind", "port")  # which treecast writes, too
_WAYS = {"true": True, "false": False}


@reader("graphml", what="GraphML", recognises=begins_with_element("graphml"), suffixes=(".graphml", ".xml"))
def parts_of_graphml(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of a GraphML file; a machine where every link says its rate in bit/s (``LinkSpeedRaw``).

    Links have the attribute ``capacity``, nodes ``relay``; all others are passed over. A link leads both ways, unless it or
    the graph is directed. A node is called by its label, if no other has it: what yEd shows, or else ``label``, or ``name``.

    Parameters
    ----------
    data
        The file.

    Raises
    ------
    ValueError
        When it is no GraphML, declares entities, or holds hyperedges or more graphs than one.
    """
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = refuse_entities
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is no GraphML: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    except LookupError as error:  # its encoding
        raise ValueError(f"it is no GraphML: {error}") from None
    if not reader.graphs:
        raise ValueError("it is no GraphML: it holds no graph")
    return reader.found()


class _Reader:
    """What has been read so far."""

    def __init__(self) -> None:
        self.links, self.graphs = Links(), 0
        self._keys: dict[str, tuple[str, str]] = {}  # of what, and which value, by the id of a key
        self._defaults: dict[tuple[str, str], str] = {}
        self._one_way = False
        self._inside: list[str] = []
        self._of, self._said = dict[str, str](), dict[str, str]()  # attributes of the node or link, and its values
        self._key, self._text = "", list[str]()
        self._others, self._passed = (
            dict[str, str](),
            dict[str, None](),
        )  # attributes that nothing reads, and those in use
        self._labels, self._rates = dict[str, str](), list[tuple[str, str, float, bool]]()
        self._seen = self._loops = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = tag.rpartition(" ")[2]
        if not self._inside and name != "graphml":
            raise ValueError(f"it is no GraphML: it begins with <{name[:40]}>")
        if name in ("node", "edge"):
            self._of, self._said = attributes, {}
        elif name == "key":
            self._key = attributes.get("id", "")
            value = attributes.get("attr.name", "")
            if value in _VALUES:
                self._keys[self._key] = (attributes.get("for", "all"), value)
            elif value and value not in _OURS:
                self._others[self._key] = value
        elif name == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise ValueError("it holds several graphs: leave one")
            self._one_way = attributes.get("edgedefault") == "directed"
        elif name == "data":
            self._key = attributes.get("key", "")
            if self._key in self._others and self._inside[-1] in ("node", "edge"):
                self._passed[self._others[self._key]] = None
        elif name == "hyperedge":
            raise ValueError("it holds hyperedges, which join more than two nodes: make each a relay")
        self._inside.append(name)
        self._text = []

    def text(self, text: str) -> None:
        """Read some characters."""
        inside = self._inside[-1] if self._inside else ""
        if inside == "NodeLabel" or (self._key in self._keys and inside in ("data", "default")):
            self._text.append(text)
            if sum(map(len, self._text)) > _LONGEST:
                raise ValueError("a value is too long")

    def end(self, tag: str) -> None:
        """End an element."""
        name = self._inside.pop()
        if name in ("data", "default") and self._key in self._keys:
            of, value = self._keys[self._key]
            if name == "default":
                self._defaults[of, value] = "".join(self._text)
            elif self._inside[-1] in ("node", "edge"):
                self._said[value] = "".join(self._text)
        elif name == "NodeLabel":
            self._said.setdefault(name, "".join(self._text))
        elif name == "node":
            self._node(unquoted(self._needed("id")))
        elif name == "edge":
            self._link(unquoted(self._needed("source")), unquoted(self._needed("target")))

    def _node(self, name: str) -> None:
        self.links.add(name, self._value("node", "relay") or False)
        said = ("_".join((self._value("node", label) or "").split())[:256] for label in _LABELS)
        self._labels[name] = next(filter(None, said), "")

    def _link(self, u: str, v: str) -> None:
        one_way = _WAYS.get(self._of.get("directed", ""), self._one_way)
        self.links.join(u, v, self._value("edge", "capacity"), one_way)
        self._seen += 1
        self._loops += u == v
        if len(self._rates) + 1 == self._seen:
            rate = _bits(self._value("edge", _RATE) or "")
            self._rates += [(u, v, rate, one_way)] if rate else []

    def found(self) -> Parts | Machine:
        """Return what has been read."""
        parts = self.links.parts()
        many = Counter(self._labels.values())
        said = [self._labels.get(name, "") for name in parts.names]
        names = [label if label and many[label] == 1 else name for label, name in zip(said, parts.names, strict=True)]
        if len(set(names)) < len(names):  # a label that is another's id
            names = parts.names
        missing = many.pop("", 0)
        facts = {
            "directed": self._one_way,
            "edges": self._seen,
            "loops": self._loops,
            "labels_twice": sum(count > 1 for count in many.values()),
            "labels_missing": missing,
        }
        remarks = passed_over(self._passed)
        if not self._rates or len(self._rates) < self._seen:
            return parts._replace(names=names, remarks=remarks, facts=facts)
        called = dict(zip(parts.names, names, strict=True))
        nodes = {
            name: Node("switch" if relay else "host", called[name])
            for name, relay in zip(parts.names, parts.relays.tolist(), strict=True)
        }
        links = [Link(u, v, rate, one_way=one_way) for u, v, rate, one_way in self._rates if u != v]
        loops = [Complaint(f"{self._loops} links from a node to itself", (), "left out")] if self._loops else []
        return Machine("GraphML", nodes, links, facts, [*map(Complaint, remarks), *loops])

    def _needed(self, attribute: str) -> str:
        if attribute not in self._of:
            raise ValueError("a node lacks its id, or an edge its source or target")
        return self._of[attribute]

    def _value(self, of: str, value: str) -> str | None:
        if value in self._said:
            return self._said[value]
        return self._defaults.get((of, value), self._defaults.get(("all", value))) if self._defaults else None


def _bits(text: str) -> float:
    """Return bits a second as Gbit/s, 0 for what is no such number."""
    try:
        rate = float(text) / 1e9
    except ValueError:
        return 0.0
    return rate if 1e-9 <= rate <= 1e9 else 0.0
