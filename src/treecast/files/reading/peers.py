"""Topologies of other planners and simulators: of TACOS, of SimAI, which are those of ns-3, and of ASTRA-sim."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

from treecast.files.reading.data import json_of, row, table, yaml_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node, grid
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import check_whole, lines_of, whole_number

_MOST = 1 << 16
_HEAD = rb"\A\s*\d+\s+Src,\s*Dest,\s*Latency \(ns\),\s*Bandwidth \(GB/s\)"
_LINK = r"(\d+)\s+(\d+)\s+([\d.]+)Gbps\s+\S+\s+\S+\s*"
_SIMAI = rb"\A\s*\d+(?:[ \t]+\S+){4,6}\s*\n[\d \t]+\n" + _LINK.encode()


@reader("tacos", summary="TACOS' topology", recognises=matches(_HEAD))
def machine_of_tacos(data: bytes) -> Machine:
    """Return the chips of a topology of TACOS, and its links, which lead one way."""
    lines = [(number, line) for number, line in enumerate(lines_of(data), 1) if line.strip()]
    found, many = Draft(), whole_number(lines[0][1].strip(), "the number of chips", _MOST)
    found.nodes = {str(u): Node("gpu", f"npu{u}") for u in range(many)}
    for number, line in lines[2:]:  # behind the number and the names of columns
        said = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*,\s*[\d.]+\s*,\s*(\d{1,6}(?:\.\d{1,6})?)\s*", line)
        if said is None or not {said[1], said[2]} <= found.nodes.keys() or not float(said[3]):
            raise ValueError(f"line {number} is no link: write source, target, latency and bandwidth, as in 0,1,500,50")
        found.links.append(Link(said[1], said[2], float(said[3]) * 8, one_way=True))  # GB/s to Gbit/s
    return found.machine("TACOS' topology", {"links": len(found.links)})


@reader(
    "simai",
    summary="SimAI's or ns-3's topology",
    recognises=matches(_SIMAI),
)
def machine_of_simai(data: bytes) -> Machine:
    """Return the GPUs of a topology of SimAI; the second line names the switches, and each other one is a link."""
    lines = [(number, line) for number, line in enumerate(lines_of(data), 1) if line.strip()]
    found, many, switches = (
        Draft(),
        whole_number(lines[0][1].split()[0], "the number of nodes", _MOST),
        lines[1][1].split(),
    )
    found.nodes = {str(u): Node("gpu", f"gpu{u}") for u in range(many)} | {
        u: Node("switch", f"switch{u}") for u in switches
    }
    for number, line in lines[2:]:
        said = re.fullmatch(_LINK, line)
        if said is None or not {said[1], said[2]} <= found.nodes.keys() or not float(said[3]):
            raise ValueError(
                f"line {number} is no link: write two nodes, rate, latency and errors, as in 0 4 400Gbps 1us 0"
            )
        found.links.append(Link(said[1], said[2], float(said[3])))
    heads = lines[0][1].split()
    if (said := heads[4 if len(heads) > 3 else 2]).isdigit():  # some have the GPU there
        check_whole(len(found.links), said, "links")
    return found.machine("SimAI's topology", {"links": len(found.links)})


@reader(
    "astra-sim",
    summary="ASTRA-sim's topology",
    recognises=matches(
        rb'^topology\s*:\s*\[|"topologies-per-dim"\s*:|\A\s*\d+[ \t]+\d+[ \t]+\d+\s*\n[\d \t]+\n\d+\s+\d+\s+[\d.]+Gbps'
    ),
)
def machine_of_astra_sim(data: bytes) -> Machine:
    """Return the NPUs of a topology of ASTRA-sim, the first side numbered fastest; a side is a ring, a switch …"""
    if re.match(rb"\s*\d", data):
        return machine_of_simai(data)
    said = table(yaml_of(data) if not data.lstrip().startswith(b"{") else json_of(data), "the file")
    words = ("topology", "topologies-per-dim"), ("npus_count", "units-count"), ("bandwidth", "link-bandwidth")
    kinds, counts, rates = ([str(each) for each in row(_first(said, some), some[0])] for some in words)
    sides = [whole_number(each, "a number of NPUs", _MOST) for each in counts]
    if not len(kinds) == len(sides) == len(rates) or not kinds or not 0 < prod(sides) <= _MOST:
        raise ValueError(
            f"topology, npus_count and bandwidth have a value for each side, and the NPUs are 1 to {_MOST:,}"
        )
    found, step = Draft({f"npu{u}": Node("gpu") for u in range(prod(sides))}), 1
    names = list(found.nodes)
    for kind, side, said_rate in zip(kinds, sides, rates, strict=True):
        gigabits = _decimal(said_rate, "a bandwidth") * 8  # GB/s to Gbit/s
        # from the first of each line, the others are step apart
        lines = [names[u::step][:side] for u in range(len(names)) if u // step % side == 0]
        if kind not in _SIDES:
            raise ValueError(f"a side is {kind[:40]!r}: {', '.join(_SIDES)} are read")
        for line in lines if side > 1 else ():
            found.links += _SIDES[kind](found, line, gigabits)
        step *= side
    return found.machine("ASTRA-sim's topology", {"sides": sides, "links": len(found.links)})


def _first(said: Mapping[str, object], words: Sequence[str]) -> object:
    return next((said[word] for word in words if word in said), None)


def _decimal(text: str, name: str) -> float:
    """Return a number above 0, as GB/s."""
    if not re.fullmatch(r"\d{1,7}(\.\d{1,17})?", text) or not float(text):
        raise ValueError(f"{name} is {text[:40]!r}: write GB/s, as in 50.0")
    return float(text)


def _switched(found: Draft, line: Sequence[str], gigabits: float) -> Iterable[Link]:
    switch = f"switch{len(found.nodes)}"
    found.nodes[switch] = Node("switch")
    return [Link(name, switch, gigabits) for name in line]


_SIDES: dict[str, Callable[[Draft, Sequence[str], float], Iterable[Link]]] = {
    "Ring": lambda _, line, rate: grid(line, [len(line)], [True], rate),
    "Line": lambda _, line, rate: grid(line, [len(line)], [False], rate),
    "FullyConnected": lambda _, line, rate: [Link(u, v, rate) for u, v in combinations(line, 2)],
    "Switch": _switched,
}
