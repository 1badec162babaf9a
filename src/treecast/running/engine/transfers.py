"""The part of one rank, as transfers: the chunks that one row brings over one arc, in order, with the tags of their messages; and
the links of a rank, over which they go.

Both ends of an arc find the same transfers with the same tags, each from its own rows alone: rows are sorted by their columns, so
those of one arc come in the same order in either program.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.running.execution.layout import Bytes
from treecast.running.transport.base import DIRECT, FrameKind, Key, Ticket, Transport, Until

if TYPE_CHECKING:
    from treecast.schedule import Schedule


class Transfer(NamedTuple):
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


def transfers_of(program: "Schedule", rank: int, tags: int) -> tuple[Transfer, ...]:
    """Return the transfers of a rank, in the order of their steps, from its rows alone; tags are from 0 to ``tags`` - 1.

    A row is cut where the data of another source or target begins, so that missing data delays no other. Control
    rows are left out. Every message of an arc has a tag of its own; where there are more messages than tags, those of a
    transfer use theirs again, which cannot be confused: a transfer's messages are sent, and awaited, in order. Raises PlanError
    when an arc has more transfers than there are tags.
    """
    rows, ends = program.rows, program.collective.ends()
    found: list[Transfer] = []
    piece = rows.pieces
    src, dst = rows.src[piece.row], rows.dst[piece.row]
    mine = np.flatnonzero(((src == rank) | (dst == rank)) & (src != dst))
    row = piece.row[mine]
    sends, peer = src[mine] == rank, np.where(src[mine] == rank, dst[mine], src[mine])
    step, stride = rows.leaves(row, piece.place[mine]), rows.pace[row].astype(np.int64)
    columns = (sends, peer, piece.first[mine], piece.stop[mine], step, stride, rows.tree[row])
    for leaves, other, first, stop, at, apart, tree in zip(*(column.tolist() for column in columns), strict=True):
        # `ends`: where the data of one source or target ends among the chunks. A transfer lies between two of them.
        inside = ends[np.searchsorted(ends, first, side="right") : np.searchsorted(ends, stop, side="left")]
        for a, b in pairwise([first, *inside.tolist(), stop]):
            found.append(Transfer(leaves, other, a, b, at + apart * (a - first), apart, tree, 0, 0))
    return with_tags(found, tags)


def with_tags(transfers: list[Transfer], tags: int) -> tuple[Transfer, ...]:
    """Return transfers by their steps, with tags: the same at both ends of an arc, if its transfers are in the same order."""
    # By direction and peer. The same number may stand for a message to a rank and for one from it.
    arcs = defaultdict[tuple[bool, int], list[int]](list)
    for place, transfer in enumerate(transfers):
        arcs[transfer.sends, transfer.peer].append(place)
    done = list(transfers)
    for places in arcs.values():
        if len(places) > tags:
            raise PlanError(
                f"{len(places):,} rows over one link are more than this MPI has tags ({tags:,}): plan fewer messages"
            )
        # Else each transfer has as many tags as the others, and uses them by turns.
        enough = sum(transfers[p].stop - transfers[p].first for p in places) <= tags
        tag = 0
        for p in places:
            span = transfers[p].stop - transfers[p].first if enough else max(1, tags // len(places))
            done[p] = transfers[p]._replace(tag=tag, span=span)
            tag += span
    return tuple(sorted(done, key=lambda transfer: transfer.step))


class Expected:
    """How many messages may still bring a chunk to a rank: counted from the ranges that it is to receive.

    Of each chunk that came as a void only that is kept; a chunk that has come needs no count.
    """

    def __init__(self, transfers: Iterable[Transfer]) -> None:
        self._first, self._stop = defaultdict[int | None, list[int]](list), defaultdict[int | None, list[int]](list)
        for transfer in transfers:
            for tree in (transfer.tree, None):
                self._first[tree].append(transfer.first)
                self._stop[tree].append(transfer.stop)
        for ends in (*self._first.values(), *self._stop.values()):
            ends.sort()
        self._void: Counter[tuple[int, int | None]] = Counter()

    def planned(self, chunk: int, tree: int | None = None) -> int:
        """Return how many messages were to bring a chunk at all, or over one tree."""
        # Ranges that begin at or before the chunk, less those that end there: how many have it.
        return bisect_right(self._first[tree], chunk) - bisect_right(self._stop[tree], chunk)

    def left(self, chunk: int, tree: int | None = None) -> int:
        """Return how many of them have not come as voids."""
        return self.planned(chunk, tree) - self._void[chunk, tree]

    def note_void(self, chunk: int, tree: int) -> None:
        """Note that a message of a tree came, or will come, without its chunk."""
        self._void[chunk, tree] += 1
        self._void[chunk, None] += 1


class Peers:
    """How a rank reaches the others of a plan: rank r of it is rank ``seats[r]`` of the transport."""

    def __init__(self, transport: Transport, seats: Sequence[int]) -> None:
        self._transport, self._seats = transport, seats

    def key(self, tag: int) -> Key:
        """Return the key of the message that has a tag."""
        # A tag of 32 bits, in the two fields of a key that have 16 each.
        return Key(FrameKind.DATA, 0, tag >> 16, tag & 0xFFFF)

    def send(self, peer: int, tag: int, piece: Bytes, sure: bool) -> Ticket:
        """Begin to send; ``sure``: it is over only when the other side has asked for it."""
        key = self.key(tag)
        return self._transport.send(self._seats[peer], key._replace(instance=DIRECT) if sure else key, piece.data)

    def receive(self, peer: int, tag: int, place: Bytes) -> Ticket:
        """Begin to receive into a place."""
        return self._transport.receive(self._seats[peer], self.key(tag), place.data)

    def has_come(self, peer: int, tag: int) -> bool:
        """Return whether a message is there that nobody has asked for."""
        return self._transport.waits(self._seats[peer], self.key(tag)) is not None

    def is_lost(self, peer: int) -> bool:
        """Return whether nothing more comes from a rank."""
        return self._seats[peer] in self._transport.lost

    def give_up(self, peer: int) -> None:
        """Expect nothing more from a rank, and tell it nothing more."""
        self._transport.cancel(self._seats[peer])

    def wait(self, until: Until, seconds: float) -> None:
        """Move messages until ``until()`` holds or the time is up."""
        self._transport.wait(until, seconds)
