"""The gaps of a fabric, found beside its like parts: rails of hosts, cables of switches, speed; and the fabric made whole."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from treecast.description import count_of, list_few
from treecast.networks.reading.machine import Complaint, Link, Machine, Node, is_rank

_FEW = 4  # names in a line
_Value = TypeVar("_Value", int, float, tuple[float, str])


@dataclass(frozen=True, eq=False)
class Fabric:
    """The cables of a fabric by their ends: ranks, each perhaps a card of a host, and switches."""

    nodes: Mapping[str, Node]
    links: Sequence[Link]

    @cached_property
    def of_hosts(self) -> dict[str, Counter[str]]:
        """The switches of each host that has a name, with its cables to each."""
        found = defaultdict[str, Counter[str]](Counter)
        for link in self.links:
            for rank, switch in ((link.u, link.v), (link.v, link.u)):
                node = self.nodes[rank]
                # cards are of a host, a host is itself
                host = node.host if node.kind == "hca" else rank if node.kind == "host" else ""
                if host and not is_rank(self.nodes[switch]):
                    found[host][switch] += link.cables
        return dict(found)

    @cached_property
    def tiers(self) -> dict[str, int]:
        """How far each switch is from the ranks: 1 of leaves; those that no rank reaches are left out."""
        near = defaultdict[str, list[str]](list)
        for link in self.links:
            near[link.u].append(link.v)
            near[link.v].append(link.u)
        here, found, tier = [name for name, node in self.nodes.items() if is_rank(node)], dict[str, int](), 1
        # a tier each turn: the switches beside those before
        while here := [
            *dict.fromkeys(v for u in here for v in near[u] if v not in found and not is_rank(self.nodes[v]))
        ]:
            found |= dict.fromkeys(here, tier)
            tier += 1
        return found

    @cached_property
    def between(self) -> dict[tuple[str, str], int]:
        """The cables between each two switches of neighbouring tiers, the lower first."""
        found = Counter[tuple[str, str]]()
        for link in self.links:
            for u, v in ((link.u, link.v), (link.v, link.u)):
                if self.tiers.get(u, 0) and self.tiers[u] + 1 == self.tiers.get(v, 0):
                    found[u, v] += link.cables
        return dict(found)

    @cached_property
    def missing_between(self) -> dict[tuple[str, str], tuple[int, int]]:
        """The pairs of switches with fewer cables than most: how many they have, and how many most have.

        Pairs without any are among them where more than half of a tier's pairs are joined. Where no number is that of more than
        half of the joined pairs, nothing is missing.
        """
        found = dict[tuple[str, str], tuple[int, int]]()
        for tier in sorted(set(self.tiers.values())):
            low, high = ([name for name, at in self.tiers.items() if at == level] for level in (tier, tier + 1))
            low = [u for u in low if any((u, v) in self.between for v in high)]  # those that lead upwards at all
            joined = {ends: many for ends, many in self.between.items() if self.tiers[ends[0]] == tier}
            usual, times = _commonest(joined.values(), 0)
            if 2 * times <= len(joined):
                continue
            # most pairs are joined: then those that are not lack all their cables
            full = 2 * len(joined) > len(low) * len(high)
            for u in low:
                for v in high if full else [v for v in high if (u, v) in joined]:
                    if joined.get((u, v), 0) < usual:
                        found[u, v] = joined.get((u, v), 0), usual
        return found

    @cached_property
    def rails(self) -> int:
        """The number of cables that most hosts have; 0 where no number is that of more than half."""
        usual, times = _commonest((switches.total() for switches in self.of_hosts.values()), 0)
        return usual if 2 * times > len(self.of_hosts) else 0

    @cached_property
    def lacking(self) -> dict[str, Counter[str]]:
        """The hosts with fewer cables than most, each with those that others of its group have and it has not.

        A host's group are the hosts with all their cables that share the most of its leaves; if none share one, nothing is known.
        """
        whole = Counter(
            frozenset(switches.items()) for switches in self.of_hosts.values() if switches.total() == self.rails
        )
        found = dict[str, Counter[str]]()
        for host, switches in self.of_hosts.items():
            if switches.total() < self.rails:
                shared = {group: len(switches.keys() & dict(group)) for group in whole}
                best = max(
                    shared, key=lambda group: (shared[group], whole[group]), default=frozenset[tuple[str, int]]()
                )
                found[host] = Counter(dict(best)) - switches if shared.get(best) else Counter()
        return found

    @cached_property
    def slow(self) -> dict[str, list[Link]]:
        """The cables that are slower than most of their tier, by their names in the file."""
        tiers = defaultdict[int, list[Link]](list)
        for link in self.links:
            # the tier of its lower end; 0 at a rank
            tiers[min(self.tiers.get(link.u, 0), self.tiers.get(link.v, 0))].append(link)
        found = defaultdict[str, list[Link]](list)
        for some in tiers.values():
            usual, _ = _commonest((link.rate for link in some for _ in range(link.cables)), 0.0)  # weighed by cables
            for link in some:
                if link.rate < usual:
                    found[link.called or f"{link.rate:g} Gbit/s"].append(link)
        return found


def degraded(nodes: Mapping[str, Node], links: Sequence[Link]) -> list[Complaint]:
    """Return the gaps of a fabric, found beside its like parts; each cable as the file says it."""
    fabric = Fabric(nodes, links)
    return [*_rails(fabric), *_spines(fabric), *_slow(fabric)]


def facts_of(nodes: Mapping[str, Node], links: Sequence[Link]) -> dict[str, dict[str, int]]:
    """Return how many hosts have so many leaves and cables, pairs of switches so many cables, leaves so many upward."""
    fabric, pairs, up = Fabric(nodes, links), Counter[frozenset[str]](), Counter[str]()
    for link in links:
        if nodes[link.u].kind == nodes[link.v].kind == "switch" and link.u != link.v:
            pairs[frozenset((link.u, link.v))] += link.cables
            up[link.u] += link.cables
            up[link.v] += link.cables
    hosts = fabric.of_hosts.values()
    leaves = {switch for switches in hosts for switch in switches}
    return {
        "hosts_by_leaves": _counts(len(each) for each in hosts),
        "hosts_by_cables": _counts(each.total() for each in hosts),
        "switch_pairs_by_cables": _counts(pairs.values()),
        "leaves_by_up_cables": _counts(up[leaf] for leaf in leaves),
    }


def whole(machine: Machine) -> Machine:
    """Return a fabric with all rails and cables of the commonest number and speed put back.

    >>> nodes = {"s": Node("switch"), **{name: Node("host") for name in "abc"}}
    >>> lacking = Machine("", nodes, [Link("a", "s", 4.0, 2), Link("b", "s", 4.0, 2), Link("c", "s", 4.0)])
    >>> [(link.u, link.cables) for link in whole(lacking).links]
    [('a', 2), ('b', 2), ('c', 1), ('c', 1)]
    """
    fabric = Fabric(machine.nodes, machine.links)
    every = ((link.rate, link.called) for link in machine.links for _ in range(link.cables))
    (rate, called), _ = _commonest(every, (0.0, ""))
    slow = {id(link) for some in fabric.slow.values() for link in some}
    links = [link._replace(rate=rate, called=called) if id(link) in slow else link for link in machine.links]
    # of several cards of a host the first
    cards = {
        node.host: name for name, node in reversed(list(machine.nodes.items())) if node.kind == "hca" and node.host
    }
    for host, switches in fabric.lacking.items():
        links += [Link(cards.get(host, host), leaf, rate, many, called=called) for leaf, many in switches.items()]
    for (u, v), (has, most) in fabric.missing_between.items():
        links.append(Link(u, v, rate, most - has, called=called))
    left = [each for each in machine.complaints if each.sort != "degraded"]
    return replace(machine, links=links, complaints=left)


def _rails(fabric: Fabric) -> list[Complaint]:
    if not fabric.lacking:
        return []
    by_number = defaultdict[int, list[str]](list)
    for host in fabric.lacking:
        by_number[fabric.of_hosts[host].total()].append(host)
    words = [
        f"{len(hosts)} {'has' if len(hosts) == 1 else 'have'} {number} of {fabric.rails} ({list_few(sorted(hosts), _FEW)})"
        for number, hosts in sorted(by_number.items(), reverse=True)
    ]
    many = len(fabric.lacking)
    text = f"{count_of(many, 'host')} {'lacks' if many == 1 else 'lack'} a rail: {', '.join(words)}"
    return [Complaint(text, tuple(fabric.lacking), "degraded")]


def _spines(fabric: Fabric) -> list[Complaint]:
    pairs = fabric.missing_between
    if not pairs:
        return []
    lost = sum(most - has for has, most in pairs.values())
    ends = [
        f"{' - '.join(fabric.nodes[name].label or name for name in pair)} has {f'{has} of {most}' if has else 'none'}"
        for pair, (has, most) in sorted(pairs.items(), key=lambda each: each[1])
    ]
    text = f"{count_of(lost, 'cable')} between switches {'is' if lost == 1 else 'are'} missing: {list_few(ends, _FEW)}"
    return [Complaint(text, tuple(dict.fromkeys(name for ends in pairs for name in ends)), "degraded")]


def _slow(fabric: Fabric) -> list[Complaint]:
    found = list[Complaint]()
    for word, links in fabric.slow.items():
        many = sum(link.cables for link in links)
        ends = ["-".join(fabric.nodes[end].label or end for end in (link.u, link.v)) for link in links]
        text = f"{count_of(many, 'cable')} of {word} {'is' if many == 1 else 'are'} slower than most: {list_few(ends, _FEW)}"
        found.append(Complaint(text, tuple(name for link in links for name in (link.u, link.v)), "degraded"))
    return found


def _commonest(values: Iterable[_Value], none: _Value) -> tuple[_Value, int]:
    """Return the commonest value, of several the largest, and how often it comes; ``none`` of no value."""
    found = Counter(values)
    return max(found.items(), key=lambda each: (each[1], each[0])) if found else (none, 0)


def _counts(values: Iterable[int]) -> dict[str, int]:
    return {str(value): many for value, many in sorted(Counter(values).items())}
