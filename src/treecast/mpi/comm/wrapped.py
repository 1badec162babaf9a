"""The communicator: mpi4py's own class, with treecast's way to carry out collectives put before MPI's."""

from collections.abc import Callable
from functools import partial, wraps
from time import perf_counter
from typing import Any, Self

from mpi4py import MPI

from treecast.errors import DeliveryError
from treecast.mpi.comm import sums as _sums  # whose jobs are registered then
from treecast.mpi.comm.again import Again
from treecast.mpi.comm.jobs import JOBS, Given, Job, job_of
from treecast.mpi.comm.last import Last
from treecast.mpi.comm.missing import tell_failed
from treecast.mpi.comm.objects import OBJECT_JOBS
from treecast.mpi.comm.options import Options
from treecast.mpi.comm.pending import Pending
from treecast.mpi.comm.state import State, state_of
from treecast.mpi.comm.trees import ways_of
from treecast.mpi.comm.ways import STRAIGHT, Ways
from treecast.mpi.engine.communicator import communicator_of
from treecast.mpi.ways.call import Call
from treecast.mpi.ways.thresholds import least_bytes

del _sums


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
    _least: dict[str, int] = least_bytes(near=False)  # until it is known whether all ranks share one memory
    _kept: State | None = None
    _last: tuple[Any, ...] = (0.0, 0.0, (), "", "")

    @property
    def last(self) -> Last:
        """What became of the last collective that was called on this object."""
        began, ended, *what = self._last
        failed, way, network = what or ((), "MPI", "")
        return Last(failed, way, network, ended - began)

    # -- other communicators -----------------------------------------------------------------------------------------

    def with_options(self, options: Options) -> Self:
        """Return this communicator with options that are known to make sense; all its ranks call this together."""
        self._options = options
        if options.survive:  # after a death it is too late to make duplicates
            _ = self._state.call
        if options.network is not None:
            communicator_of(self._state.comm).network("broadcast", options.survive, options.network)
        return self

    def _ways(self, name: str) -> Ways:
        """Return the ways of a call. Raises PlanError when the network does not fit."""
        state, options = self._state, self._options
        if options.network is None and state.call and state.near:
            return STRAIGHT
        return ways_of(communicator_of(state.comm), name, options)

    def __repr__(self) -> str:
        """Return how many ranks there are, how many failures are survived, and who has failed as far as is known."""
        if self == MPI.COMM_NULL:
            return super().__repr__()
        failed = state.dead if self._kept is not None and (state := self._kept.begun) is not None else ()
        return (
            f"<treecast.mpi.Comm of {self.size} ranks: survive={self._options.survive}, failed={tuple(sorted(failed))}>"
        )

    def _like_this(self, made: MPI.Comm) -> Any:
        """Return a new communicator as one of this class, or as it is when it has no ranks here."""
        if made == MPI.COMM_NULL:
            return made
        alike = made.size == self.size  # another number of ranks is joined otherwise
        return type(self)(made).with_options(self._options if alike else self._options._replace(network=None))

    def Dup(self, info: MPI.Info | None = None) -> Any:  # noqa: N802, D102
        return self._like_this(super().Dup(info))

    def Dup_with_info(self, info: MPI.Info) -> Any:  # noqa: N802, D102
        return self._like_this(super().Dup_with_info(info))

    def Clone(self) -> Any:  # noqa: N802, D102
        return self._like_this(super().Clone())

    def Idup(self, info: MPI.Info | None = None) -> Any:  # noqa: N802, D102
        made, request = super().Idup(info)
        made._options = self._options  # it cannot be used before the request is over
        return made, request

    def Idup_with_info(self, info: MPI.Info) -> Any:  # noqa: N802, D102
        made, request = super().Idup_with_info(info)
        made._options = self._options
        return made, request

    def Create(self, group: MPI.Group) -> Any:  # noqa: N802, D102
        return self._like_this(super().Create(group))

    def Create_group(self, group: MPI.Group, tag: int = 0) -> Any:  # noqa: N802, D102
        return self._like_this(super().Create_group(group, tag))

    def Split(self, color: int = 0, key: int = 0) -> Any:  # noqa: N802, D102
        return self._like_this(super().Split(color, key))

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Any:  # noqa: N802, D102
        return self._like_this(super().Split_type(split_type, key, info))

    def Shrink(self) -> Any:  # noqa: N802, D102
        return self._like_this(super().Shrink())

    # -- calls -------------------------------------------------------------------------------------------------------

    @property
    def _state(self) -> State:
        if self._kept is None:
            self._kept = state_of(self)
        return self._kept

    def _take_number(self) -> int:
        """Return the number of this call; the next time it is the counter itself that is asked."""
        vars(self)["_take_number"] = take = self._state.take_number
        return take()

    def _carry_out(self, number: int, read: Callable[[], Any], carry: Callable[[Call, Any], Any]) -> Any:
        """Carry a call out, and return what ``carry`` does. Raises what is wrong with the arguments when the others know it."""
        call, options = self._state.call, self._options
        call.number, call.survive, call.deadline = number - 1, options.survive, options.deadline
        call.beside = self._state.worker.busy  # which carries this call out, then
        call.begin()
        given, wrong = None, None
        try:
            given = read()
        except Exception as error:  # whatever it is, the others must not wait for this rank
            wrong, call.refused = error, f"{type(error).__name__}: {error}"
        # with a deadline nobody waits for ever
        mark = self._state.mark if options.survive and options.deadline is None else None
        if mark:
            mark.step()
        try:
            found = carry(call, given)
        except DeliveryError:
            if wrong is None:
                raise
            found = None
        finally:
            if mark:
                mark.step()
        if wrong is not None:
            raise wrong
        return found

    def _do(self, name: str, job: Job, ways: Ways, number: int, read: Callable[[], Given]) -> None:
        """Carry a job out, bring what has come to its place, and keep what became of it."""
        began = perf_counter()

        def carry(call: Call, given: Given | None) -> tuple[int, ...]:
            failed = job.carry_out(ways, call, given)
            if given is not None:
                given.finish()
            return failed

        failed = self._carry_out(number, read, carry)
        self._last = (began, perf_counter(), failed, ways.name, ways.network)
        if failed:
            tell_failed(self._state.call, name, failed, self._options.on_failed)

    def _go_by_size(self, name: str, number: int, arguments: tuple[Any, ...], **named: Any) -> None:
        """Carry out a call that survives nothing: from its threshold on straight, or else by MPI."""
        parents = partial(BY_MPI[name], self, *arguments, **named)
        if name not in self._least:
            return parents()
        state = self._state
        try:
            job = JOBS[name](state.rank, *arguments, **named)
            given = job.read()
        except Exception:
            return parents()  # which raises the same
        if given.total >= self._least[name] and "_least" not in vars(self):  # all ranks find so, and ask together
            self._least = least_bytes(near=self._options.network is None and bool(state.call) and state.near)
        if given.total < self._least[name]:
            return parents()
        state.worker.wait()
        return self._do(name, job, self._ways(name), number, lambda: given)

    def _begin(self, name: str, job: Job) -> Pending:
        """Have the worker carry out a call; the arguments are read at once."""
        state = self._state
        number, ways = self._take_number(), self._ways(name)
        wrong: list[Exception] = []
        given: list[Given] = []
        try:
            given.append(job.read())
        except Exception as error:
            wrong.append(error)

        def read() -> Given:
            for error in wrong:
                raise error
            return given[0]

        request = state.worker.begin(lambda: self._do(f"I{name.lower()}", job, ways, number, read))
        if wrong:
            request.Wait()  # which raises it
        return request

    # -- one method for each collective ------------------------------------------------------------------------------

    @classmethod
    def add_methods(cls) -> None:
        """Give the class a method for each collective."""
        for name in JOBS:
            setattr(cls, name, cls._own_method(name))
            setattr(cls, f"I{name.lower()}", cls._nonblocking_method(name))
            setattr(cls, f"{name}_init", cls._persistent_method(name))
        for name in OBJECT_JOBS:
            setattr(cls, name, cls._object_method(name))

    @staticmethod
    def _own_method(name: str) -> Callable[..., None]:
        """Return the method of a collective."""
        make, parents = JOBS[name], BY_MPI[name]

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> None:
            state, number = self._state, self._take_number()
            if not self._options.straight_always:
                return self._go_by_size(name, number, arguments, **named)
            if name == "Barrier" and not self._options.survive:
                return parents(self)
            state.worker.wait()
            job = job_of(make, state.rank, arguments, named)
            return self._do(name, job, self._ways(name), number, job.read)

        return method

    @staticmethod
    def _object_method(name: str) -> Callable[..., Any]:
        """Return the method of a collective of objects."""
        make, parents = OBJECT_JOBS[name], BY_MPI[name]

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            state, options = self._state, self._options
            number = self._take_number()
            if not options.straight_always or (name == "barrier" and not options.survive):
                return parents(self, *arguments, **named)
            state.worker.wait()
            began, job = perf_counter(), job_of(make, state.rank, arguments, named)
            found = self._carry_out(number, job.read, partial(job.carry, STRAIGHT))
            self._last = (began, perf_counter(), found[1], STRAIGHT.name, "")
            if found[1]:
                tell_failed(state.call, name, found[1], options.on_failed)
            return found[0]

        return method

    @staticmethod
    def _nonblocking_method(name: str) -> Callable[..., MPI.Request]:
        """Return the method of a nonblocking collective: of a worker's where failures are to be survived."""
        make, parents = JOBS[name], Comm.by_mpi(f"I{name.lower()}")

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> MPI.Request:
            state = self._state
            if not self._options.survive:
                return parents(self, *arguments, **named)
            return self._begin(name, job_of(make, state.rank, arguments, named))

        return method

    @staticmethod
    def _persistent_method(name: str) -> Callable[..., MPI.Prequest]:
        """Return the method of a persistent collective, each start of which is a nonblocking one."""
        make, parents = JOBS[name], Comm.by_mpi(f"{name}_init")

        @wraps(parents)
        def method(self: Comm, *arguments: Any, **named: Any) -> MPI.Prequest:
            state = self._state
            if not self._options.survive:
                return parents(self, *arguments, **named)
            named.pop("info", None)
            if arguments and isinstance(arguments[-1], MPI.Info):
                arguments = arguments[:-1]
            number = self._take_number()
            state.worker.wait()
            began, job = perf_counter(), job_of(make, state.rank, arguments, named)
            # what is wrong is said now, and to all: a start is too late for that
            self._carry_out(number, job.read, lambda call, _: STRAIGHT.barrier(call))
            self._last = (began, perf_counter(), (), STRAIGHT.name, "")
            return Again.of(lambda: self._begin(name, job))

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


BY_MPI = {name: Comm.by_mpi(name) for name in (*JOBS, *OBJECT_JOBS)}
"""By the name of mpi4py's method: one that calls MPI's."""


Comm.add_methods()
