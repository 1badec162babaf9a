"""Slurm's topology.conf and topology.yaml: switches, blocks, rings and tori of hosts.

Source: the man pages topology.conf(5) and topology.yaml(5) of Slurm.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from treecast.description import count_of, list_few
from treecast.networks.reading.hostlists import MOST, hosts_of
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain, whole_number
from treecast.networks.reading.yaml_data import row, table, text, yaml_of

_WORDS = re.compile(r"(\w+)\s*=\s*(\S+)")
_NO_CABLES = "Slurm names no cables: each line counts as one"


@dataclass
class _Tree:
    """Switches and hosts, as they are read."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    links: list[Link] = field(default_factory=list[Link])
    blocks: int = 0
    below: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # the switches below each
    most: int = MOST

    def switch(self, name: str, hosts: str, switches: str, rate: float = 0.0) -> None:
        """Add a switch, or a block, with what hangs on it."""
        name = plain(name)
        if name in self.nodes:
            raise ValueError(f"switch {name!r} is there twice")
        self.nodes[name] = Node("switch")
        for host in self.names(hosts):
            if host.lower() in ("default", "all"):
                raise ValueError(f"{host!r} is no host: name the hosts")
            if self.nodes.setdefault(host, Node("host")).kind != "host":
                raise ValueError(f"{host!r} is a host and a switch: rename one")
            self.links.append(Link(name, host, rate))
        self.below[name] = self.names(switches)
        if name in self.below[name]:
            raise ValueError(f"switch {name!r} is below itself")
        self.links += [Link(name, other, rate) for other in self.below[name]]

    def names(self, hosts: str) -> list[str]:
        """Return the names of a list; all lists of a file have at most so many."""
        found = [plain(name) for name in hosts_of(hosts, self.most)]
        self.most -= len(found)
        return found

    def machine(self, kind: str) -> Machine:
        """Return the machine when all is read."""
        missing = [other for others in self.below.values() for other in others if other not in self.nodes]
        if wrong := [other for others in self.below.values() for other in others if self._is_host(other)]:
            raise ValueError(f"{wrong[0]!r} is a host and a switch: rename one")
        for name in missing:
            self.nodes[name] = Node("switch")
        once = {(link.u, link.v) if link.u < link.v else (link.v, link.u): link for link in self.links}
        rated = all(link.rate for link in self.links)
        links = [link if rated or not link.rate else link._replace(rate=0.0) for link in once.values()]
        complaints = [Complaint(_NO_CABLES)]
        if missing:
            complaints.append(Complaint(f"no line of its own: {list_few(missing, 5)}", tuple(missing)))
        above = Counter(link.v for link in links if self._is_host(link.v) and not self._is_host(link.u))
        if several := [host for host, many in above.items() if many > 1]:
            said = f"{count_of(len(several), 'host')} below several switches: {list_few(several, 5)}"
            complaints.append(Complaint(said, tuple(several)))
        if len(once) < len(self.links):
            complaints.append(Complaint(count_of(len(self.links) - len(once), "line") + " again", (), "left out"))
        many = Counter(node.kind for node in self.nodes.values())
        facts = {"switches": many["switch"], "nodes": many["host"], "blocks": self.blocks}
        return Machine(kind, self.nodes, links, facts, complaints)

    def _is_host(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].kind == "host"


@reader(
    "slurm",
    what="Slurm's topology.conf",
    recognises=matches(rb"(?i)^\s*(SwitchName|BlockName|RingName)\s*="),
    suffixes=(".conf",),
)
def machine_of(data: bytes) -> Machine:
    """Return the machine of a topology.conf."""
    tree, before = _Tree(), ""
    for number, line in enumerate(lines_of(data), 1):
        line = before + line.partition("#")[0].strip()
        if line.endswith("\\"):
            before = line[:-1]
            continue
        before = ""
        said = {key.lower(): value for key, value in _WORDS.findall(line)}
        try:
            if "ringname" in said:
                _ring(tree, said.get("nodes", ""))
            elif name := said.get("switchname", said.get("blockname", "")):
                tree.blocks += "blockname" in said
                rate = float(whole_number(said.get("linkspeed", "0"), "LinkSpeed", 10**9))
                tree.switch(name, said.get("nodes", ""), said.get("switches", ""), rate)
            elif line and "blocksizes" not in said:
                raise ValueError("names no switch: write SwitchName=s0 Nodes=n[1-8]")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return tree.machine("Slurm's topology.conf")


def _ring(tree: _Tree, hosts: str) -> None:
    """Join hosts in a ring."""
    names = tree.names(hosts)
    for name in names:
        tree.nodes.setdefault(name, Node("host"))
    ends = zip(names, names[1:] + names[:1], strict=True)
    tree.links += [Link(u, v) for u, v in ends][: len(names) if len(names) > 2 else 1 if len(names) == 2 else 0]


def _torus(tree: _Tree, sides: list[int], hosts: str) -> None:
    """Join hosts in a torus, the first coordinate fastest."""
    names = tree.names(hosts)
    total = 1
    for side in sides:
        total *= side
    if len(names) != total:
        raise ValueError(f"a torus of {' x '.join(map(str, sides))} has {total:,} hosts, and {len(names):,} are named")
    tree.nodes |= {name: Node("host") for name in names}
    step = 1
    for side in sides:
        for place, name in enumerate(names):
            at = place // step % side
            if side > 2 or (side == 2 and at == 0):
                tree.links.append(Link(name, names[place + step * ((at + 1) % side - at)]))
        step *= side


def _switches(tree: _Tree, value: Any) -> None:
    for each in row(table(value, "tree").get("switches"), "switches"):
        said = table(each, "a switch")
        tree.switch(text(said.get("switch"), "switch"), str(said.get("nodes", "")), str(said.get("children", "")))


def _blocks(tree: _Tree, value: Any) -> None:
    for each in row(table(value, "block").get("blocks"), "blocks"):
        said = table(each, "a block")
        tree.blocks += 1
        tree.switch(text(said.get("block"), "block"), str(said.get("nodes", "")), "")


def _rings(tree: _Tree, value: Any) -> None:
    for each in row(table(value, "ring").get("rings"), "rings"):
        _ring(tree, text(table(each, "a ring").get("nodes"), "nodes"))


def _tori(tree: _Tree, value: Any) -> None:
    for each in row(table(value, "torus3d").get("toruses"), "toruses"):
        said = table(each, "a torus")
        sides = table(said.get("dims"), "dims")
        _torus(tree, [whole_number(text(sides.get(axis), axis), axis) for axis in "xyz"], str(said.get("nodes", "")))


_KINDS: dict[str, Callable[[_Tree, Any], None]] = {
    "tree": _switches,
    "block": _blocks,
    "ring": _rings,
    "torus3d": _tori,
}


@reader("slurm-yaml", what="Slurm's topology.yaml", recognises=matches(rb"^(-\s+|\s+)topology\s*:"))
def machine_of_yaml(data: bytes) -> Machine:
    """Return the machines of a topology.yaml: the one that is the cluster's default, and all of them by name."""
    named, usual = dict[str, Machine](), ""
    for each in row(yaml_of(data), "the file"):
        said = table(each, "an entry")
        name = plain(text(said.get("topology"), "topology"))
        kinds = [kind for kind in _KINDS if kind in said]
        tree = _Tree()
        for kind in kinds:
            _KINDS[kind](tree, said[kind])
        found = tree.machine(f"Slurm's topology.yaml, {name}")
        if not kinds:
            flat = Complaint("it is flat, which says nothing of cables")
            found = replace(found, complaints=[flat])
        named[name] = found
        if str(said.get("cluster_default", "")).lower() == "true" or not usual:
            usual = name
    if not named:
        raise ValueError("it lists no entry: write '- topology: name'")
    others = [f"{name} ({', '.join(_spell(found))})" for name, found in named.items() if name != usual]
    more = [Complaint(f"also {list_few(others, 8)}: take one by --part NAME")] if others else []
    default = named[usual]
    return replace(default, complaints=[*default.complaints, *more], named=named)


def _spell(found: Machine) -> list[str]:
    return [count_of(many, kind) for kind, many in Counter(node.kind for node in found.nodes.values()).items()] or [
        "flat"
    ]
