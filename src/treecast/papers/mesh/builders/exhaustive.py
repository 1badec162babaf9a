"""Broadcast and multicast of the least total distance among few nodes, by a search of all broadcasts.

Communication model: one-port, wormhole: in a step a node sends one message to any node, or receives one, or idles; ⌈log2 N⌉
steps are the fewest, and TCD, the sum of all distances, should be small. The search (lower_bounds/kernels/broadcasts.py) knows no
routes. Of the broadcasts of the least TCD it takes one whose messages never meet, with either order of the axes and half-duplex
links. The model is that of Cang & Wu; recursion and search are treecast's.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

import numpy as np

from treecast.errors import PlanError
from treecast.lower_bounds import MOST_SEARCHED, search, taking_part
from treecast.networks import Grid, Mesh, Torus
from treecast.papers.mesh.builders.bisection import build_from_messages, is_contention_free
from treecast.plans.built import Built, Job
from treecast.plans.registry import WORMHOLE, builder

_TRIES = 1000  # of broadcasts of the least distance
Message = tuple[int, int, int]
"""Step, source and target."""


def too_many(job: Job[Mesh | Torus]) -> str:
    """Return why a job is too large to search, or an empty text: each node that takes part doubles the work."""
    count = len(taking_part(job.network, job.collective))
    return "" if count <= MOST_SEARCHED else f"searches broadcasts among at most {MOST_SEARCHED} nodes, not {count:,}"


@builder(
    "exhaustive",
    "broadcast",
    "multicast",
    on=Grid,
    under=WORMHOLE,
    fits=too_many,
    summary="search of all broadcasts among root and targets: the least total distance of all",
)
def broadcast(job: Job[Mesh | Torus]) -> Built:
    """One-port wormhole: a broadcast, or a multicast by root and targets only, of the least TCD in ⌈log2 N⌉ steps.

    At most 16 nodes take part. Raises PlanError when there are more, or when in all that were tried some messages meet.
    """
    grid, collective = job.network, job.collective
    nodes = taking_part(grid, collective)
    numbers = np.array(nodes)
    for messages in _least(grid, nodes, collective.root):
        step, src, dst = np.array(messages, np.int64).reshape(-1, 3).T
        src, dst = numbers[src], numbers[dst]
        if is_contention_free(grid, step, src, dst):
            return build_from_messages(grid, collective, step, src, dst, nodes=len(nodes))
    raise PlanError(f"of {_TRIES:,} broadcasts of the least distance on {grid.spec} each has contention")


def _least(grid: Mesh | Torus, nodes: Sequence[int], root: int) -> Iterator[list[Message]]:
    """Yield broadcasts of the least distance, in places of ``nodes``: wherever several choices cost the same, one at random."""
    inside, entered = search(grid, nodes)
    sets, everything = np.arange(1 << len(nodes)), (1 << len(nodes)) - 1

    @cache
    def choices(t: int, whole: int, source: int) -> list[tuple[int, int, int]]:
        """The part that another node takes over, that node, and the rest; no part where the source idles."""
        least = inside[t, whole, source]
        found = [(0, source, whole)] if inside[t - 1, whole, source] == least else []
        parts = sets[(sets & ~whole == 0) & (sets >> source & 1 == 0) & (sets > 0)]
        total = entered[t - 1, parts, source].astype(int) + inside[t - 1, whole ^ parts, source]
        for part in parts[total == least].tolist():
            heads = [b for b in range(len(nodes)) if part >> b & 1]
            cost = [int(distance[source, b]) + int(inside[t - 1, part, b]) for b in heads]
            found += [(part, b, whole ^ part) for b, c in zip(heads, cost, strict=True) if c == min(cost)]
        return found

    numbers = np.array(nodes)
    distance = grid.distance(numbers[:, None], numbers)
    steps = len(inside) - 1
    # Seeds are counted, so that a plan is the same in every run.
    for attempt in range(_TRIES):
        dice, messages = Random(attempt), list[Message]()
        active = [(steps, everything, nodes.index(root))]
        while active:
            t, whole, source = active.pop()
            if t:
                part, head, rest = dice.choice(choices(t, whole, source))
                active.append((t - 1, rest, source))
                if part:
                    messages.append((steps - t, source, head))
                    active.append((t - 1, part, head))
        yield messages
