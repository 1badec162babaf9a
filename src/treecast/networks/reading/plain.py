"""Graphs in plain text: an edge list, two names a line."""

import ast
import codecs
import re
from contextlib import suppress
from typing import Any, cast

from treecast.networks.reading.links import Links, Parts, passed_over, unquoted
from treecast.networks.reading.registry import reader

_TUPLE = re.compile(r"(?<![^\s,])\([^()]*\)(?![^\s,])")
_HINT = "write two names, and a capacity if you like, as in: a b 2"


@reader("links", summary="links, two names a line", recognises=lambda head: False, suffixes=(".edges", ".edgelist"))
def parts_of_text(data: bytes) -> Parts:
    """Return the nodes and arcs of an edge list, in UTF-8: a link a line, joined both ways.

    A line has two names, between blanks or commas, and may have a capacity behind them, or a dict of attributes, as
    networkx writes it, and tuples for names. ``#`` starts a comment. A file that has commas in its first link has them in all.
    Raises ValueError when it is no such text; the error names the line.

    >>> parts_of_text(b"a,b,2 # two cables\\nb,c").arcs.tolist()
    [[0, 1], [0, 1], [1, 2], [1, 0], [1, 0], [2, 1]]
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it is text in UTF-16: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is no text in UTF-8, and no GraphML: " + _HINT) from None
    links, seen, separator = Links(), dict[frozenset[str], int](), ""
    passed = dict[str, None]()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        front, brace, attributes = line.partition("{")
        front = _TUPLE.sub(lambda name: unquoted(name[0]), front).strip()
        if not separator:
            separator = "," if len(front.split()) == 1 or ", " in front or " ," in front else " "
        words = [word.strip() for word in front.split(",")] if separator == "," else front.split()
        if brace and words and not words[-1]:
            words.pop()  # a comma before the attributes
        plain = all(len(word.split()) == 1 and word == word.strip(",") for word in words)
        if not plain or not 2 <= len(words) <= (2 if brace else 3):
            raise ValueError(f"line {number} is no link: {_HINT}")
        try:
            said = _attributes("{" + attributes) if brace else {"capacity": (words[2:] or [1])[0]}
            links.join(words[0], words[1], said.pop("capacity", 1))
            passed |= dict.fromkeys(map(str, said))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        ends = frozenset(words[:2])
        if ends in seen:  # some lists write every link both ways: is that one cable or two?
            raise ValueError(
                f"line {number} gives the link between {words[0]!r} and {words[1]!r} again, as line {seen[ends]}: "
                "write it once, with its capacity behind it"
            )
        seen[ends] = number
    return links.parts()._replace(remarks=passed_over(passed))


def _attributes(text: str) -> dict[str, Any]:
    found: Any = None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        found = ast.literal_eval(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text[:40]!r} is no dict of attributes, as in {{'capacity': 2}}")
    return cast("dict[str, Any]", found)
