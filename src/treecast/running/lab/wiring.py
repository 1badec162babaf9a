"""The wiring of a lab: its links, addresses and routes, and the commands of ip and tc that build it. Nothing runs here.

A host is a network namespace ``h3``, a link a pair of virtual interfaces ``h3:to7``, ``h7:to3``, and each lets out no more
than the rate (a token bucket: each direction has the whole rate). A host has one address, on a bridge that joins nothing. The
ends of links have no address, so a host is reached by its route and in no other way.

Behind a switch each host has one port instead, ``h3:port``, whose other end, ``port3``, is on a bridge outside of all hosts.
Both ends let out no more than the rate, so a host sends and receives at that rate whoever the others are.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecast.errors import LabError
from treecast.networks import Network
from treecast.networks.arcs import next_hops
from treecast.simulation.faults import parse_faults

MOST_HOSTS = 64
HOSTS_SUBNET, DAEMONS_SUBNET = "10.9.0.0/24", "10.200.0.0/24"
OUTSIDE = "10.200.0.254"
"""The address, on the management bridge, of the process in the lab but on no host: mpirun."""

_LEAST_RATE, _MOST_RATE = 100_000, 100 * 10**9
_QUEUE = "100ms"


@dataclass(frozen=True)
class LinkCut:
    """A link that fails: both its ends go down ``seconds`` after the start of the command, or after it has made its mark."""

    u: int
    v: int
    seconds: float
    after_mark: bool = False


@dataclass(frozen=True)
class Wiring:
    """The plan of a lab. ``links``: pairs (u, v), u < v. ``next_hop[u][v]``: the neighbour by which u reaches v; u for itself.

    ``rate``: of each link, each way, in bits per second. ``switched``: whether all hosts hang on one switch, by a port of that
    rate each; there are no links then, and the next hop is the host itself.
    """

    network: Network
    rate: int
    links: tuple[tuple[int, int], ...]
    next_hop: tuple[tuple[int, ...], ...]
    switched: bool = False


class CommandBatch(NamedTuple):
    """Lines for ``ip -batch`` or ``tc -batch``, in the namespace of a host or (None) outside of all hosts."""

    tool: str
    host: str | None
    lines: tuple[str, ...]


def plan_wiring(network: Network, rate: int, *, switched: bool = False) -> Wiring:
    """Return the plan of a lab: routes are shortest paths, by the lowest port where there are several.

    ``switched``: one switch joins all hosts, by one port each; the network is to be complete.
    Raises LabError for rates that no link has here, for more than 64 nodes, one-way arcs, or a network that is not connected.
    """
    if not _LEAST_RATE <= rate <= _MOST_RATE:
        raise LabError(f"a link of a lab carries 100kbit/s to 100Gbit/s: {rate:,} bits a second will not do")
    if not 2 <= network.nodes <= MOST_HOSTS:
        raise LabError(
            f"the number of nodes of {network.spec} is {network.nodes:,}: a lab has from 2 to {MOST_HOSTS} hosts"
        )
    if switched:
        if not network.every_pair_joined:
            raise LabError(f"a switch joins every host to every other: write complete:{network.nodes} --switch")
        every = tuple(range(network.nodes))
        return Wiring(network, rate, (), (every,) * network.nodes, True)
    near = [list(dict.fromkeys(v for v in network.neighbors(u) if v != u)) for u in range(network.nodes)]
    for u in range(network.nodes):
        for v in near[u]:
            if u not in near[v]:
                back = f"{network.label(v)}>{network.label(u)}"
                raise LabError(f"the links of a lab carry both ways: {network.spec} has no arc {back}")
    distance, hops = next_hops(network)
    if (distance < 0).any() or (distance >= network.nodes).any():
        raise LabError(f"{network.spec} is not connected: some of its hosts could not reach each other")
    np.fill_diagonal(hops, np.arange(network.nodes))
    links = tuple((u, v) for u in range(network.nodes) for v in sorted(near[u]) if u < v)
    return Wiring(network, rate, links, tuple(map(tuple, hops.tolist())))


def parse_cuts(network: Network, texts: Iterable[str]) -> tuple[LinkCut, ...]:
    """Return the cuts that people write: ``A-B@2.5``, or ``A-B@mark+0.1`` when the command says where time begins."""
    cuts = list[LinkCut]()
    for text in texts:
        name, at, when = text.rpartition("@")
        found = re.fullmatch(r"(?:(mark)(?:\+|$))?([0-9]{1,6}(?:\.[0-9]{1,9})?)?", when)
        if not at or found is None or not when or (found[2] is None and when.endswith("+")):
            raise LabError(f"{text!r} names no cut: write A-B@SECONDS, as in {name or '0-1'}@2.5")
        arcs = parse_faults(network, (), [name]).arcs
        # of both arcs of a link, that from the lesser node
        u, port = min(arcs)
        cuts.append(LinkCut(u, int(network.neighbor(u, port)), float(found[2] or 0), found[1] is not None))
    return tuple(cuts)


def host(u: int) -> str:
    """Return the name of a node's host, which is also that of its namespace."""
    return f"h{u}"


def address(u: int) -> str:
    """Return the address of a node's host: the only one that the network's links lead to."""
    return f"10.9.0.{u + 1}"


def device(v: int) -> str:
    """Return the name, on any host, of the end of its link to ``v``."""
    return f"to{v}"


PORT, SWITCH = "port", "switch"
"""The names of a host's port to the switch, on the host, and of the switch."""


def port_of(u: int) -> str:
    """Return the name of the switch's end of a host's port."""
    return f"{PORT}{u}"


_TRAIN = 16384
"""Bytes of frames that pass a link one behind the other as one: a timer for each frame by itself would cost too much CPU time."""


def bucket(rate: int) -> int:
    """Return the bytes of a token bucket, which a link may send at once after a pause: 64,000, or the bytes of 5 ms if more.

    A smaller one makes a link lose rate whenever a host is woken late, and many hosts share few cores. Whoever measures takes
    it off: no link carries more than ``bucket + rate · time / 8``.
    """
    return max(64_000, math.ceil(rate * 0.005 / 8))


def batches(plan: Wiring) -> list[CommandBatch]:
    """Return the batches of commands that build a lab, in order."""
    hosts = range(plan.network.nodes)
    outside = [f"netns add {host(u)}" for u in hosts]
    # no IPv6, so that links carry only the command's data; no check of return routes, which may differ from the way there
    settings = "net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0"
    outside += [f"netns exec {host(u)} sysctl -qw {settings}" for u in hosts]
    outside += [f"netns exec {host(u)} sysctl -qwe net.ipv6.conf.default.disable_ipv6=1" for u in hosts]
    outside += [
        "link set lo up",
        "link add daemons type bridge",
        f"addr add {OUTSIDE}/24 dev daemons",
        "link set daemons up",
    ]
    for u in hosts:
        outside += [f"link add d{u} type veth peer name daemons netns {host(u)}", f"link set d{u} master daemons up"]
    outside += [
        f"link add {device(v)} netns {host(u)} type veth peer name {device(u)} netns {host(v)}" for u, v in plan.links
    ]
    made = [CommandBatch("ip", None, tuple(outside + (_switch(plan) if plan.switched else [])))]
    if plan.switched:
        made.append(CommandBatch("tc", None, _shapes(plan, [port_of(u) for u in hosts])))
    return made + [batch for u in hosts for batch in _batches_of(plan, u)]


def _switch(plan: Wiring) -> list[str]:
    """Return the lines that make the switch, and a port of it for each host."""
    lines = [f"link add {SWITCH} type bridge", f"link set {SWITCH} up"]
    for u in range(plan.network.nodes):
        lines += [
            f"link add {port_of(u)} type veth peer name {PORT} netns {host(u)}",
            f"link set {port_of(u)} gso_max_size {_TRAIN} master {SWITCH} up",
        ]
    return lines


def _shapes(plan: Wiring, devices: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that limit the rates of some ends."""
    limit = f"rate {plan.rate}bit burst {bucket(plan.rate)} latency {_QUEUE}"
    return tuple(f"qdisc add dev {name} root tbf {limit}" for name in devices)


def _batches_of(plan: Wiring, u: int) -> list[CommandBatch]:
    near = [PORT] if plan.switched else [device(b if a == u else a) for a, b in plan.links if u in (a, b)]
    lines = ["link set lo up", "link add self type bridge", f"addr add {address(u)}/32 dev self", "link set self up"]
    lines += [f"addr add 10.200.0.{u + 1}/24 dev daemons", "link set daemons up"]
    lines += [f"link set {name} gso_max_size {_TRAIN} up" for name in near]
    for v, hop in enumerate(plan.next_hop[u]):
        if v != u:
            by = f"dev {PORT if plan.switched else device(v)}"
            # onlink: ends of links have no addresses that would show the hop to be there
            by = by if hop == v else f"via {address(hop)} dev {device(hop)} onlink"
            lines.append(f"route add {address(v)}/32 {by} src {address(u)}")
    return [CommandBatch("ip", host(u), tuple(lines)), CommandBatch("tc", host(u), _shapes(plan, near))]


def hosts_file(plan: Wiring) -> str:
    """Return the text of /etc/hosts in a lab."""
    lines = ["127.0.0.1 localhost"] + [f"{address(u)} {host(u)}" for u in range(plan.network.nodes)]
    return "\n".join(lines) + "\n"
