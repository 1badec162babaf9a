"""A fabric whose hosts are nodes with GPUs: each host is a copy of a node, whose NICs hang on the switches of its cards."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from treecast.description import count_of, list_few
from treecast.networks.reading.machine import Draft, Link, Machine, Node

_MOST_NODES = 1 << 18
_NO_CARD = "", ""  # of a host that has no cards

Card = tuple[str, str]
"""The name and the GUID of a card."""
Ends = list[tuple[str, float]]
"""The switch and the rate of each cable."""


def joined(fabric: Machine, kinds: Sequence[tuple[str, Machine]]) -> Machine:
    """Return a fabric in which each host is a copy of a node, with ranks like ``host/gpu0``.

    ``kinds``: patterns of hosts, each with the node that they are; the first that fits is taken. A NIC hangs on the switch of the
    card that has its GUID, or else its name, or else its place where both count alike. Where a fabric has hosts but no cards, all
    NICs hang on the switches of their host. Cards that name no host are left out.

    Raises ValueError when no host of the fabric fits a pattern, or there are too many nodes.
    """
    cables = _cables(fabric)
    found = Draft({name: node for name, node in fabric.nodes.items() if node.kind == "switch"})
    unmatched, without = list[str](), list[str]()
    wires = [(link.rate, node.nodes[link.u], node.nodes[link.v]) for _, node in kinds for link in node.links]
    # of cables of which nobody says a rate
    fastest = max((rate for rate, u, v in wires if "nic" in (u.kind, v.kind)), default=0.0)
    for link in fabric.links:
        if link.u in found.nodes and link.v in found.nodes:
            found.links.append(link if link.rate else link._replace(rate=fastest))
    gpus = 0
    for host, cards in cables.items():
        node = next((node for pattern, node in kinds if fnmatchcase(host, pattern)), None)
        if node is None:
            without.append(host)
            continue
        gpus += sum(each.kind == "gpu" for each in node.nodes.values())
        unmatched += _add_host(found, host, cards, node)
        if len(found.nodes) > _MOST_NODES:
            raise ValueError(f"it has more than {_MOST_NODES:,} nodes with those of its hosts")
    if not gpus:
        names = list_few(list(cables), 3)
        raise ValueError(
            f"no host of it is such a node: its hosts are {names}; write --node 'PATTERN=FILE' to fit them"
        )
    found.complaints += [each for each in fabric.complaints if each.sort != "remark"]
    found.complain(unmatched, "card", "that are no NIC of the node", "left out")
    found.complain(without, "host", "of no kind that --node gives", "left out")
    facts = {**fabric.facts, "hosts": len(cables) - len(without), "gpus": gpus}
    return replace(found.machine(fabric.format, facts), named=fabric.named)


def _cables(fabric: Machine) -> dict[str, dict[Card, Ends]]:
    """Return, for each host, the cables of each card, to which switch and with which rate; a host without cards is one itself."""
    found = defaultdict[str, dict[str, Ends]](dict)
    for link in fabric.links:
        for end, other in ((link.u, link.v), (link.v, link.u)):
            node = fabric.nodes[end]
            host = node.host if node.kind == "hca" else end if node.kind == "host" else ""
            if host and fabric.nodes[other].kind == "switch":
                found[host].setdefault(end, []).extend([(other, link.rate)] * link.cables)
    return {
        host: {_card(fabric, name): ends for name, ends in sorted(cards.items())}
        for host, cards in sorted(found.items())
    }


def _card(fabric: Machine, name: str) -> Card:
    node = fabric.nodes[name]
    return _NO_CARD if node.kind == "host" else (node.label.rpartition("/")[2], _guid(name))


def _guid(text: str) -> str:
    return text.lower().removeprefix("h-").removeprefix("0x").lstrip("0")


def _add_host(found: Draft, host: str, cards: dict[Card, Ends], node: Machine) -> list[str]:
    """Add a copy of a node, and join its NICs to the fabric; return the cards that are none of them."""
    for name, each in node.nodes.items():
        label = f"{host}/{each.label or name}"
        found.nodes[f"{host}/{name}"] = each._replace(label=label, host=host, also=())
    found.links += [link._replace(u=f"{host}/{link.u}", v=f"{host}/{link.v}") for link in node.links]
    nics = {name: each for name, each in node.nodes.items() if each.kind == "nic"}
    rates = {end: link.rate for link in node.links for end in (link.u, link.v) if end in nics}
    pairs, left = _matched(nics, cards)
    for nic, ends in pairs:
        # the fabric's rate, or else that of the NIC in its node
        found.links += [Link(f"{host}/{nic}", switch, rate or rates.get(nic, 0.0)) for switch, rate in ends]
    return [f"{host}/{name}" for name, _ in left]


def _matched(nics: dict[str, Node], cards: dict[Card, Ends]) -> tuple[list[tuple[str, Ends]], list[Card]]:
    """Return the NICs, each with the cables of its card, and the cards that are left."""
    if _NO_CARD in cards:
        return [(nic, cards[_NO_CARD]) for nic in nics], []
    by_guid = {_guid(guid): name for name, nic in nics.items() for guid in nic.also if _guid(guid)}
    by_name = {nic.label: name for name, nic in nics.items()}
    nic_of = {card: by_guid.get(card[1]) or by_name.get(card[0]) for card in cards}
    pairs = [(nic, cards[card]) for card, nic in nic_of.items() if nic]
    left = [card for card, nic in nic_of.items() if not nic]
    # by the length of names first: mlx5_10 comes behind mlx5_9
    free = [name for name in nics if name not in dict(pairs)]
    free.sort(key=lambda name: (len(nics[name].label), nics[name].label))
    # by their places: fewer cards than NICs will do only where no name has fitted
    if len(left) == len(free) or (len(left) < len(free) and not pairs):
        left.sort(key=lambda card: (len(card[0]), card))
        pairs += [(nic, cards[card]) for nic, card in zip(free, left, strict=False)]
        left = []
    return pairs, left


def together(machines: Sequence[object]) -> Machine:
    """Return the machines of several descriptors as one: chips of file i are called ``i/chip0`` and so on, from 0.

    A cable to a chip of another file is known by the number that is that chip's alone. Raises ValueError when a file is no
    cluster descriptor.
    """
    found, chips = Draft(), dict[str, str]()
    to_others = list[tuple[str, int, str, int]]()
    for place, each in enumerate(machines):
        if not isinstance(each, Machine) or "to_others" not in each.facts:
            raise ValueError("several files are read together where they are Tenstorrent's cluster descriptors only")
        found.nodes |= {f"{place}/{name}": node for name, node in each.nodes.items()}
        found.links += [link._replace(u=f"{place}/{link.u}", v=f"{place}/{link.v}") for link in each.links]
        chips |= {other: f"{place}/{name}" for name, node in each.nodes.items() for other in node.also}
        to_others += [(f"{place}/chip{chip}", *there) for chip, *there in each.facts["to_others"]]
    rate = max((link.rate for link in found.links), default=0.0)
    known = [(here, port, chips[other], its) for here, port, other, its in to_others if other in chips]
    # both files list it: once
    cables = {frozenset(((here, port), (there, its))): (here, there) for here, port, there, its in known}
    found.links += [Link(u, v, rate) for u, v in cables.values()]
    leave_out(found, len(to_others) - len(known))
    facts = {"files": len(machines), "chips": len(found.nodes), "cables_between": len(cables)}
    return found.machine("Tenstorrent's cluster descriptors", facts)


def leave_out(found: Draft, cables: int) -> None:
    """Say that cables to chips of another file are left out, if some are."""
    if cables:
        found.remark(f"{count_of(cables, 'cable')} to chips of another file", sort="left out")
