"""Runs of chunks that go along ways of their own, as rows: what schedules of personal data off Cayley networks are made of.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
A run goes over each arc of its way as a stream, and is under way over the next arc one step later.
"""

from typing import NamedTuple

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.plans.built import Built
from treecast.ragged import places, starts
from treecast.schedule import Claims, Payloads, Rows


class Runs(NamedTuple):
    """Runs of chunks and their ways: run i carries the chunks ``chunk[i] … chunk[i]+size[i]-1``.

    It goes over ``arc[first[i]] … arc[first[i+1]-1]``, numbered as in ``arcs_of``. ``tree`` numbers the ways of a chunk where it
    has several, else it is -1. All int64.
    """

    first: Ints
    arc: Ints
    chunk: Ints
    size: Ints
    tree: Ints

    @property
    def run(self) -> Ints:
        """The run of each hop."""
        return np.repeat(np.arange(len(self.chunk)), np.diff(self.first))

    @property
    def left(self) -> Ints:
        """How many hops of its way come with and behind each hop."""
        length = np.diff(self.first)
        return np.repeat(length, length) - places(length)


def concatenated(parts: list[Runs]) -> Runs:
    """Return the runs of several, one behind the other."""
    length = np.concatenate([np.diff(part.first) for part in parts])
    columns = [np.concatenate([part[i] for part in parts]) for i in range(1, len(Runs._fields))]
    return Runs(starts(length), *columns)


def listed(network: Network, runs: Runs, keys: list[Ints]) -> tuple[Ints, int]:
    """Return when each hop begins, and the number of steps: of hops that are ready, an arc takes the first by ``keys``.

    The keys of hops are compared from first to last; of equal ones the hop of lower number comes first.
    """
    from treecast.kernels.listing import list_runs

    ranked = np.lexsort(keys[::-1])
    rank, began = np.empty_like(ranked), np.empty(len(ranked), np.int64)
    rank[ranked] = np.arange(len(ranked))
    room = starts(np.bincount(runs.arc, minlength=len(arcs_of(network).head)))
    return began, int(list_runs(runs.first, runs.arc, runs.size[runs.run], rank, ranked, room, began))


def built_of(network: Network, runs: Runs, began: Ints, steps: int) -> Built:
    """Return the schedule of runs whose hops begin in these steps."""
    arcs, run = arcs_of(network), runs.run
    table = Payloads.of_ranges(runs.chunk, runs.chunk + runs.size)
    rows = Rows.of(
        table,
        step=began,
        steps=runs.size[run],
        src=arcs.tail[runs.arc],
        dst=arcs.head[runs.arc],
        port=arcs.port[runs.arc],
        tree=runs.tree[run],
        payload=run,
    )
    return Built(rows, Claims(steps, int(runs.size[run].sum())))


def orders(network: Network, runs: Runs, seed: int) -> list[list[Ints]]:
    """Return the keys of orders in which hops may go first: those farthest from the end, or with the most waiting ahead.

    Of those equally far from the end the first are, in one order, those whose targets are fewest numbers behind their sources: so
    all nodes send to different ones at a time.
    """
    load = np.bincount(runs.arc, minlength=len(arcs_of(network).head))
    chance = np.random.default_rng(seed).permutation(len(runs.arc)) if seed else np.zeros_like(runs.arc)
    left = runs.left
    ahead = load[runs.arc] + left
    for hop in range(1, int(left.max(initial=1))):  # the most that any arc ahead has to carry
        later = np.flatnonzero(left > hop)
        ahead[later] = np.maximum(ahead[later], load[runs.arc[later + hop]] + left[later] - hop)
    arcs, run, number = arcs_of(network), runs.run, np.zeros(network.nodes, np.int64)
    number[network.ranks] = np.arange(network.rank_count)
    source, target = arcs.tail[runs.arc[runs.first[run]]], arcs.head[runs.arc[runs.first[run + 1] - 1]]
    behind = (number[target] - number[source]) % network.rank_count
    return [[-left, chance], [-ahead, -left, chance], *([] if seed else [[-left, behind]])]
