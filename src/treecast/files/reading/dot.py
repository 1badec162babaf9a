"""Graphs in Graphviz's language, DOT: nodes, links, chains of links, sets, attributes; subgraphs are flattened.

Source: graphviz.org/doc/info/lang.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

from treecast.networks.reading.drawn import Drawn
from treecast.networks.reading.links import Parts
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import Scanner, lines_of, plain

# blanks, comments, and lines of a preprocessor
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|^#[^\n]*)+", re.S | re.M)
_SIGN = re.compile(r"--|->|[{}\[\];,=:+]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_WORD = re.compile(r"[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*|-?(?:\.\d+|\d+(?:\.\d*)?)")
_DEEPEST, _MOST_LINKS = 64, 1 << 20  # subgraphs within each other
Attributes = dict[str, str]


@reader(
    "dot",
    summary="Graphviz's DOT",
    recognises=matches(rb"\A(?>\s+|//[^\r\n]*|/\*(?s:.*?)\*/|#[^\r\n]*)*+(?:strict\s+)?(?:di)?graph\b[^{}<>=]*\{"),
    suffixes=(".dot", ".gv"),
)
def parts_of_dot(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of a DOT file: ``--`` leads both ways, ``->`` one way. A strict graph has no parallel links.

    ``capacity`` of a link is how many cables it has, ``rate`` how much each carries, ``relay=true`` of a node that it takes no
    part, and ``label`` the name that it is called, if no other is called so. All else is passed over.
    """
    graph = _Graph(Scanner(_words("\n".join(lines_of(data)))))
    graph.is_strict = graph.take("strict")
    if (kind := graph.name().lower()) not in ("graph", "digraph"):
        raise ValueError("it is no DOT: it begins with graph or digraph")
    graph.arrow = "->" if kind == "digraph" else "--"
    if graph.words.next != "{":
        graph.name()  # of the graph itself: nobody asks for it
    graph.block({"node": {}, "edge": {}}, 0)
    if graph.words.next:
        raise ValueError("it holds several graphs: leave one")
    found = Drawn("DOT")
    named = {name: "_".join(plain(name).split()) for name in graph.nodes}
    for name, of in graph.nodes.items():
        # a box is a relay, unless it says itself
        label, relay = plain(of.get("label", "")), of.get("relay", of.get("shape") == "box")
        said = {key: value for key, value in of.items() if key != "shape"}
        # an escape in a label, as \N, stands for something else: it is no name
        found.node(named[name], said | {"relay": relay, "label": "" if "\\" in label else label})
    for u, v, of in graph.links.values():
        found.join(named[u], named[v], of, kind == "digraph")
    return found.parts()


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the signs and words of a text, a quote before the quoted text; text in angle brackets is one."""
    place = 0
    while True:
        if blank := _BLANK.match(text, place):
            place = blank.end()
        if place >= len(text):
            return
        # a label in HTML: its brackets nest, and its tags are blanks
        if text[place] == "<":
            deep, start = 1, place + 1
            while deep:
                place += 1
                if place >= len(text):
                    raise ValueError("a label in angle brackets is not closed")
                deep += (text[place] == "<") - (text[place] == ">")
            place += 1
            yield '"' + re.sub(r"<[^<>]*>", " ", text[start : place - 1]), 0
        elif found := _QUOTED.match(text, place):
            place = found.end()
            yield '"' + found[1].replace("\\\n", "").replace('\\"', '"'), 0  # a line that ends in \ goes on
        elif found := _SIGN.match(text, place) or _WORD.match(text, place):
            place = found.end()
            yield found[0], 0
        else:
            line = text.count("\n", 0, place) + 1
            raise ValueError(f"line {line} has {plain(text[place : place + 20])!r}, which DOT has no place for")


@dataclass
class _Graph:
    """The words of a file, and the graph that has been read of them."""

    words: Scanner
    arrow: str = "--"
    is_strict: bool = False
    nodes: dict[str, Attributes] = field(default_factory=dict[str, Attributes])
    links: dict[object, tuple[str, str, Attributes]] = field(default_factory=dict[object, tuple[str, str, Attributes]])

    def take(self, *wanted: str) -> bool:
        """Pass over the next word if it is one of these; return whether it was."""
        # keywords have any case; a quoted text keeps its quote, and is none
        return self.peek().lower() in wanted and bool(self.words.take())

    def peek(self) -> str:
        """Return the next word, without passing over it."""
        if not self.words.next:
            raise ValueError("it ends within a graph: a brace is not closed")
        return self.words.next

    def name(self) -> str:
        """Return the next word, which is to be a name; texts between which + stands are one."""
        said = list[str]()
        while not said or (self.words.next == "+" and self.words.take()):
            if _SIGN.fullmatch(self.peek()):
                raise ValueError(f"{self.words.next!r} stands where a name is to stand")
            said.append(self.words.take().removeprefix('"'))
        return "".join(said)

    def block(self, usual: dict[str, Attributes], deep: int) -> list[str]:
        """Read a block in braces; return the nodes in it."""
        if deep > _DEEPEST:
            raise ValueError(f"it has more than {_DEEPEST} subgraphs in each other")
        if not self.take("{"):
            raise ValueError(f"{self.words.next[:20]!r} stands where a brace is to open")
        # a copy: what a subgraph says of nodes and links holds in it alone
        usual, inside = {kind: dict(of) for kind, of in usual.items()}, dict[str, None]()
        while not self.take("}"):
            if self.take(";", ","):
                continue
            if (word := self.words.next.lower()) in ("node", "edge", "graph"):
                self.words.take()
                usual.setdefault(word, {}).update(self.attributes())
            else:
                inside |= dict.fromkeys(self.statement(usual, deep))
        return list(inside)

    def statement(self, usual: dict[str, Attributes], deep: int) -> list[str]:
        """Read nodes and their links; return the nodes."""
        before, chain = len(self.nodes), [self.ends(usual, deep)]
        if len(chain[0]) == 1 and self.take("="):  # an attribute of the graph
            self.name()
            if len(self.nodes) > before:  # its name was taken for a node
                self.nodes.popitem()
            return []
        while self.words.next in ("--", "->"):
            if not self.take(self.arrow):
                kind = "digraph" if self.arrow == "->" else "graph"
                raise ValueError(f"{self.words.next} joins nodes in a {kind}: write {self.arrow}")
            chain.append(self.ends(usual, deep))
        of = self.attributes()
        # attributes are of the nodes where they stand alone, else of the links
        for name in chain[0] if len(chain) == 1 else ():
            self.nodes[name].update(of)
        for left, right in pairwise(chain):
            # of sets all pairs: counted before they are made
            if len(self.links) + len(left) * len(right) > _MOST_LINKS:
                raise ValueError(f"it has more than {_MOST_LINKS:,} links")
            for u, v in product(left, right):
                # a strict graph has one link of the same ends, and takes what is said of it again
                ends = (u, v) if self.arrow == "->" else frozenset((u, v))
                one = ends if self.is_strict else len(self.links)
                self.links.setdefault(one, (u, v, dict(usual["edge"])))[2].update(of)
        return [name for some in chain for name in some]

    def ends(self, usual: dict[str, Attributes], deep: int) -> list[str]:
        """Return the nodes at one end of a link: one, or those of a set."""
        if self.take("subgraph") and self.words.next != "{":
            self.name()
        if self.words.next == "{":
            return self.block(usual, deep + 1)
        name = self.name()
        while self.take(":"):  # a port, and a point of the compass
            self.name()
        self.nodes.setdefault(name, dict(usual["node"]))
        return [name]

    def attributes(self) -> Attributes:
        """Return the attributes in brackets, if there are some."""
        found: Attributes = {}
        while self.take("["):
            while not self.take("]"):
                if not self.take(",", ";"):
                    key = self.name()
                    found[key] = self.name() if self.take("=") else "true"
        return found
