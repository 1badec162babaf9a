"""Tables of GPUs: ``nvidia-smi topo -m`` and those of other makers like it, ``rocm-smi --showtopo``, ``amd-smi topology``.

None says rates. Links over PCIe have none until somebody says it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, whole_number
from treecast.networks.reading.views import PCIE, joins_all

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours
_OVER_PCIE = ("PIX", "PXB", "PHB", "NODE", "SYS", "SOC")  # from near to far
_OTHERS = {
    "HCCS": "HCCS",
    "HCCS_SW": "HCCS",
    "SIO": "SIO",
    "MDF": "MDF",
}  # links of other makers, one where a word says it
# the longer names first: HCCS_SW begins with HCCS
_CELL = re.compile(rf"(?:NV|XL)[0-9]{{1,5}}|{'|'.join([*_OVER_PCIE, *sorted(_OTHERS, reverse=True)])}|X|S")
_LABEL = r"(?:GPU|NPU)(?: ?[0-9]+/)?[0-9]+"
_GLUED = re.compile(rf"(?:{_CELL.pattern})+")
_BRIDGED, _IN_NODE = _OVER_PCIE[:2], _OVER_PCIE[:4]  # bridges alone; within a NUMA node
_STATUS = {"OK", "CNS", "GNS", "TNS", "NS", "U"}
_LEAST_SWITCHED = 6  # links a pair from which a clique is a switch
_MOST = 512
_TITLE = re.compile(r"=++\s*+(?:([^=]*)=+\s*)?$|([A-Z ]+) TABLE:\s*$")
_AMD = re.compile(r"(GPU\d+|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\s+(\S(?:.*\S)?)")


@reader(
    "nvidia-smi",
    summary="nvidia-smi topo -m",
    recognises=matches(
        rb"\A(?>(?s:.*?)^(?:[ \t]|\x1b\[[0-9;]*m)*+[GN]PU ?0(?:/0)?\s)(?s:.*)^[ \t]*[GN]PU ?0(?:/0)?\s+[XS]\b"
    ),
)
def machine_of_nvidia(data: bytes) -> Machine:
    """Return the node of an ``nvidia-smi topo -m``."""
    lines = [re.sub(r"\b([GN]PU) (?=[0-9]+/)", r"\1", _ESCAPES.sub("", line)) for line in lines_of(data)]
    labels, cells = _header(lines), dict[str, tuple[int, list[str]]]()  # 1. The rows of all GPUs.
    gpus = [label for label in labels if re.fullmatch(_LABEL, label)]
    for number, line in enumerate(lines, 1):
        name, *words = line.split() or [""]
        if name in gpus and name not in cells and words and words[0] not in (*labels, "CPU", "NUMA"):
            row = [cell for word in words for cell in _cells(word)][: len(gpus)]
            cells[name] = number, ["X" if cell == "S" else cell for cell in row]  # Intel's tool has S on the diagonal
    for place, gpu in enumerate(gpus):
        if gpu not in cells:
            raise ValueError(f"it has no row of {gpu}, which its first line names")
        number, row = cells[gpu]
        if len(row) < len(gpus) or row[place] != "X" or row.count("X") > 1:
            raise ValueError(
                f"line {number}: the row of {gpu} has not {len(gpus)} cells with X at place {place + 1}, and nowhere else"
            )
    table = [cells[gpu][1] for gpu in gpus]  # 2. The matrix, which agrees both ways.
    if not _STATUS.isdisjoint(cell for row in table for cell in row):
        raise ValueError("it says whether GPUs reach each other (topo -p2p), and no links: give nvidia-smi topo -m")
    found = _draft(gpus, table)
    pairs = {(i, j): table[i][j] for i, j in combinations(range(len(gpus)), 2)}
    bonded = {ends: int(cell[2:]) for ends, cell in pairs.items() if re.fullmatch("(NV|XL)[0-9]+", cell)}
    sums = Counter(sum(many for ends, many in bonded.items() if i in ends) for i in range(len(gpus)))
    facts = {  # 3. What it counts, for whoever compares machines.
        "gpus": len(gpus),
        "cells": dict(sorted(Counter(cell for row in table for cell in row).items())),
        "nics": len(labels) - len(gpus),
        "nvlink_row_sums": [list(each) for each in sorted(sums.items())] if bonded else [],
    }
    many = set(bonded.values())  # 4. A clique of many like bonds is a switch.
    if len(gpus) > 2 and len(bonded) == len(pairs) and len(many) == 1 and min(many) >= _LEAST_SWITCHED:
        found.nodes["nvswitch"] = Node("nvswitch", "nvswitch")
        found.links += [Link(gpu, "nvswitch", cables=min(many), called="NVLink") for gpu in gpus]
    else:
        for (i, j), some in bonded.items():
            called = "NVLink" if pairs[i, j][0] == "N" else "XeLink"
            found.links += [Link(gpus[i], gpus[j], cables=some, called=called)] if some else []
        odd = {ends: cell for ends, cell in pairs.items() if ends not in bonded and cell not in _OVER_PCIE}
        for (i, j), cell in odd.items():
            # no cable for a word that nobody knows: people are asked for their number
            found.links.append(Link(gpus[i], gpus[j], cables=int(cell in _OTHERS), called=_OTHERS.get(cell, cell)))
    if len(gpus) > 1 and not joins_all(found.machine("", facts)):  # 5. PCIe joins what else is apart.
        groups = [
            _groups(len(gpus), [ends for ends, cell in pairs.items() if cell in words])
            for words in (_BRIDGED, _IN_NODE)
        ]
        _join_over_pcie(found, gpus, *groups)
    tool = (
        "npu-smi info -t topo"
        if gpus[0][0] == "N"
        else "xpu-smi topology -m"
        if "/" in gpus[0]
        else "nvidia-smi topo -m"
    )
    return found.machine(tool, facts)


def _cells(word: str) -> list[str]:
    """Return the cells in a word, which may be glued together.

    >>> _cells("PXBSYS"), _cells("MX")
    (['PXB', 'SYS'], ['MX'])
    """
    return _CELL.findall(word) if _GLUED.fullmatch(word) else [word]


def _draft(gpus: Sequence[str], table: Sequence[Sequence[str]]) -> Draft:
    """Return the GPUs of a table. Raises ValueError when they are too many, or its halves disagree."""
    if len(gpus) > _MOST:
        raise ValueError(f"it has {len(gpus):,} GPUs: the most are {_MOST:,}")
    for (i, u), (j, v) in combinations(enumerate(gpus), 2):
        if table[i][j] != table[j][i]:
            raise ValueError(f"{u} to {v} is {table[i][j]}, and back {table[j][i]}: correct one")
    return Draft({gpu: Node("gpu", gpu.lower()) for gpu in gpus})


def _header(lines: Sequence[str]) -> list[str]:
    """Return the labels of the columns; the line may be broken, and labels may be glued together."""
    labels = list[str]()
    for line in lines:
        words = re.sub(r"(?i)CPU Affinity|NUMA Affinity|GPU NUMA ID", " ", line).split()
        if not words or not {"X", "S"}.isdisjoint(words) or (not labels and not re.fullmatch("[GN]PU0(/0)?", words[0])):
            if labels:
                break
            continue
        labels += [label for word in words for label in re.findall(rf"{_LABEL}|NIC[0-9]+|\S+", word)]
    found = list(dict.fromkeys(labels))
    if not {"GPU0", "GPU0/0", "NPU0"} & set(found):
        raise ValueError("it has no line of columns, as in GPU0 GPU1 CPU Affinity")
    return found


@reader(
    "rocm-smi",
    summary="rocm-smi --showtopo",
    recognises=matches(rb"^=+\s*Link Type between two GPUs\s*=+|^LINK TYPE TABLE:"),
)
def machine_of_rocm(data: bytes) -> Machine:
    """Return the node of a ``rocm-smi --showtopo``."""
    tables, numa, title = dict[str, dict[str, list[str]]](), dict[str, str](), ""
    for line in lines_of(data):
        line = _ESCAPES.sub("", line)
        if found := _TITLE.match(line):
            title = found[1] or (found[2] or "").capitalize().replace(" type", " Type")
            title = title.partition(" between")[0].strip()
        elif found := re.match(r"GPU\[(\d+)\].*Numa Node:\s*(\d+)", line):
            numa[f"GPU{found[1]}"] = found[2]
        # a line of heads has another name behind the first
        elif (found := _AMD.match(line)) and not _AMD.match(found[2]):
            tables.setdefault(title, {})[found[1]] = found[2].split()
    types, hops, weights = (tables.get(name, {}) for name in ("Link Type", "Hops", "Weight"))
    gpus = list(types)
    for name, table in (("Link Type", types), ("Hops", hops), ("Weight", weights)):
        for gpu in gpus if table else ():
            if len(table.get(gpu, ())) != len(gpus):
                raise ValueError(f"the table {name!r} has not {len(gpus)} cells in the row of {gpu}")
    if not gpus:
        raise ValueError("its table 'Link Type between two GPUs' is empty")
    found = _draft(gpus, list(types.values()))
    found.remark("XGMI has 1, 2 or 4 links a pair on some machines (MI200), which the table does not say: give the XML")
    joined = [(u, v, j) for (_, u), (j, v) in combinations(enumerate(gpus), 2) if types[u][j] == "XGMI"]
    # some drivers say one hop of every pair: a weight grows with each link on the way
    least = min((_weight(weights[u][j]) for u, _, j in joined if weights), default=0)
    for u, v, j in joined:
        if (not hops or hops[u][j] == "1") and (not weights or _weight(weights[u][j]) == least):
            found.links.append(Link(u, v, called="XGMI"))
    if any("PCIE" in row for row in types.values()):
        of = [numa.get(gpu, "") for gpu in gpus]
        sides = [[i for i, each in enumerate(of) if each == side] for side in dict.fromkeys(of)]
        _join_over_pcie(found, gpus, [], sides)
    facts = {
        "gpus": len(gpus),
        "types": dict(Counter(cell for gpu in gpus for cell in types[gpu])),
        "hops": dict(Counter(cell for gpu in hops for cell in hops[gpu])),
    }
    return found.machine("amd-smi topology" if b"LINK TYPE TABLE:" in data else "rocm-smi --showtopo", facts)


def _weight(cell: str) -> int:
    return whole_number(cell, "a weight")


def _groups(many: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the numbers below ``many`` in groups that pairs join."""
    of = list(range(many))
    for i, j in pairs:
        if of[i] != of[j]:
            of = [of[i] if each == of[j] else each for each in of]  # j's group joins i's
    return [[i for i in range(many) if of[i] == first] for first in dict.fromkeys(of)]


def _join_over_pcie(
    found: Draft, gpus: Sequence[str], bridged: Sequence[Sequence[int]], sides: Sequence[Sequence[int]]
) -> None:
    """Add links over PCIe: GPUs hang on bridges, these and the others on NUMA nodes, which are joined to each other."""
    above = dict[int, str]()
    for group in bridged:
        if len(group) > 1:
            name = f"bridge{len(found.nodes)}"
            found.nodes[name] = Node("pci")
            above |= dict.fromkeys(group, name)
            found.links += [Link(gpus[i], name, called=PCIE) for i in group]
    # each bridge once
    cpus = {f"cpu{place}": dict.fromkeys(above.get(i, gpus[i]) for i in side) for place, side in enumerate(sides)}
    found.nodes |= dict.fromkeys(cpus, Node("cpu"))
    found.links += [Link(each, cpu, called=PCIE) for cpu, below in cpus.items() for each in below]
    found.links += [Link(u, v, called=PCIE) for u, v in combinations(cpus, 2)]
    found.remark("the matrix says no rate for PCIe: --pcie-rate 126Gbit/s joins the parts that only PCIe joins")
