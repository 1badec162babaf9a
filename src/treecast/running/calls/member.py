"""The middle of a communicator, whatever its face: it makes the calls of the table, and tells how the last one ended."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from treecast.running.algorithms.exact import Exact
from treecast.running.algorithms.sums import Sums, allreduce
from treecast.running.calls import objects
from treecast.running.calls.call import Call, Last
from treecast.running.calls.deaths import Deaths
from treecast.running.calls.dump import CommGroups, dump, flight_record
from treecast.running.calls.table import ROWS, Caller, Failed, Given, MethodRow, Plans, RankCall, job_of
from treecast.running.calls.worker import Worker, done
from treecast.running.groups.group import Group
from treecast.running.groups.terms import Terms
from treecast.running.groups.words import Words
from treecast.running.transport.base import Piece


class Member:
    """A rank that makes calls with others. A face says who it is, and how a call is carried out."""

    terms = Terms()
    """What becomes of its calls when ranks fail."""
    _take_number: Callable[[], int]
    """Returns the number of a call of the program, alike at all ranks."""
    _last: tuple[Any, ...] = (0.0, 0.0, (), "", "", "")
    own_way = "straight"
    """Who carries a call out that goes by no plan."""

    @property
    def last(self) -> Last:
        """The outcome of the last collective that was called on this object."""
        began, ended, failed, way, network, bits = self._last
        return Last(failed, way, network, ended - began, bits)

    @property
    def stats(self) -> dict[str, int]:
        """How many events of each name there were at this rank (``running.transport.events``), and how many calls it keeps."""
        return {**self._group.transport.events.counts, "calls": len(self.calls())}

    def waiting(self) -> dict[int, str]:
        """Return for whom this rank waits in the call that it is in, and where they were when it last asked, after 5 s.

        It may be called by another thread. Empty where it is in no call.
        """
        group = self._group
        # outside of a call it waits for nobody
        return {rank: group.waiting.where(group, rank) for rank in group.awaited()} if group.unlike.is_inside else {}

    def calls(self) -> list[dict[str, Any]]:
        """Return the last 1,000 calls of this process as entries of PyTorch's flight recorder.

        They are those of all its communicators, over MPI of this one. TREECAST_DUMP keeps those of all.
        """
        return list(flight_record(self._part)["entries"])

    def dump(self, folder: str) -> Path:
        """Write the record of the last calls into a folder, in the form of PyTorch's flight recorder; return the file.

        ``torchfrtrace FOLDER --prefix treecast_rank_`` reads it. Raises FormatError where it cannot be written.
        """
        return dump(self._group.transport.rank, folder, self._part)

    @property
    def _part(self) -> CommGroups:
        """What this process keeps of its calls, by the ranks of its transport."""
        return CommGroups(self._group.waiting, range(self._group.transport.size))

    @property
    def _here(self) -> tuple[Caller, Worker, Deaths]:
        """This rank as a reader of arguments, who makes calls beside the program, and the deaths that it was told of."""
        raise NotImplementedError

    @property
    def _group(self) -> Group:
        """The group that makes the calls."""
        raise NotImplementedError

    def _plans_of(self, row: MethodRow | None) -> tuple[Plans, str, str]:
        """Return the plans of a call, the way that it goes, and the network."""
        raise NotImplementedError

    def _carry_out(self, number: int, job: RankCall, plans: Plans = None) -> tuple[Any, Failed, Call]:
        """Carry a job out; return its result, the failed ranks whose data is missing, and the call."""
        raise NotImplementedError

    def _begin_work(self, work: Callable[[], Any]) -> Any:
        """Have work done beside the program, after all that was begun before; return its request."""
        raise NotImplementedError

    def do(
        self, name: str, job: RankCall, number: int | None = None, row: MethodRow | None = None, title: str = ""
    ) -> tuple[Any, Failed]:
        """Carry out a call, and keep and tell its outcome; return its result and the failed ranks whose data is missing.

        ``name``: in mpi4py. ``title``: for the program, where it has another. Raises the errors of the call, and
        DeliveryError for data of the dead, as ``on_failed`` asks for.
        """
        # a call that was begun before has its number already
        number, began, (plans, *way) = number or self._take_number(), perf_counter(), self._plans_of(row)
        found, failed, call = self._carry_out(number, job, plans)
        # what went straight has no plan to name
        self._last = (began, perf_counter(), failed, *(way if call.is_planned else (self.own_way, "")), call.bits)
        self._here[2].tell((title or name, name, number), (failed, job.target), self._group, self.terms.on_failed)
        return found, failed

    def run(self, plan: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """Carry out the plan of a demand, from buffers into buffers; all ranks call this, node r of the plan is rank r.

        Parameters
        ----------
        plan : Schedule
            Of a demand, equal at all ranks.
        sendbuf : list of arrays, or a buffer
            The data of each class that this rank has something of, ``plan.collective.demand.given_by(rank)``, in order. A class
            may have any length, which its ranks agree on; of one buffer each chunk has as many entries. A rank without classes
            has an empty array of the type that the others have.
        recvbuf : list of arrays, or a buffer
            Where the classes go that this rank wants, ``plan.collective.demand.wanted_by(rank)``.
        op : Op, optional
            How sums are added, by default SUM: any that commutes.

        Raises
        ------
        UnlikeCallsError
            At all ranks, where plans, types or operations differ.
        PlanError
            For a plan of something else, or a wrong one, and for buffers that do not fit it.
        DeliveryError
            At all ranks that live, when one has died and data has not come, or when the plan has a rank that has failed before.
        """
        self._here[1].wait()
        self.do("run", self._job_of(plan, (sendbuf, recvbuf), op))
        # the builder of the plan stands for its way
        self._last = *self._last[:3], plan.builder or "plan", plan.network.spec, self._last[-1]

    def sum_exactly(self, mine: Piece, out: Piece, how: Exact) -> Failed:
        """Bring the exact sum of all ranks' contributions, bytes of entries, to all ranks; return whose are missing."""
        self._here[1].wait()
        width = np.dtype(np.float64).itemsize * how.columns  # an exact sum takes several float64 for one entry
        sums = Sums(None, None, len(mine) // width, bits="exact", exact=how)
        given = Given((mine, out, sums), len(mine), None, Words("", len(mine), how.spelled, "exact sum"), sums.bits)

        def carry(call: Call, given: Given) -> tuple[None, Failed]:
            return None, call(allreduce, *given.parts)

        return self.do("Allreduce", RankCall(lambda: given, carry, words=Words("Allreduce")), row=ROWS["Allreduce"])[1]

    def _job_of(self, *given: Any) -> RankCall:
        """Return the job of a plan on buffers."""
        raise NotImplementedError

    def ask(self, title: str, value: Any) -> list[Any]:
        """Return a value of each rank, None for the failed, in a call of another name; all ranks call this."""
        job, number = job_of(objects.allgather, self._here[0], (value,), {}), self._take_number()
        found, failed, _ = self._carry_out(number, job._replace(words=job.words._replace(name=title)))
        # holes are None there, so there is nothing to raise
        told = "ignore" if self.terms.on_failed == "ignore" else "warn"
        self._here[2].tell((title, "", number), (failed, None), self._group, told)
        return list(found)

    def _go(self, name: str, row: MethodRow | Callable[..., RankCall], number: int, *given: Any, **named: Any) -> Any:
        """Make a call, once those before it are over; return its result. ``row``: or the maker of its job."""
        self._here[1].wait()  # nonblocking calls that were begun before go first
        job = job_of(row.make if isinstance(row, MethodRow) else row, self._here[0], given, named)
        return self.do(name, job, number, row if isinstance(row, MethodRow) else None)[0]

    def _begin(self, row: MethodRow, /, *arguments: Any, **named: Any) -> Any:
        """Begin a nonblocking call; return its request. The arguments are read at once."""
        return self._begin_job(row, job_of(row.make, self._here[0], arguments, named))

    def _begin_job(self, row: MethodRow, job: RankCall) -> Any:
        # The arguments are read now, as the program may change them later. The number is taken now, alike at all
        # ranks.
        number, given = self._take_number(), done(job.read)
        read_now = job._replace(read=given.result)  # read already: the thread only fetches the result
        request = self._begin_work(lambda: self.do(f"I{row.name.lower()}", read_now, number, row))
        # wrong arguments: raised here, and not in the wait that the program may never make
        if given.exception() is not None:
            request.Wait()  # which raises it
        return request
