"""Other views of a machine: hosts instead of their cards, GPU links alone, no relays that do nothing, a part of it."""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from treecast.description import count_of, list_few
from treecast.networks.reading.machine import Complaint, Link, Machine, Node, called, is_rank

_IDLE = frozenset({"pci", "cpu", "nic"})
_OF_GPUS = frozenset({"gpu", "nvswitch"})
PCIE = "PCIe"
"""The name of links over PCIe whose rate a file does not say."""
NVLINK = {60: 144.0, 70: 160.0, 80: 160.0, 86: 96.0, 90: 164.8, 100: 320.8}
"""Gbit/s of an NVLink each way, by the GPU's compute capability, as NCCL's search has them (src/graph/topo.h)."""
_CAPABILITY = {"P100": 60, "V100": 70, "A100": 80, "H100": 90, "H200": 90, "B200": 100}  # by a part of the GPU's name


def sums(machine: Machine) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Return the rates of pairs of nodes: those that are the same both ways, and the surplus one way.

    The rate of a cable whose rate is not said is 1. Two arcs, there and back, count as both ways.

    >>> nodes = {"a": Node("gpu"), "b": Node("gpu")}
    >>> sums(Machine("", nodes, [Link("a", "b", 3.0), Link("a", "b", 2.0, one_way=True), Link("b", "a", 1.0, one_way=True)]))
    ({('a', 'b'): 4.0}, {('a', 'b'): 1.0})
    """
    place = {name: number for number, name in enumerate(machine.nodes)}
    both, one = defaultdict[tuple[str, str], float](float), defaultdict[tuple[str, str], float](float)
    for u, v, rate, cables, one_way, *_ in machine.links:
        ends = (u, v) if one_way or place[u] < place[v] else (v, u)
        (one if one_way else both)[ends] += (rate or 1.0) * cables
    for u, v in list(one):
        low = min(one[u, v], one.get((v, u), 0.0))
        if low and place[u] < place[v]:
            both[u, v] += low
            one[u, v] -= low
            one[v, u] -= low
    # else what rounding left of equal rates
    return dict(both), {ends: rate for ends, rate in one.items() if rate > 1e-9}


def only(machine: Machine, kept: Container[str]) -> Machine:
    """Return a machine with some of its nodes, and the links among them."""
    return replace(
        machine,
        nodes={name: node for name, node in machine.nodes.items() if name in kept},
        links=[link for link in machine.links if link.u in kept and link.v in kept],
    )


def parts(machine: Machine) -> list[list[str]]:
    """Return the nodes of each part that hangs together, the part with most nodes first."""
    near = defaultdict[str, list[str]](list)
    for link in machine.links:
        near[link.u].append(link.v)
        near[link.v].append(link.u)
    seen, found = set[str](), list[list[str]]()
    for start in machine.nodes:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for name in part:  # it grows as we go
            fresh = dict.fromkeys(near[name]).keys() - seen
            seen |= fresh
            part += sorted(fresh)
        found.append(part)
    return sorted(found, key=len, reverse=True)


def by_hosts(machine: Machine) -> Machine:
    """Return a fabric whose ranks are hosts, each with the cables of all its cards.

    Cards that name no host are left out. Where most name none, each of them is a host of its own.
    """
    cards = {name: node for name, node in machine.nodes.items() if node.kind == "hca"}
    unnamed = [name for name, node in cards.items() if not node.host]
    alone = 2 * len(unnamed) > len(cards)
    hosts = {name: node.host or name for name, node in cards.items() if node.host or alone}
    also = defaultdict[str, list[str]](list)
    for name, host in hosts.items():
        also[host].append(name)
    nodes = dict[str, Node]()
    for name, node in machine.nodes.items():
        if name in hosts:
            host = hosts[name]
            nodes[host] = Node("host", node.label if host == name else host, also=tuple(also[host]))
        elif name not in cards:
            nodes[name] = node
    links = [link._replace(u=hosts.get(link.u, link.u), v=hosts.get(link.v, link.v)) for link in machine.links]
    more = list[Complaint]()
    if unnamed and not alone:
        text = f"{count_of(len(unnamed), 'card')} that name no host (give --ranks hcas to keep them)"
        more.append(Complaint(text, tuple(unnamed), "left out"))
    kept = [link for link in links if link.u in nodes and link.v in nodes and link.u != link.v]
    return replace(machine, nodes=nodes, links=kept, complaints=[*machine.complaints, *more])


def counted(machine: Machine, links_called: Mapping[str, int]) -> Machine:
    """Return a machine whose words for links stand for as many as people say. Raises ValueError where nobody says it of one."""
    for u, v, _, cables, _, word, *_ in machine.links:
        if not cables and word not in links_called:
            raise ValueError(
                f"{called(machine, u)} to {called(machine, v)} is {word[:40]!r}, which treecast does not know: "
                f"--links-called {word[:40]}=1 says that it is a link, {word[:40]}=0 that it is none"
            )
    links = [link if link.cables else link._replace(cables=links_called[link.called]) for link in machine.links]
    return replace(machine, links=[link for link in links if link.cables])


def gpu_links(machine: Machine) -> Machine:
    """Return a node's GPUs and NVSwitches, and the links among them."""
    return only(machine, {name for name, node in machine.nodes.items() if node.kind in _OF_GPUS})


def rated(machine: Machine, gpu: str, pcie: float) -> Machine:
    """Return a node whose GPU links and PCIe have the rates that people say, where the file says none.

    ``gpu`` names its GPUs, as in ``H100``; none leaves their links as they are. ``pcie`` is the Gbit/s of a link over PCIe;
    without it those that have no rate are left out, with the nodes that hang on nothing else. Raises ValueError for an unknown
    GPU, or where only one of the rates is said.
    """
    said = (NVLINK[sm] for name, sm in _CAPABILITY.items() if re.search(rf"{name}(?![0-9])", gpu.upper()))
    known = next(said, 0.0)  # of GH200, too, and of NVIDIA_H100_80GB_HBM3, but not of H1000
    if gpu and not known:
        raise ValueError(f"no rate is known of the GPU {gpu!r}: write one of {', '.join(_CAPABILITY)}")
    slow = [link for link in machine.links if link.called == PCIE and not link.rate]
    fast = [link for link in machine.links if link.called != PCIE or link.rate]
    links = [link._replace(rate=link.rate or known) for link in fast]
    if pcie and slow:
        if any(not link.rate for link in links):
            known_ones = ", ".join(_CAPABILITY)
            raise ValueError(f"the file says no rate of the links between GPUs, either: --gpu says it, of {known_ones}")
        return replace(machine, links=links + [link._replace(rate=pcie) for link in slow])
    return gpu_links(replace(machine, links=links)) if slow else replace(machine, links=links)


def joins_all(machine: Machine) -> bool:
    """Return whether a machine's links join all its nodes, at least two."""
    return bool(machine.links) and len(parts(machine)) == 1


def contracted(machine: Machine) -> Machine:
    """Return a node without the relays that do nothing: those with one neighbour go, those with two become a link.

    Links that come to lie between the same two nodes add up; a link in place of a relay has the lower rate of its two. Only PCIe
    bridges, NUMA nodes and NICs are such relays, and only where all their links are of PCIe, and lead both ways.
    """
    both, one = sums(machine)
    near = defaultdict[str, dict[str, float]](dict)
    for (u, v), rate in both.items():
        near[u][v] = near[v][u] = rate
    # nodes of links that lead one way, or are none of PCIe, stay
    fixed = {name for ends in one for name in ends}
    fixed |= {name for link in machine.links if link.called not in ("", PCIE) for name in (link.u, link.v)}
    names = [name for name, node in machine.nodes.items() if node.kind in _IDLE and name not in fixed]
    gone, before = set[str](), -1
    # a relay that goes may leave another with two links
    while before != len(gone):
        before = len(gone)
        for name in names:
            if name in gone or len(near[name]) > 2:
                continue
            ends = list(near.pop(name).items())
            for other, _ in ends:
                del near[other][name]
            if len(ends) == 2:
                (u, rate), (v, other_rate) = ends
                near[u][v] = near[v][u] = near[u].get(v, 0.0) + min(rate, other_rate)
            gone.add(name)
    kept = {name: node for name, node in machine.nodes.items() if name not in gone}
    place = {name: number for number, name in enumerate(kept)}
    links = [_link(machine, u, v, rate) for u in kept for v, rate in near[u].items() if place[u] < place[v]]
    links += [_link(machine, u, v, rate)._replace(one_way=True) for (u, v), rate in one.items()]
    return replace(machine, nodes=kept, links=links)


def _link(machine: Machine, u: str, v: str, rate: float) -> Link:
    """Return a link that carries so much, in cables where a machine says no rates."""
    return Link(u, v, rate) if any(link.rate for link in machine.links[:1]) else Link(u, v, cables=round(rate))


def undirected(machine: Machine) -> Machine:
    """Return a graph whose arcs all lead both ways: one from u to v and one from v to u are one link then. Loops are left out."""
    one = Counter[Link]()
    links, loops = list[Link](), 0
    for link in machine.links:
        if link.u == link.v:
            loops += link.cables
        elif link.one_way:
            one[link._replace(cables=1, one_way=False)] += link.cables
        else:
            links.append(link)
    for link, cables in one.items():
        back = one[link._replace(u=link.v, v=link.u)]
        # of arcs there and back the more count, once
        if cables > back or (cables == back and link.u < link.v):
            links.append(link._replace(cables=cables))
    said = [Complaint(f"{count_of(loops, 'link')} from a node to itself", sort="left out")] if loops else []
    return replace(machine, links=links, complaints=[*machine.complaints, *said])


def part_of(machine: Machine, which: str) -> Machine:
    """Return one part of a machine, by its number (the largest is 1) or a node of it. ValueError: there is none."""
    found = [part for part in parts(machine) if len(part) > 1]
    if which.isascii() and which.isdigit() and 1 <= int(which[:9]) <= len(found):
        return only(machine, set(found[int(which) - 1]))
    for part in found:
        for name in part:
            node = machine.nodes[name]
            if which in (name, node.label, "_".join(node.label.split()), *node.also):
                return only(machine, set(part))
    named = f", or one of {list_few(list(machine.named), 5)}" if machine.named else ""
    if len(found) < 2 and not named:
        raise ValueError(f"it has no part {which!r}: it is in one piece, so leave it out")
    raise ValueError(f"it has no part {which!r}: give a number from 1 to {len(found)}, or a node of one{named}")


def spell_parts(machine: Machine, found: Iterable[list[str]]) -> str:
    """Return the parts of a machine by their sizes, and a node of each that takes part, if one does."""
    joined, alone = list[str](), 0
    for part in found:
        if len(part) == 1:
            alone += 1
            continue
        first = next((name for name in part if is_rank(machine.nodes[name])), part[0])
        joined.append(f"{len(part):,} nodes ({'_'.join(called(machine, first).split())}, …)")
    words = [list_few(joined, 5)] if joined else []
    return " and ".join([*words, *([f"{count_of(alone, 'node')} without a link"] if alone else [])])
