"""The node that NCCL or RCCL found, as NCCL_TOPO_DUMP_FILE writes it: GPUs, NVLink, XGMI, PCIe, NUMA nodes and NICs.

Source: the rates are those of NCCL's and RCCL's search (src/graph/topo.h, xml.cc).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from treecast.files.reading.data import Element, tree_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.text import plain, whole_number
from treecast.networks.reading.views import NVLINK, gpu_links, joins_all

_PCIE = {2.5: 2.0, 5.0: 4.0, 8.0: 7.877, 16.0: 15.754, 32.0: 31.508, 64.0: 60.5}  # Gbit/s of a lane by its GT/s
_NO_WIDTH = (0, 63, 255)  # what the kernel says of virtual devices
_XGMI = {"906": 192.0, "908": 192.0, "910": 288.0, "90a": 288.0, "94": 384.0, "95": 384.0}  # Gbit/s of a link by gfx
_GPUS, _NICS = ("0x0300", "0x0302", "0x0380", "0x1200"), ("0x0200", "0x0207")  # classes of PCI
_WRITE_ALL = "let NCCL write all: NCCL_TOPO_DUMP_FILE=topo.xml"


@dataclass
class _Node(Draft):
    """The parts read so far: GPUs by bus number with their NUMA node and element, PCIe links by their likeness."""

    unknown: list[str] = field(default_factory=list[str])  # devices whose PCIe link has no speed or width
    facts: Counter[str] = field(default_factory=Counter[str])
    gpus: dict[str, tuple[str, Element | None]] = field(default_factory=dict[str, tuple[str, Element | None]])
    like: dict[tuple[str, str], list[tuple[str, float]]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], list[tuple[str, float]]](list)
    )

    def add(self, name: str, node: Node) -> str:
        """Add a node; a name that is taken gets a mark."""
        while name in self.nodes:
            name += "'"
        self.nodes[name] = node
        return name

    def labels(self, *names: str) -> str:
        """Return the labels of nodes, a line between them."""
        return "-".join(self.nodes[name].label for name in names)


@reader("nccl", summary="NCCL's or RCCL's XML", recognises=begins_with_element("system"))
def machine_of(data: bytes) -> Machine:
    """Return the node of a file."""
    root, found, cpus = tree_of(data), _Node(), list[tuple[str, Element]]()
    for place, cpu in enumerate(root.every("cpu")):
        number = cpu.of.get("numaid", str(place))
        name = found.add(f"cpu:{cpu.of.get('host_hash', '')}{number}", Node("cpu", plain(f"cpu{number}")))
        cpus.append((name, cpu))
        _walk(found, cpu, name, name)
    if not found.gpus:
        raise ValueError(f"this file only adds NICs to the machine that NCCL finds; {_WRITE_ALL}")
    for (u, one), (v, other) in combinations(cpus, 2):
        if one.of.get("host_hash") == other.of.get("host_hash"):  # a file may hold several
            found.links.append(Link(u, v, _between(one)))
    found.facts["cpus"], found.facts["gpus"] = len(cpus), len(found.gpus)
    _of_gpus(found)
    found.complain(found.unknown, "PCIe link", "of unknown speed or width, taken as 8 GT/s or 16 lanes", nodes=())
    _slow_devices(found)
    if not any(found.facts[tag] for tag in ("nvlink", "xgmi")):
        found.remark(f"no NVLink or XGMI stands in it; if the GPUs have some, {_WRITE_ALL}")
    machine = found.machine("NCCL's XML", found.facts)
    return found.machine(machine.format, {**found.facts, "gpu_links_join_all": joins_all(gpu_links(machine))})


@reader("nccl-graph", summary="NCCL's rings and trees", recognises=begins_with_element("graphs"))
def refuse_graphs(data: bytes) -> Machine:
    """Refuse the file in which NCCL writes its rings and trees."""
    raise ValueError("this is the answer of NCCL's search, not the machine: give the file of NCCL_TOPO_DUMP_FILE")


def _walk(found: _Node, inside: Element, above: str, cpu: str) -> None:
    """Read the devices below a NUMA node or a bridge."""
    for each in inside.below:
        if each.tag == "nic":
            found.facts["nets_on_cpu"] += _nets(found, each, above, 0.0)
        if each.tag != "pci":
            continue
        found.facts["pci"] += 1
        bus, kind = plain(each.of.get("busid", "")).lower(), each.of.get("class", "").lower()[:6]
        gpu, nic, rate = each.first("gpu"), each.first("nic"), _pcie(found, each)
        if gpu is not None or (nic is None and kind in _GPUS):
            number = gpu.of["dev"] if gpu is not None and "dev" in gpu.of else str(len(found.gpus))
            name = found.add(bus, Node("gpu", plain(f"gpu{number}")))
            found.gpus[name] = cpu, gpu
        elif nic is not None or kind in _NICS:
            found.facts["nics"] += 1
            if nic is None or not _nets(found, nic, above, rate):  # a NIC whose ports nobody says is a node itself
                found.links.append(Link(above, found.add(bus, Node("nic")), rate))
            continue
        else:
            found.facts["bridges"] += 1
            name = found.add(bus, Node("pci", f"pci:{bus}"))
            _walk(found, each, name, cpu)
        found.links.append(Link(above, name, rate))
        found.like[kind, each.of.get("device", "")].append((name, rate))


def _nets(found: _Node, nic: Element, above: str, rate: float) -> int:
    """Add a node for each port of a NIC; return how many there are."""
    nets = [*nic.every("net")]
    for net in nets:
        speed = _whole(net, "speed", "0", 10**9) if not net.of.get("speed", "0").startswith("-") else 0
        found.facts["net_mbps"] += speed if rate else 0
        called, guid = plain(net.of.get("name", "")), net.of.get("guid", "").lower().removeprefix("0x")
        name = found.add(f"nic:{called or len(found.nodes)}", Node("nic", called, also=(guid,)))
        carries = (speed or 10_000) / 1000
        found.links.append(Link(above, name, min(carries, rate) if rate else carries))
    found.facts["nets"] += len(nets)
    return len(nets)


def _pcie(found: _Node, device: Element) -> float:
    """Return the Gbit/s of the PCIe link to a device; of unknown speed or width it is that of 16 lanes of 8 GT/s."""
    speed = re.match(r"\s*([0-9]{1,4}(?:\.[0-9]{1,4})?)", device.of.get("link_speed", ""))
    lanes = _whole(device, "link_width", "0")
    if speed is None or lanes in _NO_WIDTH:
        found.unknown.append(plain(device.of.get("busid", "")))
    return (16 if lanes in _NO_WIDTH else lanes) * _PCIE.get(float(speed[1]) if speed else 8.0, 7.877)


def _whole(element: Element, name: str, usual: str, most: int = 65_535) -> int:
    try:
        return whole_number(element.of.get(name, usual).strip(), name, most)
    except ValueError as error:
        raise ValueError(f"line {element.line}: {error}") from None


def _between(cpu: Element) -> float:
    """Return the Gbit/s between two NUMA nodes of a host."""
    arch, vendor = cpu.of.get("arch", ""), cpu.of.get("vendor", "")
    # the first that is so
    known = (arch == "ppc64", 256.0), (arch == "arm64", 48.0), ("AMD" in vendor, 128.0), ("Shanghai" in vendor, 72.0)
    if rates := [rate for is_so, rate in known if is_so]:
        return rates[0]
    model = _whole(cpu, "modelid", "0")
    # by Intel's models, the latest first
    return next(rate for least, rate in ((0xCF, 320.0), (0x8F, 176.0), (0x55, 80.0), (0, 48.0)) if model >= least)


def _of_gpus(found: _Node) -> None:
    """Add the links of the GPUs, and say which have fewer than most."""
    # 1. Each link, by what is at its other end: a GPU, the CPU, a switch, or nothing in the file.
    counts, pairs, lost = dict.fromkeys(found.gpus, 0), Counter[tuple[str, str]](), Counter[str]()
    rates = dict[tuple[str, str], tuple[float, str]]()
    for name, (cpu, gpu) in found.gpus.items():
        for link in gpu.below if gpu is not None else ():
            if gpu is None or link.tag not in ("nvlink", "xgmi", "c2c"):
                continue
            many, target = _whole(link, "count", "1"), link.of.get("target", "").lower()
            kind, called, rate = link.of.get("tclass", "").lower(), link.tag.upper(), _gpu_rate(found, gpu, link.tag)
            found.facts[link.tag] += many
            found.facts[f"{link.tag}_elements"] += 1
            if many and target in found.gpus:
                counts[name] += many
                pairs[name, target] += many
                rates[name, target] = rate, called
            elif many and (link.tag == "c2c" or kind.startswith("0x068001")):  # the class of a CPU's bridge
                found.links.append(Link(name, cpu, rate, many, called=called))
            elif many and (kind.startswith("0x0680") or target.startswith("ff")):
                counts[name] += many
                found.nodes.setdefault("nvswitch", Node("nvswitch", "nvswitch"))
                found.links.append(Link(name, "nvswitch", rate, many, called=called))
            else:
                lost[name] += many
    # 2. Links between GPUs are said at both ends: as many go both ways as both say.
    found.links += _cables(pairs, rates)
    # 3. Complaints: lost links, ends that differ, GPUs with fewer than most.
    for name, many in lost.items():
        words = f"{many:,} link{'s' * (many != 1)} of {found.labels(name)} to parts that are not in the file"
        found.remark(words, name, sort="left out")
    odd = [ends for ends, many in pairs.items() if pairs[ends[1], ends[0]] < many]
    words = "of GPUs whose ends say different numbers of links"
    found.complain([found.labels(*ends) for ends in odd], "pair", words, nodes=odd[0] if odd else ())
    usual, times = Counter(counts.values()).most_common(1)[0]
    few = [name for name, many in counts.items() if many < usual and 2 * times > len(counts)]
    words = f"{'has' if len(few) == 1 else 'have'} fewer links than most"
    said = [f"{found.labels(name)} with {counts[name]} of {usual}" for name in few]
    found.complain(said, "GPU", words, "degraded", few)


def _cables(pairs: Counter[tuple[str, str]], rates: dict[tuple[str, str], tuple[float, str]]) -> Iterator[Link]:
    """Yield the links of GPUs: as many cables as both ends say, and the rest one way."""
    for (u, v), many in pairs.items():
        back, (rate, called) = pairs[v, u], rates[u, v]
        if u < v and back:  # once for both
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
    if asked != known:
        found.remark(f"no rate is known of NVLink of sm {asked}: that of sm {known} is taken")
    return NVLINK[known]


def _slow_devices(found: _Node) -> None:
    """Name devices whose PCIe link is slower than that of most of their kind."""
    for some in found.like.values():
        usual, times = Counter(rate for _, rate in some).most_common(1)[0]
        slow = [name for name, rate in some if rate < usual and 2 * times > len(some)]
        words = "with a PCIe link slower than others of their kind"
        found.complain([found.labels(name) for name in slow], "device", words, "degraded", slow)
