"""Tenstorrent's cluster descriptors (YAML): chips and the Ethernet cables between them.

Source: tt-umd's cluster descriptors; the rates are those of the vendor's product pages.
"""

from collections import Counter
from typing import Any

from treecast.description import count_of
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import whole_number
from treecast.networks.reading.yaml_data import row, table, text, yaml_of

RATES = {"wormhole": 100.0, "blackhole": 400.0}
"""Gbit/s of a cable each way, by the kind of chip."""
_MOST_CHIPS = 1 << 16


@reader(
    "tenstorrent",
    what="Tenstorrent's cluster descriptor",
    recognises=matches(rb"^\s*(ethernet_connections|chips_with_mmio)\s*:"),
)
def machine_of(data: bytes) -> Machine:
    """Return the chips of a cluster descriptor."""
    said = table(yaml_of(data), "the file")
    arch = table(said.get("arch"), "arch")
    chips = sorted({_chip(name) for name in [*arch, *table(said.get("chips"), "chips")]})
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
        (u, port), (v, other) = [(_chip(end.get("chip")), _number(end.get("chan"), "chan")) for end in ends]
        if u != v:
            cables[frozenset(((u, port), (v, other)))] = (min(u, v), max(u, v))
    chips = sorted({*chips, *(chip for ends in cables.values() for chip in ends)})
    if not chips:
        raise ValueError("it has no chip: 'arch' names them, as in 0: Wormhole")
    ids = table(said.get("chip_unique_ids"), "chip_unique_ids")
    nodes = {f"chip{chip}": Node("chip", also=(str(ids[str(chip)]),) if str(chip) in ids else ()) for chip in chips}
    pairs = Counter(cables.values())
    links = [Link(f"chip{u}", f"chip{v}", rate, many) for (u, v), many in sorted(pairs.items())]
    remote = row(said.get("ethernet_connections_to_remote_devices"), "ethernet_connections_to_remote_devices")
    complaints = (
        [Complaint(f"{count_of(len(remote), 'cable')} to chips of another file", (), "left out")] if remote else []
    )
    if not rate and links:
        complaints.append(Complaint("no rate is known of such chips"))
    facts = {
        "chips": len(chips),
        "connections": len(connections),
        "remote": len(remote),
        "mmio": len(row(said.get("chips_with_mmio"), "chips_with_mmio")),
    }
    return Machine("Tenstorrent's cluster descriptor", nodes, links, facts, complaints)


def _chip(value: Any) -> int:
    return _number(value, "a chip")


def _number(value: Any, what: str) -> int:
    return whole_number(text(value, what), what, _MOST_CHIPS)
