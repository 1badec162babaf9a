"""Slurm's topology.conf and topology.yaml: switches, blocks, rings and tori of hosts.

Source: the man pages topology.conf(5) and topology.yaml(5) of Slurm.
"""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from treecast.description import count_of, list_few
from treecast.files.reading.data import table, tables, text, yaml_of
from treecast.networks.reading.hosts import MOST, hosts_of
from treecast.networks.reading.machine import Complaint, Draft, Link, Machine, Node, grid, spell_nodes
from treecast.networks.reading.registry import matches, reader
from treecast.networks.reading.text import lines_of, plain, whole_number

_SPEED = re.compile(r"(?<=\d)G(?:b|bit|bps|b/s|bit/s)?$", re.IGNORECASE)
_WORDS = re.compile(r"(\w+)\s*=\s*(\S+)")


@dataclass
class _Tree(Draft):
    """Switches and hosts, as they are read."""

    blocks: int = 0
    below: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # the switches below each
    most: int = MOST

    def switch(self, name: str, hosts: str, switches: str, rate: float = 0.0) -> None:
        """Add a switch, or a block, with its hosts and switches."""
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

    def whole(self, kind: str) -> Machine:
        """Return the machine when all is read."""
        every = [other for others in self.below.values() for other in others]
        if wrong := [other for other in every if self._is_host(other)]:
            raise ValueError(f"{wrong[0]!r} is a host and a switch: rename one")
        missing = [other for other in every if other not in self.nodes]
        self.nodes |= dict.fromkeys(missing, Node("switch"))
        # whichever end is named first
        once = {(link.u, link.v) if link.u < link.v else (link.v, link.u): link for link in self.links}
        again, rated = len(self.links) - len(once), all(link.rate for link in self.links)
        # rates of some alone tell nothing
        self.links = [link if rated else link._replace(rate=0.0) for link in once.values()]
        self.remark("Slurm names no cables: each line counts as one")
        self.complain(missing, "switch", "without a line of its own")
        above = Counter(link.v for link in self.links if self._is_host(link.v) and not self._is_host(link.u))
        self.complain([host for host, many in above.items() if many > 1], "host", "below several switches")
        if again:
            self.remark(f"{count_of(again, 'line')} again", sort="left out")
        many = Counter(node.kind for node in self.nodes.values())
        return self.machine(kind, {"switches": many["switch"], "nodes": many["host"], "blocks": self.blocks})

    def _is_host(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].kind == "host"


@reader(
    "slurm",
    summary="Slurm's topology.conf",
    recognises=matches(rb"(?i)^[ \t]*(SwitchName|BlockName|RingName)\s*="),
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
                _torus(tree, [], said.get("nodes", ""))
            elif name := said.get("switchname", said.get("blockname", "")):
                tree.blocks += "blockname" in said
                speed = _SPEED.sub("", said.get("linkspeed", "0"))  # a unit that owners write, though Slurm takes none
                rate = float(whole_number(speed, "LinkSpeed", 10**9))
                tree.switch(name, said.get("nodes", ""), said.get("switches", ""), rate)
            elif line and "blocksizes" not in said:
                right = "put the lines of that file here, as" if line.lower().startswith("include") else "write"
                raise ValueError(f"names no switch: {right} SwitchName=s0 Nodes=n[1-8]")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return tree.whole("Slurm's topology.conf")


def _torus(tree: _Tree, sides: list[int], hosts: str) -> None:
    """Join hosts in a torus, the first coordinate fastest; no sides: in a ring."""
    names = tree.names(hosts)
    sides = sides or [len(names)]
    if len(names) != prod(sides):
        total = f"{prod(sides):,} hosts, and {len(names):,} are named"
        raise ValueError(f"a torus of {' x '.join(map(str, sides))} has {total}")
    for name in names:
        tree.nodes.setdefault(name, Node("host"))
    tree.links += grid(names, sides[::-1], [True] * len(sides))  # Slurm's first side is fastest, grid's last


_KINDS = {"tree": "switches", "block": "blocks", "ring": "rings", "torus3d": "toruses"}
"""The kinds of entries, and the name under which each lists its parts."""


def _add(tree: _Tree, kind: str, said: dict[str, Any]) -> None:
    """Add a part of an entry."""
    hosts = str(said.get("nodes", ""))
    if kind in ("tree", "block"):
        tree.blocks += kind == "block"
        word = "switch" if kind == "tree" else "block"
        tree.switch(text(said.get(word), word), hosts, str(said.get("children", "")) if kind == "tree" else "")
    elif kind == "ring":
        _torus(tree, [], text(said.get("nodes"), "nodes"))
    else:
        sides = table(said.get("dims"), "dims")
        _torus(tree, [whole_number(text(sides.get(axis), axis), axis) for axis in "xyz"], hosts)


@reader("slurm-yaml", summary="Slurm's topology.yaml", recognises=matches(rb"^[- \t][ \t]*topology\s*:"))
def machine_of_yaml(data: bytes) -> Machine:
    """Return the machines of a topology.yaml: the one that is the cluster's default, and all of them by name."""
    named, usual = dict[str, Machine](), ""
    for said in tables(yaml_of(data), "the file's entries"):
        name = plain(text(said.get("topology"), "topology"))
        kinds = [kind for kind in _KINDS if kind in said]
        tree = _Tree()
        for kind in kinds:
            for each in tables(table(said[kind], kind).get(_KINDS[kind]), _KINDS[kind]):
                _add(tree, kind, each)
        found = tree.whole(f"Slurm's topology.yaml, {name}")
        if not kinds:
            flat = Complaint("it is flat, which says nothing of cables")
            found = replace(found, complaints=[flat])
        named[name] = found
        if str(said.get("cluster_default", "")).lower() == "true" or not usual:  # the first, unless one says that it is
            usual = name
    if not named:
        raise ValueError("it lists no entry: write '- topology: name'")
    spelled = {name: spell_nodes(found).rpartition(": ")[2] if found.nodes else "flat" for name, found in named.items()}
    others = [f"{name} ({said})" for name, said in spelled.items() if name != usual]
    more = [Complaint(f"also {list_few(others, 8)}: take one by --part NAME")] if others else []
    default = named[usual]
    return replace(default, complaints=[*default.complaints, *more], named=named)
