"""Which network a number of ranks is taken for, in how many chunks data goes, and a rank's lanes: found once, then kept."""

from functools import lru_cache, reduce
from importlib import import_module
from math import factorial
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.execute.mpi.program import Lane, lanes_of
from treecast.models import model
from treecast.networks import Network, Rotational, network
from treecast.plans import builders, plan, program
from treecast.schedule import Payloads, Rows, Schedule

CHUNK = 1 << 22
"""The bytes of a chunk of large data: smaller ones were slower in shared memory (1 MiB: 1.6 times MPI_Bcast; 4 MiB: 1.1)."""
_SMALL = 1 << 16  # bytes that go as one chunk
_KEPT = 64


@lru_cache(_KEPT)
def network_of(ranks: int) -> Network:
    """Return the network that ``ranks`` ranks are taken for: n! a star, 2^d a hypercube, else a torus, or a ring."""
    if ranks & (ranks - 1) == 0:
        return network(f"hypercube:{ranks.bit_length() - 1}")
    for n in range(3, 13):
        if factorial(n) == ranks:
            return network(f"star:{n}")
    sides = _sides(ranks)
    return network("torus:" + "x".join(map(str, sides)) if len(sides) > 1 else f"ring:{ranks}")


def _sides(ranks: int) -> list[int]:
    """Return the sides of a torus of so many nodes: each at least 3, prime factors joined where they are 2."""
    factors: list[int] = []
    left, prime = ranks, 2
    while left > 1:
        if left % prime:
            prime += 1
        else:
            factors.append(prime)
            left //= prime
    twos, sides = factors.count(2), [factor for factor in factors if factor > 2]
    sides += [4] * (twos // 2)
    if twos % 2:
        sides[0] *= 2
    return sorted(sides)


def check_survive(kind: str, ranks: int, survive: int) -> None:
    """Raise PlanError when ``survive`` failures cannot be survived, with the sizes at which they can."""
    if survive < 0:
        raise PlanError(f"survive is a number of failures from 0, not {survive}")
    most = _most_survived(kind, ranks)
    if survive > most:
        sizes = (
            "at any size above survive + 1" if kind == "broadcast"
            else "at no size" if kind.endswith("v") or Collective(kind, 2, 1).sums
            else "with 2^d ranks up to d - 1, with n! ranks up to n - 2"
        )  # fmt: skip
        raise PlanError(f"{kind} over {ranks} ranks survives at most {most} failures, not {survive}; more: {sizes}")


def _most_survived(kind: str, ranks: int) -> int:
    if kind == "broadcast":
        return max(0, ranks - 2)
    if kind.endswith("v") or ranks < 2:
        return 0
    where = network_of(ranks)
    if kind == "alltoall" and not isinstance(where, Rotational):
        return 0
    return max((b.trees(where) for b in builders(kind, where) if "all-port" in b.models), default=1) - 1


def messages_of(kind: str, ranks: int, size: int, survive: int, chunk: int = CHUNK) -> int:
    """Return in how many chunks ``size`` bytes go: the data of a root, or the block of each source or pair."""
    if size <= _SMALL:
        return 1
    count = -(-size // chunk)
    if kind != "broadcast":
        return count
    trees = trees_of(ranks, survive)
    return -(-count // trees) * trees


def trees_of(ranks: int, survive: int) -> int:
    """Return over how many trees a broadcast goes."""
    where = network_of(ranks)
    if isinstance(where, Rotational) and survive < where.ports:
        return where.ports
    return max(survive + 1, min(ranks - 1, 4)) if ranks > 1 else 1


@lru_cache(_KEPT)
def lanes_for(
    kind: str, ranks: int, rank: int, root: int, messages: int, survive: int, tags: int
) -> tuple[Collective, tuple[Lane, ...], dict[int, int]]:
    """Return a collective among so many ranks, the lanes of one of them, and of sums how many contributions it is to add."""
    check_survive(kind, ranks, survive)
    mine = _program(kind, ranks, rank, root, messages, survive)
    return mine.collective, lanes_of(mine, rank, tags), contributions(mine, rank)


def contributions(program: Schedule, rank: int) -> dict[int, int]:
    """Return how many contributions a rank is to add to each sum."""
    sums, rows = program.collective.sums, program.rows
    missing = dict.fromkeys(range(sums), 0)
    adding: list[int] = rows.payload[rows.dst == rank].tolist() if sums else []
    for payload in adding:
        for first, stop in rows.payloads.ranges(payload):
            for chunk in range(first, min(stop, sums)):
                missing[chunk] += 1
    return missing


def _program(kind: str, ranks: int, rank: int, root: int, messages: int, survive: int) -> Schedule:
    where = network_of(ranks)
    if kind == "broadcast":
        if isinstance(where, Rotational) and survive < where.ports:
            return program(kind, where, rank, root=root, messages=messages, survive=survive, model="all-port")
        return relayed(ranks, root, messages, survive).program(rank)
    return _whole(kind, ranks, root, messages, survive).program(rank)


@lru_cache(8)
def _whole(kind: str, ranks: int, root: int, messages: int, survive: int) -> Schedule:
    return plan(kind, network_of(ranks), root=root, messages=messages, survive=survive, model="all-port")


@lru_cache(_KEPT)
def _complete(ranks: int) -> Network:
    networkx: Any = import_module("networkx")
    return network(networkx.complete_graph(ranks))


def relayed(ranks: int, root: int, messages: int, survive: int) -> Schedule:
    """Return a broadcast among ranks that are all joined: each tree goes to a relay of its own, and from it to all others.

    The ways of two trees to a rank share no other rank, so x of them survive x - 1 failures.
    """
    where, copies = _complete(ranks), survive + 1
    trees = trees_of(ranks, survive)
    ends = [messages * part // trees for part in range(trees + 1)]
    payloads = Payloads.of([
        _joined([(ends[p], ends[p + 1]) for p in sorted((t - c) % trees for c in range(copies)) if ends[p] < ends[p + 1]])
        for t in range(trees)
    ])  # fmt: skip
    rows: list[tuple[int, int, int, int]] = []
    for tree in range(trees):
        if not payloads.lengths[tree]:
            continue
        relay = (root + 1 + tree) % ranks
        rows.append((0, root, relay, tree))
        rows.extend((1, relay, other, tree) for other in range(ranks) if other not in (root, relay))
    step, src, dst, tree = np.array(rows, np.int64).reshape(-1, 4).T
    port = where.port_between(src, dst)
    table = Rows.of(
        payloads, step=step, steps=payloads.lengths[tree], src=src, dst=dst, port=port, tree=tree, payload=tree
    )
    return Schedule(where, Collective("broadcast", ranks, messages, root), model("all-port"), table, copies)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    def join(done: list[tuple[int, int]], one: tuple[int, int]) -> list[tuple[int, int]]:
        return [*done[:-1], (done[-1][0], one[1])] if done and done[-1][1] == one[0] else [*done, one]

    return reduce(join, ranges, list[tuple[int, int]]())
