"""Collectives of bytes that go by plans: the memory of each, and its blocks as one of some ranks sees them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treecast.algorithms import personal, spread
from treecast.engine.blocks import Blocks, bytes_of, of_all, of_one, of_pairs, of_root
from treecast.groups.group import Shape
from treecast.transport.base import Piece


class Task(NamedTuple):
    """A collective by a plan. ``pieces``: all memory of it at this rank, none where its arguments were refused.

    ``blocks(ranks)``: the blocks of some ranks, of which this is one.
    """

    shape: Shape
    pieces: Sequence[Piece]
    blocks: Callable[[Sequence[int]], Blocks]


def _broadcast(me: int, data: Piece | None, root: int) -> Task:
    def blocks(ranks: Sequence[int]) -> Blocks:
        return of_one(data, me == root)

    return Task(Shape("broadcast", source=root), [] if data is None else [data], blocks)


def _allgather(me: int, mine: Piece | None, every: Sequence[Piece] | None) -> Task:
    pieces = every or ()
    if every is not None and mine is not None:
        spread.copy_here(every[me], mine)

    def blocks(ranks: Sequence[int]) -> Blocks:
        return of_all([bytes_of(pieces[r]) for r in ranks], ranks.index(me))

    return Task(Shape("allgather"), pieces, blocks)


def _alltoall(me: int, outgoing: Sequence[Piece] | None, incoming: Sequence[Piece] | None, *_: Any) -> Task:
    out, into = (outgoing or (), incoming or ()) if outgoing and incoming else ((), ())

    def blocks(ranks: Sequence[int]) -> Blocks:
        return of_pairs([out[r] for r in ranks], [into[r] for r in ranks], ranks.index(me))

    return Task(Shape("alltoall"), [*out, *into], blocks)


def _of_root(me: int, shape: Shape, every: Sequence[Piece] | None, mine: Piece | None) -> Task:
    def blocks(ranks: Sequence[int]) -> Blocks:
        gathers = shape.target is not None
        return of_root(every and [every[r] for r in ranks], mine, ranks.index(me), gathers=gathers)

    return Task(shape, [*(every or ()), *([] if mine is None else [mine])], blocks)


def _scatter(me: int, outgoing: Sequence[Piece] | None, mine: Piece | None, root: int, *_: Any) -> Task:
    return _of_root(me, Shape("scatter", source=root), outgoing, mine)


def _gather(me: int, mine: Piece | None, incoming: Sequence[Piece] | None, root: int, *_: Any) -> Task:
    return _of_root(me, Shape("gather", target=root), incoming, mine)


TASKS: dict[Callable[..., Any], Callable[..., Task]] = {
    spread.broadcast: _broadcast,
    spread.allgather: _allgather,
    personal.alltoall: _alltoall,
    personal.scatter: _scatter,
    personal.gather: _gather,
}
"""By algorithm: the task of its arguments, which follow this rank's number."""
