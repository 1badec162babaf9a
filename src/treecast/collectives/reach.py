"""Whether a network has the ways that a collective needs: from the root, to the root, or from every rank to every other."""

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.collective import Collective
from treecast.collectives.demand import Demand
from treecast.errors import PlanError
from treecast.networks.core import Network

_SHOWN = 5  # nodes of a cut


def check_reach(collective: Collective, network: Network) -> None:
    """Raise PlanError where a rank has no way that it needs; the error names the rank, and a cut that no arc crosses.

    A collective from a root needs ways from the root, one to a root ways to it, and any other ways from every rank to every rank.
    Of blocks of different lengths that are for one rank each, those that are not empty need ways; of a demand who wants a class
    needs one from some holder of each part.

    >>> import networkx as nx
    >>> from treecast import network
    >>> line = network(nx.DiGraph([("a", "b"), ("b", "c")]))
    >>> check_reach(Collective.over(line, "broadcast"), line)
    >>> check_reach(Collective.over(line, "reduce"), line)
    Traceback (most recent call last):
        ...
    treecast.errors.PlanError: there is no reduce on graph:3: no way leads from b to a, as no arc leads to a
    """
    if network.connected:
        return
    if collective.demand is not None:
        _check_classes(collective, collective.demand, network)
        return
    if collective.personal and collective.lengths is not None:
        _check_pairs(collective, network)
        return
    kind, every = collective.traits, np.arange(network.nodes)
    root = int(network.ranks[0]) if collective.all_source else collective.root
    needed = np.array(collective.targets) if collective.targets else network.ranks
    if kind.ends != "root":
        reached = network.distance(root, every) >= 0
        for lost in needed[~reached[needed]][:1].tolist():
            raise _no_way(collective, network, (root, lost), reached)
    if kind.starts != "root":
        reaching = network.distance(every, root) >= 0
        for lost in needed[~reaching[needed]][:1].tolist():
            raise _no_way(collective, network, (lost, root), ~reaching)


def _check_pairs(collective: Collective, network: Network) -> None:
    """Raise PlanError where some rank has data for another and no way there."""
    _, sources, targets = collective.addressed()
    for source in np.unique(sources).tolist():
        reached = network.distance(source, np.arange(network.nodes)) >= 0
        mine = targets[sources == source]
        for lost in mine[~reached[mine]][:1].tolist():
            raise _no_way(collective, network, (source, lost), reached)


def _check_classes(collective: Collective, demand: Demand, network: Network) -> None:
    """Raise PlanError where someone who wants a class has no way from any holder of a part of it."""
    every = np.arange(network.nodes)
    for _, parts, wants in demand.numbered():
        for part in parts:
            reached = np.any(network.distance(np.array(part)[:, None], every) >= 0, axis=0)
            for lost in [v for v in wants if not reached[v]][:1]:
                raise _no_way(collective, network, (part[0], lost), reached)


def _no_way(collective: Collective, network: Network, ends: tuple[int, int], near: NDArray[np.bool_]) -> PlanError:
    """Return the error that no way leads from the first end to the second, as no arc leads from the nodes ``near`` to others."""
    source, target = network.labels(ends)
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
