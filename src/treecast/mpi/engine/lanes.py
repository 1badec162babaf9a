"""What one rank does, as lanes: the chunks that one row brings over one arc, in order, with the tags of their messages.

Both ends of an arc find the same lanes with the same tags, each from its own rows alone: rows are sorted by what they say, so
those of one arc come in the same order in either program.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.schedule import Schedule


class Lane(NamedTuple):
    """The chunks ``first … stop-1`` on their way to, or from, ``peer``, one behind the other.

    ``step``: of the first; each further one is ``stride`` steps later (0: all combined in one). ``tag``: of the first chunk;
    the others count on, and begin anew after ``span`` tags.
    """

    sends: bool
    peer: int
    first: int
    stop: int
    step: int
    stride: int
    tree: int
    tag: int
    span: int

    def tag_of(self, chunk: int) -> int:
        """Return the tag of a chunk's message."""
        return self.tag + (chunk - self.first) % self.span

    def step_of(self, chunk: int) -> int:
        """Return the step in which the schedule has a chunk pass."""
        return self.step + self.stride * (chunk - self.first)


def lanes_of(program: Schedule, rank: int, tags: int) -> tuple[Lane, ...]:
    """Return the lanes of a rank, in the order of their steps, from its rows alone; tags are from 0 to ``tags`` - 1.

    A row is cut where what belongs to one source or one target begins, so that what never comes holds nothing else up. Control
    rows are left out. Every message of an arc has a tag of its own; where there are more messages than tags, those of a lane use
    theirs again, which cannot be confused: a lane's messages are sent, and awaited, in order. Raises PlanError when an arc has
    more lanes than there are tags.
    """
    rows, ends = program.rows, program.collective.ends()
    found: list[Lane] = []
    piece = rows.pieces
    src, dst = rows.src[piece.row], rows.dst[piece.row]
    mine = np.flatnonzero(((src == rank) | (dst == rank)) & (src != dst))
    row = piece.row[mine]
    sends, peer = src[mine] == rank, np.where(src[mine] == rank, dst[mine], src[mine])
    step, stride = rows.leaves(row, piece.place[mine]), rows.streaming[row].astype(np.int64)
    columns = (sends, peer, piece.first[mine], piece.stop[mine], step, stride, rows.tree[row])
    for leaves, other, first, stop, at, apart, tree in zip(*(column.tolist() for column in columns), strict=True):
        for a, b in pairwise(_cut(ends, first, stop)):
            found.append(Lane(leaves, other, a, b, at + apart * (a - first), apart, tree, 0, 0))
    return _tagged(found, tags)


def _cut(ends: np.ndarray, first: int, stop: int) -> list[int]:
    inside = ends[np.searchsorted(ends, first, side="right") : np.searchsorted(ends, stop, side="left")]
    return [first, *inside.tolist(), stop]


def _tagged(lanes: list[Lane], tags: int) -> tuple[Lane, ...]:
    arcs: dict[tuple[bool, int], list[int]] = {}
    for place, lane in enumerate(lanes):
        arcs.setdefault((lane.sends, lane.peer), []).append(place)
    done = list(lanes)
    for places in arcs.values():
        if len(places) > tags:
            raise PlanError(
                f"{len(places):,} rows over one link are more than this MPI has tags ({tags:,}): plan fewer messages"
            )
        enough = sum(lanes[p].stop - lanes[p].first for p in places) <= tags
        tag = 0
        for p in places:
            span = lanes[p].stop - lanes[p].first if enough else max(1, tags // len(places))
            done[p] = lanes[p]._replace(tag=tag, span=span)
            tag += span
    return tuple(sorted(done, key=lambda lane: lane.step))
