"""The node that NCCL or RCCL found, as NCCL_TOPO_DUMP_FILE writes it: GPUs, NVLink, XGMI, PCIe, NUMA nodes and NICs.

Source: the rates are those of NCCL's and RCCL's search (src/graph/topo.h, xml.cc).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from treecast.description import count_of, list_few
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.text import plain, whole_number
from treecast.networks.reading.views import gpu_links, joins_all
from treecast.networks.reading.xml_tree import Element, tree_of

PCIE = {2.5: 2.0, 5.0: 4.0, 8.0: 7.877, 16.0: 15.754, 32.0: 31.508, 64.0: 60.5}
"""Gbit/s of a lane by its GT/s."""
NVLINK = {60: 144.0, 70: 160.0, 80: 160.0, 86: 96.0, 90: 164.8, 100: 320.8}
"""Gbit/s of a link each way, by the GPU's compute capability."""
_XGMI = {"906": 192.0, "908": 192.0, "910": 288.0, "90a": 288.0, "94": 384.0, "95": 384.0}
_GPUS = ("0x0300", "0x0302", "0x0380", "0x1200")
_NICS = ("0x0200", "0x0207")
_WRITE_ALL = "let NCCL write all: NCCL_TOPO_DUMP_FILE=topo.xml"


@dataclass
class _Node:
    """What has been read so far."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    links: list[Link] = field(default_factory=list[Link])
    facts: Counter[str] = field(default_factory=Counter[str])
    gpus: dict[str, tuple[str, Element, Element | None]] = field(
        default_factory=dict[str, tuple[str, Element, Element | None]]
    )  # by bus number: its NUMA node, its place, what is said of it
    like: dict[tuple[str, str], list[tuple[str, float]]] = field(
        default_factory=dict[tuple[str, str], list[tuple[str, float]]]
    )
    complaints: list[Complaint] = field(default_factory=list[Complaint])

    def add(self, name: str, node: Node) -> str:
        """Add a node; a name that is taken gets a mark."""
        while name in self.nodes:
            name += "'"
        self.nodes[name] = node
        return name

    def complain(self, text: str, *names: str) -> None:
        """Add a remark."""
        self.complaints.append(Complaint(text, names))


@reader("nccl", what="NCCL's or RCCL's XML", recognises=begins_with_element("system"))
def machine_of(data: bytes) -> Machine:
    """Return the node of a file."""
    root, found = tree_of(data), _Node()
    cpus = list[tuple[str, Element]]()
    for place, cpu in enumerate(root.every("cpu")):
        label = f"cpu{cpu.of.get('numaid', place)}"
        name = found.add(f"cpu:{cpu.of.get('host_hash', '')}{cpu.of.get('numaid', place)}", Node("cpu", plain(label)))
        cpus.append((name, cpu))
        _walk(found, cpu, name, name)
    if not found.gpus:
        raise ValueError(f"this file only adds NICs to what NCCL finds; {_WRITE_ALL}")
    for (u, one), (v, other) in combinations(cpus, 2):
        if one.of.get("host_hash") == other.of.get("host_hash"):
            found.links.append(Link(u, v, _between(one)))
    found.facts["cpus"], found.facts["gpus"] = len(cpus), len(found.gpus)
    _of_gpus(found)
    _slow_devices(found)
    machine = Machine("NCCL's XML", found.nodes, found.links)
    if not any(found.facts[tag] for tag in ("nvlink", "xgmi")):
        found.complain(f"no NVLink or XGMI stands in it; if the GPUs have some, {_WRITE_ALL}")
    facts = {**found.facts, "gpu_links_join_all": joins_all(gpu_links(machine))}
    return Machine(machine.format, found.nodes, found.links, facts, found.complaints)


@reader("nccl-graph", what="NCCL's rings and trees", recognises=begins_with_element("graphs"))
def refuse_graphs(data: bytes) -> Machine:
    """Refuse the file in which NCCL writes what it has found."""
    raise ValueError("this is the answer of NCCL's search, not the machine: give what NCCL_TOPO_DUMP_FILE writes")


def _walk(found: _Node, inside: Element, above: str, cpu: str) -> None:
    """Read the devices below a NUMA node or a bridge."""
    for each in inside.below:
        if each.tag == "nic":
            found.facts["nets_on_cpu"] += _nets(found, each, above, 0.0)
        if each.tag != "pci":
            continue
        found.facts["pci"] += 1
        bus, kind = plain(each.of.get("busid", "")).lower(), each.of.get("class", "").lower()[:6]
        gpu, nic, rate = each.first("gpu"), each.first("nic"), _pcie(each)
        if gpu is not None or (nic is None and kind in _GPUS):
            number = gpu.of["dev"] if gpu is not None and "dev" in gpu.of else str(len(found.gpus))
            name = found.add(bus, Node("gpu", plain(f"gpu{number}")))
            found.gpus[name] = cpu, each, gpu
        elif nic is not None or kind in _NICS:
            found.facts["nics"] += 1
            if nic is None or not _nets(found, nic, above, rate):
                found.links.append(Link(above, found.add(bus, Node("nic")), rate))
            continue
        else:
            found.facts["bridges"] += 1
            name = found.add(bus, Node("pci", f"pci:{bus}"))
            _walk(found, each, name, cpu)
        found.links.append(Link(above, name, rate))
        found.like.setdefault((kind, each.of.get("device", "")), []).append((name, rate))


def _nets(found: _Node, nic: Element, above: str, rate: float) -> int:
    """Add a node for each port of a NIC; return how many there are."""
    many = 0
    for net in nic.every("net"):
        many += 1
        found.facts["nets"] += 1
        speed = _whole(net, "speed", "0", 10**9) if not net.of.get("speed", "0").startswith("-") else 0
        found.facts["net_mbps"] += speed if rate else 0
        called = plain(net.of.get("name", ""))
        guid = net.of.get("guid", "").lower().removeprefix("0x")
        name = found.add(f"nic:{called or len(found.nodes)}", Node("nic", called, also=(guid,)))
        carries = (speed or 10_000) / 1000
        found.links.append(Link(above, name, min(carries, rate) if rate else carries))
    return many


def _pcie(device: Element) -> float:
    """Return the Gbit/s of the PCIe link to a device."""
    width = _whole(device, "link_width", "0") or 16
    speed = re.match(r"\s*([0-9]{1,4}(?:\.[0-9]{1,4})?)", device.of.get("link_speed", ""))
    return width * PCIE.get(float(speed[1]) if speed else 8.0, 7.877)


def _whole(element: Element, name: str, default: str, most: int = 65_535) -> int:
    return whole_number(element.of.get(name, "").strip() or default, f"line {element.line}: {name}", most)


def _between(cpu: Element) -> float:
    """Return the Gbit/s between two NUMA nodes of a host."""
    arch, vendor = cpu.of.get("arch", ""), cpu.of.get("vendor", "")
    for word, rate in (("ppc64", 256.0), ("arm64", 48.0)):
        if arch == word:
            return rate
    if "AMD" in vendor:
        return 128.0
    if "Shanghai" in vendor:
        return 72.0
    model = _whole(cpu, "modelid", "0")
    return next(rate for least, rate in ((0xCF, 320.0), (0x8F, 176.0), (0x55, 80.0), (0, 48.0)) if model >= least)


def _of_gpus(found: _Node) -> None:
    """Add the links of the GPUs, and say which have fewer than most."""
    counts, pairs, lost = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
    rates = dict[tuple[str, str], tuple[float, str]]()
    for name, (cpu, _, gpu) in found.gpus.items():
        counts[name] = 0
        for link in gpu.below if gpu is not None else ():
            if link.tag not in ("nvlink", "xgmi", "c2c"):
                continue
            many, target = _whole(link, "count", "1"), link.of.get("target", "").lower()
            kind = link.of.get("tclass", "").lower()
            found.facts[link.tag] += many
            found.facts[f"{link.tag}_elements"] += 1
            rate = _gpu_rate(found, gpu, link.tag) if gpu is not None else 0.0
            if many and target in found.gpus:
                counts[name] += many
                pairs[name, target] += many
                rates[name, target] = rate, link.tag.upper()
            elif many and (link.tag == "c2c" or kind.startswith("0x068001")):
                found.links.append(Link(name, cpu, rate, many, called=link.tag.upper()))
            elif many and (kind.startswith("0x0680") or target.startswith("ff")):
                counts[name] += many
                found.nodes.setdefault("nvswitch", Node("nvswitch", "nvswitch"))
                found.links.append(Link(name, "nvswitch", rate, many, called=link.tag.upper()))
            else:
                lost[name] += many
    found.links += _cables(pairs, rates)
    for name, many in lost.items():
        text = f"{count_of(many, 'link')} of {found.nodes[name].label} to what is not in the file"
        found.complaints.append(Complaint(text, (name,), "left out"))
    odd = [ends for ends, many in pairs.items() if pairs[ends[1], ends[0]] < many]
    if odd:
        said = list_few(["-".join(found.nodes[end].label for end in ends) for ends in odd], 4)
        found.complain(
            f"{count_of(len(odd), 'pair')} of GPUs whose ends say different numbers of links: {said}", *odd[0]
        )
    if counts and (usual := Counter(counts.values()).most_common(1)[0])[1] * 2 > len(counts):
        few = {name: many for name, many in counts.items() if many < usual[0]}
        if few:
            said = list_few([f"{found.nodes[name].label} with {many} of {usual[0]}" for name, many in few.items()], 4)
            text = f"{count_of(len(few), 'GPU')} {'has' if len(few) == 1 else 'have'} fewer links than most: {said}"
            found.complaints.append(Complaint(text, tuple(few), "degraded"))


def _cables(pairs: Counter[tuple[str, str]], rates: dict[tuple[str, str], tuple[float, str]]) -> Iterator[Link]:
    """Yield what joins GPUs: as many cables as both ends say, and the rest one way."""
    for (u, v), many in pairs.items():
        back, (rate, called) = pairs[v, u], rates[u, v]
        if u < v and back:
            yield Link(u, v, min(rate, rates[v, u][0]), min(many, back), called=called)
        if many > back:
            yield Link(u, v, rate, many - back, one_way=True, called=called)


def _gpu_rate(found: _Node, gpu: Element, tag: str) -> float:
    """Return the Gbit/s of one link of a GPU."""
    if tag == "xgmi":
        name = gpu.of.get("gcn", "").removeprefix("gfx")
        return next((rate for start, rate in _XGMI.items() if name.startswith(start)), 192.0)
    asked = _whole(gpu, "sm", "80")
    known = max((each for each in NVLINK if each <= asked), default=min(NVLINK))
    text = f"no rate is known of NVLink of sm {asked}: that of sm {known} is taken"
    if asked != known and all(each.text != text for each in found.complaints):
        found.complain(text)
    return NVLINK[known]


def _slow_devices(found: _Node) -> None:
    """Name devices whose PCIe link is slower than that of most of their kind."""
    for some in found.like.values():
        usual, times = Counter(rate for _, rate in some).most_common(1)[0]
        slow = [name for name, rate in some if rate < usual]
        if slow and 2 * times > len(some):
            said = list_few([found.nodes[name].label for name in slow], 4)
            text = f"{count_of(len(slow), 'device')} with a PCIe link slower than others of their kind: {said}"
            found.complaints.append(Complaint(text, tuple(slow), "degraded"))
