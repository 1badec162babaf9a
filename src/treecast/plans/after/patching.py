"""A schedule patched after faults: rows that still carry stay in their steps, and free arcs bring the chunks lost with the
others.

Communication model: that of the schedule, if nodes may keep the chunks that they relay, and messages have no routes. A row still
carries a chunk if its arc is there and its source holds the chunk by then, without any help. Chunks that a node would never get
come by an exchange beside the sends that are kept (plans/ways/spreading.py): step by step, free arcs carry the
rarest of them. Personal data, where each chunk is for one node, goes chunk by chunk on the way that arrives first, from any node
that holds the chunk. So nothing that is kept ever waits for new sends. A row that still carries stays, even if it leads to
nobody who wants its chunk.

A reduction backwards is data that spreads, on the network with its arcs turned round: so it is patched backwards, and turned
again. New rows go last there, and first in the reduction. If it needs steps of its own, all that is kept would begin later, and
every node would have to be told: then there is no patch. Relays have nothing to add, so one stays only if it passes something
on. An allreduce of a reduction and a spreading is patched in both halves, if one begins when the other is over.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective, find_backwards
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, new_arcs
from treecast.networks.core import Ints
from treecast.plans.built import Built, joined, rows_over
from treecast.plans.carried import renamed
from treecast.plans.reversal import one_after_the_other, reverse_in_time
from treecast.plans.search import affordable, best_of
from treecast.plans.ways.spreading import NEED, NOTHING, RARITY, Exchange, exchanged, table, timed
from treecast.plans.ways.trees.repaired import new_nodes
from treecast.schedule import NO_RECIPE, Claims, Payloads, Rows, Schedule
from treecast.takes import takes

_MOST_SENDS = 1 << 18  # which are gone through one by one: about a second
_LOOK = 2**7  # units of work for one lost chunk at one arc in one step
_TRIES = tuple(product(range(6), (NEED, RARITY)))  # seeds of exchanges, and by what arcs are asked


class Patch(NamedTuple):
    """A patched schedule, and the nodes of the rest that hear something new, and that send it: int64, ascending."""

    schedule: Schedule
    hearing: Ints
    sending: Ints


class _Kept(NamedTuple):
    """The sends that still carry, the rows that they are of, and who has which chunk in the end: bool (N, chunks)."""

    sends: Exchange
    row: Ints
    held: NDArray[np.bool_]


def patched(schedule: Schedule, left: Network, *, tidy: bool = False) -> Patch | None:
    """Return a schedule of one copy without sums patched for the rest of its network, where nodes have their labels from
    before.

    ``tidy``: rows do not stay that lead to nobody who wants their chunks. None where schedules are not patched: of other
    collectives and models, of several copies, and of too many sends.

    >>> from treecast.plans import plan
    >>> old = plan("broadcast", "star:4", messages=12, builder="disjoint-trees")
    >>> found = patched(old, old.network.without(nodes=["2134"]))
    >>> old.steps, found.schedule.steps, len(found.hearing)
    (9, 10, 22)
    """
    collective = _can_be_patched(schedule) and what_is_left(schedule.collective, schedule.network, left)
    if not collective:
        return None
    # 1. Nodes, chunks and arcs under their new numbers, and the sends that still carry.
    node = new_nodes(schedule.network, left)
    chunk, arc = new_chunks(schedule.collective, collective, node), new_arcs(schedule.network, left, node)
    plain, arcs = schedule.plain(), arcs_of(left)
    over = arc[arcs_of(schedule.network).number(plain.rows.src, plain.rows.port)]
    kept = _kept(plain, collective, left, over, chunk)
    try:
        new = _brought(schedule, collective, left, kept)
    except PlanError:
        return None
    # 2. Without sends to nobody who wants them.
    if tidy:
        wants = table(collective.wanted(), left.nodes, collective.chunks)
        wants[arcs.tail[new.arc], new.chunk] = True
        some = kept.sends.needed(left, wants)
        kept = kept._replace(sends=kept.sends.take(some), row=kept.row[some])
    # 3. Rows that are whole stay rows; of what is left of others, and of what is new, rows are made.
    count = np.bincount(kept.row, minlength=len(plain.rows))
    whole = (count == plain.rows.chunks_sent) & (count > 0)
    sends = kept.sends.take(~whole[kept.row]).beside(new)
    again = timed(left, schedule.model, sends, collective.chunks).built().rows
    made = joined([_renumbered(plain.rows.take(whole), left, over[whole], chunk), again])
    patch = Schedule(left, collective, schedule.model, made, recipe=NO_RECIPE)
    return Patch(patch, *(np.unique(ends[new.arc].astype(np.int64)) for ends in (arcs.head, arcs.tail)))


def _can_be_patched(schedule: Schedule) -> bool:
    traits, machine = schedule.collective.traits, schedule.model
    spreads = traits.ends in ("all", "targets") and not traits.adds
    whole = spreads or (traits.personal and not traits.one_way)
    timed = machine.buffered and not machine.routing and not machine.arcs
    return whole and timed and schedule.copies == 1 and schedule.transmissions <= _MOST_SENDS


def what_is_left(collective: Collective, before: Network, left: Network) -> Collective | None:
    """Return the same collective on the rest; None where nobody is left who wants something."""
    node = new_nodes(before, left)
    targets = tuple(int(node[v]) for v in collective.targets if node[v] >= 0)
    if collective.targets and not targets:
        return None
    root = 0 if collective.all_source else int(node[collective.root])
    lengths = collective.lengths_among(np.flatnonzero(node >= 0))
    return Collective.over(left, collective.kind, collective.messages, root=root, targets=targets, lengths=lengths)


def _kept(plain: Schedule, collective: Collective, left: Network, over: Ints, chunk: Ints) -> _Kept:
    """Return the sends that still carry when none is added.

    ``over``, ``chunk``: the arc of each row, and the number of each chunk, in the rest, or -1.
    """
    held, arcs, columns = table(collective.given(), left.nodes, collective.chunks), arcs_of(left), list[Ints]()
    arrived = 0
    for sends in plain.expand():
        # what has arrived by then is there before this step's sends are judged
        while arrived < len(columns) and columns[arrived][0, 0] + plain.model.latency <= sends.step:
            held[arcs.head[columns[arrived][1]], columns[arrived][2]] = True
            arrived += 1
        some = np.stack([np.full_like(sends.row, sends.step), over[sends.row], chunk[sends.chunk], sends.row])
        some = some[:, (some >= 0).all(axis=0) & plain.speaking[sends.row]]
        some = some[:, held[arcs.tail[some[1]], some[2]]]
        columns += [some] if some.size else []
    *carried, row = np.concatenate([np.zeros((4, 0), np.int64), *columns], axis=1)
    held[arcs.head[carried[1]], carried[2]] = True
    return _Kept(Exchange(*carried), row, held)


def _brought(schedule: Schedule, collective: Collective, left: Network, kept: _Kept) -> Exchange:
    """Return the sends that bring lost chunks: of the exchange that ends first; or of one for each chunk, the farthest first."""
    given, wants = (table(each, left.nodes, collective.chunks) for each in (collective.given(), collective.wanted()))
    lost = np.flatnonzero((wants & ~kept.held).any(axis=0))
    taken, together = takes(schedule.model, left), schedule.model.combining

    def brought(some: Ints, fixed: Exchange, seed: int, order: int) -> Exchange:
        place = np.full(collective.chunks, -1)
        place[some] = np.arange(len(some))
        fixed, has, want = fixed._replace(chunk=place[fixed.chunk]), given[:, some], wants[:, some]
        alone = collective.personal  # so each node has a chunk as early as it can
        sent = exchanged(left, taken, has, want, seed=seed, order=order, fixed=fixed, together=together, alone=alone)
        needed = sent.take(sent.needed(left, want))
        return needed._replace(chunk=some[needed.chunk])

    def one_by_one(seed: int, order: int) -> Exchange:
        far, new = left.distance(collective.source_of(lost), collective.destination_of(lost)), NOTHING
        # seed 0 leaves the order of equally far ones as it is
        chance = seed * np.random.default_rng(seed).random(len(lost))
        for chunk in lost[np.lexsort((chance, -far))]:
            new = new.beside(brought(chunk[None], kept.sends.beside(new), seed, order))
        return new

    last = int(kept.sends.step.max(initial=-1))
    work = len(arcs_of(left).head) * len(lost) * (last + 1)
    tries = affordable(_TRIES, lambda how: _LOOK * work)
    found = (one_by_one(*how) if collective.personal else brought(lost, kept.sends, *how) for how in tries)
    return best_of(found, lambda sent: (int(sent.step.max(initial=-1)), len(sent.step)), last)


def _renumbered(rows: Rows, left: Network, arc: Ints, chunk: Ints) -> Rows:
    """Return rows on the rest of their network, of chunks that are all there."""
    used, payload = np.unique(rows.payload.astype(np.int64), return_inverse=True)
    old = rows.payloads.take(used)
    table = Payloads(old.start, chunk[old.first], chunk[old.stop - 1] + 1)
    return rows_over(left, table, rows.step, arc, steps=rows.steps, payload=payload.reshape(-1))


def new_chunks(collective: Collective, left: Collective, node: Ints) -> Ints:
    """Return the number that each chunk has in the rest, or -1 where its source is gone: int64 (chunks,)."""
    chunk = np.arange(collective.chunks)
    return chunk if collective.traits.blocks == "one" else renamed(chunk, collective, left, node)


def patched_sums(schedule: Schedule, left: Network) -> Patch | None:
    """Return a schedule of sums patched for the rest of its network, where nodes have their labels from before.

    None where something kept would begin later, where halves overlap, without owners, and as of ``patched``.

    >>> from treecast.plans import plan
    >>> old = plan("reduce", "hypercube:4", messages=2, builder="disjoint-trees")
    >>> found = patched_sums(old, old.network.without(links=["0b0001-0b0011"]))
    >>> old.steps, found.schedule.steps, found.hearing.tolist()
    (5, 5, [0])
    """
    # 1. A reduction is a spreading backwards: that is patched.
    collective, network = schedule.collective, schedule.network
    if not collective.sums or collective.shared:
        return None
    kind = collective.traits
    node = new_nodes(network, left)
    root = 0 if collective.all_source else int(node[collective.root])
    made = Collective.over(left, collective.kind, collective.messages, root=root)
    if kind.backwards:
        both = _turned(schedule.plain(), kind.backwards, left)
        return both and _patch(
            schedule, left, made, reverse_in_time(left, made, both[0], schedule.model.latency), both[1:]
        )
    # 2. A reduction and a spreading: cut the rows in two where finished sums begin.
    plain, forward = schedule.plain(), kind.there_and_back
    back = find_backwards(forward)
    adding = plain.rows.pieces
    finished = np.zeros(len(plain.rows), np.bool_)
    finished[adding.row] = adding.first >= collective.sums
    ends = plain.rows.step.astype(np.int64) + plain.rows.steps
    begin = int(ends[~finished].max(initial=1 - schedule.model.latency)) + schedule.model.latency - 1
    if int(plain.rows.step[finished].min(initial=begin)) < begin:
        return None
    start = 0 if collective.all_source else collective.root
    # 3. Patch both halves, and join them again.
    first = _part(plain, back, plain.rows.take(~finished), start)
    later = plain.rows.take(finished)
    columns = later.columns() | {"step": later.step.astype(np.int64) - begin}
    second = _part(plain, forward, Rows.of(later.payloads.shifted(-collective.sums), **columns), start)
    there, again = _turned(first, forward, left), patched(second, left)
    if there is None or again is None or again.schedule.steps > second.steps:
        return None
    made_back = Collective.over(left, back, collective.messages, root=root)
    reduction = reverse_in_time(left, made_back, there[0], schedule.model.latency)
    spreading = Built(again.schedule.rows, Claims(again.schedule.steps, again.schedule.transmissions))
    ends = np.union1d(there[1], again.hearing), np.union1d(there[2], again.sending)
    return _patch(schedule, left, made, one_after_the_other(made, reduction, spreading), ends)


def _part(plain: Schedule, kind: str, rows: Rows, root: int) -> Schedule:
    """Return one half of a schedule that goes there and back."""
    collective = Collective.over(plain.network, kind, plain.collective.messages, root=root)
    return Schedule(plain.network, collective, plain.model, rows)


def _turned(reduction: Schedule, forward: str, left: Network) -> tuple[Built, Ints, Ints] | None:
    """Return the rest of a reduction, patched, as it runs backwards; and the nodes of the reduction as ``Patch`` has them."""
    turned, steps, messages = reduction.network.reversed(), reduction.steps, reduction.collective.messages
    collective = Collective.over(turned, forward, messages, root=reduction.collective.root)
    built = Built(reduction.rows, Claims(steps, reduction.transmissions))
    rows = reverse_in_time(turned, collective, built, reduction.model.latency).rows
    relays = turned.relays is not None  # which have nothing to add of their own
    found = patched(Schedule(turned, collective, reduction.model, rows), left.reversed(), tidy=relays)
    if found is None or found.schedule.steps > steps:
        return None
    return Built(found.schedule.rows, Claims(steps, found.schedule.transmissions)), found.sending, found.hearing


def _patch(schedule: Schedule, left: Network, collective: Collective, built: Built, ends: tuple[Ints, Ints]) -> Patch:
    return Patch(Schedule(left, collective, schedule.model, built.rows), *ends)
