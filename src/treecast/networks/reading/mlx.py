"""MLX's hostfiles: hosts that are joined by Thunderbolt or other RDMA, port by port.

Source: MLX's documentation, "Distributed communication", the JACCL backend.
"""

from itertools import combinations
from typing import Any, cast

from treecast.networks.reading.data import json_of, row, table, tables, text
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import plain

_MOST_HOSTS = 256


@reader("mlx", summary="MLX's hostfile", recognises=matches(rb'(?s)\A\s*(\{\s*"[^"]*"\s*:.*)?\[?\s*\{[^{}]*"ssh"\s*:'))
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
