"""This process as a rank of a job: its transport, the groups that make calls over it, and how it ends."""

import atexit
import json
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from queue import Empty
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

from treecast.errors import Evicted, PlanError
from treecast.running.calls.messages import Mailbox
from treecast.running.calls.sinks import attach, tell_ended, tell_joined
from treecast.running.calls.worker import Turn, Worker
from treecast.running.groups.group import Group
from treecast.running.groups.members import name_ranks, ranks_of
from treecast.running.groups.terms import Carrier, Terms, check_alike, read_words
from treecast.running.groups.waiting import Waiting
from treecast.running.jobs.ending import end_unlike, end_with_the_job
from treecast.running.jobs.program import flush, note
from treecast.running.transport.base import FrameError, FrameKind, Key, Steps, carry_out
from treecast.running.transport.events import Event
from treecast.running.transport.links import Links
from treecast.running.transport.sockets import Sockets
from treecast.tcp.meeting import Arrivals, Listener
from treecast.tcp.reach import Notices, Reach

if TYPE_CHECKING:
    from treecast.networks import Network

T = TypeVar("T")
Linked = tuple[Links, "Network"]
_GROUPS = (1 << 16) - 1
# Ranks make a communicator one after the other: frames of it may come before this rank has made it.
_EARLY = 1 << 20  # bytes of frames of groups that are not known yet
_FRAME = 256  # bytes that one takes beside its own
_GRACE = 2.0  # seconds that a launcher has to end a rank when another has failed
_JOINED: list["JoinedJob"] = []


class GoneError(PlanError):
    """Nobody of the job lives any more whom a newcomer could join."""


class JoinedJob:
    """The things that all communicators of this process share.

    ``transport``: the connections. ``links``: those of a named network, and the network. ``next_group``: a number that no
    group has. ``messages``: between two ranks. ``workers``: of each group, who makes its calls beside the program. ``welcome``:
    the words to a newcomer: the members, the number of the last call, of the next group, and all terms. ``is_new``: whether the
    job had begun without this process. ``attempt``: the name of its beginning. ``held``: what ends with it.
    """

    def __init__(
        self,
        transport: Sockets,
        arrivals: Arrivals,
        listener: Listener | None,
        terms: Terms,
        links: Linked | None = None,
        *,
        reach: Reach | None = None,
    ) -> None:
        self.transport, self.arrivals, self._listener, self.links = transport, arrivals, listener, links
        self.is_over, self.terms, self.next_group, self.waiting = False, terms, 0, Waiting(transport)
        self._groups, self.messages = self.waiting.groups, Mailbox(transport)
        self._early: list[tuple[int, Key, bytes]] = []
        self._said_bye = set[int]()
        self._applicants: dict[int, tuple[bytes, socket.socket]] = {}
        self.workers: dict[int, Worker] = {}
        self.welcome: tuple[list[int], int, int, dict[int, list[str]]] | None = None
        self.tell: Callable[[Iterable[int]], None] = lambda lost: None  # the meeting place, where a launcher holds it
        self.note_over: Callable[[], None] = lambda: None
        self.is_new, self.attempt, self.held = False, "", ExitStack()
        # all that agreements say, for whichever group
        for kind in (*(kind for kind in FrameKind if FrameKind.STATE <= kind <= FrameKind.WELCOME), FrameKind.UNLIKE):
            transport.on(kind, self._hear)
        transport.on(FrameKind.ABORT, self._end_with)
        # only where some ranks have no connection do facts go round
        self.news = Notices(transport, terms.survive, self._hear_news) if reach is not None else None
        if reach is not None:
            reach.begin(transport)
        transport.watch(self._lose)
        attach(transport, self.waiting)
        transport.events.sinks.append(self._be_out)
        transport.marks.tell = lambda source, group, call: self._groups[group].unlike.find(call)
        if links is not None:
            links[0].direct.watch(partial(self._lose_link, links[0].direct))

    def add_group(self, seats: Iterable[int], ident: int, terms: Terms | None = None) -> Group:
        """Return a new group of ranks, by default on the job's terms. Raises PlanError when there have been too many."""
        if ident > _GROUPS or ident in self._groups:  # 16 bits in each frame
            raise PlanError(f"{ident:,} is no number of a new communicator: it is taken, or above {_GROUPS:,}")
        with self.transport.lock:
            self.next_group = max(self.next_group, ident + 1)
            return self._enter(seats, ident, terms or self.terms)

    def _enter(
        self, seats: Iterable[int], ident: int, terms: Terms, joined: tuple[list[int], int] | None = None
    ) -> Group:
        """Return a new group; ``joined``: the members that a newcomer joins, and the number of their last call."""
        # with ``late`` a relay would seem late to the others
        carrier = Carrier(relays=terms.late is None, is_wide=self.news is not None)
        group = Group(self.transport, seats, ident, terms, carrier, waiting=self.waiting)
        if joined is not None:
            group.agreement.join(*joined)
        self._groups[ident], self.workers[ident] = group, Worker(f"treecast.tcp.{ident}")
        if ident == 0:
            tell_joined(group)
        for seat, proof in self.transport.lost.items():  # who was lost before this group was made
            group.lose(seat, proof, self.transport.whys[seat])
        # who has left it already, by news
        for (group_of, number), ranks in list(self.news.byes.items()) if self.news is not None else ():
            for seat in ranks_of(ranks) if group_of == ident else ():
                group.hear(seat, Key(FrameKind.BYE, number, group=ident), b"")
        # They are heard in the order in which they came; those of other groups are kept again.
        early, self._early = self._early, []
        for source, key, body in early:
            try:
                self._hear(source, key, body)
            except FrameError:
                self.transport.shut(source, "frame")
        return group

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        if key.kind == FrameKind.BYE and key.group == 0:  # of the group of all: it ends its part of the job
            self._said_bye.add(source)
        if key.kind == FrameKind.WELCOME:
            self._take_welcome(key, body)
        elif (group := self._groups.get(key.group)) is not None:
            group.hear(source, key, body)
        # a stranger's group would fill the memory
        elif len(body) > _EARLY - sum(_FRAME + len(each) for _, _, each in self._early):
            raise FrameError("frames of a group that is none")
        else:
            self._early.append((source, key, body))  # this rank may make the group later

    def _hear_news(self, source: int, key: Key, body: bytes) -> None:
        if key.kind == FrameKind.ABORT:
            self._end_with(source, key, body)
        elif key.group in self._groups:  # else it is told to the group when that is made
            self._hear(source, key, body)

    def _lose(self, seat: int, proof: bool, why: str) -> None:
        if not self.is_over and seat not in self._said_bye:  # who says goodbye is no loss
            self.transport.events.tell("lost", f"rank {seat}: {why}", ranks=(seat,))
        for group in list(self._groups.values()):
            group.lose(seat, proof, why)
        if proof and self.news is not None and seat not in self._said_bye:
            self.news.note_end(seat)

    def _lose_link(self, direct: Sockets, *_: object) -> None:
        if len(direct.lost) == len(direct.peers):  # nobody is reached any more
            for seat in self.transport.peers:
                self.transport.shut(seat)

    def applicants(self, identities: Iterable[str] = (), seconds: float = 0.0) -> dict[int, str]:
        """Return the identity of who asks to be taken in, by seat; wait for some, as long as given."""
        wanted, until = set(identities), monotonic() + seconds
        # the queue gives nothing more, or the time is up
        with suppress(Empty):
            while True:
                here = {identity.hex() for identity, _ in self._applicants.values()}
                left = 0.0 if wanted <= here else max(0.0, until - monotonic())
                sock, who = self.arrivals.get(timeout=left)
                if who.rank in self._applicants:  # it has come once more: the older connection is dead
                    self._applicants[who.rank][1].close()
                self._applicants[who.rank] = who.identity, sock
        return {seat: identity.hex() for seat, (identity, _) in self._applicants.items()}

    def admit(self, group: Group, seats: Iterable[int]) -> None:
        """Take newcomers in, whom all members have reached, and tell them which call comes next."""
        agreement = group.agreement
        with self.transport.lock:
            self.messages.forget(set(seats))  # what the dead in these seats had sent
            for seat in seats:
                self.transport.add(seat, self._applicants.pop(seat)[1])
                self._said_bye.discard(seat)
            agreement.admit(seats)
            self.transport.events.tell("joined", f"{name_ranks(seats)}, taken in", ranks=tuple(seats))
            # at once, before any later call of this rank can reach them
            key = Key(FrameKind.WELCOME, agreement.number, stage=self.next_group)
            for seat in seats:
                self.transport.send(seat, key, json.dumps([agreement.members, self.terms.words()]).encode())

    def _take_welcome(self, key: Key, body: bytes) -> None:
        """Keep the first welcome. Raises FrameError for bytes that name no members, or no terms."""
        if self.welcome is not None or self._groups:  # the first counts: all say the same
            return
        try:
            seats, words = json.loads(body)
            members, words = [range(self.transport.size).index(seat) for seat in seats], read_words(words)
        except (ValueError, TypeError):
            raise FrameError("members that are none") from None
        # what each member is taken to say, and its own words
        said = {**dict.fromkeys(members, words), self.transport.rank: self.terms.words()}
        self.welcome = members, key.call, key.stage, said

    def whole(self) -> Group:
        """Return the group of all ranks."""
        return self._groups[0] if 0 in self._groups else self.add_group(range(self.transport.size), 0)

    def wait_for_welcome(self) -> None:
        """Wait until the others take this newcomer in. Raises GoneError when they have ended, PlanError for other terms."""
        with self.transport.lock:
            peers, lost = self.transport.peers, self.transport.lost
            # other newcomers are no ranks yet
            self.transport.wait(lambda: self.welcome is not None or {*peers} <= {*lost, *self.applicants()})
            if self.welcome is None:
                raise GoneError("all ranks of the job have ended before they took this one in")
            members, number, self.next_group, said = self.welcome
            check_alike(said)
            for seat in set(members) & set(self.applicants()):  # newcomers that were admitted with it
                self.transport.add(seat, self._applicants.pop(seat)[1])
            self._enter(range(self.transport.size), 0, self.terms, (members, number))

    def run(self, group: Group, steps: Steps[T]) -> T:
        """Carry out the steps of a call; those of a group by turns. Raises PlanError when the job is over."""
        # The turn first, the transport's lock second, and the latter is let go while this thread sleeps.
        with group.turn, self.transport.lock:
            self.check_open()
            try:
                return carry_out(steps, partial(self.waiting.wait, group))
            except Evicted as error:
                self.transport.events.tell("evicted", str(error), group.ident)
                raise

    def check_open(self) -> None:
        """Raise PlanError when the job is over."""
        if self.is_over:
            raise PlanError("the job is over: treecast.tcp has ended here")

    def _be_out(self, event: Event) -> None:
        """Have an error of a rank that is out end nothing: the others go on without it."""
        if event.name == "evicted" and self in _JOINED:  # only of a job that ends with this process
            end_with_the_job("die", lambda: self.is_over, self.abort)

    def finish(self) -> None:
        """End this rank's part: say so, and answer the others until all have ended theirs; then close the connections."""
        if self.is_over:
            return
        if 0 not in self._groups:  # a newcomer that was never taken in
            self.abandon()
            return
        for worker in list(self.workers.values()):
            worker.wait()
        transport = self.transport
        with transport.lock:
            self.is_over = True
            note("left", "0")
            tell_ended(transport, self._groups[0].made.call)
            if transport.rank == self._groups[0].agreement.members[0]:  # one of them is enough
                with suppress(Exception):  # the store may be gone
                    self.note_over()
            for group in self._groups.values():
                number = group.agreement.number
                if self.news is not None:  # in a large job goodbyes go round as news
                    self.news.note_byes(group.ident, number, 1 << transport.rank)
                    continue
                for seat in set(group.seats) - {transport.rank}:
                    transport.send(seat, Key(FrameKind.BYE, number, group=group.ident), b"")
            main = self._groups[0].agreement
            others = set(main.members) - {transport.rank}
            gone = self._said_bye, transport.lost.keys()
            # Others may still lack data that this rank has. It answers until each has said goodbye, or is lost.
            # quick first: sets are joined only where they could do
            transport.wait(lambda: main.is_out or (sum(map(len, gone)) >= len(others) and others <= set().union(*gone)))
            if self.links is not None and not main.is_out:
                self.links[0].linger(main.others())
            # who was put out by silence may still run: a launcher ends it
            silent = [seat for seat, proof in transport.lost.items() if not proof]
            if self.news is not None:
                self.news.tell(at_once=True)
            if not main.is_out:
                end_unlike(self._groups.values())
            self._close()
        if silent and not main.is_out:
            self.tell(silent)

    def abandon(self) -> None:
        """End at once: for the others this rank is dead, and may come back as a newcomer."""
        if not self.is_over:
            self.is_over = True
            # "": it was in the job; else it may ask for the next beginning
            self.attempt = "" if 0 in self._groups else self.attempt
            self._close()

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self.held.close()
        self.arrivals.close()
        for _, sock in self._applicants.values():
            sock.close()
        self.transport.close()

    def abort(self, status: int) -> None:
        """End at once, and all other ranks with a status."""
        # Another thread may hold the lock for ever, so the wait for it has an end.
        # a rank of no job has nobody to end
        if 0 in self._groups and not self.is_over and self.transport.lock.acquire(timeout=_GRACE):
            if self.news is not None:
                self.news.abort(status & 0xFF)
            for seat in self._groups[0].agreement.others() if self.news is None else ():
                self.transport.send(seat, Key(FrameKind.ABORT, status & 0xFF), b"")
        self.abandon()

    def _end_with(self, source: int, key: Key, body: bytes) -> None:
        """End as another rank did, unless a launcher that lives is first; who knows of unlike calls may say so."""
        main = self._groups.get(0)
        if main is not None and source in main.agreement.others():  # who is out ends nobody

            def end() -> None:
                sleep(_GRACE)
                flush()
                os._exit(key.call)

            if any(group.unlike.knows(group.unlike.last) for group in self._groups.values()):
                Thread(target=end, name="treecast.end", daemon=True).start()  # it raises its own error meanwhile
            else:
                end()

    def let_go(self) -> None:
        """Be over in the child of a fork, which is no rank: it never waits for threads that only its parent has."""
        self.is_over = True
        # Locks that a thread of the parent held at the fork stay locked here: there is nobody who would let them go.
        for group in self._groups.values():
            group.turn = Lock()
        for worker in self.workers.values():
            worker.jobs = Turn()
        if self._listener is not None:
            self._listener.socket.close()


def last_of(rank: int) -> tuple[str, bool]:
    """Return the attempt of the last job of this process as a rank, "" for none, and whether it was in it."""
    for job in reversed(_JOINED):  # the last job first
        if job.transport.rank == rank:
            return job.attempt, not job.is_new or job.welcome is not None
    return "", False


def ended_at_exit(job: JoinedJob) -> JoinedJob:
    """Have a job end with this process, an early end as its terms say; return it."""
    job.transport.start()
    _JOINED.append(job)
    atexit.register(job.finish)
    end_with_the_job(job.terms.on_error, lambda: job.is_over, job.abort)
    return job


def abort(status: int) -> None:
    """End the jobs of this process, at all ranks, with a status: ``treecast launch`` does so when its program has failed."""
    for job in _JOINED:
        job.abort(status)


os.register_at_fork(after_in_child=lambda: [job.let_go() for job in _JOINED])
