"""The communicator: mpi4py's collectives on sockets, each with one outcome at all ranks that live."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unfinished
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

from treecast.algorithms import personal, spread, sums
from treecast.algorithms.share import share
from treecast.errors import PlanError
from treecast.groups.group import Group, called
from treecast.mpi.comm import sums as _sums  # whose jobs are registered then
from treecast.mpi.comm.jobs import JOBS, Given, Job, Rank, job_of
from treecast.mpi.comm.last import Last
from treecast.mpi.comm.objects import OBJECT_JOBS
from treecast.mpi.comm.ways import Way, Ways
from treecast.tcp import library
from treecast.tcp.arguments import Reader
from treecast.tcp.job import Job as Process

del _sums
_WITHOUT = {"Alltoallw"}  # a datatype for each block: there are no derived ones here
_REACH = 2.0  # seconds in which members wait for the connection of a newcomer that others have
UNDEFINED = -32766
"""The colour of a rank that Split gives no communicator."""


@dataclass
class Call:
    """What the ways of a call share; ``refused`` says what is wrong with this rank's arguments, "" for nothing."""

    group: Group
    run: Callable[[Any], Any]
    refused: str = ""
    mpi: Any = library
    rank: int = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.rank, self.size = self.group.rank, self.group.size


def _way(steps: Callable[..., Any]) -> Way:
    def carry(call: Call, *parts: Any) -> tuple[int, ...]:
        failed = call.run(called(call.group, steps(call.group, *parts), call.refused))
        if not call.refused:
            call.group.check_arguments()
        return failed

    return carry


SOCKETS = Ways(
    "sockets",
    "",
    _way(spread.barrier),
    _way(spread.broadcast),
    _way(spread.allgather),
    _way(personal.alltoall),
    _way(personal.scatter),
    _way(personal.gather),
    _way(sums.reduce),
    _way(sums.allreduce),
    _way(sums.reduce_scatter),
    _way(sums.scan),
    _way(sums.exscan),
)


class Request:
    """A nonblocking call under way. What the call raises is raised by ``Wait`` and ``Test``."""

    def __init__(self, future: "Future[Any]") -> None:
        self._future = future

    def Wait(self) -> bool:  # noqa: N802
        """Wait until the call is over."""
        self._future.result()
        return True

    def Test(self) -> bool:  # noqa: N802
        """Return whether the call is over."""
        with suppress(Unfinished):
            self._future.result(0)
            return True
        return False

    @staticmethod
    def Waitall(requests: "Sequence[Request]") -> bool:  # noqa: N802
        """Wait until several calls are over."""
        for request in requests:
            request.Wait()
        return True

    wait, test, waitall = Wait, Test, Waitall


class Comm:
    """Ranks that make calls together over sockets; ``treecast.tcp.init`` makes the one of all ranks.

    It has mpi4py's collectives: capital ones on buffers and arrays, small ones on any objects, and ``Ibcast`` … as nonblocking
    ones. All ranks make the same calls in the same order, also over several communicators.

    Examples
    --------
    >>> comm = treecast.tcp.init(survive=1)                         # doctest: +SKIP
    >>> comm.Allreduce(gradients, total)                            # doctest: +SKIP
    >>> comm.last.failed                                            # doctest: +SKIP
    ()
    """

    def __init__(self, process: Process, group: Group, is_new: bool = False) -> None:
        self._process, self._group, self._is_new = process, group, is_new
        self._ours = Rank(library, Reader(group.size), group.rank, group.size)
        self._last = Last()

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._group.rank

    @property
    def size(self) -> int:
        """How many ranks there are, also those that have failed: numbers stay."""
        return self._group.size

    @property
    def members(self) -> tuple[int, ...]:
        """The ranks that take part, the same at all of them; who has failed in a call is in none later."""
        return tuple(self._group.agreement.members)

    @property
    def last(self) -> Last:
        """What became of the last collective that was called on this object."""
        return self._last

    @property
    def is_new(self) -> bool:
        """Whether this rank was taken in later (``admit``), and nobody has shared anything with it yet."""
        return self._is_new

    def Get_rank(self) -> int:  # noqa: N802
        """Return the number of this rank."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        """Return how many ranks there are."""
        return self.size

    def __repr__(self) -> str:
        return f"treecast.tcp.Comm(rank {self.rank} of {self.size}, {len(self.members)} take part)"

    # -- other communicators -----------------------------------------------------------------------------------------

    def Split(self, color: int = 0, key: int = 0) -> "Comm | None":  # noqa: N802
        """Return a communicator of the ranks that say the same colour, in the order of keys; None for ``UNDEFINED``.

        Ranks that have failed are in none. Raises what any collective raises.
        """
        said: list[Any] = getattr(self, "allgather")((color, key, self._process.next_group))  # noqa: B009
        known = {rank: each for rank, each in enumerate(said) if each is not None}
        first = max(each[2] for each in known.values())
        colors = sorted({each[0] for each in known.values()} - {UNDEFINED})
        self._process.next_group = first + len(colors)
        if color == UNDEFINED:
            return None
        ranks = sorted(
            (rank for rank, each in known.items() if each[0] == color), key=lambda rank: (known[rank][1], rank)
        )
        seats = [self._group.seats[rank] for rank in ranks]
        return Comm(self._process, self._process.add_group(seats, self._group.survive, first + colors.index(color)))

    def Dup(self) -> "Comm":  # noqa: N802
        """Return a communicator of the same ranks; of those that have failed it has none."""
        found = self.Split(0, self.rank)
        return self if found is None else found

    Clone = Dup

    # -- who comes back ----------------------------------------------------------------------------------------------

    def admit(self) -> tuple[int, ...]:
        """Take in who has asked for it by now, and is reached by all; return their numbers.

        They are newcomers in the seats of ranks that have failed: ``treecast launch --tcp --respawn``, or
        ``init(join=True)``. They are members from the next call on, which has to be ``share``. All ranks call this; nobody
        waits for who has not come.
        """
        if self._group.ident:
            raise PlanError("newcomers are taken into the communicator of all ranks, not into a part of it")
        gather = getattr(self, "allgather")  # noqa: B009
        heard = [each for each in gather(self._process.applicants()) if each]
        wanted = {
            seat: identity for each in heard for seat, identity in sorted(each.items()) if seat not in self.members
        }
        if not wanted:
            return ()
        reached: list[Any] = gather(self._process.applicants(wanted.values(), _REACH))
        everyone = [each for each in reached if each is not None]
        seats = sorted(
            seat for seat, identity in wanted.items() if all(each.get(seat) == identity for each in everyone)
        )
        self._process.admit(self._group, seats)
        return tuple(seats)

    def share(self, arrays: Sequence[Any]) -> None:
        """Bring arrays that all old members have, with equal values, to those taken in by ``admit``; all ranks call this.

        Each array is contiguous, and of one length on all ranks. Raises DeliveryError when nobody who has the data lives.
        """
        self._process.wait_for_begun()
        for array in arrays:
            data = self._ours.reader.receive(array)
            steps = share(self._group, data.pieces[0], self._is_new)
            self._process.run(self._group, called(self._group, steps))
            if data.finish is not None:
                data.finish()
        self._is_new = False

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(self) -> Call:
        return Call(self._group, partial(self._process.run, self._group))

    def _carry_out(self, call: Call, read: Callable[[], Any], carry: Callable[[Call, Any], Any]) -> Any:
        """Carry a call out; raise what is wrong with the arguments when the others know it."""
        wrong, given = None, None
        try:
            given = read()
        except Exception as error:  # whatever it is, the others must not wait for this rank
            wrong, call.refused = error, f"{type(error).__name__}: {error}"
        found = carry(call, given)
        if wrong is not None:
            raise wrong
        return found

    def _do(self, job: Job, read: Callable[[], Given]) -> None:
        began = perf_counter()

        def carry(call: Call, given: Given | None) -> tuple[int, ...]:
            failed = job.carry_out(SOCKETS, call, given)  # type: ignore[arg-type]
            if given is not None:
                given.finish()
            return failed

        failed = self._carry_out(self._call(), read, carry)
        self._last = Last(failed, SOCKETS.name, "", perf_counter() - began)

    def _begin(self, job: Job) -> Request:
        """Have the worker carry out a call; the arguments are read at once."""
        wrong: Exception | None = None
        given: Given | None = None
        try:
            given = job.read()
        except Exception as error:
            wrong = error

        def read() -> Given:
            if given is None:
                raise wrong or ValueError("there are no arguments")
            return given

        return Request(self._process.begin(lambda: self._do(job, read)))

    @classmethod
    def add_methods(cls) -> None:
        """Give the class a method for each collective."""
        for name in JOBS.keys() - _WITHOUT:
            setattr(cls, name, cls._method(name))
            setattr(cls, f"I{name.lower()}", cls._nonblocking_method(name))
        for name in OBJECT_JOBS:
            setattr(cls, name, cls._object_method(name))

    @staticmethod
    def _method(name: str) -> Callable[..., None]:
        make = JOBS[name]

        def method(self: Comm, *arguments: Any, **named: Any) -> None:
            self._process.wait_for_begun()
            job = job_of(make, self._ours, arguments, named)
            self._do(job, job.read)

        return _named(method, name, make)

    @staticmethod
    def _nonblocking_method(name: str) -> Callable[..., Request]:
        make = JOBS[name]

        def method(self: Comm, *arguments: Any, **named: Any) -> Request:
            return self._begin(job_of(make, self._ours, arguments, named))

        return _named(method, f"I{name.lower()}", make)

    @staticmethod
    def _object_method(name: str) -> Callable[..., Any]:
        make = OBJECT_JOBS[name]

        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            self._process.wait_for_begun()
            began, job = perf_counter(), job_of(make, self._ours, arguments, named)
            found, failed = self._carry_out(self._call(), job.read, partial(job.carry, SOCKETS))
            self._last = Last(failed, SOCKETS.name, "", perf_counter() - began)
            return found

        return _named(method, name, make)


def _named(method: Callable[..., Any], name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    method.__name__, method.__qualname__ = name, f"Comm.{name}"
    method.__doc__ = make.__doc__
    return method


Comm.add_methods()
