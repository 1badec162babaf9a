"""Shares: personal data, dealt over the disjoint trees of a rotational network.

Every node needs x copies of its M chunks, over x different trees. The trees are rotations of one another, so the nodes of a
necklace take rotated trees, and each tree carries the same: a pair (node v, tree t) stands for its whole *orbit*, the pairs
(R^i(v), t + i), one for each tree. Each necklace takes the x orbits in which it lies shallowest. A necklace of s < k nodes
has only s orbits, and each of them serves a node k/s times. If x is no multiple of k/s, part of an orbit is used, and its
chunks are dealt over the k/s trees. Source of orbits: Fragopoulou & Akl, section 4 (unfolded necklaces); the dealing is
treecast's.
"""

from dataclasses import dataclass

import numpy as np

from treecast.networks import Rotational
from treecast.networks.core import Ints
from treecast.plans.times.pipelines import streams
from treecast.schedule import Payloads
from treecast.schedule.trees import TreeSet


@dataclass(frozen=True)
class Shares:
    """One entry per (destination, tree): ``length`` chunks, those of ``payload``; all int64 arrays of one length.

    ``depth``: of the destination in the tree. ``orbit``: the number of the whole orbit that the entry belongs to, -1 for
    one that is used in part. Orbits are numbered by descending depth.
    """

    destination: Ints
    tree: Ints
    depth: Ints
    length: Ints
    payload: Ints
    orbit: Ints
    payloads: Payloads


def shares(network: Rotational, trees: TreeSet, messages: int, copies: int) -> Shares:
    """Return the shares of all nodes but node 0, where the root of the trees is."""
    # 1. Necklaces of k nodes: the shallowest orbits.
    depths, k = trees.depths, network.ports
    first, size = network.necklaces()
    whole = first[size == k]
    best = np.argsort(depths[:, whole], axis=0, kind="stable")[:copies]
    node, tree = [np.tile(whole, copies)], [best.reshape(-1)]
    loads = np.zeros(k, np.int64)
    parts: list[tuple[int, int, list[tuple[int, int]]]] = []  # (destination, tree, its messages)
    # 2. Short necklaces: orbits serve a node several times, and the rest is dealt.
    for v, s in zip(first[size < k].tolist(), size[size < k].tolist(), strict=True):
        served = k // s
        classes = np.argsort(depths[:s, v], kind="stable")
        used, rest = divmod(copies, served)
        node.append(np.full(used, v))
        tree.append(classes[:used])
        if rest:
            carried = streams(messages, served, rest)
            parts += _deal_rest(network, v, s, int(classes[used]), carried=carried, loads=loads)

    node, tree = np.concatenate(node), np.concatenate(tree).astype(np.int64)
    # 3. All rotations of each, the deepest orbits first.
    order = np.argsort(-depths[tree, node], kind="stable")
    node, tree = node[order], tree[order]
    # R^i turns the number of a tree by i, too
    turned = [(network.rotate(node, i), (tree + i) % k) for i in range(k)]
    destination = np.concatenate([*(v for v, _ in turned), np.array([v for v, _, _ in parts], np.int64)])
    tree = np.concatenate([*(t for _, t in turned), np.array([t for _, t, _ in parts], np.int64)])
    full = len(node) * k
    numbers = np.arange(len(parts))
    length = np.concatenate([np.full(full, messages), [sum(b - a for a, b in ranges) for _, _, ranges in parts]])
    return Shares(
        destination,
        tree,
        depths[tree, destination].astype(np.int64),
        length.astype(np.int64),
        # payloads of parts are numbered behind those of nodes
        np.concatenate([destination[:full], network.nodes + numbers]),
        np.concatenate([np.tile(np.arange(len(node)), k), np.full(len(parts), -1)]),
        _table(network.nodes, messages, parts),
    )


def _deal_rest(
    network: Rotational, v: int, size: int, tree: int, *, carried: list[list[tuple[int, int]]], loads: Ints
) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Deal the remaining chunks of a necklace over part of the orbit of (v, tree), such that the trees' loads stay even."""
    k, served = network.ports, len(carried)
    length = np.array([sum(b - a for a, b in ranges) for ranges in carried])
    node, turn = np.divmod(np.arange(k), served)  # node R^i(v) has the trees tree + i + size · turn
    over = (tree + node + size * turn) % k

    def load(offset: int) -> tuple[int, ...]:
        return tuple(sorted((loads[over] + length[(turn + offset) % served]).tolist(), reverse=True))

    offset = min(range(served), key=load)
    loads[over] += length[(turn + offset) % served]
    turned = [int(network.rotate(v, i)) for i in range(size)]
    turns: list[int] = turn.tolist()
    parts = [carried[(each + offset) % served] for each in turns]
    return [(turned[v], t, part) for v, t, part in zip(node.tolist(), over.tolist(), parts, strict=True) if part]


def _table(nodes: int, messages: int, parts: list[tuple[int, int, list[tuple[int, int]]]]) -> Payloads:
    """Return the payloads: all messages of each node, then those of each part."""
    every = np.arange(nodes) * messages
    shares = Payloads.of([[(v * messages + a, v * messages + b) for a, b in p] for v, _, p in parts])
    return Payloads.concatenated([Payloads.of_ranges(every, every + messages), shares])


def hops(trees: TreeSet, destination: Ints, tree: Ints) -> tuple[Ints, Ints, Ints]:
    """Return every arc on the ways to the destinations as (entry, place, node that it leads to); place 0 is at the root."""
    entry, here = np.arange(len(destination)), destination
    parts = [(entry[:0], entry[:0], here[:0])]
    while len(entry):
        above = trees.parent[tree[entry], here].astype(np.int64)
        parts.append((entry, trees.depths[tree[entry], here].astype(np.int64) - 1, here))
        entry, here = entry[above != trees.root], above[above != trees.root]
    entry, place, node = (np.concatenate(column) for column in zip(*parts, strict=True))
    return entry, place, node
