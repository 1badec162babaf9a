"""The state that treecast keeps of a communicator: it hangs on the handle, and goes when the communicator is freed."""

import sys
from collections.abc import Sequence
from functools import cached_property
from itertools import count
from time import monotonic
from typing import Any

from mpi4py import MPI

from treecast.calls.collectives import has_holes
from treecast.calls.table import Failed, Rank
from treecast.errors import DeliveryError
from treecast.groups.group import Group
from treecast.groups.members import name_ranks
from treecast.mpi.comm.marks import Mark, before_the_end, not_before_the_end
from treecast.mpi.comm.requests import Worker
from treecast.mpi.plans import Plans
from treecast.mpi.reader import Reader
from treecast.mpi.transport import MpiTransport
from treecast.transport.base import Kind, Steps, T, carry_out
from treecast.transport.together import Together

_KINDS = (Kind.STATE, Kind.DECIDED, Kind.FETCH, Kind.ENDED, Kind.FENCE, Kind.LEFT)
_ASK = 0.05  # seconds after which others are asked again how far they are
_CALLS = 7  # of a group, that one call of the program makes at most; no divisor of the calls after which tags return


class Base:
    """The ranks of a communicator over a duplicate of it: ``group`` survives failures, ``alone`` survives nothing.

    ``near``: whether all ranks share one memory; ``hosts[r]``: the first rank on the host of rank r. ``mark`` tells the launcher
    of calls.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        here = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.near = here.size == comm.size
        self.hosts: list[int] = [0] * comm.size if self.near else comm.allgather(here.bcast(comm.rank))
        here.Free()
        self.transport = MpiTransport(MPI, comm.Dup())
        self.group, self.alone = (Group(self.transport, range(comm.size), ident) for ident in range(2))
        self.alone.alone = True
        for kind in _KINDS:
            self.transport.on(kind, self.group.hear)
        for group in (self.group, self.alone):
            self.transport.watch(group.lose)
        self.mark = Mark(comm)

    def survive(self, comm: MPI.Intracomm) -> Together:
        """Get ready to survive failures, before there are any: all ranks do so together. Return the calls of all at once."""
        together = self.transport.together
        if together is None:
            together = self.group.together = self.transport.together = Together(MPI, comm.Dup())
            comm.Barrier()  # Open MPI crashes where a communicator is revoked that some rank is still making
            self.transport.answer_beside()
        return together

    def get_ready(self, survive: int, deadline: float | None, number: int) -> Group:
        """Return the group for a call with these options; ``number``: of the call."""
        group = self.group if survive else self.alone
        self.transport.deadline = deadline
        group.survive, group.is_patient, group.late = survive, deadline is None, deadline
        if not survive:  # calls that are MPI's have numbers, too
            group.agreement.number = _CALLS * number
        return group

    def run(self, group: Group, steps: Steps[T]) -> T:
        """Carry out steps of a group."""
        transport = self.transport
        with transport.lock:
            transport.awaited = group.awaited
            transport.judge = transport.give_up if group.alone else transport.shut
            transport.dropped.clear()
            if transport.deadline is not None:  # a late rank may have been put out, and returns early else
                transport.hear()
            return carry_out(steps, transport.wait)

    def end(self) -> None:
        """Part from the others before MPI ends."""
        self._part()
        self.transport.let_go()

    def _part(self) -> None:
        """Answer others until none needs this rank any more."""
        transport, asked = self.transport, 0.0

        def may_part() -> bool:
            nonlocal asked
            if monotonic() > asked + _ASK:
                self.group.say_leaving(self.group.behind() if asked else self.group.agreement.others())
                asked = monotonic()
            return not self.group.behind()

        with transport.lock:
            transport.awaited, transport.judge = self.group.behind, transport.shut
            if transport.together is not None:
                transport.wait(may_part)
        transport.close()

    def free(self) -> None:
        """Free the communicators; after a death they stay, since freeing them could wait for ever."""
        not_before_the_end(self.end)
        self._part()
        self.transport.free()


class State:
    """The things that calls on one communicator share.

    ``take_number()``: the number of the next collective. ``base``: the ranks for treecast's own calls, which all make together
    when it is first asked for. ``plans``: the same for calls that go by plans. ``worker``:
    for nonblocking calls. ``told``: the dead of whom the program has heard.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = MPI.Intracomm(comm)
        self.take_number = count(1).__next__
        self.rank = Rank(MPI, Reader(MPI, comm.size), comm.rank, comm.size)
        self.worker = Worker()
        self.told = set[int]()

    @cached_property
    def base(self) -> Base:
        """The ranks for treecast's own calls. Collective when it is first asked for."""
        base = Base(self.comm)
        before_the_end(base.end)
        return base

    @cached_property
    def plans(self) -> Plans:
        """The plans of calls, and what carries them. Collective when it is first asked for."""
        return Plans(self.comm, MPI, self.base.hosts, (self.base.group, self.base.alone))

    @property
    def dead(self) -> set[int]:
        """The ranks that have failed, as far as is known."""
        return set(self.base.transport.lost) if "base" in vars(self) else set()

    def tell_failed(self, call: tuple[str, int], failed: Failed, target: int | None, on_failed: str) -> None:
        """Say that data of the dead is missing in a call that is over, as ``on_failed`` of ``wrap`` asks for.

        ``call``: the name and the number of the call. ``target``: the one rank that has a result, None when all do. All living
        ranks know the same ``failed``, so either all raise or none. The line comes once for each rank that has died. Raises
        DeliveryError with ``raise``; and with ``warn`` where blocks of the result are not those that the caller takes them for.
        """
        if on_failed == "ignore" or not failed:
            return
        (name, number), news = call, sorted(set(failed) - self.told)
        self.told.update(news)
        lost = target is not None and failed == (target,)
        holes = not lost and has_holes(name)
        if holes or on_failed == "raise":
            why = _left_out(failed, name, lost, holes)
            raise DeliveryError(f"{name}: {why}; go on with Shrink, or wrap with on_failed='ignore'")
        if news and self.rank.rank == min(set(self.base.group.agreement.members) - set(failed)):
            why = _left_out(news, name, lost, holes)
            sys.stderr.write(f"treecast: {name}, call {number} of its communicator: {why}, now and in later calls\n")
            sys.stderr.flush()

    def free(self) -> None:
        """Free all that is kept of MPI."""
        self.worker.stop()
        self.rank.reader.free()
        if "base" in vars(self) and not self.base.transport.is_closed:  # else MPI is ending
            self.base.free()
            if "plans" in vars(self):
                self.plans.free(self.base.transport)


def _left_out(ranks: Sequence[int], name: str, lost: bool, holes: bool) -> str:
    """Return who has died, and the result without them."""
    has, its = ("have", "their") if len(ranks) > 1 else ("has", "its")
    if lost:
        without = "nobody has the result, which was for it"
    elif holes:
        without = f"{its} part of the result is {'None' if name.islower() else 'whatever was there before'}"
    else:
        without = f"the result leaves out {its} data"
    return f"{name_ranks(ranks)} {has} died, and {without}"


_KEY: list[int] = []  # under which a communicator keeps its state


def state_of(comm: Any) -> State:
    """Return the state of a communicator, which is made when it is first asked for."""
    if not _KEY:
        _KEY.append(MPI.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if not isinstance(found, State):
        found = State(comm)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: MPI.Comm, key: int, state: State) -> None:
    if not MPI.Is_finalized():
        state.free()
