"""A schedule patched after faults: rows that still carry stay in their steps, and free arcs bring the chunks lost with the
others.

Communication model: that of the schedule, if nodes may keep the chunks that they relay: all-port, shouting or one-port, full or
half duplex. A row still carries a chunk if its arc is there and its source holds the chunk by then, without any help. Chunks
that a node would never get are then sent, step by step, over any arc that is free in that step and whose source holds them by
then. Personal data, where each chunk is for one node, goes chunk by chunk on the way that arrives first, from any node that
holds the chunk. So nothing that is kept ever waits for new sends. A row that still carries stays, even if it leads to nobody
who wants its chunk.
"""

from collections.abc import Iterator
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from treecast.collectives import Collective, Holdings
from treecast.models import takes
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import rows_over
from treecast.plans.ways.trees.repaired import new_arcs, new_nodes
from treecast.schedule import NO_RECIPE, Payloads, Schedule
from treecast.steps import NEVER

_MOST_SENDS = 1 << 18  # which are gone through one by one: about a second

Load = tuple[int, int, int]
"""A step, the number of an arc, and the chunks that go over it then, as the bits of a number."""
Piece = tuple[int, int, int, list[tuple[int, int]]]
"""A row to be: its first step, how many it takes, the number of its arc, and its ranges of chunks."""


class Patch(NamedTuple):
    """A patched schedule, and the nodes of the rest that hear something new, and that send it: int64, ascending."""

    schedule: Schedule
    hearing: Ints
    sending: Ints


class _Kept(NamedTuple):
    """The rows that still carry, the load of each arc in each step, and the chunks of the nodes after all of it."""

    pieces: list[Piece]
    loads: list[Load]
    held: list[int]


def patched(schedule: Schedule, left: Network) -> Patch | None:
    """Return a schedule of one copy without sums patched for the rest of its network, where nodes have their labels from
    before.

    None where schedules are not patched: of other collectives and models, of several copies, and of too many sends.

    >>> from treecast.plans import plan
    >>> old = plan("broadcast", "star:4", messages=12)
    >>> found = patched(old, old.network.without(nodes=["2134"]))
    >>> old.steps, found.schedule.steps, len(found.hearing)
    (9, 12, 22)
    """
    collective = _can_be_patched(schedule) and what_is_left(schedule.collective, schedule.network, left)
    if not collective:
        return None
    plain = schedule.plain()
    kept = _kept(plain, collective, left)
    complete = _routed if collective.personal else _completed
    found = complete(schedule, collective, left, kept)
    if found is None:
        return None
    pieces = kept.pieces + [(step, 1, arc, list(_ranges(mask))) for step, arc, mask in found]
    step, steps, arc = np.array([piece[:3] for piece in pieces], np.int64).reshape(-1, 3).T
    rows = rows_over(left, Payloads.of([piece[3] for piece in pieces]), step, arc, steps=steps)
    made = Schedule(left, collective, schedule.model, rows, recipe=NO_RECIPE)
    new = np.array([load[1] for load in found], np.int64)
    return Patch(made, *(np.unique(ends[new].astype(np.int64)) for ends in (arcs_of(left).head, arcs_of(left).tail)))


def _can_be_patched(schedule: Schedule) -> bool:
    traits, machine = schedule.collective.traits, schedule.model
    spreads = traits.ends in ("all", "targets") and not traits.adds
    timed = machine.buffered and not machine.routing and machine.partner == "any"
    whole = spreads or (traits.personal and not traits.one_way)
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


def _kept(plain: Schedule, collective: Collective, left: Network) -> _Kept:
    """Return the rows that still carry when nothing is added."""
    before, rows = plain.network, plain.rows
    node = new_nodes(before, left)
    arc = _new_arc_of_rows(plain, left, node)
    chunk = new_chunks(plain.collective, collective, node)
    held, carried, loads = _masks(collective.given(), left.nodes), list[tuple[int, int, int]](), list[Load]()
    arcs, speaking = arcs_of(left), plain.speaking
    tail, head = arcs.tail.tolist(), arcs.head.tolist()
    for sends in plain.expand():
        new = chunk[sends.chunk]
        lives = (arc[sends.row] >= 0) & (new >= 0) & speaking[sends.row]
        arrived = list[tuple[int, int]]()
        for row, over, what in zip(
            sends.row[lives].tolist(), arc[sends.row[lives]].tolist(), new[lives].tolist(), strict=True
        ):
            if held[tail[over]] >> what & 1:
                carried.append((row, sends.step, what))
                loads.append((sends.step, over, 1 << what))
                arrived.append((head[over], 1 << what))
        for taker, mask in arrived:
            held[taker] |= mask
    pieces = [(step, steps, int(arc[row]), ranges) for row, step, steps, ranges in _runs(carried, rows.pace.tolist())]
    return _Kept(pieces, loads, held)


def _runs(
    carried: list[tuple[int, int, int]], pace: list[int]
) -> Iterator[tuple[int, int, int, list[tuple[int, int]]]]:
    """Yield the parts of rows that still carry, from (row, step, chunk): row, first step, number of steps, and ranges of chunks.

    A stream is cut wherever a chunk is missing.
    """
    for row, sends in groupby(sorted(carried), key=lambda send: send[0]):
        parts = list[list[tuple[int, int]]]()
        for _, step, chunk in sends:
            follows = parts and (step - parts[-1][-1][0]) == pace[row] and chunk > parts[-1][-1][1]
            if follows:
                parts[-1].append((step, chunk))
            else:
                parts.append([(step, chunk)])
        for part in parts:
            mask = sum(1 << chunk for _, chunk in part)
            yield row, part[0][0], part[-1][0] - part[0][0] + 1, list(_ranges(mask))


def _completed(schedule: Schedule, collective: Collective, left: Network, kept: _Kept) -> list[Load] | None:
    """Return the loads of free arcs by which every node gets the chunks that it wants; None where it cannot."""
    arcs, table = arcs_of(left), _Timetable.of(schedule, left, kept.loads)
    tail: list[int] = arcs.tail.tolist()
    head: list[int] = arcs.head.tolist()
    bounds: list[int] = arcs.into.tolist()
    into: list[list[int]] = [arcs.entering[a:b].tolist() for a, b in pairwise(bounds)]
    wanted, held = _masks(collective.wanted(), left.nodes), _masks(collective.given(), left.nodes)
    combining, everything = schedule.model.combining, reduce(int.__or__, held)
    lacks = {v: everything & ~mask for v, mask in enumerate(kept.held) if everything & ~mask}
    open_ = {v for v in lacks if lacks[v] & wanted[v]}
    arriving = dict[int, list[tuple[int, int]]]()
    for step, arc, mask in kept.loads:
        arriving.setdefault(step + 1, []).append((head[arc], mask))
    found, step, last = list[Load](), 0, schedule.steps
    while open_:
        for v, mask in arriving.pop(step, ()):
            held[v] |= mask
        arrived = list[tuple[int, int]]()
        for v in sorted(lacks, key=lambda v: (v not in open_, -lacks[v].bit_count(), v)):
            for arc in into[v]:
                able = held[tail[arc]] & lacks[v]
                if not able or not table.is_free(arc, step):
                    continue
                sent = able if combining else able & -able
                found.append((step, arc, sent))
                arrived.append((v, sent))
                table.take(arc, step)
                lacks[v] &= ~sent
            if not lacks[v]:
                del lacks[v]
            if not lacks.get(v, 0) & wanted[v]:
                open_.discard(v)
        if not arrived and step > last:
            return None
        step += 1
        arriving.setdefault(step, []).extend(arrived)
    return _needed(found, wanted, tail, head)


def _routed(schedule: Schedule, collective: Collective, left: Network, kept: _Kept) -> list[Load] | None:
    """Return how each lost chunk gets to its node as early as free arcs allow, the farthest first; None where one cannot."""
    arcs, table = arcs_of(left), _Timetable.of(schedule, left, kept.loads)
    head: list[int] = arcs.head.tolist()
    first: list[int] = arcs.first.tolist()
    since = dict[int, dict[int, int]]()  # of each chunk: since when a node holds it
    for node, start, stop in collective.given():
        for chunk in range(start, stop):
            since.setdefault(chunk, {})[node] = 0
    for step, arc, mask in kept.loads:
        since[mask.bit_length() - 1].setdefault(head[arc], step + 1)
    wanted = [(v, c) for v, start, stop in collective.wanted() for c in range(start, stop)]
    lost = np.array([(v, c) for v, c in wanted if v not in since[c]], np.int64).reshape(-1, 2)
    far = left.distance(collective.source_of(lost[:, 1]), lost[:, 0])
    found = list[Load]()
    for node, chunk in lost[np.argsort(-far, kind="stable")].tolist():
        came, reached = dict[int, tuple[int, int, int]](), since[chunk]
        queue = [(step, v) for v, step in reached.items()]
        heapify(queue)
        done = set[int]()
        while queue and node not in done:
            now, u = heappop(queue)
            if u in done:
                continue
            done.add(u)
            for arc in range(first[u], first[u + 1]):
                v, step = head[arc], table.free_from(arc, now)
                if v not in done and step + 1 < reached.get(v, NEVER) and step + 1 < came.get(v, (NEVER,))[0]:
                    came[v] = step + 1, u, arc
                    heappush(queue, (step + 1, v))
        if node not in done:
            return None
        while node in came:
            step, node, arc = came[node]
            table.take(arc, step - 1)
            found.append((step - 1, arc, 1 << chunk))
    return found


class _Timetable(NamedTuple):
    """The resources and keys that an arc takes, and under which key each resource is taken in each step."""

    needs: list[list[tuple[int, int]]]
    taken: dict[int, dict[int, int]]

    @staticmethod
    def of(schedule: Schedule, left: Network, loads: list[Load]) -> "_Timetable":
        """Return the table of some loads."""
        wanted = takes(schedule.model, left)
        table = _Timetable(np.stack([wanted.resource, wanted.key], axis=2).tolist(), {})
        for step, arc, _ in loads:
            table.take(arc, step)
        return table

    def take(self, arc: int, step: int) -> None:
        """Have an arc carry something in a step."""
        self.taken.setdefault(step, {}).update(self.needs[arc])

    def is_free(self, arc: int, step: int) -> bool:
        """Return whether an arc can carry something in a step: where messages combine, also beside its load."""
        busy = self.taken.get(step)
        return not busy or all(need not in busy or busy[need] == key >= 0 for need, key in self.needs[arc])

    def free_from(self, arc: int, step: int) -> int:
        """Return the first step from ``step`` on in which an arc can carry something."""
        while not self.is_free(arc, step):
            step += 1
        return step


def _needed(found: list[Load], wanted: list[int], tail: list[int], head: list[int]) -> list[Load]:
    """Return the loads that bring a node a chunk that it wants, or that it sends on: relays want nothing."""
    used, needed = list(wanted), list[Load]()
    for step, arc, mask in reversed(found):
        if mask := mask & used[head[arc]]:
            needed.append((step, arc, mask))
            used[tail[arc]] |= mask
    return needed[::-1]


def _new_arc_of_rows(plain: Schedule, left: Network, node: Ints) -> Ints:
    """Return the number that the arc of each row has in the rest, or -1: int64 (rows,)."""
    before, rows = plain.network, plain.rows
    return new_arcs(before, left, node)[arcs_of(before).number(rows.src, rows.port)]


def new_chunks(collective: Collective, left: Collective, node: Ints) -> Ints:
    """Return the number that each chunk has in the rest, or -1 where its source is gone: int64 (chunks,)."""
    chunk, nodes = np.arange(collective.chunks), left.nodes
    if collective.traits.blocks == "one":
        return chunk
    block, place = collective.place_of(chunk)
    group, of = np.divmod(block, len(node))  # of pairs: where they come from; of sums: whether they are finished
    pairs = collective.traits.blocks == "pair"
    lives = (node[of] >= 0) & ((node[group] >= 0) if pairs else True)
    named = (node[group] if pairs else group) * nodes + node[of]
    begins = named * collective.messages if left.lengths is None else left.begins()[np.where(lives, named, 0)]
    return np.where(lives, begins + place, -1)


def _masks(holdings: Holdings, nodes: int) -> list[int]:
    """Return the chunks of each node as the bits of a number."""
    found = [0] * nodes
    for node, first, stop in holdings:
        found[node] |= (1 << stop) - (1 << first)
    return found


def _ranges(mask: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges (first, stop) of the bits that are set, in ascending order."""
    while mask:
        first = (mask & -mask).bit_length() - 1
        ones = mask >> first
        length = ((ones + 1) & -(ones + 1)).bit_length() - 1
        yield first, first + length
        mask &= -1 << (first + length)
