"""One host in a cast, as a rank of a job over sockets: all find out who lacks what, and batches go out until nobody lacks any.

A batch is a broadcast from one that has its pieces, among those that lack them. While a batch is on its way, the one before is
written, and hashed at every host; it counts where the digest is that of the source, or of the holder when the source has died.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from os import uname
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from treecast.errors import DeliveryError, PlanError
from treecast.running.cast.files import Bytes, CastFiles, CastSource, Marks, Pieces, piece_of, sources_of
from treecast.running.engine.planned import told_rate
from treecast.tcp.comm import UNDEFINED, Comm

# The first batch is small, as nobody knows the rate yet. The greatest fits into memory twice: one comes while one is
# written.
_FIRST, _MOST = 8 << 20, 64 << 20  # bytes of the first batch where no rate is told, and of any
_AIM = 10.0  # seconds of a batch: who is stopped, or watches, learns so often how things are
_BAD = 3  # batches that may come with other bytes


class Result(NamedTuple):
    """The outcome at a host: its number, from 1, and 0 of the source; the bytes that came, and the error, "" for none."""

    number: int
    name: str
    came: int
    error: str


class _Batch(NamedTuple):
    """Pieces that go from one rank to some; ``digest``: of them at this one, None where they are not; the seconds they took."""

    pieces: Pieces
    root: int
    lackers: tuple[int, ...]
    digest: "Future[bytes | None]"
    seconds: float


class Caster:
    """This host in a cast, through all jobs of it, one after the other.

    ``number``: of the host, 0 where the files are, at ``own``; else they go to ``target``. ``sure``: whether files of the same
    size and time are compared all the same. ``stop``: says whether others wait to take part. ``tell``: told how many bytes are in
    their places, and of how many, at the lowest rank. ``size``: bytes of all files. ``looked``, ``sent``: seconds.
    """

    def __init__(
        self,
        number: int,
        name: str,
        target: Path,
        own: Path | None,
        *,
        sure: bool = False,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:
        self._me, self._target, self._own, self._sure, self._stop, self._tell = (
            (number, name),
            target,
            own,
            sure,
            stop,
            tell,
        )
        self._files: CastFiles | None = None
        self.size, self.looked, self.sent, self.names = 0, 0.0, 0.0, dict[int, str]()
        self._pool = ThreadPoolExecutor(1, "treecast.cast")

    @property
    def files(self) -> CastFiles:
        """The files, once they are known."""
        if self._files is None:
            raise PlanError("it is not known yet which files there are")
        return self._files

    def join(self, comm: Comm) -> list[Result] | None:
        """Take part in a job; return the outcome at all hosts that live, the same at all of them; None when it was stopped.

        Raises PlanError where there is nothing to send, and DeliveryError when the source died before it could say what.
        """
        comm.plan_between_hosts()
        began = monotonic()
        self._comm, self._parts, self._bad, self._load = comm, dict[tuple[int, ...], Comm | None](), 0, Counter[int]()
        here = comm.allgather((*self._me, self._files is not None or self._own is not None))
        knows = next((rank for rank, each in enumerate(here) if each and each[2]), None)
        self.names |= {number: name for number, name, _ in filter(None, here)}
        self._source = next((rank for rank, each in enumerate(here) if each and each[0] == 0), -1)
        if knows is None:
            raise DeliveryError("the source has died before it could say which files there are")
        self._look(knows)
        looked = monotonic()
        stopped = self._send()
        self.looked, self.sent = self.looked + looked - began, self.sent + monotonic() - looked
        if stopped:
            return None
        changed = comm.allgather(self.files.changed())
        self.files.end(set[int]().union(*filter(None, changed)))
        told = comm.allgather((*self._me, self.files.came, self.files.error))
        return [Result(*each) for each in told if each is not None]

    def _look(self, knows: int) -> None:
        """Learn which files there are, and which pieces of them each host has."""
        comm = self._comm
        wrong, sources, piece = comm.bcast(self._words() if comm.rank == knows else None, knows)
        if wrong:
            raise PlanError(wrong)
        marks: Marks = np.zeros(len(sources), bool)
        if self._files is None:
            self._files = CastFiles(sources, piece, self._target, self._own)
            self.size, marks = self._files.size, self._files.begin(self._sure)
        files, asked = self._files, [_unpack(each, len(sources)) for each in comm.allgather(_pack(marks)) if each]
        # Only files of which some host has bytes: the source does not read all the others.
        wanted = np.flatnonzero(np.any(asked, axis=0)).tolist()
        if wanted and self._source in comm.members:
            mine = files.digests(wanted if self._own is not None else np.flatnonzero(marks).tolist())
            told = comm.bcast(mine, self._source)
            if self._own is None:
                files.compare(mine, told)
        held = comm.allgather((_pack(files.held), bool(files.error)))
        self._held = {rank: _unpack(each[0], len(files.held)) for rank, each in enumerate(held) if each is not None}
        self._faulty = {rank for rank, each in enumerate(held) if each is not None and each[1]}
        self._flying: Marks = np.zeros(len(files.held), bool)
        self._room = _bytes_in(_AIM, told_rate() or _FIRST / _AIM)

    def _words(self) -> tuple[str, Sequence[CastSource], int]:
        """Return which files there are, and the bytes of a piece; or what is wrong with them."""
        if self._files is not None:
            return "", self._files.sources, self._files.piece
        try:
            sources = sources_of(self._own or self._target)
        except PlanError as error:
            return str(error), [], 0
        return "", sources, piece_of(sum(each.size for each in sources), self._comm.size - 1)

    def _send(self) -> bool:
        """Bring all pieces to all that lack them, as far as somebody has them; return whether others wait to take part."""
        # A pipeline of two: a batch is on its way while the one before is written, hashed and settled.
        before = None
        while True:
            batch = self._next()
            if batch is None and before is None:
                return False
            now = None if batch is None else self._bring(*batch)
            stopped = before is not None and self._settle(before)
            before = now
            # the batch on its way is settled as well, before the job ends
            if stopped:
                if before is not None:
                    self._settle(before)
                return True

    def _next(self) -> tuple[Pieces, int, tuple[int, ...]] | None:
        """Return pieces, a rank that has them, and those that lack them, alike at all ranks; None when none are left.

        First come pieces that most lack; of those that have them the one that has sent least is taken.
        """
        members = [rank for rank in self._comm.members if rank in self._held]
        held = np.array([self._held[rank] for rank in members])
        can = np.array([rank not in self._faulty for rank in members])
        lack = ~held & can[:, None] & ~self._flying
        count = np.where(held.any(0), lack.sum(0), 0)
        if not count.any():
            return None
        first = int(count.argmax())
        # All pieces that exactly the same hosts have: one broadcast carries them.
        alike = np.flatnonzero((held == held[:, first : first + 1]).all(0) & (count == count[first]))
        ends = np.cumsum(self.files.lengths[alike])
        pieces = alike[: max(1, int(np.searchsorted(ends, self._room, side="right")))]
        self._flying[pieces] = True
        root = min(
            (rank for rank, has in zip(members, held[:, first], strict=True) if has), key=lambda r: (self._load[r], r)
        )
        self._load[root] += 1
        return pieces, root, tuple(rank for rank, lacks in zip(members, lack[:, first], strict=True) if lacks)

    def _among(self, ranks: set[int]) -> Comm | None:
        """Return the communicator of some ranks, None where this is none of them; all make this call."""
        # over a network of links, or for everybody, the communicator of the job does
        if self._comm.process.links is not None or ranks == set(self._comm.members):
            return self._comm
        key = tuple(sorted(ranks))
        if key not in self._parts:
            is_in = self._comm.rank in ranks
            part = self._comm.Split(0 if is_in else UNDEFINED)
            self._parts[key] = part if is_in else None
            if is_in:
                part.plan_between_hosts()
        return self._parts[key]

    def _bring(self, pieces: Pieces, root: int, lackers: tuple[int, ...]) -> _Batch:
        """Broadcast pieces; begin to write, and to hash them."""
        part, began, is_here = self._among({root, *lackers}), monotonic(), False
        memory = np.empty(int(self.files.lengths[pieces].sum()) if part is not None else 0, np.uint8)
        is_root = self._comm.rank == root
        if is_root:
            is_here = self._read(pieces, memory)
        if part is not None and root in part.group.seats:
            try:
                part.Bcast(memory, list(part.group.seats).index(root))
                is_here = is_here or not is_root
            except DeliveryError:  # it has died, and another may have them
                is_here = False
        lacks = self._comm.rank in lackers
        digest = self._pool.submit(self._take, pieces, memory, lacks, is_here and (lacks or is_root))
        return _Batch(pieces, root, lackers, digest, monotonic() - began)

    def _read(self, pieces: Pieces, memory: Bytes) -> bool:
        try:
            self.files.read(pieces, memory)
        except (OSError, ValueError):
            return False
        return True

    def _take(self, pieces: Pieces, memory: Bytes, lacks: bool, is_here: bool) -> bytes | None:
        """Return the digest of pieces, and write those that this host lacks; the source always tells its own."""
        # The source tells the true digest also of what another rank has sent.
        if not is_here and self._own is not None:
            memory = np.empty(int(self.files.lengths[pieces].sum()), np.uint8)
            is_here = self._read(pieces, memory)
        if lacks and is_here and not self.files.error:
            self.files.write(pieces, memory)
        return sha256(memory.data).digest() if is_here else None

    def _settle(self, batch: _Batch) -> bool:
        """Take in who has a batch now; return whether others wait to take part.

        Raises DeliveryError when batches do not come as they were sent.
        """
        comm, pieces = self._comm, batch.pieces
        mine = batch.digest.result()
        said = {
            rank: each
            for rank, each in enumerate(comm.allgather((mine, bool(self.files.error), self._stop(), batch.seconds)))
            if each is not None
        }
        self._flying[pieces] = False
        self._faulty |= {rank for rank, each in said.items() if each[1]}
        sent = said[batch.root][0] if batch.root in said else None
        # The source knows. When it has died, what was sent counts as true.
        truth = (said[self._source][0] if self._source in said else None) or sent
        # The holder could not read them, or has other bytes: it is no holder of these any more.
        if sent is None or sent != truth:
            self._held[batch.root][pieces] = False
        lacking = [rank for rank in batch.lackers if rank in said and rank not in self._faulty]
        right = [rank for rank in lacking if truth is not None and said[rank][0] == truth]
        for rank in right:
            self._held[rank][pieces] = True
        if comm.rank in right:
            self.files.held[pieces] = True
            self.files.came += int(self.files.lengths[pieces].sum())
        # the holder sent the true bytes, and somebody got others
        self._bad += sent is not None and sent == truth and len(right) < len(lacking)
        if self._bad > _BAD:
            raise DeliveryError(f"pieces of {self.files.name_of(pieces)} came with other bytes")
        took = max(each[3] for each in said.values())
        # By the rate of this batch, at the slowest host: the next takes about as long as is aimed at.
        self._room = _bytes_in(_AIM, int(self.files.lengths[pieces].sum()) / max(took, 1e-3))
        self._report()
        return any(each[2] for each in said.values())

    def _report(self) -> None:
        """Tell how far all are, at the lowest rank."""
        members = [rank for rank in self._comm.members if rank not in self._faulty and rank != self._source]
        if self._comm.rank == min(self._comm.members) and members:
            done = sum(int(self.files.lengths[self._held[rank]].sum()) for rank in members if rank in self._held)
            self._tell(done, self.size * len(members))


def _bytes_in(seconds: float, rate: float) -> int:
    return min(max(round(seconds * rate), _FIRST), _MOST)


def name_here() -> str:
    """Return the name of this host."""
    return uname().nodename


def _pack(marks: Marks) -> bytes:
    return np.packbits(marks).tobytes()


def _unpack(marks: bytes, count: int) -> Marks:
    return np.unpackbits(np.frombuffer(marks, np.uint8), count=count).astype(bool)
