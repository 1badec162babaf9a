"""Collectives by plans of a network, over any transport: copies first, then repair; the rate of links is measured.

A call begins by an allgather of the call that each rank means to make, and of the links that it has lost: so all go down the same
plan, or none does. The plan sends as many copies as are to be survived, if the network has room for them, over ways that share
nothing: nobody has to find out who has died. When copies were not enough, a rank fetches what it lacks from one who has it. After
a plan without copies another one comes first, without the dead and the lost links. Data that only its source has, and sums, go
straight at last. A group that survives nothing does none of that: its ranks go down the plan, as the call itself says.
"""

import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from hashlib import blake2b
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from treecast.collectives import COLLECTIVES, Kind, find_unequal
from treecast.errors import DeliveryError
from treecast.networks import Network, network
from treecast.networks.kept import kept
from treecast.running.algorithms import spread
from treecast.running.calls.call import Call
from treecast.running.calls.collectives import ROWS
from treecast.running.calls.table import Algorithm, Failed
from treecast.running.engine import blocks as parts
from treecast.running.engine.blocks import Cut, Run, Task, task_of
from treecast.running.engine.choose import (
    ALL_PORT,
    AT_OWNERS,
    ONE_PORT,
    Operation,
    Role,
    SumWay,
    between_hosts,
    broadcast_role,
    most_survived,
    role_of,
    way_of_sum,
)
from treecast.running.engine.lane import Lane
from treecast.running.engine.memory import Part
from treecast.running.engine.sums import PlannedSum
from treecast.running.engine.turns import AT_ONCE, Turns
from treecast.running.groups.group import Group
from treecast.running.groups.members import name_ranks
from treecast.running.groups.shape import Shape
from treecast.running.transport.base import SMALL, Steps
from treecast.units import parse_rate

_LOOK = 0.01
#   digest of the call, 16 bytes | lost u16 | ... 8 of them; this rank's own number stands for none
_DIGEST, _CUTS = 16, 8  # bytes, and lost links, of which a rank tells
_LOST, _SECONDS = struct.Struct(f"<{_CUTS}H"), struct.Struct("<d")
# After a death the plan without the dead is tried once. Then data goes straight: that always ends.
_TRIES = 2  # by plans
_KEPT = 64  # plans
_PROBE = 1 << 18  # bytes by which the rate of links is measured
T = TypeVar("T")
_Made = tuple[Cut, Role, int]
"""How blocks are cut in a plan, the part of this rank, and how many copies there are to spare."""


class Planned:
    """The collectives of groups by plans of one network: rank r is at node r.

    ``lane_of``: the links of a rank, as a group sees them. ``model``: of the plans; one-port where a switch joins all hosts.
    ``hosts[r]``: the first rank on the host of rank r, by default its own. All on one host share its memory, and no rate is
    measured. Else it is ``TREECAST_RATE`` where that is set: ``100Mbit/s``, or a number of bits per second. ``copies``: whether
    they go where failures are to be survived, or are repaired alone. Raises TreecastError for a rate that is none.
    """

    def __init__(
        self,
        lane_of: Callable[[Group], Lane],
        where: Network,
        model: str = ALL_PORT,
        hosts: Sequence[int] = (),
        *,
        copies: bool = True,
    ) -> None:
        self._lane_of, self.where, self._model, self._copies = lane_of, where, model, copies
        self._hosts = hosts or range(where.nodes)
        self._cuts, self._given_up = frozenset[tuple[int, int]](), set[int]()
        self._without = tuple(range(where.nodes)), self._cuts  # the members, and lost links, of the last call
        self._rate = 0.0 if len(set(self._hosts)) == 1 else told_rate()
        planner = ThreadPoolExecutor(1, "treecast.plan")
        self._made: Callable[..., Future[_Made]] = lru_cache(_KEPT)(partial(planner.submit, self._make))
        self._ways: Callable[..., Future[SumWay]] = lru_cache(_KEPT)(partial(planner.submit, way_of_sum))

    def plans(self) -> dict[Algorithm, Callable[..., Failed]]:
        """Return the functions that carry algorithms out by plans; those for which there is none go straight."""
        kinds = {row.algorithm: row.planned for row in ROWS.values() if row.planned and not row.planned.lengths}
        return {algorithm: self.plan(algorithm, kind) for algorithm, kind in kinds.items()}

    def plan(self, algorithm: Algorithm, kind: Kind) -> Callable[..., Failed]:
        """Return the function that carries an algorithm out by plans of a kind; it takes a call, and what follows the group."""

        def carry(call: Call, *given: Any) -> Failed:
            group = call.group
            task = None if kind.adds else task_of(kind, group.rank, given)
            if not self._all_go(call, algorithm, _words(group, kind, given, task)):
                return call.run(algorithm(group, *given))
            if self._rate is None:
                call.run(self._probe(group, 1))  # opens connections
                # The better of two: any other program makes the network seem slower, and none makes it seem faster.
                self._rate = _PROBE / min(call.run(self._probe(group, _PROBE)) for _ in range(2))
            call.is_planned = True
            if task is None:
                return PlannedSum(self, call, kind, given, partial(algorithm, group)).bring()
            if kind.lengths and kind.personal:
                task = task._replace(lengths=call.run(_tell_lengths(group, task)))
            return call.run(self._move(group, kind, task, algorithm(group, *given)))

        return carry

    def _all_go(self, call: Call, algorithm: Algorithm, words: Any) -> bool:
        """Return whether all ranks go down the same plan."""
        group = call.group
        if group.carrier.alone:  # who makes another call waits for ever, as in MPI
            return words is not None
        # One word for each thing that has to be alike. A rank that must go straight says so by an empty one, and then
        # all do.
        sizes = "" if words is None else repr((algorithm.__name__, words, self._rate))
        mine = blake2b(sizes.encode(), digest_size=_DIGEST).digest()
        said: list[bytes] = call.run(self._tell(group, mine))
        left = self._left(group)
        return len(set(said)) == 1 and bool(sizes) and left is not None

    def _tell(self, group: Group, mine: bytes = bytes(_DIGEST)) -> Steps[list[bytes]]:
        """Tell all ranks something, and the links that this one has lost; return the words of the members, and plan without
        the links that any of them has lost.
        """
        # Who has lost more links than there is room for tells of the first ones.
        lost = sorted({*self._lane_of(group).lost(), *self._given_up}.intersection(group.agreement.members))
        told = yield from tell_all(group, mine + _LOST.pack(*[*lost, *[group.rank] * _CUTS][:_CUTS]))
        named = ((rank, other) for rank, each in told for other in _LOST.unpack_from(each, _DIGEST))
        self._cuts = frozenset((rank, other) for rank, other in named if rank != other)
        return [each[:_DIGEST] for _, each in told]

    def _left(self, group: Group) -> Network | None:
        """Return the network of the members over links that no rank has lost, None where there is none; tell of another one."""
        members = tuple(group.agreement.members)
        left, before = _less(self.where, members, self._cuts), self._without
        self._without = members, self._cuts
        # Told once, when it changes, and not in each call.
        if self._without != before:
            over = "straight" if left is None else f"over {left.spec}"
            text = f"calls go {over}, without {len(self._cuts)} lost links, among {name_ranks(members)}"
            group.transport.events.tell("replanned", text, group.ident, group.made.call, members)
        return left

    def _probe(self, group: Group, size: int) -> Steps[float]:
        """Return the seconds until all have sent so many bytes to one neighbour each, the same at all ranks.

        Where hosts have one port, one rank of each does. The slowest counts.
        """
        members, began = group.agreement.members, monotonic()
        me, speak = members.index(group.rank), sorted(set(_hosts_of(self._hosts, members)))
        aims = dict(zip(speak, [*speak[1:], speak[0]], strict=True))  # to the next host
        if self._model == ALL_PORT:  # over the last port, since the first may lead to the same host
            where = self._left(group)
            aims = {} if where is None else {u: where.neighbors(u)[-1] for u in range(where.nodes)}
        to, sources = [aims[me]] if me in aims else [], [u for u, aim in aims.items() if aim == me]
        self._lane_of(group).exchange(to, sources, size)
        took = _SECONDS.pack(monotonic() - began)
        group.restart()
        told = yield from tell_all(group, took)
        return max(_SECONDS.unpack(each)[0] for _, each in told)

    def _make(self, what: Operation, sizes: tuple[int, ...], hosts: tuple[int, ...], me: int, tags: int) -> _Made:
        """Return the part of a node in a plan that survives so many failures where the network can; ``sizes``: of its blocks.

        ``hosts``: of each node, the first one on its host. ``tags``: how many its messages may have.
        """
        root, speak = what.root, sorted(set(hosts))
        spare = what.survive and min(what.survive, most_survived(what.kind, what.network, what.model))
        what = what._replace(survive=spare)
        # one port a host: a broadcast goes between hosts first, and then within each
        between = what.model == ONE_PORT and COLLECTIVES[what.kind].one_to_all and not spare and len(speak) > 1
        if between:
            what = between_hosts(what, len(speak), speak.index(hosts[root]), max(sizes), self._rate or 0.0)
        what, cut = parts.cut_up(what, sizes, self._rate or 0.0)
        return cut, broadcast_role(what, hosts, root, me, tags) if between else role_of(what, me, tags), spare

    def way(self, group: Group, kind: Kind, where: Network, size: int, *, exact: bool) -> SumWay:
        """Return the way of a sum of so many bytes, whose bits are by rank or exact.

        What is left of a network after deaths is not priced: that takes longer than most calls there, which go to owners.
        """
        if where is not self.where:
            return AT_OWNERS
        return _wait(group, self._ways(kind, where, size, self._rate or 0.0, exact=exact, model=self._model))

    def part(
        self,
        group: Group,
        where: Network,
        name: str,
        sizes: Sequence[int],
        end: int | None,
        *,
        copies: bool = True,
        by_rank: bool = False,
    ) -> tuple[int, _Made, Run]:
        """Return the node of this rank, its part in a plan, and the function that carries that out; ``end``: the root, if any."""
        members, lane = group.agreement.members, self._lane_of(group)
        me, hosts = members.index(group.rank), _hosts_of(self._hosts, members)
        root, survive = 0 if end is None else members.index(end), group.terms.survive * (copies and self._copies)
        what = Operation(name, where, root, survive=survive, model=self._model, by_rank=by_rank)
        made = _wait(group, self._made(what, tuple(sizes), hosts, me, lane.tags))
        # a silent rank would keep its turn: so where failures are to be survived there are none
        has_turns = self._model == ONE_PORT and not group.terms.survive
        turns = Turns[Any](AT_ONCE * has_turns, [node for node, host in enumerate(hosts) if host == hosts[me]])

        def run(part: Part) -> set[int]:
            outcome = lane.carry(made[1].transfers, part, turns)
            self._given_up |= {members[node] for node in outcome.cut}  # what is late may still come over such a link
            return outcome.held

        return me, made, run

    def settle(
        self, group: Group, shape: Shape, go: Callable[[Network], tuple[set[int], int]], fetches: bool = False
    ) -> Steps[Failed | None]:
        """Bring data by a plan, and by another without the dead where some rank lacks data; return all that have failed.

        ``go``: carries a plan over a network out, and returns whose data this rank lacks then, and how many copies were to spare.
        None where there is no plan, or data may be lacking still. ``fetches``: it is fetched after a plan of several copies.
        """
        for tried in range(_TRIES):
            # In the first try all have just said what they have lost (`_all_go`). For the second one they say it
            # anew.
            if tried:
                group.restart()
                yield from self._tell(group)
                group.restart()
            members = group.agreement.members
            where = self.where if group.carrier.alone else self._left(group)
            # no plan without the rank that has the data, or wants it
            if where is None or not {shape.source, shape.target} <= {None, *members}:
                break
            lacking, spare = go(where)
            # Copies have gone every way already. What is still lacking is fetched from who has it, without another
            # plan.
            if spare and fetches:
                break
            for rank in lacking:
                group.lack(rank)
            failed = yield from group.settle(shape._replace(redo=True))
            if failed is not None:
                gone = set(group.began) - set(members)
                return failed if shape.target in failed else tuple(sorted({*failed, *gone}))
        group.restart()
        return None

    def bring(
        self, group: Group, where: Network, kind: Kind, task: Task, *, copies: bool = True
    ) -> tuple[set[int], int]:
        """Bring blocks by one plan; return whose data this rank lacks then, and how many copies were to spare."""
        members, end = group.agreement.members, task.shape.end
        each = members if kind.spreads and end is None else [0]
        sizes = task.lengths or [len(task.pieces[rank]) for rank in each]
        name = kind.name if kind.lengths or task.lengths or len(set(sizes)) == 1 else find_unequal(kind.name)
        me, (cut, role, spare), run = self.part(group, where, name, sizes, end, copies=copies)
        return {members[node] for node in parts.carry(task.place(members), cut, me, role, run)}, spare

    def _move(self, group: Group, kind: Kind, task: Task, straight: Steps[Failed]) -> Steps[Failed]:
        """Bring blocks to where they belong by a plan; then each fetches what it lacks, or what is for it alone goes straight."""
        shape, every, has, tried = task.shape, group.agreement.members, {group.rank}, list[Network]()

        def go(where: Network) -> tuple[set[int], int]:
            tried.append(where)
            lacking, spare = self.bring(group, where, kind, task)
            has.update(set(group.agreement.members) - lacking)
            return lacking, spare

        failed = yield from self.settle(group, shape, go, fetches=kind.spreads)
        if failed is not None and (kind.personal or len(tried) == 1):
            return failed
        if kind.personal:
            return (yield from straight)
        if failed is not None:  # some may lack data of those who were out before the last try
            group.restart()
        pieces = {rank: task.pieces[rank] for rank in every} if shape.source is None else {shape.source: task.pieces[0]}
        for rank, piece in pieces.items():
            (group.hold if rank in has else group.lack)(rank, piece)
        return (yield from group.settle(shape._replace(spread=True))) or ()


def told_rate() -> float | None:
    """Return the bytes per second of a link that ``TREECAST_RATE`` tells, if any. Raises TreecastError for what is no rate."""
    told = os.environ.get("TREECAST_RATE")
    return None if told is None else parse_rate(told if told.endswith("s") else f"{told}bit/s")


@kept(8)
def _less(where: Network, members: tuple[int, ...], cuts: frozenset[tuple[int, int]]) -> Network | None:
    """Return the network of the members over links that no rank has lost; None where they are in pieces, or one alone."""
    if where.every_pair_joined:
        return network(f"complete:{len(members)}") if len(members) > 1 else None
    gone = set(range(where.nodes)) - set(members)
    # losses that are no links of the network change no plan
    links = {tuple(sorted(cut)) for cut in cuts if cut[1] in where.neighbors(cut[0]) and gone.isdisjoint(cut)}
    names = [f"{where.label(a)}-{where.label(b)}" for a, b in links]
    left = where.without(nodes=sorted(gone), links=names) if gone or names else where
    return left if left.nodes > 1 and left.connected else None


def _wait(group: Group, made: Future[T]) -> T:
    """Wait for what a thread of its own makes: meanwhile the others hear this rank."""
    # Not `result()`: the transport has to say meanwhile that this rank is alive, and to answer who is behind.
    while not made.done():
        group.transport.wait(made.done, _LOOK)
    return made.result()


def _hosts_of(hosts: Sequence[int], members: Sequence[int]) -> tuple[int, ...]:
    """Return of each member, by its place among them, the place of the first that is on its host."""
    here = [hosts[rank] for rank in members]
    return tuple(here.index(host) for host in here)


def tell_all(group: Group, mine: bytes) -> Steps[list[tuple[int, bytes]]]:
    """Tell all ranks some bytes; return each member with its own."""
    places = [memoryview(bytearray(len(mine))) for _ in range(group.size)]
    places[group.rank][:] = mine
    yield from spread.allgather(group, None, places)
    return [(rank, bytes(places[rank])) for rank in group.agreement.members]


def _tell_lengths(group: Group, task: Task) -> Steps[list[int]]:
    """Tell all ranks how long the blocks are that this one sends; return the lengths of all blocks."""
    lengths, size = [len(piece) for piece in task.pieces], group.size
    told = yield from tell_all(group, np.array(lengths[:size], np.int64).tobytes())
    sizes = np.array([np.frombuffer(each, np.int64) for _, each in told])
    np.fill_diagonal(sizes, 0)
    for source in (u for u, room in enumerate(lengths[size:]) if room < sizes[u, group.rank]):
        come = sizes[source, group.rank]
        raise DeliveryError(f"{task.shape.name}: {come} bytes come from rank {source}, and there is room for less")
    return [int(size) for size in sizes.flat]


def _words(group: Group, kind: Kind, given: Sequence[Any], task: Task | None) -> Any:
    """Return the words of all ranks alike on a call that goes down a plan; None of one that goes straight."""
    if task is None:
        mine, out, *rest = given
        how, size = rest[-1], len(mine if out is None else out)
        return (
            (rest[:-1], how.entries, size) if size >= SMALL and (how.bits != "any" or how.op.Is_commutative()) else None
        )
    sizes, end = [len(piece) for piece in task.pieces], task.shape.end
    if not kind.personal:
        return (end, sizes) if sum(sizes) >= SMALL else None
    if kind.lengths:  # nobody knows how long the blocks of the dead are
        return () if group.carrier.alone else None
    return (end, sizes[0]) if len(set(sizes)) == 1 and sizes[0] >= SMALL // 8 else None
