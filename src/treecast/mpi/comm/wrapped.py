"""The communicator: mpi4py's own class, with treecast's way to carry out collectives put before MPI's."""

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial, wraps
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, cast

from mpi4py import MPI

from treecast.errors import PlanError
from treecast.mpi.comm.folded import folded
from treecast.mpi.comm.forms import WRONG, word_of
from treecast.mpi.comm.quick import QuickCalls, Ready
from treecast.mpi.comm.requests import Again, Pending, begin
from treecast.mpi.comm.state import CommState, state_of
from treecast.mpi.library import failed_ranks
from treecast.running.algorithms import sums
from treecast.running.calls import objects
from treecast.running.calls.call import Call
from treecast.running.calls.collectives import OBJECTS, ROWS, least_bytes
from treecast.running.calls.deaths import Deaths
from treecast.running.calls.member import Member
from treecast.running.calls.table import Caller, Failed, Given, MethodRow, Plans, RankCall, adds, job_of, name_of
from treecast.running.calls.worker import Worker
from treecast.running.groups.group import Group
from treecast.running.groups.shape import Shape
from treecast.running.groups.terms import OVER_MPI, Terms, check_alike
from treecast.running.groups.unlike import COMPARED
from treecast.running.groups.words import NO_WORDS, Words
from treecast.running.transport.base import Steps

_ULFM = "OMPI_MCA_mpi_ft_enable"  # which mpirun --with-ft ulfm sets
_MADE_BY_ALL = ("Dup", "Dup_with_info", "Clone", "Create", "Split", "Split_type")
_MAKERS = (*_MADE_BY_ALL, "Idup", "Idup_with_info", "Create_group", "Shrink")


class Comm(Member, MPI.Intracomm):
    """A communicator of mpi4py whose collectives treecast carries out where that gains something, and MPI elsewhere.

    It has the handle of the communicator that it was made from, and goes wherever that one goes. ``treecast.mpi.wrap`` makes it.
    Communicators made from it by Dup, Clone, Idup, Split, Split_type, Create, Create_group and Shrink are of its kind too, with
    its options.

    Examples
    --------
    >>> comm = treecast.mpi.wrap(MPI.COMM_WORLD)                    # doctest: +SKIP
    >>> comm.Bcast(data, root=0)                                    # doctest: +SKIP
    >>> comm.last.way                                               # doctest: +SKIP
    'straight'
    """

    terms = OVER_MPI
    _straight = False  # whether every call that can goes treecast's own way, however short it is
    _least: dict[str, int] = least_bytes(near=False)  # until it is known whether all ranks share one memory
    _kept: CommState | None = None
    _lane: QuickCalls | None = None  # of calls that go past the group

    # -- other communicators -----------------------------------------------------------------------------------------

    if TYPE_CHECKING:  # mpi4py's types do not say that these are of the same class; a rank in none gets COMM_NULL

        def Create(self, group: MPI.Group) -> Self: ...  # noqa: D102, N802
        def Create_group(self, group: MPI.Group, tag: int = 0) -> Self: ...  # noqa: D102, N802
        def Split(self, color: int = 0, key: int = 0) -> Self: ...  # noqa: D102, N802
        def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Self: ...  # noqa: D102, N802
        def Shrink(self) -> Self: ...  # noqa: D102, N802

    def on_terms(self, terms: Terms, own: bool, watched: bool = True) -> Self:
        """Return this communicator on terms that are known to make sense; all its ranks call this together.

        ``watched``: whether calls of MPI's own are compared, too.
        """
        self.terms, self._straight, state = terms, own or terms.survive > 0, self._state
        self._take_number = state.take_number
        together, comm = None, None
        if terms.survive:  # after a death it is too late to make duplicates
            together = state.base.survive(state.comm, terms)
        elif watched and not own and self.size > 1:
            together = state.base.compare(state.comm, terms)
            self._least = least_bytes(near=terms.network is None and state.base.near)
            if self._folds and state.base.near and terms.network is None:
                comm = state.moves
        if together and (not terms.survive or (terms.deadline is None and terms.network is None and not terms.sure)):
            self._lane = QuickCalls(state, terms, (together, comm), self._least)
        if terms.network is not None:
            state.plans.network("broadcast", terms.survive, terms.network)
        return self

    def __repr__(self) -> str:
        """Return how many ranks there are, how many failures are survived, and who has failed as far as is known."""
        if self == MPI.COMM_NULL:
            return super().__repr__()
        failed = () if self._kept is None else self._kept.dead
        return f"<treecast.mpi.Comm of {self.size} ranks: survive={self.terms.survive}, failed={tuple(sorted(failed))}>"

    def Sendrecv(  # noqa: N802, D102
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, *rest: Any, **named: Any
    ) -> None:
        if (rest[0] if rest else named.get("source")) != MPI.PROC_NULL:
            super().Sendrecv(sendbuf, dest, sendtag, recvbuf, *rest, **named)
        else:  # Open MPI 5.0 crashes where one of these is revoked
            self.Send(sendbuf, dest, sendtag)
            self.Recv(recvbuf, *rest, **{name.removeprefix("recv"): value for name, value in named.items()})

    def Sendrecv_replace(self, buf: Any, dest: int, sendtag: int = 0, *rest: Any, **named: Any) -> None:  # noqa: N802, D102
        if (rest[0] if rest else named.get("source")) != MPI.PROC_NULL:
            super().Sendrecv_replace(buf, dest, sendtag, *rest, **named)
        else:
            self.Sendrecv(buf, dest, sendtag, buf, *rest, **named)

    def Revoke(self) -> None:  # noqa: N802
        """End messages and calls on this communicator at all ranks: they raise ERR_REVOKED from now on; ``Shrink`` goes on.

        A call that some rank has ended, as all have begun it, ends at all others, too: so it has one outcome.
        """
        super().Revoke()
        self._state.revoke()

    def recover(self, error: Exception, *others: MPI.Comm) -> Self:
        """Return a communicator of the living, when a message or a call has failed as a rank has died; all that live come here.

        ``others``: communicators made of this one, on which ranks may wait, too: Cartesian ones, say. Raises the error itself
        when nobody has died.
        """
        comms = (self, *others)
        if isinstance(error, MPI.Exception) and not any(each.Is_revoked() or failed_ranks(MPI, each) for each in comms):
            raise error
        for each in comms:
            each.Revoke()
        return self.Shrink()

    @staticmethod
    def _making_method(name: str) -> Callable[..., Any]:
        """Return a method that makes another communicator."""
        parent = getattr(MPI.Intracomm, name)

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            if self.Is_revoked():  # by another rank, and this one comes to Shrink
                self._state.revoke()
            make = partial(parent, self, *arguments, **named)
            made = self._make_another(name, make) if name in _MADE_BY_ALL else make()
            if isinstance(made, tuple):  # with a request, before the end of which it cannot be used
                made[0].terms, made[0]._straight = self.terms, self._straight
                return cast("Any", made)
            if made == MPI.COMM_NULL:  # it has no ranks here
                return made
            alike = made.size == self.size  # another number of ranks is joined otherwise
            own = self._straight and not self.terms.survive
            return type(self)(made).on_terms(self.terms if alike else self.terms._replace(network=None), own)

        return method

    def _make_another(self, name: str, make: Callable[[], Any]) -> Any:
        """Make another communicator once all ranks are known to: MPI would wait for who makes another call."""
        number, words = self._take_number(), Words(name)
        if not self.terms.survive:
            ready = Ready.of(words)._replace(meets=True)
            return make() if self._lane is None else self._lane.own(perf_counter(), number, ready, make)
        self._state.worker.wait()
        self._carry_out(number, RankCall(tuple, _end_begun, words=words))
        return make()

    # -- calls -------------------------------------------------------------------------------------------------------

    @property
    def _state(self) -> CommState:
        if self._kept is None:
            self._kept = state_of(self)
        return self._kept

    def _take_number(self) -> int:
        """Return the number of this call."""
        return self._state.take_number()

    @property
    def _here(self) -> tuple[Caller, Worker, Deaths]:
        state = self._state
        return state.rank_on(self.terms), state.worker, state.deaths

    @property
    def _group(self) -> Group:
        return self._state.base.group_of(self.terms)

    def _plans_of(self, row: MethodRow | None) -> tuple[Plans, str, str]:
        state, (survive, *_), named = self._state, self.terms, self.terms.network
        way = state.plans.way(row, survive, named) if row and (named is not None or not state.base.near) else None
        if way is None and row and self._folds and adds(row.make) and not (survive or self._straight):
            begin = None if self._lane is None else self._lane.meet_long
            return {row.algorithm: folded(state.moves, row.algorithm, begin)}, "straight", ""
        return (None, "straight", "") if way is None else (way[2], way[0], way[1])

    @property
    def _folds(self) -> bool:
        """Whether sums have bits that are not MPI's."""
        return self.terms.sums != "any"

    def _carry_out(self, number: int, job: RankCall, plans: Plans = None) -> tuple[Any, Failed, Call]:
        state, terms = self._state, self.terms
        base, lane = state.base, self._lane
        # now and then the last calls are compared
        if lane is not None and number % COMPARED == 0 and not terms.survive:
            lane.meet(number)
        group = base.get_ready(terms, number)
        call = Call(state.rank, group, partial(base.run, group), plans=plans)
        # with a deadline nobody waits for ever
        with base.mark if terms.survive and terms.deadline is None else nullcontext():
            return (*call.carry_out(job), call)

    def _job_of(self, *given: Any) -> RankCall:
        from treecast.mpi.plans import PlanLane
        from treecast.running.engine.demands import job_of

        return job_of(self._state.rank, partial(PlanLane, self._state.plans.transport), *given)

    def _begin_work(self, work: Callable[[], Any]) -> Pending:
        return begin(self._state.worker, work)

    def _go_by_size(self, row: MethodRow, number: int, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Carry out a call that survives nothing: from its threshold on straight, or else by MPI."""
        state, words, is_short = self._state, Words(row.name, is_wrong=True), True
        parents, given = partial(getattr(MPI.Intracomm, row.name), self, *arguments, **named), Given((), 0)
        job = job_of(row.make, state.rank, arguments, named)
        if row.own_from is not None or self._lane is not None:
            with suppress(Exception):  # MPI raises the same
                given = job.read()
                words, is_short = job.words_of(given), given.total < self._least.get(row.name, inf)
                if not is_short and "_least" not in vars(self):  # all ranks find so, and ask together
                    self._least = least_bytes(near=self.terms.network is None and state.base.near)
                    is_short = given.total < self._least[row.name]
        if is_short:
            return self._go_by_mpi(number, words, parents, "any" if adds(row.make) else "")
        state.worker.wait()
        return self.do(row.name, job._replace(read=lambda: given), number, row)[0]

    def _go_by_mpi(self, number: int, words: Words, call: Callable[[], Any], bits: str = "") -> Any:
        """Make a call of MPI's own that survives nothing."""
        began, lane = perf_counter(), self._lane
        result = call() if lane is None else lane.own(began, number, Ready.of(words), call)
        self._last = began, perf_counter(), (), "MPI", "", bits
        return result

    def _make(self, name: str, make: MethodRow | Callable[..., RankCall], /, *arguments: Any, **named: Any) -> Any:
        return self._go(name, make, self._take_number(), *arguments, **named)

    def _get_ready(self, row: MethodRow, /, *arguments: Any, **named: Any) -> Again:
        """Return the request of a persistent collective, each start of which is a nonblocking one."""
        state, number = self._state, self._take_number()
        named.pop("info", None)  # MPI's own has an Info last
        if arguments and isinstance(arguments[-1], MPI.Info):
            arguments = arguments[:-1]
        state.worker.wait()
        began, job = perf_counter(), job_of(row.make, state.rank, arguments, named)
        # errors are said now, and to all: a start is too late for that
        self._carry_out(number, job._replace(carry=_end_begun))
        self._last = (began, perf_counter(), (), "straight", "", "")
        return Again.of(lambda: self._begin_job(row, job))

    # -- one method for each collective ------------------------------------------------------------------------------

    @classmethod
    def add_methods(cls) -> None:
        """Give the class a method for each collective, and for each way to make another communicator."""
        for name in _MAKERS:
            setattr(cls, name, cls._making_method(name))
        for name, row in ROWS.items():
            setattr(cls, name, cls._own_method(row))
            for other, own in ((f"I{name.lower()}", cls._begin), (f"{name}_init", cls._get_ready)):
                setattr(cls, other, cls._either(other, False, own, row))
        for name, make in OBJECTS.items():
            setattr(cls, name, cls._either(name, make is not objects.barrier, cls._make, name, make))

    @staticmethod
    def _own_method(row: MethodRow) -> Callable[..., Any]:
        """Return the method of a collective.

        A call that survives nothing, and is short, is MPI's.
        """
        name, parent = row.name, getattr(MPI.Intracomm, row.name)
        moves_nothing, is_sum = row.algorithm is sums.barrier, adds(row.make)

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            lane, number = self._lane, self._take_number()
            if lane is not None and (last := lane.go(self, row, number, arguments, named)) is not None:
                self._last = last
                return None
            if (self._straight and (self.terms.survive or not moves_nothing)) or (is_sum and self._folds):
                if lane is None:
                    return self._go(name, row, number, *arguments, **named)
                self._here[1].wait()
                job = job_of(row.make, self._here[0], arguments, named)
                return self.do(name, lane.in_two_stages(job), number, row)[0]
            return self._go_by_size(row, number, arguments, named)

        return method

    @staticmethod
    def _either(name: str, straight: bool, own: Callable[..., Any], *first: Any) -> Callable[..., Any]:
        """Return a method that is MPI's where nothing is to be survived, and ``own`` else, with arguments put ``first``.

        ``straight``: it is ``own`` also where calls go treecast's way, however short they are.
        """
        last = first[-1]
        by_mpi = Comm.by_mpi(name, None if isinstance(last, MethodRow) else last)
        is_sum = adds(last.make if isinstance(last, MethodRow) else last)

        @wraps(by_mpi)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            if (self._straight if straight else self.terms.survive) or (is_sum and self._folds):
                return own(self, *first, *arguments, **named)
            return by_mpi(self, *arguments, **named)

        return method

    @staticmethod
    def by_mpi(name: str, make: Callable[..., RankCall] | None = None) -> Callable[..., Any]:
        """Return a method that calls MPI's, which has a number too, and keeps that it did; ``make``: the job of objects."""
        parent, known = getattr(MPI.Intracomm, name), dict[Any, Words]()

        def words_of(ours: Caller, arguments: tuple[Any, ...], named: dict[str, Any]) -> Words:
            if make is None:
                return Words(name)
            try:
                # read once for each form of arguments
                key = *map(_form_of, arguments[1:]), *named, *map(_form_of, named.values())
                if key not in known:
                    known[key] = job_of(make, ours, arguments, named).words
            except WRONG:
                return Words(name, is_wrong=True)
            return known[key]

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            words = NO_WORDS if self._lane is None else words_of(self._lane.ours, arguments, named)
            return self._go_by_mpi(self._take_number(), words, partial(parent, self, *arguments, **named))

        return method


def _form_of(argument: Any) -> Any:
    """Return the form of an argument of a call on objects, which may be added by a function of the program."""
    return name_of(MPI, argument) if callable(argument) and not isinstance(argument, MPI.Op) else word_of(argument)


def _end_begun(call: Call, _: Any) -> tuple[None, Failed]:
    return None, call(_begun)


def _begun(group: Group) -> Steps[Failed]:
    """End a call in which only wrong arguments are told."""
    return (yield from group.settle(Shape("begin"))) or ()


Comm.add_methods()


def around(comm: Any, terms: Terms, *, own: bool = False, together: bool = False) -> Comm:
    """Return a communicator as one of treecast's. Raises PlanError for one without ranks of one group, and for wrong terms.

    ``own``: whether every call goes treecast's way. ``together``: all ranks call this now, and each says its terms to the
    others first.
    """
    if not isinstance(comm, MPI.Comm):
        raise PlanError(f"a communicator of mpi4py can be wrapped, not {type(comm).__name__}: give MPI.COMM_WORLD, say")
    if comm == MPI.COMM_NULL:
        raise PlanError("COMM_NULL cannot be wrapped: it has no ranks")
    if comm.Is_inter():
        raise PlanError("an intercommunicator cannot be wrapped: Merge makes an intracommunicator of it")
    # Before any check that may fail at some rank alone: else the others would wait here.
    said = MPI.Intracomm(comm).allgather(terms.words()) if together else []
    terms.check()
    if own not in (True, False):
        raise PlanError(f"own is True or False, not {own!r}")
    if terms.late is not None and terms.deadline is None:
        raise PlanError("late needs a deadline over MPI, where calls may wait in MPI's own without one")
    if terms.survive and os.environ.get(_ULFM, "") not in ("1", "true"):
        how = "without --tcp" if "TREECAST_MEET" in os.environ else "by treecast launch -n RANKS -- COMMAND"
        raise PlanError(f"survive={terms.survive} needs a job that outlives a rank: start it {how}")
    check_alike(dict(enumerate(said)))
    return Comm(comm).on_terms(terms, own, together)
