"""The functions that make calls of little data by one call of MPI each, by the table of ``algorithms.little``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from mpi4py import MPI

from treecast.algorithms.little import Little, block
from treecast.calls.table import Algorithm
from treecast.mpi.comm.folded import fold_by_mpi
from treecast.mpi.comm.forms import LISTS
from treecast.transport.base import Piece

_BYTE = MPI.BYTE
_LITTLE = 4096  # bytes whose copy has new memory
Make = Callable[[Sequence[Any]], Any]
Spot = tuple[int, int, int]
"""Which argument has some bytes, and where they begin and end there."""


def maker(lane: Any, plan: Little, arguments: Sequence[Any]) -> Make | None:
    """Return the function that makes calls of the form of some arguments; None where bytes lie elsewhere, as of a copy."""
    places = plan.places if isinstance(plan.places, Mapping) else dict(enumerate(plan.places))
    order = range(len(arguments))
    give, take = _find(plan.mine, arguments, order), _find([*places.values()], arguments, order[::-1])
    if (give is None and plan.mine and arguments) or (take is None and places):
        return None
    if plan.adds is not None and give is not None and take is not None:
        return _adding(lane, plan.adds, give, take)
    if plan.root is not None:
        return _spreading(lane, plan, give, take)
    return _gathering(lane, plan, give, take, places)


def folder(comm: Any, algorithm: Algorithm, ends: Any, arguments: Sequence[Any], rest: Sequence[Any]) -> Make | None:
    """Return the function that makes a sum that is folded here, of any length; ``ends``: the pieces of one."""
    order = range(len(arguments))
    give, take = (
        _find([end] if end is not None else None, arguments, order[::step])
        for end, step in zip(ends, (1, -1), strict=True)
    )
    if [give is None, take is None] != [end is None for end in ends]:
        return None

    def make(arguments: Sequence[Any]) -> None:
        mine, out = (None if spot is None else _bytes_at(arguments, spot) for spot in (give, take))
        fold_by_mpi(comm, algorithm, (mine, out), rest)

    return make


def _find(pieces: Iterable[Piece] | None, arguments: Sequence[Any], order: Iterable[int]) -> Spot | None:
    """Return where pieces lie one behind the other in the first of some arguments that has them all."""
    ends = list(accumulate(map(len, pieces := [piece for piece in pieces or () if piece is not None]), initial=0))
    for k in order if pieces else ():
        if arguments[k] is not None and arguments[k] is not MPI.IN_PLACE:
            memory = MPI.memory.frombuffer(_bytes_at(arguments, (k, 0, 0)), readonly=True)
            first = pieces[0].address - memory.address
            is_whole = all(
                piece.address - memory.address == first + end for piece, end in zip(pieces, ends, strict=False)
            )
            if is_whole and first >= 0 and first + ends[-1] <= memory.nbytes:
                return k, first, first + ends[-1]
    return None


def _bytes_at(arguments: Sequence[Any], spot: Spot) -> memoryview:
    k, first, last = spot
    argument = arguments[k]
    view = memoryview(argument[0] if type(argument) in LISTS else argument).cast("B")
    return view if len(view) == last - first or not last else view[first:last]


def _adding(lane: Any, how: Any, give: Spot, take: Spot) -> Make:
    """Return the function of a sum that MPI adds."""
    in_place = give[0] == take[0]

    def make(arguments: Sequence[Any]) -> bytes:
        received = _bytes_at(arguments, take)
        sent = memoryview(bytes(received)) if in_place else _bytes_at(arguments, give)
        try:
            lane.comm.Allreduce([sent, how.entries, how.datatype], [received, how.entries, how.datatype], how.op)
        except MPI.Exception:
            if in_place:
                received[:] = sent
            raise
        return received.tobytes()

    return make


def _spreading(lane: Any, plan: Little, give: Spot | None, take: Spot | None) -> Make:
    """Return the function of a call in which the root gives all."""
    length, root, part, is_whole = plan.length, plan.root, plan.part, plan.part.stop is None
    scratch = memoryview(bytearray(length))

    def make(arguments: Sequence[Any]) -> Piece:
        into = None if take is None else _bytes_at(arguments, take)
        whole = into if into and is_whole else scratch if give is None else _bytes_at(arguments, give)
        lane.comm.Bcast([whole, length, _BYTE], root)
        if into is not whole and into is not None:
            into[:] = whole[part]
        return whole.tobytes() if length < _LITTLE else lane.copy(whole)

    return make


def _gathering(lane: Any, plan: Little, give: Spot | None, take: Spot | None, places: Mapping[int, Piece]) -> Make:
    """Return the function of a call in which each rank gives a piece."""
    length, scratch = plan.length, memoryview(bytearray(plan.length * lane.size))
    every = [*range(lane.size)]
    parts = [scratch[block(rank, length)][plan.part] for rank in every]
    chosen = parts if plan.added is None else [parts[rank] for rank in plan.added(every)]
    is_direct = take is not None and plan.added is None and plan.part.stop is None
    spots = [slice(*ends) for ends in pairwise(accumulate(map(len, places.values()), initial=0))]

    def make(arguments: Sequence[Any]) -> bytes:
        received = None if take is None else _bytes_at(arguments, take)
        sent = b"\0" if give is None else _bytes_at(arguments, give)
        whole = received if received and is_direct else scratch
        lane.comm.Allgather([sent, length, _BYTE], [whole, length, _BYTE])
        kept = whole.tobytes()
        if received is None or is_direct or not chosen:
            return kept
        if plan.added is not None:
            plan.add(chosen)
        for spot, part in zip(spots, chosen[-len(spots) :], strict=True):
            received[spot] = part
        return kept

    return make
