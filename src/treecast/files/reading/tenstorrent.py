"""Tenstorrent's descriptors: of clusters (YAML), chips and the Ethernet cables between them; and of mesh graphs (textproto).

Source: tt-umd's cluster descriptors, and tt-metal's lists of those of several hosts.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any, cast

from treecast.files.reading.data import row, table, text, yaml_of
from treecast.networks.reading.joined import leave_out
from treecast.networks.reading.machine import Draft, Link, Machine, Node, grid
from treecast.networks.reading.registry import Files, matches, reader
from treecast.networks.reading.text import Scanner, lines_of, plain, whole_number

RATES = {"wormhole": 100.0, "blackhole": 400.0}
"""Gbit/s of a cable each way, by the kind of chip: Ethernet of 100G, and half a port of 800G, by docs.tenstorrent.com."""
_MOST_CHIPS, _MOST_FILES = 1 << 16, 256
_TOKEN = re.compile(r'\s*(?:#.*)?(?:("(?:[^"\\]|\\.)*")|([A-Za-z0-9_.+-]+)|([{}\[\]<>:,;]))')
_DEEPEST, _MOST_MESHED = 32, 1 << 17
_ENDS = {"{": "}", "<": ">"}
_MESH, _GRAPH = ("mesh", "mesh_descriptor"), ("graph", "graph_descriptor")
Message = dict[str, list[Any]]
"""Fields by name, each with its values in order: texts and messages."""
_NONE: Message = {}


@reader(
    "tenstorrent",
    summary="Tenstorrent's cluster descriptor",
    recognises=matches(rb"^[ \t]*(ethernet_connections|chips_with_mmio)\s*:"),
)
def machine_of(data: bytes) -> Machine:
    """Return the chips of a cluster descriptor."""
    # 1. Chips, and the rate of their kind.
    said = table(yaml_of(data), "the file")
    arch = table(said.get("arch"), "arch")
    chips = sorted({_number(name) for name in [*arch, *table(said.get("chips"), "chips")]})
    kinds = Counter(str(kind).lower() for kind in arch.values()).most_common(1)
    rate = next((rate for kind, rate in RATES.items() if kinds and kinds[0][0].startswith(kind)), 0.0)
    # 2. Cables: each once, whichever end is named first.
    cables = dict[frozenset[tuple[int, int]], tuple[int, int]]()
    connections = row(said.get("ethernet_connections"), "ethernet_connections")
    for each in connections:
        # an entry may say more than ends
        ends = [table(end, "an end") for end in row(each, "a cable") if isinstance(end, dict) and "chip" in end]
        if len(ends) != 2:
            raise ValueError(
                "an entry of ethernet_connections has not two ends: write [{chip: 0, chan: 8}, {chip: 1, chan: 0}]"
            )
        (u, port), (v, other) = [(_number(end.get("chip")), _number(end.get("chan"), "chan")) for end in ends]
        # a cable from a chip to itself joins nothing
        if u != v:
            cables[frozenset(((u, port), (v, other)))] = (min(u, v), max(u, v))
    # 3. The machine, of all chips that are named anywhere.
    chips = sorted({*chips, *(chip for ends in cables.values() for chip in ends)})
    if not chips:
        raise ValueError("it has no chip: 'arch' names them, as in 0: Wormhole")
    ids = table(said.get("chip_unique_ids"), "chip_unique_ids")
    nodes = {f"chip{chip}": Node("chip", also=(str(ids[str(chip)]),) if str(chip) in ids else ()) for chip in chips}
    found = Draft(nodes)
    found.links += [
        Link(f"chip{u}", f"chip{v}", rate, many) for (u, v), many in sorted(Counter(cables.values()).items())
    ]
    # 4. What leads out of the file is counted.
    remote = row(said.get("ethernet_connections_to_remote_devices"), "ethernet_connections_to_remote_devices")
    leave_out(found, len(remote))
    if not rate and found.links:
        found.remark("no rate is known of such chips")
    facts: dict[str, Any] = {
        "to_others": [_to_other(each) for each in remote],
        "chips": len(chips),
        "connections": len(connections),
        "remote": len(remote),
        "mmio": len(row(said.get("chips_with_mmio"), "chips_with_mmio")),
    }
    return found.machine("Tenstorrent's cluster descriptor", facts)


@reader(
    "tenstorrent-mapping",
    summary="Tenstorrent's list of cluster descriptors",
    recognises=matches(rb"^rank_to_(cluster_mock_cluster_desc|filename)\s*:"),
)
def files_of(data: bytes) -> Files:
    """Return the cluster descriptors that a file names, one of each host, by rank."""
    said = table(yaml_of(data), "the file")
    listed = [table(value, key).items() for key, value in said.items() if key.startswith("rank_to_")]
    ranks = {whole_number(rank, "a rank"): text(name, "a file") for each in listed for rank, name in each}
    if not 0 < len(ranks) <= _MOST_FILES:
        raise ValueError(f"it names {len(ranks):,} files: 1 to {_MOST_FILES} will do")
    return Files(tuple(name for _, name in sorted(ranks.items())))


def _to_other(cable: Any) -> tuple[int, int, str, int]:
    """Return a cable to another file: its chip and port here, and the number and port of the chip there."""
    ends = [table(end, "an end") for end in row(cable, "a cable") if isinstance(end, dict)]
    here = next((end for end in ends if "chip" in end), None)
    there = next((end for end in ends if "remote_chip_id" in end), None)
    if here is None or there is None:
        raise ValueError("a cable to a remote device is written [{chip: 0, chan: 8}, {remote_chip_id: 7, chan: 0}]")
    ports = [_number(end.get("chan"), "chan") for end in (here, there)]
    return _number(here.get("chip")), ports[0], text(there["remote_chip_id"], "remote_chip_id"), ports[1]


def _number(value: Any, name: str = "a chip") -> int:
    return whole_number(text(value, name), name, _MOST_CHIPS)


@reader(
    "mesh-graph",
    summary="Tenstorrent's mesh graph descriptor",
    recognises=matches(rb"^[ \t]*(mesh_descriptors|top_level_instance)\s*:?\s*[{<]"),
    suffixes=(".textproto",),
)
def machine_of_meshes(data: bytes) -> Machine:
    """Return the chips of a mesh graph descriptor."""
    said, found = _message(Scanner(_words(data)), "", 0), Draft()
    meshes = {_word(each, "name"): each for each in _all(said, "mesh_descriptors")}
    if not meshes:
        raise ValueError("it has no mesh_descriptors: a mesh has a name and a device_topology with dims")
    top = (*_all(said, "top_level_instance"), _NONE)[0]
    graphs = [each for each in _all(said, "graph_descriptors") if _word(each, "name") == _word(top, *_GRAPH)]
    wanted = {"": _word(top, *_MESH) or next(iter(meshes))}
    if graphs:
        every = enumerate(_all(graphs[0], "instances"))
        wanted = {f"M{_word(each, 'mesh', 'mesh_id') or place}": _word(each, *_MESH) for place, each in every}
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
            if not found[3] or found[3] not in ",;":  # these say nothing
                yield found[1] or found[2] or found[3], number


def _message(words: Scanner, end: str, deep: int) -> Message:
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


def _word(message: Message, *names: str) -> str:
    """Return the first text at the end of a way of names, or nothing."""
    here: Any = message
    for name in names:
        here = cast("Message", here).get(name, [""])[0] if isinstance(here, dict) else ""
    return here if isinstance(here, str) else ""


def _rate(mesh: Message) -> float:
    return RATES.get(_word(mesh, "arch").partition("_")[0].lower(), 0.0)


def _cables(message: Message) -> int:
    return max(1, whole_number(_word(message, "channels", "count") or "1", "count of channels"))


def _add(found: Draft, mesh: Message, mark: str) -> None:
    """Add the chips of a mesh, and its cables."""
    shape = (*_all(mesh, "device_topology"), _NONE)[0]
    sides = [whole_number(str(side), "a side of a mesh") for side in shape.get("dims", [])]
    types = [str(each) for each in shape.get("dim_types", [])] or ["LINE"] * len(sides)
    if not sides or not 0 < prod(sides) <= _MOST_MESHED - len(found.nodes) or len(types) != len(sides):
        raise ValueError(
            f"mesh {_word(mesh, 'name')!r} is to have dims, as in [8, 8], and as many dim_types; {_MOST_MESHED:,} chips at most"
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
    one, other = (f"M{_word(end, 'mesh', 'mesh_id') or '0'}" for end in ends)
    chips = [_word(end, "mesh", "device_id") for end in ends]
    own = [name[len(one) + 1 :] for name in found.nodes if name.startswith(f"{one}D")]  # behind the mark and D
    for u, v in [chips] if all(chips) else zip(own, own, strict=True):
        if f"{one}D{u}" not in found.nodes or f"{other}D{v}" not in found.nodes or (one, u) == (other, v):
            raise ValueError(f"a connection leads from {one}D{u} to {other}D{v}, which are not both chips")
        found.links.append(Link(f"{one}D{u}", f"{other}D{v}", rates.get(one, 0.0), cables))
