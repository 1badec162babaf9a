"""Topologies of other planners and simulators: of TACOS, and of SimAI, which are those of ns-3."""

import re

from treecast.networks.reading.machine import Draft, Link, Machine, Node
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
    for number, line in lines[2:]:
        said = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*,\s*[\d.]+\s*,\s*(\d{1,6}(?:\.\d{1,6})?)\s*", line)
        if said is None or not {said[1], said[2]} <= found.nodes.keys() or not float(said[3]):
            raise ValueError(f"line {number} is no link: write source, target, latency and bandwidth, as in 0,1,500,50")
        found.links.append(Link(said[1], said[2], float(said[3]) * 8, one_way=True))
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
    if (said := lines[0][1].split()[4]).isdigit():  # some have the GPU there
        check_whole(len(found.links), said, "links")
    return found.machine("SimAI's topology", {"links": len(found.links)})
