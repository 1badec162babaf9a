"""The cables of any network: those of a machine's file by the names of their ports, or else the arcs there and back."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from treecast.networks.arcs import arcs_of, ports_to
from treecast.networks.core import Network
from treecast.networks.reading.machine import Link
from treecast.networks.wired import Wired, unit_of
from treecast.networks.without import Without


class Cable(NamedTuple):
    """A cable: its ``name``, its ends, and the arcs that go with it, by source and port."""

    name: str
    u: int
    v: int
    arcs: tuple[tuple[int, int], ...]


def cables_of(network: Network) -> list[Cable]:
    """Return all cables. Of a machine whose rates are rounded to arcs, a cable takes as many as its pair has less without it.

    >>> from treecast.networks import network
    >>> [cable.name for cable in cables_of(network([("a", "b", 2), ("b", "c")]))]
    ['a - b #0', 'a - b #1', 'b - c']
    """
    if isinstance(network, Wired):
        return list(_of_machine(network))
    if isinstance(network, Without) and isinstance(network.whole, Wired):
        return list(_left(network, list(_of_machine(network.whole))))
    arcs, found = arcs_of(network), list[Cable]()
    ports = defaultdict[tuple[int, int], list[int]](list)
    for u, v, port in zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.port.tolist(), strict=True):
        ports[u, v].append(port)
    for (u, v), there in ports.items():
        back = ports.get((v, u), [])
        if u > v and back:  # told from its lower end
            continue
        sign, most = " - " if back else " > ", max(len(there), len(back))
        for cable in range(most):
            mine = [(u, port) for port in there[cable : cable + 1]] + [(v, port) for port in back[cable : cable + 1]]
            number = f" #{cable}" if most > 1 else ""
            found.append(Cable(f"{network.label(u)}{sign}{network.label(v)}{number}", u, v, tuple(mine)))
    return found


def by_cable(network: Network) -> Network:
    """Return the network with an arc, or more, for each cable of a machine; itself where each has some, or they are too many.

    >>> from treecast.networks.reading.machine import Machine, Node
    >>> pair = Wired(Machine("", {"a": Node("gpu"), "b": Node("gpu")}, [Link("a", "b", 400.0, 2)]))
    >>> pair.arcs, by_cable(pair).arcs
    (2, 4)
    """
    if isinstance(network, Without):
        whole = by_cable(network.whole)
        if whole is network.whole:
            return network
        cut = list[tuple[int, int]]()
        for u, port in network.cut:
            v = int(network.whole.neighbor(u, port))
            before, ports = ports_to(network.whole, u, v), ports_to(whole, u, v)
            place, many = before.index(port), len(before)
            # the same part of the finer arcs
            cut += [(u, each) for each in ports[place * len(ports) // many : (place + 1) * len(ports) // many]]
        return Without(whole, network.gone, cut)
    if not isinstance(network, Wired):
        return network
    unit = unit_of([link.rate or 1.0 for link in network.view.links]).rate
    if unit > network.unit.rate * (1 - 1e-9):  # as coarse already
        return network
    try:
        found = Wired(network.machine, network.asked, network.spec, unit)
    except ValueError:
        return network
    found.adds = network.adds
    return found


def _left(network: Without, cables: list[Cable]) -> Iterator[Cable]:
    """Yield those of a machine's cables that a network has left, whose parts are missing."""
    place, many = {u: number for number, u in enumerate(network.kept.tolist())}, Counter(each[1:3] for each in cables)
    before = Counter[tuple[int, int]]()
    for name, u, v, arcs in cables:
        ports, number = ports_to(network.whole, u, v), before[u, v]
        before[u, v] += 1
        if u not in place or v not in place or (u, ports[number * len(ports) // many[u, v]]) in network.cut:
            continue
        mine = list[tuple[int, int]]()
        for a, b in ((u, v), (v, u)):
            if takes := sum(source == a for source, _ in arcs):
                # the last ones: with fewer cables these would be missing
                mine += [(place[a], port) for port in ports_to(network, place[a], place[b])[-takes:]]
        yield Cable(name, place[u], place[v], tuple(mine))


def _of_machine(network: Wired) -> Iterator[Cable]:
    number, links = {name: u for u, name in enumerate(network.view.nodes)}, network.view.links
    total = defaultdict[tuple[str, str], float](float)
    for link in links:
        for ends in ((link.u, link.v), (link.v, link.u))[: 1 + (not link.one_way)]:
            total[ends] += (link.rate or 1.0) * link.cables
    unit = network.unit.rate
    for link in links:
        if link.u == link.v:
            continue
        mine = list[tuple[int, int]]()
        for u, v in ((link.u, link.v), (link.v, link.u))[: 1 + (not link.one_way)]:
            ports, left = ports_to(network, number[u], number[v]), total[u, v] - (link.rate or 1.0)
            # arcs that the pair has without this cable
            rest = max(1, round(left / unit)) if left > 1e-9 else 0
            mine += [(number[u], port) for port in ports[min(rest, len(ports) - 1) :]]
        for _ in range(link.cables):
            yield Cable(_name(network, link, number), number[link.u], number[link.v], tuple(mine))


def _name(network: Wired, link: Link, number: dict[str, int]) -> str:
    ends = zip((link.u, link.v), link.ports or ("", ""), strict=True)
    u, v = (network.label(number[name]) + (f"/{port}" if port else "") for name, port in ends)
    return f"{u}{' > ' if link.one_way else ' - '}{v}"
