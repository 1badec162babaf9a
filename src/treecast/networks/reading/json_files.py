"""Fabrics and hosts in JSON: of NetQ, the monitor of Cumulus Linux, and MLX's hostfiles. Parameters of TACCL are refused.

Source: MLX's documentation, "Distributed communication", the JACCL backend.
"""

from itertools import combinations
from typing import Any, cast

from treecast.networks.reading.data import json_of, row, table, tables, text
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
                cables[frozenset(((u, port), (v, other)))] = Link(u, v, ports=(plain(port), plain(other)))
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
    "taccl",
    summary="TACCL's or TE-CCL's parameters",
    recognises=matches(rb'"(TopologyParams|intranode_sketch|GurobiParams)"\s*:'),
)
def refuse_parameters(data: bytes) -> Machine:
    """Refuse parameters of TACCL and TE-CCL, which name a machine that they know."""
    raise ValueError(
        "it names a machine that TACCL or TE-CCL knows, and parameters, but no links: give a file that the machine prints"
    )
