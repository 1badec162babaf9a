"""hwloc's XML, as ``lstopo out.xml`` writes it: GPUs, NVLink or XGMI where it knows them, PCIe and NUMA nodes.

Source: the documentation of hwloc, on its export to XML.
"""

import re
from collections import Counter
from itertools import combinations

from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.text import plain
from treecast.networks.reading.views import joins_all
from treecast.networks.reading.xml_tree import Element, tree_of

_BANDWIDTHS = ("NVLinkBandwidth", "XGMIBandwidth")
_OF_GPU = re.compile(r"(nvml|rsmi|cuda|ze)[0-9]+")
_UNKNOWN = 1.0  # GByte/s of a PCIe link whose speed is not known
_MOST_LISTED = 512
_WITHIN = 48.0  # Gbit/s between NUMA nodes, where nothing is said


@reader("hwloc", what="hwloc's XML", recognises=begins_with_element("topology"))
def machine_of(data: bytes) -> Machine:
    """Return the node of a file."""
    root = tree_of(data)
    gpus = _gpus(root)
    facts = {"objects": dict(sorted(Counter(each.of.get("type", "") for each in root.every("object")).items()))}
    nodes, links = _fast(root, gpus)
    complaints = list[Complaint]()
    fast = Machine("", nodes, links)
    several = any(node.kind == "nvswitch" for node in nodes.values())
    if links and (joins_all(fast) or several or _listed(root)):
        if not joins_all(fast):
            complaints.append(Complaint("the file does not say how the parts of it are joined"))
        return Machine("hwloc's XML", nodes, links, facts, complaints)
    nodes, links, unknown = dict[str, Node](), list[Link](), list[str]()
    for place, (above, inside) in enumerate(_numa_nodes(root)):
        name = f"numa{above.of.get('os_index', place)}"
        nodes[name] = Node("cpu" if gpus else "host")
        for each in inside.below if gpus else ():
            _walk(each, name, gpus, (nodes, links, unknown))
    numa = [name for name, node in nodes.items() if node.kind in ("cpu", "host")]
    links += [Link(u, v, _WITHIN) for u, v in combinations(numa, 2)]
    if unknown:
        complaints.append(Complaint(f"{len(unknown)} PCIe links of unknown speed, taken for 1 GByte/s", tuple(unknown)))
    if not gpus:
        complaints.append(Complaint("no GPU stands in it: NUMA nodes take part"))
    return Machine("hwloc's XML", nodes, links, facts, complaints)


def _gpus(root: Element) -> dict[str, str]:
    """Return the GPUs: by the number of each of their objects the name of the first; one of each PCI device."""
    found = dict[str, str]()
    for device in root.every("object"):
        if device.of.get("type") != "PCIDev":
            continue
        inside = [each for each in device.every("object") if _OF_GPU.fullmatch(each.of.get("name", ""))]
        inside.sort(key=lambda each: not each.of["name"].startswith(("nvml", "rsmi")))
        for each in [device, *inside]:
            if inside:
                found[each.of.get("gp_index", "")] = inside[0].of["name"]
    return found


def _listed(root: Element) -> bool:
    return any(
        each.of.get("name") in _BANDWIDTHS for tag in ("distances2hetero", "distances2") for each in root.every(tag)
    )


def _fast(root: Element, gpus: dict[str, str]) -> tuple[dict[str, Node], list[Link]]:
    """Return what the tables of bandwidths join."""
    nodes, links = dict[str, Node](), list[Link]()
    objects = {each.of.get("gp_index", ""): each for each in root.every("object")}
    for tag in ("distances2hetero", "distances2"):
        for listed in root.every(tag):
            if listed.of.get("name") not in _BANDWIDTHS:
                continue
            indexes = " ".join(each.text for each in listed.below if each.tag == "indexes").split()
            values = " ".join(each.text for each in listed.below if each.tag == "u64values").split()
            many = len(indexes)
            if many > _MOST_LISTED or len(values) != many * many:
                raise ValueError(
                    f"line {listed.line}: {many:,} objects have {len(values):,} values, not {many * many:,}"
                )
            names = [_add(nodes, objects, index, gpus) for index in indexes]
            for place, value in enumerate(values):
                u, v = names[place // many], names[place % many]
                if not re.fullmatch(r"[0-9]{1,18}", value):
                    raise ValueError(f"line {listed.line}: {value[:20]!r} is no bandwidth")
                if u != v and int(value):
                    links.append(
                        Link(
                            u,
                            v,
                            int(value) * 8 / 1000,
                            one_way=True,
                            called=listed.of["name"].removesuffix("Bandwidth"),
                        )
                    )
    return nodes, links


def _add(nodes: dict[str, Node], objects: dict[str, Element], index: str, gpus: dict[str, str]) -> str:
    """Add an object of a table, and return its name."""
    kind, _, number = index.rpartition(":")
    thing = objects.get(number)
    subtype = thing.of.get("subtype", "") if thing is not None else ""
    kind = kind or (thing.of.get("type", "") if thing is not None else "")
    if number in gpus and "NVSwitch" not in subtype:
        nodes[gpus[number]] = Node("gpu")
        return gpus[number]
    name = plain(index)
    nodes[name] = Node(
        "nvswitch" if kind in ("PCIDev", "Bridge") or "NVSwitch" in subtype else "gpu" if kind == "OSDev" else "cpu"
    )
    return name


def _numa_nodes(root: Element) -> list[tuple[Element, Element]]:
    """Return the NUMA nodes, each with what it is in: its devices stand there, too."""
    found = list[tuple[Element, Element]]()
    ahead = [root]
    while ahead:
        here = ahead.pop()
        found += [(each, here) for each in here.below if each.of.get("type") == "NUMANode"]
        ahead += [each for each in reversed(here.below) if each.of.get("type") != "NUMANode"]
    seen = set[int]()
    return [(node, here) for node, here in found if not (id(here) in seen or seen.add(id(here)))]


def _walk(here: Element, above: str, gpus: dict[str, str], into: tuple[dict[str, Node], list[Link], list[str]]) -> None:
    """Add the bridges and GPUs below a NUMA node."""
    nodes, links, unknown = into
    kind, name = here.of.get("type"), here.of.get("pci_busid", here.of.get("gp_index", ""))
    if kind not in ("Bridge", "PCIDev"):
        if kind in ("Package", "Group", "Machine"):
            return
        for each in here.below:
            _walk(each, above, gpus, into)
        return
    name = gpus.get(here.of.get("gp_index", ""), "") or f"pci:{plain(name)}"
    if kind == "PCIDev" and name.startswith("pci:"):
        return
    found = re.match(r"[0-9]{1,4}(\.[0-9]{1,9})?", here.of.get("pci_link_speed", ""))
    speed = float(found[0]) if found else 0.0
    if not speed and kind == "PCIDev":
        unknown.append(name)
    nodes[name] = Node("gpu" if kind == "PCIDev" else "pci")
    links.append(Link(above, name, (speed or _UNKNOWN if kind == "PCIDev" else speed or 63.0) * 8))
    for each in here.below:
        _walk(each, name, gpus, into)
