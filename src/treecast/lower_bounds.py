"""Lower bounds: what no schedule can beat, each with its formula and its source.

The proofs count four things. *Ports*: what leaves or reaches a node in a step, one chunk an arc, or one in all with one
port. *Ways*: x disjoint ways from a node leave it over x different arcs. *Work*: all sends together, by what all arcs can
carry in a step. *Doubling*: with one port, the nodes that have heard of something at most double in a step.

A schedule run backwards is one of the network with its arcs turned round: a scatter becomes a gather, a broadcast a reduce
(each node sends a sum on once, so the sends of a sum are a tree), an allgather a reduce-scatter. So they share bounds.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Cayley, Graph, Hypercube, Mesh, Network, Star, Torus
from treecast.networks.core import Ints

_LOOKED_AT = 256
"""In a network that looks different from its nodes, each of so many nodes is looked at; of more nodes, only node 0."""
_MOST_DISTANCES = 2**20  # that are computed one by one to tell how long several ways are
_MOST_COUNTED = 2**27  # nodes whose distances are counted one by one


@dataclass(frozen=True)
class Bound:
    """A lower bound: of what (``steps``, ``transmissions``, or ``tcd``, the sum of all distances), its value, its formula, and
    where it comes from.
    """

    of: str
    value: int
    formula: str
    source: str


def bounds(network: Network, collective: Collective, copies: int, model: Model) -> list[Bound]:
    """Return the lower bounds that are known, for schedules by which every chunk reaches its nodes over ``copies`` ways.

    There is at least one of steps and one of transmissions. Raises PlanError when a source has fewer arcs than copies,
    when sums are to have copies, and where there are too many nodes to tell how far each is.
    """
    if network.nodes == 1:
        return [Bound("steps", 0, "0", "one node"), Bound("transmissions", 0, "0", "one node")]
    if copies > 1 and collective.sums:
        raise PlanError(
            f"{copies} copies of a sum cannot be had: contributions that went two ways would be added twice"
        )
    if model.routing:
        return _wormhole(network, collective, copies)
    if collective.targets:
        return _multicast(network, collective, copies)
    if collective.lengths is not None:
        return _of_lengths(network, collective, collective.lengths, copies, model)
    job, root = _Job(network, collective.messages, copies, model), collective.root
    degree = network.degree_at(root)
    if collective.all_source and not isinstance(network, Cayley) and network.nodes <= _LOOKED_AT:
        degree = int(_degrees(network).min())
    if copies > degree:
        raise PlanError(
            f"{copies} copies need {copies} disjoint ways, but {degree} arcs leave the root, or some source, on {network.spec}"
        )
    return _BOUNDS_OF[collective.kind](job, root)


def _multicast(network: Network, collective: Collective, copies: int) -> list[Bound]:
    """Return the bounds of a multicast: a chunk goes one arc a step, and every target receives every chunk."""
    far = int(network.distance(collective.root, np.array(collective.targets)).max())
    sends = collective.messages * copies * len(collective.targets)
    return [
        Bound("steps", far, "distance of the farthest target", "a chunk goes one arc a step"),
        Bound("transmissions", sends, "M x targets", "every target receives every chunk, x times"),
    ]


def _of_lengths(network: Network, collective: Collective, lengths: Lengths, copies: int, model: Model) -> list[Bound]:
    """Return the bounds of messages of different lengths, from or to one root.

    Of the flits for nodes at distance D or more the last leaves the root when the others have, and goes D arcs: with a port of
    its own for each arc, k arcs carry k flits a step. A message that is not split goes over one arc of the root.
    """
    if copies > 1:
        raise PlanError("a message of its own length goes one way: take 1 copy")
    there = network if collective.direction == "from" else _turned(network)
    far = there.distance(collective.root, np.arange(network.nodes))
    ports = 1 if model.ports == "one" else network.degree_at(collective.root)
    value = _far_flits(lengths.flits, far, np.zeros_like(far), np.array([ports]))
    formula = "⌈flits for distance ≥ D / ports⌉ + D - 1, for the worst D"
    found = [
        Bound("steps", value, formula, "Bhatt et al., Theorem 1: the root's ports"),
        Bound("transmissions", int((lengths.flits * far).sum()), "Σ length x distance", "shortest ways"),
    ]
    if ports > 1 and (part := _parts(there, collective.root)) is not None:
        arcs = np.bincount(part[there.neighbors(collective.root)], minlength=network.nodes)
        value = _far_flits(lengths.flits, far, part, arcs)
        found.append(
            Bound("steps", value, "the same of each part of the network behind the root", "its arcs to that part")
        )
    if not model.buffered and lengths.total:
        longest = int((lengths.flits + far - 1)[lengths.flits > 0].max())
        found.append(
            Bound("steps", longest, "length + distance - 1, of the worst message", "a message goes one way, in order")
        )
    return found


def _far_flits(flits: Ints, far: Ints, part: Ints, arcs: Ints) -> int:
    """Return the greatest ⌈flits for distance D or more / arcs⌉ + D - 1 of any D and part: the root has ``arcs`` to each."""
    some = np.flatnonzero(flits)
    order = some[np.lexsort((-far[some], part[some]))]
    total = np.cumsum(flits[order])
    new = np.diff(part[order], prepend=-1) != 0
    sent = total - np.maximum.accumulate(np.where(new, total - flits[order], 0))
    return int((-(-sent // arcs[part[order]]) + far[order] - 1).max(initial=0))


def _parts(network: Network, root: int) -> Ints | None:
    """Return the parts of a network without the root, or None when they hang together or arcs lead one way only."""
    from treecast.kernels.streams import components

    if isinstance(network, Cayley) or _turned(network) != network:
        return None  # no single node takes a Cayley network apart
    first, target, _ = network.arc_lists()
    part = components(first, target, root)
    part[root] = part[target[first[root]]]
    return part


def _wormhole(network: Network, collective: Collective, copies: int) -> list[Bound]:
    """Return the bounds under wormhole switching, where every other node is one step away, at a price of its distance.

    Every other node receives, or of a gathering sends, a message of its own: N - 1 messages, over one arc at least. With one
    root, each of the first messages that the others receive comes from a node that has received one, or from the root: they are
    the messages of a broadcast in as many steps, at least. So what holds of all broadcasts in the fewest steps holds of scatters
    in the fewest, and backwards of gathers and reductions; of both halves of a reduce-broadcast, since the root has no finished
    sum to send before ⌈log2 N⌉ steps. All proofs are in docs/mesh.md.
    """
    if copies > 1:
        raise PlanError("several copies are not known to be of use where every node is one step away: take 1")
    nodes = len(collective.targets) + 1 if collective.targets else network.nodes
    doublings = (nodes - 1).bit_length()
    found = [
        Bound("steps", doublings, "⌈log2 N⌉", "nodes that have heard, or that are heard of, at most double"),
        Bound("transmissions", nodes - 1, "N - 1", "every other node receives or sends a message"),
        Bound("tcd", nodes - 1, "N - 1", "every other node receives or sends a message, over one arc at least"),
    ]
    if collective.all_source or not isinstance(network, Mesh | Torus):
        return found
    degree = network.degree
    if not collective.targets and nodes == 1 << doublings and doublings >= degree:
        value = nodes - 1 + 2 * ((1 << (doublings - degree)) - 1)
        found.append(Bound("tcd", value, "N - 1 + 2 (N / 2^degree - 1)", f"N a power of two; {_PROVED}"))
    for bound in _joined(network, collective) + _across(network, collective):
        if bound.value > best(found, "tcd").value:
            found.append(bound)
    found += _searched(network, collective)
    if collective.kind == "reduce-broadcast":
        return [
            replace(b, value=2 * b.value, formula=f"2 ({b.formula})", source=f"each half: {b.source}") for b in found
        ]
    return found


_PROVED = "in the fewest steps; proved in docs/mesh.md"
_MOST_SPANNED = 4096  # targets that a shortest tree joins
_MOST_DIVIDED, _MOST_HALVED = (
    512,
    4096,
)  # nodes of a broadcast of which all ways to divide them, or halve them, are gone through
_MOST_PLANES = 2**20
LEAST_OF_ALL = "least of all"
"""The formula of the bound that is the minimum."""
MOST_SEARCHED = 16
"""Nodes among which all broadcasts are searched: 20 ms for 16, 1.6 s for 17, 7 s for 18."""


def _joined(network: Mesh | Torus, collective: Collective) -> list[Bound]:
    """Return how long what joins root and targets is at least: a shortest tree on them, but other nodes may pass on messages.

    Not where the targets and the root are a power of two and the steps the fewest: then all who hear are needed as targets.
    Else a tree through other nodes has at least half that length, and 2/3 in a plane with Manhattan distances (Hwang 1976).
    """
    if not 0 < len(collective.targets) <= _MOST_SPANNED:
        return []
    tree, name = _shortest_tree(network, collective.root, collective.targets), "shortest tree on root and targets"
    if _all_needed(collective):
        return [Bound("tcd", tree, name, f"as many as a power of two; {_PROVED}")]
    if isinstance(network, Mesh) and sum(side > 1 for side in network.sides) <= 2:
        return [Bound("tcd", -(-2 * tree // 3), f"⌈2/3 {name}⌉", "messages join them; by other nodes: Hwang (1976)")]
    return [Bound("tcd", -(-tree // 2), f"⌈1/2 {name}⌉", "messages join them, perhaps by other nodes")]


def _all_needed(collective: Collective) -> bool:
    """Whether all who can hear in the fewest steps are needed as targets, so that no other node takes part."""
    nodes = len(collective.targets) + 1
    return not collective.targets or nodes & (nodes - 1) == 0


def _shortest_tree(network: Network, root: int, targets: Sequence[int]) -> int:
    """Return the length of a shortest tree on some nodes, by Prim's algorithm."""
    left, last, total = np.array(targets), root, 0
    far = np.full(len(left), network.nodes)
    while len(left):
        far = np.minimum(far, network.distance(last, left))
        at = int(np.argmin(far))
        total, last = total + int(far[at]), int(left[at])
        left, far = np.delete(left, at), np.delete(far, at)
    return total


def _across(network: Mesh | Torus, collective: Collective) -> list[Bound]:
    """Return how many messages cross the planes between neighbouring coordinates of a mesh: of each, the fewest there can be.

    That depends on how many nodes lie on the side without the root. Where nodes are many, and a power of two: the fewest signed
    powers of two with that sum, the digits other than 0 of its non-adjacent form.
    """
    nodes = len(collective.targets) + 1 if collective.targets else network.nodes
    doublings = (nodes - 1).bit_length()
    exact, few = nodes == 1 << doublings, nodes <= _MOST_DIVIDED
    if isinstance(network, Torus) or not (exact or few or collective.targets) or sum(network.sides) > _MOST_PLANES:
        return []
    sides: list[Ints] = []
    for axis, (side, here) in enumerate(zip(network.sides, network.coordinates(collective.root).tolist(), strict=True)):
        counts = np.full(side, nodes // side)
        if collective.targets:
            at = network.coordinates(np.array([*collective.targets, collective.root]))[axis]
            counts = np.bincount(at, minlength=side)
        below = np.cumsum(counts)[:-1]
        sides.append(np.where(np.arange(1, side) <= here, below, nodes - below))
    beyond = np.concatenate(sides)
    if not _all_needed(collective):
        value = int(np.count_nonzero(beyond))
        return [Bound("tcd", value, "planes with a target beyond", "a message crosses each")]
    if few or nodes <= _MOST_HALVED:
        return [
            Bound(
                "tcd", int(_fewest_across(nodes)[beyond].sum()), "Σ over planes of the fewest messages across", _PROVED
            )
        ]
    value = int(np.bitwise_count(beyond ^ 3 * beyond).sum())
    return [Bound("tcd", value, "Σ over planes of the fewest signed powers of two", f"N a power of two; {_PROVED}")]


def _searched(network: Mesh | Torus, collective: Collective) -> list[Bound]:
    """Return the least of all broadcasts in the fewest steps, contention or not, where the nodes are few."""
    nodes = taking_part(network, collective)
    if len(nodes) > MOST_SEARCHED or not _all_needed(collective):
        return []
    value = int(search(network, nodes)[0][-1, -1, nodes.index(collective.root)])
    return [Bound("tcd", value, LEAST_OF_ALL, "search of all broadcasts in the fewest steps")]


def taking_part(network: Network, collective: Collective) -> Sequence[int]:
    """Return the root and the targets in ascending order, or all nodes."""
    return tuple(sorted((*collective.targets, collective.root))) if collective.targets else range(network.nodes)


def search(network: Network, nodes: Sequence[int]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the least distances of all broadcasts within each set of some nodes: kernels.broadcasts.cheapest."""
    at = np.array(nodes)
    return _search(network.distance(at[:, None], at).astype(np.int16).tobytes(), len(nodes))


@lru_cache(4)
def _search(distance: bytes, nodes: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    from treecast.kernels.broadcasts import cheapest

    return cheapest(np.frombuffer(distance, np.int16).reshape(nodes, nodes), (nodes - 1).bit_length())


@lru_cache(16)
def _fewest_across(nodes: int) -> Ints:
    from treecast.kernels.broadcasts import fewest_across

    return fewest_across(nodes, (nodes - 1).bit_length())


def tolerance_bounds(network: Network, collective: Collective, copies: int, model: Model) -> list[Bound]:
    """Return what surviving k = ``copies`` - 1 unknown faults costs on the hypercube where messages combine.

    Shouting, k = d-1: when the d-1 neighbours of a node at distance d-1 fail that are nearer to the root, what reaches it comes
    by the one at distance d.
    """
    d, k = network.diameter, copies - 1
    if not isinstance(network, Hypercube) or collective.kind not in ("broadcast", "allgather") or not 1 <= k < d:
        return []
    if model.ports == "one":
        return [
            Bound("steps", d + k + 1, "d + k + 1", "Fraigniaud (1992): any k-fault-tolerant broadcast, 1 ≤ k ≤ d - 1")
        ]
    return [Bound("steps", d + 1, "d + 1", "d - 1 faults around a node at distance d - 1")] if k == d - 1 else []


def best(found: list[Bound], of: str) -> Bound:
    """Return the greatest of the bounds of ``steps``, of ``transmissions`` or of ``tcd``."""
    return max((bound for bound in found if bound.of == of), key=lambda bound: bound.value)


@dataclass(frozen=True)
class _Job:
    """M messages over x ways on a network, under a model; what several proofs need of it."""

    network: Network
    messages: int
    copies: int
    model: Model

    @property
    def total(self) -> int:
        """M x."""
        return self.messages * self.copies

    @property
    def others(self) -> int:
        """N - 1."""
        return self.network.nodes - 1

    @property
    def turned(self) -> "_Job":
        """The same with all arcs turned round: what reaches a node here leaves it there."""
        return replace(self, network=_turned(self.network))

    @property
    def single(self) -> "_Job":
        """The same with one message."""
        return replace(self, messages=1)

    def ports(self, node: int) -> int:
        """Return how many chunks can leave ``node`` in a step."""
        return 1 if self.model.ports == "one" else self.network.degree_at(node)

    @property
    def room(self) -> int:
        """How many sends there can be in a step, in the whole network; a link has two arcs where each has one back."""
        half, nodes = self.model.duplex == "half", self.network.nodes
        if self.model.ports == "one":
            return nodes // 2 if half and self.model.partner == "same" else nodes
        return self.network.arcs // (2 if half and _turned(self.network) == self.network else 1)


# --- one root ---


def _broadcast(job: _Job, root: int) -> list[Bound]:
    """Each node hears Mx chunks, over ways that begin with as many sends of the root.

    The last of these sends begins no earlier than step ⌈Mx/ports⌉ - 1, and its way has as many arcs as the node is far.
    """
    sends = [_transmissions(job.total * job.others, "M x (N - 1)", "each node but the root hears M messages x times")]
    if job.model.combining:
        return sends + _reach(job, root)
    total, far, ports = job.total, job.network.eccentricity(root), job.ports(root)
    if job.model.ports == "one":
        doublings = job.others.bit_length()
        return [
            *sends,
            _steps(total + far - 1, "M x + eccentricity - 1", "the root's one port"),
            _steps(job.messages - 1 + doublings, "M - 1 + ⌈log2 N⌉", "informed nodes at most double"),
        ]
    value = -(-total // ports) + far - 1
    found = [*sends, _steps(value, "⌈M x / degree⌉ + eccentricity - 1", "Fragopoulou & Akl, Table 1")]
    return found + _over_every_arc(job) + _hearing(job, root)


def _over_every_arc(job: _Job) -> list[Bound]:
    """With x = degree copies every arc of the root carries all M chunks, and begins a way of each to every node.

    The last goes over it in step M - 1 or later. From the neighbour it leads to, some node other than the root is as far
    as the diameter, as the network looks alike from all nodes: in all M - 1 + 1 + diameter.
    """
    if not isinstance(job.network, Cayley) or job.copies < job.network.ports or job.network.nodes == 2:
        return []
    value = job.messages + job.network.diameter
    return [_steps(value, "M + diameter, for x = degree", "the way over the arc that leads away from a node")]


def _hearing(job: _Job, root: int) -> list[Bound]:
    """A node that few arcs reach hears Mx chunks over them, the first no earlier than it is far (where nodes differ)."""
    if isinstance(job.network, Cayley) or job.network.nodes > _LOOKED_AT:
        return []
    others = np.delete(np.arange(job.network.nodes), root)
    into, far = _degrees(_turned(job.network))[others], job.network.distance(root, others)
    value = int((-(-job.total // into) + far - 1).max())
    return [_steps(value, "⌈M x / in-degree⌉ + distance - 1", "the arcs into one node")]


def _scatter(job: _Job, root: int) -> list[Bound]:
    """What is for a node goes at least as many arcs as it is far; see ``_through`` for the root's ports."""
    ways, formula = _ways(job.network, root, job.copies)
    sends = [_transmissions(job.messages * ways, f"M {formula}", _source(job))]
    return sends + (_reach(job, root) if job.model.combining else [_through(job, root)])


def _gather(job: _Job, root: int) -> list[Bound]:
    """A scatter backwards."""
    return _scatter(job.turned, root)


def _reduce(job: _Job, root: int) -> list[Bound]:
    """A broadcast backwards."""
    said = "each node but the root sends its part of M sums"
    return [replace(b, source=said) if b.of == "transmissions" else b for b in _broadcast(job.turned, root)]


def _reduce_broadcast(job: _Job, root: int) -> list[Bound]:
    """No finished sum leaves the root before a first one is complete, and the last one has yet to be broadcast.

    Sums and finished sums are different chunks, so the sends of both halves add up.
    """
    return [
        _transmissions(
            2 * job.messages * job.others, "2 M (N - 1)", "each node but the root sends M sums, hears M sums"
        ),
        _both(_reduce(job.single, root), _broadcast(job, root), "reduce of one sum + broadcast"),
        _both(_reduce(job, root), _broadcast(job.single, root), "reduce + broadcast of one sum"),
    ]


# --- every node ---


def _allgather(job: _Job, root: int) -> list[Bound]:
    """Each node receives what a gather to it would bring; and the data of each spreads as in a broadcast."""
    nodes = job.network.nodes
    sends = _transmissions(job.total * nodes * job.others, "M x N (N - 1)", "every node hears N - 1 times M x chunks")
    if job.model.combining:
        return [sends, *_gossip(job)]
    at_one = [_through(job.turned, v) for v in _looked_at(job.network)]
    spread = [best(_broadcast(job, v), "steps") for v in _looked_at(job.network)]
    return [sends, best(at_one, "steps"), best(spread, "steps"), _work(job, sends)]


def _gossip(job: _Job) -> list[Bound]:
    """Where messages combine: all hear of all, so what one source needs; an odd one out loses the first step."""
    found = [bound for v in _looked_at(job.network) for bound in _reach(job, v)]
    if job.model.partner == "same" and job.model.ports == "one" and job.network.nodes % 2:
        value = job.others.bit_length() + 1
        found.append(_steps(value, "⌈log2 N⌉ + 1, N odd", "one node has no partner in the first step"))
    return [best([b for b in found if b.formula == formula], "steps") for formula in sorted({b.formula for b in found})]


def _alltoall(job: _Job, root: int) -> list[Bound]:
    """Each node scatters, and each node gathers."""
    ways, formula = _ways_of_all(job.network, job.copies)
    sends = _transmissions(job.messages * ways, f"M {formula}", _source(job))
    if job.model.combining:
        return [sends, *_gossip(job)]
    at_one = [_through(some, v) for some in (job, job.turned) for v in _looked_at(job.network)]
    return [sends, best(at_one, "steps"), _work(job, sends)]


def _reduce_scatter(job: _Job, root: int) -> list[Bound]:
    """An allgather backwards."""
    said = "each node sends its part of M sums of each other node"
    return [replace(b, source=said) if b.of == "transmissions" else b for b in _allgather(job.turned, root)]


def _allreduce(job: _Job, root: int) -> list[Bound]:
    """The sums of each owner are reduced and broadcast; no finished sum is under way before a first one is complete.

    Nor is the last one heard before it has been broadcast. Both halves send M N (N - 1) chunks, and these are different.
    """
    owners = _looked_at(job.network)
    formula = "2 M N (N - 1)"
    sends = _transmissions(
        2 * job.messages * job.network.nodes * job.others, formula, "every node, as reduce-broadcast"
    )
    found = [sends, best([best(_reduce_broadcast(job, v), "steps") for v in owners], "steps")]
    if len(owners) > 1 or isinstance(job.network, Cayley):  # every owner was looked at
        first = min((best(_reduce(job.single, v), "steps") for v in owners), key=lambda bound: bound.value)
        last = min((best(_broadcast(job.single, v), "steps") for v in owners), key=lambda bound: bound.value)
        found += [
            _both([first], _allgather(job, root), "reduce of one sum + allgather"),
            _both(_reduce_scatter(job, root), [last], "reduce-scatter + broadcast of one sum"),
        ]
    return found if job.model.combining else [*found, _work(job, sends)]


_BOUNDS_OF: dict[str, Callable[[_Job, int], list[Bound]]] = {
    "broadcast": _broadcast, "scatter": _scatter, "gather": _gather, "reduce": _reduce,
    "reduce-broadcast": _reduce_broadcast, "allgather": _allgather, "alltoall": _alltoall,
    "reduce-scatter": _reduce_scatter, "allreduce": _allreduce,
}  # fmt: skip


# --- what proofs share ---


def _steps(value: int, formula: str, source: str) -> Bound:
    return Bound("steps", value, formula, source)


def _transmissions(value: int, formula: str, source: str) -> Bound:
    return Bound("transmissions", value, formula, source)


def _reach(job: _Job, node: int) -> list[Bound]:
    """Where messages combine, any number of chunks go in a step: only distance counts, and with one port doubling."""
    found = [_steps(job.network.eccentricity(node), "eccentricity", "a chunk goes one arc a step")]
    if job.model.ports == "one":
        found.append(_steps(job.others.bit_length(), "⌈log2 N⌉", "informed nodes at most double"))
    return found


def _through(job: _Job, node: int) -> Bound:
    """Mx chunks for each of the nodes at distance δ and beyond leave ``node``, the last of them in step ⌈…⌉ - 1 or later.

    It has δ arcs to go. With the arcs turned round: what comes from there arrives in step δ - 1 or later.
    """
    ports, left, value, at, nodes_at = job.ports(node), job.others, 0, 1, 0
    for distance, count in enumerate(_levels(job.network, node)[1:], 1):
        steps = -(-job.total * left // ports) + distance - 1
        if steps > value:
            value, at, nodes_at = steps, distance, left
        left -= count
    if at == 1:
        return _steps(value, "⌈M x (N - 1) / ports⌉", "all that leaves, or reaches, one node")
    formula = f"⌈M x {nodes_at:,} / ports⌉ + {at - 1:,}"
    return _steps(value, formula, f"{nodes_at:,} nodes are {at:,} or more arcs from one node")


def _work(job: _Job, sends: Bound) -> Bound:
    """No step has more sends than the network has room for."""
    return _steps(
        -(-sends.value // job.room), f"⌈{sends.formula} / {job.room:,}⌉", "all sends, by those of a busy step"
    )


def _both(first: list[Bound], second: list[Bound], formula: str) -> Bound:
    """Return the bound of two things of which the second begins when the first is over."""
    value = best(first, "steps").value + best(second, "steps").value
    return _steps(value, formula, "no finished sum leaves its owner before a sum is complete")


def _source(job: _Job) -> str:
    if job.copies == 1:
        return "a chunk goes as many arcs as its node is far"
    return "disjoint ways leave over different arcs, nearer or not"


# --- how far nodes are ---


@lru_cache(64)
def _degrees(network: Network) -> Ints:
    """Return how many arcs leave each node."""
    return np.array([network.degree_at(v) for v in range(network.nodes)])


def _looked_at(network: Network) -> range:
    """Return the nodes from which a network is looked at: node 0, where all see the same or are too many to ask."""
    return range(1 if isinstance(network, Cayley) or network.nodes > _LOOKED_AT else network.nodes)


def _levels(network: Network, node: int) -> tuple[int, ...]:
    """Return how many nodes are 0, 1, 2 … arcs from ``node``. Raises PlanError when there are too many to count."""
    return _counted(network, 0 if isinstance(network, Cayley) else node)


@lru_cache(1024)
def _counted(network: Network, node: int) -> tuple[int, ...]:
    if isinstance(network, Star | Hypercube):
        found = Counter[int]()
        for (distance, _), count in _kinds(network).items():
            found[distance] += count
        return tuple(found[distance] for distance in range(network.diameter + 1))
    if isinstance(network, Mesh | Torus) and sum(network.sides) <= _MOST_COUNTED:
        counts = np.ones(1, np.int64)  # coordinates are independent, and their distances add up
        for here, side in zip(network.coordinates(node).tolist(), network.sides, strict=True):
            gap = np.abs(np.arange(side) - here)
            counts = np.convolve(
                counts, np.bincount(np.minimum(gap, side - gap) if isinstance(network, Torus) else gap)
            )
        return tuple(counts.tolist())
    if network.nodes > _MOST_COUNTED:
        raise PlanError(f"{network.spec} has too many nodes to count how far each of them is")
    return tuple(np.bincount(network.distance(node, np.arange(network.nodes))).tolist())


@lru_cache(64)
def _kinds(network: Star | Hypercube) -> dict[tuple[int, int], int]:
    """Return how many nodes are at distance h with f of node 0's arcs leading nearer to them, as {(h, f): nodes}.

    Hypercube: h bits differ, and f = h. Star network, seen from the node, s symbols misplaced in c cycles: a swap leads
    nearer if it sends the first symbol home, or joins another cycle to that of the first position.
    """
    if isinstance(network, Hypercube):
        return {(h, h): comb(network.d, h) for h in range(network.d + 1)}
    n, found = network.n, Counter[tuple[int, int]]()
    cycles: list[list[int]] = [[0] * (n + 2) for _ in range(n + 1)]  # permutations of s in c cycles, none of one
    cycles[0][0] = 1
    for s in range(2, n + 1):
        for c in range(1, s // 2 + 1):
            cycles[s][c] = (s - 1) * (cycles[s - 1][c] + cycles[s - 2][c - 1])
    for s in range(n):
        for c in range(s // 2 + 1):
            found[s + c, s] += comb(n - 1, s) * cycles[s][c]
            for own in range(2, n - s + 1):  # symbol 1 in a cycle of that length, s and c those of the others
                ways = comb(n - 1, own - 1) * factorial(own - 1) * comb(n - own, s) * cycles[s][c]
                found[own + s + c + 1 - 2, s + 1] += ways
    return {kind: count for kind, count in found.items() if count}


@lru_cache(1024)
def _ways(network: Network, node: int, copies: int) -> tuple[int, str]:
    """Return the least number of arcs of x disjoint ways from ``node`` to each other node, all added up; and in words.

    Disjoint ways begin with different arcs, and one that begins with the arc to w has at least 1 + distance(w, target)
    arcs. That is h over the f arcs that lead nearer, and on bipartite networks h + 2 over the others; on the hypercube
    there are such ways (Saad & Schultz 1988). Where this would take too long: x times the distance.
    """
    if isinstance(network, Cayley) and node:
        return _ways(network, 0, copies)
    distances = sum(distance * count for distance, count in enumerate(_levels(network, node)))
    if copies == 1:
        return distances, "Σ distances"
    if isinstance(network, Star | Hypercube):
        more = sum(2 * max(0, copies - near) * count for (far, near), count in _kinds(network).items() if far)
        return copies * distances + more, "Σ lengths of x ways"
    first = network.neighbors(node)
    if len(first) * network.nodes > _MOST_DISTANCES:
        return copies * distances, "x Σ distances"
    others = np.delete(np.arange(network.nodes), node)
    lengths = np.sort([1 + network.distance(w, others) for w in first], axis=0)
    return int(lengths[:copies].sum()), "Σ lengths of x ways"


def _ways_of_all(network: Network, copies: int) -> tuple[int, str]:
    """Return the same, added up for all nodes; where only one was looked at, one arc for each way."""
    looked_at, nodes = _looked_at(network), network.nodes
    if isinstance(network, Cayley):
        total, formula = _ways(network, 0, copies)
        return nodes * total, f"N {formula}"
    if len(looked_at) < nodes:
        return copies * nodes * (nodes - 1), "x N (N - 1)"
    found = [_ways(network, v, copies) for v in looked_at]
    return sum(total for total, _ in found), f"Σ over all nodes of {found[0][1]}"


@lru_cache(16)
def _turned(network: Network) -> Network:
    """Return the network with its arcs turned round: itself, unless it is a graph with arcs that lead one way only."""
    if not isinstance(network, Graph):
        return network
    active, parts, port = np.arange(network.nodes), list[Ints](), 0
    while len(active):  # the ports of a node come without gaps
        there = network.neighbor(active, port)
        active, there, port = active[there >= 0], there[there >= 0], port + 1
        parts.append(np.stack([there, active], axis=1))
    arcs = np.concatenate(parts)
    if bool((network.port_between(arcs[:, 0], arcs[:, 1]) >= 0).all()):
        return network
    return Graph(network.spec, network.labels(np.arange(network.nodes)), arcs)
