"""The functions that make calls of little data by one call of MPI each, by the table of ``algorithms.little``.

Each returns copies of what has come, as ``Blocks`` takes them, one of each part of the call; None where all find that blocks are
too long to be packed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from mpi4py import MPI

from treecast.errors import PlanError
from treecast.mpi.comm.folded import fold_by_mpi
from treecast.mpi.comm.forms import LISTS
from treecast.running.algorithms.little import LONG, Little, block
from treecast.running.algorithms.packed import ROOM, TRIES, PackedCall
from treecast.running.calls.table import Algorithm
from treecast.running.transport.base import Piece

_BYTE = MPI.BYTE
_LITTLE = 4096  # bytes whose copy has new memory
_HEADS = 64  # lengths of blocks that are remembered, of one form of calls
Copies = tuple[tuple[Any, ...], ...] | None
Make = Callable[[Sequence[Any]], Any]
_Moves = list[tuple[slice, slice]]


class Spot(NamedTuple):
    """Where pieces lie: in which argument, between which bytes of it, and each of them from the first of these on."""

    argument: int
    first: int
    last: int
    pieces: list[slice]

    @property
    def is_whole(self) -> bool:
        """Whether they lie one behind the other."""
        some = [each for each in self.pieces if each.stop]
        return all(one.stop == other.start for one, other in pairwise([slice(0, 0), *some]))


def maker(lane: Any, plan: Little, arguments: Sequence[Any]) -> Make | None:
    """Return the function that makes calls of the form of some arguments; None where bytes lie elsewhere, as of a copy."""
    ends = _find_ends(plan, arguments)
    if ends is None or (ends[0] and not ends[0].is_whole):  # MPI sends from one place on
        return None
    give, take = ends
    # In this order: MPI adds; the root gives all; lengths differ, and all know them; all give pieces of one length.
    if plan.adds is not None and give is not None and take is not None:
        return _adding(lane, plan.adds, give, take)
    if plan.root is not None:
        return _spreading(lane, plan, give, take)
    return _filling_up(lane, plan, give, take) if plan.lengths else _gathering(lane, plan, give, take)


def packer(lane: Any, packed: PackedCall, arguments: Sequence[Any], long: Make | None) -> Make | None:
    """Return the same of a call whose blocks are packed; ``long``: makes it where they are not little, and all know so."""
    ends = _find_ends(packed.plan, arguments)
    return None if ends is None else _Packing(lane, packed, long, *ends)


def folder(comm: Any, algorithm: Algorithm, ends: Any, arguments: Sequence[Any], rest: Sequence[Any]) -> Make | None:
    """Return the function that makes a sum that is folded here, of any length; ``ends``: the pieces of one."""
    order = range(len(arguments))
    give, take = (  # read from the first, write to the last
        _find([end] if end is not None else [], arguments, order[::step])
        for end, step in zip(ends, (1, -1), strict=True)
    )
    # one end is a copy: calls of it go by no function
    if [give is None, take is None] != [end is None for end in ends]:
        return None

    def make(arguments: Sequence[Any]) -> None:
        mine, out = (None if spot is None else _bytes_at(arguments, spot) for spot in (give, take))
        fold_by_mpi(comm, algorithm, (mine, out), rest)

    return make


def _find_ends(plan: Little, arguments: Sequence[Any]) -> tuple[Spot | None, Spot | None] | None:
    """Return where the pieces of a call lie that this rank gives, and those that it takes; None where that is elsewhere."""
    order, places = range(len(arguments)), _places(plan)
    # received in the last argument, sent from the first
    take, give = _find(places.values(), arguments, order[::-1]), _find(plan.mine or (), arguments, order)
    # In place, or copies that lie in no argument: calls with those go the way of all calls.
    if give is None and plan.mine and arguments:  # in place each block goes where another comes
        give = take if arguments[0] in (None, MPI.IN_PLACE) else None
        if give is None:
            return None
    return None if take is None and places else (give, take)


def _places(plan: Little) -> Mapping[int, Piece]:
    return plan.places if isinstance(plan.places, Mapping) else dict(enumerate(plan.places))


def _find(pieces: Iterable[Piece | None], arguments: Sequence[Any], order: Iterable[int]) -> Spot | None:
    """Return where pieces lie in the first of some arguments that has them all."""
    pieces = [piece for piece in pieces if piece is not None]
    for k in order if pieces else ():
        if arguments[k] is not None and arguments[k] is not MPI.IN_PLACE:
            memory = MPI.memory.frombuffer(_view(arguments[k]), readonly=True)
            # By addresses: the reader has cut views out of the argument, and the next call of this form has its
            # buffer elsewhere.
            begins = [piece.address - memory.address for piece in pieces if len(piece)]
            ends = [begin + len(piece) for begin, piece in zip(begins, filter(len, pieces), strict=True)]
            first, last = min(begins, default=0), max(ends, default=0)
            if first >= 0 and last <= memory.nbytes:  # all pieces lie in this argument
                spots = map(slice, [begin - first for begin in begins], [end - first for end in ends])
                return Spot(k, first, last, [next(spots) if len(piece) else slice(0, 0) for piece in pieces])
    return None


def _view(argument: Any) -> memoryview:
    return memoryview(argument[0] if type(argument) in LISTS else argument).cast("B")


def _bytes_at(arguments: Sequence[Any], spot: Spot) -> memoryview:
    """Return the bytes from the first piece to the end of the last."""
    k, first, last, _ = spot
    view = _view(arguments[k])
    return view if len(view) == last - first else view[first:last]  # the whole buffer needs no slice


def _taker(spot: Spot | None) -> Callable[[Sequence[Any]], memoryview]:
    """Return the function that finds what MPI receives or sends, quicker than ``_bytes_at``; all of a buffer keeps its items."""
    if spot is None:
        return lambda arguments: memoryview(b"")
    k, first, last, _ = spot
    length = last - first

    def find(arguments: Sequence[Any]) -> memoryview:
        argument = arguments[k]
        view = memoryview(argument[0] if argument.__class__ in LISTS else argument)
        return view if view.nbytes == length else view.cast("B")[first:last]

    return find


def _giver(spot: Spot | None) -> Callable[[Sequence[Any]], Any]:
    """Return the function that finds what MPI sends from its first byte on, quicker than ``_bytes_at`` where it can."""
    if spot is None:
        return lambda arguments: b"\0"  # MPI wants an address even for nothing
    k = spot.argument

    def find(arguments: Sequence[Any]) -> Any:
        argument = arguments[k]
        return argument[0] if argument.__class__ in LISTS else argument

    return partial(_bytes_at, spot=spot) if spot.first else find  # from its begin on MPI takes the argument as it is


def _adding(lane: Any, how: Any, give: Spot, take: Spot) -> Make:
    """Return the function of a sum that MPI adds."""
    in_place, giver, taker, add = give.argument == take.argument, _giver(give), _taker(take), lane.comm.Allreduce
    entries, datatype, op, length = how.entries, how.datatype, how.op, take.last - take.first

    def make(arguments: Sequence[Any]) -> Copies:
        received = taker(arguments)
        # MPI may have written half a sum when it fails, and the contribution is needed once more then.
        sent = memoryview(received.tobytes()) if in_place else giver(arguments)  # a copy, to be brought back
        try:
            add([sent, entries, datatype], [received, entries, datatype], op)
        except MPI.Exception:
            if in_place:
                received.cast("B")[:] = sent
            raise
        return ((received.tobytes(), length, 0),)

    return make


def _spreading(lane: Any, plan: Little, give: Spot | None, take: Spot | None) -> Make:
    """Return the function of a call in which the root gives all."""
    length, root, part, is_whole = plan.length, plan.root, plan.part, plan.part.stop is None
    scratch, spread = memoryview(bytearray(length)), lane.comm.Bcast
    # straight to its place, or to memory of this function
    is_straight = is_whole and take is not None and take.last > take.first
    find = _taker(take if is_straight else give)

    def make(arguments: Sequence[Any]) -> Copies:
        whole = find(arguments) if is_straight or give is not None else scratch
        spread([whole, length, _BYTE], root)
        if take is not None and not is_straight:
            _bytes_at(arguments, take)[:] = whole.cast("B")[part]
        return ((whole.tobytes() if length < _LITTLE else lane.copy(whole.cast("B")), length, root),)

    return make


def _gathering(lane: Any, plan: Little, give: Spot | None, take: Spot | None) -> Make:
    """Return the function of a call in which each rank gives a piece."""
    # memory once, for all calls of this form
    every, length, scratch = [*range(lane.size)], plan.length, memoryview(bytearray(plan.length * lane.size))
    parts = [scratch[block(rank, length)][plan.part] for rank in every]
    chosen = parts if plan.added is None else [parts[rank] for rank in plan.added(every)]
    # no copy where the rows are the result
    is_direct = (
        take is not None and take.last > take.first and take.is_whole and plan.added is None and plan.part.stop is None
    )
    giver, taker, gather, rows = _giver(give), _taker(take), lane.comm.Allgather, [scratch, length, _BYTE]

    def make(arguments: Sequence[Any]) -> Copies:
        if is_direct:
            received = taker(arguments)
            gather([giver(arguments), length, _BYTE], [received, length, _BYTE])
            return ((received.tobytes(), length, 0),)
        gather([giver(arguments), length, _BYTE], rows)
        kept = ((scratch.tobytes(), length, 0),)
        if take is None or not chosen:
            return kept
        received = _bytes_at(arguments, take)
        if plan.added is not None:
            plan.add(chosen)
        # the last ones: those that this rank wants
        for spot, part in zip(take.pieces, chosen[-len(take.pieces) :], strict=True):
            received[spot] = part
        return kept

    return make


def _filling_up(lane: Any, plan: Little, give: Spot | None, take: Spot | None) -> Make:
    """Return the function of a call in which all know the lengths of pieces, which are filled up to one."""
    row, rows = (memoryview(bytearray(count)) for count in (plan.length, plan.length * lane.size))
    parts = [rows[k * plan.length : k * plan.length + count] for k, count in enumerate(plan.lengths)]
    rank: int = lane.ours.rank
    gather, mine, whole = lane.comm.Allgather, [row, plan.length, _BYTE], [rows, plan.length, _BYTE]
    bounds, own = [*accumulate(plan.lengths, initial=0)], slice(plan.lengths[rank])

    def make(arguments: Sequence[Any]) -> Copies:
        if give is not None:
            row[own] = _bytes_at(arguments, give)  # the rest of the row stays as it was
        gather(mine, whole)
        if take is not None:
            received = _bytes_at(arguments, take)
            for spot, part in zip(take.pieces, parts, strict=True):
                received[spot] = part
        return ((b"".join(parts), bounds, 0),)

    return make


class _Packing:
    """Makes a call whose blocks are packed: rows go, and once more where they are too short."""

    def __init__(self, lane: Any, packed: PackedCall, long: Make | None, give: Spot | None, take: Spot | None) -> None:
        self._long = long  # where all blocks are long
        self._comm, self._together, self._packed, self._give, self._take = lane.comm, lane.together, packed, give, take
        self._root, self._copy = packed.plan.root, lane.copy
        self._senders = [*range(lane.size)] if self._root is None else [self._root]
        self._known = dict[tuple[int, bytes], tuple[int, _Moves | None]]()  # by lengths: where blocks lie in rows
        self._memory = dict[int, tuple[memoryview, memoryview, list[slice]]]()
        pieces = [] if give is None else give.pieces
        # behind the words that head a row
        ends = [*accumulate((each.stop - each.start for each in pieces), initial=packed.words.size)]
        self._end, self._goes = ends[-1], [*zip(pieces, map(slice, ends, ends[1:]), strict=False)]
        if give is not None and give.is_whole:
            self._goes = [(slice(None), slice(ends[0], ends[-1]))]

    def __call__(self, arguments: Sequence[Any]) -> Copies:
        length, kept, root = ROOM, tuple[Any, ...](), self._root
        for _ in range(TRIES):
            # First rows of the usual length; then, if some rank's blocks take more, rows of the length that all have
            # read from them.
            row, whole, heads = self._memory.get(length) or self._get_ready(length)
            if self._give is not None and self._end <= length:  # blocks that do not fit go in the next row
                sent = _bytes_at(arguments, self._give)
                for spot, place in self._goes:
                    row[place] = sent[spot]
            if root is None:
                self._comm.Allgather([row, length, _BYTE], [whole, length, _BYTE])
            else:
                self._comm.Bcast([whole, length, _BYTE], root)
            copy = whole.tobytes() if length < _LITTLE else self._copy(whole)
            kept = *kept, (copy, length, root or 0)
            # The heads tell where all blocks lie. Calls of the same lengths, as most are, need no look at them.
            key = length, b"".join([copy[each] for each in heads])
            longer, moves = self._known.get(key) or self._learn(key, copy)
            if moves is None:
                break
            if not self._packed.is_little(longer):
                # too long for rows, as all read alike
                return (*kept, *self._long(arguments)) if self._long and longer <= LONG else None
            if longer == length:
                if self._take is not None:
                    received = _bytes_at(arguments, self._take)
                    for place, spot in moves:
                        received[place] = copy[spot]
                return kept
            length = longer
        self._together.end()  # the others end this call, and this rank tells them in the way of all calls what came
        return None

    def _get_ready(self, length: int) -> tuple[memoryview, memoryview, list[slice]]:
        """Return memory for rows of a length, and where their heads are."""
        width, many = self._packed.words.size, len(self._senders)
        row, whole = (memoryview(bytearray(count)) for count in (length, length * many))
        row[:width] = self._packed.head
        self._memory = {
            length: (
                row,
                row if self._root is not None and self._packed.plan.mine is not None else whole,
                [slice(k * length, k * length + width) for k in range(many)],
            )
        }
        return self._memory[length]

    def _learn(self, key: tuple[int, bytes], whole: Piece) -> tuple[int, _Moves | None]:
        """Learn from heads how long rows have to be, and where blocks come from; None where one is not as long as its place."""
        (length, _), moves = key, _Moves()
        firsts = {rank: k * length for k, rank in enumerate(self._senders)}
        rows = {rank: memoryview(whole)[first : first + length] for rank, first in firsts.items()}
        longer = self._packed.next_length(length, rows)
        if self._take is not None:
            try:
                found = sorted((rank, spot.start, spot.stop) for rank, spot in self._packed.found(rows))
                spots = [slice(firsts[rank] + first, firsts[rank] + last) for rank, first, last in found]
                moves = [*zip(self._take.pieces, spots, strict=True)]
            except PlanError:
                moves = None
        if len(self._known) >= _HEADS:  # forms with ever new lengths
            self._known.clear()
        self._known[key] = longer, moves
        return longer, moves
