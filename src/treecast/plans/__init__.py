"""Plans: a file per collective or scheme, and the registry by which a collective on a network finds its builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
from treecast.machine import WORMHOLE, Model
from treecast.machine import model as find_model
from treecast.networks import Cayley, Complete, Graph, Hypercube, Mesh, Network, Rotational, Star, Torus
from treecast.networks import network as find_network
from treecast.networks.core import Ints
from treecast.plans.all_port import allgather, alltoall, broadcast, scatter
from treecast.plans.all_port import relays as complete
from treecast.plans.bufferless import cover
from treecast.plans.bufferless import gather as tree_gather
from treecast.plans.bufferless import scatter as tree_scatter
from treecast.plans.built import Built, memory
from treecast.plans.combining import dimension_order
from treecast.plans.reversal import one_after_the_other, reversed_in_time
from treecast.plans.trees import disjoint as rotational
from treecast.plans.trees import spanning
from treecast.plans.wormhole import bisection, exhaustive, eyes, multicast
from treecast.schedule import Rows, Schedule
from treecast.schedule.trees import RootedTree, TreeSet

__all__ = [
    "BUILDERS",
    "Builder",
    "builders",
    "copies_of",
    "disjoint_trees",
    "one_tree_steps",
    "plan",
    "program",
    "single_tree_steps",
]


Build = Callable[..., Built]


def _backwards(kind: str, build: Any) -> Any:
    """Return the builder of a gather or reduction that runs a schedule of ``kind`` backwards; of all nodes or of one."""

    def built(network: Network, collective: Collective, copies: int, *node: int) -> Built:
        forwards = build(network, replace(collective, kind=kind), copies, *node)
        return reversed_in_time(network, collective, forwards)

    return built


def _both(kind: str, build: Any) -> Any:
    """Return the builder that runs a schedule of ``kind`` backwards, and then forwards; of all nodes or of one."""

    def built(network: Network, collective: Collective, copies: int, *node: int) -> Built:
        forwards = build(network, replace(collective, kind=kind), copies, *node)
        return one_after_the_other(collective, reversed_in_time(network, collective, forwards), forwards)

    return built


def _anywhere(network: Network) -> bool:
    return True


class Builder(NamedTuple):
    """Something that makes schedules of one collective on one family of networks, under one model.

    ``trees(network)``: over how many disjoint ways it can send, the most copies there can be. ``build(network, collective,
    copies)`` builds, as an orbit where every node has the same part. ``at`` (the same, and a node) gives one node's rows
    from its label alone. ``sparing``: whether it makes sparing schedules. ``options``: what it can be told besides, by
    keyword. ``plain``: whether it makes no orbit where every node has the same part. ``fits(network)``: whether it can do
    a member of the family.
    """

    name: str
    collective: str
    family: type[Network]
    models: tuple[str, ...]
    what: str
    trees: Callable[[Any], int]
    build: Build
    at: Callable[[Any, Collective, int, int], Built] | None = None
    sparing: bool = False
    options: tuple[str, ...] = ()
    plain: bool = False
    fits: Callable[[Any], bool] = _anywhere


def _every_port(network: Network) -> int:
    return network.ports


def _one(network: Network) -> int:
    return 1


_ALL_PORT = ("all-port", "shouting")
_WORMHOLE = tuple(f"{name}{half}" for name in WORMHOLE for half in ("", ",half"))
_TREES, _ONE_TREE, _MATCHED = "disjoint-trees", "breadth-first-tree", "port-matching"


def _over_trees(
    collective: str, what: str, build: Build, at: Any = None, most: Any = _every_port, family: type[Network] = Rotational
) -> Builder:  # fmt: skip
    return Builder(_TREES, collective, family, _ALL_PORT, f"the k disjoint trees: {what}", most, build, at)


def _on_complete() -> list[Builder]:
    """Return the builders of complete networks beside the disjoint trees."""
    dealt = [
        ("scatter", complete.scatter), ("gather", _backwards("scatter", complete.scatter)),
        ("allgather", complete.allgather), ("alltoall", complete.alltoall),
    ]  # fmt: skip
    spread = [
        ("broadcast", complete.broadcast), ("reduce", _backwards("broadcast", complete.broadcast)),
        ("reduce-broadcast", _both("broadcast", complete.broadcast)),
        ("reduce-scatter", _backwards("allgather", complete.allgather)),
        ("allreduce", _both("allgather", complete.allgather)),
    ]  # fmt: skip
    relays, one = "to the target itself; more copies by way of relays", "one copy, to the target itself"
    return [
        *(Builder("direct", kind, Complete, _ALL_PORT, relays, _every_port, build) for kind, build in dealt),
        *(Builder("direct", kind, Complete, _ALL_PORT, one, _one, build) for kind, build in spread),
    ]


def _over_one_tree(collective: str, what: str, build: Build) -> Builder:
    return Builder(_ONE_TREE, collective, Network, _ALL_PORT, what, _one, build)


def _of_hypercube(collective: str) -> list[Builder]:
    """Return the builders of the hypercube paper, and its baseline."""
    found: list[Builder] = []
    kinds = ("dimension-order", "fraigniaud", *(["four-phases"] if collective == "allgather" else []))
    for name, (model, build) in product(kinds, (("whispering", 0), ("shouting", 1))):
        how = ("one dimension after the other", "all dimensions at once")[build]
        what, made, options = {
            "dimension-order": ("Chau & Fu: {}, nothing said twice", _BY_DIMENSION, ("order", "fault_free")),
            "fraigniaud": ("Fraigniaud: arc-disjoint trees, {}", _FRAIGNIAUD, ("order",)),
            "four-phases": (
                "Chau & Fu: one node starts the others, {}",
                _STARTED,
                ("order", "fault_free", "initiator"),
            ),
        }[name]
        found.append(
            Builder(name, collective, Hypercube, (model,), what.format(how), _every_port, made[build],
                    sparing=name != "fraigniaud", options=options, plain=name == "four-phases")
        )  # fmt: skip
    return found


def _without_buffers() -> list[Builder]:
    """Return the builders of messages of different lengths, over one port and over all."""
    found: list[Builder] = []
    for name, kind, build, options, what in (
        ("farthest-first", "scatterv", tree_scatter.scatter, ("tree", "first"), "down one tree, the farthest first (FDF)"),
        ("transmission-certificate", "gatherv", tree_gather.transmission_certificate, ("tree", "collect"),
         "up one tree, told when to begin by control flits"),
        ("shoulder-tap", "gatherv", tree_gather.shoulder_tap, (), "of a path with the root at its end: a wake-up goes out"),
        ("nearest-first", "gatherv", tree_scatter.gather, ("tree", "first"), "up one tree, as if all knew when to begin"),
    ):  # fmt: skip
        for model, ports in (("bufferless", "one"), ("bufferless-multiport", "all")):
            found.append(
                Builder(name, kind, Network, (model,), what, _one, partial(build, ports=ports), options=options)
            )
    for kind, build, what in (
        ("scatterv", cover.scatter, "down several trees that share no link, the farthest first in each"),
        ("gatherv", cover.gather, "up several trees that share no link, as if all knew when to begin"),
    ):
        found.append(Builder("cover", kind, Network, ("bufferless-multiport",), what, _one, build, options=("first",)))
    return found


def _by_bisection() -> list[Builder]:
    """Return the builders of meshes and tori under wormhole switching."""
    found: list[Builder] = []
    for family, spread, deal in (
        (Mesh, bisection.broadcast, bisection.scatter),
        (Torus, bisection.broadcast_on_torus, bisection.scatter_on_torus),
    ):
        for kind, build in (
            ("broadcast", spread), ("scatter", deal), ("gather", _backwards("scatter", deal)),
            ("reduce", _backwards("broadcast", spread)), ("reduce-broadcast", _both("broadcast", spread)),
        ):  # fmt: skip
            what = "recursive bisection: least total distance"
            if family is Mesh:
                what += "; off powers of two, up to 256 nodes, local search"
            found.append(Builder("bisection", kind, family, _WORMHOLE, what, _one, build))
    what = "recursive bisection of the set of targets"
    for family, model in product((Mesh, Torus), _WORMHOLE):  # what is built must hold under the model: there is choice
        found.append(Builder("bisection", "multicast", family, (model,), what, _one, multicast.builder(model)))
    for name, build, options in (("eyes", eyes.broadcast, ("order",)), ("eyes-best-order", _best_order, ())):
        what = "Cang & Wu: from eye to eye, for sides that are all the same power of two"
        found.append(Builder(name, "broadcast", Mesh, _WORMHOLE, what, _one, build, options=options, fits=eyes.fits))
    return found


def _by_search(kind: str, family: type[Network]) -> Builder:
    """Return the builder that searches all broadcasts, or multicasts by targets and root alone, among few nodes."""
    what, fits = "search of all broadcasts: the least total distance of all", exhaustive.fits
    if kind == "multicast":
        what, fits = "search of all multicasts by at most 15 targets and the root alone", _anywhere
    return Builder("exhaustive", kind, family, _WORMHOLE, what, _one, exhaustive.broadcast, fits=fits)


def _best_order(mesh: Mesh, collective: Collective, copies: int) -> Built:
    return eyes.broadcast(mesh, collective, copies, best_order=True)


_BY_DIMENSION = (dimension_order.whispering, dimension_order.shouting)
_FRAIGNIAUD = (dimension_order.fraigniaud_whispering, dimension_order.fraigniaud_shouting)
_STARTED = (dimension_order.four_phases, dimension_order.four_phases_shouting)

BUILDERS = (
    *_of_hypercube("broadcast"),
    *_of_hypercube("allgather"),
    _by_search("broadcast", Torus),  # before bisection: on small tori that is not always least
    *_by_bisection(),
    _by_search("broadcast", Mesh),
    _by_search("multicast", Mesh),
    *_without_buffers(),
    _over_trees("broadcast", "pipelines", broadcast.over_disjoint_trees, broadcast.over_disjoint_trees_at),
    _over_trees(
        "broadcast", "pipelines", broadcast.over_disjoint_trees, broadcast.over_disjoint_trees_at, family=Complete
    ),
    *_on_complete(),
    Builder(
        "shortest-path-tree", "broadcast", Star, _ALL_PORT, "one shortest-path tree: the baseline of Fragopoulou & Akl",
        _one, broadcast.over_shortest_path_tree,
    ),
    _over_one_tree("broadcast", "one breadth-first tree of any network", broadcast.over_breadth_first_tree),
    _over_trees("scatter", "farthest first", scatter.over_disjoint_trees),
    _over_one_tree("scatter", "one breadth-first tree, farthest first", scatter.over_breadth_first_tree),
    _over_trees("gather", "scatter backwards", _backwards("scatter", scatter.over_disjoint_trees)),
    _over_one_tree("gather", "scatter backwards", _backwards("scatter", scatter.over_breadth_first_tree)),
    _over_trees(
        "reduce", "broadcast backwards", _backwards("broadcast", broadcast.over_disjoint_trees),
        _backwards("broadcast", broadcast.over_disjoint_trees_at), _one,
    ),
    _over_one_tree("reduce", "broadcast backwards", _backwards("broadcast", broadcast.over_breadth_first_tree)),
    _over_trees(
        "reduce-broadcast", "reduce, then broadcast", _both("broadcast", broadcast.over_disjoint_trees),
        _both("broadcast", broadcast.over_disjoint_trees_at), _one,
    ),
    _over_one_tree("reduce-broadcast", "reduce, then broadcast", _both("broadcast", broadcast.over_breadth_first_tree)),
    _over_trees("allgather", "each walked depth first, all at once", allgather.over_disjoint_trees),
    Builder(
        _MATCHED, "allgather", Cayley, _ALL_PORT, "each step joins ports with new nodes by a maximum matching",
        _one, allgather.over_matchings,
    ),
    Builder(
        "shortest-paths", "alltoall", Cayley, _ALL_PORT, "shortest paths, necklace by necklace or matched with ports",
        _one, alltoall.over_shortest_paths,
    ),
    _over_trees("alltoall", "necklace by necklace", alltoall.over_disjoint_trees),
    _over_trees("reduce-scatter", "allgather backwards", _backwards("allgather", allgather.over_disjoint_trees), most=_one),
    Builder(
        _MATCHED, "reduce-scatter", Cayley, _ALL_PORT, "allgather backwards",
        _one, _backwards("allgather", allgather.over_matchings),
    ),
    _over_trees("allreduce", "reduce-scatter, then allgather", _both("allgather", allgather.over_disjoint_trees), most=_one),
    Builder(
        _MATCHED, "allreduce", Cayley, _ALL_PORT, "reduce-scatter, then allgather",
        _one, _both("allgather", allgather.over_matchings),
    ),
)  # fmt: skip
"""Every builder; the first that fits is the default."""


def builders(collective: str, network: Network) -> list[Builder]:
    """Return the builders of ``collective`` on ``network``, the default first."""
    return [b for b in BUILDERS if b.collective == collective and isinstance(network, b.family) and b.fits(network)]


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
    order: Sequence[int] | None = None,
    fault_free: bool = False,
    initiator: int | str | None = None,
    targets: Sequence[int | str] = (),
    lengths: int | Sequence[int] | Mapping[Any, int] | None = None,
    tree: str | None = None,
    first: str | None = None,
    collect: str | None = None,
) -> Schedule:
    """Return a schedule of ``collective`` on ``network``, with the claims of its builder; nothing is verified yet.

    ``network``: a Network, its spelling, or a networkx graph. ``root``: a node or its label. ``messages``: chunks per
    source. ``copies``: by how many disjoint ways every chunk reaches every node (default 1); ``survive`` = copies - 1
    faults that nobody knows of. ``model`` and ``builder`` default to what fits the network.
    Of builders that go by dimensions: the ``order`` in which they use them (ports, from 0), and ``fault_free``, to leave out
    the last step of the longest form (it then survives one fault less). ``initiator``: the node, or its label, that starts the
    others, instead of all starting at once (builder four-phases). ``targets``: of a multicast, the nodes or labels to reach.
    Of scatterv and gatherv, ``lengths``: how many flits the message for, or from, each node has: one number for all, one for each
    node, or a mapping from nodes or labels; the root's counts as 0. ``tree``: down which spanning tree; ``first``: which messages
    go first; ``collect``: how certificates come up (``slots`` or ``walk``).

    Raises PlanError or NetworkError when there is no such plan.
    """
    options: dict[str, Any] = {}
    if order is not None:
        options["order"] = order
    if fault_free:
        options["fault_free"] = True
    if initiator is not None:
        options["initiator"] = initiator
        builder = builder or "four-phases"
    if isinstance(targets, str) or not np.iterable(targets):
        raise PlanError(f"targets are several nodes or labels, not {targets!r}: write [{targets!r}]")
    if len(aims := tuple(targets)):
        options["targets"] = aims
    said = {"lengths": lengths, "tree": tree, "first": first, "collect": collect}
    options |= {name: value for name, value in said.items() if value is not None}
    return _Request.of(collective, network, root, messages, copies, survive, model, builder, options).schedule()


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


def lengths_by_node(network: Network, root: int, given: Any) -> Lengths:
    """Return the lengths of a scatterv or gatherv: one number for all, one for each node, or a mapping from nodes or labels.

    Raises PlanError when a node has none, or one that is no length.
    """
    if hasattr(given, "items"):
        flits = _named_lengths(network, root, given)
    else:
        flits = np.array(given)
        flits = np.repeat(flits, network.nodes) if flits.ndim == 0 else flits
    if flits.shape != (network.nodes,):
        raise PlanError(f"{network.spec} has {network.nodes:,} nodes, and needs as many lengths, not {flits.size:,}")
    if flits.dtype.kind in "iu" and flits.min() >= 0:
        flits[root] = 0
    return Lengths.of(flits)


def _named_lengths(network: Network, root: int, given: Any) -> Ints:
    flits = np.full(network.nodes, -1, np.int64)
    for name, length in given.items():
        if not hasattr(length, "__index__") or int(length) < 0:
            raise PlanError(f"{length!r} is no length of a message: write a whole number of flits, from 0")
        node = _node(network, name, "a node")
        if flits[node] >= 0:
            raise PlanError(f"node {network.label(node)} has two lengths: give one")
        flits[node] = length
    flits[root] = 0
    if int(flits.min()) < 0:
        lacking = network.label(int(np.argmin(flits)))
        raise PlanError(f"node {lacking} has no length: each node needs one, 0 if its message is null")
    return flits


def single_tree_steps(network: Network, collective: Collective) -> int:
    """Return the steps of a broadcast down a single shortest-path tree, by its closed form; 0 of other collectives."""
    if collective.kind != "broadcast" or network.nodes == 1:
        return 0
    return collective.messages + network.eccentricity(collective.root) - 1


def one_tree_steps(schedule: Schedule) -> int:
    """Return how many steps the job of a scatterv or gatherv takes over the best single tree that is known; 0 of other jobs.

    Of a gather with control flits that is over one tree with control flits, and else as if all knew when to begin.
    """
    collective, network = schedule.collective, schedule.network
    if collective.lengths is None:
        return 0
    flits, ports = collective.lengths.flits, "one" if schedule.model.ports == "one" else "all"
    told = collective.kind == "gatherv" and bool(schedule.rows.control.any())

    def steps(tree: RootedTree) -> int:
        if told:
            return tree_gather.certificates(tree, flits, ports).steps
        return spanning.streams_steps(tree, flits, ports)

    return steps(spanning.best(network, collective.root, flits, steps, collective.direction == "to"))


def disjoint_trees(network: Any, root: int | str = 0) -> TreeSet:
    """Return the edge-disjoint spanning trees of a network at ``root``: as many as its degree, with node-disjoint ways.

    Raises PlanError for networks for which none are known yet, or whose trees do not fit in memory.
    """
    where = find_network(network)
    rotational.trees_of(where)
    _check_memory(where.ports * (where.nodes - 1), f"the trees of {where.spec}")
    return rotational.disjoint_trees(where, where.node(root))


def _check_memory(rows: int, what: str) -> None:
    needed = rows * _BYTES_PER_ROW
    if needed > memory():
        raise PlanError(
            f"{what}: {rows:,} rows, about {needed / 2**30:,.0f} GiB, are too many for this machine's memory; "
            "one node's rows of a broadcast can still be had, by program()"
        )


class _Request(NamedTuple):
    """What was asked for, checked."""

    network: Network
    collective: Collective
    copies: int
    model: Model
    builder: Builder
    options: Mapping[str, Any]

    @staticmethod
    def of(
        kind: str, what: Any, root: int | str, messages: int, copies: int | None, survive: int | None,
        model: str | Model | None, name: str | None, options: Mapping[str, Any] | None = None,
    ) -> "_Request":  # fmt: skip
        network = find_network(what)
        options, start = dict(options or {}), _node(network, root, "root") if root else network.node(root)
        aims = {_node(network, target, "a target") for target in options.pop("targets", ())}
        lengths = lengths_by_node(network, start, options.pop("lengths")) if "lengths" in options else None
        collective = Collective(kind, network.nodes, messages, start, tuple(sorted(aims - {start})), lengths)
        if collective.all_source and collective.root:
            raise PlanError(f"{kind} has no root: every node has the same part in it")
        copies = copies_of(copies, survive)
        fitting = _fitting(kind, network, model, name)
        most = max(b.trees(network) for b in fitting)
        chosen = next((b for b in fitting if copies <= max(1, b.trees(network))), None)
        if chosen is None:
            why = "; contributions that went two ways would be added twice" if collective.sums else ""
            raise PlanError(
                f"{copies} copies cannot be had of {kind} on {network.spec} by {fitting[0].name}: "
                f"from 1 to {max(most, 1)} copies, surviving 0 to {max(most, 1) - 1} faults{why}"
            )
        wrong = set(options) - set(chosen.options)
        if wrong:
            takers = (
                ", ".join(sorted({b.name for b in builders(kind, network) if wrong <= set(b.options)})) or "no builder"
            )
            raise PlanError(
                f"{chosen.name} takes no {' and no '.join(sorted(wrong))}; of {kind} on {network.spec} does: {takers}"
            )
        if "initiator" in options:
            options["initiator"] = _node(network, options["initiator"], "initiator")
        return _Request(network, collective, copies, find_model(model or chosen.models[0]), chosen, options)

    def schedule(self) -> Schedule:
        network, collective, copies, model, builder, options = self
        ways = copies if collective.all_source or collective.personal else builder.trees(network)
        sources = network.nodes if builder.plain else 1
        if collective.lengths is None:
            hops = max(1, network.diameter // 2) if collective.personal else 2 if collective.results else 1
            _check_memory(ways * hops * (network.nodes - 1) * sources, f"{collective.kind} on {network.spec}")
        built = builder.build(network, collective, copies, **options)
        orbit = collective.all_source and not builder.plain
        if options.get("fault_free"):  # without its last step the longest form survives one fault less
            copies = max(1, min(copies, network.ports - 1))
        return Schedule(
            network, built.collective or collective, model, built.rows, copies, orbit, built.claims, builder.name,
            self._local(), builder.sparing,
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
        at = self.builder.at
        if at is None:
            return None
        return lambda node: at(self.network, self.collective, self.copies, node).rows


_BYTES_PER_ROW = 72  # a row and what sorting it takes


def _node(network: Network, value: Any, what: str) -> int:
    """Return the node that a number or label names. Raises PlanError for what is neither.

    A graph may have whole numbers for names: one that is the name of a node and the number of another is refused.
    """
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise PlanError(f"{what} must be a node or its label, not {value!r}")
    if not isinstance(network, Graph) or isinstance(value, str):
        return network.node(value)
    named = network.node(str(value))
    if named != value and 0 <= value < network.nodes:
        raise PlanError(
            f"{value} is the name of one node of {network.spec} and the number of another: write {str(value)!r} for the name, "
            f"or {network.label(value)!r} for the name of the other"
        )
    return named


def _fitting(collective: str, network: Network, model: str | Model | None, name: str | None) -> list[Builder]:
    """Return the builders that fit what was asked for, the default first. Raises PlanError when there is none."""
    fitting = builders(collective, network)
    if name is None and model is None:  # all ports, unless something else is asked for
        fitting = [b for b in fitting if "all-port" in b.models] or fitting
    if name is not None:
        fitting = [b for b in fitting if b.name == name]
        if not fitting:
            known = ", ".join(dict.fromkeys(b.name for b in builders(collective, network))) or "none"
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
        kinds = sorted({b.collective for b in BUILDERS if isinstance(network, b.family)})
        raise PlanError(
            f"there is no plan of {collective} on {network.spec} yet; there it is {', '.join(kinds)}; "
            f"{collective} needs a network that looks the same from every node: star, hypercube, torus, ring or complete"
        )
    return fitting
