"""The collectives that move blocks, as rows of the table."""

from collections.abc import Callable, Sequence
from typing import Any

from treecast.algorithms import personal, spread, sums
from treecast.calls.table import Algorithm, Asked, Given, Rank, check_own, check_root, row, sizes_of
from treecast.groups.words import Words

_SOME, _MUCH = 4 << 20, 16 << 20  # bytes from which a call goes straight


@row("Barrier", sums.barrier)
def barrier(ours: Rank) -> Asked:
    """Wait for all."""

    return Asked(lambda: Given((), 0))


@row("Bcast", spread.broadcast, (0,), own_from=_SOME)
def bcast(ours: Rank, buf: Any, root: int = 0) -> Asked:
    """Bring the root's data to all."""
    root = check_root(ours, root)

    def read() -> Given:
        if ours.rank == root:
            data, finish = ours.reader.send(buf), None
        else:
            (data,), finish = ours.reader.receive(buf)
        return Given((data, root), len(data), finish, Words("", len(data), ours.reader.type_of(buf), root=root))

    return Asked(read)


def _allgather(blocks: str) -> Callable[..., Asked]:
    def make(ours: Rank, sendbuf: Any, recvbuf: Any) -> Asked:
        def read() -> Given:
            place = ours.reader.receive(recvbuf, blocks)
            mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
            if mine is not None:
                check_own(ours, mine, place.pieces[ours.rank])
            words = Words("", sizes_of(place.pieces), ours.reader.type_of(recvbuf, blocks))
            return Given((mine, place.pieces), sum(map(len, place.pieces)), place.finish, words)

        return Asked(read)

    return make


def _alltoall(blocks: str) -> Callable[..., Asked]:
    def make(ours: Rank, sendbuf: Any, recvbuf: Any) -> Asked:
        def read() -> Given:
            place = ours.reader.receive(recvbuf, blocks)
            here = ours.in_place(sendbuf)
            out = _copies(ours, place.pieces) if here else ours.reader.send(sendbuf, blocks)
            check_own(ours, out[ours.rank], place.pieces[ours.rank])
            parts, equal = (out, place.pieces, blocks == "blocks"), blocks == "blocks"
            words = Words("", len(out[0]) if equal else None, ours.reader.type_of(recvbuf, blocks))
            return Given(parts, sum(map(len, place.pieces)), place.finish, words)

        return Asked(read)

    return make


def _copies(ours: Rank, pieces: Sequence[Any]) -> list[Any]:
    copies = [ours.mpi.buffer.allocate(len(piece)) for piece in pieces]
    for copy, piece in zip(copies, pieces, strict=True):
        spread.copy_here(copy, piece)
    return copies


def _scatter(blocks: str) -> Callable[..., Asked]:
    equal = blocks == "blocks"

    def make(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Asked:
        root = check_root(ours, root)

        def read() -> Given:
            def words(argument: Any, form: str, block: int) -> Words:
                return Words("", block if equal else None, ours.reader.type_of(argument, form), root=root)

            if ours.rank != root:
                (mine,), finish = ours.reader.receive(recvbuf)
                parts, told = (None, mine, root, equal), words(recvbuf, "", len(mine))
                return Given(parts, len(mine) * ours.size, finish, told)
            out, mine, finish = ours.reader.send(sendbuf, blocks), None, None
            if not ours.in_place(recvbuf):
                (mine,), finish = ours.reader.receive(recvbuf)
                check_own(ours, out[root], mine)
            return Given((out, mine, root, equal), sum(map(len, out)), finish, words(sendbuf, blocks, len(out[0])))

        return Asked(read)

    return make


def _gather(blocks: str) -> Callable[..., Asked]:
    equal = blocks == "blocks"

    def make(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Asked:
        root = check_root(ours, root)

        def read() -> Given:
            def words(argument: Any, form: str, block: int) -> Words:
                return Words("", block if equal else None, ours.reader.type_of(argument, form), root=root)

            if ours.rank != root:
                mine = ours.reader.send(sendbuf)
                told = words(sendbuf, "", len(mine))
                return Given((mine, None, root, equal), len(mine) * ours.size, None, told)
            place = ours.reader.receive(recvbuf, blocks)
            mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
            if mine is not None:
                check_own(ours, mine, place.pieces[root])
            parts, told = (mine, place.pieces, root, equal), words(recvbuf, blocks, len(place.pieces[0]))
            return Given(parts, sum(map(len, place.pieces)), place.finish, told)

        return Asked(read, target=root)

    return make


def _add(
    name: str, made: Callable[[str], Callable[..., Asked]], summary: str, algorithm: Algorithm, blocks: str, **more: Any
) -> None:
    make = made(blocks)
    make.__doc__ = f"Bring {summary}."
    row(name, algorithm, blocks=blocks, **more)(make)


# fmt: off
_add("Allgather", _allgather, "every rank's block to all", spread.allgather, "blocks", sized_by=(1,), own_from=_SOME)
_add("Allgatherv", _allgather, "blocks of any length to all", spread.allgather, "vector", sized_by=(1,), own_from=_SOME)
_add("Alltoall", _alltoall, "a block from every rank to each", personal.alltoall, "blocks", sized_by=(1,), own_from=_MUCH)
_add("Alltoallv", _alltoall, "a block, of any length, from every rank to each", personal.alltoall, "vector")
_add("Alltoallw", _alltoall, "a block, of any datatype, from every rank to each", personal.alltoall, "typed")
_add("Scatter", _scatter, "the root's blocks to all", personal.scatter, "blocks", sized_by=(1, 0), own_from=_MUCH)
_add("Scatterv", _scatter, "the root's blocks, of any length, to all", personal.scatter, "vector")
_add("Gather", _gather, "every block to the root", personal.gather, "blocks", sized_by=(0, 1), own_from=_MUCH)
_add("Gatherv", _gather, "every rank's block, of any length, to the root", personal.gather, "vector")
# fmt: on
