"""Graphs in plain text: an edge list, two names a line, perhaps below a line that names its columns."""

import ast
import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple, cast

from treecast.networks.reading.drawn import Drawn
from treecast.networks.reading.frames import NETWORKX
from treecast.networks.reading.links import Parts, unquoted
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import reader

_TUPLE = re.compile(r"(?<![^\s,])\([^()]*\)(?![^\s,])")
_ARROW = re.compile(r"\s*(<-+>|<=+>|-+>|=+>|(?<=\s)--+(?=\s)|(?<=\w)--(?=\w))\s*")
_HINT = "write two names, and a capacity if you like, as in: a b 2"
_USUAL = ("source", "target", "capacity")
_ENDS = (
    *(_USUAL[:2], ("source", "destination"), ("src", "dst"), ("src", "dest"), ("from", "to"), ("u", "v")),
    *(("tail", "head"), ("start", "end"), ("node1", "node2"), ("node_a", "node_b")),
)
_COUNTED = re.compile(r"(\S+) ([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9.]+")


class _Row(NamedTuple):
    number: int
    u: str
    v: str
    said: dict[str, Any]
    one_way: bool = False


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
    rows, found, seen = list(_rows(text)), Drawn("a list of links"), dict[object, int]()
    remarks = _check(rows)
    for number, u, v, said, one_way in rows:
        try:
            found.edge(u, v, said, one_way)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        ends = (u, v) if one_way else frozenset((u, v))
        if ends in seen:  # some lists write every link both ways: is that one cable or two?
            raise ValueError(
                f"line {number} gives the link between {u!r} and {v!r} again, as line {seen[ends]}: "
                "write it once, with its capacity behind it"
            )
        seen[ends] = number
    found.remarks += remarks
    return found.parts()


def _rows(text: str) -> Iterator[_Row]:
    """Yield the links of a text. Raises ValueError when a line is none."""
    separator, heads = "", list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        front, brace, attributes = line.partition("{")
        front = _TUPLE.sub(lambda name: unquoted(name[0]), front).strip()
        arrows = [] if brace or heads else _ARROW.split(front)
        if len(arrows) > 1:
            yield from _chain(number, arrows)
            continue
        first = not separator
        separator = separator or _separator(front)
        words = _words(front, separator)
        if first and not brace and (heads := _heads(words, text)):
            continue
        if brace and words and not words[-1]:
            words.pop()  # a comma before the attributes
        most = len(heads) or (2 if brace else 3)
        if not all(words[:2]) or not 2 <= len(words) <= most or any(word != word.strip(",") for word in words):
            hint = "" if len(words) in (2, 3) else f" (of adjacency lists {NETWORKX.format('read_adjlist')})"
            raise ValueError(f"line {number} is no link: {_HINT}{hint}")
        try:
            said = _attributes("{" + attributes) if brace else dict[str, Any](zip(heads or _USUAL, words, strict=False))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if brace:
            said = dict(zip(_USUAL, words, strict=False)) | said
        yield _row(number, {key: value for key, value in said.items() if value != ""})


def _row(number: int, said: dict[str, Any]) -> _Row:
    """Return the link of a line whose columns have names."""
    u, v = next((pair for pair in _ENDS if said.keys() >= set(pair)), _USUAL[:2])
    if u not in said or v not in said:
        raise ValueError(f"line {number} names one end of a link, or none: give both")
    ends = said.pop(u), said.pop(v)
    one_way = str(said.pop("type", "")).lower() == "directed"
    if "cables" in said:
        said["capacity"] = said.pop("cables")
    return _Row(number, *ends, said, one_way)


def _separator(front: str) -> str:
    """Return what stands between the columns of a first line: blanks, commas or semicolons."""
    if ";" in front:
        return ";"
    words = front.split()
    within = len(words) > 1 and words[0].count(",") == words[1].count(",")  # commas in names, as of networkx's grids
    return " " if within and all(word == word.strip(",") for word in words) else ","


def _words(front: str, separator: str) -> list[str]:
    """Return the columns of a line; a name may have blanks where they stand between quotes, commas or semicolons."""
    line = " ".join(front.split()) if separator == " " else front
    with suppress(csv.Error, StopIteration):
        return ["_".join(word.split()) for word in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    return []


def _heads(words: list[str], text: str) -> list[str]:
    """Return the names of columns, if a first line is that: the words for ends of links, which are no nodes of other lines."""
    heads = [word.lower() for word in words]
    pair = next((pair for pair in _ENDS if set(pair) <= set(heads)), ())
    found = [word for word, head in zip(words, heads, strict=True) if head in pair]
    alone = all(len(re.findall(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", text)) == 1 for word in found)
    return heads if pair and alone and len(set(heads)) == len(heads) else []


def _chain(number: int, arrows: list[str]) -> Iterator[_Row]:
    """Yield the links of a line of names with arrows between them; a number behind the second of two names is a capacity."""
    names, capacity = [" ".join(name.split()).strip("\"',; ") for name in arrows[::2]], "1"
    if len(names) == 2 and (found := _COUNTED.fullmatch(names[1])) and " " not in names[0]:
        names[1], capacity = found[1], found[2]
    if not all(names):
        raise ValueError(f"line {number} has an arrow that does not stand between two names: write a -> b")
    for (u, v), arrow in zip(pairwise(names), arrows[1::2], strict=True):
        one_way = arrow.endswith(">") and not arrow.startswith("<")
        yield _Row(number, "_".join(u.split()), "_".join(v.split()), {"capacity": capacity}, one_way)


def _check(rows: Sequence[_Row]) -> tuple[str, ...]:
    """Return remarks on what may be no list of links. Raises ValueError when it is none: settings, counts, or pairs alone."""
    many = Counter(name for row in rows for name in (row.u, row.v))
    setting = next((row for row in rows if "=" in row.u + row.v), None)
    if setting is not None:
        raise ValueError(
            f"line {setting.number} has a setting, {setting.v if '=' in setting.v else setting.u!r}, no node: {_HINT}"
        )
    counts = {(bool(_NUMBER.fullmatch(row.u)), bool(_NUMBER.fullmatch(row.v))) for row in rows}
    if counts in ({(True, False)}, {(False, True)}):
        raise ValueError(f"one column is of names, the other of numbers, which is no list of links: {_HINT}")
    alone = [row for row in rows if many[row.u] == many[row.v] == 1]
    if len(alone) > 1 and len(alone) == len(rows):
        raise ValueError(f"no name stands in two of its lines, so they are no links of a network: {_HINT}")
    if len(rows) > 2 and alone[:1] == [rows[0]]:
        ends = f"{rows[0].u!r} and {rows[0].v!r}"
        raise ValueError(
            f"line {rows[0].number} has {ends}, which no other line has: names of columns are source,target,capacity"
        )
    said = [f"{row.u} and {row.v} (line {row.number})" for row in alone[: len(rows) > 1]]
    return tuple(f"{ends} stand in no other line: is this a list of links?" for ends in said)


def _attributes(text: str) -> dict[str, Any]:
    found: Any = None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        found = ast.literal_eval(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text[:40]!r} is no dict of attributes, as in {{'capacity': 2}}")
    return {str(key): value for key, value in cast("dict[Any, Any]", found).items()}
