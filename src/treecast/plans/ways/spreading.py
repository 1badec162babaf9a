"""Ways by exchange, step by step: whatever is free carries the rarest chunk that the other end lacks.

Communication model: any in which nodes keep the chunks that they relay. Where messages combine, an arc carries all that its head
lacks. Disjoint trees use the arcs of a root as they fill, and an exchange uses all of them from the first step on. The arcs are
asked by the rarity of the chunk that they would carry, by how much their heads lack, or by how little they can choose among: so a
matching of arcs and chunks leaves out few (Karp & Sipser 1981). Ties go by chance.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Holdings
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.times.timetable import Timed
from treecast.plans.ways.trees.packed import number_of_seed
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.schedule import Payloads
from treecast.takes import Takes

RARITY, NEED, CHOICE = range(3)
"""Who is asked first: the arc with the rarest chunk, that whose head lacks most, or that which can carry the fewest chunks."""


class Exchange(NamedTuple):
    """The sends of an exchange, in order of steps: the step, arc and chunk of each, int64."""

    step: Ints
    arc: Ints
    chunk: Ints

    def beside(self, more: "Exchange") -> "Exchange":
        """Return the sends of both."""
        # of equal steps, the old ones first
        at = np.searchsorted(self.step, more.step, side="right")
        return Exchange(*(np.insert(old, at, new) for old, new in zip(self, more, strict=True)))

    def take(self, some: NDArray[np.bool_]) -> "Exchange":
        """Return some of the sends."""
        return Exchange(*(column[some] for column in self))

    def needed(self, network: Network, wants: NDArray[np.bool_], *, back: bool = False) -> NDArray[np.bool_]:
        """Return which sends bring a node a chunk that it wants or sends on; ``wants``: bool (N, chunks)."""
        ends = [column[self.arc].tolist() for column in (arcs_of(network).tail, arcs_of(network).head)]
        tail, head = reversed(ends) if back else ends
        used, kept, chunk = wants.tolist(), wants[head, self.chunk], self.chunk.tolist()
        # from the last send back: it is known then whether the head sends the chunk on
        for i in range(0 if kept.all() else len(kept))[::-1]:
            kept[i] = used[head[i]][chunk[i]]
            used[tail[i]][chunk[i]] |= kept[i]
        return kept


NOTHING = Exchange(*np.zeros((3, 0), np.int64))
"""No sends."""


def exchanged(
    network: Network,
    wanted: Takes,
    has: NDArray[np.bool_],
    wants: NDArray[np.bool_],
    *,
    seed: int,
    order: int,
    fixed: Exchange = NOTHING,
    together: bool = False,
    alone: bool = False,
    shut: NDArray[np.bool_] | None = None,
    back: bool = False,
) -> Exchange:
    """Return the sends of an exchange in which all get the chunks that they want, if anybody has them.

    ``wanted``: the table of the machine. ``has``, ``wants``: who has which chunks, and who is to have which, bool (N, chunks).
    ``order``: by what arcs are asked, ``RARITY``, ``NEED`` or ``CHOICE``. ``fixed``: sends that take place anyway; chunk -1: one
    of no interest. ``together``: whether messages combine. ``alone``: sends are in the way of no others but the fixed ones, so
    each node gets each chunk as early as it can. ``shut``: who must not get which, bool (N, chunks). ``back``: from the last
    step to the first, over arcs turned round, so it brings sums together. Raises PlanError when somebody cannot be reached.
    """
    from treecast.plans.kernels.rarest_first import spread

    # 1. The arcs, turned round where data goes back, and what a send over each takes.
    nodes, chunks = has.shape
    sent = np.empty((nodes * chunks, 3), np.int32)
    arcs, number = arcs_of(network).turned if back else (arcs_of(network), np.arange(len(wanted.resource)))
    servers, spare = wanted.servers
    gap, delay = (np.ascontiguousarray(column[number]) for column in (wanted.gap, wanted.delay))
    taken = (servers[number], wanted.key[number], spare, gap, delay)
    # 2. Who must not have what; a wish overrules it.
    closed = np.zeros_like(has) if shut is None else shut & ~wants
    wants, closed = np.ascontiguousarray(wants), np.ascontiguousarray(closed)
    columns = (arcs[:5], taken, has.copy(), wants, closed, np.stack(fixed, axis=1))
    # only where sends last longer than a step, or unlike ones, are there steps in which nothing can happen
    unlike, longest = bool(gap.max(initial=1) > 1 or np.ptp(delay) if len(delay) else False), int(delay.max(initial=1))
    # no exchange takes so long unless somebody cannot be reached
    most = 4 * longest * (chunks + nodes) + int(fixed.step.max(initial=0))
    # 3. The exchange, and its sends as columns; those of data that goes back are counted from the end.
    count, steps = spread(*columns, alone, together, order, unlike, number_of_seed(seed), most, sent)
    if steps < 0:
        raise PlanError(f"an exchange of {chunks:,} chunks on {network.spec} did not end: some node is not reached")
    step, arc, chunk = sent[:count].astype(np.int64).T
    return Exchange(steps - 1 - step if back else step, number[arc], chunk)


def table(holdings: Holdings, nodes: int, chunks: int) -> NDArray[np.bool_]:
    """Return who has which chunks: bool (N, chunks)."""
    found = np.zeros((nodes, chunks), np.bool_)
    for node, first, stop in holdings:
        found[node, first:stop] = True
    return found


def timed(network: Network, machine: Model, sent: Exchange, chunks: int) -> Timed:
    """Return the ways of the sends of an exchange of so many chunks, and their times."""
    (step, arc, chunk), arcs = sent, arcs_of(network)
    at, none = chunk * network.nodes, np.full_like(arc, -1)
    pairs = pairs_of(at + arcs.head[arc], at + arcs.tail[arc])
    payloads = Payloads.of_ranges(np.arange(chunks), np.arange(1, chunks + 1))
    ways = Ways(network, arc, chunk, payloads, none, np.zeros_like(arc), *pairs)
    delay = machine.ticks(arcs.tail[arc], arcs.head[arc])[1]
    return Timed(ways, machine, step, int((step + delay).max(initial=0)))
