"""hwloc's XML, as ``lstopo out.xml`` writes it: GPUs, NVLink or XGMI where it knows them, PCIe and NUMA nodes.

Source: the documentation of hwloc, on its export to XML.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

from treecast.description import count_of
from treecast.files.reading.data import Element, tree_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.text import plain
from treecast.networks.reading.views import joins_all

_TABLES, _BANDWIDTHS = ("distances2hetero", "distances2"), ("NVLinkBandwidth", "XGMIBandwidth")
_OF_GPU = re.compile(r"(nvml|rsmi|cuda|ze)[0-9]+")
_UNKNOWN, _FASTEST = 1.0, 63.0
"""GByte/s of a PCIe link of a device, or of a bridge, whose speed is not known; 63 is 16 lanes of PCIe 5."""
_MOST_LISTED = 512
_WITHIN = 48.0  # Gbit/s between NUMA nodes, where nothing is said: the least that NCCL takes


@reader("hwloc", summary="hwloc's XML", recognises=begins_with_element("topology"))
def machine_of(data: bytes) -> Machine:
    """Return the node of a file."""
    root = tree_of(data)
    gpus, kinds = _gpus(root), Counter(each.of.get("type", "") for each in root.every("object"))
    facts = {"objects": dict(sorted(kinds.items()))}
    if tables := [each for tag in _TABLES for each in root.every(tag) if each.of.get("name") in _BANDWIDTHS]:
        fast = _fast(root, tables, gpus)
        if fast.links:
            if not joins_all(found := fast.machine("hwloc's XML", facts)):
                fast.remark("the file does not say how the parts of it are joined")
            return found
    slow, unknown = Draft(), list[str]()
    for place, (above, inside) in enumerate(_numa_nodes(root)):
        name = f"numa{above.of.get('os_index', place)}"
        slow.nodes[name] = Node("cpu" if gpus else "host")
        for each in inside.below if gpus else ():
            _walk(slow, each, name, gpus, unknown)
    numa = [name for name, node in slow.nodes.items() if node.kind in ("cpu", "host")]
    slow.links += [Link(u, v, _WITHIN) for u, v in combinations(numa, 2)]
    if unknown:
        slow.remark(f"{count_of(len(unknown), 'PCIe link')} of unknown speed, taken for 1 GByte/s", *unknown)
    if not gpus:
        slow.remark("no GPU stands in it: NUMA nodes take part")
    return slow.machine("hwloc's XML", facts)


def _gpus(root: Element) -> dict[str, str]:
    """Return the GPUs: by the number of each of their objects the name of the first; one of each PCI device."""
    found = dict[str, str]()
    for device in root.every("object"):
        inside = [each for each in device.every("object") if _OF_GPU.fullmatch(each.of.get("name", ""))]
        if device.of.get("type") == "PCIDev" and inside:
            # a name of nvml or rsmi is better than others
            first = min(inside, key=lambda each: not each.of["name"].startswith(("nvml", "rsmi")))
            found |= {each.of.get("gp_index", ""): first.of["name"] for each in [device, *inside]}
    return found


def _fast(root: Element, tables: Sequence[Element], gpus: dict[str, str]) -> Draft:
    """Return the objects in the tables of bandwidths, and their links."""
    found, objects = Draft(), {each.of.get("gp_index", ""): each for each in root.every("object")}
    for listed in tables:
        texts = {tag: [each.text for each in listed.below if each.tag == tag] for tag in ("indexes", "u64values")}
        indexes, values = (" ".join(said).split() for said in texts.values())
        many, called = len(indexes), listed.of["name"].removesuffix("Bandwidth")
        if many > _MOST_LISTED or len(values) != many * many:
            raise ValueError(f"line {listed.line}: {many:,} objects have {len(values):,} values, not {many * many:,}")
        names = [_add(found, objects, index, gpus) for index in indexes]
        for (u, v), value in zip(product(names, names), values, strict=True):
            if not re.fullmatch(r"[0-9]{1,18}", value):
                raise ValueError(f"line {listed.line}: {value[:20]!r} is no bandwidth")
            if u != v and int(value):  # 0: no link
                found.links.append(Link(u, v, int(value) * 8 / 1000, one_way=True, called=called))  # from MByte/s
    return found


def _add(found: Draft, objects: dict[str, Element], index: str, gpus: dict[str, str]) -> str:
    """Add an object of a table, and return its name."""
    kind, _, number = index.rpartition(":")  # PCIDev:4 in a table of several kinds, else 4
    of = objects[number].of if number in objects else {}
    kind, name = kind or of.get("type", ""), plain(index)
    if "NVSwitch" in of.get("subtype", ""):
        kind = "Bridge"
    elif number in gpus:
        kind, name = "OSDev", gpus[number]
    # a PCI device that holds no GPU is an NVSwitch
    found.nodes[name] = Node({"PCIDev": "nvswitch", "Bridge": "nvswitch", "OSDev": "gpu"}.get(kind, "cpu"))
    return name


def _numa_nodes(root: Element) -> list[tuple[Element, Element]]:
    """Return the NUMA nodes, each with the element around it: its devices stand there, too."""
    found, ahead = list[tuple[Element, Element]](), [root]
    while ahead:
        here = ahead.pop()
        # of several in one place the first
        found += [(each, here) for each in here.below if each.of.get("type") == "NUMANode"][:1]
        ahead += [each for each in reversed(here.below) if each.of.get("type") != "NUMANode"]
    return found


def _walk(found: Draft, here: Element, above: str, gpus: dict[str, str], unknown: list[str]) -> None:
    """Add the bridges and GPUs below a NUMA node; ``unknown``: whose speed the file does not say."""
    kind, gpu = here.of.get("type"), gpus.get(here.of.get("gp_index", ""), "")
    if kind in ("Bridge", "PCIDev"):
        if kind == "PCIDev" and not gpu:
            return  # other devices take no part
        name = gpu or f"pci:{plain(here.of.get('pci_busid', here.of.get('gp_index', '')))}"
        said = re.match(r"[0-9]{1,4}(\.[0-9]{1,4})?", here.of.get("pci_link_speed", ""))  # GByte/s
        speed = float(said[0]) if said else 0.0
        if kind == "PCIDev" and not speed:
            unknown.append(name)
        found.nodes[name] = Node("gpu" if kind == "PCIDev" else "pci")
        found.links.append(Link(above, name, (speed or (_UNKNOWN if kind == "PCIDev" else _FASTEST)) * 8))
        above = name
    elif kind in ("Package", "Group", "Machine"):
        return
    for each in here.below:
        _walk(found, each, above, gpus, unknown)
