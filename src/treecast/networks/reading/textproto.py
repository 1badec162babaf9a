"""Tenstorrent's mesh graph descriptors (textproto): meshes and tori of chips, several joined by connections."""

import re
from collections.abc import Iterator
from math import prod
from typing import Any, TypeGuard

from treecast.networks.reading.machine import Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.tenstorrent import RATES
from treecast.networks.reading.text import lines_of, plain, whole_number

_TOKEN = re.compile(r'\s*(?:#.*)?(?:("(?:[^"\\]|\\.)*")|([A-Za-z0-9_.+-]+)|([{}\[\]<>:,;]))')
_DEEPEST, _MOST_CHIPS = 32, 1 << 20
_ENDS = {"{": "}", "<": ">"}
Message = dict[str, list[Any]]
"""Fields by name, each with its values in order: texts and messages."""


@reader(
    "mesh-graph",
    what="Tenstorrent's mesh graph descriptor",
    recognises=matches(rb"^\s*(mesh_descriptors|top_level_instance)\s*:?\s*[{<]"),
    suffixes=(".textproto",),
)
def machine_of(data: bytes) -> Machine:
    """Return the chips of a mesh graph descriptor."""
    said = _message(list(_tokens(data)))
    meshes = {_one(each, "name"): each for each in _messages(said, "mesh_descriptors")}
    if not meshes:
        raise ValueError("it has no mesh_descriptors: a mesh has a name and a device_topology with dims")
    top = _first(said, "top_level_instance")
    graphs = _messages(said, "graph_descriptors")
    graph = next((each for each in graphs if _one(each, "name") == _ref(top, "graph")), None)
    nodes, links = dict[str, Node](), list[Link]()
    wanted = [(_ref(top, "mesh") or next(iter(meshes)), "")]
    if graph is not None:
        wanted = [
            (_ref(each, "mesh"), f"M{_deep(each, 'mesh', 'mesh_id') or place}")
            for place, each in enumerate(_messages(graph, "instances"))
        ]
    for name, mark in wanted:
        if name not in meshes:
            raise ValueError(f"it has no mesh {name!r}")
        _mesh(meshes[name], mark, nodes, links)
    if graph is not None:
        links += _connections(graph, wanted, meshes, nodes)
    facts = {"meshes": len(wanted), "chips": len(nodes)}
    return Machine("Tenstorrent's mesh graph descriptor", nodes, links, facts)


def _tokens(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the words and signs of a text, with the lines where they stand."""
    for number, line in enumerate(lines_of(data), 1):
        place = 0
        while line[place:].strip() and not line[place:].lstrip().startswith("#"):
            found = _TOKEN.match(line, place)
            if not found:
                raise ValueError(
                    f"line {number} has {plain(line[place : place + 20])!r}, which textproto has no place for"
                )
            place = found.end()
            if not found[3] or found[3] not in ",;":
                yield found[1] or found[2] or found[3], number


def _message(tokens: list[tuple[str, int]]) -> Message:
    """Return the fields of a text: by name the values, in order; a message is a dict."""
    top: Message = {}
    inside, place = [(top, "")], 0
    while place < len(tokens):
        word, line = tokens[place]
        here, end = inside[-1]
        place += 1
        if word == end and end:
            inside.pop()
            continue
        if not re.fullmatch(r"[A-Za-z_]\w*", word):
            raise ValueError(f"line {line} has {word[:20]!r} where a name is to stand")
        if place < len(tokens) and tokens[place][0] == ":":
            place += 1
        value = tokens[place][0] if place < len(tokens) else ""
        place += 1
        if value in _ENDS:
            if len(inside) > _DEEPEST:
                raise ValueError(f"line {line}: it is more than {_DEEPEST} levels deep")
            inner: Message = {}
            here.setdefault(word, []).append(inner)
            inside.append((inner, _ENDS[value]))
        elif value == "[":
            while place < len(tokens) and tokens[place][0] != "]":
                here.setdefault(word, []).append(tokens[place][0].strip('"'))
                place += 1
            place += 1
        elif value and value not in "}>]:":
            here.setdefault(word, []).append(value.strip('"'))
        else:
            raise ValueError(f"line {line}: {word} has no value")
    if len(inside) > 1:
        raise ValueError("it ends within a message: a bracket is not closed")
    return top


def _one(message: Message, name: str) -> str:
    found = message.get(name, [""])[0]
    return found if isinstance(found, str) else ""


def _is_message(value: object) -> TypeGuard[Message]:
    return isinstance(value, dict)


def _messages(message: Message, name: str) -> list[Message]:
    return [each for each in message.get(name, []) if _is_message(each)]


def _first(message: Message, name: str) -> Message:
    none: Message = {}
    return next(iter(_messages(message, name)), none)


def _deep(message: Message, *names: str) -> str:
    """Return the text at the end of a way of names, or nothing."""
    here: object = message
    for name in names:
        here = here.get(name, [""])[0] if _is_message(here) else ""
    return here if isinstance(here, str) else ""


def _ref(message: Message, kind: str) -> str:
    return _deep(message, kind, f"{kind}_descriptor")


def _sides(mesh: Message) -> tuple[list[int], list[bool], int]:
    """Return the sides of a mesh, which of them are rings, and how many cables a link has."""
    shape = _first(mesh, "device_topology")
    sides = [whole_number(str(side), "a side of a mesh") for side in shape.get("dims", [])]
    types = [str(each) for each in shape.get("dim_types", [])] or ["LINE"] * len(sides)
    if not sides or not 0 < prod(sides) <= _MOST_CHIPS or len(types) != len(sides):
        raise ValueError(f"mesh {_one(mesh, 'name')!r} is to have dims, as in [8, 8], and as many dim_types")
    if wrong := [each for each in types if each not in ("RING", "LINE")]:
        raise ValueError(f"dim_types are RING or LINE, not {wrong[0][:20]!r}")
    cables = whole_number(_deep(mesh, "channels", "count") or "1", "count of channels")
    return sides, [each == "RING" for each in types], max(1, cables)


def _mesh(mesh: Message, mark: str, nodes: dict[str, Node], links: list[Link]) -> None:
    """Add the chips of a mesh, and its cables."""
    sides, rings, cables = _sides(mesh)
    rate = RATES.get(_one(mesh, "arch").partition("_")[0].lower(), 0.0)
    start = len(nodes)
    if start + prod(sides) > _MOST_CHIPS:
        raise ValueError(f"it has more than {_MOST_CHIPS:,} chips")
    names = [f"{mark}D{place}" for place in range(prod(sides))]
    nodes |= {name: Node("chip") for name in names}
    step = len(names)
    for side, ring in zip(sides, rings, strict=True):
        step //= side
        for place, name in enumerate(names):
            at = place // step % side
            if at + 1 < side:
                links.append(Link(name, names[place + step], rate, cables))
            elif ring and side > 2:
                links.append(Link(name, names[place - step * at], rate, cables))


def _connections(
    graph: Message,
    wanted: list[tuple[str, str]],
    meshes: dict[str, Message],
    nodes: dict[str, Node],
) -> Iterator[Link]:
    """Yield the cables between meshes: those that name chips, and of others one between each two chips of the same number."""
    for each in _messages(graph, "connections"):
        ends = _messages(each, "nodes")
        count = max(1, whole_number(_deep(each, "channels", "count") or "1", "count of channels"))
        if len(ends) != 2:
            raise ValueError("a connection is to have two nodes")
        marks = [f"M{_deep(end, 'mesh', 'mesh_id') or '0'}" for end in ends]
        chips = [_deep(end, "mesh", "device_id") for end in ends]
        mesh = next((name for name, mark in wanted if mark == marks[0]), "")
        rate = RATES.get(_one(meshes.get(mesh, {}), "arch").partition("_")[0].lower(), 0.0)
        if all(chips):
            pairs = [(f"{marks[0]}D{chips[0]}", f"{marks[1]}D{chips[1]}")]
        else:
            pairs = [(name, marks[1] + name[len(marks[0]) :]) for name in nodes if name.startswith(f"{marks[0]}D")]
        for u, v in pairs:
            if u not in nodes or v not in nodes or u == v:
                raise ValueError(f"a connection leads from {u} to {v}, which are not both chips")
            yield Link(u, v, rate, count)
