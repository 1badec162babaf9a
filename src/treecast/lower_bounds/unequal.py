"""Lower bounds of an allgather, and of an alltoall, of blocks of different lengths; and of copies of a scatter or gather."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError
from treecast.lower_bounds import cuts, distances, faults
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Job, steps, transmissions
from treecast.lower_bounds.one_port import Beside, least_doubling, serving
from treecast.lower_bounds.store_and_forward import bounds_of, broadcast, past_ports, work
from treecast.networks import Network
from treecast.networks.core import Ints


def _collective(job: Job) -> Collective:
    """Return the collective; ``job`` is of one message: the lengths say how many flits a block has."""
    if job.collective is None or job.collective.lengths is None:
        raise PlanError("these are bounds of blocks of different lengths")
    return job.collective


@bounds_of("allgatherv")
def _allgather(job: Job, root: int) -> list[Bound]:
    """Each rank hears the flits of all others over its ports; the block of each spreads as in a broadcast."""
    copies, others, lengths = job.copies, job.others, Lengths.of(_collective(job).sizes())
    if job.faults:
        heard = faults.heard(replace(job, messages=lengths.total))
        sends = replace(heard, formula=heard.formula.replace("M", "Σ length"))
    else:
        sends = transmissions(
            copies * lengths.total * others, _times(copies, "Σ length x (N - 1)"), "each rank receives all"
        )
    sources = _looked_at(job, lengths.flits)
    spread = [_spread(job, source, int(lengths.flits[source])) for source in sources]
    found = [sends, *([best(spread, "steps")] if spread else [steps(0, "0", "all blocks are empty")])]
    if job.model.combining or not spread:
        return found
    heard = _busiest(job.network, -lengths.flits)
    found += [_heard(job.reversed, heard, lambda u: lengths.flits), work(job, sends)]

    def served(job: Job, at: Beside) -> tuple[Ints, Ints]:
        ranks, node = at.heard
        entered = lengths.total - lengths.flits[ranks]
        return copies * np.bincount(node, entered, job.network.nodes).astype(np.int64), lengths.total - lengths.flits

    found += serving(job, served)
    if job.model.ports == "one":
        found += _doubling(job, lengths.flits)
    return found if job.quick else [*found, *cuts.into_cuts(job, lengths.flits)]


def _times(copies: int, formula: str) -> str:
    return formula if copies == 1 else f"x {formula}"


def _looked_at(job: Job, flits: Ints) -> list[int]:
    """Return the nodes whose blocks are followed: all; where all nodes look alike, or are many, that of the longest."""
    if not flits.any():
        return []
    if job.network.seen_alike or job.network.rank_count > distances.LOOKED_AT:
        return [int(flits.argmax())]
    return np.flatnonzero(flits).tolist()


def _spread(job: Job, source: int, flits: int) -> Bound:
    """Return the bound of the broadcast of one block."""
    found = best(broadcast(replace(job, messages=flits), source), "steps")
    return replace(found, formula=f"{found.formula}, M = {flits:,}" if "M" in found.formula else found.formula)


def _busiest(network: Network, flits: Ints) -> list[int]:
    """Return the ranks that are looked at: all, or where they are many that of the most flits, int64 (N,)."""
    ranks = network.ranks
    return (ranks if len(ranks) <= distances.LOOKED_AT else ranks[[flits[ranks].argmax()]]).tolist()


def _heard(job: Job, nodes: Iterable[int], flits: Callable[[int], Ints], verb: str = "enter") -> Bound:
    """Return the greatest ⌈flits for distance D or more / ports⌉ + D - 1 of some nodes and any D; ``job`` leads away from them.

    ``flits(u)``: int64 (N,), those that node u has for each.
    """
    network, found = job.network, list[tuple[int, int, int]]()
    for u in nodes:
        far = np.maximum(network.distance(u, np.arange(network.nodes)), 0)
        found.append(past_ports(job, u, np.bincount(far, flits(u)).astype(np.int64)[1:].tolist()))
    value, many, at = max(found, key=lambda each: each[0])
    formula = f"⌈{_times(job.copies, f'{many:,}')} / ports⌉" + (f" + {at - 1}" if at > 1 else "")
    away = f", {at} arcs away or more," if at > 1 else ""
    return steps(value, formula, f"{many:,} flits{away} {verb} one node")


@bounds_of("alltoallv")
def _alltoall(job: Job, root: int) -> list[Bound]:
    """Each flit goes as far as its node is; all that leaves a node, or reaches it, passes its ports.

    Of x disjoint paths each leaves over an arc of its own, and is as long as its first arc makes it.
    """
    demands, network, nodes = _collective(job).demands(), job.network, np.arange(job.network.nodes)
    lengths = np.zeros_like(demands)
    for u in np.flatnonzero(demands.any(axis=1)).tolist():
        lengths[u] = distances.least_by_arcs(network, u, job.copies, nodes)
    each = "distance" if job.copies == 1 else f"lengths of {job.copies} paths"
    sends = transmissions(int((demands * lengths).sum()), f"Σ flits x {each}", "every flit goes to its own node")
    if job.model.combining:
        far = int(np.where(demands > 0, network.distance(nodes[:, None], nodes), 0).max())
        most = max(int((demands > 0).sum(axis=axis).max()) for axis in (0, 1))
        return [sends, *_together(job, far, most)]
    enter = _heard(job.reversed, _busiest(network, demands.sum(axis=0)), lambda u: demands[:, u])
    leave = _heard(job, _busiest(network, demands.sum(axis=1)), lambda u: demands[u], "leave")
    return [sends, enter, leave, work(job, sends)]


@bounds_of("scatterv")
def _scatter(job: Job, root: int) -> list[Bound]:
    """An alltoall in which the root alone has flits; ``lengths`` has more of one copy."""
    flits, network, nodes = _collective(job).sizes().copy(), job.network, np.arange(job.network.nodes)
    flits[root] = 0
    ways = distances.least_by_arcs(network, root, job.copies, nodes)
    formula = f"Σ length x lengths of {job.copies} paths"
    sends = transmissions(int((flits * ways).sum()), formula, "every flit to its node")
    if job.model.combining:
        far = int(network.distance(root, nodes[flits > 0]).max(initial=0))
        return [sends, *_together(job, far, int(np.count_nonzero(flits)))]
    return [sends, _heard(job, [root], lambda u: flits, "pass"), work(job, sends)]


def _together(job: Job, far: int, most: int) -> list[Bound]:
    """Return the bounds of steps where messages combine: one goes ``far`` arcs, one node has some for, or from, ``most``."""
    found = steps(far, "distance of the farthest pair", "a flit goes one arc a step")
    doubles = steps(most.bit_length(), f"⌈log2 {most + 1:,}⌉", f"one node exchanges flits with {most:,} others")
    return [found, *[doubles] * (job.model.ports == "one")]


def _doubling(job: Job, flits: Ints) -> list[Bound]:
    """Return the bounds of data that H ranks tell all, where each rank has one port.

    After t steps at most H 2^t ranks hold anything. So where some hold nothing, one of them gets its first flit in step
    ⌈log2(N/H)⌉ - 1 or later, and from then on one of all flits a step. With half duplex step t has at most H 2^t sends.
    """
    ranks, total = job.network.rank_count, job.copies * int(flits.sum())
    holders, found = int(np.count_nonzero(flits)), list[Bound]()
    if holders < ranks:
        late = (-(-ranks // holders) - 1).bit_length()
        formula = _times(job.copies, f"Σ length - 1 + ⌈log2(N / {holders:,})⌉")
        found.append(steps(total - 1 + late, formula, "nodes that hold anything at most double"))
    if job.model.half_port:
        value = least_doubling(total * job.others, holders, job.room)
        sends = _times(job.copies, "Σ length x (N - 1)")
        formula = f"least T with Σ min({holders:,} x 2^t, {job.room:,}) ≥ {sends}, t < T"
        found.append(steps(value, formula, "each send keeps two nodes busy"))
    return found
