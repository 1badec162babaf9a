"""Platforms of SimGrid: hosts, routers, clusters, and links as the routes between them tell where they lie.

Source: SimGrid's documentation, "XML reference". A route lists links; each is entered where the one before it is left, so a
place between two links that is no host or router is a switch that nobody names.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from math import prod

from treecast.files.reading.data import Element, tree_of
from treecast.networks.reading.hosts import hosts_of
from treecast.networks.reading.machine import Draft, Link, Machine, Node, grid
from treecast.networks.reading.registry import begins_with_element, reader
from treecast.networks.reading.text import plain, whole_number

_MOST = 1 << 14
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([kKMGT]?)(i?)(Bps|bps|)")
_TRACKS = ("route", "zoneRoute", "ASroute")


@dataclass
class _Routed(Draft):
    """The parts read so far; ``same`` joins the names of a place: those of nodes, and both ends of each link."""

    rates: dict[str, float] = field(default_factory=dict[str, float])
    same: dict[str, str] = field(default_factory=dict[str, str])
    ways: dict[str, set[bool]] = field(default_factory=lambda: defaultdict[str, set[bool]](set))

    def place(self, name: str) -> str:
        """Return the first name of a place."""
        passed = list[str]()
        while name in self.same:
            passed.append(name)
            name = self.same[name]
        self.same |= dict.fromkeys(passed, name)  # the way is shorter next time
        return name

    def join(self, here: str, end: str, link: str) -> None:
        """Say that two names are of one place."""
        u, v = self.place(here), self.place(end)
        if u != v and u in self.nodes and v in self.nodes:
            raise ValueError(f"link {link[:40]!r} joins {u!r} and {v!r} at one end: it may join two nodes")
        if u != v:
            # a node's name is the first of its place
            self.same[v if u in self.nodes else u] = u if u in self.nodes else v

    def route(self, route: Element) -> None:
        """Read a route: which end of each link is entered, and which left."""
        here, target = (plain(route.of.get(f"gw_{end}", route.of.get(end, ""))) for end in ("src", "dst"))
        links = [link for link in route.below if link.tag == "link_ctn"]
        if missing := [end for end in (here, target) if end not in self.nodes]:
            raise ValueError(f"line {route.line}: no host or router is called {missing[0][:40]!r}")
        for link in links if here != target else ():
            name = link.of.get("id", "")
            if name not in self.rates:
                raise ValueError(f"line {link.line}: no link is called {name[:40]!r}")
            into, out = f"{name} in", f"{name} out"
            # we stand at its far end already: it is passed backwards
            known = name in self.ways and self.place(here) == self.place(out) != self.place(into)
            back = known or link.of.get("direction") == "DOWN"
            self.join(here, out if back else into, name)
            self.ways[name] |= {back} if route.of.get("symmetrical", "").upper() == "NO" else {False, True}
            here = into if back else out
        if here != target and links:
            self.join(target, here, links[-1].of["id"])

    def cluster(self, cluster: Element) -> None:
        """Add the hosts of a cluster: below one switch, or in a torus."""
        said, line = defaultdict[str, str](str, cluster.of), f"line {cluster.line}: its cluster"
        names = [plain(said["prefix"] + each + said["suffix"]) for each in hosts_of(f"[{said['radical']}]", _MOST)]
        self.nodes |= dict.fromkeys(names, Node("host"))
        kind, rate = said["topology"].upper() or "FLAT", _gigabits(cluster, "bw")
        if kind == "TORUS":
            sides = [whole_number(each.strip(), "a side") for each in said["topo_parameters"].split(",")]
            if prod(sides) != len(names):
                raise ValueError(f"{line} of {len(names):,} hosts is no torus of {said['topo_parameters'][:40]}")
            self.links += grid(names, sides[::-1], [True] * len(sides), rate)
        elif kind == "FLAT":
            switch = plain(f"{said['prefix']}{said['id']}_router{said['suffix']}")
            self.nodes[switch] = Node("switch")
            self.links += [Link(name, switch, rate) for name in names]
            self.complain([plain(said["id"])] if said["bb_bw"] else [], "backbone", "not counted", "left out", ())
        else:
            raise ValueError(f"{line} is {kind[:40]!r}: FLAT and TORUS are read")


@reader("simgrid", summary="SimGrid's platforms", recognises=begins_with_element("platform"))
def machine_of(data: bytes) -> Machine:
    """Return the hosts of a platform, and the links between them."""
    root, found, loops, halves = tree_of(data, "SimGrid's platform"), _Routed(), list[str](), list[str]()
    for kind, word in (("host", "host"), ("router", "switch")):
        found.nodes |= {plain(each.of.get("id", "")): Node(word) for each in root.every(kind)}
    for each in root.every("cluster"):
        found.cluster(each)
    if not any(node.kind == "host" for node in found.nodes.values()):
        raise ValueError("it has no host")
    links = {each.of.get("id", ""): each for each in root.every("link")}
    found.rates = {name: _gigabits(each, "bandwidth") for name, each in links.items()}
    routes = [each for track in _TRACKS for each in root.every(track)]
    for each in sorted(routes, key=lambda each: len(each.below)):  # those of one link tell most
        found.route(each)
    for name, ways in found.ways.items():
        # passed backwards alone: its arc leads so
        u, v = (found.place(f"{name} {end}") for end in (("out", "in") if ways == {True} else ("in", "out")))
        for end in {u, v} - found.nodes.keys() if u != v else ():
            found.nodes[end] = Node("switch", plain(f"beside_{end.rpartition(' ')[0]}"))
        shared = links[name].of.get("sharing_policy", "SHARED") == "SHARED"
        (loops if u == v else halves if len(ways) > 1 and shared else []).append(name)
        found.links += [Link(u, v, found.rates[name], one_way=len(ways) == 1)] if u != v else []
    found.complain(loops, "link", "that all ways through a switch share: its rate is not counted", "left out", ())
    found.complain(halves, "link", "whose rate both ways share, taken for each way (--model all-port,half)", nodes=())
    return found.machine("SimGrid's platform", {"links": len(found.links), "routes": len(routes)})


def _gigabits(element: Element, name: str) -> float:
    said = _RATE.fullmatch(element.of.get(name, "").strip())
    # Ki is 1024, K and k 1000; a rate without unit is in bytes
    scale = (1024 if said[3] else 1000) ** " KMGT".index(said[2].upper() or " ") if said else 0
    rate = float(said[1]) * scale * (1 if said[4] == "bps" else 8) / 1e9 if said else 0.0
    if not 1e-9 <= rate <= 1e9:
        raise ValueError(f"line {element.line}: {name} is {element.of.get(name, '')[:40]!r}: write it as in 125MBps")
    return rate
