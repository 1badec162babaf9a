"""The node that NCCL found, out of the log of a job: the lines of NCCL_DEBUG_SUBSYS=GRAPH below ``=== System``.

Source: NCCL's src/graph/topo.cc: a line has a link and the node at its other end, below the name of the node above it.
"""

import re

from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain
from treecast.networks.reading.views import gpu_links, joins_all

_INFO = re.compile(r"(.*?)NCCL INFO (.*?)\s*$")
_LINK = re.compile(r"(\s*)\+ ([A-Z0-9]{2,4})\[([0-9.]{1,12})\] - ([A-Z]{3})/([0-9A-Fa-f-]+)(?: \(([^()]*)\))?")
_CPU = re.compile(r"CPU/([0-9A-Fa-f-]+) \([^()]*\)$")
_KINDS = {"GPU": "gpu", "CPU": "cpu", "PCI": "pci", "NIC": "pci", "NET": "nic", "NVS": "nvswitch"}
_LOCAL = 5000.0  # GB/s that NCCL writes where a link is no limit


@reader("nccl-log", summary="a log of NCCL", recognises=matches(rb"NCCL INFO === System : maxBw"))
def machine_of(data: bytes) -> Machine:
    """Return the node of the first process that has written one whole; rates are those of NCCL, in GB/s each way."""
    by, found = dict[str, list[tuple[int, str]]](), list[tuple[int, str]]()
    for number, line in enumerate(lines_of(data), 1):
        if (said := _INFO.match(line)) is None:
            continue
        if said[2].startswith("=== System"):
            by[said[1]] = []  # processes write at once: by what stands in front
        elif said[1] in by and re.fullmatch("=+", said[2]):
            found = by[said[1]]
            break
        elif said[1] in by:
            by[said[1]].append((number, said[2]))
    if not found and len(by) == 1:  # a paste may end before the last line
        found = next(iter(by.values()))
    if not found:
        raise ValueError("its table below '=== System' does not end: give the log of one process, to the line of ====")
    return _machine(found)


def _machine(lines: list[tuple[int, str]]) -> Machine:
    found, above, seen = Draft(), dict[int, str](), set[tuple[str, str, str]]()
    for number, line in lines:
        if said := _CPU.match(line):
            above = {0: _named(found, "CPU", said[1])}
            continue
        if (said := _LINK.match(line)) is None:
            if line.lstrip().startswith("+"):
                raise ValueError(f"line {number} is no link: it is written + PCI[24.0] - GPU/1000 (0)")
            continue
        if (depth := len(said[1])) not in above:
            raise ValueError(f"line {number} stands below no node: the log is cut, or its blanks are")
        name, here = _named(found, said[4], said[5]), above[depth]
        # its own lines stand below its name, which begins behind "] - "
        above = {column: each for column, each in above.items() if column <= depth} | {said.end(3) + 4: name}
        if said[4] == "GPU" and (rank := said[6]) is not None and rank.isdigit():
            found.nodes[name] = Node("gpu", f"gpu{rank}")
        if (said[2], name, here) in seen or said[2] == "LOC":  # LOC: of a device to itself
            continue  # a link between two GPUs stands at both
        seen.add((said[2], here, name))
        rate = 0.0 if float(said[3]) >= _LOCAL else float(said[3]) * 8
        rate = rate or _rate_beside(said[2])
        called = {"NVL": "NVLINK", "XGMI": "XGMI", "C2C": "C2C"}.get(said[2], "")
        found.links.append(Link(here, name, rate, called=called))
    for name, node in found.nodes.items():
        if node.kind == "gpu" and not node.label:
            found.nodes[name] = node._replace(label=f"gpu:{name.partition('/')[2]}")
    many = [node.kind for node in found.nodes.values()]
    facts = {"gpus": many.count("gpu"), "cpus": many.count("cpu"), "nics": many.count("nic")}
    machine = found.machine("NCCL's log", facts)
    return found.machine("NCCL's log", {**facts, "gpu_links_join_all": joins_all(gpu_links(machine))})


def _named(found: Draft, kind: str, number: str) -> str:
    """Add a node, unless it is there; return its name. A host's number in front may be 0, or not be there."""
    name = f"{kind}/{plain(number.lower().removeprefix('0-'))}"
    label = "" if kind == "GPU" else name.lower().replace("/", "")
    if kind not in _KINDS:
        raise ValueError(f"{kind[:40]!r} is no kind of node: {', '.join(_KINDS)} are")
    found.nodes.setdefault(name, Node(_KINDS[kind], "nvswitch" if kind == "NVS" else label))
    return name


def _rate_beside(kind: str) -> float:
    """Return the Gbit/s of a link that NCCL does not limit: of a card on a virtual bus, or between NUMA nodes."""
    return {"SYS": 320.0}.get(kind, 100_000.0)
