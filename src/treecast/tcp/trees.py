"""Collectives down the plan of a named network, whose links are the only connections; small ones, and repairs, are flooded.

A call begins by an allgather of the call that each rank means to make, and of the links that it has lost: so all go down the same
plan, or none does. The plan's messages go over single links, one copy each. When some rank lacks data at the end, all begin anew
without the dead; then who lacks data fetches it from one who has it, over streams that come by every way (``transport.links``),
or data that nobody can have is sent anew straight.
"""

import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from typing import Any

from treecast.algorithms import spread
from treecast.calls.call import Call
from treecast.calls.collectives import ROWS
from treecast.calls.table import Algorithm, Failed
from treecast.collectives import Kind, find_unequal
from treecast.engine import blocks as parts
from treecast.engine.blocks import Task, bytes_of, task_of
from treecast.engine.choose import ALL_PORT, Operation, Role, role_of
from treecast.engine.engine import Engine, Part
from treecast.engine.transfers import Links
from treecast.errors import Evicted
from treecast.execution.layout import Bytes
from treecast.groups.group import Group
from treecast.groups.memory import scratch
from treecast.groups.shape import Shape
from treecast.networks import Graph, Network, network
from treecast.networks.kept import kept
from treecast.transport import base
from treecast.transport.base import SMALL, Key, Piece, Steps, Ticket, Until
from treecast.transport.sockets import Sockets

_LOOK = 0.01
_DIGEST, _CUTS = 16, 8  # bytes, and lost links, of which a rank tells
_LOST = struct.Struct(f"<{_CUTS}H")
_TRIES = 2  # by plans
_RATE = 1e9  # bits per second of a link, where nobody says
_TAGS = 1 << 31  # others are of data that is fetched
_FOREVER = 1e9

Planned = tuple[Any, Steps[Failed]]
"""The words of all ranks alike on a call, None where it goes straight, and its steps by a plan, which need not be begun."""


class Trees:
    """The ways of a network; each takes the arguments of the straight way of its name.

    ``direct``: the connections over which plans go. ``model``: of the plans; one-port where a switch joins all hosts.
    """

    def __init__(self, direct: Sockets, where: Network, model: str = ALL_PORT) -> None:
        if where.relays is not None:  # a relay is a rank here, and takes part
            graph = where.to_networkx()
            where = Graph(f"{where.spec},ranks", where.labels(), [arc[:2] for arc in graph.edges()])
        self._direct, self._where, self._model = direct, where, model
        self._cuts = frozenset[tuple[int, int]]()
        self._rate = float(os.environ.get("TREECAST_RATE", _RATE)) / 8
        self._planner = ThreadPoolExecutor(1, "treecast.plan")  # the job's own: a fork leaves no thread of it

    @property
    def network(self) -> str:
        """The spelling of the network."""
        return self._where.spec

    def plans(self) -> dict[Algorithm, Callable[..., Failed]]:
        """Return the functions that carry algorithms out by the plan; those for which there is none go straight."""
        kinds = {row.algorithm: row.planned for row in ROWS.values() if row.planned and not row.planned.lengths}
        return {one: self._plan(one, kind) for one, kind in kinds.items() if kind.results or not kind.adds}

    def _plan(self, algorithm: Algorithm, kind: Kind) -> Callable[..., Failed]:
        def carry(call: Call, *given: Any) -> Failed:
            group = call.group
            alike_at_all, steps = self._planned(group, algorithm, kind, given)
            sizes = "" if call.refused or alike_at_all is None else repr((algorithm.__name__, alike_at_all))
            mine = blake2b(sizes.encode(), digest_size=_DIGEST).digest()
            said: list[bytes] = call.run(self._tell(group, mine), refused="")
            if len(set(said)) > 1 or not sizes or self._left(group.agreement.members) is None:
                return call.run(algorithm(group, *given))
            return call.run(steps)

        return carry

    def _planned(self, group: Group, algorithm: Algorithm, kind: Kind, given: Sequence[Any]) -> Planned:
        if kind.adds:
            mine, out, how = given
            adds = how and how.op.Is_commutative()
            straight = partial(algorithm, group)
            return _size(how and how.entries, [out] if adds else []), self._sum(group, kind, (mine, out, how), straight)
        task = task_of(kind, group.rank, given)
        if not kind.personal:
            return _size(task.shape.source, task.pieces), self._spread(group, kind, task)
        return _equal(task.shape.end, task.pieces), self._personal(group, kind, task, algorithm(group, *given))

    def _tell(self, group: Group, mine: bytes = bytes(_DIGEST)) -> Steps[list[bytes]]:
        """Tell all ranks something, and the links that this one has lost; return the words of the members, and plan without
        the links that any of them has lost.
        """
        lost = [*self._direct.lost, *[group.rank] * _CUTS][:_CUTS]
        places = [memoryview(bytearray(_DIGEST + _LOST.size)) for _ in range(group.size)]
        places[group.rank][:] = mine + _LOST.pack(*lost)
        yield from spread.allgather(group, None, places)
        members = group.agreement.members
        self._cuts = frozenset((r, other) for r in members for other in _LOST.unpack_from(places[r], _DIGEST))
        return [bytes(places[rank][:_DIGEST]) for rank in members]

    def _try(self, group: Group, shape: Shape, go: Callable[[Network], set[int]]) -> Steps[Failed | None]:
        """Bring data by a plan, and by another without the dead where some rank lacks data; return all that have failed.

        ``go``: carries a plan over a network out, and returns whose data this rank lacks then. None where there is no plan, or
        data is lacking still.
        """
        for tried in range(_TRIES):
            if tried:
                group.restart()
                yield from self._tell(group)
                group.restart()
            members = group.agreement.members
            where = self._left(members)
            if where is None or not {shape.source, shape.target} <= {None, *members}:
                break
            for rank in go(where):
                group.lack(rank)
            failed = yield from group.settle(shape._replace(redo=True))
            if failed is not None:
                return tuple(sorted({*failed, *(set(group.began) - set(members))}))
        group.restart()
        return None

    def _left(self, members: Sequence[int]) -> Network | None:
        """Return the network of the members over links that no rank has lost; None where they are in pieces, or one alone."""
        return _less(self._where, tuple(members), self._cuts)

    def _role(self, group: Group, operation: Operation, me: int) -> Role:
        """Return the part of this rank, planned in a thread of its own: meanwhile the others hear this rank."""
        planned = self._planner.submit(role_of, operation, me, _TAGS)
        while not planned.done():
            group.transport.wait(planned.done, _LOOK)
        return planned.result()

    def _carry(self, group: Group, where: Network, kind: Kind, task: Task) -> set[int]:
        """Carry out a plan of blocks; return the ranks whose data this one lacks."""
        members, shape = group.agreement.members, task.shape
        me, root = members.index(group.rank), 0 if shape.end is None else members.index(shape.end)
        sizes = (
            [len(task.pieces[rank]) for rank in members]
            if shape.end is None and kind.spreads
            else [len(task.pieces[0])]
        )
        name, model = (kind.name, self._model) if len(set(sizes)) == 1 else (find_unequal(kind.name), ALL_PORT)
        operation, cut = parts.cut_up(name, where, sizes, self._rate, root=root, model=model)
        role = self._role(group, operation, me)
        lacking = parts.carry(task.place(members), cut, me, role, partial(_Lane(self._direct, group).hold, role))
        return {members[rank] for rank in lacking}

    def _spread(self, group: Group, kind: Kind, task: Task) -> Steps[Failed]:
        """Bring pieces of ranks to all by a plan, and, where some rank lacks some, by another; in the end each fetches them."""
        shape, every = task.shape, group.agreement.members
        pieces = {rank: task.pieces[rank] for rank in every} if shape.source is None else {shape.source: task.pieces[0]}
        has, tried = {group.rank} & set(pieces), list[Network]()

        def go(where: Network) -> set[int]:
            tried.append(where)
            lacking = self._carry(group, where, kind, task)
            has.update(pieces.keys() & set(group.agreement.members) - lacking)
            return lacking

        failed = yield from self._try(group, shape, go)
        if failed is not None and len(tried) == 1:
            return failed
        if failed is not None:  # some may lack data of those who were out before the last try
            group.restart()
        for rank, piece in pieces.items():
            if rank in has:
                group.hold(rank, piece)
            else:
                group.lack(rank, piece)
        return (yield from group.settle(shape._replace(spread=True))) or ()

    def _personal(self, group: Group, kind: Kind, task: Task, straight: Steps[Failed]) -> Steps[Failed]:
        """Bring blocks to one rank each by a plan, and, where some rank lacks some, by another; in the end straight."""
        failed = yield from self._try(group, task.shape, lambda where: self._carry(group, where, kind, task))
        return (yield from straight) if failed is None else failed

    def _sum(
        self, group: Group, kind: Kind, ends: tuple[Piece | None, Piece, Any], straight: Callable[..., Steps[Failed]]
    ) -> Steps[Failed]:
        """Bring the sum of all contributions to all ranks, added along the trees in the order of the schedule."""
        given, out, how = ends
        received = bytes_of(out)
        if given is None:  # another try needs it again
            given = scratch(len(out))
            spread.copy_here(given, out)

        def go(where: Network) -> set[int]:
            members, me = group.agreement.members, group.agreement.members.index(group.rank)
            spread.copy_here(out, given)
            operation, _ = parts.cut_up(kind.name, where, [-(-len(received) // len(members))], self._rate)
            role = self._role(group, operation, me)
            run = partial(_Lane(self._direct, group).hold, role)
            return set() if parts.carry_sum(received, how, me, role, run) else {group.rank}

        failed = yield from self._try(group, Shape(kind.name), go)
        return (yield from straight(given, out, how)) if failed is None else failed


class _Lane(Links):
    """The links of a rank during a call of a group: ``direct`` carries messages over single ones of them."""

    def __init__(self, direct: Sockets, group: Group) -> None:
        self._direct, self._group = direct, group
        self._asked = list[tuple[int, Key]]()
        super().__init__(direct, group.agreement.members, self._key, self._drop)

    def _key(self, tag: int) -> Key:
        group = self._group
        return Key(base.Kind.DATA, group.agreement.number, tag >> 16, tag & 0xFFFF, group.instance, group.ident)

    def send(self, peer: int, tag: int, piece: Bytes, sure: bool) -> Ticket:
        """Begin to send over a link, where every long message waits until it is asked for."""
        return super().send(peer, tag, piece, False)

    def receive(self, peer: int, tag: int, place: Bytes) -> Ticket:
        """Begin to receive over a link."""
        self._asked.append((self._seats[peer], self._key(tag)))
        return super().receive(peer, tag, place)

    def _drop(self, seat: int) -> None:
        """Drop messages of a rank; their memory is free."""
        for source, key in self._asked:
            if source == seat:
                self._direct.cancel(source, key)

    def wait(self, until: Until, seconds: float) -> None:
        """Move bytes. Raises Evicted when the others have gone on without this rank."""

        def looked() -> bool:
            self._group.agreement.check_in()
            return until()

        self._group.transport.wait(looked, seconds)

    def hold(self, role: Role, part: Part) -> set[int]:
        """Carry out the part of this rank in a plan, as far as it comes; return the chunks that it holds then."""
        self._direct.forget(self._group.agreement.number, self._group.ident)
        try:
            return Engine(self, role.transfers, part, self._group.terms.late or _FOREVER).run().held
        except Evicted:
            for seat in self._seats:
                self._drop(seat)
            raise


@kept(8)
def _less(where: Network, members: tuple[int, ...], cuts: frozenset[tuple[int, int]]) -> Network | None:
    if where.every_pair_joined:
        return network(f"complete:{len(members)}") if len(members) > 1 else None
    gone = set(range(where.nodes)) - set(members)
    links = {tuple(sorted(cut)) for cut in cuts if cut[1] in where.neighbors(cut[0]) and gone.isdisjoint(cut)}
    names = [f"{where.label(a)}-{where.label(b)}" for a, b in links]
    left = where.without(nodes=sorted(gone), links=names) if gone or names else where
    return left if left.nodes > 1 and left.connected else None


def _size(about: int | None, pieces: Sequence[Piece]) -> Any:
    """Return the words of all ranks alike on a call that goes down a plan; None of one that goes straight."""
    sizes = [len(piece) for piece in pieces]
    return (about, sizes) if sum(sizes) > SMALL else None


def _equal(about: int | None, pieces: Sequence[Piece]) -> Any:
    sizes = {len(piece) for piece in pieces}
    return (about, *sizes) if len(sizes) == 1 and max(sizes) > SMALL // 8 else None
