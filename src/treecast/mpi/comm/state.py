"""The state that treecast keeps of a communicator: it hangs on the handle, and goes when the communicator is freed."""

import sys
from contextlib import suppress
from functools import cached_property, partial
from itertools import count
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from treecast.mpi.comm.marks import CallMark, before_the_end, not_before_the_end
from treecast.mpi.reader import Reader
from treecast.mpi.together import MpiTogether
from treecast.mpi.transport import MpiTransport
from treecast.running.calls.deaths import Deaths
from treecast.running.calls.sinks import attach, tell_ended, tell_joined
from treecast.running.calls.table import Caller
from treecast.running.calls.worker import Worker
from treecast.running.groups.agreement import Broken
from treecast.running.groups.group import Group
from treecast.running.groups.terms import OVER_MPI, Carrier, Terms
from treecast.running.groups.waiting import Waiting
from treecast.running.jobs.ending import end_unlike
from treecast.running.jobs.program import job_file, note, say_last
from treecast.running.transport.base import FrameError, FrameKind, Key, Steps, T, carry_out
from treecast.running.transport.marks import PARTS

if TYPE_CHECKING:
    from treecast.mpi.plans import Plans

_KINDS = (
    FrameKind.STATE,
    FrameKind.DECIDED,
    FrameKind.FETCH,
    FrameKind.ENDED,
    FrameKind.FENCE,
    FrameKind.LEFT,
    FrameKind.UNLIKE,
    FrameKind.REVOKED,
)
_LOOK_ALONE = 0.25  # seconds between looks beside calls that survive nothing
_TURN, _TURNS = 0.3, 8  # seconds between ranks that end a job, so that one says why
_ASK = 0.05  # seconds after which others are asked again how far they are


class Base:
    """The ranks of a communicator over a duplicate of it: ``group`` survives failures, ``alone`` survives nothing.

    ``near``: whether all ranks share one memory; ``hosts[r]``: the first rank on the host of rank r. ``mark`` tells the launcher
    of calls. ``compared``: MPI's own calls that survive nothing.
    ``asked``: when the last call of all ranks at once began in which it has asked others.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        here = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.near = here.size == comm.size
        self.hosts: list[int] = [0] * comm.size if self.near else comm.allgather(here.bcast(comm.rank))
        here.Free()
        self.transport = MpiTransport(MPI, comm.Dup())
        self.waiting, ranks = Waiting(self.transport), range(comm.size)
        self.groups = self.waiting.groups
        self.group, self.alone = (
            Group(self.transport, ranks, k, carrier=Carrier(alone=bool(k)), waiting=self.waiting) for k in range(2)
        )
        for kind in _KINDS:
            self.transport.on(kind, self._hear)
        self.mark, self.asked = CallMark(comm), 0.0
        self.compared: MpiTogether | None = None
        attach(self.transport, self.waiting, (self.mark.world, MPI.COMM_WORLD.size))
        for group in self.groups.values():
            self.transport.watch(group.lose)
        self.transport.marks.tell = lambda source, group, call: self.groups[group].unlike.find(call)

    def _hear(self, source: int, key: Key, body: bytes) -> None:
        if key.group not in self.groups:
            raise FrameError("a frame of a group that is none")
        self.groups[key.group].hear(source, key, body)

    def survive(self, comm: MPI.Intracomm, terms: Terms) -> MpiTogether:
        """Get ready to survive failures, before there are any: all ranks do so together. Return the calls of all at once."""
        together = self.transport.together
        if together is None:
            # A duplicate needs all ranks: it is made while all live. After a death it is too late.
            together = self.group.together = self.transport.together = MpiTogether(MPI, comm.Dup(), self.transport.lock)
            with suppress(MPI.Exception):  # somebody has begun, and died: it is found as any death
                comm.Agree(1)  # Open MPI crashes where a communicator is revoked that some rank is still making
            self.transport.beside, self.group.terms = self._look, terms
            tell_joined(self.group)
            self.transport.start()
        return together

    def compare(self, comm: MPI.Intracomm, terms: Terms) -> MpiTogether:
        """Get ready to compare calls of MPI's own that survive nothing: all ranks do so together."""
        if self.compared is None:
            self.compared = MpiTogether(MPI, comm.Dup(), self.transport.lock)
            self.transport.beside, self.alone.terms = self._look, terms
            self.transport.look = max(self.transport.look, _LOOK_ALONE)
            self.transport.start()
        return self.compared

    def _look(self) -> None:
        """Beside calls of all ranks at once: leave one where others make another; end the job where none can be left.

        Ask the others where they are when it takes long.
        """
        for together, group in ((self.transport.together, self.group), (self.compared, self.alone)):
            group.catch_up()
            now, unlike, slow = group.unlike.now, group.unlike, self.waiting.slow
            began = now[0] if now else together.under_way if together else None
            if together is None or began is None:
                continue
            # A call that survives something is left: revoking ends it. One of MPI's own cannot be left, and ends the
            # job.
            survives, seconds = group is self.group, perf_counter() - began
            call = now[1] if now else group.agreement.number // PARTS
            if survives and (unlike.knows(call) or PARTS * call > group.agreement.final):
                together.end()
            elif slow is not None and began != self.asked and seconds >= slow:
                self.asked = began
                self.waiting.describe(group)
                self.waiting.ask(group, everyone=True)
            elif slow is not None and seconds >= slow:
                if seconds >= slow + self.waiting.answers:
                    self.waiting.tell_slow(group, seconds)
                # Each rank waits a little longer than the one below it: so one of them says why, and not all at once.
                if not survives and seconds >= slow + _TURN * min(group.rank, _TURNS):
                    self._abort(unlike.why_over(call))

    @staticmethod
    def _abort(why: str) -> None:
        """End the job for a call that nothing else can end."""
        if why:
            sys.stderr.write(f"treecast: {why}\n")
            say_last(f"ended the job: {why}", 1)
            MPI.COMM_WORLD.Abort(1)

    def group_of(self, terms: Terms) -> Group:
        """Return the group for calls on these terms."""
        return self.group if terms.survive else self.alone

    def get_ready(self, terms: Terms, number: int) -> Group:
        """Return the group for a call on these terms; ``number``: of the call."""
        group = self.group_of(terms)
        self.transport.deadline, group.terms = terms.deadline, terms
        # `begin` counts on from here: calls that MPI made by itself lie between.
        if group.carrier.alone:  # calls that are MPI's have numbers, too
            group.agreement.number = PARTS * (number - 1)
        return group

    def run(self, group: Group, steps: Steps[T]) -> T:
        """Carry out steps of a group. Raises MPI's exception where its calls are revoked."""
        transport = self.transport
        with transport.lock:
            transport.awaited, transport.spares = group.awaited, group.carrier.alone
            if transport.deadline is not None:  # a late rank may have been put out, and returns early else
                transport.wait(lambda: False, 0)
            try:
                return carry_out(steps, partial(self.waiting.wait, group))
            except Broken:
                raise MPI.Exception(MPI.ERR_REVOKED) from None

    def pay(self, group: Group) -> None:
        """Raise the error of a call that had ended here before this rank learned that calls were unlike."""
        self.run(group, group.unlike.pay())

    def end(self) -> None:
        """Part from the others before MPI ends."""
        self._part()
        tell_ended(self.transport, max(group.unlike.last for group in self.groups.values()))
        for rank in self.transport.lost:  # a launcher ends who does not end
            note("lost", "0", job_file(f"lost-{self.mark.world[rank]}"))

    def _part(self) -> None:
        """Answer others until none needs this rank any more."""
        transport = self.transport
        with transport.lock:
            for group, together in ((self.group, transport.together), (self.alone, self.compared)):
                transport.awaited, transport.spares = group.behind, False
                if together is not None:
                    transport.wait(partial(_may_part, group, [0.0]))
                    end_unlike([group])
        transport.close()

    def free(self) -> None:
        """Free the communicators; after a death they stay, since freeing them could wait for ever."""
        not_before_the_end(self.end)
        self._part()
        if self.transport.free() and self.compared is not None:
            self.compared.comm.Free()


def _may_part(group: Group, asked: list[float]) -> bool:
    """Return whether no other needs this rank any more; ``asked``: when they were last asked how far they are."""
    # Asked again: who was behind says how far it has come since.
    if monotonic() > asked[0] + _ASK:
        group.say_leaving(group.behind() if asked[0] else group.agreement.others())
        asked[0] = monotonic()
    return not (group.behind() or group.unlike.is_unexplained)


class CommState:
    """The things that calls on one communicator share.

    ``take_number()``: the number of the next collective. ``base``: the ranks for treecast's own calls, which all make together
    when it is first asked for. ``plans``: the same for calls that go by plans. ``worker``: for nonblocking calls. ``moves``:
    carries the contributions to sums that are folded here. ``deaths``: those of whom the program has heard.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = MPI.Intracomm(comm)
        self.take_number = count(1).__next__
        self.rank = Caller(MPI, Reader(MPI, comm.size), comm.rank, comm.size, OVER_MPI.sums)
        self.worker = Worker("treecast.mpi")
        self.deaths = Deaths("its communicator", "go on with Shrink, or wrap with on_failed='ignore'")

    @cached_property
    def base(self) -> Base:
        """The ranks for treecast's own calls. Collective when it is first asked for."""
        base = Base(self.comm)
        before_the_end(base.end)
        return base

    @cached_property
    def plans(self) -> "Plans":
        """The plans of calls, and what carries them. Collective when it is first asked for."""
        from treecast.mpi.plans import Plans  # which loads planners

        return Plans(self.comm, MPI, self.base.hosts, (self.base.group, self.base.alone))

    @cached_property
    def moves(self) -> MPI.Intracomm:
        """A duplicate for sums that are folded here. Collective when it is first asked for."""
        return MPI.Intracomm(self.comm.Dup())

    def rank_on(self, terms: Terms) -> Caller:
        """Return this rank as a reader of arguments on some terms."""
        return self.rank if terms.sums == self.rank.sums else self.rank._replace(sums=terms.sums)

    @property
    def dead(self) -> set[int]:
        """The ranks that have failed, as far as is known."""
        return set(self.base.transport.lost) if "base" in vars(self) else set()

    def revoke(self) -> None:
        """Have all leave the calls that some rank has not begun, and make none any more; this one may be in nonblocking ones."""
        if "base" not in vars(self):
            return
        transport, groups = self.base.transport, self.base.groups.values()
        for group in groups:
            group.agreement.final = min(group.agreement.final, group.agreement.number - group.unlike.is_inside)
        with transport.lock:  # which such a call gives back now
            for group in groups:
                group.unlike.revoke()
            if transport.together is not None:
                transport.together.end()

    def free(self) -> None:
        """Free all that is kept of MPI."""
        self.worker.stop()
        self.rank.reader.free()
        if "moves" in vars(self):
            self.moves.Free()
        if "base" in vars(self) and not self.base.transport.is_closed:  # else MPI is ending
            self.base.free()
            if "plans" in vars(self):
                self.plans.free(self.base.transport)


_KEY: list[int] = []  # under which a communicator keeps its state


def state_of(comm: Any) -> CommState:
    """Return the state of a communicator, which is made when it is first asked for."""
    if not _KEY:
        _KEY.append(MPI.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if not isinstance(found, CommState):
        found = CommState(comm)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: MPI.Comm, key: int, state: CommState) -> None:
    if not MPI.Is_finalized():
        state.free()
