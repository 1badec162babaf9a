"""InfiniBand fabrics as ``ibnetdiscover`` prints them, by nodes or (``-p``) by ports, and as ibsim reads them.

Source: the man page ibnetdiscover(8) of rdma-core. A cable stands there twice, once at each end.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from treecast.description import count_of
from treecast.networks.reading.degraded import degraded, facts_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain, whole_number

_LANES = {
    "SDR": 2.0,
    "DDR": 4.0,
    "QDR": 8.0,
    "FDR10": 10.0,
    "FDR": 13.64,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Gbit/s of data of a lane each way: the signalling rates of the InfiniBand specification, less its 8b/10b or 64b/66b code."""
_HEADER = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?')
_PORT = re.compile(r'\[(\d+)\](?:\[ext \d+\])?(?:\([0-9a-fA-Fx]+\))?\s*"([^"]+)"\s*\[(\d+)\](?:\([0-9a-fA-Fx]+\))?(.*)')
_BY_PORT = re.compile(r"(CA|SW|RT)\s+(\d+)\s+(\d+)\s+(0x[0-9a-fA-F]+)\s+(\d+x\s+\S+)\s*(.*)")
_OTHER_END = re.compile(r"-\s+(CA|SW|RT)\s+(\d+)\s+(\d+)\s+(0x[0-9a-fA-F]+)\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)")
_SPEED = re.compile(r"(1|2|4|8|12)x\s*(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b")
_OF_HOST = re.compile(r"(\S+)\s+((?:HCA-?|mlx|mthca|qib|hfi|ib|roce|bnxt)\S*\d\S*)", re.IGNORECASE)  # host and card
_OF_SWITCH = re.compile(r"[^;]*;([^;:]+)(?::.*)?")  # kind;name:more
_KINDS = {"Switch": "switch", "SW": "switch", "Ca": "hca", "Hca": "hca", "CA": "hca", "Rt": "switch", "RT": "switch"}
_VAGUE = frozenset({"localhost", "ubuntu", "(none)", "localhost.localdomain"})  # hosts that nobody has named yet
# what the tool prints besides
_NOISE = re.compile(r"\s*(#|Chassis|vendid=|devid=|switchguid=|caguid=|rtguid=|DR path|src/|\S*ibwarn)|\s*$")
End = tuple[str, int]


@dataclass
class Printed:
    """The nodes and cables that have been read so far."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    said: dict[str, str] = field(default_factory=dict[str, str])  # descriptions
    images: dict[str, str] = field(default_factory=dict[str, str])  # sysimgguid by node
    partner: dict[End, End] = field(default_factory=dict[End, End])
    speeds: dict[frozenset[End], str] = field(default_factory=dict[frozenset[End], str])
    words: Counter[str] = field(default_factory=Counter[str])
    unlinked: int = 0
    odd: list[int] = field(default_factory=list[int])

    def cable(self, here: End, there: End, comment: str) -> None:
        """Note one end of a cable."""
        if self.partner.setdefault(here, there) != there:
            raise ValueError(
                f"port {here[1]} of {here[0]} has two partners: {_end(self.partner[here])} and {_end(there)}"
            )
        found = _SPEED.search(comment)
        word = f"{found[1]}x{found[2]}" if found else ""
        self.words[word or "None"] += 1
        # one end may say less: what the other said stays
        self.speeds[frozenset((here, there))] = word or self.speeds.get(frozenset((here, there)), "")

    def name_kinds(self) -> None:
        """Tell cards from switches by their descriptions, where nothing else has."""
        for name, kind in self.kinds.items():
            self.kinds[name] = kind or ("hca" if _OF_HOST.fullmatch(self.said.get(name, "").strip()) else "switch")


def _end(end: End) -> str:
    return f"port {end[1]} of {end[0]}"


@reader(
    "ibnetdiscover",
    summary="InfiniBand",
    recognises=matches(rb'^(Switch|Ca|Hca|Rt)\s+\d+\s+"|^(CA|SW)\s+\d+\s+\d+\s+0x'),
    suffixes=(".ibnetdiscover", ".topo"),
)
def machine_of(data: bytes) -> Machine:
    """Return the fabric of a file."""
    seen, here, image = Printed(), "", ""
    for number, line in enumerate(lines_of(data), 1):
        try:
            if found := _HEADER.match(line):
                here = found[3]
                seen.kinds[here], seen.said[here] = _KINDS[found[1]], plain(found[4] or "")
                if image:  # it stands above its node
                    seen.images[here] = image
                image = ""
            elif line.startswith("["):
                found = _PORT.match(line)
                if not found or not here:
                    raise ValueError('is no port of a node: it is written [1] "H-…"[1] # … 4xNDR, below its node')
                seen.cable((here, _port(found[1])), (found[2], _port(found[3])), found[4])
            elif found := _BY_PORT.match(line):
                _by_port(seen, found)
            elif line.startswith("sysimgguid="):
                image = line.partition("=")[2].strip()
            elif not _NOISE.match(line):
                seen.odd.append(number)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not seen.kinds:
        raise ValueError('it has no node: a line of one is written Switch 36 "S-…" # "name"')
    return machine_of_seen(seen, "ibnetdiscover")


def _port(text: str) -> int:
    return whole_number(text, "a port")


def _by_port(seen: Printed, found: re.Match[str]) -> None:
    name, rest = found[4], found[6]
    seen.kinds[name] = _KINDS[found[1]]
    other = _OTHER_END.match(rest)
    if other is None:
        if rest.startswith("-"):
            raise ValueError("it is cut short: behind '-' stands the other end, as in - SW 1 2 0x… ( 'name' - 'name' )")
        seen.unlinked += 1
        seen.said.setdefault(name, plain(rest.strip(" '")))
        return
    seen.kinds[other[4]] = _KINDS[other[1]]
    seen.said[name], seen.said[other[4]] = plain(other[5]), plain(other[6])
    seen.cable((name, _port(found[3])), (other[4], _port(other[3])), found[5])


def machine_of_seen(seen: Printed, tool: str) -> Machine:
    """Return the fabric of the nodes and cables that a tool has printed."""
    # 1. Nodes and links; aggregation nodes are no hosts.
    sharp = {name for name in seen.kinds if "aggregation" in seen.said.get(name, "").lower()}
    hosts = _hosts(seen, sharp)
    nodes = dict[str, Node]()
    for name, kind in seen.kinds.items():
        if name not in sharp:
            said = seen.said.get(name, "")
            nodes[name] = Node(kind, _label(kind, said), hosts.get(name, ""))
    found = Draft(nodes)
    _add_links(found, seen, sharp)
    # 2. What is odd about it.
    if sharp:
        found.remark(count_of(len(sharp), "SHARP aggregation node"), *sharp, sort="left out")
    if vague := sorted(_VAGUE.intersection(hosts.values())):
        found.remark(f"{', '.join(vague)}: one host each, though several may have that name", *vague)
    if seen.odd:
        text = f"{count_of(len(seen.odd), 'line')} that {tool} does not print, from line {seen.odd[0]}"
        found.remark(text, sort="left out")
    found.complaints += degraded(nodes, found.links)
    # 3. What it counts.
    cards = [name for name, kind in seen.kinds.items() if kind == "hca"]
    facts = {
        "switches": len(seen.kinds) - len(cards),
        "hcas": len(cards),
        "links": len(seen.speeds),
        "sharp": len(sharp),
        "named_hosts": len(set(hosts.values())),
        "unnamed_hcas": sum(name not in hosts and name not in sharp for name in cards),
        "rates": dict(seen.words),
        "ports_without_link": seen.unlinked,
    }
    return found.machine(tool, facts | facts_of(nodes, found.links))


def _hosts(seen: Printed, sharp: set[str]) -> dict[str, str]:
    """Return the host of each card that names one, or another card of whose board does."""
    named = dict[str, str]()
    for name, kind in seen.kinds.items():
        found = _OF_HOST.fullmatch(seen.said.get(name, "").strip())
        if kind == "hca" and found and name not in sharp:
            named[name] = found[1]
    boards = defaultdict[str, set[str]](set)
    for name, host in named.items():
        boards[seen.images.get(name, "")].add(host)
    # a card without a host is of its board's, if the board's cards name one only
    for name, image in seen.images.items():
        if seen.kinds[name] == "hca" and name not in named and name not in sharp and len(boards.get(image, ())) == 1:
            named[name] = next(iter(boards[image]))
    return named


def _label(kind: str, said: str) -> str:
    if kind == "switch":
        found = _OF_SWITCH.fullmatch(said)
        return (found[1] if found else said).strip()
    found = _OF_HOST.fullmatch(said.strip())
    return f"{found[1]}/{found[2]}" if found else said.strip()


def _called(node: Node, port: int) -> str:
    """Return a port as people look for it: that of a switch, or the card of a host."""
    return f"P{port}" if node.kind == "switch" or not node.host else node.label.partition("/")[2]


def _add_links(found: Draft, seen: Printed, sharp: set[str]) -> None:
    """Add the cables, and complaints of those that are degraded."""
    # cables that say no rate have the commonest
    known = Counter(word for word in seen.speeds.values() if word)
    usual = known.most_common(1)[0][0] if known else ""
    wrong, one_sided, its_nodes = defaultdict[str, list[str]](list), list[str](), list[str]()
    for ends, word in seen.speeds.items():
        (u, port), (v, other) = min(ends), max(ends)  # of one end alone twice the same
        if u in sharp or v in sharp:  # of an aggregation node the switch adds
            found.nodes |= {name: found.nodes[name]._replace(adds=True) for name in (u, v) if name in found.nodes}
            continue
        if len(ends) == 1:
            wrong["that leads back to its own port"].append(_end((u, port)))
        elif not {u, v} <= found.nodes.keys():
            wrong["to nodes that the file does not describe"].append(v if u in found.nodes else u)
        elif u == v:
            wrong["between two ports of one node"].append(u)
        else:
            if seen.partner.get((u, port)) != (v, other) or seen.partner.get((v, other)) != (u, port):
                one_sided.append(f"{_end((u, port))} and {_end((v, other))}")
                its_nodes += [u, v]
            if not word and usual:
                wrong[f"of unknown rate, taken for {usual}"].append(found.nodes[u].label or u)
            width, _, speed = (word or usual).partition("x")
            rate = int(width) * _LANES[speed] if speed else 0.0
            ports = tuple(_called(found.nodes[name], at) for name, at in ((u, port), (v, other)))
            found.links.append(Link(u, v, rate, called=word or usual, ports=ports))
    found.complain(one_sided, "cable", "that only one end reports", "degraded", its_nodes)
    for why, some in wrong.items():
        found.complain(some, "cable", why, "remark" if why.startswith("of") else "left out")
