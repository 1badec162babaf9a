"""Tenstorrent's cluster descriptors (YAML): chips and the Ethernet cables between them.

Source: tt-umd's cluster descriptors, and tt-metal's lists of those of several hosts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from treecast.description import count_of
from treecast.networks.reading.data import row, table, text, yaml_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import Files, matches, reader
from treecast.networks.reading.text import whole_number

RATES = {"wormhole": 100.0, "blackhole": 400.0}
"""Gbit/s of a cable each way, by the kind of chip: Ethernet of 100G, and half a port of 800G, by docs.tenstorrent.com."""
_MOST_CHIPS, _MOST_FILES = 1 << 16, 256


@reader(
    "tenstorrent",
    summary="Tenstorrent's cluster descriptor",
    recognises=matches(rb"^\s*(ethernet_connections|chips_with_mmio)\s*:"),
)
def machine_of(data: bytes) -> Machine:
    """Return the chips of a cluster descriptor."""
    said = table(yaml_of(data), "the file")
    arch = table(said.get("arch"), "arch")
    chips = sorted({_number(name) for name in [*arch, *table(said.get("chips"), "chips")]})
    kinds = Counter(str(kind).lower() for kind in arch.values()).most_common(1)
    rate = next((rate for kind, rate in RATES.items() if kinds and kinds[0][0].startswith(kind)), 0.0)
    cables = dict[frozenset[tuple[int, int]], tuple[int, int]]()
    connections = row(said.get("ethernet_connections"), "ethernet_connections")
    for each in connections:
        ends = [table(end, "an end") for end in row(each, "a cable") if isinstance(end, dict) and "chip" in end]
        if len(ends) != 2:
            raise ValueError(
                "an entry of ethernet_connections has not two ends: write [{chip: 0, chan: 8}, {chip: 1, chan: 0}]"
            )
        (u, port), (v, other) = [(_number(end.get("chip")), _number(end.get("chan"), "chan")) for end in ends]
        if u != v:
            cables[frozenset(((u, port), (v, other)))] = (min(u, v), max(u, v))
    chips = sorted({*chips, *(chip for ends in cables.values() for chip in ends)})
    if not chips:
        raise ValueError("it has no chip: 'arch' names them, as in 0: Wormhole")
    ids = table(said.get("chip_unique_ids"), "chip_unique_ids")
    nodes = {f"chip{chip}": Node("chip", also=(str(ids[str(chip)]),) if str(chip) in ids else ()) for chip in chips}
    found = Draft(nodes)
    found.links += [
        Link(f"chip{u}", f"chip{v}", rate, many) for (u, v), many in sorted(Counter(cables.values()).items())
    ]
    remote = row(said.get("ethernet_connections_to_remote_devices"), "ethernet_connections_to_remote_devices")
    _leave_out(found, len(remote))
    if not rate and found.links:
        found.remark("no rate is known of such chips")
    facts: dict[str, Any] = {
        "to_others": [_to_other(each) for each in remote],
        "chips": len(chips),
        "connections": len(connections),
        "remote": len(remote),
        "mmio": len(row(said.get("chips_with_mmio"), "chips_with_mmio")),
    }
    return found.machine("Tenstorrent's cluster descriptor", facts)


def _leave_out(found: Draft, cables: int) -> None:
    if cables:
        found.remark(f"{count_of(cables, 'cable')} to chips of another file", sort="left out")


@reader(
    "tenstorrent-mapping",
    summary="Tenstorrent's list of cluster descriptors",
    recognises=matches(rb"^rank_to_(cluster_mock_cluster_desc|filename)\s*:"),
)
def files_of(data: bytes) -> Files:
    """Return the cluster descriptors that a file names, one of each host, by rank."""
    said = table(yaml_of(data), "the file")
    listed = [table(value, key).items() for key, value in said.items() if key.startswith("rank_to_")]
    ranks = {whole_number(rank, "a rank"): text(name, "a file") for each in listed for rank, name in each}
    if not 0 < len(ranks) <= _MOST_FILES:
        raise ValueError(f"it names {len(ranks):,} files: 1 to {_MOST_FILES} will do")
    return Files(tuple(name for _, name in sorted(ranks.items())))


def together(machines: Sequence[object]) -> Machine:
    """Return the machines of several descriptors as one: chips of file i are called ``i/chip0`` and so on, from 0.

    A cable to a chip of another file is known by the number that is that chip's alone. Raises ValueError when a file is no
    cluster descriptor.
    """
    found, chips = Draft(), dict[str, str]()
    to_others = list[tuple[str, int, str, int]]()
    for place, each in enumerate(machines):
        if not isinstance(each, Machine) or "to_others" not in each.facts:
            raise ValueError("several files are read together where they are Tenstorrent's cluster descriptors only")
        found.nodes |= {f"{place}/{name}": node for name, node in each.nodes.items()}
        found.links += [link._replace(u=f"{place}/{link.u}", v=f"{place}/{link.v}") for link in each.links]
        chips |= {other: f"{place}/{name}" for name, node in each.nodes.items() for other in node.also}
        to_others += [(f"{place}/chip{chip}", *there) for chip, *there in each.facts["to_others"]]
    rate = max((link.rate for link in found.links), default=0.0)
    known = [(here, port, chips[other], its) for here, port, other, its in to_others if other in chips]
    cables = {frozenset(((here, port), (there, its))): (here, there) for here, port, there, its in known}
    found.links += [Link(u, v, rate) for u, v in cables.values()]
    _leave_out(found, len(to_others) - len(known))
    facts = {"files": len(machines), "chips": len(found.nodes), "cables_between": len(cables)}
    return found.machine("Tenstorrent's cluster descriptors", facts)


def _to_other(cable: Any) -> tuple[int, int, str, int]:
    """Return a cable to another file: its chip and port here, and the number and port of the chip there."""
    ends = [table(end, "an end") for end in row(cable, "a cable") if isinstance(end, dict)]
    here = next((end for end in ends if "chip" in end), None)
    there = next((end for end in ends if "remote_chip_id" in end), None)
    if here is None or there is None:
        raise ValueError("a cable to a remote device is written [{chip: 0, chan: 8}, {remote_chip_id: 7, chan: 0}]")
    ports = [_number(end.get("chan"), "chan") for end in (here, there)]
    return _number(here.get("chip")), ports[0], text(there["remote_chip_id"], "remote_chip_id"), ports[1]


def _number(value: Any, name: str = "a chip") -> int:
    return whole_number(text(value, name), name, _MOST_CHIPS)
