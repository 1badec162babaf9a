"""Tenstorrent's mesh graph descriptors (textproto): meshes and tori of chips, several joined by connections."""

import re
from collections.abc import Iterator
from math import prod
from typing import Any, cast

from treecast.networks.reading.machine import Draft, Link, Machine, Node, grid
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.tenstorrent import RATES
from treecast.networks.reading.text import Words, lines_of, plain, whole_number

_TOKEN = re.compile(r'\s*(?:#.*)?(?:("(?:[^"\\]|\\.)*")|([A-Za-z0-9_.+-]+)|([{}\[\]<>:,;]))')
_DEEPEST, _MOST_CHIPS = 32, 1 << 17
_ENDS = {"{": "}", "<": ">"}
_MESH, _GRAPH = ("mesh", "mesh_descriptor"), ("graph", "graph_descriptor")
Message = dict[str, list[Any]]
"""Fields by name, each with its values in order: texts and messages."""
_NONE: Message = {}


@reader(
    "mesh-graph",
    summary="Tenstorrent's mesh graph descriptor",
    recognises=matches(rb"^\s*(mesh_descriptors|top_level_instance)\s*:?\s*[{<]"),
    suffixes=(".textproto",),
)
def machine_of(data: bytes) -> Machine:
    """Return the chips of a mesh graph descriptor."""
    said, found = _message(Words(_words(data)), "", 0), Draft()
    meshes = {_text(each, "name"): each for each in _all(said, "mesh_descriptors")}
    if not meshes:
        raise ValueError("it has no mesh_descriptors: a mesh has a name and a device_topology with dims")
    top = (*_all(said, "top_level_instance"), _NONE)[0]
    graphs = [each for each in _all(said, "graph_descriptors") if _text(each, "name") == _text(top, *_GRAPH)]
    wanted = {"": _text(top, *_MESH) or next(iter(meshes))}
    if graphs:
        every = enumerate(_all(graphs[0], "instances"))
        wanted = {f"M{_text(each, 'mesh', 'mesh_id') or place}": _text(each, *_MESH) for place, each in every}
    for mark, name in wanted.items():
        if name not in meshes:
            raise ValueError(f"it has no mesh {name!r}")
        _add(found, meshes[name], mark)
    for each in _all(graphs[0], "connections") if graphs else ():
        _connect(found, each, {mark: _rate(meshes[name]) for mark, name in wanted.items()})
    return found.machine("Tenstorrent's mesh graph descriptor", {"meshes": len(wanted), "chips": len(found.nodes)})


def _words(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the words and signs of a text, with the lines where they stand."""
    for number, line in enumerate(lines_of(data), 1):
        place = 0
        while line[place:].strip() and not line[place:].lstrip().startswith("#"):
            if not (found := _TOKEN.match(line, place)):
                raise ValueError(
                    f"line {number} has {plain(line[place : place + 20])!r}, which textproto has no place for"
                )
            place = found.end()
            if not found[3] or found[3] not in ",;":
                yield found[1] or found[2] or found[3], number


def _message(words: Words, end: str, deep: int) -> Message:
    """Return the fields up to a sign: by name the values, in order; a message is a dict."""
    found: Message = {}
    while (word := words.take()) != end:
        if not word:
            raise ValueError("it ends within a message: a bracket is not closed")
        if not re.fullmatch(r"[A-Za-z_]\w*", word):
            raise ValueError(f"line {words.line} has {word[:20]!r} where a name is to stand")
        if words.next == ":":
            words.take()
        line, value, values = words.line, words.take(), found.setdefault(word, [])
        if value in _ENDS:
            if deep >= _DEEPEST:
                raise ValueError(f"line {line}: it is more than {_DEEPEST} levels deep")
            values.append(_message(words, _ENDS[value], deep + 1))
        elif value == "[":
            while (each := words.take()) not in ("]", ""):
                values.append(each.strip('"'))
        elif value and value not in "}>]:":
            values.append(value.strip('"'))
        else:
            raise ValueError(f"line {line}: {word} has no value")
    return found


def _all(message: Message, name: str) -> list[Message]:
    """Return the messages of a name."""
    return [cast("Message", each) for each in message.get(name, []) if isinstance(each, dict)]


def _text(message: Message, *names: str) -> str:
    """Return the first text at the end of a way of names, or nothing."""
    here: Any = message
    for name in names:
        here = cast("Message", here).get(name, [""])[0] if isinstance(here, dict) else ""
    return here if isinstance(here, str) else ""


def _rate(mesh: Message) -> float:
    return RATES.get(_text(mesh, "arch").partition("_")[0].lower(), 0.0)


def _cables(message: Message) -> int:
    return max(1, whole_number(_text(message, "channels", "count") or "1", "count of channels"))


def _add(found: Draft, mesh: Message, mark: str) -> None:
    """Add the chips of a mesh, and its cables."""
    shape = (*_all(mesh, "device_topology"), _NONE)[0]
    sides = [whole_number(str(side), "a side of a mesh") for side in shape.get("dims", [])]
    types = [str(each) for each in shape.get("dim_types", [])] or ["LINE"] * len(sides)
    if not sides or not 0 < prod(sides) <= _MOST_CHIPS - len(found.nodes) or len(types) != len(sides):
        raise ValueError(
            f"mesh {_text(mesh, 'name')!r} is to have dims, as in [8, 8], and as many dim_types; {_MOST_CHIPS:,} chips at most"
        )
    if wrong := [each for each in types if each not in ("RING", "LINE")]:
        raise ValueError(f"dim_types are RING or LINE, not {wrong[0][:20]!r}")
    names = [f"{mark}D{place}" for place in range(prod(sides))]
    found.nodes |= dict.fromkeys(names, Node("chip"))
    found.links += grid(names, sides, [each == "RING" for each in types], _rate(mesh), _cables(mesh))


def _connect(found: Draft, connection: Message, rates: dict[str, float]) -> None:
    """Add cables between meshes: those that name chips, and of others one between each two chips of the same number."""
    ends, cables = _all(connection, "nodes"), _cables(connection)
    if len(ends) != 2:
        raise ValueError("a connection is to have two nodes")
    one, other = (f"M{_text(end, 'mesh', 'mesh_id') or '0'}" for end in ends)
    chips = [_text(end, "mesh", "device_id") for end in ends]
    own = [name[len(one) + 1 :] for name in found.nodes if name.startswith(f"{one}D")]
    for u, v in [chips] if all(chips) else zip(own, own, strict=True):
        if f"{one}D{u}" not in found.nodes or f"{other}D{v}" not in found.nodes or (one, u) == (other, v):
            raise ValueError(f"a connection leads from {one}D{u} to {other}D{v}, which are not both chips")
        found.links.append(Link(f"{one}D{u}", f"{other}D{v}", rates.get(one, 0.0), cables))
