"""The job that proofs are given, in the numbers that they use."""

from dataclasses import dataclass, replace

from treecast.against import Against
from treecast.collectives import Collective
from treecast.graphs.parting import relays_passed
from treecast.lower_bounds.bound import Bound
from treecast.models import Model
from treecast.networks import Network


@dataclass(frozen=True)
class Job:
    """M messages over x ways on a network, under a model, with the figures that several proofs need.

    ``faults``: how many unannounced faults must do no harm to data that goes one way without them. It is 0 where there are
    several ways: ways are counted, then. ``against``: the parts that the ways must not share. ``quick``: whether proofs that take
    longer than to count ports are left out: those that search for cuts, flows or prices, or look at every node.
    ``collective``: the whole collective, where proofs need more of it: targets, or lengths.
    """

    network: Network
    messages: int
    copies: int
    model: Model
    faults: int = 0
    against: Against = "nodes"
    quick: bool = False
    collective: Collective | None = None

    @property
    def total(self) -> int:
        """M x."""
        return self.messages * self.copies

    @property
    def others(self) -> int:
        """N - 1, where N counts the ranks."""
        return self.network.rank_count - 1

    @property
    def hearers(self) -> int:
        """N - 1, and how many relays whatever all ranks hear has to pass, from any rank."""
        return self.others + relays_passed(self.network)

    @property
    def spelled_hearers(self) -> str:
        """How formulas write ``hearers``."""
        more = self.hearers - self.others
        return f"(N - 1 + {more:,})" if more else "(N - 1)"

    @property
    def reversed(self) -> "Job":
        """The same job on the network with all arcs turned round."""
        return replace(self, network=self.network.reversed())

    @property
    def single(self) -> "Job":
        """The same with one message."""
        return replace(self, messages=1)

    def ports(self, node: int) -> int:
        """Return how many chunks can leave ``node`` in a step."""
        return 1 if self.model.ports == "one" else self.network.degree_at(node)

    @property
    def room(self) -> int:
        """The most sends that the whole network can carry in a step; with half duplex, one for each link with arcs both ways.

        With one port of half duplex each send keeps two nodes busy.
        """
        half, nodes = self.model.duplex == "half", self.network.nodes
        if self.model.ports == "one":
            return nodes // 2 if half else nodes
        return self.network.arcs // (2 if half and self.network.both_ways else 1)


def steps(value: int, formula: str, source: str) -> Bound:
    """Return a bound of steps."""
    return Bound("steps", value, formula, source)


def transmissions(value: int, formula: str, source: str) -> Bound:
    """Return a bound of transmissions."""
    return Bound("transmissions", value, formula, source)
