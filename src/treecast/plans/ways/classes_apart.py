"""Ways of the classes of a demand in several copies: broadcasts from those who hold a class to those who want it.

All classes with the same holders are one broadcast, whose trees are cut to those who want each class. One holder is its root.
Several hang below a root that is added, so that the ways to a node begin at different holders: then the death of a holder does
no harm either, as long as there are as many holders as ways. Who wants none of these classes is a relay: it passes on what
others want, and so many ways need not lead to it.

                 ,-> a --> c        classes held by a and b, wanted by c: the ways to c in two trees
    (added root)                    are root a c and root b d c; the first hops are left out again
                 `-> b --> d --> c
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import COLLECTIVES, Collective
from treecast.collectives.traits import one_to_all
from treecast.models import MODELS
from treecast.networks import Graph, Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import Job
from treecast.plans.ways.ways import Ways
from treecast.ragged import starts
from treecast.schedule import Payloads

_ROOT = "(holders)"  # the label of the added root
_BROADCAST = next(name for name, kind in COLLECTIVES.items() if one_to_all(kind))


@dataclass(frozen=True)
class HoldersBroadcast:
    """The classes of some holders as a broadcast.

    ``job``: that of the broadcast, all classes one behind the other. ``network``: the one that the demand is on. ``first``,
    ``size``: of each class its first chunk in the demand, and its chunks, each of which is a message; or, where messages combine,
    all of a class together. ``wants``: who wants each, bool (classes, N).
    """

    job: Job[Any]
    network: Network
    first: Ints
    size: Ints
    wants: NDArray[np.bool_]

    def of_demand(self, found: Ways) -> Ways:
        """Return the ways of the broadcast, a message a payload, as ways of the demand: cut to those who want each class."""
        # 1. The class that each hop carries, and the hops to who wants it, with all that these wait for.
        each = self.size if self.job.collective.messages == 1 else np.ones_like(self.size)
        every, begins = arcs_of(self.job.network), starts(self.size // each)
        chunk = found.payloads.first[found.payloads.start[found.payload]]
        of, head = np.searchsorted(begins, chunk, side="right") - 1, every.head[found.arc]
        found = found.to((head < self.network.nodes) & self.wants[of, np.minimum(head, self.network.nodes - 1)])
        # 2. Without the hops from an added root.
        kept = every.tail[found.arc] < self.network.nodes
        place, pairs = np.cumsum(kept) - 1, kept[found.before]
        # 3. Arcs and chunks by their numbers in the demand: an added root's arcs come last.
        arcs = arcs_of(self.network)
        same = (
            np.lexsort((arcs.port, arcs.head, arcs.tail))
            if self.job.network != self.network
            else np.arange(len(arcs.tail))
        )
        chunk = found.payloads.first[found.payloads.start[found.payload[kept]]]
        of = np.searchsorted(begins, chunk, side="right") - 1
        number, at, payload = np.unique(self.first[of] + chunk - begins[of], return_index=True, return_inverse=True)
        return Ways(
            self.network,
            same[found.arc[kept]],
            payload.reshape(-1),
            Payloads.of_ranges(number, number + each[of[at]]),
            found.tree[kept],
            found.turn[kept],
            place[found.before[pairs]],
            place[found.after[pairs]],
        )


def broadcasts_of(job: Job[Any], everybody: bool = False) -> Iterator[HoldersBroadcast]:
    """Yield the broadcasts of a demand without sums, one for all classes with the same holders.

    Where messages combine there is one for each class. ``everybody``: as if all ranks wanted all, which more builders plan.
    """
    demand, first = job.collective.classes
    network, together = cast("Network", job.network), job.model.combining
    groups = dict[tuple[tuple[int, ...], int], list[int]]()
    for number, (_, (holders,), _) in enumerate(demand.numbered()):
        groups.setdefault((holders, number * together), []).append(number)
    of, want = demand.wanted
    wants = np.zeros((len(demand), network.nodes), np.bool_)
    wants[of, want] = True
    for (holders, _), classes in groups.items():
        some = np.array(classes)
        wanters = network.ranks if everybody else want[np.isin(of, some)]
        where, root = _network_of(network, holders, np.isin(np.arange(network.nodes), wanters))
        messages = 1 if together else int(demand.size[some].sum())
        collective = Collective.over(where, _BROADCAST, messages, root=root)
        model = next(iter(MODELS.values()))
        broadcast = replace(
            job, network=where, collective=collective, model=model, options={}, builder=None, likeness=None
        )
        yield HoldersBroadcast(broadcast, network, first[some], demand.size[some], wants[some])


def _network_of(network: Network, holders: tuple[int, ...], wants: NDArray[np.bool_]) -> tuple[Network, int]:
    """Return the network of a broadcast from some holders to who wants it, and its root."""
    several, first = len(holders) > 1, min(holders)
    if not several and wants.sum() >= network.rank_count - 1:
        return network, first
    root, arcs = network.nodes if several else first, arcs_of(network)
    ends = np.stack([arcs.tail, arcs.head], axis=1).astype(np.int64)
    # as many cables as lead on, so that they are in nobody's way
    added = [(root, holder) for holder in holders for _ in range(int(network.degree_at(holder)))] if several else []
    relays = np.append(~wants, False) if several else ~wants
    relays[root] = False
    names = [*network.labels(), *([_ROOT] if several else [])]
    return Graph(
        f"graph:{len(names)}", names, np.concatenate([ends, np.array(added, np.int64).reshape(-1, 2)]), relays
    ), root
