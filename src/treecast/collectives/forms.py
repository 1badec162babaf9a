"""How people say the classes of a demand: rows of Python, a text with a class a line, or JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from treecast.errors import PlanError, shorten
from treecast.networks import NodeName


class Class(NamedTuple):
    """``size`` chunks that go together. ``parts``: one, a copy, or several, a sum of one of each. All holders of a part have the
    same data. ``wants``: who is to have the chunks, or the sums.
    """

    size: int
    parts: tuple[tuple[NodeName, ...], ...]
    wants: tuple[NodeName, ...]


def read(given: Any) -> Iterator[Class]:
    """Yield the classes that are said: see ``Demand.of``. Raises PlanError for what is none."""
    if isinstance(given, str):
        yield from _read_text(given)
    elif isinstance(given, Mapping):
        said = cast("Mapping[Any, Any]", given)
        rows: Any = said["classes"] if "classes" in said else said.items()
        if isinstance(rows, (str, Mapping)) or not np.iterable(rows):
            raise PlanError(f"'classes' is a list of classes, each with 'from' and 'to', not {rows!r}")
        read_one = _read_json if "classes" in said else _row
        yield from (read_one(number, row) for number, row in enumerate(rows))
    elif np.iterable(given):
        yield from (_row(number, row) for number, row in enumerate(given))
    else:
        raise PlanError(f"a demand is rows (holders, wanters, chunks), or a text, not {given!r}")


def _row(number: int, row: Any) -> Class:
    """Return a class as Python has it: who holds it, who wants it, and how many chunks."""
    if isinstance(row, Class):
        return row
    said: tuple[Any, ...] = tuple(row) if np.iterable(row) and not isinstance(row, str) else ()
    if len(said) not in (2, 3):
        raise PlanError(f"class {number + 1} is a row (holders, wanters, chunks), not {row!r}")
    held, wanted, size = (*said, 1)[:3]
    parts: list[list[NodeName]] = [[]]
    for name in _names(number, held):
        if name == "+":
            parts.append([])
        else:
            parts[-1].append(name)
    return check_class(number, size, parts, _names(number, wanted))


def _names(number: int, given: Any) -> list[NodeName]:
    """Return the nodes that one name, or several, stand for."""
    if isinstance(given, str) or hasattr(given, "__index__"):
        given = [given]
    if not np.iterable(given):
        raise PlanError(f"class {number + 1}: {given!r} is no node, and no list of nodes")
    names = list(given)
    for name in names:
        if isinstance(name, bool) or not (isinstance(name, str) or hasattr(name, "__index__")):
            raise PlanError(f"class {number + 1}: {name!r} is no node: write its number or label")
    return [name if isinstance(name, str) else int(name) for name in names]


def check_class(number: int, size: Any, parts: Sequence[Sequence[NodeName]], wants: Sequence[NodeName]) -> Class:
    """Return a class. Raises PlanError for one without holders, or of less than a chunk."""
    if isinstance(size, bool) or not hasattr(size, "__index__") or not 1 <= int(size) < 2**31:
        raise PlanError(f"class {number + 1} has {size!r} chunks: write a whole number from 1")
    if not parts or not all(parts):
        of = f"part {[bool(part) for part in parts].index(False) + 1} of " if len(parts) > 1 else ""
        raise PlanError(f"nobody holds {of}class {number + 1}: name a node that has it")
    return Class(int(size), tuple(map(tuple, parts)), tuple(wants))


def _read_text(text: str) -> Iterator[Class]:
    """Yield the classes of a text, a line each: ``12: a b + c > d``; # begins a comment."""
    # a ; parts classes only before a blank or the end: labels may hold one
    lines = (line.partition("#")[0].split() for line in re.split(r"\n|;(?=\s|$)", text))
    for number, words in enumerate(line for line in lines if line):
        size = words[0].removesuffix(":")
        # A node may be called "12": a first word is a number of chunks only with its colon.
        said = words[1:] if words[0] != size and size.isascii() and size.isdigit() else words
        if said.count(">") != 1:
            line = shorten(" ".join(words))
            raise PlanError(f"a class is written CHUNKS: HOLDERS > WANTERS, as in '12: a b > c d', not {line!r}")
        held, wanted = said[: said.index(">")], said[said.index(">") + 1 :]
        yield _row(number, (held, wanted, 1 if said is words else int(size)))


def _read_json(number: int, row: Any) -> Class:
    """Return a class as JSON has it: ``{"chunks": 12, "from": [["a", "b"]], "to": ["c"]}``."""
    if not isinstance(row, Mapping) or not {"from", "to"} <= set(cast("Mapping[str, Any]", row)):
        raise PlanError(f"class {number + 1} of the file has no 'from' and 'to': write who holds it, and who wants it")
    said = cast("Mapping[str, Any]", row)
    if isinstance(said["from"], str) or not np.iterable(said["from"]):
        raise PlanError(f"class {number + 1}: 'from' is a list of parts, not {said['from']!r}")
    return check_class(
        number, said.get("chunks", 1), [_names(number, part) for part in said["from"]], _names(number, said["to"])
    )
