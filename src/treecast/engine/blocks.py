"""Collectives of bytes as parts of a plan: where the chunks of each block lie, and the blocks lacking at the end."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treecast.algorithms.sums import Sums, width_of
from treecast.collectives import Collective
from treecast.engine.choose import Program
from treecast.engine.memory import Part
from treecast.errors import PlanError
from treecast.execution.layout import Bytes, even_layout, ranges_at
from treecast.transport.base import Piece

Run = Callable[[Part], set[int]]
"""Carries a part of a plan out, and returns the chunks that the rank holds then."""


@dataclass(frozen=True)
class Blocks:
    """Blocks of ``size`` bytes, as one rank sees them: those that it has (``held``), and those that it must receive (``wanted``).

    ``place(block)``: the memory of a block, None of one that only passes.
    """

    size: int
    place: Callable[[int], Bytes | None]
    held: Iterable[int]
    wanted: Iterable[int]


def bytes_of(piece: Piece) -> Bytes:
    """Return a piece as an array of bytes in the same memory."""
    return np.frombuffer(piece, np.uint8) if len(piece) else np.empty(0, np.uint8)


def of_one(data: Piece, has: bool) -> Blocks:
    """Return the one block of a broadcast; ``has``: whether this rank is its source."""
    memory = bytes_of(data)
    return Blocks(len(memory), lambda block: memory, [0] if has else [], [0])


def of_all(into: Sequence[Bytes], me: int) -> Blocks:
    """Return the blocks of an allgather, a rank's each, all of which are wanted."""
    return Blocks(len(into[me]), into.__getitem__, [me], range(len(into)))


def of_pairs(outgoing: Sequence[Piece], incoming: Sequence[Piece], me: int) -> Blocks:
    """Return the blocks of an alltoall; that of this rank to itself is copied."""
    out, into, size = [*map(bytes_of, outgoing)], [*map(bytes_of, incoming)], len(outgoing)
    into[me][:] = out[me]

    def place(block: int) -> Bytes | None:
        source, target = divmod(block, size)
        return out[target] if source == me else into[source] if target == me else None

    return Blocks(len(out[me]), place, range(me * size, (me + 1) * size), range(me, size * size, size))


def of_root(blocks: Sequence[Piece] | None, mine: Piece | None, me: int, *, gathers: bool) -> Blocks:
    """Return the blocks that a root deals out, or ``gathers``; at the root, its own is copied where ``mine`` is there, too."""
    every = [*map(bytes_of, blocks or ())]
    own = every[me] if every else bytes_of(mine)
    if every and mine is not None:
        there, here = (own, bytes_of(mine)) if gathers else (bytes_of(mine), own)
        there[:] = here
    at_root, here = range(len(every)), [me]
    held, wanted = (here, at_root) if gathers else (at_root, here)
    return Blocks(len(own), lambda block: every[block] if every else own if block == me else None, held, wanted)


def carry(blocks: Blocks, program: Program, run: Run) -> set[int]:
    """Carry a plan of blocks out; return the ranks whose data this one lacks."""
    count = program.collective.messages
    layout = even_layout(blocks.size, count)

    def span(chunk: int) -> tuple[Bytes | None, slice]:
        block, place = divmod(chunk, count)
        return blocks.place(block), layout.slice_of(place, place + 1)

    held, wanted = (
        [chunk for block in of for chunk in range(block * count, (block + 1) * count)]
        for of in (blocks.held, blocks.wanted)
    )
    return sources_of_missing(program.collective, run(_part_of(span, held)), wanted)


def carry_unequal(
    place: Callable[[int], Bytes | None], cut: tuple[Sequence[int], int], me: int, program: Program, run: Run
) -> set[int]:
    """Carry a plan of blocks of any lengths out; return the ranks whose data this one lacks.

    ``place``: as of ``Blocks``. ``cut``: the bytes of each block, and of the flits that it is cut into.
    """
    collective, (sizes, flit) = program.collective, cut

    def span(chunk: int) -> tuple[Bytes | None, slice]:
        block, number = map(int, collective.place_of(chunk))
        return place(block), slice(number * flit, min((number + 1) * flit, int(sizes[block])))

    held, wanted = (
        [chunk for first, stop in ranges_at(some, me) for chunk in range(first, stop)]
        for some in (collective.given(), collective.wanted())
    )
    return sources_of_missing(collective, run(_part_of(span, held)), wanted)


def _part_of(span: Callable[[int], tuple[Bytes | None, slice]], held: list[int]) -> Part:
    """Return the part of a rank; ``span``: the memory of a chunk's block, None where it only passes, and its place in there."""

    def view(chunk: int) -> Bytes:
        memory, where = span(chunk)
        if memory is None:
            raise PlanError(f"chunk {chunk} only passes, and has no place")
        return memory[where]

    def passing(chunk: int) -> int | None:
        memory, where = span(chunk)
        return where.stop - where.start if memory is None else None

    return Part(view, held, passing=passing)


def carry_sum(received: Bytes, how: Sums, me: int, program: Program, run: Run) -> bool:
    """Carry the plan of a sum out, in the memory of this rank's contribution; return whether it has all of the sum that it wants.

    Chunks are cut across the whole vector, between numbers; a finished sum takes the place of the contribution, which is gone by
    then.
    """
    collective, count = program.collective, program.collective.messages
    total, item = collective.sums, width_of(received, how) or 1
    layout = even_layout(len(received), total, item)

    def view(chunk: int) -> Bytes:
        return received[layout.slice_of(chunk % total, chunk % total + 1)]

    def add(into: Bytes, contribution: Bytes) -> None:
        numbers = len(into) // item
        how.op.Reduce_local([contribution, numbers, how.datatype], [into, numbers, how.datatype])

    own = {c: total + c for c in range(me * count, (me + 1) * count)} if collective.results else {}
    held = run(Part(view, (), program.missing, own, add))
    wanted = range(total, 2 * total) if collective.results else range(total) if me == collective.root else ()
    return held.issuperset(wanted)


def sources_of_missing(collective: Collective, held: set[int], wanted: Iterable[int]) -> set[int]:
    """Return the ranks whose chunks are wanted, and not held."""
    return {int(collective.source_of(chunk)) for chunk in wanted if chunk not in held}
