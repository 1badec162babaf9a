"""Calls of MPI's own that go past a group, in as few lines of Python as go while nobody has failed; they are compared.

Ranks that share cores wait for each other's Python, so it counts several times. A call is kept *ready* by the forms of its
arguments (``mpi.comm.forms``); the first of a form is read as any call, and the table of little data (``algorithms.little``) says
which call of MPI brings it, and what is taken of that. A call that is not plain, or fails, goes the way of all calls (``Comm``),
which makes the same calls of MPI: a rank that goes that way fits in with those that go this one.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from mpi4py import MPI

from treecast.mpi.comm.forms import BUFFERS, LISTS, WRONG, form_of_call, in_order
from treecast.mpi.comm.long import NOTHING, LongCalls
from treecast.mpi.comm.makers import Copies, Make, folder, maker, packer
from treecast.mpi.comm.state import CommState
from treecast.mpi.together import MpiTogether
from treecast.running.algorithms.little import plan_of
from treecast.running.algorithms.packed import PackedCall
from treecast.running.calls.call import Call
from treecast.running.calls.collectives import ROWS
from treecast.running.calls.sums import COUNT
from treecast.running.calls.table import Failed, MethodRow, RankCall, job_of
from treecast.running.groups.pace import AHEAD
from treecast.running.groups.terms import Terms
from treecast.running.groups.unlike import COMPARED
from treecast.running.groups.words import Words
from treecast.running.transport.base import SMALL
from treecast.running.transport.marks import PARTS

_BYTE = MPI.BYTE
_EAGER = int(os.environ.get("OMPI_MCA_btl_sm_eager_limit", 4096))  # noqa: SIM112
"""Bytes from which on Open MPI 5.0 writes past the end of memory that a message is too long for: calls are compared before."""
# A program has few forms of calls. One that makes ever new ones must not fill the memory.
_MOST = 256  # calls that are kept ready on a communicator
_NEW: Any = object()
_PARENTS = {name: getattr(MPI.Intracomm, name) for name in ROWS}
Last = tuple[Any, ...]
T = TypeVar("T")


class Ready(NamedTuple):
    """A call that is kept ready. ``make``: makes it, of its arguments, and returns copies of what has come.

    Without it MPI makes it as it is. ``said``: its words, and their digest. ``meets``: whether it is compared before.
    ``waits``: whether nobody ends it before all have begun it. ``bits``: of its sum.
    """

    said: tuple[Words, int]
    meets: bool
    make: Make | None = None
    waits: bool = False
    bits: str = ""

    @classmethod
    def of(cls, words: Words) -> "Ready":
        """Return a call of MPI's own. A sum of objects is compared before: mpi4py duplicates the communicator then, and no other
        thread of Python goes on until all ranks do.
        """
        return cls((words, words.digest), words.length > _EAGER or bool(words.op and words.name.islower()))


class QuickCalls:
    """What quick calls on a communicator have at hand; all have neither a deadline nor, where they survive, a network.

    ``carriers``: who brings data while nobody has failed, or where nothing is survived compares calls; and what brings the
    contributions to sums that are folded here then, None where none are. ``least``: bytes of calls that go straight, by name.
    """

    def __init__(
        self, state: CommState, terms: Terms, carriers: tuple[MpiTogether, MPI.Intracomm | None], least: dict[str, int]
    ) -> None:
        self.together, self._comm = carriers
        self.ours, self.size, self._base = state.rank_on(terms), state.rank.size, state.base
        self._jobs, self.group, self._least = state.worker.jobs, state.base.group_of(terms), least
        self._survives, self._times = terms.survive > 0, state.base.mark.times
        self.comm: Any = self.together.comm if self._survives else self._comm
        """The communicator that brings data."""
        self._long = LongCalls(self.together, self.ours.rank, self.size) if self._survives and state.base.near else None
        self._lock, self._ready = state.base.transport.lock, dict[Any, Ready | None]()
        self._acquire, self._release, self._ended = self._lock.acquire, self._lock.release, 0.0
        self._copies, self._used, self._since = list[memoryview](), 0, 0

    def go(self, on: Any, row: MethodRow, number: int, arguments: Sequence[Any], named: dict[str, Any]) -> Last | None:
        """Make a call; return its outcome, None where it was not made, and goes the way of all calls.

        ``on``: the communicator of the program. ``number``: of the call there.
        """
        began, name = perf_counter(), row.name
        # Nonblocking calls that were begun before have their place before this one, at all ranks.
        if self._jobs.unfinished_tasks:
            self._jobs.join()
        try:
            given = in_order(name, arguments, named) if named else arguments
            key = form_of_call(name, given)
            ready = self._ready.get(key, _NEW)
            if ready is _NEW:
                ready = self._keep(row, key, given)
        except WRONG:  # the others have to learn of it
            return None
        if ready is None or (self._survives and self.together.is_over):
            return None
        make = ready.make
        if make is None:
            call = partial(_PARENTS[name], **named) if named else _PARENTS[name]
            self.own(began, number, ready, call, on, *arguments)
        elif not self._survives:
            self.own(began, number, ready, make, given)
        elif not self._survive(began, ready, make, given):
            return None
        return began, self._ended, (), "MPI" if make is None else "straight", "", ready.bits

    def _survive(self, began: float, ready: Ready, make: Make, arguments: Sequence[Any]) -> bool:
        """Make a call that survives failures; return whether it was made."""
        group, times, said = self.group, self._times, ready.said
        # the call that the group's record has next
        unlike, call = group.unlike, group.agreement.number // PARTS + 1
        # Odd: the launcher sees that this rank is inside a call.
        times[0] = inside = times[0] + 1
        # Not a call of the group's record yet: a side thread describes it from here, when it takes long or somebody
        # asks.
        unlike.now = began, call, said
        try:
            # Data of MPI's own calls carries no digest: so the last ones are compared now and then.
            if call % COMPARED == 0:
                with self._lock:
                    group.catch_up()
                self._compare(group.agreement.number)
            kept = make(arguments)
            if kept is None:
                return False
            self._acquire()  # quicker than with
            try:
                self._ended = ended = perf_counter()
                group.end_at_once((call, said, began, ended), kept, ready.waits)
                unlike.now = None
            finally:
                self._release()
        # It has failed at some rank, or was revoked. The call begins anew on the way of all calls.
        except MPI.Exception:
            self.together.end()
            return False
        finally:
            unlike.now = None
            if unlike.is_inside:  # a side thread has described it
                group.end()
            times[0] = inside + 1
        if unlike.owed:
            self._base.pay(group)
        return True

    def own(self, began: float, number: int, ready: Ready, call: Callable[..., T], *arguments: Any) -> T:
        """Make a call by MPI, which survives nothing: it is compared with those of the others; return its result."""
        group, said = self.group, ready.said
        unlike = group.unlike
        unlike.now = began, number, said
        try:
            if number % COMPARED == 0 or ready.meets:
                self.meet(number, said[1])
            result = call(*arguments)
        except Exception:
            self._refuse(number)
            raise
        finally:
            unlike.now = None
            self._ended = ended = perf_counter()
            group.passed.append((number, said, began, ended))
            if unlike.is_inside:
                group.end()
        if unlike.is_pressing:
            self._pay()
        return result

    def _refuse(self, number: int) -> None:
        """Tell the others that a call has failed here; its own digest is not compared."""
        with self._lock:
            self.group.catch_up()
            self.group.unlike.refuse(number)

    def _pay(self) -> None:
        """Raise the error of a call that had ended here before this rank learned that calls were unlike."""
        with self._lock:
            self.group.catch_up()
        if self.group.unlike.owed:
            self._base.pay(self.group)

    def meet_long(self, call: Call) -> None:
        """Compare a long call that survives nothing, and does not go past the group, as all do that is not compared yet."""
        number = call.group.agreement.next() // PARTS
        # every COMPARED-th call is compared anyway
        if call.words.length > _EAGER and not call.parts and number % COMPARED:
            self.meet(number, call.words.digest)

    def meet(self, number: int, digest: int = 0) -> None:
        """Compare the last calls with those of all others, before one that survives nothing; all ranks do so before it.

        Raises UnlikeCallsError when they are unlike.
        """
        group = self.group
        with self._lock:
            group.catch_up()
            group.unlike.note(number, digest)
        self._compare(PARTS * number)
        if group.unlike.owed:
            self._base.pay(group)

    def _compare(self, number: int) -> None:
        group, mine = self.group, self.group.unlike.digests.tobytes()
        whole = bytearray(len(mine) * self.size)
        self.together.comm.Allgather([mine, len(mine), _BYTE], [whole, len(mine), _BYTE])
        with self._lock:
            group.hear_all(number, bytes(whole))

    def _keep(self, row: MethodRow, key: Any, arguments: Sequence[Any]) -> Ready | None:
        """Keep a call ready that has just this form; None where all calls of it go the way of all calls."""
        if len(self._ready) >= _MOST:
            self._ready.clear()
        self._ready[key] = ready = self._make_ready(row, arguments)
        return ready

    def _go_long(self, row: MethodRow, digest: int, arguments: Sequence[Any]) -> Copies:
        """Make a call of much data, whose arguments are read each time."""
        given = job_of(row.make, self.ours, tuple(arguments), {}).read()
        plan = plan_of(row.algorithm, self.ours.rank, self.size, given.parts)
        if plan is not None and self._long is not None:
            self._long.bring(plan, (self.group.agreement.next() // PARTS, digest))
        return (NOTHING,)

    def in_two_stages(self, job: RankCall) -> RankCall:
        """Return a call that has failed here, or cannot go past the group, so that it ends as it does at others."""
        long = self._long
        if long is None:
            return job

        def carry(call: Call, given: Any) -> tuple[Any, Failed]:
            call.ends = long.end
            return job.carry(call, given)

        return job._replace(carry=carry)

    def _make_ready(self, row: MethodRow, arguments: Sequence[Any]) -> Ready | None:
        if not all(getattr(item, "is_predefined", True) for item in _items(arguments)):
            return None
        job = job_of(row.make, self.ours, tuple(arguments), {})
        given = job.read()
        words = job.words_of(given)
        ready, bits = Ready.of(words), given.bits
        plan = plan_of(row.algorithm, self.ours.rank, self.size, given.parts)
        folds = bits and self.ours.sums != "any"
        if not self._survives and not folds:  # MPI's own, but for what is too long
            return ready._replace(bits=bits and "any") if given.total < self._least.get(row.name, inf) else None
        if given.finish is not None or not (self._comm or self._survives):
            return None
        if plan is None:  # the counts of others are not known
            told = self._survives and given.total * self.size <= SMALL
            return (
                ready._replace(make=self._telling(row, given.parts[1].number), waits=True, bits=bits) if told else None
            )
        count, long = plan.count(self.size), self._long and partial(self._go_long, row, words.digest)
        if long and plan.at is None and plan.is_long(self.size):
            return ready._replace(make=long, waits=True, bits=bits)
        buffers, make, packed = arguments[: BUFFERS[row.name]], None, PackedCall.of(plan, self.size)
        if plan.at is not None:
            make = packed and packer(self, packed, buffers, long)
        elif count <= SMALL:
            make = maker(self, plan, buffers)
        elif not self._survives:
            make = folder(self._comm, row.algorithm, given.parts[:2], buffers, given.parts[2:])
        return make and ready._replace(make=make, waits=plan.root is None and (count > 0 or bool(packed)), bits=bits)

    def _telling(self, row: MethodRow, number: int) -> Make:
        """Return the function of a sum in blocks that makes the counts known first, of which this rank receives a number."""
        mine, told, known = number.to_bytes(COUNT, "little"), bytearray(COUNT * self.size), dict[bytes, Ready | None]()

        def make(arguments: Sequence[Any]) -> Copies:
            self.comm.Allgather([mine, COUNT, _BYTE], [told, COUNT, _BYTE])
            if (key := bytes(told)) not in known:
                counts = [int.from_bytes(key[k : k + COUNT], "little") for k in range(0, len(key), COUNT)]
                with suppress(*WRONG):
                    known[key] = self._make_ready(row, (*arguments[:2], counts, *arguments[3:]))
            ready = known.get(key)
            if ready is None or ready.make is None:  # they do not fit here, which the way of all calls says
                self.together.end()
                return None
            return (key, COUNT, 0), *ready.make(arguments)

        return make

    def copy(self, view: memoryview) -> memoryview:
        """Return a copy, in memory that was in use before where there is some: new memory is slow."""
        # All have ended the calls before that: nobody asks for their copies any more, and the memory is free for
        # others.
        if self._since != self.group.agreement.all_ended:
            self._used, self._since = 0, self.group.agreement.all_ended
        if self._used == len(self._copies):
            if self._used >= AHEAD:  # those of long ago are dropped when nobody can ask for them
                self._copies, self._used = [], 0
            self._copies.append(memoryview(b""))
        length = view.nbytes
        if len(self._copies[self._used]) < length:
            self._copies[self._used] = memoryview(bytearray(length))
        copy = self._copies[self._used][:length]
        copy[:] = view
        self._used += 1
        return copy


def _items(arguments: Any) -> Iterator[Any]:
    """Return the items of arguments, also of lists in them."""
    for each in arguments:
        if type(each) in LISTS:
            yield from _items(each)
        else:
            yield each
