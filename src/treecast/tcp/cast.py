"""A file, or a folder, to all hosts: in pieces, by broadcasts that survive, each piece checked before it counts.

Rank 0 has the files. All lacking pieces go out in batches, each a broadcast by a plan; after it every rank that lives has the
batch. So when rank 0 dies all others have the same pieces, and when some rank had more from an earlier try, that one goes on.
Pieces are written beside the target, as ``NAME.part``, which is renamed when it is whole. Pieces that are there already are not
sent.
"""

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treecast.errors import DeliveryError, PlanError
from treecast.tcp.comm import Comm

PIECE = 4 << 20
"""Bytes of a piece."""
_BATCH = 8  # pieces of a broadcast
_SPARE = 1 << 20  # bytes that stay free on the disk


class Source(NamedTuple):
    """A file that goes out: its name below the target, "." for the target itself; bytes, mode, time of its last change."""

    name: str
    size: int
    mode: int
    changed: int

    @property
    def pieces(self) -> int:
        """How many pieces it has."""
        return -(-self.size // PIECE)


class Result(NamedTuple):
    """The outcome of the files at a rank: ``error``: the error in words, "" for none; ``came``: the bytes that it lacked."""

    rank: int
    host: str
    came: int
    error: str


def sources_of(path: Path) -> list[Source]:
    """Return the files of a path. Raises PlanError when there is none, or one that is no file."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if not each.is_dir())
    wrong = next((each for each in files if not each.is_file()), None if path.exists() else path)
    if wrong is not None or not files:
        raise PlanError(f"{wrong or path} is no file, and no folder of files")
    said = [(str(file.relative_to(path)), file.stat()) for file in files]
    return [Source(name, each.st_size, each.st_mode & 0o777, each.st_mtime_ns) for name, each in said]


def cast_here(comm: Comm, path: Path | None, target: Path) -> tuple[list[Result], int]:
    """Take part as a rank: ``path`` goes out at rank 0, and to ``target`` at this one; return the outcome,
    and how many bytes there are.

    The list is the same at all ranks that live. Raises DeliveryError when pieces are lost with all ranks that had them.
    """
    comm.plan_between_hosts()
    wrong, sources = "", list[Source]()
    if comm.rank == 0 and path is not None:
        try:
            sources = sources_of(path)
        except (PlanError, OSError) as error:
            wrong = str(error)
    wrong, sources = comm.bcast((wrong, sources))
    if wrong:
        raise PlanError(wrong)
    came, size = 0, sum(source.size for source in sources)
    error = _room_for(target, size) if comm.rank else ""
    errors: list[str | None] = comm.allgather(error)
    first = next((f"rank {rank}: {each}" for rank, each in enumerate(errors) if each), "")
    if first:
        raise PlanError(first)
    for source in sources:
        own = None if comm.rank or path is None else path / source.name
        one = _Cast(comm, source, target / source.name, own)
        came += one.run()
        error = error or one.error
    results = comm.allgather((os.uname().nodename, came, error))
    return [Result(rank, *each) for rank, each in enumerate(results) if each is not None], size


def _room_for(target: Path, size: int) -> str:
    """Return why so many bytes do not go there, "" when they do."""
    folder = next(each for each in (target, *target.absolute().parents) if each.is_dir())
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written"
    ours = sum(each.stat().st_size for each in (target, _part(target)) if each.is_file())
    free = shutil.disk_usage(folder).free + ours
    return f"{folder} has room for {free:,} bytes, not for {size:,}" if free < size + _SPARE else ""


def _part(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


class _Cast:
    """One file on its way, as one rank sees it: ``own`` is where rank 0 reads it, ``file`` where it goes."""

    def __init__(self, comm: Comm, source: Source, file: Path, own: Path | None) -> None:
        self._comm, self._source, self._file, self._own = comm, source, file, own
        self._part, self.error = own or _part(file), ""
        self._holds = dict[int, set[int]]()
        self._threads = ThreadPoolExecutor(2)

    def run(self) -> int:
        """Bring the file here; return the bytes that came. Errors of this host alone are in ``error``."""
        some: list[bool | None] = self._comm.allgather(self._begin())
        mine = set(range(self._source.pieces)) if self._own else set[int]()
        if any(some):
            mine = self._compare(mine)
        held: list[set[int] | None] = self._comm.allgather(mine)
        self._holds = {rank: pieces for rank, pieces in enumerate(held) if pieces is not None}
        lacking = [k for k in range(self._source.pieces) if any(k not in pieces for pieces in self._holds.values())]
        came, writing = 0, self._threads.submit(self._write, {})
        with self._threads:
            for batch in (lacking[k : k + _BATCH] for k in range(0, len(lacking), _BATCH)):
                data = self._bring(batch)
                writing.result()
                new = [k for k in batch if k not in mine]
                came += sum(len(data[k]) for k in new)
                writing = self._threads.submit(self._write, {k: data[k] for k in new})
                for pieces in self._holds.values():
                    pieces.update(batch)
            writing.result()
        self._end()
        return came

    @contextmanager
    def _noting(self, file: Path) -> Generator[None]:
        """Keep an error of a file in the work inside as that of this host."""
        try:
            yield
        except OSError as error:
            self.error = f"{file}: {error.strerror}"

    def _begin(self) -> bool:
        """Make the part of the file here, from the bytes that are there; return whether some are."""
        there = False
        with self._noting(self._part):
            if not self._own:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                if self._file.is_file() and not self._part.exists():
                    shutil.copyfile(self._file, self._part)
                there = self._part.exists() and self._part.stat().st_size > 0
                with self._part.open("ab") as part:
                    part.truncate(self._source.size)
        return there and not self.error

    def _compare(self, mine: set[int]) -> set[int]:
        """Return the pieces that are here, by the digests of rank 0."""
        digests: list[bytes] | None = None
        with suppress(OSError):
            if not self.error:
                digests = list(self._threads.map(self._digest, range(self._source.pieces)))
        told: list[bytes] = self._comm.bcast(digests)
        return mine or {k for k, (one, other) in enumerate(zip(digests or [], told, strict=False)) if one == other}

    def _digest(self, piece: int) -> bytes:
        return sha256(self._read(piece)).digest()

    def _read(self, piece: int) -> bytes:
        with self._part.open("rb") as file:
            file.seek(piece * PIECE)
            return file.read(self._length(piece))

    def _length(self, piece: int) -> int:
        return min(PIECE, self._source.size - piece * PIECE)

    def _bring(self, batch: Sequence[int]) -> dict[int, np.ndarray[Any, Any]]:
        """Return pieces, from the lowest rank that has them, or another when it dies; all check that they have the same.

        Raises DeliveryError when nobody has them any more, or they differ.
        """
        memory = np.empty(sum(map(self._length, batch)), np.uint8)
        bounds = np.cumsum([0, *map(self._length, batch)])
        parts = {k: memory[a:b] for k, a, b in zip(batch, bounds, bounds[1:], strict=False)}
        what = f"{self._file.name}: pieces from {batch[0] * PIECE:,} on"
        while True:
            holders = (rank for rank in self._comm.members if self._holds.get(rank, set()) >= set(batch))
            root = next(holders, None)
            if root is None and len(batch) > 1:
                return {piece: data for each in batch for piece, data in self._bring([each]).items()}
            if root is None:
                raise DeliveryError(f"{what} are lost with their last holder")
            if root == self._comm.rank:
                with suppress(OSError, ValueError):
                    memory[:] = np.frombuffer(b"".join(map(self._read, batch)), np.uint8)
            try:
                self._comm.Bcast(memory, root)
                break
            except DeliveryError:
                if root in self._comm.members:
                    raise
        said: list[bytes | None] = self._comm.allgather(sha256(memory.data).digest())
        if len({each for each in said if each is not None}) > 1:
            raise DeliveryError(f"{what} came with other bytes")
        return parts

    def _write(self, pieces: dict[int, np.ndarray[Any, Any]]) -> None:
        if pieces and not self.error:
            with self._noting(self._part), self._part.open("r+b") as file:
                for piece, data in pieces.items():
                    os.pwrite(file.fileno(), data.data, piece * PIECE)

    def _end(self) -> None:
        """Rename files that are whole, unless the file has changed meanwhile at rank 0."""
        same = True
        if self._own:
            said = self._own.stat()
            same = (said.st_size, said.st_mtime_ns) == (self._source.size, self._source.changed)
        told: list[bool | None] = self._comm.allgather(same)
        if False in told:
            self.error = self.error or f"{self._own or self._file} was changed while it was read"
        if self._own or self.error:
            return
        with self._noting(self._file):
            with self._part.open("r+b") as file:
                os.fchmod(file.fileno(), self._source.mode)
                os.fsync(file.fileno())
            os.utime(self._part, ns=(self._source.changed, self._source.changed))
            self._part.replace(self._file)


def report(results: Sequence[Result], ranks: int, size: int, seconds: float, rate: float | None) -> Iterator[str]:
    """Yield a line for each host, and one of all; ``rate``: bytes per second of a link, where that is known."""
    here = {result.rank: result for result in results}
    for rank in range(1, ranks):
        one = here.get(rank)
        if one is None:
            yield f"rank {rank}: died"
        else:
            had = f", {size - one.came:,} were there" if one.came < size else ""
            yield f"rank {rank} on {one.host}: {one.error or f'whole, {one.came:,} bytes came{had}'}"
    least = f", {size / rate / seconds:.0%} of the rate of a link" if rate else ""
    whole = sum(not result.error for result in results if result.rank)
    yield f"{size:,} bytes to {whole} of {ranks - 1} hosts in {seconds:.2f} s, {size / seconds / 1e6:,.0f} MB/s{least}"


def be_rank(path: str, target: str, show: Callable[[str], object], rate: float | None = None) -> int:
    """Take part in the job that a launcher has started; return the exit status. The lowest rank that lives shows the outcome."""
    from treecast.tcp import init

    began = time.monotonic()
    comm = init(survive=1 << 16, on_failed="ignore")  # any number of ranks may die, and the report says who did
    if comm.size < 2:
        raise PlanError("a file goes to other hosts: write --hosts FILE, or start treecast cast by a launcher")
    place, status = Path(target.replace("{rank}", str(comm.rank))), 1
    try:
        results, size = cast_here(comm, Path(path) if comm.rank == 0 else None, place)
        lines = list(report(results, comm.size, size, time.monotonic() - began, rate))
        status = int(any(result.error for result in results))
    except (PlanError, DeliveryError) as error:
        lines = [f"error: {error}"]
    if comm.rank == min(comm.members):
        for line in lines:
            show(f"{line}\n")
    comm.barrier()  # all end alike, and only then
    return status
