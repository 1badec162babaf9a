"""Tables of GPUs: ``nvidia-smi topo -m`` and ``rocm-smi --showtopo``.

Neither says rates. What PCIe joins, becomes links that have none until somebody says it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of
from treecast.networks.reading.views import PCIE, joins_all

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CELL = re.compile(r"NV[0-9]{1,5}|PIX|PXB|PHB|NODE|SYS|SOC|X(?![A-Z])")
_BRIDGED, _IN_NODE = ("PIX", "PXB"), ("PIX", "PXB", "PHB", "NODE")
_LEAST_SWITCHED = 6  # links a pair from which a clique is a switch
_MOST = 512
_TITLE = re.compile(r"=+\s*(.*?)\s*=+\s*$")
_SAID_NO_RATE = "the matrix says no rate for PCIe: --pcie-rate 126Gbit/s joins what only PCIe joins"


@reader(
    "nvidia-smi",
    what="nvidia-smi topo -m",
    recognises=matches(rb"^\s*(\x1b\[[0-9;]*m)*\s*GPU0(?:\s+\S.*(?<!X\s))?\s*$(?s:.*)^\s*GPU0\s+X\b"),
)
def machine_of_nvidia(data: bytes) -> Machine:
    """Return the node of an ``nvidia-smi topo -m``."""
    lines = [_ESCAPES.sub("", line) for line in lines_of(data)]
    labels, cells = _header(lines), dict[str, tuple[int, list[str]]]()
    gpus = [label for label in labels if label.startswith("GPU")]
    if len(gpus) > _MOST:
        raise ValueError(f"it has {len(gpus):,} GPUs: the most are {_MOST:,}")
    for number, line in enumerate(lines, 1):
        name, _, rest = line.strip().partition("\t") if "\t" in line.strip() else line.strip().partition(" ")
        if name in gpus and name not in cells and _CELL.search(rest):
            cells[name] = number, _CELL.findall(rest)[: len(gpus)]
    for place, gpu in enumerate(gpus):
        if gpu not in cells:
            raise ValueError(f"it has no row of {gpu}, which its first line names")
        number, row = cells[gpu]
        if len(row) < len(gpus) or row[place] != "X":
            raise ValueError(f"line {number}: the row of {gpu} has not {len(gpus)} cells with X at place {place + 1}")
    table = [cells[gpu][1] for gpu in gpus]
    for i, j in combinations(range(len(gpus)), 2):
        if table[i][j] != table[j][i]:
            raise ValueError(f"{gpus[i]} to {gpus[j]} is {table[i][j]}, and back {table[j][i]}: correct one")
    bonded = {(i, j): int(table[i][j][2:]) for i, j in combinations(range(len(gpus)), 2) if table[i][j][:2] == "NV"}
    sums = Counter(sum(many for ends, many in bonded.items() if i in ends) for i in range(len(gpus)))
    nics = [label for label in labels if not label.startswith("GPU")]
    facts = {
        "gpus": len(gpus),
        "cells": dict(sorted(Counter(cell for row in table for cell in row).items())),
        "nics": len(nics),
        "nvlink_row_sums": [list(each) for each in sorted(sums.items())] if bonded else [],
    }
    nodes = {gpu: Node("gpu", gpu.lower()) for gpu in gpus}
    links = _nvlinks(gpus, bonded, nodes)

    def joined(words: Sequence[str]) -> list[list[int]]:
        return _groups(
            len(gpus), (ends for ends in combinations(range(len(gpus)), 2) if table[ends[0]][ends[1]] in words)
        )

    said = list[Complaint]()
    if len(gpus) > 1 and not joins_all(Machine("", nodes, links)):
        links += _over_pcie(nodes, gpus, joined(_BRIDGED), joined(_IN_NODE))
        said.append(Complaint(_SAID_NO_RATE))
    return Machine("nvidia-smi topo -m", nodes, links, facts, said)


def _header(lines: Sequence[str]) -> list[str]:
    """Return the labels of the columns; the line may be broken, and labels may be glued together."""
    labels = list[str]()
    for line in lines:
        words = re.sub(r"(?i)CPU Affinity|NUMA Affinity|GPU NUMA ID", " ", line).split()
        if not words or "X" in words or (not labels and words[0] != "GPU0"):
            if labels:
                break
            continue
        labels += [label for word in words for label in re.findall(r"(?:GPU|NIC)[0-9]+|\S+", word)]
    found = list(dict.fromkeys(labels))
    if "GPU0" not in found:
        raise ValueError("it has no line of columns, as in GPU0 GPU1 CPU Affinity")
    return found


def _nvlinks(gpus: Sequence[str], bonded: Mapping[tuple[int, int], int], nodes: dict[str, Node]) -> list[Link]:
    """Return the NVLinks: of a clique with as many of each pair, those to one switch."""
    many = set(bonded.values())
    if (
        len(gpus) > 2
        and len(bonded) == len(gpus) * (len(gpus) - 1) // 2
        and len(many) == 1
        and min(many) >= _LEAST_SWITCHED
    ):
        nodes["nvswitch"] = Node("nvswitch", "nvswitch")
        return [Link(gpu, "nvswitch", cables=min(many), called="NVLink") for gpu in gpus]
    return [Link(gpus[i], gpus[j], cables=some, called="NVLink") for (i, j), some in bonded.items() if some]


@reader("rocm-smi", what="rocm-smi --showtopo", recognises=matches(rb"^=+\s*Link Type between two GPUs\s*=+"))
def machine_of_rocm(data: bytes) -> Machine:
    """Return the node of a ``rocm-smi --showtopo``."""
    tables, numa, title = dict[str, dict[str, list[str]]](), dict[str, str](), ""
    for line in lines_of(data):
        line = _ESCAPES.sub("", line)
        if found := _TITLE.match(line):
            title = found[1].partition(" between")[0]
        elif found := re.match(r"GPU\[(\d+)\].*Numa Node:\s*(\d+)", line):
            numa[f"GPU{found[1]}"] = found[2]
        elif (found := re.match(r"(GPU\d+)\s+(.*\S)", line)) and not found[2].startswith("GPU"):
            tables.setdefault(title, {})[found[1]] = found[2].split()
    types, hops = tables.get("Link Type", {}), tables.get("Hops", {})
    gpus = list(types)
    for name, table in (("Link Type", types), ("Hops", hops)):
        for gpu in gpus if table else ():
            if len(table.get(gpu, ())) != len(gpus):
                raise ValueError(f"the table {name!r} has not {len(gpus)} cells in the row of {gpu}")
    if not gpus:
        raise ValueError("its table 'Link Type between two GPUs' is empty")
    if len(gpus) > _MOST:
        raise ValueError(f"it has {len(gpus):,} GPUs: the most are {_MOST:,}")
    nodes = {gpu: Node("gpu", gpu.lower()) for gpu in gpus}
    links, far = list[Link](), False
    said = [
        Complaint(
            "XGMI has 1, 2 or 4 links a pair on some machines (MI200), which the table does not say: give the XML"
        )
    ]
    for (i, u), (j, v) in combinations(enumerate(gpus), 2):
        if types[u][j] != types[v][i]:
            raise ValueError(f"{u} to {v} is {types[u][j]}, and back {types[v][i]}: correct one")
        if types[u][j] == "XGMI" and (not hops or hops[u][j] == "1"):
            links.append(Link(u, v, called="XGMI"))
        far = far or types[u][j] == "PCIE"
    if far:
        places = {number: place for place, number in enumerate(gpus)}
        sides = Counter(numa.get(gpu, "") for gpu in gpus)
        groups = [[places[gpu] for gpu in gpus if numa.get(gpu, "") == side] for side in sides]
        links += _over_pcie(nodes, gpus, [], groups)
        said.append(Complaint(_SAID_NO_RATE))
    facts = {
        "gpus": len(gpus),
        "types": dict(Counter(cell for gpu in gpus for cell in types[gpu])),
        "hops": dict(Counter(cell for gpu in hops for cell in hops[gpu])),
    }
    return Machine("rocm-smi --showtopo", nodes, links, facts, said)


def _groups(many: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the numbers below ``many`` in groups that pairs join."""
    of = list(range(many))
    for i, j in pairs:
        if of[i] != of[j]:
            of = [of[i] if each == of[j] else each for each in of]
    return [[i for i in range(many) if of[i] == first] for first in dict.fromkeys(of)]


def _over_pcie(
    nodes: dict[str, Node], gpus: Sequence[str], bridged: Sequence[Sequence[int]], sides: Sequence[Sequence[int]]
) -> list[Link]:
    """Return the links over PCIe: GPUs hang on bridges, these and the others on NUMA nodes, which are joined to each other."""
    links, above, cpus = list[Link](), dict[int, str](), list[str]()
    for group in bridged:
        if len(group) > 1:
            name = f"bridge{len(nodes)}"
            nodes[name] = Node("pci")
            above |= dict.fromkeys(group, name)
            links += [Link(gpus[i], name, called=PCIE) for i in group]
    for place, side in enumerate(sides):
        name = f"cpu{place}"
        nodes[name] = Node("cpu")
        cpus.append(name)
        links += [Link(each, name, called=PCIE) for each in dict.fromkeys(above.get(i, gpus[i]) for i in side)]
    return links + [Link(u, v, called=PCIE) for u, v in combinations(cpus, 2)]
