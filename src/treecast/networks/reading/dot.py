"""Graphs in Graphviz's language, DOT: nodes, links, chains of links, sets, attributes; subgraphs are flattened.

Source: graphviz.org/doc/info/lang.html
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from treecast.networks.reading.links import Links, Parts, passed_over
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain

_TOKEN = re.compile(
    r"(--|->)|([{}\[\];,=:+])|\"((?:[^\"\\]|\\.)*)\"|([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*|-?(?:\.\d+|\d+(?:\.\d*)?))",
    re.S,
)
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|^#[^\n]*)+", re.S | re.M)
_DEEPEST, _MOST_ENDS = 64, 1 << 20
_KNOWN = ("capacity", "relay", "label", "port")
_WORDS = ("node", "edge", "graph")


@dataclass
class _Reading:
    """The words of a file, and what has been read of them."""

    words: list[tuple[str, str]]  # its kind (sign, text or word), and the word
    arrow: str
    place: int = 0
    nodes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    links: list[tuple[str, str, dict[str, str]]] = field(default_factory=list[tuple[str, str, dict[str, str]]])
    ends: int = 0

    def peek(self) -> str:
        """Return the next sign or word, texts with a quote before them."""
        if self.place >= len(self.words):
            raise ValueError("it ends within a graph: a brace is not closed")
        kind, word = self.words[self.place]
        return word if kind != "text" else f'"{word}'

    def take(self, wanted: str) -> bool:
        """Pass over the next word if it is this one; return whether it was."""
        if self.place < len(self.words) and self.peek().lower() == wanted:
            self.place += 1
            return True
        return False

    def name(self) -> str:
        """Return the next word, which is to be a name."""
        said = self.peek()
        if self.words[self.place][0] == "sign":
            raise ValueError(f"{said!r} stands where a name is to stand")
        self.place += 1
        word = self.words[self.place - 1][1]
        while self.place + 1 < len(self.words) and self.words[self.place] == ("sign", "+"):
            word += self.words[self.place + 1][1]
            self.place += 2
        return word


@reader(
    "dot",
    what="Graphviz's DOT",
    recognises=matches(rb"\A(?:\s|//.*|/\*(?s:.*?)\*/|#.*)*(?:strict\s+)?(?:di)?graph\b[^{}<>=]*\{"),
    suffixes=(".dot", ".gv"),
)
def parts_of_dot(data: bytes) -> Parts:
    """Return the nodes and arcs of a DOT file: ``--`` leads both ways, ``->`` one way.

    ``capacity`` of a link is how many cables it has, ``relay=true`` of a node that it takes no part, and ``label`` what it is
    called, if no other is called so. All else is passed over.
    """
    reading = _Reading(list(_words("\n".join(lines_of(data)))), "--")
    reading.take("strict")
    kind = reading.name().lower()
    if kind not in ("graph", "digraph"):
        raise ValueError("it is no DOT: it begins with graph or digraph")
    reading.arrow = "->" if kind == "digraph" else "--"
    if reading.peek() != "{":
        reading.name()
    _block(reading, {"node": {}, "edge": {}}, 0)
    if reading.place < len(reading.words):
        raise ValueError("it holds several graphs: leave one")
    return _parts(reading, kind == "digraph")


def _parts(reading: _Reading, one_way: bool) -> Parts:
    labels = {name: "_".join(plain(of.get("label", "")).split()) for name, of in reading.nodes.items()}
    plainly = {name: "_".join(plain(name).split()) for name in labels}
    many = Counter(labels.values())
    unique = {
        name: label if label and "\\" not in label and many[label] == 1 else plainly[name]
        for name, label in labels.items()
    }
    if len(set(unique.values())) < len(unique):  # a label that is another's name
        unique = plainly
    links, passed = Links(), dict[str, None]()
    for name, of in reading.nodes.items():
        links.add(unique[name], of.get("relay", "true" if of.get("shape") == "box" else "false"))
        passed |= dict.fromkeys(key for key in of if key not in (*_KNOWN, "shape"))
    for u, v, of in reading.links:
        links.join(unique[u], unique[v], of.get("capacity"), one_way)
        passed |= dict.fromkeys(key for key in of if key not in _KNOWN)
    return links.parts()._replace(remarks=passed_over(passed))


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text; what stands in angle brackets is one text."""
    place = 0
    while True:
        if blank := _BLANK.match(text, place):
            place = blank.end()
        if place >= len(text):
            return
        if text[place] == "<":
            deep, start = 1, place + 1
            while deep:
                place += 1
                if place >= len(text):
                    raise ValueError("a label in angle brackets is not closed")
                deep += (text[place] == "<") - (text[place] == ">")
            place += 1
            yield "text", re.sub(r"<[^<>]*>", " ", text[start : place - 1])
            continue
        found = _TOKEN.match(text, place)
        if not found:
            line = text.count("\n", 0, place) + 1
            raise ValueError(f"line {line} has {plain(text[place : place + 20])!r}, which DOT has no place for")
        place = found.end()
        if found[3] is not None:
            yield "text", found[3].replace("\\\n", "").replace('\\"', '"')
        else:
            yield ("word" if found[4] else "sign"), found[1] or found[2] or found[4]


def _block(reading: _Reading, usual: dict[str, dict[str, str]], deep: int) -> list[str]:
    """Read what stands in braces; return the nodes in it."""
    if deep > _DEEPEST:
        raise ValueError(f"it has more than {_DEEPEST} subgraphs in each other")
    if not reading.take("{"):
        raise ValueError(f"{reading.peek()[:20]!r} stands where a brace is to open")
    usual = {kind: dict(of) for kind, of in usual.items()}
    inside = dict[str, None]()
    while not reading.take("}"):
        if reading.take(";") or reading.take(","):
            continue
        word = reading.peek().lower()
        if word in _WORDS and reading.words[reading.place][0] == "word":
            reading.place += 1
            of = _attributes(reading)
            usual.setdefault(word, {}).update(of)
            continue
        inside |= dict.fromkeys(_statement(reading, usual, deep))
    return list(inside)


def _statement(reading: _Reading, usual: dict[str, dict[str, str]], deep: int) -> list[str]:
    """Read nodes and what joins them; return the nodes."""
    chain = [_ends(reading, usual, deep)]
    if reading.peek() == "=" and len(chain[0]) == 1:  # an attribute of the graph
        reading.take("=")
        reading.name()
        if not reading.nodes[chain[0][0]] and all(chain[0][0] not in link[:2] for link in reading.links[-4:]):
            del reading.nodes[chain[0][0]]
        return []
    while reading.peek() in ("--", "->"):
        if not reading.take(reading.arrow):
            raise ValueError(
                f"{reading.peek()} joins nodes in a {'di' if reading.arrow == '->' else ''}graph: write {reading.arrow}"
            )
        chain.append(_ends(reading, usual, deep))
    of = _attributes(reading)
    if len(chain) == 1:
        for name in chain[0]:
            reading.nodes[name].update(of)
    for left, right in pairwise(chain):
        reading.ends += len(left) * len(right)
        if reading.ends > _MOST_ENDS:
            raise ValueError(f"it has more than {_MOST_ENDS:,} links")
        reading.links += [(u, v, usual["edge"] | of) for u in left for v in right]
    return [name for some in chain for name in some]


def _ends(reading: _Reading, usual: dict[str, dict[str, str]], deep: int) -> list[str]:
    """Return the nodes at one end of a link: one, or those of a set."""
    if reading.peek().lower() == "subgraph" and reading.words[reading.place][0] == "word":
        reading.place += 1
        if reading.peek() != "{":
            reading.name()
    if reading.peek() == "{":
        return _block(reading, usual, deep + 1)
    name = reading.name()
    while reading.take(":"):
        reading.name()
    reading.nodes.setdefault(name, dict(usual["node"]))
    return [name]


def _attributes(reading: _Reading) -> dict[str, str]:
    """Return what stands in brackets, if anything does."""
    found = dict[str, str]()
    while reading.take("["):
        while not reading.take("]"):
            if reading.take(",") or reading.take(";"):
                continue
            key = reading.name()
            found[key] = reading.name() if reading.take("=") else "true"
    return found
