"""Graphs as programs keep them: GML, JSON of nodes and links, and matrices of numpy, Matrix Market and spreadsheets."""

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any, cast

import numpy as np

from treecast.files.reading.data import json_of, row, table, tables, text
from treecast.networks.reading.drawn import Drawn
from treecast.networks.reading.links import LinkList, Parts
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.objects import parts_of_matrix
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import check_whole, lines_of, whole_number

_DEEPEST, _MOST = 64, 1 << 14  # brackets of GML; nodes of a matrix
_ENDS = ("source", "from", "src", "u"), ("target", "to", "dst", "destination", "v")
_SWITCHES = frozenset({"switch", "router", "core", "spine", "leaf", "tor", "edge", "aggregation", "aggregate"})
_NONE = frozenset({"", "-", "nan", "inf", "-1", "none"})  # cells that say that there is no link


@reader(
    "gml",
    summary="GML",
    recognises=matches(
        rb"(?i)\A(?>\s+|#[^\r\n]*|(?:creator|version|comment)\b[^\r\n]*?(?=graph\s*\[|[\r\n]|\Z))*+graph\s*\["
    ),
    suffixes=(".gml",),
)
def parts_of_gml(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of a GML file, as the Topology Zoo has them; networkx reads it."""
    import networkx as nx

    said = "\n".join(lines_of(data))
    if said.count("[") > _DEEPEST + 2 * said.count("]"):
        raise ValueError("it is no GML: a bracket is not closed")
    if "multigraph" not in said:  # else networkx refuses parallel links
        said = said.replace("[", "[\n  multigraph 1", 1)
    try:
        graph = cast(Any, nx).parse_gml(said, label="id")  # labels may come twice, ids not
    except Exception as error:  # of many kinds, for text that is none
        raise ValueError(f"it is no GML: {' '.join(str(error).split())[:100]}") from None
    found, one_way = Drawn("GML"), graph.is_directed()
    for name, about in graph.nodes(data=True):
        found.node(str(name), about)
    for u, v, about in graph.edges(data=True):
        found.join(str(u), str(v), about, one_way)
    return found.parts(directed=one_way)


@reader(
    "node-link",
    summary="JSON of nodes and links",
    recognises=lambda head: bool(
        re.match(rb"\s*\{", head) and re.search(rb'"nodes"\s*:', head) and b'"compounded_links"' not in head
    ),
)
def parts_of_json(data: bytes) -> Parts | Machine:
    """Return the nodes and arcs of JSON with ``nodes`` and ``links`` or ``edges``: of networkx, D3, CloudSimSDN.

    A node is called by its id or name, and is a relay if its type is that of a switch; ends are names, or numbers of nodes.
    """
    said = table(json_of(data), "the file")
    nodes, one_way = row(said.get("nodes"), "nodes"), said.get("directed") is True
    about = [cast("dict[str, Any]", each) if isinstance(each, dict) else {"id": each} for each in nodes]
    names = [
        text(next((each[key] for key in ("id", "name", "key") if key in each), place), "id")
        for place, each in enumerate(about)
    ]
    # where all are switches, all take part
    sorts = [str(each.get("type", each.get("kind", ""))).lower() in _SWITCHES for each in about]
    found, given = Drawn("JSON of nodes and links"), set(names)
    for name, each, switch in zip(names, about, sorts, strict=True):
        more = {key: value for key, value in each.items() if key not in ("id", "key", "type")}
        found.node(name, {"relay": switch and not all(sorts)} | more)
    key = next((key for key in ("links", "edges") if key in said), "")
    if not key:
        raise ValueError("it has nodes, but neither links nor edges: give a graph as networkx.node_link_data writes it")
    for link in tables(said[key], key):
        ends = [next((link.pop(word) for word in words if word in link), None) for words in _ENDS]
        u, v = (_end(end, names, given) for end in ends)
        found.join(u, v, link, one_way)
    return found.parts(directed=one_way)


def _end(said: object, names: list[str], given: set[str]) -> str:
    """Return the name of a node at an end of a link: D3 has numbers of nodes there, or the nodes themselves."""
    if isinstance(said, Mapping):
        about = cast("Mapping[str, object]", said)
        said = about.get("id", about.get("name", about.get("node")))
    name = text(said, "an end of a link")
    # a place, unless a node is called so
    if name not in given and name.isdigit() and len(name) < 10 and int(name) < len(names):
        return names[int(name)]
    if name not in given:
        raise ValueError(f"a link ends at {name[:40]!r}, which is none of the nodes")
    return name


@reader("numpy", summary="a matrix of numpy (.npy)", recognises=matches(rb"\A\x93NUMPY"), suffixes=(".npy",))
def parts_of_numpy(data: bytes) -> Parts:
    """Return the nodes and arcs of an adjacency matrix: entry [u, v] is the capacity from u to v."""
    if len(data) > 8 * _MOST**2:  # of 8 bytes each
        raise ValueError(f"its matrix is larger than {_MOST:,} rows")
    return parts_of_matrix(np.load(BytesIO(data), allow_pickle=False))


@reader("matrix-market", summary="Matrix Market", recognises=matches(rb"\A%%MatrixMarket\b"), suffixes=(".mtx",))
def parts_of_matrix_market(data: bytes) -> Parts:
    """Return the nodes and arcs of a sparse matrix: an entry is a capacity, 1 where it is a pattern.

    Source: Boisvert, Pozo & Remington, "The Matrix Market exchange formats" (1996).
    """
    lines = [line.split() for line in lines_of(data)]
    heads = [word.lower() for word in lines[0][1:]]
    if heads[:2] != ["matrix", "coordinate"] or len(heads) < 4:
        raise ValueError("it is no sparse matrix: its first line is %%MatrixMarket matrix coordinate …")
    (size, *entries), links = (
        [words for words in lines[1:] if words and not words[0].startswith("%")] or [[]],
        LinkList(),
    )
    if len(size) != 3 or size[0] != size[1]:
        raise ValueError("its matrix is not square: it has a row and a column for each node")
    nodes = whole_number(size[0], "its number of rows", _MOST)
    check_whole(len(entries), size[2], "entries")
    for u in range(nodes):
        links.add(u)
    for words in entries:
        ends = [whole_number(word, "a row or column", nodes) - 1 for word in words[:2]]
        if len(ends) != 2 or min(ends) < 0:
            raise ValueError(f"an entry is {' '.join(words)[:40]!r}: write row, column and capacity, from 1 on")
        # a zero that is written out is no link
        if (capacity := words[2] if words[2:] else 1) not in ("0", "0.0"):
            links.join(ends[0], ends[1], capacity, one_way=heads[3] == "general")  # else symmetric: it has one half
    return links.parts()


def _cells(line: str) -> list[str]:
    """Return the cells of a line, which commas, semicolons or else blanks divide."""
    sign = next((sign for sign in ",;\t" if sign in line), None)
    return [cell.strip().strip('"') for cell in line.split(sign)]


def _matrix_of(head: bytes) -> tuple[list[str], list[list[str]]] | None:
    """Return the names and rows of a matrix, or None where it is none: numbers, perhaps with names above and beside."""
    said = head.decode("utf-8-sig", "replace").splitlines()
    rows, names = (
        [_cells(line.rstrip()) for line in said if line.strip() and not line.lstrip().startswith("#")],
        list[str](),
    )
    if len(rows) > 2 and (not rows[0][0] or not _numbers(rows[:1])):  # a first row of names
        heads, beside = rows[0], [cells[0] for cells in rows[1:]]
        # the corner may be left out
        names, rows = heads[len(heads) - len(rows[1]) + 1 :], [cells[1:] for cells in rows[1:]]
        if beside != names[: len(rows)]:
            return None
    wide = len(rows[0]) if rows else 0
    none = all(cells[u] in ("0", "0.0") for u, cells in enumerate(rows[:3]) if u < len(cells))
    square = wide > 3 or (wide == 3 and len(rows) == 3 and none) or bool(names)  # others are links with capacities
    same = all(len(cells) == wide for cells in rows)
    return (names, rows) if square and same and len(rows) > 1 and _numbers(rows) else None


def _numbers(rows: list[list[str]]) -> bool:
    return all(cell.lower() in _NONE or re.fullmatch(r"[0-9]+(\.[0-9]*)?", cell) for cells in rows for cell in cells)


@reader(
    "matrix",
    summary="a matrix of capacities",
    recognises=lambda head: _matrix_of(head[: head.rfind(b"\n") + 1] if len(head) > 1 << 15 else head) is not None,
)
def parts_of_table(data: bytes) -> Parts:
    """Return the nodes and arcs of a matrix in text: an entry is the capacity from its row to its column."""
    found = _matrix_of("\n".join(lines_of(data)).encode())
    if found is None or len(found[1]) != len(found[1][0]):
        raise ValueError("its matrix is not square: it has a row and a column for each node, and capacities in it")
    names, rows = found
    if len(rows) > _MOST:
        raise ValueError(f"its matrix is larger than {_MOST:,} rows")
    names, links = names or [str(u) for u in range(len(rows))], LinkList()
    for name in names:
        links.add("_".join(name.split()))
    for name, cells in zip(names, rows, strict=True):
        for other, cell in zip(names, cells, strict=True):
            if cell.lower() not in _NONE and float(cell):
                links.join("_".join(name.split()), "_".join(other.split()), cell, one_way=True)
    return links.parts()
