"""InfiniBand fabrics as ``iblinkinfo`` prints them: a line for each port, below its node or (``-l``) by itself.

Source: the man page iblinkinfo(8) of rdma-core. A port of a card is known by its local identifier, as a switch is.
"""

import re

from treecast.files.reading.ibnetdiscover import Printed, machine_of_seen
from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain, whole_number

_HEAD = re.compile(r"\s*(CA|HCA|Switch|SW|RT)(?:\s+0x[0-9a-fA-F]+)?:?\s+(?:0x[0-9a-fA-F]+\s+)?(.*?):?\s*$")
_LINK = re.compile(
    r'\s*(?:(0x[0-9a-fA-F]+)\s+)?(?:"([^"]*)"\s+)?(\d+)\s+(\d+)\[[^\]]*\]\s*==\(([^()]*)\)==>'
    r'\s*(?:(0x[0-9a-fA-F]+)\s+)?(?:(\d+)\s+(\d+))?\s*\[[^\]]*\]\s*"([^"]*)"'
)
_SPEED = re.compile(r"(1|2|4|8|12)X\s+([0-9.]+)\s*Gbps")
_CALLED = {
    "2.5": "SDR",
    "5.0": "DDR",
    "10.0": "QDR",
    "14.0625": "FDR",
    "25.78125": "EDR",
    "53.125": "HDR",
    "106.25": "NDR",
    "212.5": "XDR",
}  # Gbit/s of a lane, with its code
_ARROW = rb"\d+\[[^\]\n]*\]\s*==\([^()\n]*\)==>"


@reader("iblinkinfo", summary="iblinkinfo", recognises=matches(_ARROW))
def machine_of(data: bytes) -> Machine:
    """Return the fabric of a file."""
    seen, node, card = Printed(), "", False
    of, lines = dict[str, str](), list[tuple[int, re.Match[str]]]()
    for number, line in enumerate(lines_of(data), 1):
        if found := _LINK.match(line):
            own = node or f"lid{found[3]}"  # no head above it
            of[found[3]] = own if card else f"lid{found[3]}"
            if found[2] is not None:  # one line says all
                seen.said[of[found[3]]], seen.kinds[of[found[3]]] = plain(found[2]), ""
            elif node and not card:
                seen.kinds[of[found[3]]], seen.said[of[found[3]]] = "switch", seen.said.get(node, "")
            lines.append((number, found))
        elif found := _HEAD.match(line):
            card, said = found[1] in ("CA", "HCA"), plain(found[2])
            node = f"card{len(seen.kinds)}:{said}" if card else f"switch:{number}"
            seen.said[node] = said
            if card:
                seen.kinds[node] = "hca"
        elif "==(" in line:
            raise ValueError(
                f'line {number} is no port: it is written 4 1[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 2 17[ ] "sw1" ( )'
            )
        elif line.strip():
            seen.odd.append(number)
    for number, found in lines:
        if found[7] is None:  # nothing is plugged in
            seen.unlinked += 1
            continue
        here, there = of[found[3]], of.setdefault(found[7], f"lid{found[7]}")
        seen.said.setdefault(there, plain(found[9]))
        seen.kinds.setdefault(there, "")
        try:
            ports = [whole_number(found[place], "a port") for place in (4, 8)]
            seen.cable((here, ports[0]), (there, ports[1]), _speed(found[5]))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    seen.name_kinds()
    return machine_of_seen(seen, "iblinkinfo")


def _speed(said: str) -> str:
    """Return the width and speed of a cable as ibnetdiscover writes them; an empty text where it is not known."""
    found = _SPEED.search(said)
    # as numbers: 25.0 and 25 are one rate
    called = next((word for rate, word in _CALLED.items() if found and float(rate) == float(found[2])), "")
    return f"{found[1]}x{called}" if found and called else ""
