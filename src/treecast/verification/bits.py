"""What the bits of a plan's sums depend on: the order of additions, chunk by chunk, and whether all ranks have the same.

A sum of floats is a tree: its leaves are ranks, and its nodes additions, whose two parts may be exchanged (a + b has the bits of
b + a). Equal trees have one number here. So two sums have equal bits for all contributions where they have one number, and a plan
whose chunks have several numbers gives bits that change with the size of the message, and with the place in it.
"""

from typing import NamedTuple

import numpy as np

from treecast.description import Description, count_of, describe
from treecast.ragged import Ints, turns
from treecast.schedule import Schedule

_MOST_SENDS = 1 << 17


class Bits(NamedTuple):
    """What the bits of sums depend on.

    ``chunks``: how many are summed. ``unlike``: the most different sums of one chunk at the ranks that have it; 1 where all have
    the same bits. ``orders``: the most trees over the chunks of a rank; 1 where bits depend neither on the size of the message
    nor on the place in it. ``by_rank``: the chunks that are added in the order of ranks. ``depth``: the most additions that a
    contribution passes: the error is at most so many units, half the last digit of 1, of the sum of all |x|.
    """

    chunks: int
    unlike: int
    orders: int
    by_rank: int
    depth: int

    @property
    def same(self) -> bool:
        """Whether the bits depend on nothing but the contributions by rank, and all ranks have the same."""
        return self.unlike == self.orders == 1

    def __str__(self) -> str:
        alike = "alike at all ranks" if self.unlike == 1 else f"UNLIKE at ranks: {self.unlike} sums of one chunk"
        how = f"{self.orders:,} orders by chunk: they change with size and offset"
        if self.orders == 1:
            how = f"one order{', that of ranks,' if self.by_rank == self.chunks else ''} for all sizes and offsets"
        return f"{alike}; {how} (error at most {count_of(self.depth, 'unit')} of the sum of |x|)"


@describe.register
def _(bits: Bits) -> Description:
    return Description({"bits": {**bits._asdict(), "same": bits.same}}, {"bits": str(bits)})


def bits_of(leaf: Ints, parts: tuple[Ints, Ints], value: Ints) -> Bits:
    """Return what the bits of sums depend on.

    ``leaf``: the rank of each value that is none. ``parts``: of the sums, numbered behind these, the two values that are added.
    ``value``, int64 (ranks, chunks): which each rank has in the end, -1 for none.
    """
    tree, depth, by_rank = number_trees(leaf, *parts)
    value = value[:, (value >= 0).any(axis=0)]  # blocks of relays have no sum
    there = value >= 0
    at = np.where(there, tree[value], -1)
    unlike = max((len(np.unique(column[column >= 0])) for column in at.T), default=1)
    last = at.max(axis=0)
    orders = max(len(np.unique(row)) for row in (at if there.all() else last[None]))
    return Bits(value.shape[1], unlike, orders, int((last == by_rank).sum()), int(depth[value[there]].max(initial=0)))


def number_trees(leaf: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints, int]:
    """Number trees of additions, equal ones alike; return the number of each value, its depth, and that of the order of ranks.

    The last is -1 where no value has it, and 0, rank 0 itself, for one rank.
    """
    ranks, total = int(leaf.max(initial=-1)) + 1, len(leaf) + len(left)
    tree, depth = np.append(leaf, np.full(len(left), -1)), np.zeros(total, np.int64)
    # Level by level: sums of the same two trees have one number, and are ready at one level.
    todo, count, in_order, level = np.flatnonzero((left >= 0) & (right >= 0)), ranks, 0, 0
    while len(todo):
        level += 1
        pair = np.sort(tree[[left[todo], right[todo]]], axis=0)
        ready = pair[0] >= 0  # equal trees are equally deep, so they are ready at once
        if not ready.any():
            break
        keys, which = np.unique(pair[0, ready] * total + pair[1, ready], return_inverse=True)
        tree[len(leaf) + todo[ready]], depth[len(leaf) + todo[ready]] = count + which, level
        # the tree ((0 + 1) + 2) + …, as far as this level
        if level < ranks:
            wanted = min(in_order, level) * total + max(in_order, level) if in_order >= 0 else -1
            place = int(np.searchsorted(keys, wanted))
            in_order = count + place if place < len(keys) and keys[place] == wanted else -1
        count, todo = count + len(keys), todo[~ready]
    return tree, depth, in_order if level >= ranks - 1 else -1


def bits_of_plan(schedule: Schedule) -> Bits | None:
    """Return what the bits of a schedule's sums depend on, as the engine adds: by steps, and in one by the source and the tree.

    None where nothing is added, or too much is sent to look at.
    """
    network, total = schedule.network, schedule.collective.sums
    if not total or schedule.collective.demand is not None or schedule.transmissions > _MOST_SENDS:
        return None
    ranks = len(network.ranks)
    now = np.full((network.nodes, total), -1)
    now[network.ranks] = np.arange(ranks * total).reshape(ranks, total)
    leaf, added = np.repeat(np.arange(ranks), total), list[tuple[Ints, Ints]]()
    count = ranks * total
    size = np.ones(count + schedule.transmissions, np.int64)  # contributions in each value
    for sends in schedule.expand():
        # as the engine adds what comes in one step
        turn = np.lexsort([sends.tree, sends.src, sends.chunk, sends.dst])[: len(sends.src)]
        turn = turn[sends.chunk[turn] < total]
        src, dst, chunk = sends.src[turn], sends.dst[turn], sends.chunk[turn]
        come, place = now[src, chunk], turns(dst.astype(np.int64) * total + chunk)
        for which in (np.flatnonzero(place == k) for k in range(int(place.max(initial=-1)) + 1)):
            node, sums, right = dst[which], chunk[which], come[which]
            left = now[node, sums]
            bare = left < 0  # a relay that adds what it hears
            now[node[bare], sums[bare]] = right[bare]
            left, right, node, sums = left[~bare], right[~bare], node[~bare], sums[~bare]
            now[node, sums] = count + np.arange(len(left))
            size[count : count + len(left)] = size[left] + size[right]
            added.append((left, right))
            count += len(left)
    left, right = (np.concatenate(column) for column in zip(*added, strict=True)) if added else (leaf[:0], leaf[:0])
    done = np.where((now >= 0) & (size[now] == ranks), now, -1)
    return bits_of(leaf, (left, right), done)
