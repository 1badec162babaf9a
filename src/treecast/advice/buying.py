"""Fabrics of switches that can be bought for so many hosts: what each needs, how long collectives take, and what a failure costs.

A leaf has hosts below and uplinks above; with several cards a host hangs on a leaf of each rail. Source: Al-Fares, Loukissas &
Vahdat, "A scalable, commodity data center network architecture" (2008); rails as in NVIDIA's reference architectures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import NamedTuple

from treecast.advice.failing import Failures, cables
from treecast.description import Described, Description, Table, count_of, describe
from treecast.errors import PlanError, checks_keywords
from treecast.networks.graph import Graph
from treecast.networks.reading.links import LinkList
from treecast.progress import report
from treecast.schedule.sizes import spell_total
from treecast.units import parse_rate, spell_seconds

_MOST_HOSTS, _MOST_PORTS, _MOST_CARDS = 512, 1024, 8
_TAPERS = (1, 2, 3)


class Purchase(NamedTuple):
    """A fabric that can be bought: its ``name``, and how many of what it takes.

    ``leaves`` of each rail, ``spines``, or ``cores`` above them; ``uplinks`` of a leaf; ``cards`` of a host; ``below``: the most
    hosts of a leaf.
    """

    name: str
    leaves: int
    spines: int
    uplinks: int
    cards: int
    below: int
    cores: int = 0

    @property
    def switches(self) -> int:
        """How many switches it has."""
        return self.cards * self.leaves + self.spines + self.cores


@dataclass(frozen=True)
class Offer:
    """A fabric, how many cables it has, and for each collective what each of its parts costs if it dies."""

    fabric: Purchase
    network: Graph
    cables: int
    failures: tuple[Failures, ...]


@dataclass(frozen=True, repr=False)
class Offers(Described):
    """Fabrics for so many ``hosts`` and switches of so many ``ports``, each of a ``rate`` in bytes a second; few switches first.

    >>> import treecast
    >>> offers = treecast.buy(4, 8, cards=[1], uplinks=[2], collectives=["alltoall"])
    >>> [offer.fabric.name for offer in offers.found]
    ['1 switch']
    """

    hosts: int
    ports: int
    found: tuple[Offer, ...]
    rate: float = 0.0

    def __repr__(self) -> str:
        return f"<Offers for {self.hosts:,} hosts: {', '.join(each.fabric.name for each in self.found)}>"


@checks_keywords
def buy(
    hosts: int,
    ports: int,
    *,
    collectives: Sequence[str] = ("allgather", "alltoall"),
    bytes: int | str = "1GB",  # noqa: A002
    rate: float | str = "400Gbit/s",
    cards: Sequence[int] = (1, 2),
    uplinks: Sequence[int] = (),
) -> Offers:
    """Return the fabrics that can be bought for hosts and switches, with their cost, time, and what a failure costs.

    Parameters
    ----------
    hosts, ports : int
        How many hosts there are, and how many ports a switch has, all of one rate.
    collectives : sequence of str
        Whose time is wanted, by lower bounds, without start-up times. An allreduce whose switches do not add takes an allgather
        there and back.
    bytes : int or str
        How much data there is, all blocks together.
    rate : float or str
        The rate of a port in bytes a second, or ``"400Gbit/s"``.
    cards : sequence of int
        How many cards a host may have: with c cards there are c rails of leaves.
    uplinks : sequence of int, optional
        How many uplinks a leaf may have; by default such that 1, 2 or 3 hosts share one.

    Returns
    -------
    Offers
        ``found``: an offer for each fabric.

    Raises
    ------
    PlanError
        For numbers that no fabric has, and for more than 512 hosts.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.buy(12, 8, cards=[1], uplinks=[2, 4], collectives=["alltoall"])
    >>> [(each.fabric.name, each.fabric.switches, each.cables) for each in found.found]
    [('2 leaves, 1 spine', 3, 16), ('2 leaves, 2 spines', 4, 16), ('3 leaves, 2 spines', 5, 24)]
    """
    # 1. Numbers and lists that make sense.
    if not 2 <= hosts <= _MOST_HOSTS or not 2 <= ports <= _MOST_PORTS:
        raise PlanError(
            f"there are 2 to {_MOST_HOSTS:,} hosts, and 2 to {_MOST_PORTS:,} ports, not {hosts:,} and {ports:,}"
        )
    if not cards or not collectives or isinstance(collectives, str):
        raise PlanError("say the cards of a host, and collectives, as lists: cards=[1, 2], collectives=['alltoall']")
    for some, most, words in ((cards, _MOST_CARDS, "cards, and a host"), (uplinks, ports - 1, "uplinks, and a leaf")):
        if odd := [many for many in some if not 1 <= many <= most]:
            raise PlanError(
                f"{odd[0]:,} {words} has 1 to {most:,}" + (f" of {ports:,} ports" if some is uplinks else "")
            )
    # 2. All fabrics that can be bought.
    some = list(dict.fromkeys(_fabrics(hosts, ports, cards, uplinks)))
    if not some:
        raise PlanError(
            f"{ports:,} ports a switch do not join {hosts:,} hosts in three levels"
            f"{' with so many uplinks' if uplinks else ''}: take larger switches{', or fewer uplinks' if uplinks else ''}"
        )
    # 3. Each one as a network: its cables, and what the failure of one costs.
    offers, per_second = list[Offer](), parse_rate(rate)
    for number, fabric in enumerate(some):
        report(number, len(some), fabric.name)
        where = _wired(fabric, hosts)
        failures = (cables(where, kind, bytes=bytes, rate=per_second, plans=0) for kind in collectives)
        offers.append(Offer(fabric, where, where.arcs // 2, tuple(failures)))
    # the cheapest first, by switches
    offers.sort(key=lambda each: (each.fabric.switches, each.cables, each.fabric.cards))
    return Offers(hosts, ports, tuple(offers), per_second)


def _fabrics(hosts: int, ports: int, cards: Sequence[int], uplinks: Sequence[int]) -> Iterator[Purchase]:
    """Yield fabrics: of one switch a rail, of leaves and spines, and of three levels where two are not enough."""
    wide = [(ports - ports * taper // (taper + 1), taper) for taper in _TAPERS]  # the most uplinks of a leaf
    for rails, (up, taper) in product(cards, [(up, 0) for up in uplinks] or wide):
        said = f", {rails} cards a host" if rails > 1 else ""
        if hosts <= ports:
            yield Purchase(("1 switch" if rails == 1 else f"{rails} switches") + said, 1, 0, 0, rails, hosts)
        leaves = ceil(hosts / (ports - up))
        if leaves < 2:
            continue
        # the fewest spines that have ports for all uplinks
        below, least = ceil(hosts / leaves), ceil(rails * leaves * up / ports)
        if taper and up > least:  # as many to each spine, and of these two or more; none that no host needs
            each = max(2, least)
            up = min(up - up % least, each * ceil(below / taper / each))
            least = ceil(rails * leaves * up / ports)
        # as many cables from each leaf to each spine
        even = [spines for spines in range(least, up + 1) if up % spines == 0]
        for spines in even[: 2 if least == 1 else 1]:  # with a single spine, two are the question
            yield Purchase(
                f"{leaves * rails} leaves, {count_of(spines, 'spine')}{said}", leaves, spines, up, rails, below
            )
    half = ports // 2
    if hosts > ports * half and half > 1:
        leaves = ceil(hosts / half)
        pods = ceil(leaves / half)
        # Cores of a group, to which one spine of each pod leads: they have ports enough, and each spine's cables are
        # shared evenly.
        group = next((many for many in range(ceil(pods * half / ports), half + 1) if half % many == 0), 0)
        if group:
            yield Purchase(f"fat tree of {pods} pods", leaves, pods * half, half, 1, half, half * group)


def _wired(fabric: Purchase, hosts: int) -> Graph:
    """Return the network of a fabric; its hosts are spread evenly over the leaves."""
    links = LinkList()
    for host in range(hosts):
        links.add(f"host{host}")
    for rail, leaf in product(range(fabric.cards), range(fabric.leaves)):
        links.add(_leaf(fabric, rail, leaf), relay=True)
    for host, rail in product(range(hosts), range(fabric.cards)):
        links.join(f"host{host}", _leaf(fabric, rail, host * fabric.leaves // hosts))
    for spine in range(fabric.spines):
        links.add(f"spine{spine}", relay=True)
    if not fabric.cores:
        for rail, leaf, spine in product(range(fabric.cards), range(fabric.leaves), range(fabric.spines)):
            links.join(_leaf(fabric, rail, leaf), f"spine{spine}", fabric.uplinks // fabric.spines)
    else:
        # A pod is `half` leaves and as many spines, all joined. Spine k of each pod leads to the k-th group of cores.
        half, group = fabric.uplinks, fabric.cores // fabric.uplinks
        for core in range(fabric.cores):
            links.add(f"core{core}", relay=True)
        for leaf, place in product(range(fabric.leaves), range(half)):
            links.join(_leaf(fabric, 0, leaf), f"spine{leaf // half * half + place}")
        for spine, place in product(range(fabric.spines), range(group)):
            links.join(f"spine{spine}", f"core{spine % half * group + place}", half // group)
    parts = links.parts()
    return Graph.made(f"graph:{len(parts.names)}", parts)


def _leaf(fabric: Purchase, rail: int, leaf: int) -> str:
    return f"leaf{rail}-{leaf}" if fabric.cards > 1 else f"leaf{leaf}"


def _worst(failures: Failures, sort: str, beginning: str) -> str:
    """Return the most that the death of a cable above the leaves costs, or of a switch with such a name."""
    some = [
        each
        for each in failures.found
        for part in each.parts[:1]
        if part.sort == sort
        and (part.name.startswith(beginning) if sort == "switch" else not part.name.startswith("host"))
    ]
    if not some:
        return "-"
    if cut := max(each.cut_off for each in some):
        return f"cuts off {count_of(cut, 'host')}"
    return f"+{max(each.more for each in some):.1%}"


@describe.register
def _(found: Offers) -> Description:
    rows, figures = list[list[object]](), list[dict[str, object]]()
    kinds = [each.kind for each in found.found[0].failures]
    for offer in found.found:
        fabric, last = offer.fabric, offer.failures[-1]
        share = fabric.below / fabric.uplinks if fabric.uplinks else 1.0
        dies = [_worst(last, "cable", ""), _worst(last, "switch", "spine"), _worst(last, "switch", "leaf")]
        times = [each.seconds for each in offer.failures]
        rows.append(
            [
                *(fabric.name, fabric.uplinks or "-", f"{share:.3g}:1", fabric.switches, offer.cables),
                *("-" if seconds is None else spell_seconds(seconds) for seconds in times),
                *dies,
            ]
        )
        said = dict(zip(("uplink_dies", "spine_dies", "leaf_dies"), dies, strict=True))
        seconds = {f"{kind}_seconds": each for kind, each in zip(kinds, times, strict=True)}
        figures.append({**fabric._asdict(), "switches": fabric.switches, "cables": offer.cables, **seconds, **said})
    columns = (
        "fabric",
        "uplinks",
        "taper",
        "switches",
        "cables",
        *kinds,
        "an uplink dies",
        "a spine dies",
        "a leaf dies",
    )
    notes = (
        f"times: lower bounds, start-up times left out; what dies: of {kinds[-1]}; taper: hosts of a leaf for each uplink",
        "an allreduce whose switches do not add takes an allgather there and back",
    )
    whole = {
        each.kind: spell_total(each.kind, each.total) for each in found.found[0].failures if each.total is not None
    }
    said = [f"{total} of {kind}" if len(set(whole.values())) > 1 else total for kind, total in whole.items()]
    ports = f"{count_of(found.ports, 'port')} of {found.rate * 8 / 1e9:,.6g} Gbit/s"
    title = ", ".join([count_of(found.hosts, "host"), f"switches of {ports}", *dict.fromkeys(said)])
    return Description({"offers": figures, "rate": found.rate}, {}, (Table(columns, rows, title, notes, of="fabrics"),))
