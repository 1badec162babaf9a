"""The communicator: mpi4py's own class, with treecast's way to carry out collectives put before MPI's."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, cast

from mpi4py import MPI

from treecast.algorithms import sums
from treecast.calls import objects
from treecast.calls.call import Call, Last
from treecast.calls.collectives import OBJECTS, ROWS, least_bytes
from treecast.calls.table import Failed, Job, Row, job_of, read_now
from treecast.errors import PlanError
from treecast.groups.group import Group
from treecast.groups.shape import Shape
from treecast.mpi.comm.options import Options, check_options
from treecast.mpi.comm.quick import Lane, quick_of
from treecast.mpi.comm.requests import Again, Pending
from treecast.mpi.comm.state import State, state_of
from treecast.transport.base import Steps

_LISTS = frozenset({list, tuple})
_IN_PLACE: Any = MPI.IN_PLACE
_MAKERS = (
    *("Dup", "Dup_with_info", "Clone", "Idup", "Idup_with_info"),
    *("Create", "Create_group", "Split", "Split_type", "Shrink"),
)


class Comm(MPI.Intracomm):
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

    _options: Options = Options()
    _straight = False  # whether every call that can goes treecast's own way, however short it is
    _least: dict[str, int] = least_bytes(near=False)  # until it is known whether all ranks share one memory
    _kept: State | None = None
    _lane: Lane | None = None  # of quick calls
    _last: tuple[Any, ...] = (0.0, 0.0, (), "", "")

    @property
    def last(self) -> Last:
        """The outcome of the last collective that was called on this object."""
        began, ended, *more = self._last
        failed, way, network = more or ((), "MPI", "")
        return Last(failed, way, network, ended - began)

    # -- other communicators -----------------------------------------------------------------------------------------

    if TYPE_CHECKING:  # mpi4py's types do not say that these are of the same class; a rank in none gets COMM_NULL

        def Create(self, group: MPI.Group) -> Self: ...  # noqa: D102, N802
        def Create_group(self, group: MPI.Group, tag: int = 0) -> Self: ...  # noqa: D102, N802
        def Split(self, color: int = 0, key: int = 0) -> Self: ...  # noqa: D102, N802
        def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Self: ...  # noqa: D102, N802
        def Shrink(self) -> Self: ...  # noqa: D102, N802

    def with_options(self, options: Options) -> Self:
        """Return this communicator with options that are known to make sense; all its ranks call this together."""
        self._options, self._straight, state = options, options.own or options.survive > 0, self._state
        self._take_number = state.take_number
        if options.survive:  # after a death it is too late to make duplicates
            together = state.base.survive(state.comm)
            if options.deadline is None and options.network is None:
                self._lane = Lane(state, together)
        if options.network is not None:
            state.plans.network("broadcast", options.survive, options.network)
        return self

    def __repr__(self) -> str:
        """Return how many ranks there are, how many failures are survived, and who has failed as far as is known."""
        if self == MPI.COMM_NULL:
            return super().__repr__()
        failed = () if self._kept is None else self._kept.dead
        return (
            f"<treecast.mpi.Comm of {self.size} ranks: survive={self._options.survive}, failed={tuple(sorted(failed))}>"
        )

    def _like_this(self, made: MPI.Comm) -> Any:
        """Return a new communicator as one of this class, or as it is when it has no ranks here."""
        if made == MPI.COMM_NULL:
            return made
        alike = made.size == self.size  # another number of ranks is joined otherwise
        return type(self)(made).with_options(self._options if alike else self._options._replace(network=None))

    @staticmethod
    def _making_method(name: str) -> Callable[..., Any]:
        """Return a method that makes another communicator."""
        parent = getattr(MPI.Intracomm, name)

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            made = parent(self, *arguments, **named)
            if isinstance(made, tuple):  # with a request, before the end of which it cannot be used
                made[0]._options, made[0]._straight = self._options, self._straight
                return cast("Any", made)
            return self._like_this(made)

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

    def _carry_out(
        self, number: int, read: Callable[[], Any], carry: Callable[[Call, Any], Any], plans: Any = None
    ) -> tuple[Any, bool]:
        """Carry a call out; return the result of ``carry``, and whether it went by a plan.

        Raises the errors of its arguments when the others know them.
        """
        state, options = self._state, self._options
        base = state.base
        group = base.get_ready(options.survive, options.deadline, number)
        call = Call(state.rank, group, partial(base.run, group), plans=plans)
        # with a deadline nobody waits for ever
        with base.mark if options.survive and options.deadline is None else nullcontext():
            return call.carry_out(read, carry), call.is_planned

    def _do(self, name: str, job: Job, number: int, row: Row | None = None) -> Any:
        """Carry a job out, keep its outcome, and return its result; by plans, where there are some for a row."""
        began, state, way, (survive, _, network, *_) = perf_counter(), self._state, None, self._options
        if row is not None and (network is not None or not state.base.near):
            way = state.plans.way(row, survive, network)
        (found, failed), by_plan = self._carry_out(number, job.read, job.carry, way and way[-1])
        self._last = began, perf_counter(), failed, *(way[:-1] if way and by_plan else ("straight", ""))
        if failed:
            self._state.tell_failed((name, number), failed, job.target, self._options.on_failed)
        return found

    def _go_straight(self, row: Row, number: int, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Carry out a call treecast's way, once those before it are over."""
        state = self._state
        state.worker.wait()
        job = job_of(row.make, state.rank, arguments, named)
        self._do(row.name, job, number, row)

    def _go_by_size(self, row: Row, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Carry out a call that survives nothing: from its threshold on straight, or else by MPI."""
        number, parents = self._take_number(), partial(BY_MPI[row.name], self, *arguments, **named)
        if row.own_from is None:
            return parents()
        state = self._state
        try:
            job = row.make(state.rank, *arguments, **named)
            given = job.read()
        except Exception:
            return parents()  # which raises the same
        if given.total >= self._least[row.name] and "_least" not in vars(self):  # all ranks find so, and ask together
            self._least = least_bytes(near=self._options.network is None and state.base.near)
        if given.total < self._least[row.name]:
            return parents()
        state.worker.wait()
        return self._do(row.name, job._replace(read=lambda: given), number, row)

    def _begin(self, row: Row, /, *arguments: Any, **named: Any) -> Pending:
        """Begin a nonblocking collective."""
        return self._begin_job(row, job_of(row.make, self._state.rank, arguments, named))

    def _begin_job(self, row: Row, job: Job) -> Pending:
        """Have the worker carry out a call; the arguments are read at once."""
        state, number, (job, is_right) = self._state, self._take_number(), read_now(job)
        request = state.worker.begin(lambda: self._do(f"I{row.name.lower()}", job, number, row))
        if not is_right:
            request.Wait()  # which raises it
        return request

    def _get_ready(self, row: Row, /, *arguments: Any, **named: Any) -> Again:
        """Return the request of a persistent collective, each start of which is a nonblocking one."""
        state, number = self._state, self._take_number()
        named.pop("info", None)
        if arguments and isinstance(arguments[-1], MPI.Info):
            arguments = arguments[:-1]
        state.worker.wait()
        began, job = perf_counter(), job_of(row.make, state.rank, arguments, named)
        # errors are said now, and to all: a start is too late for that
        self._carry_out(number, job.read, lambda call, _: call(_begun))
        self._last = (began, perf_counter(), (), "straight", "")
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
                setattr(cls, other, cls._surviving_method(other, row, own))
        for name in OBJECTS:
            setattr(cls, name, cls._object_method(name))

    @staticmethod
    def _own_method(row: Row) -> Callable[..., None]:
        """Return the method of a collective.

        MPI broadcasts eight bytes in a few microseconds, in which Python can do little. So a call that survives nothing looks at
        the bytes of one argument, and is MPI's where they are few.
        """
        name, parent, by_mpi = row.name, getattr(MPI.Intracomm, row.name), BY_MPI[row.name]
        (first, other), quick, shared = (*row.sized_by, -1, -1)[:2], quick_of(row), row.shared
        moves_nothing = row.algorithm is sums.barrier

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> None:
            lane = self._lane
            if lane is not None and quick is not None:
                began, number = perf_counter(), lane.take_number()
                if lane.jobs.unfinished_tasks:
                    lane.jobs.join()
                if not lane.together.is_over:
                    times = lane.times
                    lane.acquire()
                    times[0] = inside = times[0] + 1
                    try:
                        if quick(lane, *arguments, **named):
                            self._last = began, perf_counter(), (), "straight", ""
                            return None
                    except MPI.Exception:
                        lane.together.end()
                    except Exception:  # a wrong argument, of which the others have to learn
                        pass
                    finally:
                        times[0] = inside + 1
                        lane.release()
                return self._go_straight(row, number, arguments, named)
            if self._straight:
                number = self._take_number()
                if moves_nothing and not self._options.survive:
                    return by_mpi(self)
                return self._go_straight(row, number, arguments, named)
            began = perf_counter()
            if len(arguments) > first >= 0:
                argument = arguments[first]
                if argument is _IN_PLACE and other >= 0:
                    argument = arguments[other]
                if is_short(argument, self._least[name] // (self.size if shared else 1)):
                    self._take_number()
                    parent(self, *arguments, **named)
                    self._last = began, perf_counter()
                    return None
            return self._go_by_size(row, arguments, named)

        return method

    @staticmethod
    def _object_method(name: str) -> Callable[..., Any]:
        """Return the method of a collective of objects."""
        make, parents = OBJECTS[name], BY_MPI[name]

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            state, options, number = self._state, self._options, self._take_number()
            if not self._straight or (make is objects.barrier and not options.survive):
                return parents(self, *arguments, **named)
            state.worker.wait()
            return self._do(name, job_of(make, state.rank, arguments, named), number)

        return method

    @staticmethod
    def _surviving_method(name: str, row: Row, own: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that is MPI's where nothing is to be survived, and ``own`` else, with the row before its arguments."""
        parents = Comm.by_mpi(name)

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            if not self._options.survive:
                return parents(self, *arguments, **named)
            return own(self, row, *arguments, **named)

        return method

    @staticmethod
    def by_mpi(name: str) -> Callable[..., Any]:
        """Return a method that calls MPI's, and keeps that it did."""
        parent = getattr(MPI.Intracomm, name)

        @wraps(parent)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            began = perf_counter()
            result = parent(self, *arguments, **named)
            self._last = began, perf_counter()
            return result

        return method


def _begun(group: Group) -> Steps[Failed]:
    """End a call that only says whose arguments were refused."""
    return (yield from group.settle(Shape("begin"))) or ()


BY_MPI = {name: Comm.by_mpi(name) for name in (*ROWS, *OBJECTS)}
"""By the name of mpi4py's method: one that calls MPI's."""

Comm.add_methods()


def around(comm: Any, options: Options, *, together: bool = False) -> Comm:
    """Return a communicator as one of treecast's. Raises PlanError for one that has no ranks of one group.

    ``together``: all ranks call this now, and each says its options to the others first.
    """
    if not isinstance(comm, MPI.Comm):
        raise PlanError(f"a communicator of mpi4py can be wrapped, not {type(comm).__name__}: give MPI.COMM_WORLD, say")
    if comm == MPI.COMM_NULL:
        raise PlanError("COMM_NULL cannot be wrapped: it has no ranks")
    if comm.Is_inter():
        raise PlanError("an intercommunicator cannot be wrapped: Merge makes an intracommunicator of it")
    if together:
        _check_alike(comm, options)
    return Comm(comm).with_options(check_options(options))


def _check_alike(comm: MPI.Comm, options: Options) -> None:
    """Raise PlanError at all ranks when they have different options, or some that make no sense. Collective."""
    wrong: list[PlanError] = []
    try:
        check_options(options)
    except PlanError as error:
        wrong.append(error)
    said = None if wrong else str(options._replace(network=str(options.network)))
    everyone = set(MPI.Intracomm(comm).allgather(said))
    for error in wrong:
        raise error
    if len(everyone) > 1:
        raise PlanError("the ranks of a communicator wrap it with the same options")


def is_short(argument: Any, least: int) -> bool:
    """Return whether a glance shows that a valid argument has fewer than ``least`` bytes.

    A buffer has at least as many as are written of it, but for entries that overlap.
    """
    try:
        if type(argument) in _LISTS:
            return bool(argument[0].nbytes < least and argument[-1].is_predefined)
        return bool(argument.nbytes < least)
    except (AttributeError, IndexError):
        buffer = argument
    if type(argument) in _LISTS and len(argument) > 1:
        buffer, *_, last = argument
        if isinstance(last, MPI.Datatype) and not last.is_predefined:
            return False
    try:
        return memoryview(buffer).nbytes < least
    except (TypeError, BufferError):
        return False
