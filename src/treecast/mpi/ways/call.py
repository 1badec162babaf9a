"""What the calls on one communicator share: its duplicate, the number of the call, who is gone, and memory to use again."""

from collections.abc import Callable, Iterable
from typing import Any

from treecast.mpi.library import tags_of

Piece = Any
"""Contiguous bytes that mpi4py takes as ``[piece, len(piece), MPI.BYTE]``: an ``MPI.buffer``, say. Its slices must be views."""

STAGES = 64  # of a call, whose messages have tags of their own; later ones use the tags of the first again
_LINE = 64  # bytes of a cache line
KEPT = 64 << 20  # bytes of memory that are kept from call to call


def copy_here(into: Piece, piece: Piece) -> None:
    """Copy bytes in this machine's memory, unless they are the same ones."""
    if len(piece) and into is not piece:
        into[:] = piece


class Call:
    """One collective under way on a communicator; the next one is the same object after ``begin``.

    ``mpi``: mpi4py's module. ``comm``: a duplicate of the communicator that nobody else uses; it returns errors.
    ``rank, size``: of it. ``number``: of the call, a part of every tag, so that nothing of another call is ever taken for this
    one's. ``survive``: how many failures the call outlives; 0 leaves out the agreement about the outcome. ``deadline``: seconds
    without any message after which the ranks that are waited for count as cut; None waits for ever.
    ``refused``: what is wrong with this rank's arguments, "" for nothing: it then sends voids, and the others raise
    DeliveryError. ``copy``: how bytes are copied on this rank; whoever has buffers outside the machine's memory puts another
    function there.

    ``ahead, behind``: the other ranks, from the next one on, and from the one before. When all send ahead, no two send to the
    same rank at once. ``dead``: ranks that all living know to have failed. ``cuts``: pairs of ranks (a < b) that do not hear each
    other, as all know alike. ``fallen, suspects``: ranks that this one has found dead, or silent; the next agreement makes them
    known to all. ``beside``: another thread may wait in MPI meanwhile, so MPI's agreement cannot be used. ``cut_off``: the
    others have gone on without this rank. ``target``: the one rank that wants the data, None when all do. ``told``: the dead of
    whom the program has heard.

    Examples
    --------
    >>> call = Call(MPI, comm.Dup(), survive=2)                     # doctest: +SKIP
    >>> call.begin()                                                # doctest: +SKIP
    >>> failed = broadcast(call, MPI.buffer.frombuffer(array), 0)   # doctest: +SKIP
    """

    __slots__ = (
        "ahead",
        "behind",
        "beside",
        "comm",
        "copy",
        "cut_off",
        "cuts",
        "dead",
        "deadline",
        "fallen",
        "first_tag",
        "given_up",
        "kept",
        "mpi",
        "number",
        "rank",
        "refused",
        "size",
        "spare",
        "stage",
        "status_lists",
        "survive",
        "suspects",
        "tag",
        "tag_epochs",
        "taken",
        "target",
        "told",
    )

    def __init__(self, mpi: Any, comm: Any, survive: int = 0, deadline: float | None = None) -> None:
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        self.mpi, self.comm, self.survive, self.deadline = mpi, comm, survive, deadline
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self.number, self.refused, self.cut_off, self.beside = -1, "", False, False
        self.copy: Callable[[Piece, Piece], None] = copy_here
        self.dead, self.fallen, self.suspects = set[int](), set[int](), set[int]()
        self.told = set[int]()
        self.target: int | None = None
        self.cuts = set[tuple[int, int]]()
        self.spare: dict[int, list[Piece]] = {}
        self.taken: list[Piece] = []
        self.kept = 0  # bytes in ``spare``
        self.given_up: list[Any] = []  # requests that may never end, with their memory
        self.tag_epochs = max(1, tags_of(mpi) // (STAGES * self.size))
        self.first_tag = self.tag = self.stage = 0
        self.status_lists: dict[int, list[Any]] = {}
        self.ahead = [(self.rank + k) % self.size for k in range(1, self.size)]
        self.behind = self.ahead[::-1]

    def begin(self) -> None:
        """Begin the next call: take its number, before anybody looks at arguments, and take scratch memory back."""
        self.number += 1
        self.first_tag = self.number % self.tag_epochs * STAGES * self.size
        self.stage, self.refused = -1, ""
        if self.taken:
            self._take_back()
        if self.given_up:
            self.given_up = [request for request in self.given_up if not self._is_over(request)]

    def next_stage(self) -> int:
        """Return the first tag of the next part of the call; ``size`` tags from there on belong to it."""
        self.stage += 1
        self.tag = self.first_tag + self.stage % STAGES * self.size
        return self.tag

    def scratch(self, count: int) -> Piece:
        """Return ``count`` bytes of memory, this call's until the next one begins."""
        room = 1 << max(6, (count - 1).bit_length())
        spare = self.spare.get(room)
        if spare:
            found = spare.pop()
            self.kept -= room
        else:
            found = self.mpi.buffer.allocate(room)
        self.taken.append(found)
        return found[:count]

    def scratches(self, ranks: Iterable[int], count: int) -> dict[int, Piece]:
        """Return ``count`` bytes of memory for each of some ranks, this call's until the next one begins."""
        ordered = list(ranks)
        apart = -(-count // _LINE) * _LINE
        whole = self.scratch(apart * len(ordered))
        return {rank: whole[k * apart : k * apart + count] for k, rank in enumerate(ordered)}

    def _take_back(self) -> None:
        for piece in self.taken:
            room = len(piece)
            if self.kept + room <= KEPT:
                self.kept += room
                self.spare.setdefault(room, []).append(piece)
        self.taken.clear()

    def statuses(self, count: int) -> list[Any]:
        """Return ``count`` statuses for requests that are waited for together."""
        found = self.status_lists.get(count)
        if found is None:
            found = self.status_lists[count] = [self.mpi.Status() for _ in range(count)]
        return found

    def _is_over(self, request: Any) -> bool:
        try:
            return bool(request.Test())
        except self.mpi.Exception:
            return True

    @property
    def floods(self) -> bool:
        """Whether the outcome is found by messages alone, without MPI's agreement.

        That waits for ever for who is silent. And in Open MPI 5 it gives wrong values now and then while another thread of the
        process waits in MPI.
        """
        return self.deadline is not None or self.beside

    def is_cut(self, a: int, b: int) -> bool:
        """Return whether all know that two ranks do not hear each other, or that one has failed."""
        return a in self.dead or b in self.dead or ((a, b) if a < b else (b, a)) in self.cuts

    def free(self) -> None:
        """Free the duplicate of the communicator. Not after a death: that could wait for ever."""
        self.comm.Free()
