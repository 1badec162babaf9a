"""Lower bounds by doors: what comes in late at who wants it, and what has far to go from who has it. For any demand.

*Theorem.* A node with room for r chunks in a step, over its arcs or its port, that lacks n chunks of which the nearest holder is
d steps away or more, takes d - 1 + ⌈n / r⌉ steps: none of them comes before step d - 1. A node that alone has n chunks which have
e steps to go or more takes as long, as they have left it e - 1 steps before the end. Over x ways each counts x times. With a
latency L, an arc is L steps. Where messages combine, distances alone count. A sum runs backwards: each of its contributions has
to come to each that wants it.

*In flight.* Last arrivals cannot all be late, nor first sends early. Let δ arcs leave each of R ranks and as many lead to it, and
let d̄ be the mean distance of a rank from another. Where messages do not combine, an alltoall of M messages takes
⌈M (R - 1) / δ + d̄ - 1⌉ steps or more. *Proof.* A chunk for a rank d arcs away that is first sent in step t is last sent in step
t + d - 1 or later. A rank first sends δ chunks a step at most, so the steps of its n = M (R - 1) first sends add up to
F = 0 δ + 1 δ + 2 δ + … at least, over n terms. Those of the last sends to it add up to n (T - 1) - F at most. So over all chunks
Σ (d - 1) ≤ R n (T - 1) - 2 R F, and F ≥ n (n / δ - 1) / 2. ∎ It is 132 on fat-tree:8, where the cut at one host says 128.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Problem, classes, far_words, steps
from treecast.lower_bounds.one_port import in_turns
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.flows import away


class Door(NamedTuple):
    """Chunks that pass the doors of nodes: ``chunks`` of them come to ``node`` from, or leave it for, ``far`` arcs away.

    ``differ``: whether a node has other chunks for (or from) each other node, so that there are several entries of it.
    """

    node: Ints
    far: Ints
    chunks: Ints
    differ: bool


def doors(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the greatest d - 1 + ⌈n / r⌉ of all doors, on the way in and on the way out."""
    found = list[Bound]()
    for inwards in (False, True):
        passing = through(job, inwards=inwards)
        if passing is not None and len(passing.node):
            found.append(_worst(job, passing, inwards))
    return found or [steps(0, "0", "nobody lacks anything")]


def through(job: Problem, *, inwards: bool) -> Door | None:
    """Return the chunks that come to nodes, or leave them; None where no door says anything.

    Of networks that look alike from all nodes, one node is looked at; of those with very many nodes, too.
    """
    if job.collective.demand is not None:
        return _of_classes(job, inwards)
    kind, network, root = job.kind, job.network, np.array([job.collective.root])
    mine, theirs = (kind.ends, kind.starts) if inwards else (kind.starts, kind.ends)
    away = network.reversed() if inwards else network  # as seen from the door
    if mine == "root":
        at = root
    elif mine == "targets":
        at = job.ends
    else:
        at = _looked_at(job, every=theirs == "root")
    if kind.starts == "own" and kind.ends == "own" and kind.blocks == "node":
        return None
    if len(at) == 1 and theirs in ("all", "every"):
        return _some(at, np.array([away.eccentricity(int(at[0]))]), _whole(job, at, mine), differ=False)
    if theirs == "own":
        if len(at) == 1 and job.collective.lengths is None:
            near = distances.levels(away, int(at[0]))
            many = np.array([job.total * count for count in near], object)
            return _some(np.repeat(at, len(near)), np.arange(len(near)), many, differ=True)
        far, many = away.distance(at[:, None], network.ranks), job.exchanged(at, network.ranks, inwards=inwards)
        return _some(np.repeat(at, far.shape[1]), far.ravel(), many.ravel(), differ=True)
    far = away.distance(
        at[:, None], root if theirs == "root" else job.ends if theirs == "targets" else network.ranks
    ).max(axis=1)
    return _some(at, far, _whole(job, at, mine), differ=False)


def _whole(job: Problem, at: Ints, mine: str) -> Ints:
    """Return the chunks that come to, or leave, each of some nodes, for all others alike: its block, or all."""
    return job.sizes(at) if mine == "own" else np.array([job.chunks] * len(at), object)


def _some(node: Ints, far: Ints, chunks: Ints, *, differ: bool) -> Door:
    some = (far > 0) & (chunks > 0)
    return Door(node[some], far[some].astype(np.int64), chunks[some], differ)


def _looked_at(job: Problem, *, every: bool) -> Ints:
    """Return the ranks whose doors are looked at; ``every``: all, if there is only one distance for each of them."""
    network, lengths = job.network, job.collective.lengths
    if lengths is not None and not network.rank_count > distances.LOOKED_AT:
        return network.ranks
    if lengths is not None and job.kind.blocks == "node":
        return network.ranks[[int(job.sizes(network.ranks).argmax())]]
    if every and network.nodes <= distances.LISTED:
        return network.ranks
    return np.array(distances.looked_at(network), np.int64)


def _of_classes(job: Problem, inwards: bool) -> Door:
    node, away, chunks = list[int](), list[int](), list[int]()
    demand = job.collective.demand
    for size, parts, wants, far in classes(demand, job.network) if demand is not None else ():
        ends = wants if inwards else [part[0] for part in parts if len(part) == 1]
        farthest = far.max(axis=0) if inwards else far.max(axis=1)[[len(part) == 1 for part in parts]]
        node += ends  # of a sum, a chunk that has the farthest contribution
        away += farthest.tolist()
        chunks += [size] * len(ends)
    return _some(np.array(node, np.int64), np.array(away, np.int64), np.array(chunks, np.int64), differ=True)


def _worst(job: Problem, door: Door, inwards: bool) -> Bound:
    """Return the greatest bound of some doors."""
    late = job.model.latency
    if job.model.combining:
        farthest = late * int(door.far.max())
        word = "distance of the farthest pair" if door.differ or job.kind.targets else "eccentricity"
        return steps(farthest, far_words(word, late), "a chunk goes one arc a step")
    value, many, far, room = worst(door._replace(far=late * door.far), job.room_at(door.node, inwards=inwards))
    verb, later = "enter" if inwards else "leave", f" + {far - 1:,}" if far > 1 else ""
    one = job.model.ports == "one"
    if not door.differ:
        each = job.spelled if many == job.chunks else f"{many:,}"
        word = far_words("distance" if inwards else "eccentricity", late)
        doors = f"{room:,}" if job.model.room > 1 else f"{'in-' * inwards}degree"
        formula = f"{each} + {word} - 1" if room == 1 else f"⌈{each} / {doors}⌉ + {word} - 1"
        by = "one port" if one else "ports" if job.model.room else "arcs"
        said = f"all chunks {verb} by the {by} of a node"
        if job.kind.one_to_all and not (inwards or job.model.room):
            said = "Fragopoulou & Akl, Table 1"
        return steps(value, formula, said)
    away = f", {far // late:,} arcs away or more," if far > late else ""
    if job.collective.lengths is not None or many % job.total:
        return steps(value, f"⌈{many:,} / {room:,}⌉{later}", f"{many:,} chunks{away} {verb} one node")
    count = many // job.total
    of = "(N - 1)" if count == job.others else f"{count:,}"
    said = (
        f"what {count:,} nodes{away} send enters one node"
        if inwards
        else f"what is for {count:,} nodes{away} leaves one node"
    )
    return steps(value, f"⌈M x {of} / ports⌉{later}", said)


def worst(door: Door, room: Ints) -> tuple[int, int, int, int]:
    """Return the greatest d - 1 + ⌈n / r⌉, and its n, d and r."""
    order = np.lexsort((-door.far, door.node))
    node, far, chunks, room = (column[order] for column in (door.node, door.far, door.chunks, room))
    # of one node the farthest first: chunks as far as that or farther, added up by node
    total = np.cumsum(chunks)
    new = np.append(True, node[1:] != node[:-1])
    many = total - np.repeat((total - chunks)[new], np.diff(np.append(np.flatnonzero(new), len(node))))
    value = far - 1 - (-many // room)  # d - 1 + ⌈n / r⌉
    at = int(value.argmax())
    return int(value[at]), int(many[at]), int(far[at]), int(room[at])


# --- messages of different lengths, from or to one root ---


def one_way(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds of a machine without buffers, where a message goes one way in order, and of the clock of a gather.

    A gather has two clocks. In the ideal one every node knows when to begin, and it is a scatter backwards. In the other one,
    ``told``, the root alone knows: a node that is δ arcs from the root cannot begin before step δ.
    """
    # 1. The ideal clock, which a scatter has as well.
    network, root = job.along, job.collective.root
    nodes = network.ranks
    flits = np.where(nodes == root, 0, job.sizes(nodes))
    far = network.distance(root, nodes)
    found = _in_order(job, flits, far, "steps", "distance")
    if job.kind.direction != "to" or job.copies > 1:
        return found
    # 2. Words from the root: there and back.
    both = job.network.distance(root, nodes) + far
    some = _some(np.full(len(nodes), root), both, flits, differ=True)
    if job.model.combining:
        value = int(both[flits > 0].max(initial=0))
        found.append(Bound("told", value, "there and back of the farthest message", "a flit goes one arc a step"))
    elif len(some.node):
        part = _parts(job, network, nodes[(both > 0) & (flits > 0)])
        value = max(
            worst(some, job.room_at(some.node, inwards=True))[0], worst(some._replace(node=part[0]), part[1])[0]
        )
        said = "the root's ports, or those to a part behind it; a node waits for a word of the root"
        found.append(
            Bound("told", value, "⌈flits D or more arcs there and back / ports⌉ + D - 1, for the worst D", said)
        )
        found += _in_order(job, flits, both, "told", "there and back")
    # 3. Calls of the root: one child after the other.
    if _called(job, network):
        last = np.zeros(network.nodes, np.int64)
        last[nodes] = np.where(flits > 0, far if job.model.combining else flits + far - 1, 0)
        said = "each node calls its children one after the other, in the best order"
        value = in_turns(network, root, tuple(last.tolist()))
        found.append(Bound("told", value, "calls + length + distance - 1, of the worst message", said))
    return found if any(bound.of == "told" for bound in found) else [*found, Bound("told", 0, "0", "nothing is sent")]


def _in_order(job: Problem, flits: Ints, far: Ints, of: str, word: str) -> list[Bound]:
    if job.model.buffered or not flits.any():
        return []
    longest = int((flits + far - 1)[flits > 0].max())
    return [Bound(of, longest, f"length + {word} - 1, of the worst message", "a message goes one way, in order")]


def _parts(job: Problem, network: Network, nodes: Ints) -> tuple[Ints, Ints]:
    """Return in which part of the network without the root each of some nodes is, and how many arcs of the root lead there."""
    root = job.collective.root
    if job.model.ports == "one" or network.seen_alike or not network.both_ways:
        return np.zeros_like(nodes), job.room_at(np.full(len(nodes), root), inwards=True)
    arcs, part, near = arcs_of(network), np.full(network.nodes, -1), network.neighbors(root)
    for start in near:
        if part[start] < 0:
            part[away(arcs, [start], avoided=root) >= 0] = start
    return part[nodes], np.bincount(part[near], minlength=network.nodes)[part[nodes]]


_MOST_CALLED = 2**14  # nodes of a tree whose calls are put in order


def _called(job: Problem, network: Network) -> bool:
    """Whether a network is a tree of one-port nodes, each of which calls its children one after the other.

    A node's word comes from its parent; who needs longest comes first. Flits that meet are left out of account.
    """
    tree = network.both_ways and network.arcs == 2 * (network.nodes - 1)
    return job.model.ports == "one" and network.nodes <= _MOST_CALLED and tree


def flight(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound of an alltoall over one way or several, each of which begins and ends with an arc of its own.

    It holds where messages do not combine. It looks at all ranks, or at those that stand for all; at none where these are many.

    >>> from treecast.collectives import Collective
    >>> from treecast.models import model
    >>> from treecast.networks import network
    >>> tree = network("fat-tree:8")
    >>> flight(Problem(Collective.over(tree, "alltoall"), tree, 1, model("all-port")), [])
    [<Bound: steps at least 132 = ⌈1 + (Σ (distance - 1) + 2 Σ steps of first sends) / (M N (N - 1))⌉>]
    """
    network, views = job.network, job.network.views
    if job.model.combining or len(views) > distances.LOOKED_AT or network.rank_count == 1:
        return []
    each, far, early, ranks = job.total * job.others, 0, 0, np.array(views)
    rooms = [job.room_at(ranks, inwards=inwards).tolist() for inwards in (False, True)]
    for rank, out, into in zip(views, *rooms, strict=True):
        # how much all chunks go beyond one arc, and how early they can be sent at best
        far += job.total * (sum(d * count for d, count in enumerate(distances.levels(network, rank))) - job.others)
        early += _earliest(each, out) + _earliest(each, into)
    value = 1 - (-(far + early) // (each * len(views)))
    formula = "⌈1 + (Σ (distance - 1) + 2 Σ steps of first sends) / (M N (N - 1))⌉"
    return [steps(value, formula, "first sends are not all early, nor are last ones all late")]


def _earliest(chunks: int, ports: int) -> int:
    """Return the least sum of the steps in which so many chunks are sent over so many ports."""
    full, rest = divmod(chunks, ports)  # steps 0 … full - 1 are full
    return ports * (full * (full - 1) // 2) + rest * full
