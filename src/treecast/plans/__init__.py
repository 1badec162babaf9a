"""Plans: one file per paper, and the registry by which a collective on a network finds its builder."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model
from treecast.models import model as find_model
from treecast.networks import Network, Star
from treecast.networks import network as find_network
from treecast.plans import single_tree, star, star_trees
from treecast.schedule import Claims, Rows, Schedule
from treecast.trees import TreeSet

__all__ = ["BUILDERS", "Builder", "builders", "copies_of", "disjoint_trees", "plan", "program", "single_tree_steps"]


class Builder(NamedTuple):
    """Something that makes schedules of one collective on one family of networks, under one model.

    ``trees(network)``: how many trees it uses, the most copies there can be. ``rows(network, collective, copies)`` builds,
    ``claims`` (same arguments) gives the closed forms, ``at`` (and a node) gives one node's rows from its label alone.
    """

    name: str
    collective: str
    family: type[Network]
    models: tuple[str, ...]
    what: str
    trees: Callable[[Any], int]
    rows: Callable[[Any, Collective, int], Rows]
    claims: Callable[[Any, Collective, int], Claims]
    at: Callable[[Any, Collective, int, int], Rows] | None = None


def _every_port(network: Network) -> int:
    return network.ports


def _one(network: Network) -> int:
    return 1


_ALL_PORT = ("all-port", "shouting")

BUILDERS = (
    Builder(
        "disjoint-trees", "broadcast", Star, _ALL_PORT, "the n-1 edge-disjoint trees of Fragopoulou & Akl",
        _every_port, star.broadcast, star.broadcast_claims, star.broadcast_at,
    ),
    Builder(
        "shortest-path-tree", "broadcast", Star, _ALL_PORT, "one shortest-path tree: the baseline of Fragopoulou & Akl",
        _one, star.single_tree_broadcast, star.single_tree_claims,
    ),
    Builder(
        "breadth-first-tree", "broadcast", Network, _ALL_PORT, "one breadth-first tree of any network",
        _one, single_tree.broadcast, single_tree.broadcast_claims,
    ),
)  # fmt: skip
"""Every builder; the first that fits is the default."""


def builders(collective: str, network: Network) -> list[Builder]:
    """Return the builders of ``collective`` on ``network``, the default first."""
    return [b for b in BUILDERS if b.collective == collective and isinstance(network, b.family)]


def plan(
    collective: str,
    network: Any,
    *,
    root: int | str = 0,
    messages: int = 1,
    copies: int | None = None,
    survive: int | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
) -> Schedule:
    """Return a schedule of ``collective`` on ``network``, with the claims of its builder; nothing is verified yet.

    ``network``: a Network, its spelling, or a networkx graph. ``root``: a node or its label. ``messages``: chunks per
    source. ``copies``: by how many disjoint ways every chunk reaches every node (default 1); ``survive`` = copies - 1
    faults that nobody knows of. ``model`` and ``builder`` default to what fits the network.

    Raises PlanError or NetworkError when there is no such plan.
    """
    return _Request.of(collective, network, root, messages, copies, survive, model, builder).schedule()


def program(
    collective: str,
    network: Any,
    node: int | str,
    *,
    root: int | str = 0,
    messages: int = 1,
    copies: int | None = None,
    survive: int | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
) -> Schedule:
    """Return what one node does in ``plan(…)``, from its own label alone: the same rows, in time independent of N.

    Raises PlanError when the builder cannot tell without building the whole schedule.
    """
    request = _Request.of(collective, network, root, messages, copies, survive, model, builder)
    return request.at(request.network.node(node))


def copies_of(copies: int | None, survive: int | None) -> int:
    """Return the number of copies that is asked for by ``copies``, or by ``survive`` = copies - 1; 1 by neither.

    Raises PlanError when the two contradict each other, or ask for less than one copy.
    """
    if copies is not None and survive is not None and survive != copies - 1:
        raise PlanError(f"{copies} copies survive {copies - 1} faults, not {survive}: give one of the two")
    wanted = copies if copies is not None else 1 if survive is None else survive + 1
    if wanted < 1:
        raise PlanError("at least one copy is needed: copies from 1, faults to survive from 0")
    return wanted


def single_tree_steps(network: Network, collective: Collective) -> int:
    """Return the steps of the single-tree baseline of a collective, by its closed form; 0 when there is none."""
    baseline = builders(collective.kind, network)[-1:]
    return baseline[0].claims(network, collective, 1).steps if baseline else 0


def disjoint_trees(network: Any, root: int | str = 0) -> TreeSet:
    """Return the edge-disjoint spanning trees of a network at ``root``: as many as its degree, with node-disjoint ways.

    Raises PlanError for networks for which none are known yet, or whose trees do not fit in memory.
    """
    where = find_network(network)
    if not isinstance(where, Star):
        raise PlanError(f"no set of disjoint trees is known yet on {where.spec}; there is one on star:N")
    _check_memory(where, where.ports, f"the trees of {where.spec}")
    return star_trees.disjoint_trees(where, where.node(root))


def _check_memory(network: Network, trees: int, what: str) -> None:
    rows = trees * (network.nodes - 1)
    needed, there = rows * _BYTES_PER_ROW, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise PlanError(
            f"{what}: {rows:,} rows, about {needed / 2**30:,.0f} GiB, are too many for this machine's memory; "
            "one node's rows can still be had, by program()"
        )


class _Request(NamedTuple):
    """What was asked for, checked."""

    network: Network
    collective: Collective
    copies: int
    model: Model
    builder: Builder

    @staticmethod
    def of(
        kind: str, what: Any, root: int | str, messages: int, copies: int | None, survive: int | None,
        model: str | Model | None, name: str | None,
    ) -> "_Request":  # fmt: skip
        network = find_network(what)
        collective = Collective(kind, network.nodes, messages, network.node(root))
        chosen = _choose(kind, network, model, name)
        copies = copies_of(copies, survive)
        most = chosen.trees(network)
        if not 1 <= copies <= max(1, most):
            raise PlanError(
                f"{copies} copies cannot be had on {network.spec} by {chosen.name}: "
                f"from 1 to {most} copies, surviving 0 to {most - 1} faults"
            )
        return _Request(network, collective, copies, find_model(model or chosen.models[0]), chosen)

    def schedule(self) -> Schedule:
        network, collective, copies, model, builder = self
        _check_memory(network, builder.trees(network), f"{collective.kind} on {network.spec}")
        return Schedule(
            network, collective, model, builder.rows(network, collective, copies), copies,
            claims=builder.claims(network, collective, copies), builder=builder.name, local=self._local(),
        )  # fmt: skip

    def at(self, node: int) -> Schedule:
        local = self._local()
        if local is None:
            raise PlanError(
                f"{self.builder.name} has no rule by which a node knows its rows from its label alone: use plan()"
            )
        return Schedule(
            self.network, self.collective, self.model, local(node), self.copies, builder=self.builder.name
        )  # fmt: skip

    def _local(self) -> Callable[[int], Rows] | None:
        if self.builder.at is None:
            return None
        return partial(self.builder.at, self.network, self.collective, self.copies)


_BYTES_PER_ROW = 72  # a row and what sorting it takes


def _choose(collective: str, network: Network, model: str | Model | None, name: str | None) -> Builder:
    fitting = builders(collective, network)
    if name is not None:
        fitting = [b for b in fitting if b.name == name]
        if not fitting:
            known = ", ".join(b.name for b in builders(collective, network)) or "none"
            raise PlanError(f"there is no builder {name!r} of {collective} on {network.spec}; there is: {known}")
    if model is not None:
        wanted = find_model(model)
        having = fitting
        fitting = [b for b in having if wanted.name in b.models]
        if having and not fitting:
            known = ", ".join(sorted({m for b in having for m in b.models}))
            raise PlanError(
                f"there is no plan of {collective} on {network.spec} under model {wanted.name}; there is: {known}"
            )
    if not fitting:
        raise PlanError(
            f"there is no plan of {collective} on {network.spec} yet; there are plans of broadcast on every network"
        )
    return fitting[0]
