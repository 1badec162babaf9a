"""This process as a rank of a job: its transport, the groups that make calls over it, and how it ends."""

import atexit
import json
import os
import socket
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, TypeVar

from treecast.errors import Evicted, PlanError
from treecast.groups.group import Group
from treecast.jobs.ending import end_with_the_job
from treecast.networks import Network
from treecast.tcp.meeting import Arrivals, Listener, TooLateError
from treecast.transport.base import FrameError, Key, Kind, Steps, Until, carry_out
from treecast.transport.links import Links
from treecast.transport.sockets import Sockets

T = TypeVar("T")
_GROUPS = (1 << 16) - 1
_NAP = 0.05
_EARLY = 1 << 20  # bytes of frames of groups that are not known yet
_FRAME = 256  # bytes that one takes beside its own
_GRACE = 2.0  # seconds that a launcher has to end a rank when another has failed
_JOINED: list["Job"] = []


class Job:
    """The things that all communicators of this process share.

    ``transport``: the connections. ``links``: those of a named network, and the network. ``next_group``: a number that no
    group has. ``welcome``: the words to a newcomer: the members, the number of the last call, and of the next group.
    """

    def __init__(
        self,
        transport: Sockets,
        arrivals: Arrivals,
        listener: Listener | None,
        late: float | None = None,
        links: tuple[Links, Network] | None = None,
    ) -> None:
        self.transport, self.arrivals, self._listener, self.links = transport, arrivals, listener, links
        self.next_group = 0
        self._groups: dict[int, Group] = {}
        self._early: list[tuple[int, Key, bytes]] = []
        self._said_bye = set[int]()
        self._applicants: dict[int, tuple[bytes, socket.socket]] = {}
        self._workers: dict[int, ThreadPoolExecutor] = {}
        # of each group, the call that was begun last: all before it is done first
        self._last: dict[int, Future[Any]] = {}
        self.is_over, self.late, self.sure, self.relays = False, late, False, False
        self.welcome: tuple[list[int], int, int] | None = None
        for kind in (Kind.STATE, Kind.DECIDED, Kind.FETCH, Kind.ENDED, Kind.FENCE, Kind.LEFT, Kind.BYE, Kind.WELCOME):
            transport.on(kind, self._hear)
        transport.on(Kind.ABORT, self._end_with)
        transport.watch(self._lose)
        if links is not None:
            links[0].direct.watch(self._lose_link)

    # -- groups ------------------------------------------------------------------------------------------------------

    def add_group(self, seats: Iterable[int], survive: int, ident: int) -> Group:
        """Return a new group of ranks. Raises PlanError when there have been too many."""
        if ident > _GROUPS or ident in self._groups:
            raise PlanError(f"{ident:,} is no number of a new communicator: it is taken, or above {_GROUPS:,}")
        with self.transport.lock:
            self.next_group = max(self.next_group, ident + 1)
            return self._enter(Group(self.transport, seats, ident, survive))

    def _enter(self, group: Group) -> Group:
        self._groups[group.ident], group.late, group.sure = group, self.late, self.sure
        group.relays = self.relays
        for seat, proof in self.transport.lost.items():
            group.lose(seat, proof, self.transport.whys[seat])
        early, self._early = self._early, []
        for source, key, body in early:
            try:
                self._hear(source, key, body)
            except FrameError:
                self.transport.shut(source, "frame")
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
        if len(body) > room:
            raise FrameError("frames of a group that is none")
        self._early.append((source, key, body))

    def _lose(self, seat: int, proof: bool, why: str) -> None:
        for group in list(self._groups.values()):
            group.lose(seat, proof, why)

    def _lose_link(self, near: int, proof: bool, why: str) -> None:
        direct = self.links[0].direct if self.links is not None else self.transport
        if len(direct.lost) == len(direct.peers):  # nobody is reached any more
            for seat in self.transport.peers:
                self.transport.shut(seat)

    # -- newcomers ---------------------------------------------------------------------------------------------------

    def applicants(self, identities: Iterable[str] = (), seconds: float = 0.0) -> dict[int, str]:
        """Return the identity of who asks to be taken in, by seat; wait for some, as long as given."""
        wanted, until, left = set(identities), monotonic() + seconds, 0.0
        while True:
            for sock, who in self.arrivals.take(min(left, _NAP)):
                older = self._applicants.pop(who.rank, None)
                if older is not None:
                    older[1].close()
                self._applicants[who.rank] = who.identity, sock
            known = {seat: identity.hex() for seat, (identity, _) in self._applicants.items()}
            left = until - monotonic()
            if wanted <= set(known.values()) or left <= 0:
                return known

    def admit(self, group: Group, seats: Iterable[int]) -> None:
        """Take newcomers in, whom all members have reached, and tell them which call comes next."""
        agreement = group.agreement
        with self.transport.lock:
            for seat in seats:
                self.transport.add(seat, self._applicants.pop(seat)[1])
                self._said_bye.discard(seat)
            agreement.admit(seats)
            key = Key(Kind.WELCOME, agreement.number, stage=self.next_group, instance=int(self.relays))
            for seat in seats:
                self.transport.send(seat, key, json.dumps(agreement.members).encode())

    def _take_welcome(self, key: Key, body: bytes) -> None:
        if self.welcome is None and not self._groups:
            try:
                members = [range(self.transport.size).index(seat) for seat in json.loads(body)]
            except (ValueError, TypeError):
                raise FrameError("members that are none") from None
            self.relays = bool(key.instance)
            self.welcome = members, key.call, key.stage

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
        """Carry out the steps of a call; those of a group by turns. Raises PlanError when the job is over."""
        with group.turn, self.transport.lock:
            if self.is_over:
                raise PlanError("the job is over: treecast.tcp has ended here")
            try:
                return carry_out(steps, lambda until: self._wait(group, until))
            except Evicted:  # the others go on without this rank: its error ends nothing there
                if self in _JOINED:
                    end_with_the_job("die", lambda: self.is_over, self.abort)
                raise

    def _wait(self, group: Group, until: Until) -> None:
        """Wait; whoever is alive, but keeps this rank waiting for longer than ``late`` seconds, counts as silent."""
        self.transport.wait(until, group.late)
        while not until():
            if not group.agreement.ask_all():
                group.overdue |= group.awaited()
                for rank in group.overdue:
                    self.transport.shut(group.seats[rank], "late")
            self.transport.wait(until, group.late)

    def begin(self, group: Group, work: Callable[[], T]) -> "Future[T]":
        """Have work of a group done beside the program, after all of it that was begun before."""
        if group.ident not in self._workers:
            self._workers[group.ident] = ThreadPoolExecutor(1, f"treecast.tcp.{group.ident}")
        future = self._last[group.ident] = self._workers[group.ident].submit(work)
        return future

    def wait_for_begun(self, group: Group) -> None:
        """Wait until all that was begun in a group is done; its requests tell of errors."""
        if (last := self._last.pop(group.ident, None)) is not None:
            last.exception()

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End this rank's part: say so, and answer the others until all have ended theirs; then close the connections."""
        if self.is_over:
            return
        if 0 not in self._groups:  # a newcomer that was never taken in
            self.abandon()
            return
        for group in self._groups.values():
            self.wait_for_begun(group)
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
            if self.links is not None and not main.is_out:
                self.links[0].linger(main.others())
            self._close()

    def abandon(self) -> None:
        """End at once: for the others this rank is dead."""
        if not self.is_over:
            self.is_over = True
            self._close()

    def abort(self, status: int) -> None:
        """End at once, and all other ranks with a status."""
        if 0 in self._groups and not self.is_over and self.transport.lock.acquire(timeout=_GRACE):
            for seat in self._groups[0].agreement.others():
                self.transport.send(seat, Key(Kind.ABORT, status & 0xFF), b"")
        self.abandon()

    def _end_with(self, source: int, key: Key, body: bytes) -> None:
        """End as another rank did, unless a launcher that lives is first."""
        main = self._groups.get(0)
        if main is not None and source in main.agreement.others():
            sleep(_GRACE)
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(key.call)

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self.transport.close()


def ended_at_exit(job: Job, on_error: str) -> Job:
    """Have a job end with this process, an early end as ``on_error`` says; return it."""
    job.transport.start()
    _JOINED.append(job)
    atexit.register(job.finish)
    end_with_the_job(on_error, lambda: job.is_over, job.abort)
    return job


def abort(status: int) -> None:
    """End the jobs of this process, at all ranks, with a status: ``treecast launch`` does so when its program has failed."""
    for job in _JOINED:
        job.abort(status)
