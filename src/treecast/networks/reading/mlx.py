"""MLX's hostfiles: hosts that are joined by Thunderbolt or other RDMA, port by port.

Source: MLX's documentation, "Distributed communication", the JACCL backend.
"""

from itertools import combinations
from typing import Any, cast

from treecast.description import count_of, list_few
from treecast.networks.reading.json_data import json_of
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import plain
from treecast.networks.reading.yaml_data import row, table, text

_MOST_HOSTS = 256


@reader("mlx", what="MLX's hostfile", recognises=matches(rb'(?s)\A\s*(\{\s*"[^"]*"\s*:.*)?\[?\s*\{[^{}]*"ssh"\s*:'))
def machine_of_mlx(data: bytes) -> Machine:
    """Return the hosts of an MLX hostfile; those that name no RDMA are all joined."""
    said = json_of(data)
    hosts = [
        table(each, "a host")
        for each in row(said if isinstance(said, list) else table(said, "the file").get("hosts"), "hosts")
    ]
    if not 0 < len(hosts) <= _MOST_HOSTS:
        raise ValueError(f"it has {len(hosts):,} hosts: 1 to {_MOST_HOSTS:,} will do")
    names = [f"{place}:{plain(text(host.get('ssh'), 'ssh'))}" for place, host in enumerate(hosts)]
    nodes = {name: Node("host", name.partition(":")[2]) for name in names}
    cards = [[_names(each) for each in row(host.get("rdma"), "rdma")] for host in hosts]
    if not any(cards):
        links = [Link(u, v) for u, v in combinations(names, 2)]
        plainly = "no RDMA is named: hosts have one port each to all others (plan with --model one-port)"
        return Machine("MLX's hostfile", nodes, links, {"hosts": len(hosts)}, [Complaint(plainly)], counted=True)
    links, odd = list[Link](), list[str]()
    for i, j in combinations(range(len(hosts)), 2):
        there, back = (len(cards[a][b]) if b < len(cards[a]) else 0 for a, b in ((i, j), (j, i)))
        if there != back:
            odd.append(f"{nodes[names[i]].label}-{nodes[names[j]].label}")
        if min(there, back):
            links.append(Link(names[i], names[j], cables=min(there, back)))
    said_odd = f"{count_of(len(odd), 'pair')} of hosts whose ends name different numbers of cables: {list_few(odd, 4)}"
    facts = {"hosts": len(hosts), "cables": sum(link.cables for link in links)}
    return Machine("MLX's hostfile", nodes, links, facts, [Complaint(said_odd)] if odd else [], counted=True)


def _names(value: Any) -> list[str]:
    if value is None:
        return []
    return (
        [text(each, "a card") for each in cast("list[Any]", value)]
        if isinstance(value, list)
        else [text(value, "a card")]
    )
