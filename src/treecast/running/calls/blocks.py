"""The collectives that move blocks, as rows of the table."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from treecast.errors import PlanError
from treecast.running.algorithms import personal, spread, sums
from treecast.running.algorithms.little import LITTLE, LONG, copy_here
from treecast.running.algorithms.packed import ROOM, TRIES, PackedCall
from treecast.running.algorithms.spread import bring_at_once
from treecast.running.calls.call import Call
from treecast.running.calls.reader import Place
from treecast.running.calls.table import Algorithm, BufferCall, Caller, Failed, Given, check_root, row
from treecast.running.groups.shape import Shape
from treecast.running.groups.words import Words
from treecast.running.transport.base import Piece

_SOME, _MUCH = 4 << 20, 16 << 20  # bytes from which a call goes straight


@row("Barrier", sums.barrier)
def barrier(ours: Caller) -> BufferCall:
    """Wait for all."""

    return BufferCall(lambda: Given((), 0))


@row("Bcast", spread.broadcast, (0,), own_from=_SOME)
def bcast(ours: Caller, buf: Any, root: int = 0) -> BufferCall:
    """Bring the root's data to all."""
    root = check_root(ours, root)

    def read() -> Given:
        if ours.rank == root:
            data, finish = ours.reader.send(buf), None
        else:
            (data,), finish = ours.reader.receive(buf)
        return Given((data, root), len(data), finish, Words("", len(data), ours.reader.type_of(buf), root=root))

    return BufferCall(read)


def _add(name: str, summary: str, algorithm: Algorithm, blocks: str, **more: Any) -> None:
    """Register a collective of which the sent data, the received data, or both have a block for each rank.

    With a root it alone has those; the other ranks have one block.
    """
    # 1. Which end has a block for each rank: `splits`, what is sent; `joins`, what is received.
    splits, joins = algorithm in (personal.alltoall, personal.scatter), algorithm is not personal.scatter
    equal = () if algorithm is spread.allgather else (blocks == "blocks",)
    # only these go packed: lengths that no other rank knows
    carry = partial(_carry_packed, algorithm) if equal == (False,) else None

    def ask(ours: Caller, sendbuf: Any, recvbuf: Any, *root: int) -> BufferCall:
        reader, has_all = ours.reader, root in ((), (ours.rank,))

        # 2. The reader of arguments.
        def read() -> Given:
            out, got = None, Place([None])
            # Where data is received, if this rank receives any.
            # not where the root keeps its own block in place
            if has_all if joins else not (has_all and ours.in_place(recvbuf)):
                got = reader.receive(recvbuf, blocks if joins else "")
            # What is sent. In place it is in the other buffer, and copied where blocks that come would overwrite
            # those that go.
            if has_all and joins and ours.in_place(sendbuf):
                # only an exchange needs copies: a gather does not write where it reads
                out = _copies(ours, got.pieces) if splits else None
            elif has_all or not splits:
                out = reader.send(sendbuf, blocks if splits else "")
            place = got.pieces if joins and has_all else got.pieces[0]
            if has_all and out is not None and place is not None:
                # own block to own place: lengths differ only by a mistake
                sent, kept = len(out[ours.rank] if splits else out), len(place[ours.rank] if joins else place)
                if sent != kept:
                    own = f"{sent:,} bytes are sent to itself where {kept:,} are received"
                    raise PlanError(f"rank {ours.rank}: {own}")
            # What all ranks know alike: counts, the type, and the root.
            # elsewhere only one block is known: the others are taken to be as long
            every = (place if joins else out) if has_all else [out if joins else place] * ours.size
            sizes = [len(each) for each in cast("list[Any]", every)]
            # one number where all are equal: short words
            counts = None if equal == (False,) else sizes[0] if len({*sizes}) == 1 else tuple(sizes)
            # the buffer that has the rank's own type
            datatype = reader.type_of(recvbuf if joins == has_all else sendbuf, blocks if has_all else "")
            # in pairs each has lengths of its own, which nobody compares
            own = (out, place) if splits and joins and equal == (False,) else ()
            lengths = tuple(tuple(map(len, cast("list[Any]", side))) for side in own)
            words = Words("", counts, datatype, root=root[0] if root else None, splits=lengths)
            return Given((out, place, *root, *equal), sum(sizes), got.finish, words)

        return BufferCall(read, carry, root[0] if root and joins else None)

    # 3. The method, with a root or without, as a row of the table.
    def to_all(ours: Caller, sendbuf: Any, recvbuf: Any) -> BufferCall:
        return ask(ours, sendbuf, recvbuf)

    def rooted(ours: Caller, sendbuf: Any, recvbuf: Any, root: int = 0) -> BufferCall:
        return ask(ours, sendbuf, recvbuf, check_root(ours, root))

    make = rooted if algorithm in (personal.scatter, personal.gather) else to_all
    make.__doc__ = f"Bring {summary}."
    row(name, algorithm, blocks=blocks, **more)(make)


def _carry_packed(algorithm: Algorithm, call: Call, parts: tuple[Any, ...]) -> Failed:
    """Carry an algorithm out whose blocks are packed when they are little, where the group brings little data together."""
    group = call.group
    packed = PackedCall.of(LITTLE[algorithm](group.rank, group.size, *parts), group.size)
    # without little calls packing would only cost
    if packed is None or group.terms.network is not None or group.goes_together(0) is None:
        return call(algorithm, *parts)
    length = ROOM
    shape = Shape(algorithm.__name__, target=parts[2] if algorithm is personal.gather else None)
    # lengths come with the rows: a try with too little room shows how much is needed
    for _ in range(TRIES):
        places: list[Piece] = [bytearray(length) for _ in range(group.size)]
        failed = call(bring_at_once, packed.as_little(length, places), shape)
        senders = range(group.size) if packed.plan.root is None else [packed.plan.root]
        rows = {rank: places[rank] for rank in senders if rank not in failed}
        last, length = length, packed.next_length(length, rows)
        if length == last or not packed.is_little(length):  # the room was enough, or it is no little data at all
            try:
                if length == last:
                    packed.take(rows)
                    return failed
                tuple(packed.found(rows))
            except PlanError as error:  # arguments are wrong here: all leave the call
                call.refuse(PlanError(f"rank {group.rank}: {error}"))
            call.ends = call.ends if length <= LONG else None
            return call(algorithm, *parts)
    # Two rows are enough for every length: who needs a third has met another call.
    call.find_unlike()
    return ()


def _copies(ours: Caller, pieces: Sequence[Any]) -> list[Any]:
    copies = [ours.mpi.buffer.allocate(len(piece)) for piece in pieces]
    for copy, piece in zip(copies, pieces, strict=True):
        copy_here(copy, piece)
    return copies


_add("Allgather", "every rank's block to all", spread.allgather, "blocks", sized_by=(1,), own_from=_SOME)
_add("Allgatherv", "blocks of any length to all", spread.allgather, "vector", sized_by=(1,), own_from=_SOME)
_add("Alltoall", "a block from every rank to each", personal.alltoall, "blocks", sized_by=(1,), own_from=_MUCH)
_add("Alltoallv", "a block, of any length, from every rank to each", personal.alltoall, "vector")
_add("Alltoallw", "a block, of any datatype, from every rank to each", personal.alltoall, "typed")
_add("Scatter", "the root's blocks to all", personal.scatter, "blocks", sized_by=(1, 0), own_from=_MUCH)
_add("Scatterv", "the root's blocks, of any length, to all", personal.scatter, "vector")
_add("Gather", "every block to the root", personal.gather, "blocks", sized_by=(0, 1), own_from=_MUCH)
_add("Gatherv", "every rank's block, of any length, to the root", personal.gather, "vector")
