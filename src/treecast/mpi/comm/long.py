"""Much data of calls that survive failures, by MPI's own calls of all ranks at once, in two stages.

1. All say which call they are in: a message that is too long for its place would be written past the end of that. Then the data
   comes into memory that MPI alone has, as it may still write there after a failure.
2. All say that they have everything. Who has heard so of all returns, and keeps no copies: nobody lacks any.

So where some rank has returned, all that live have their data, also those whose second stage has failed. Where the first stage
has failed at some rank, none has returned: all decide so together, and make the call anew, straight.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any

from mpi4py import MPI

from treecast.mpi.together import MpiTogether
from treecast.running.algorithms.little import Little, block, plan_of
from treecast.running.algorithms.packed import PackedCall
from treecast.running.calls.call import Call
from treecast.running.calls.table import Algorithm, Failed
from treecast.running.groups.memory import scratch
from treecast.running.groups.shape import Shape
from treecast.running.transport.base import Piece, Steps
from treecast.running.transport.marks import SOFT

NOTHING = (b"", 0, 0)
"""What is kept of a part of a call that nobody can ask for."""
_BYTE = MPI.BYTE
_WORD = Struct("<QI")  # the number of a call, and its digest
_LEFT = list[Piece]()  # memory of calls that have failed: it is not used again
_ALL = slice(None)
_Said = tuple[int, int]
"""The number of a call of the program, and its digest."""


class LongCalls:
    """Those on a communicator, all of whose ranks share one memory."""

    def __init__(self, together: MpiTogether, rank: int, size: int) -> None:
        self._together, self._rank, self._size = together, rank, size
        # By call: what has come in the first stage of one whose second stage has failed.
        self._memory, self._came = scratch(0), dict[int, Mapping[int, Piece]]()

    def bring(self, plan: Little, said: _Said) -> None:
        """Bring what a rank wants to its places, once all have everything. Raises MPI's exception where that has failed."""
        number, digest = said
        try:
            self._meet(2 * number, digest)  # even numbers: the first stage of a call
            self._came = {number: self._rows(plan)}  # kept until all have it
            self._meet(2 * number + 1, digest)  # odd ones: the second
        except MPI.Exception:
            _LEFT.append(self._memory)  # MPI may still write there: nobody gets this memory again
            raise
        _take(plan, self._came.pop(number))

    def end(self, call: Call, algorithm: Algorithm, parts: Sequence[Any]) -> Failed | None:
        """End such a call in steps of its group; return the failed ranks whose data is missing, None where all make it anew."""
        plan = plan_of(algorithm, self._rank, self._size, parts)
        if call.group.together is None or plan is None or not plan.is_long(self._size):
            return None  # no long call: it goes as all others
        # The rows of a vector's blocks are told first, if they can be.
        if plan.at is not None and PackedCall.of(plan, self._size) is None:
            return None
        return call.run(self._end(call, plan, Shape(algorithm.__name__, target=plan.target, redo=True)))

    def _end(self, call: Call, plan: Little, shape: Shape) -> Steps[Failed | None]:
        group, said = call.group, (call.group.made.call, call.words.digest)
        # 1. A rank that could not go past its group joins those that have.
        if not self._together.is_over and not self._together.go(self.bring, plan, said).lost:
            group.agreement.end_early([group.agreement.number])
            return ()
        # 2. Else all find out whether all have everything.
        rows = self._came.pop(said[0], None)
        if rows is None:
            group.lack(group.rank)  # it has nothing: the call is made anew
        failed = yield from group.settle(shape, asks=True)
        if failed is not None and rows is not None:
            _take(plan, rows)
        return failed

    def _meet(self, number: int, digest: int) -> None:
        word = _WORD.pack(number, digest >> SOFT)  # without the soft bits: not all ranks know the type
        whole = bytearray(len(word) * self._size)
        self._together.comm.Allgather([word, len(word), _BYTE], [whole, len(word), _BYTE])
        if bytes(whole) != word * self._size:  # somebody is in another call
            raise MPI.Exception(MPI.ERR_OTHER)

    def _room(self, count: int) -> Piece:
        if len(self._memory) < count:  # kept from call to call: new memory is slow
            self._memory = scratch(count)
        return self._memory[:count]

    def _rows(self, plan: Little) -> Mapping[int, Piece]:
        """Bring by one call of MPI what this rank wants; return that, by rank."""
        comm, me, size, length, root = self._together.comm, self._rank, self._size, plan.length, plan.root
        sent: Any = None if plan.mine is None else _joined(plan.mine)  # of one piece in most calls
        if plan.adds is not None:
            how, whole = plan.adds, self._room(length)
            comm.Allreduce([sent, how.entries, how.datatype], [whole, how.entries, how.datatype], how.op)
            return {me: whole}
        if plan.at is not None:
            return self._unlike_rows(plan, sent)
        if root is not None and plan.part.stop is None:
            whole = self._room(length) if sent is None else sent
            comm.Bcast([whole, length, _BYTE], root)
            return {root: whole} if sent is None else {}
        # the root deals out; else each gives all or a part
        count = length if root is None and (plan.added is not None or plan.part.stop is None) else length // size
        if root is not None:
            whole = self._room(count)
            comm.Scatter(None if sent is None else [sent, count, _BYTE], [whole, count, _BYTE], root)
            return {root: whole}
        whole = self._room(count * size) if plan.target in (None, me) else None  # only who wants it has memory
        into = None if whole is None else [whole, count, _BYTE]
        if count < length:
            comm.Alltoall([sent, count, _BYTE], into)
        elif plan.target is not None:
            comm.Gather([sent, count, _BYTE], into, plan.target)
        else:
            # rows of one length: shorter ones are filled up
            comm.Allgather([bytes(sent).ljust(count, b"\0") if plan.lengths else sent, count, _BYTE], into)
        counts = plan.lengths or [count] * size
        return {} if whole is None else {rank: whole[block(rank, count)][: counts[rank]] for rank in range(size)}

    def _unlike_rows(self, plan: Little, sent: Any) -> Mapping[int, Piece]:
        """Do so where blocks have any lengths, which fit: all have told them."""
        comm, every = self._together.comm, range(self._size)
        places = plan.places if isinstance(plan.places, Mapping) else dict(enumerate(plan.places))
        goes, comes = [len(piece) for piece in plan.mine or ()], [len(places.get(rank, b"")) for rank in every]
        ends = [*accumulate(comes, initial=0)]
        whole = self._room(ends[-1])
        if plan.root is not None:
            comm.Scatterv(None if sent is None else [sent, goes, _BYTE], [whole, ends[-1], _BYTE], plan.root)
        elif plan.target is not None:
            comm.Gatherv([sent, *goes, _BYTE], [whole, comes, _BYTE] if places else None, plan.target)
        else:
            comm.Alltoallv([sent, goes, _BYTE], [whole, comes, _BYTE])
        return {rank: whole[ends[rank] : ends[rank + 1]] for rank in places}


def _take(plan: Little, rows: Mapping[int, Piece]) -> None:
    # Where nothing is added here, only what this rank wants has come of each.
    is_cut = plan.adds is not None or plan.added is None
    (plan._replace(part=_ALL, added=None) if is_cut else plan).take(rows)


def _joined(pieces: Sequence[Piece]) -> Piece:
    """Return pieces one behind the other: where they lie so, or a copy."""
    spots = [MPI.memory.frombuffer(piece, readonly=True) for piece in pieces if len(piece)]
    # already one behind the other: no copy
    if spots and all(one.address + one.nbytes == other.address for one, other in pairwise(spots)):
        return MPI.memory.fromaddress(spots[0].address, sum(spot.nbytes for spot in spots), readonly=True)
    return b"".join(map(memoryview, pieces))
