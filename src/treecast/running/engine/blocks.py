"""Collectives of bytes as parts of a plan: where the chunks of each block lie, and the blocks lacking at the end."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from treecast.collectives import COLLECTIVES, Kind
from treecast.errors import PlanError
from treecast.running.algorithms.little import copy_here
from treecast.running.algorithms.sums import Sums, width_of
from treecast.running.engine.choose import Operation, Role, chunks_in, flit_of
from treecast.running.engine.memory import Part
from treecast.running.execution.layout import Bytes, even_layout, ranges_at
from treecast.running.groups.shape import Shape
from treecast.running.transport.base import Piece

_KEPT = 1 << 10  # chunks whose places are known while they are under way
Run = Callable[[Part], set[int]]  # carries a part of a plan out, and returns the chunks that the rank holds then
Place = Callable[[int], Bytes | None]  # returns the memory of a block, None of one that only passes
Cut = Callable[[int, int], slice]  # returns which part of a block a chunk is, from the numbers of both


def bytes_of(piece: Piece) -> Bytes:
    """Return a piece as an array of bytes in the same memory."""
    return np.frombuffer(piece, np.uint8) if len(piece) else np.empty(0, np.uint8)


def carry(place: Place, cut: Cut, me: int, role: Role, run: Run) -> set[int]:
    """Carry a plan of blocks out; return the ranks whose data this one lacks."""
    collective = role.collective

    @lru_cache(_KEPT)
    def span(chunk: int) -> tuple[Bytes | None, slice]:
        block, number = map(int, collective.place_of(chunk))
        return place(block), cut(block, number)

    def view(chunk: int) -> Bytes:
        memory, where = span(chunk)
        if memory is None:
            raise PlanError(f"chunk {chunk} only passes, and has no place")
        return memory[where]

    # None: the chunk has a place here, and is received there.
    def passing(chunk: int) -> int | None:
        memory, where = span(chunk)
        return where.stop - where.start if memory is None else None

    held, wanted = (
        [chunk for first, stop in ranges_at(some, me) for chunk in range(first, stop)]
        for some in (collective.given(), collective.wanted())
    )
    got = run(Part(view, held, passing=passing))
    return {int(collective.source_of(chunk)) for chunk in wanted if chunk not in got}


def cut_up(what: Operation, sizes: Sequence[int], rate: float = 0.0) -> tuple[Operation, Cut]:
    """Return an operation in as many chunks as are best, and how its blocks are cut into them; ``rate`` as in ``messages_of``.

    ``sizes``: the bytes of each block where their lengths differ, else of those from or to each rank, or of the first alone.
    """
    # Blocks of different lengths: flits of one length, of which the last of a block is shorter.
    if COLLECTIVES[what.kind].lengths:
        flit = flit_of(what.network, sizes, what.survive, rate, model=what.model)
        what = what._replace(lengths=tuple(-(-size // flit) for size in sizes))
        return what, lambda block, number: slice(number * flit, min((number + 1) * flit, sizes[block]))
    count = chunks_in(what, max(sizes), rate)
    layouts = {size: even_layout(size, count) for size in set(sizes)}
    return what._replace(messages=count), lambda block, number: layouts[sizes[block % len(sizes)]].slice_of(
        number, number + 1
    )


def carry_sum(received: Bytes, how: Sums, me: int, role: Role, run: Run, *, partial: Bytes | None = None) -> bool:
    """Carry the plan of a sum out, in the memory of this rank's contribution; return whether it has all of the sum that it wants.

    Chunks are cut across the whole vector, between numbers; a finished sum takes the place of the contribution, which is gone by
    then. ``partial``: this rank's contribution as partial sums, of which only those of all are rounded.
    """
    collective = role.collective
    total, item = collective.sums, width_of(received, how) or 1
    mine, exact = (received, None) if partial is None else (partial, how.exact)
    wide = len(mine) // len(received)
    layout = even_layout(len(received), total, item)
    # where sums have owners, no finished one comes before the last use of the contribution
    finished = np.empty_like(received) if collective.shared else received

    # Chunk c, below `total`, is a sum under way, and chunk c + total the same part of the vector as a finished one.
    def view(chunk: int) -> Bytes:
        first, stop = map(int, layout.bounds[chunk % total : chunk % total + 2])
        return mine[wide * first : wide * stop] if chunk < total else finished[first:stop]

    def add(into: Bytes, contribution: Bytes) -> None:
        how.reduce(contribution, into, len(into) // item)

    adds = Part(view, (), *role.sums, add, shared=collective.shared)
    held = run(adds if exact is None else replace(adds, add=exact.merge, finish=exact.end))
    if finished is not received:
        received[:] = finished
    wanted = range(total, 2 * total) if collective.results else range(total) if me == collective.root else ()
    return held.issuperset(wanted)


class Task(NamedTuple):
    """A collective by a plan. ``pieces``: all memory of it at this rank, none where its arguments were refused.

    ``place(ranks)``: where the blocks of some ranks lie, of which this is one. ``lengths``: of all blocks, where all ranks had to
    tell them.
    """

    shape: Shape
    pieces: Sequence[Piece]
    place: Callable[[Sequence[int]], Place]
    lengths: Sequence[int] | None = None


def shape_of(kind: Kind, given: Sequence[Any]) -> Shape:
    """Return the shape of a collective, from the arguments of its algorithm: one buffer or two, and then the root."""
    if kind.all_source:
        return Shape(kind.name)
    root = given[1 if kind.one_to_all else 2]
    return Shape(kind.name, target=root) if kind.direction == "to" else Shape(kind.name, source=root)


def task_of(kind: Kind, me: int, given: Sequence[Any]) -> Task:
    """Return the task of a collective that moves blocks, from the arguments of its algorithm at this rank.

    A buffer is one piece, or a list of one for each rank. Where both have this rank's own block, it is copied.
    """
    buffers = given[: 1 if kind.one_to_all else 2]
    lists: list[list[Piece]] = [each for each in buffers if isinstance(each, list)]
    alone: list[Piece] = [each for each in buffers if not (each is None or isinstance(each, list))]
    ends = [every[me] for every in lists] + alone
    if len(ends) > 1:
        here, there = ends if kind.starts == "root" or kind.blocks == "pair" else reversed(ends)
        copy_here(there, here)

    def place(ranks: Sequence[int]) -> Place:
        mine, count = ranks.index(me), len(ranks)
        every = [[bytes_of(pieces[rank]) for rank in ranks] for pieces in lists] or [[bytes_of(alone[0])]]

        def of(block: int) -> Bytes | None:
            if kind.blocks == "pair":
                source, target = divmod(block, count)
                return every[0][target] if source == mine else every[1][source] if target == mine else None
            return every[0][block] if lists else every[0][0] if kind.blocks == "one" or block == mine else None

        return of

    return Task(shape_of(kind, given), [piece for every in lists for piece in every] or alone, place)
