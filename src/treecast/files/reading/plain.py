"""Graphs in plain text: an edge list, two names a line, perhaps below a line that names its columns."""

import ast
import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from treecast.networks.reading.drawn import Drawn
from treecast.networks.reading.frames import NETWORKX
from treecast.networks.reading.links import Parts, unquoted
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import reader

_TUPLE = re.compile(r"(?<![^\s,])\([^()]*\)(?![^\s,])")
_ARROW = re.compile(r"<-+>|(?<!-)-+>|(?<!=)=+>|(?<=\s)--+(?=\s)|(?<=\w)--(?=\w)")
_BEHIND = re.compile(r"[\s,;]([0-9]{1,9})$")
_HINT = "write two names, and a capacity if you like, as in: a b 2"
_USUAL = ("source", "target", "capacity")
_ENDS = (
    _USUAL[:2],
    *(tuple(words.split()) for words in ("source destination", "src dst", "src dest", "from to", "u v")),
)
_SIGNS = re.compile("->|=>|--|^[<>=-]+$")  # of other languages, in no name
_NUMBER = re.compile(r"[0-9.]+")
_Row = tuple[int, str, str]


@reader("links", summary="links, two names a line", recognises=lambda head: False, suffixes=(".edges", ".edgelist"))
def parts_of_text(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of an edge list, in UTF-8: a link a line, joined both ways.

    A line has two names, between blanks, commas or semicolons, and may have a capacity behind them, or a dict of attributes,
    as networkx writes it, and tuples for names; names between commas may have blanks. Or there is an arrow between the names:
    ``->`` leads one way, ``--`` and ``<->`` both. A first line may name the columns, as in ``source,target,capacity``. ``#``
    starts a comment. A file that has commas in its first link has them in all. Raises ValueError when it is no such text; the
    error names the line.

    >>> parts_of_text(b"a,b,2 # two cables\\nb,c").arcs.tolist()
    [[0, 1], [0, 1], [1, 2], [1, 0], [1, 0], [2, 1]]
    >>> parts_of_text(b"from to km\\na b 20\\nb c 30").names
    ['a', 'b', 'c']
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it is text in UTF-16: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is no text in UTF-8, and no GraphML: " + _HINT) from None
    found, rows, seen = Drawn("a list of links"), list[_Row](), dict[object, int]()
    for number, said in _lines(text):
        ends = next((pair for pair in _ENDS if said.keys() >= set(pair)), ())
        if not ends or not all(said[end] and not _SIGNS.search(said[end]) for end in ends):
            raise ValueError(f"line {number} is no link between two ends: {_HINT}, or a -> b")
        (u, v), one_way = (said.pop(end) for end in ends), str(said.pop("type", "")).lower() in ("directed", "->")
        try:
            found.join(u, v, said, one_way)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        pair = (u, v) if one_way else frozenset((u, v))
        if pair in seen:  # some lists write every link both ways: is that one cable or two?
            raise ValueError(
                f"line {number} gives the link between {u!r} and {v!r} again, as line {seen[pair]}: "
                "write it once, with its capacity behind it"
            )
        seen[pair] = number
        rows.append((number, u, v))
    found.remarks += _doubts(rows)
    return found.parts()


def _lines(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what each line says, by the names of its columns. Raises ValueError when it is no link."""
    separator, heads = "", list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not (line := line.partition("#")[0].strip()):
            continue
        front, brace, attributes = line.partition("{")
        front = _TUPLE.sub(lambda name: unquoted(name[0]), front).strip()
        # an arrow stands behind a name: from 1
        if not heads and not brace and (arrow := _ARROW.search(front, 1)) and (rest := front[arrow.end() :].lstrip()):
            behind = _BEHIND.search(rest, 1)
            ends = front[: arrow.start()], rest[: behind.start()].rstrip(",; \t") if behind else rest
            u, v = ("_".join(name.strip("\"', ").split()) for name in ends)
            kind = "->" if arrow[0][-1] == ">" and arrow[0][0] != "<" else ""
            yield number, {"source": u, "target": v, "capacity": behind[1] if behind else 1, "type": kind}
            continue
        first, separator = not separator, separator or _separator(front)
        words = _words(front, separator)
        if first and not brace and (heads := _heads(words, text)):
            continue
        if brace and words and not words[-1]:
            words.pop()  # a comma before the attributes
        most = len(heads) or (2 if brace else 3)
        if not all(words[:2]) or not 2 <= len(words) <= most or any(word != word.strip(",") for word in words):
            hint = "" if len(words) in (2, 3) else f" (of adjacency lists {NETWORKX.format('read_adjlist')})"
            raise ValueError(f"line {number} is no link: {_HINT}{hint}")
        said = {head: word for head, word in zip(heads or _USUAL, words, strict=False) if word}
        yield number, said | (_attributes(number, "{" + attributes) if brace else {})


def _separator(front: str) -> str:
    """Return what stands between the columns of a first line: blanks, commas or semicolons."""
    words = front.split()
    within = len(words) > 1 and words[0].count(",") == words[1].count(",")  # commas in names, as of networkx's grids
    return ";" if ";" in front else " " if within and all(word == word.strip(",") for word in words) else ","


def _words(front: str, separator: str) -> list[str]:
    """Return the columns of a line; a name may have blanks where they stand between quotes, commas or semicolons."""
    line = " ".join(front.split()) if separator == " " else front
    with suppress(csv.Error, StopIteration):
        return ["_".join(word.split()) for word in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    return []


def _heads(words: list[str], text: str) -> list[str]:
    """Return the names of columns, if a first line is that: the words for ends of links, which are no nodes of other lines."""
    heads = ["capacity" if word.lower() == "cables" else word.lower() for word in words]
    pair = next((pair for pair in _ENDS if set(pair) <= set(heads)), ())
    found = [word for word, head in zip(words, heads, strict=True) if head in pair]
    # a name of a column stands nowhere else
    alone = all(len(re.findall(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", text)) == 1 for word in found)
    return heads if pair and alone and len(set(heads)) == len(heads) else []


def _doubts(rows: list[_Row]) -> tuple[str, ...]:
    """Return remarks on what may be no list of links. Raises ValueError when it is none: settings, counts, or pairs alone."""
    many = Counter(name for _, *ends in rows for name in ends)
    for number, *ends in rows:
        if settings := [name for name in ends if "=" in name]:
            raise ValueError(f"line {number} has a setting, {settings[0]!r}, no node: {_HINT}")
    if {tuple(bool(_NUMBER.fullmatch(name)) for name in ends) for _, *ends in rows} in (
        {(True, False)},
        {(False, True)},
    ):
        raise ValueError(f"one column is of names, the other of numbers, which is no list of links: {_HINT}")
    alone = [row for row in rows if many[row[1]] == many[row[2]] == 1]
    if len(alone) > 1 and len(alone) == len(rows):
        raise ValueError(f"no name stands in two of its lines, so they are no links of a network: {_HINT}")
    if len(rows) > 2 and alone[:1] == rows[:1]:
        number, u, v = alone[0]
        raise ValueError(
            f"line {number} has {u!r} and {v!r}, which no other line has: names of columns are source,target,capacity"
        )
    said = [f"{u} and {v} (line {number})" for number, u, v in alone[: len(rows) > 1]]
    return tuple(f"{ends} stand in no other line: is this a list of links?" for ends in said)


def _attributes(number: int, text: str) -> dict[str, Any]:
    found: Any = None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        found = ast.literal_eval(text)
    if not isinstance(found, dict):
        raise ValueError(f"line {number}: {text[:40]!r} is no dict of attributes, as in {{'capacity': 2}}")
    return {str(key): value for key, value in cast("dict[Any, Any]", found).items()}
