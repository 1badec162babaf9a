"""The communicator: mpi4py's collectives on sockets, each with one outcome at all ranks that live."""

from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from itertools import count
from typing import TYPE_CHECKING, Any

from treecast.errors import PlanError
from treecast.running.algorithms.spread import share
from treecast.running.calls.call import Call
from treecast.running.calls.collectives import OBJECTS, ROWS
from treecast.running.calls.deaths import Deaths
from treecast.running.calls.member import Member
from treecast.running.calls.table import Caller, Failed, MethodRow, Plans, RankCall
from treecast.running.calls.worker import Worker
from treecast.running.groups.group import Group
from treecast.running.groups.unlike import called
from treecast.running.transport.sockets import Sockets
from treecast.tcp import library
from treecast.tcp.arguments import Reader
from treecast.tcp.job import JoinedJob
from treecast.tcp.messages import UNDEFINED, Messaging, Request

if TYPE_CHECKING:
    from treecast.networks import Network

_FEW = 2  # ranks between which data goes straight
_REACH = 2.0  # seconds in which members wait for the connection of a newcomer that others have


class Comm(Messaging, Member):
    """Ranks that make calls together over sockets; ``treecast.tcp.init`` makes the one of all ranks.

    It has mpi4py's collectives: capital ones on buffers and arrays, small ones on any objects, and ``Ibcast`` … as nonblocking
    ones. All ranks make the same calls in the same order, also over several communicators. Two ranks alone have ``Messaging``.

    ``rank``: the number of this rank. ``size``: how many ranks there are, also those that have failed: numbers stay. ``last``:
    the outcome of the last collective that was called on this object. ``process``: this process as a rank of the job. ``group``:
    makes the calls, and knows who takes part. ``worker``: makes those beside the program. ``is_new``: whether this
    rank was taken in later (``admit``), and nobody has shared anything with it yet.

    Examples
    --------
    >>> comm = treecast.tcp.init(survive=1)                         # doctest: +SKIP
    >>> comm.Allreduce(gradients, total)                            # doctest: +SKIP
    >>> comm.last.failed                                            # doctest: +SKIP
    ()
    """

    allgather: Callable[[Any], list[Any]]  # as all collectives, a method that ``add_methods`` makes
    bcast: Callable[..., Any]
    Bcast: Callable[..., None]
    barrier: Callable[[], None]
    own_way = "sockets"

    def __init__(self, process: JoinedJob, group: Group, is_new: bool = False) -> None:
        self.process, self.group, self.is_new, self.terms = process, group, is_new, group.terms
        self.rank, self.size, self.name = group.rank, group.size, "" if group.ident else "MPI_COMM_WORLD"
        self._ours = Caller(library, Reader(group.size), group.rank, group.size, self.terms.sums)
        self.deaths = Deaths("its communicator", "go on with Dup, or say on_failed='ignore'")
        self._network, self._plans = "", None
        # from 1: 0 would count as no number
        self._take_number, self.worker = count(1).__next__, process.workers[group.ident]
        if process.links is not None and not group.ident:  # parts of the job have no plans over the links
            where = process.links[1]
            if where.relays is not None:  # a relay is a rank here, and takes part
                from treecast.networks import Graph

                graph = where.to_networkx()
                where = Graph(f"{where.spec},ranks", where.labels(), [arc[:2] for arc in graph.edges()])
            self._go_by_plans(process.links[0].direct, where)

    def _go_by_plans(self, direct: Sockets, where: "Network", **how: Any) -> None:
        from treecast.running.engine.lane import Lane  # planners, which most jobs do without
        from treecast.running.engine.planned import Planned

        planned = Planned(partial(Lane, direct), where, **how)
        self._network, self._plans = planned.where.spec, planned.plans()

    def plan_between_hosts(self) -> None:
        """Have much data go by plans of one port a rank, as is best where each has a host of its own; all ranks say so.

        A broadcast then takes each rank about as long as it takes to receive the data once. Over a network that was named, and
        between two ranks, all stays as it is.
        """
        if self.process.links is None and self.size > _FEW:  # between two ranks a plan is the straight way
            from treecast.networks import network

            where = network(f"complete:{self.size}")
            self._go_by_plans(self.process.transport, where, model="one-port", copies=False)

    @property
    def members(self) -> tuple[int, ...]:
        """The ranks that take part, the same at all of them; who has failed in a call is in none later."""
        return tuple(self.group.agreement.members)

    def Get_rank(self) -> int:  # noqa: N802
        """Return the number of this rank."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        """Return how many ranks there are."""
        return self.size

    def __repr__(self) -> str:
        if not self:
            return "COMM_NULL"
        return f"treecast.tcp.Comm(rank {self.rank} of {self.size}, {len(self.members)} take part)"

    is_inter, is_intra = False, True
    Is_inter, Is_intra = partialmethod(getattr, "is_inter"), partialmethod(getattr, "is_intra")  # as methods, too
    Get_name, Set_name = partialmethod(getattr, "name"), partialmethod(setattr, "name")

    def __bool__(self) -> bool:
        # COMM_NULL was made without ``__init__``
        return "process" in vars(self)

    def __getattr__(self, name: str) -> Any:
        why = "is not here (docs/reference/tcp.md says why)" if self else "needs a communicator: this is COMM_NULL"
        raise AttributeError(f"{name} {why}")

    def Free(self) -> None:  # noqa: N802
        """Do nothing: a communicator takes memory alone, and answers ranks that are behind until the end."""

    def Split(self, color: int = 0, key: int = 0) -> "Comm":  # noqa: N802
        """Return a communicator of the ranks that say the same colour, in the order of keys; COMM_NULL for ``UNDEFINED``.

        Ranks that have failed are in none. Raises as any collective.
        """
        said = self.ask("Split", (color, key, self.process.next_group))
        living = [(rank, *each) for rank, each in enumerate(said) if each is not None]  # who has failed has no colour
        # All take the greatest number that any rank has next: ranks may have been in different communicators before.
        first = max(number for *_, number in living)
        colors = sorted({each[1] for each in living} - {UNDEFINED})  # all know all colours, and number the parts alike
        self.process.next_group = first + len(colors)
        if color == UNDEFINED:
            return COMM_NULL
        # equal keys: in the order of ranks
        ranks = [rank for _, rank in sorted((place, rank) for rank, named, place, _ in living if named == color)]
        seats = [self.group.seats[rank] for rank in ranks]
        return Comm(self.process, self.process.add_group(seats, first + colors.index(color), self.terms))

    def Dup(self) -> "Comm":  # noqa: N802
        """Return a communicator of the same ranks; of those that have failed it has none."""
        return self.Split(0, self.rank)

    Clone = Dup

    def admit(self) -> tuple[int, ...]:
        """Take in who has asked for it by now, and is reached by all; return their numbers.

        They are newcomers in the seats of ranks that have failed: ``treecast launch --tcp --respawn``, or whoever calls ``init``
        in a seat that has been taken before. They are members from the next call on, which has to be ``share``. All ranks call
        this; nobody waits for who has not come.
        """
        if self.group.ident:
            raise PlanError("newcomers are taken into the communicator of all ranks, not into a part of it")
        if self.process.links is not None:
            raise PlanError(f"nobody can join over the links of {self._network} yet")
        # in two rounds: the first tells who asks, the second who is reached by all
        heard = [each for each in self.ask("admit", self.process.applicants()) if each]
        # Who has asked some member, and now is reached by all: only such a newcomer is taken in.
        wanted = {seat: identity for each in heard for seat, identity in each.items() if seat not in self.members}
        if not wanted:
            return ()
        reached = self.ask("admit", self.process.applicants(wanted.values(), _REACH))
        everyone = [each for each in reached if each is not None]
        # the same process in that seat at all: one may have come anew meanwhile
        seats = sorted(seat for seat, who in wanted.items() if all(each.get(seat) == who for each in everyone))
        self.process.admit(self.group, seats)
        return tuple(seats)

    def share(self, arrays: Sequence[Any], lacks: bool | None = None) -> None:
        """Bring arrays that all old members have, with equal values, to those taken in by ``admit``; all ranks call this.

        Each array is contiguous, and of one length on all ranks. ``lacks``: whether this rank takes them; by
        default newcomers do. Raises DeliveryError when nobody who has the data lives.
        """
        self.worker.wait()
        for array in arrays:
            data = self._ours.reader.receive(array)
            steps = share(self.group, data.pieces[0], self.is_new if lacks is None else lacks)
            self.process.run(self.group, called(self.group, steps))
            if data.finish is not None:
                data.finish()
        self.is_new = False  # it has the data now, like all others

    def _job_of(self, *given: Any) -> RankCall:
        from treecast.running.engine.demands import job_of
        from treecast.running.engine.lane import Lane

        return job_of(self._ours, partial(Lane, self.process.transport), *given)

    @property
    def _here(self) -> tuple[Caller, Worker, Deaths]:
        return self._ours, self.worker, self.deaths

    @property
    def _group(self) -> Group:
        return self.group

    def _plans_of(self, row: MethodRow | None) -> tuple[Plans, str, str]:
        return self._plans, "trees", self._network

    def _carry_out(self, number: int, job: RankCall, plans: Plans = None) -> tuple[Any, Failed, Call]:
        call = Call(self._ours, self.group, partial(self.process.run, self.group), plans=plans)
        return (*call.carry_out(job), call)

    def _begin_work(self, work: Callable[[], Any]) -> Request:
        return Request(self.worker.begin(lambda: work() and None))

    @classmethod
    def add_methods(cls) -> None:
        """Give the class a method for each collective, and for messages."""
        super().add_methods()
        # there are no derived datatypes here, of which each block could have one
        rows = {name: row for name, row in ROWS.items() if row.blocks != "typed"}
        for name, row in (rows | OBJECTS).items():
            cls._add_call(name, row)
        for name, row in rows.items():
            cls._add_call(f"I{name.lower()}", row, begins=True)

    @classmethod
    def _add_call(cls, name: str, row: MethodRow | Callable[..., RankCall], begins: bool = False) -> None:
        def method(self: Comm, *arguments: Any, **named: Any) -> Any:
            if begins and isinstance(row, MethodRow):
                return self._begin(row, *arguments, **named)
            return self._go(name, row, self._take_number(), *arguments, **named)

        method.__name__, method.__qualname__ = name, f"Comm.{name}"
        method.__doc__ = row.make.__doc__ if isinstance(row, MethodRow) else row.__doc__
        setattr(cls, name, method)


Comm.add_methods()
COMM_NULL = Comm.__new__(Comm)
"""No communicator: what ``Split`` gives a rank that is in none of its parts. It is false, and makes no calls."""
