"""Graphs in GraphML, read as a stream: a node or link is forgotten when it is read, so that large files need little memory.

Source: Brandes, Eiglsperger, Lerner & Pich, "Graph Markup Language (GraphML)" (2013).
"""

from typing import Any
from xml.parsers import expat

from treecast.networks.reading.links import Links, Parts, unquoted
from treecast.networks.reading.registry import begins_with_element, reader

_LONGEST = 1 << 16  # characters of a value
_VALUES = ("capacity", "relay")
_WAYS = {"true": True, "false": False}


@reader("graphml", what="GraphML", recognises=begins_with_element("graphml"), suffixes=(".graphml", ".xml"))
def parts_of_graphml(data: bytes) -> Parts:
    """Return the nodes and arcs of a GraphML file.

    Links have the attribute ``capacity``, nodes ``relay``; all others are passed over. A link leads both ways, unless it or
    the graph is directed.

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
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is no GraphML: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    if not reader.graphs:
        raise ValueError("it is no GraphML: it holds no graph")
    return reader.links.parts()


def _refuse_entities(*_: Any) -> None:
    raise ValueError("it declares entities, which GraphML has no need of: they can make a small file huge")


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
        elif name == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise ValueError("it holds several graphs: leave one")
            self._one_way = attributes.get("edgedefault") == "directed"
        elif name == "data":
            self._key = attributes.get("key", "")
        elif name == "hyperedge":
            raise ValueError("it holds hyperedges, which join more than two nodes: make each a relay")
        self._inside.append(name)
        self._text = []

    def text(self, text: str) -> None:
        """Read some characters."""
        if self._key in self._keys and self._inside[-1] in ("data", "default"):
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
        elif name == "node":
            self.links.add(unquoted(self._needed("id")), self._value("node", "relay") or False)
        elif name == "edge":
            ends = unquoted(self._needed("source")), unquoted(self._needed("target"))
            one_way = _WAYS.get(self._of.get("directed", ""), self._one_way)
            self.links.join(*ends, self._value("edge", "capacity"), one_way)

    def _needed(self, attribute: str) -> str:
        if attribute not in self._of:
            raise ValueError("a node lacks its id, or an edge its source or target")
        return self._of[attribute]

    def _value(self, of: str, value: str) -> str | None:
        if value in self._said:
            return self._said[value]
        return self._defaults.get((of, value), self._defaults.get(("all", value))) if self._defaults else None
