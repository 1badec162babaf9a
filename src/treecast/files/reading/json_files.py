"""Fabrics and hosts in JSON: of NetQ, the monitor of Cumulus Linux, MLX's hostfiles, and Macs. Parameters of TACCL are refused.

Source: MLX's documentation, "Distributed communication", the JACCL backend.
"""

import re
from itertools import combinations
from typing import Any, cast

from treecast.files.reading.data import json_of, row, table, tables, text
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import plain

_MOST_HOSTS = 256


@reader("netq", summary="NetQ's JSON", recognises=matches(rb'"compounded_links"\s*:'))
def machine_of_netq(data: bytes) -> Machine:
    """Return the fabric of NetQ's JSON; nodes of type host take part."""
    said = table(json_of(data), "the file")
    kinds = dict[str, str]()
    for one in tables(said.get("nodes"), "nodes"):
        name = plain(text(one.get("name", one.get("id")), "name"))
        kinds[name] = "host" if str(one.get("type", "")).lower() == "host" else "switch"
    cables = dict[frozenset[tuple[str, str]], Link]()
    for link in tables(said.get("links"), "links"):
        for cable in tables(link.get("compounded_links"), "compounded_links"):
            ends = tables(cable.get("interfaces"), "interfaces")
            if len(ends) != 2:
                raise ValueError(f"a cable has {len(ends)} interfaces, not two")
            (u, port), (v, other) = [(plain(text(end.get("node"), "node")), str(end.get("interface"))) for end in ends]
            if u != v:
                # once, though both ends may list it
                cables[frozenset(((u, port), (v, other)))] = Link(u, v, ports=(plain(port), plain(other)))
    # nodes that cables alone name are switches
    for name in (name for link in cables.values() for name in (link.u, link.v)):
        kinds.setdefault(name, "switch")
    nodes = {name: Node(kind) for name, kind in kinds.items()}
    return Machine("NetQ's JSON", nodes, list(cables.values()), {"cables": len(cables)})


@reader(
    "mlx", summary="MLX's hostfile", recognises=matches(rb'(?s)\A\s*+(?:\{\s*"[^"]*"\s*:.*|\[\s*+)?\{[^{}]*"ssh"\s*:')
)
def machine_of_mlx(data: bytes) -> Machine:
    """Return the hosts of an MLX hostfile; those that name no RDMA are all joined."""
    said = json_of(data)
    hosts = tables(said if isinstance(said, list) else table(said, "the file").get("hosts"), "hosts")
    if not 0 < len(hosts) <= _MOST_HOSTS:
        raise ValueError(f"it has {len(hosts):,} hosts: 1 to {_MOST_HOSTS:,} will do")
    names = [f"{place}:{plain(text(host.get('ssh'), 'ssh'))}" for place, host in enumerate(hosts)]
    found = Draft({name: Node("host", name.partition(":")[2]) for name in names})
    cards = [[_names(each) for each in row(host.get("rdma"), "rdma")] for host in hosts]
    odd = list[str]()
    for i, j in combinations(range(len(hosts)), 2):
        # how many cards each of the two has for the other
        there, back = (len(cards[a][b]) if b < len(cards[a]) else 0 for a, b in ((i, j), (j, i)))
        if there != back:
            odd.append(f"{found.nodes[names[i]].label}-{found.nodes[names[j]].label}")
        if min(there, back) or not any(cards):
            found.links.append(Link(names[i], names[j], cables=max(1, min(there, back))))
    if not any(cards):
        found.remark("no RDMA is named: hosts have one port each to all others (plan with --model one-port)")
    found.complain(odd, "pair", "of hosts whose ends name different numbers of cables", nodes=())
    facts = {"hosts": len(hosts), "cables": sum(link.cables for link in found.links)}
    return found.machine("MLX's hostfile", facts, counted=True)


def _names(value: Any) -> list[str]:
    several = cast("list[Any]", value if isinstance(value, list) else [value])
    return [text(each, "a card") for each in several if each is not None or value is not None]


@reader(
    "thunderbolt",
    summary="system_profiler SPThunderboltDataType -json",
    recognises=matches(rb'"SPThunderboltDataType"\s*:'),
)
def machine_of_thunderbolt(data: bytes) -> Machine:
    """Return the Macs of one file or of several, one after the other, joined by the cables that both ends know.

    A port has the identifier of its bus, and what is plugged in at the other end that of the other bus.
    """
    found, of, ends = Draft(), dict[str, str](), list[tuple[str, str, str, float]]()
    for place, said in enumerate(_documents(data)):
        ports = tables(said.get("SPThunderboltDataType"), "SPThunderboltDataType")
        host = f"mac{place}"
        names = [str(port["device_name_key"]) for port in ports if "device_name_key" in port]
        found.nodes[host] = Node("host", plain(f"{names[0] if names else 'Mac'}_{place}".replace(" ", "_")))
        for port in ports:
            own = str(port.get("domain_uuid_key", "")).upper()
            of[own] = host
            tags = table(
                next((each for key, each in port.items() if key.startswith("receptacle_")), ""), "a receptacle"
            )
            speed = re.search(r"(\d{1,4})\s*Gb/s", str(tags.get("current_speed_key", "")))
            for item in tables(port.get("_items"), "_items"):
                if other := str(item.get("domain_uuid_key", "")).upper():
                    label = plain(text(item.get("device_name_key", item.get("_name", "Mac")), "_name"))
                    ends.append((own, other, label, float(speed[1]) if speed else 0.0))
    for _, other, label, _ in ends:
        if other not in of:  # a Mac whose own file is not here
            of[other] = f"mac{len(found.nodes)}"
            found.nodes[of[other]] = Node("host", f"{label.replace(' ', '_')}_{len(found.nodes)}")
            found.remark(
                f"{label} is known by its cable alone: give the output of each Mac, one after the other", of[other]
            )
    # both ends list a cable: it counts once
    for u, v, _, gigabits in {frozenset(each[:2]): each for each in ends}.values():
        if of[u] != of[v]:  # a cable from a Mac to itself is no link
            found.links.append(Link(of[u], of[v], gigabits))
    return found.machine("system_profiler", {"hosts": len(found.nodes), "cables": len(found.links)})


def _documents(data: bytes) -> list[dict[str, Any]]:
    """Return the tables of a file that has several, one after the other."""
    said = data.decode("utf-8-sig", "replace").strip()
    parts = re.split(r'(?<=\})\s*(?=\{\s*"SPThunderboltDataType")', said)
    return [table(json_of(part.encode()), "the file") for part in parts[:_MOST_HOSTS]]


@reader(
    "taccl",
    summary="TACCL's or TE-CCL's parameters",
    recognises=matches(rb'"(TopologyParams|intranode_sketch|GurobiParams)"\s*:'),
)
def refuse_parameters(data: bytes) -> Machine:
    """Refuse parameters of TACCL and TE-CCL, which name a machine that they know."""
    raise ValueError(
        "it names a machine that TACCL or TE-CCL knows, and parameters, but no links: give a file that the machine prints"
    )
