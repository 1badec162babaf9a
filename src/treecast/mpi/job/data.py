"""Where the chunks of a run lie, what a rank reads of the input, and what each rank should end with.

A rank has one range of memory as long as all data, in which every chunk has its place; the system provides only the pages that
are touched. A rank reads no more of the input than it brings.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.errors import FormatError, PlanError
from treecast.execution.folders import flits_of, node_files
from treecast.execution.local import chunk_bounds
from treecast.execution.relay import check_target, write_message
from treecast.files import named
from treecast.mpi.engine.engine import Bytes, Part
from treecast.mpi.engine.lanes import contributions
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.ragged import starts
from treecast.schedule import Schedule

_LARGEST = 2**31 - 1  # bytes of a message, in MPI before version 4


@dataclass(frozen=True, eq=False)
class Source:
    """The input: a file of ``size`` bytes, or of scatterv and gatherv a file for each node. ``bounds``: where each chunk begins
    in a rank's memory, in bytes, and the end: int64 (chunks + 1,). ``part``: the numbers that each rank adds to sums.
    """

    collective: Collective
    name: str
    size: int
    bounds: Ints
    part: int = 0
    files: dict[int, Path] | None = None


def find_source(network: Network, collective: Collective, name: str, flit: int, output: str | None = None) -> Source:
    """Return the input and how it is cut.

    Raises FormatError when it is not there, or cannot go to ``output``, PlanError when it does not fit the plan.
    """
    if collective.lengths is not None:
        source = _folder(network, collective, name, flit)
        if output is not None:
            check_target(source.files or {}, output)
    elif output is not None:
        raise PlanError("--output takes the files of a scatterv or gatherv: leave it out")
    else:
        path = Path(name)
        try:
            size = path.stat().st_size
        except OSError as error:
            raise FormatError(f"{named(name)} cannot be read: {error.strerror}") from None
        if not path.is_file():
            raise FormatError(f"{named(name)} is no file: over MPI every rank reads its own part of one")
        if collective.sums:
            part = -(-size // collective.nodes)
            bounds = 8 * chunk_bounds(part, collective.sums)
            bounds = np.concatenate([bounds, 8 * part + bounds[1:]]) if collective.results else bounds
            source = Source(collective, name, size, bounds, part)
        else:
            source = Source(collective, name, size, chunk_bounds(size, collective.chunks))
    if int(np.diff(source.bounds).max(initial=0)) > _LARGEST:
        raise PlanError("chunks of 2 GiB and more cannot be sent: plan more --messages")
    return source


def _folder(network: Network, collective: Collective, name: str, flit: int) -> Source:
    lengths = collective.lengths
    files = node_files(network, name, collective.root)
    flits = flits_of(network, files, flit)
    if lengths is None or not np.array_equal(flits, lengths.flits):
        raise PlanError(
            f"the files in {named(name)} are not as long as planned: plan with --files of them, or give --flit as then"
        )
    sizes = np.full(lengths.total, flit, np.int64)
    for node, path in files.items():
        if flits[node]:
            sizes[lengths.stop[node] - 1] = path.stat().st_size - (int(flits[node]) - 1) * flit
    bounds = starts(sizes)
    return Source(collective, name, int(bounds[-1]), bounds, files=files)


def part_of(program: Schedule, rank: int, source: Source) -> tuple[Part, Bytes]:
    """Return a rank's part in a run, and its memory, with what it brings in it. Raises FormatError when that cannot be read."""
    collective, bounds = program.collective, source.bounds
    memory = np.zeros(int(bounds[-1]), np.uint8)

    def view(chunk: int) -> Bytes:
        return memory[bounds[chunk] : bounds[chunk + 1]]

    if collective.sums:
        contribution = np.frombuffer(_piece(Path(source.name), rank * source.part, source.part), np.uint8)
        memory[: 8 * len(contribution)].view(np.int64)[:] = contribution
        missing = contributions(program, rank)
        own = {c: collective.sums + c for c in range(collective.sums) if int(collective.source_of(c)) == rank}
        return Part(view, (), missing, own if collective.results else {}, add), memory
    given, held = collective.given(), list[int]()
    for node, first, stop in zip(given.node.tolist(), given.first.tolist(), given.stop.tolist(), strict=True):
        if node == rank:
            _read_into(source, rank, memory, first, stop)
            held.extend(range(first, stop))
    return Part(view, held), memory


def add(into: Bytes, contribution: Bytes) -> None:
    """Add a contribution to a sum of 64-bit numbers."""
    total = into.view(np.int64)
    total += contribution.view(np.int64)


def _read_into(source: Source, rank: int, memory: Bytes, first: int, stop: int) -> None:
    bounds, lengths = source.bounds, source.collective.lengths
    if source.files is None or lengths is None:
        a, b = int(bounds[first]), int(bounds[stop])
        memory[a:b] = np.frombuffer(_piece(Path(source.name), a, b - a, exact=True), np.uint8)
        return
    for node, path in source.files.items():
        a, b = int(bounds[lengths.first[node]]), int(bounds[lengths.stop[node]])
        if first <= lengths.first[node] and lengths.stop[node] <= stop:
            memory[a:b] = np.frombuffer(_piece(path, 0, b - a, exact=True), np.uint8)


def _piece(path: Path, start: int, length: int, exact: bool = False) -> bytes:
    try:
        with path.open("rb") as file:
            data = _read_at(file, start, length)
    except OSError as error:
        raise FormatError(f"{named(path)} cannot be read: {error.strerror}") from None
    if exact and len(data) != length:
        raise FormatError(f"{named(path)} cannot be read: it has become shorter")
    return data


def _read_at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def write_arrived(source: Source, rank: int, memory: Bytes, held: set[int], folder: str) -> None:
    """Write the files that a rank of a scatterv or gatherv has got, and all of them, into ``folder``; raises FormatError."""
    collective, lengths = source.collective, source.collective.lengths
    if source.files is None or lengths is None:
        return
    mine = [rank] if collective.direction == "from" else list(source.files) if rank == collective.root else []
    for node in mine:
        chunks = range(int(lengths.first[node]), int(lengths.stop[node]))
        if node in source.files and held.issuperset(chunks):
            a, b = int(source.bounds[chunks.start]), int(source.bounds[chunks.stop])
            write_message(memory[a:b].data, source.files[node], folder)


def wanted_ranges(collective: Collective, rank: int, dead: frozenset[int]) -> list[tuple[int, int]]:
    """Return the chunks (first, stop) that a rank is to end with, without those that only a dead rank had."""
    wanted, ends = collective.wanted(), collective.ends()
    mine = wanted.node == rank
    found: list[tuple[int, int]] = []
    for first, stop in zip(wanted.first[mine].tolist(), wanted.stop[mine].tolist(), strict=True):
        inside = ends[np.searchsorted(ends, first, side="right") : np.searchsorted(ends, stop, side="left")]
        for a, b in pairwise([first, *inside.tolist(), stop]):
            if collective.sums or int(collective.source_of(a)) not in dead:
                found.append((a, b))
    return found


def digest(memory: NDArray[np.uint8], bounds: Ints, chunks: Sequence[tuple[int, int]]) -> str:
    """Return the SHA-256, in hexadecimal, of ranges of chunks, one behind the other."""
    found = hashlib.sha256()
    for first, stop in chunks:
        found.update(memory[bounds[first] : bounds[stop]].data)
    return found.hexdigest()


def truth(source: Source) -> Bytes:
    """Return what every chunk should be, each in its place, from the input alone. Raises FormatError when it cannot be read."""
    collective = source.collective
    memory = np.zeros(int(source.bounds[-1]), np.uint8)
    if not collective.sums:
        _read_into(source, -1, memory, 0, collective.chunks)
        return memory
    half = memory[: 8 * source.part].view(np.int64)
    for rank in range(collective.nodes):
        contribution = np.frombuffer(_piece(Path(source.name), rank * source.part, source.part), np.uint8)
        half[: len(contribution)] += contribution
    if collective.results:
        memory[8 * source.part :] = memory[: 8 * source.part]
    return memory
