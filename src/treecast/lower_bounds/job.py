"""The job that proofs are given, in the numbers that they use: whoever holds or wants what, and what fits in a step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecast.against import Against
from treecast.collectives import Collective, Demand
from treecast.collectives.kinds import Kind
from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import far_apart
from treecast.networks.core import Ints
from treecast.networks.separators import relays_passed
from treecast.steps import NEVER

OWNED = "if each sum has an owner"


@dataclass(frozen=True)
class Problem:
    """A collective over x ways on a network, under a model.

    ``faults``: how many unannounced faults must do no harm to data that goes one way without them. It is 0 where there are
    several ways: ways are counted, then. ``against``: the parts that the ways must not share.
    """

    collective: Collective
    network: Network
    copies: int
    model: Model
    faults: int = 0
    against: Against = "nodes"

    @property
    def kind(self) -> Kind:
        """The row of the collective."""
        return self.collective.traits

    @property
    def total(self) -> int:
        """M x; x where blocks have lengths of their own."""
        return self.collective.messages * self.copies

    @property
    def others(self) -> int:
        """N - 1, where N counts the ranks."""
        return self.network.rank_count - 1

    @property
    def given(self) -> str:
        """The condition of bounds of sums that are complete at one node each, before they are told; none where that is a root."""
        chosen = self.kind.results and self.kind.all_source and self.collective.demand is None
        return OWNED if chosen else ""

    @property
    def ends(self) -> Ints:
        """The ranks that want all data: all of them, or the targets: int64."""
        return np.array(self.collective.targets, np.int64) if self.kind.targets else self.network.ranks

    @property
    def backwards(self) -> bool:
        """Whether data comes together, so that it is data that spreads, on the network with its arcs turned round."""
        return self.kind.ends == "root" or (self.kind.adds and not self.kind.results)

    @property
    def along(self) -> Network:
        """The network on which data spreads."""
        return self.network.reversed() if self.backwards else self.network

    @property
    def chunks(self) -> int:
        """How many chunks all blocks that ranks have hold in all, times x."""
        if self.collective.lengths is not None:
            return self.copies * self.collective.chunks
        return (
            self.total * {"one": 1, "node": self.others + 1, "pair": (self.others + 1) * self.others}[self.kind.blocks]
        )

    @property
    def spelled(self) -> str:
        """How formulas write ``chunks`` where data is not for one node each."""
        if self.collective.lengths is not None:
            return "Σ length" if self.copies == 1 else "x Σ length"
        return "M x" if self.kind.blocks == "one" else "M N" if self.kind.adds else "M x N"

    def sizes(self, nodes: Ints) -> Ints:
        """Return how many chunks the block of each of some nodes has, times x: int64."""
        if self.collective.lengths is None or self.kind.blocks == "pair":
            return np.full(len(nodes), self.total, np.int64)
        return self.copies * self.collective.sizes()[nodes]

    def exchanged(self, nodes: Ints, others: Ints, *, inwards: bool) -> Ints:
        """Return how many chunks go from (or to) each of some nodes (rows) to (or from) each of some others: int64."""
        if self.kind.blocks == "pair" and self.collective.lengths is not None:
            needs = self.copies * self.collective.demands()
            return (needs.T if inwards else needs)[nodes[:, None], others]
        return np.broadcast_to(self.sizes(others), (len(nodes), len(others)))

    @property
    def hearers(self) -> int:
        """Who hears what all ranks hear, but its source: N - 1, and how many relays it has to pass; or the targets."""
        if self.kind.targets:
            return len(self.collective.targets)
        return self.others + relays_passed(self.network)

    @property
    def spelled_hearers(self) -> str:
        """How formulas write ``hearers``."""
        more = self.hearers - self.others
        return "targets" if self.kind.targets else f"(N - 1 + {more:,})" if more else "(N - 1)"

    # --- what fits in a step ---

    def room_at(self, nodes: Ints, *, inwards: bool) -> Ints:
        """Return how many chunks can come to each of some nodes in a step, or leave it: int64."""
        if self.model.room == 1:
            return np.ones(len(nodes), np.int64)
        most = self.model.room or NEVER
        if self.network.seen_alike and self.network.past_routes is None:
            return np.full(len(nodes), min(most, self.network.degree_at(0)))
        if self.network.nodes > distances.LISTED:
            where = self.network.reversed() if inwards else self.network
            each, of = np.unique(nodes, return_inverse=True)
            return np.array([min(most, where.degree_at(v)) for v in each.tolist()], np.int64)[of]
        return np.minimum(most, distances.channels_at(self.network, inwards=inwards))[nodes]

    @property
    def room(self) -> int:
        """The most sends that the whole network can carry in a step; with half duplex, one for each link with arcs both ways.

        With ports of half duplex each send keeps those of two nodes busy.
        """
        half, ports = self.model.duplex == "half", self.network.nodes * self.model.room
        over_arcs = self.network.arcs // (2 if half and self.network.both_ways else 1)
        if self.network.past_routes is not None:
            over_arcs = min(
                over_arcs, *(int(distances.channels_at(self.network, inwards=i).sum()) for i in (True, False))
            )
        if self.model.room == 1:
            return ports // 2 if half else ports
        return min(over_arcs, ports // 2 if half else ports) if ports else over_arcs


class Near(NamedTuple):
    """A class of a demand: its chunks, parts and wanters, and how far each wanter (column) is from each part (row): int64."""

    size: int
    parts: Sequence[Sequence[int]]
    wants: Sequence[int]
    far: Ints


def classes(demand: Demand, network: Network) -> Iterator[Near]:
    """Yield the classes of a demand."""
    far = far_apart(network)
    for size, parts, wants in demand.numbered():
        wanted = np.array(wants, np.int64)
        yield Near(size, parts, wants, np.stack([far[list(part)][:, wanted].min(axis=0) for part in parts]))


def far_words(word: str, late: int) -> str:
    """Return how formulas write a distance in steps, of ``late`` steps an arc."""
    return word if late == 1 else f"{late} {word}"


def steps(value: int, formula: str, source: str, given: str = "") -> Bound:
    """Return a bound of steps."""
    return Bound("steps", value, formula, source, given)


def transmissions(value: int, formula: str, source: str, given: str = "") -> Bound:
    """Return a bound of transmissions."""
    return Bound("transmissions", value, formula, source, given)
