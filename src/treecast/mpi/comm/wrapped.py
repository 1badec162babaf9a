"""The communicator: mpi4py's own class, with treecast's way to carry out collectives put before MPI's."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, cast

from mpi4py import MPI

from treecast.algorithms import sums
from treecast.calls import objects
from treecast.calls.call import Call
from treecast.calls.collectives import OBJECTS, ROWS, least_bytes
from treecast.calls.deaths import Deaths
from treecast.calls.member import Member
from treecast.calls.table import Failed, Job, Plans, Rank, Row, adds, job_of
from treecast.calls.worker import Worker
from treecast.errors import PlanError
from treecast.groups.group import Group
from treecast.groups.shape import Shape
from treecast.groups.terms import OVER_MPI, Terms, check_alike
from treecast.groups.unlike import COMPARED
from treecast.mpi.comm.folded import folded
from treecast.mpi.comm.quick import Folding, Lane, Quick, is_short, quick_of
from treecast.mpi.comm.requests import Again, Pending, begin
from treecast.mpi.comm.state import State, state_of
from treecast.mpi.library import failed_ranks
from treecast.transport.base import Steps
from treecast.transport.marks import PARTS

_ULFM = "OMPI_MCA_mpi_ft_enable"  # which mpirun --with-ft ulfm sets
_IN_PLACE: Any = MPI.IN_PLACE
_COMPARED = COMPARED * PARTS
_MAKERS = (
    *("Dup", "Dup_with_info", "Clone", "Idup", "Idup_with_info"),
    *("Create", "Create_group", "Split", "Split_type", "Shrink"),
)


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
    _kept: State | None = None
    _lane: Lane | None = None  # of quick calls
    _folding: Folding | None = None  # of sums that are folded here, and survive nothing

    # -- other communicators -----------------------------------------------------------------------------------------

    if TYPE_CHECKING:  # mpi4py's types do not say that these are of the same class; a rank in none gets COMM_NULL

        def Create(self, group: MPI.Group) -> Self: ...  # noqa: D102, N802
        def Create_group(self, group: MPI.Group, tag: int = 0) -> Self: ...  # noqa: D102, N802
        def Split(self, color: int = 0, key: int = 0) -> Self: ...  # noqa: D102, N802
        def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Self: ...  # noqa: D102, N802
        def Shrink(self) -> Self: ...  # noqa: D102, N802

    def on_terms(self, terms: Terms, own: bool) -> Self:
        """Return this communicator on terms that are known to make sense; all its ranks call this together."""
        self.terms, self._straight, state = terms, own or terms.survive > 0, self._state
        self._take_number = state.take_number
        if terms.survive:  # after a death it is too late to make duplicates
            together = state.base.survive(state.comm, terms)
            if terms.deadline is None and terms.network is None and not terms.sure:
                self._lane = Lane(state, together, terms)
        if self._folds and not self._straight:  # in a worker it would cross calls that are MPI's own
            near, moves = state.base.near, state.moves
            self._folding = Folding(state, moves, terms) if near and terms.network is None else None
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
            made = parent(self, *arguments, **named)
            if isinstance(made, tuple):  # with a request, before the end of which it cannot be used
                made[0].terms, made[0]._straight = self.terms, self._straight
                return cast("Any", made)
            if made == MPI.COMM_NULL:  # it has no ranks here
                return made
            alike = made.size == self.size  # another number of ranks is joined otherwise
            own = self._straight and not self.terms.survive
            return type(self)(made).on_terms(self.terms if alike else self.terms._replace(network=None), own)

        return method

    # -- calls -------------------------------------------------------------------------------------------------------

    @property
    def _state(self) -> State:
        if self._kept is None:
            self._kept = state_of(self)
        return self._kept

    def _take_number(self) -> int:
        """Return the number of this call."""
        return self._state.take_number()

    @property
    def _here(self) -> tuple[Rank, Worker, Deaths]:
        state = self._state
        return state.rank_on(self.terms), state.worker, state.deaths

    @property
    def _group(self) -> Group:
        return self._state.base.group_of(self.terms)

    def _plans_of(self, row: Row | None) -> tuple[Plans, str, str]:
        state, (survive, *_), named = self._state, self.terms, self.terms.network
        way = state.plans.way(row, survive, named) if row and (named is not None or not state.base.near) else None
        if way is None and row and self._folds and adds(row.make) and not (survive or self._straight):
            return {row.algorithm: folded(state.moves, row.algorithm)}, "straight", ""
        return (None, "straight", "") if way is None else (way[2], way[0], way[1])

    @property
    def _folds(self) -> bool:
        """Whether sums have bits that are not MPI's."""
        return self.terms.sums != "any"

    def _carry_out(self, number: int, job: Job, plans: Plans = None) -> tuple[Any, Failed, Call]:
        state, terms = self._state, self.terms
        base = state.base
        group = base.get_ready(terms, number)
        call = Call(state.rank, group, partial(base.run, group), plans=plans)
        # with a deadline nobody waits for ever
        with base.mark if terms.survive and terms.deadline is None else nullcontext():
            return (*call.carry_out(job), call)

    def _job_of(self, *given: Any) -> Job:
        from treecast.engine.demands import job_of
        from treecast.mpi.plans import PlanLane

        return job_of(self._state.rank, partial(PlanLane, self._state.plans.transport), *given)

    def _begin_work(self, work: Callable[[], Any]) -> Pending:
        return begin(self._state.worker, work)

    def _go_by_size(self, row: Row, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Carry out a call that survives nothing: from its threshold on straight, or else by MPI."""
        parents = partial(BY_MPI[row.name], self, *arguments, **named)
        if row.own_from is None:
            return parents()
        state = self._state
        try:
            job = row.make(state.rank, *arguments, **named)
            given = job.read()
        except Exception:
            return parents()  # which raises the same
        if given.total >= self._least[row.name] and "_least" not in vars(self):  # all ranks find so, and ask together
            self._least = least_bytes(near=self.terms.network is None and state.base.near)
        if given.total < self._least[row.name]:
            return parents()
        state.worker.wait()
        return self.do(row.name, job._replace(read=lambda: given), row=row)[0]

    def _go_quickly(self, lane: Lane, quick: Quick, call: tuple[float, Row, tuple[Any, ...], dict[str, Any]]) -> bool:
        """Carry out a call of little data by MPI's own; return whether it was made."""
        (began, _, arguments, named), times = call, lane.times
        times[0] = inside = times[0] + 1
        lane.together.under_way = call
        try:
            if lane.group.agreement.next() % _COMPARED == 0:
                lane.compare()
            if (made := quick(lane, *arguments, **named)) is not None:
                ready = lane.sums.get(made[-1])
                self._last = began, lane.end(*made), (), "straight", "", ready.how.bits if ready else ""
                return True
        except MPI.Exception:
            lane.together.end()
        # a wrong argument: the others have to learn of it
        except (PlanError, TypeError, ValueError, AttributeError, IndexError):
            pass
        finally:
            lane.stop(began)
            times[0] = inside + 1
        return False

    def _make(self, name: str, make: Row | Callable[..., Job], /, *arguments: Any, **named: Any) -> Any:
        return self._go(name, make, self._take_number(), *arguments, **named)

    def _get_ready(self, row: Row, /, *arguments: Any, **named: Any) -> Again:
        """Return the request of a persistent collective, each start of which is a nonblocking one."""
        state, number = self._state, self._take_number()
        named.pop("info", None)
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
    def _own_method(row: Row) -> Callable[..., Any]:
        """Return the method of a collective.

        MPI broadcasts eight bytes in a few microseconds, in which Python can do little. So a call that survives nothing looks at
        the bytes of one argument, and is MPI's where they are few.
        """
        name, parent, by_mpi = row.name, getattr(MPI.Intracomm, row.name), BY_MPI[row.name]
        (first, other), quick, shared = (*row.sized_by, -1, -1)[:2], quick_of(row), row.shared
        moves_nothing, is_sum = row.algorithm is sums.barrier, adds(row.make)
        is_quick_sum = row.algorithm is sums.allreduce
        usual = "MPI", "", "any" if is_sum else ""

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            lane = self._lane
            if lane is not None and quick is not None:
                began, number = perf_counter(), lane.take_number()
                if lane.jobs.unfinished_tasks:
                    lane.jobs.join()
                if not lane.together.is_over and self._go_quickly(lane, quick, (began, row, arguments, named)):
                    return lane.pay() if lane.group.unlike.owed else None
                return self._go(name, row, number, *arguments, **named)
            if self._straight or (is_sum and self._folds):
                if moves_nothing and not self.terms.survive:
                    return by_mpi(self)
                folding = self._folding if is_quick_sum else None
                if folding is not None and (last := folding.allreduce(row, (arguments, named))) is not None:
                    self._last = last
                    return None
                return self._make(name, row, *arguments, **named)
            began = perf_counter()
            if len(arguments) > first >= 0:
                argument = arguments[first]
                if argument is _IN_PLACE and other >= 0:
                    argument = arguments[other]
                if is_short(argument, self._least[name] // (self.size if shared else 1)):
                    self._take_number()
                    parent(self, *arguments, **named)
                    self._last = began, perf_counter(), (), *usual
                    return None
            return self._go_by_size(row, arguments, named)

        return method

    @staticmethod
    def _either(name: str, straight: bool, own: Callable[..., Any], *first: Any) -> Callable[..., Any]:
        """Return a method that is MPI's where nothing is to be survived, and ``own`` else, with arguments put ``first``.

        ``straight``: it is ``own`` also where calls go treecast's way, however short they are.
        """
        by_mpi, last = Comm.by_mpi(name), first[-1]
        is_sum = adds(last.make if isinstance(last, Row) else last)

        @wraps(by_mpi)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            if (self._straight if straight else self.terms.survive) or (is_sum and self._folds):
                return own(self, *first, *arguments, **named)
            return by_mpi(self, *arguments, **named)

        return method

    @staticmethod
    def by_mpi(name: str) -> Callable[..., Any]:
        """Return a method that calls MPI's, which has a number too, and keeps that it did."""
        parent = getattr(MPI.Intracomm, name)
        usual = "MPI", "", "any" if name in ROWS and adds(ROWS[name].make) else ""

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            began, _ = perf_counter(), self._take_number()
            result = parent(self, *arguments, **named)
            self._last = began, perf_counter(), (), *usual
            return result

        return method


def _end_begun(call: Call, _: Any) -> tuple[None, Failed]:
    return None, call(_begun)


def _begun(group: Group) -> Steps[Failed]:
    """End a call in which only wrong arguments are told."""
    return (yield from group.settle(Shape("begin"))) or ()


BY_MPI = {name: Comm.by_mpi(name) for name in ROWS}
"""By the name of mpi4py's method: one that calls MPI's."""

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
    said = MPI.Intracomm(comm).allgather(terms.words()) if together else []
    terms.check()
    if own not in (True, False):
        raise PlanError(f"own is True or False, not {own!r}")
    if terms.late is not None and terms.deadline is None:
        raise PlanError("late needs a deadline over MPI, where calls may wait in MPI's own without one")
    if terms.survive and os.environ.get(_ULFM, "") not in ("1", "true"):
        raise PlanError(
            f"survive={terms.survive} needs a job that outlives a rank: start it by treecast launch -n RANKS -- COMMAND"
        )
    check_alike(dict(enumerate(said)))
    return Comm(comm).on_terms(terms, own)
