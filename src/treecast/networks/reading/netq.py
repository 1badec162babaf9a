"""Fabrics in the JSON of NetQ, the monitor of Cumulus Linux."""

from treecast.networks.reading.data import json_of, table, tables, text
from treecast.networks.reading.machine import Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import plain


@reader("netq", summary="NetQ's JSON", recognises=matches(rb'"compounded_links"\s*:'))
def machine_of_netq(data: bytes) -> Machine:
    """Return the fabric of NetQ's JSON; nodes of type host take part."""
    said = table(json_of(data), "the file")
    kinds = dict[str, str]()
    for one in tables(said.get("nodes"), "nodes"):
        name = plain(text(one.get("name", one.get("id")), "name"))
        kinds[name] = "host" if str(one.get("type", "")).lower() == "host" else "switch"
    cables = dict[frozenset[tuple[str, str]], tuple[str, str]]()
    for link in tables(said.get("links"), "links"):
        for cable in tables(link.get("compounded_links"), "compounded_links"):
            ends = tables(cable.get("interfaces"), "interfaces")
            if len(ends) != 2:
                raise ValueError(f"a cable has {len(ends)} interfaces, not two")
            (u, port), (v, other) = [(plain(text(end.get("node"), "node")), str(end.get("interface"))) for end in ends]
            if u != v:
                cables[frozenset(((u, port), (v, other)))] = (u, v)
    for name in (name for ends in cables.values() for name in ends):
        kinds.setdefault(name, "switch")
    nodes = {name: Node(kind) for name, kind in kinds.items()}
    links = [Link(u, v) for u, v in cables.values()]
    return Machine("NetQ's JSON", nodes, links, {"cables": len(links)})
