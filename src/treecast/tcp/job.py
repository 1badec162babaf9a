"""This process as a rank of a job: its transport, the groups that make calls over it, and how it ends."""

import atexit
import json
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from treecast.errors import PlanError
from treecast.groups.group import Group
from treecast.mpi.comm.ending import end_with_the_job
from treecast.tcp.hosts import own_addresses
from treecast.tcp.meeting import (
    Arrivals,
    Listener,
    Place,
    Seat,
    Store,
    TooLateError,
    ask_place,
    ask_store,
    connect_all,
    connect_living,
)
from treecast.tcp.places import Address, Start
from treecast.tcp.proof import Trust, Who
from treecast.transport.base import Key, Kind, Steps, Until, carry_out
from treecast.transport.sockets import Sockets

T = TypeVar("T")
_GROUPS = (1 << 16) - 1
_NAP = 0.05
_EARLY = 1 << 20  # bytes of frames of groups that are not known yet
_FRAME = 256  # bytes that one takes beside its own


class Options(NamedTuple):
    """How a job lives: see ``treecast.tcp.init``."""

    survive: int = 0
    deadline: float | None = 30.0
    trust: Trust = Trust()
    start: float = 300.0
    trust_ends: bool = True
    store: Store | None = None
    on_error: str = "abort"
    join: bool = False
    late: float | None = None


class Welcome(NamedTuple):
    """What a newcomer is told: the members, the number of the last call, and of the next group."""

    members: list[int]
    number: int
    next_group: int


class Job:
    """What all communicators of this process share.

    ``transport``: the connections. ``worker``: carries out nonblocking calls, in order. ``next_group``: a number that no
    group has.
    """

    def __init__(
        self, transport: Sockets, arrivals: Arrivals, listener: Listener | None, late: float | None = None
    ) -> None:
        self.transport, self.arrivals, self._listener = transport, arrivals, listener
        self.next_group = 0
        self._groups: dict[int, Group] = {}
        self._early: list[tuple[int, Key, bytes]] = []
        self._said_bye = set[int]()
        self._applicants: dict[int, tuple[bytes, socket.socket]] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._pending: list[Future[Any]] = []
        self.is_over, self.late = False, late
        self.welcome: Welcome | None = None
        for kind in (Kind.STATE, Kind.DECIDED, Kind.FETCH, Kind.ENDED, Kind.FENCE, Kind.LEFT, Kind.BYE, Kind.WELCOME):
            transport.on(kind, self._hear)
        transport.watch(self._lose)

    # -- groups ------------------------------------------------------------------------------------------------------

    def add_group(self, seats: Iterable[int], survive: int, ident: int) -> Group:
        """Return a new group of ranks. Raises PlanError when there have been too many."""
        if ident > _GROUPS:
            raise PlanError(f"a job makes at most {_GROUPS + 1:,} communicators")
        self.next_group = max(self.next_group, ident + 1)
        return self._enter(Group(self.transport, seats, ident, survive))

    def _enter(self, group: Group) -> Group:
        self._groups[group.ident] = group
        for seat, proof in self.transport.lost.items():
            group.lose(seat, proof)
        early, self._early = self._early, []
        for source, key, body in early:
            self._hear(source, key, body)
        return group

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        if key.kind == Kind.BYE and key.group == 0:
            self._said_bye.add(source)
        if key.kind == Kind.WELCOME:
            self._take_welcome(key, body)
            return
        group = self._groups.get(key.group)
        if group is not None:
            group.hear(source, key, body)
            return
        room = _EARLY - sum(_FRAME + len(each) for _, _, each in self._early)
        if key.group < self.next_group or len(body) > room:
            raise ValueError("frames of a group that is none")
        self._early.append((source, key, body))

    def _lose(self, seat: int, proof: bool) -> None:
        for group in list(self._groups.values()):
            group.lose(seat, proof)

    # -- newcomers ---------------------------------------------------------------------------------------------------

    def applicants(self, identities: Iterable[str] = (), seconds: float = 0.0) -> dict[int, str]:
        """Return the identity of who asks to be taken in, by seat; wait for some, as long as given."""
        wanted, until = set(identities), monotonic() + seconds
        while True:
            for sock, who in self.arrivals.take():
                older = self._applicants.pop(who.rank, None)
                if older is not None:
                    older[1].close()
                self._applicants[who.rank] = who.identity, sock
            known = {seat: identity.hex() for seat, (identity, _) in self._applicants.items()}
            left = until - monotonic()
            if wanted <= set(known.values()) or left <= 0:
                return known
            self.arrivals.wait(min(left, _NAP))

    def admit(self, group: Group, seats: Iterable[int]) -> None:
        """Take newcomers in, whom all members have reached, and tell them which call comes next."""
        agreement = group.agreement
        with self.transport.lock:
            for seat in seats:
                self.transport.add(seat, self._applicants.pop(seat)[1])
                self._said_bye.discard(seat)
            agreement.admit(seats)
            key = Key(Kind.WELCOME, agreement.number, stage=self.next_group)
            for seat in seats:
                self.transport.send(seat, key, json.dumps(agreement.members).encode())

    def _take_welcome(self, key: Key, body: bytes) -> None:
        if self.welcome is None and not self._groups:
            members = json.loads(body)
            if not all(isinstance(seat, int) and 0 <= seat < self.transport.size for seat in members):
                raise ValueError("members that are none")
            self.welcome = Welcome(list(members), key.call, key.stage)

    def wait_for_welcome(self, survive: int) -> Group:
        """Wait until the others take this newcomer in; return the group of all ranks."""
        with self.transport.lock:
            living = set(range(self.transport.size)) - {self.transport.rank}
            self.transport.wait(lambda: self.welcome is not None or living <= set(self.transport.lost))
            if self.welcome is None:
                raise TooLateError("all ranks of the job have ended before they took this one in")
            members, number, self.next_group = self.welcome
            for seat in set(members) & set(self.applicants()):
                self.transport.add(seat, self._applicants.pop(seat)[1])
            group = Group(self.transport, range(self.transport.size), 0, survive)
            group.agreement.join(members, number)
            return self._enter(group)

    # -- calls -------------------------------------------------------------------------------------------------------

    def run(self, group: Group, steps: Steps[T]) -> T:
        """Carry out the steps of a call. Raises PlanError when the job is over."""
        with self.transport.lock:
            if self.is_over:
                raise PlanError("the job is over: treecast.tcp has ended here")
            return carry_out(steps, lambda until: self._wait(group, until))

    def _wait(self, group: Group, until: Until) -> None:
        """Wait; whoever is alive, but keeps this rank waiting for longer than ``late`` seconds, counts as silent."""
        self.transport.wait(until, self.late)
        while not until():
            for rank in group.awaited():
                self.transport.shut(group.seats[rank])
            self.transport.wait(until, self.late)

    def begin(self, work: Callable[[], T]) -> "Future[T]":
        """Have work done beside the program, after all that was begun before."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "treecast.tcp")
        future = self._worker.submit(work)
        self._pending = [each for each in self._pending if not each.done()]
        self._pending.append(future)
        return future

    def wait_for_begun(self) -> None:
        """Wait until all that was begun is done; what it raises is told by its request."""
        for future in self._pending:
            future.exception()
        self._pending.clear()

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End this rank's part: say so, and answer the others until all have ended theirs; then close the connections."""
        if self.is_over:
            return
        if 0 not in self._groups:  # a newcomer that was never taken in
            self.abandon()
            return
        self.wait_for_begun()
        transport = self.transport
        with transport.lock:
            self.is_over = True
            for group in self._groups.values():
                for seat in group.seats:
                    if seat != transport.rank:
                        transport.send(seat, Key(Kind.BYE, group.agreement.number, group=group.ident), b"")
            main = self._groups[0].agreement
            others = [seat for seat in main.members if seat != transport.rank]
            transport.wait(
                lambda: main.is_out or all(seat in self._said_bye or seat in transport.lost for seat in others)
            )
            self._close()

    def abandon(self) -> None:
        """End at once: for the others this rank is dead."""
        if not self.is_over:
            self.is_over = True
            self._close()

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self.transport.close()


def start_job(where: Start, options: Options) -> Job:
    """Meet the other ranks, connect to all, and return this rank's part of the job. Raises PlanError when that fails."""
    rank, size, places, held_by_zero = where
    own, until, arrivals = Who(rank, os.urandom(16)), monotonic() + options.start, Arrivals()
    if size == 1:
        return _ended_at_exit(Job(Sockets(0, 1, {}, options.deadline), arrivals, None), options.on_error)
    _check_reach(places, options)
    place = None
    if held_by_zero and not rank and options.store is None:
        place = _hold(size, options, places[0])
    try:
        listener = Listener(own, options.trust, arrivals.put, (options.trust.host, 0))
        hosts = own_addresses(host for host, _ in places) if options.trust.secret else ["127.0.0.1"]
        said = [[(host, listener.port) for host in hosts], options.survive]
        if options.store is not None:
            table = ask_store(options.store, own, size, said)
        else:
            table = ask_place(places, own, said, options.trust, until)
        _check_alike(table, size)
        if options.join:
            socks = connect_living(table, own, options.trust)
        else:
            socks = connect_all(table, own, options.trust, arrivals, until)
    finally:
        if place is not None:
            place.close()
    transport = Sockets(rank, size, socks, options.deadline, trust_ends=options.trust_ends)
    return _ended_at_exit(Job(transport, arrivals, listener, options.late), options.on_error)


def _hold(size: int, options: Options, address: Address) -> Place:
    try:
        return Place(size, options.trust, (options.trust.host, address[1]), options.start)
    except OSError as error:
        raise PlanError(f"rank 0 cannot hold the meeting place {address[0]}:{address[1]}: {error.strerror}") from None


def _check_reach(places: Iterable[Address], options: Options) -> None:
    """Raise PlanError for a place on another host without a secret: what has none listens on this machine alone."""
    far = [host for host, _ in places if not host.startswith("127.") and host not in ("localhost", "::1")]
    if far and not options.trust.secret:
        raise PlanError(
            f"ranks that meet at {far[0]} need a secret: set TREECAST_SECRET to the same 64 hexadecimal digits at all"
        )


def _check_alike(table: Sequence[Seat], size: int) -> None:
    """Raise PlanError, at all ranks, when they have started with different options."""
    if len(table) != size:
        raise PlanError(f"this rank was told of {size} ranks, and the meeting place of {len(table)}")
    said = sorted({seat.survive for seat in table})
    if len(said) > 1:
        raise PlanError(f"the ranks of a job say the same survive, not {' and '.join(map(str, said))}")


class _Ending:
    """What the end of a rank by an error asks of MPI: here it is the end of its connections."""

    COMM_WORLD = None

    def __init__(self, job: Job) -> None:
        self._job = job

    def Is_finalized(self) -> bool:  # noqa: N802
        return self._job.is_over

    def Intracomm(self, comm: None) -> "_Ending":  # noqa: N802
        return self

    def Abort(self, status: int) -> None:  # noqa: N802
        self._job.abandon()


def _ended_at_exit(job: Job, on_error: str) -> Job:
    job.transport.start()
    atexit.register(job.finish)
    end_with_the_job(on_error, _Ending(job))
    return job
