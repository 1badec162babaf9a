"""The conditions of a collective: that its root, targets, lengths, relays and owners go with it and with each other.

Also whether a network has the ways that it needs: from the root, to the root, or from every rank to every other.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.kinds import COLLECTIVES, Kind, find_kind
from treecast.description import count_of
from treecast.errors import PlanError
from treecast.networks.core import Network

if TYPE_CHECKING:
    from collections.abc import Callable

    from treecast.collectives.collective import Collective
    from treecast.collectives.demand import Demand

MOST_MESSAGES = 2**31 - 1
"""The most chunks of a block."""
# Numbers of chunks are added and doubled in int64.
_MOST_CHUNKS = 2**62


def check(collective: "Collective") -> None:
    """Raise PlanError for a collective that there cannot be."""
    for name, value in (("nodes", collective.nodes), ("messages", collective.messages), ("root", collective.root)):
        if not hasattr(value, "__index__"):
            raise PlanError(f"{name} must be a whole number, not {value!r}")
    find_kind(collective.kind)
    if not 1 <= collective.messages <= MOST_MESSAGES:
        raise PlanError(f"{collective.messages} messages cannot be sent: write a number from 1 to {MOST_MESSAGES}")
    if not 0 <= collective.root < collective.nodes:
        raise PlanError(f"root {collective.root} is no node: nodes go from 0 to {collective.nodes - 1}")
    if list(collective.relays) != sorted(set(collective.relays)) or (
        collective.relays and collective.relays[-1] >= collective.nodes
    ):
        raise PlanError("relays are nodes, given in ascending order, each once")
    if collective.root in collective.relays and not collective.all_source and not collective.results:
        raise PlanError(f"root {collective.root} is a relay, which takes no part: choose another node")
    _check_targets(collective)
    _check_lengths(collective)
    _check_owners(collective)
    if collective.chunks >= _MOST_CHUNKS:
        load = count_of(collective.messages, "message")
        raise PlanError(f"{collective.kind} of {load} over {collective.nodes:,} nodes has too many chunks to number")


def _takers(able: "Callable[[Kind], bool]") -> str:
    """Return the names of the kinds of collectives that have something, as words."""
    *some, last = (name for name, kind in COLLECTIVES.items() if able(kind))
    return f"{', '.join(some)} or {last}" if some else last


def _check_targets(collective: "Collective") -> None:
    if bool(collective.targets) != collective.traits.targets:
        takers = _takers(lambda kind: kind.targets)
        raise PlanError(f"a {takers}, and nothing else, needs targets: one node or more")
    if list(collective.targets) != sorted(set(collective.targets) - {collective.root}):
        raise PlanError("targets are given in ascending order, each once, without the root")
    if collective.targets and not 0 <= collective.targets[0] <= collective.targets[-1] < collective.nodes:
        raise PlanError(f"a target is no node: nodes go from 0 to {collective.nodes - 1}")
    for target in set(collective.targets) & set(collective.relays):
        raise PlanError(f"target {target} is a relay, which wants nothing: choose other nodes")


def _check_lengths(collective: "Collective") -> None:
    if (collective.demand is not None) != (collective.traits.blocks == "class"):
        raise PlanError("a demand, and nothing else, needs classes: who holds which chunks, and who wants them")
    if collective.demand is not None:
        return  # its lengths are those of its classes
    if (collective.lengths is not None) != collective.traits.lengths:
        takers = _takers(lambda kind: kind.lengths and kind.blocks != "class")
        raise PlanError(f"a {takers}, and nothing else, needs lengths: how many flits for each node, as in lengths=3")
    if collective.lengths is not None:
        if len(collective.lengths.flits) != collective.first_blocks:
            each = " pair of them" * (collective.traits.blocks == "pair")
            raise PlanError(
                f"{len(collective.lengths.flits):,} lengths are given for {collective.nodes:,} nodes: one for each{each}"
            )
        if collective.lengths.flits[collective.root] and not collective.all_source:
            raise PlanError("the root sends itself nothing: its own length is 0")
        # a row for each source where lengths are of pairs
        flits = collective.lengths.flits.reshape(-1, collective.nodes)
        if collective.relays and bool(
            flits[:, list(collective.relays)].any() or (len(flits) > 1 and flits[list(collective.relays)].any())
        ):
            raise PlanError("a relay takes no part: its length is 0")
        if collective.messages != 1:
            raise PlanError(f"{collective.kind} takes lengths instead of a number of messages")


def _check_owners(collective: "Collective") -> None:
    if not collective.owners:
        return
    if not (collective.results and collective.all_source):
        takers = _takers(lambda kind: kind.results and kind.all_source)
        raise PlanError(f"owners of sums are chosen in an {takers}, and in nothing else")
    first = [chunk for chunk, _ in collective.owners]
    # runs from sum 0 on, each behind the one before
    if first[0] or first != sorted(set(first)) or first[-1] >= collective.sums:
        raise PlanError("owners are given with the first sum of each run, in ascending order from sum 0")
    if not collective.shared and not all(0 <= node < collective.nodes for _, node in collective.owners):
        raise PlanError(f"the owner of a sum is no node: nodes go from 0 to {collective.nodes - 1}")


_SHOWN = 5  # nodes of a cut


def check_reach(collective: "Collective", network: Network) -> None:
    """Raise PlanError where a rank has no way that it needs; the error names the rank, and a cut that no arc crosses.

    A collective from a root needs ways from the root, one to a root ways to it, and any other ways from every rank to every rank.
    Of blocks of different lengths that are for one rank each, those that are not empty need ways; of a demand who wants a class
    needs one from some holder of each part.

    >>> import networkx as nx
    >>> from treecast import network
    >>> from treecast.collectives import Collective
    >>> line = network(nx.DiGraph([("a", "b"), ("b", "c")]))
    >>> check_reach(Collective.over(line, "broadcast"), line)
    >>> check_reach(Collective.over(line, "reduce"), line)
    Traceback (most recent call last):
        ...
    treecast.errors.PlanError: there is no reduce on graph:3: no way leads from b to a, as no arc leads to a
    """
    # The usual case, known from the network without looking at the collective.
    if network.connected:
        return
    if collective.demand is not None:
        _check_classes(collective, collective.demand, network)
        return
    if collective.personal and collective.lengths is not None:
        _check_pairs(collective, network)
        return
    kind, every = collective.traits, np.arange(network.nodes)
    # Where every rank needs ways to every other, all need ways from one and to one: two searches tell.
    root = int(network.ranks[0]) if collective.all_source else collective.root
    needed = np.array(collective.targets) if collective.targets else network.ranks
    # data goes out to all of them
    if kind.ends != "root":
        reached = network.distance(root, every) >= 0
        for lost in needed[~reached[needed]][:1].tolist():
            raise _no_way(collective, network, (root, lost), reached)
    # data comes in from all of them
    if kind.starts != "root":
        reaching = network.distance(every, root) >= 0
        for lost in needed[~reaching[needed]][:1].tolist():
            raise _no_way(collective, network, (lost, root), ~reaching)


def _check_pairs(collective: "Collective", network: Network) -> None:
    """Raise PlanError where some rank has data for another and no way there."""
    _, sources, targets = collective.addressed()
    for source in np.unique(sources).tolist():
        reached = network.distance(source, np.arange(network.nodes)) >= 0
        mine = targets[sources == source]
        for lost in mine[~reached[mine]][:1].tolist():
            raise _no_way(collective, network, (source, lost), reached)


def _check_classes(collective: "Collective", demand: "Demand", network: Network) -> None:
    """Raise PlanError where someone who wants a class has no way from any holder of a part of it."""
    every = np.arange(network.nodes)
    for _, parts, wants in demand.numbered():
        for part in parts:
            reached = np.any(network.distance(np.array(part)[:, None], every) >= 0, axis=0)
            for lost in [v for v in wants if not reached[v]][:1]:
                raise _no_way(collective, network, (part[0], lost), reached)


def _no_way(collective: "Collective", network: Network, ends: tuple[int, int], near: NDArray[np.bool_]) -> PlanError:
    """Return the error that no way leads from the first end to the second, as no arc leads from the nodes ``near`` to others."""
    source, target = network.labels(ends)
    # The smaller side of the cut: its few names say where to look.
    inside = 2 * np.count_nonzero(near) < len(near)
    side = np.flatnonzero(near if inside else ~near)
    names = ", ".join(network.labels(side[:_SHOWN]))
    if len(side) > _SHOWN:
        names += f" and {len(side) - _SHOWN:,} more nodes"
    why = f"no arc leads {'on from' if inside else 'to'} {names}"
    return PlanError(
        f"there is no {collective.kind} on {network.spec}: no way leads from {source} to {target}, as {why}"
        + (f"; {network.remedy}" if network.remedy else "")
    )
