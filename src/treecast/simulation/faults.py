"""Faults: nodes and arcs that carry nothing, from the start or from a given step.

No node is told of a fault or reacts to one. The schedule runs on, and a node skips chunks that it does not hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Holdings
from treecast.description import Description, count_of, list_few
from treecast.errors import FaultError, NetworkError
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.networks.arcs import arcs_called, ports_to
from treecast.networks.core import Ints
from treecast.networks.past_relays import straight_of, whole_of
from treecast.ragged import places, runs
from treecast.schedule import Schedule
from treecast.steps import NEVER


@dataclass(frozen=True, repr=False)
class Faults:
    """Nodes and arcs that fail, each with the step from which it carries nothing (0: from the start).

    Parameters
    ----------
    nodes : mapping from int to int
        The step of each node that fails.
    arcs : mapping from (int, int) to int
        The step of each arc that fails, by its source and port. A link that fails is two arcs.

    Examples
    --------
    >>> import treecast
    >>> faults = treecast.Faults({6: 0, 7: 5})
    >>> len(faults), faults.describe(treecast.network("star:4"))
    (2, ['2134', '2143@5'])
    """

    nodes: Mapping[int, int] = field(default_factory=dict[int, int])
    arcs: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def describe(self, network: Network) -> list[str]:
        """Return the faults as people write them: ``2143@5`` for a node, ``1234-2134`` for a link, ``1234>2134`` for an arc."""
        at = [(network.label(u), step) for u, step in sorted(self.nodes.items())]
        for (u, port), step in sorted(self.arcs.items()):
            v = int(network.neighbor(u, port))
            both = self.arcs.get((v, int(network.back(u, port)))) == step
            if both and v < u:
                continue  # said already, as a link
            cable = f"#{int(network.cable(u, port))}" if len(ports_to(network, u, v)) > 1 else ""
            at.append((f"{network.label(u)}{'-' if both else '>'}{network.label(v)}{cable}", step))
        return [name + (f"@{step}" if step else "") for name, step in at]

    def by_step(self, network: Network) -> tuple[Ints, Ints]:
        """Return the step from which each node and each arc fails; for one that does not fail, a step beyond all others.

        int64 (N,), and int64 (arcs + 1,) as Network.arc numbers them, the last one for "no arc".
        """
        nodes = np.full(network.nodes, NEVER)
        arcs = np.full(network.nodes * network.ports + 1, NEVER)
        for node, step in self.nodes.items():
            nodes[node] = step
        for (node, port), step in self.arcs.items():
            arcs[network.arc(node, port)] = step
        return nodes, arcs

    def check(self, schedule: Schedule) -> None:
        """Raise FaultError or NetworkError when a fault names something that does not exist, or when nothing would be sent."""
        network, collective = schedule.network, schedule.collective
        self.check_names(network)
        if not collective.all_source and self.nodes.get(collective.root) == 0:
            raise FaultError(
                f"the root {network.label(collective.root)} cannot be dead from the start: nothing would be delivered"
            )

    def check_names(self, network: Network) -> None:
        """Raise FaultError or NetworkError when a fault names a node, arc or step that is not there."""
        for node in self.nodes:
            network.check_node(node)
        for node, port in self.arcs:
            if int(network.neighbor(node, port)) < 0:
                raise FaultError(f"no arc of {network.spec} leaves node {node} by port {port}")
        if min((*self.nodes.values(), *self.arcs.values()), default=0) < 0:
            raise FaultError("a fault happens at a step from 0 on")

    def too_late(self, schedule: Schedule) -> "Faults":
        """Return the faults that happen after a schedule has ended: they change nothing."""
        last = schedule.steps
        nodes = {node: step for node, step in self.nodes.items() if step >= last > 0}
        return Faults(nodes, {arc: step for arc, step in self.arcs.items() if step >= last > 0})

    def __len__(self) -> int:
        return len(self.nodes) + len(self.arcs)

    def __repr__(self) -> str:
        if len(self) <= 8:
            return f"Faults(nodes={dict(self.nodes)}, arcs={dict(self.arcs)})"
        return f"<Faults: {count_of(len(self.nodes), 'node')}, {count_of(len(self.arcs), 'arc')}>"

    def __str__(self) -> str:
        """Return nodes and arcs by their numbers; ``describe`` gives the labels of a network."""
        words = [f"node {node}{_at(step)}" for node, step in sorted(self.nodes.items())]
        return list_few([*words, *(f"arc {u}:{port}{_at(step)}" for (u, port), step in sorted(self.arcs.items()))])


def living_ranks(collective: Collective, *faults: Faults) -> NDArray[np.bool_]:
    """Return which nodes take part and never fail under any of some faults: bool (N,). Relays take no part."""
    living = np.zeros(collective.nodes, np.bool_)
    living[collective.ranks] = True
    for each in faults:
        living[list(each.nodes)] = False
    return living


def wanted(collective: Collective, faults: Faults) -> Holdings:
    """Return the chunks that each node must end with under faults, the ranges of a node in ascending order.

    Nothing where the node fails, and nothing that came from one node alone which was dead from the start: there never was
    anything to send. To a sum every node adds, so it is wanted without those.
    """
    holdings = collective.wanted()
    living = ~np.isin(holdings.node, list(faults.nodes))
    node, first, stop = holdings.node[living], holdings.first[living], holdings.stop[living]
    dead = [node for node, step in faults.nodes.items() if step == 0]
    # every node gives to a sum, so it is wanted whoever is dead
    if (collective.sums and collective.demand is None) or not dead:
        return Holdings(node, first, stop)
    ends = collective.ends()  # between two of them all chunks come from one node
    # runs of blocks of which some giver lived
    begins, behind = (ends[place] for place in runs(~collective.lost(dead)))
    low = np.searchsorted(behind, first, side="right")  # the first of the parts that were ever there that a range meets
    count = np.searchsorted(begins, stop, side="left") - low
    which, part = np.repeat(np.arange(len(node)), count), np.repeat(low, count) + places(count)
    return Holdings(node[which], np.maximum(first[which], begins[part]), np.minimum(stop[which], behind[part]))


def parse_faults(network: Network | str, nodes: str | Iterable[str] = (), links: str | Iterable[str] = ()) -> Faults:
    """Return the faults that people write; one that is named twice happens at the earlier step.

    Parameters
    ----------
    network : Network or str
        The network whose nodes and links fail, or its spelling.
    nodes : str or iterable of str
        Nodes, as ``2143``; ``2143@5`` fails from step 5 on, else it is dead from the start. With a relay that sums go past, all
        routes past it fail.
    links : str or iterable of str
        Links ``1234-2134`` (both ways), arcs ``1234>2134``; also with ``@5``. Where parallel cables join two nodes, all of them
        fail; ``a-b#0`` and ``a>b#0`` name the first of them, ``a-b#1`` the second.

    Returns
    -------
    Faults

    Raises
    ------
    FaultError, NetworkError
        For nodes and links that do not exist.

    Examples
    --------
    >>> import treecast
    >>> treecast.parse_faults("star:4", ["2143@5"], ["1234-2134"])
    Faults(nodes={7: 5}, arcs={(0, 0): 0, (6, 0): 0})
    """
    # 1. Nodes; a relay that plans go past is a node of the whole network, whose fault cuts the arcs through it.
    network = find_network(network)
    dead: dict[int, int] = {}
    cut_arcs: dict[tuple[int, int], int] = {}
    for text in _texts(nodes):
        name, step = _at_step(text)
        straight = straight_of(network)
        if name not in network and straight is not None and name in straight.whole:
            for arc in straight.crossing(nodes=[straight.whole.node(name)]):
                cut_arcs[arc] = min(step, cut_arcs.get(arc, step))
            continue
        node = network.node(name)
        dead[node] = min(step, dead.get(node, step))
    # 2. Links, both ways, and single arcs.
    for text in _texts(links):
        name, step = _at_step(text)
        try:
            arcs = _arcs_called(network, name)
        except NetworkError as error:
            raise FaultError(str(error)) from None
        for arc in arcs:
            cut_arcs[arc] = min(step, cut_arcs.get(arc, step))
    return Faults(dead, cut_arcs)


def _arcs_called(network: Network, name: str) -> list[tuple[int, int]]:
    """Return the arcs that a link's name means; past relays, those whose routes lead over a link of the whole network."""
    try:
        return arcs_called(network, name)
    except NetworkError:
        if (straight := straight_of(network)) is None:
            raise
        return straight.crossing(arcs=arcs_called(straight.whole, name))


Failing = Faults | str | Sequence[str] | None
"""Faults as they are, or as people write them for a network that is known."""


def faults_of(network: Network, given: Failing) -> Faults | None:
    """Return faults, read for a network where they are texts, nodes and links in one list, as ``parse_faults`` takes them.

    A word that names no node, but two, is a link or an arc. Raises FaultError or NetworkError for those that do not exist.
    """
    if given is None or isinstance(given, Faults):
        return given
    nodes, links = list[str](), list[str]()
    for text in _texts(given):
        name = _at_step(text)[0]
        try:
            (network if name in network else whole_of(network)).node(name)
        except NetworkError:
            # it names two nodes, or none
            if not any(sign in name for sign in "->"):
                raise
            links.append(text)
        else:
            nodes.append(text)
    return parse_faults(network, nodes, links)


def _texts(given: str | Iterable[str]) -> Iterable[str]:
    return [given] if isinstance(given, str) else given


def _at(step: int) -> str:
    return f" from step {step}" if step else ""


def _at_step(text: str) -> tuple[str, int]:
    name, at, step = text.rpartition("@")
    if not at:
        return text, 0
    if not (step.isascii() and step.isdigit() and len(step) < 10):  # digits of any length are no step
        raise FaultError(f"{text!r} names no fault: write NODE or NODE@STEP, as in {name or 17}@5")
    return name, int(step)


def random_faults(network: Network, count: int, seed: int, spare: Iterable[int] = ()) -> Faults:
    """Return different nodes, dead from the start, chosen at random.

    Parameters
    ----------
    network : Network
        The network whose nodes fail.
    count : int
        How many.
    seed : int
        The seed, from 0: the same seed gives the same nodes.
    spare : iterable of int
        Nodes that are never chosen.

    Returns
    -------
    Faults

    Raises
    ------
    FaultError
        When there are not so many nodes.

    Examples
    --------
    >>> import treecast
    >>> faults = treecast.random_faults(treecast.network("star:4"), 2, seed=1, spare=[0])
    >>> len(faults), 0 in faults.nodes
    (2, False)
    """
    spared = set(spare)
    check_seed(seed)
    if not 0 <= count <= network.nodes - len(spared):
        raise FaultError(f"{count} nodes cannot fail: choose 0 to {network.nodes - len(spared)} of {network.spec}")
    chosen: dict[int, int] = {}
    random = np.random.default_rng(seed)
    while len(chosen) < count:
        node = int(random.integers(network.nodes))
        if node not in spared:
            chosen[node] = 0
    return Faults(chosen)


def check_seed(seed: int) -> None:
    """Raise FaultError when a number is no seed."""
    if seed < 0:
        raise FaultError(f"a seed is a whole number from 0, not {seed}")


_MOST_LOST = 10  # lines on losses


def describe_delivery(
    delivered: int,
    living: int,
    failed: Sequence[str],
    lacking: Sequence[str] = (),
    words: tuple[str, str] = ("node", "faults"),
) -> Description:
    """Return how many of the living got all that they want (``delivered`` of ``living``), the faults, and the losses.

    ``lacking``: the losses, a line each, for people; ``words``: those for a node and for the faults.
    """
    who, title = words
    lines: dict[str, object] = {"delivered": f"everything to all {living:,} living {who}s"}
    if not living:
        lines["delivered"] = f"NOT to anybody: no {who} is left"
    elif delivered < living:
        lines["delivered"] = f"NOT to all: {living - delivered:,} of {living:,} living {who}s lack something"
    if lacking:
        left = len(lacking) - _MOST_LOST
        lines["lost"] = [*lacking[:_MOST_LOST], *([f"and {left:,} more"] if left > 0 else [])]
    lines[title] = list_few(failed)
    figures = {title: list(failed), "living": living, "delivered": delivered}
    return Description(figures, lines, holds=delivered == living > 0)


def describe_late(schedule: Schedule, *faults: Faults) -> Description:
    """Return which faults happen after a schedule has ended, if some do."""
    late = [name for each in faults for name in each.too_late(schedule).describe(schedule.network)]
    if not late:
        return Description({})
    after = f"{list_few(late)}: after the last step, {schedule.steps - 1:,}, where nothing is sent any more"
    return Description({"too_late": late}, {"too late": after})


def describe_sends(transmissions: int, lost: int) -> str:
    """Return how many sends took place, and how many of them were lost on the way."""
    return f"{transmissions:,}" + (f", {lost:,} of them over failed arcs or to failed nodes" if lost else "")
