"""Collectives of bytes that go by plans: the memory of each, and where its blocks lie as one of some ranks sees them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treecast.algorithms.spread import copy_here
from treecast.collectives import Kind
from treecast.engine.blocks import Place, bytes_of
from treecast.execution.layout import Bytes
from treecast.groups.shape import Shape
from treecast.transport.base import Piece


class Task(NamedTuple):
    """A collective by a plan. ``pieces``: all memory of it at this rank, none where its arguments were refused.

    ``place(ranks)``: where the blocks of some ranks lie, of which this is one.
    """

    shape: Shape
    pieces: Sequence[Piece]
    place: Callable[[Sequence[int]], Place]


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
