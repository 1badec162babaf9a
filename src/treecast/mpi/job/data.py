"""Where the chunks of a run lie, the input that a rank reads, and the data with which each should end.

A rank has one range of memory as long as all data, in which every chunk has its place; the system provides only the pages that
are touched. A rank reads no more of the input than it brings.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError, PlanError
from treecast.networks import Network
from treecast.networks.node_files import flits_of, node_files
from treecast.running.engine.memory import Part
from treecast.running.execution.layout import (
    Bytes,
    Layout,
    Share,
    add_numbers,
    file_layout,
    message_layout,
    ranges_at,
    shares_of,
    sums_at,
    true_data,
)
from treecast.running.execution.on_files import check_folder, check_target, write_message
from treecast.schedule import Schedule
from treecast.writing import spell_path

# Counts of entries are C ints there, and an entry of ours is a byte.
_LARGEST = 2**31 - 1  # bytes of a message, in MPI before version 4


@dataclass(frozen=True, eq=False)
class Source:
    """The input: a file of ``size`` bytes, or of scatterv and gatherv a file for each node, and where each chunk lies in the
    memory of a rank.
    """

    collective: Collective
    name: str
    size: int
    layout: Layout
    files: dict[int, Path] = field(default_factory=dict[int, Path])


def find_source(program: Schedule, name: str, flit: int, output: str | None = None) -> Source:
    """Return the input of a schedule, of which the rows of one rank will do, and how it is cut.

    Raises FormatError when it is not there, or cannot go to ``output``, PlanError when it does not fit the plan.
    """
    network, collective = program.network, program.collective
    if output is not None and not collective.traits.one_way:
        raise PlanError("over MPI --output takes the files of a scatterv or gatherv: leave it out, or --mpi")
    if collective.traits.one_way or (collective.lengths is not None and Path(name).is_dir()):
        source = _folder(network, collective, name, flit)
        if output is not None:
            check_target(source.files, output)
    else:
        path = Path(name)
        try:
            size = path.stat().st_size
        except OSError as error:
            raise FormatError(f"{spell_path(name)} cannot be read: {error.strerror}") from None
        if not path.is_file():
            raise FormatError(f"{spell_path(name)} is no file: over MPI every rank reads its own part of one")
        source = Source(collective, name, size, file_layout(collective, size, program.sizes))
    if np.diff(source.layout.bounds).max(initial=0) > _LARGEST:
        raise PlanError("chunks of 2 GiB and more cannot be sent: plan more --messages")
    return source


def _folder(network: Network, collective: Collective, name: str, flit: int) -> Source:
    check_folder(collective)
    lengths = collective.lengths
    files = node_files(network, name, None if collective.all_source else collective.root)
    if lengths is None or not np.array_equal(flits_of(network, files, flit), lengths.flits):
        raise PlanError(
            f"the files in {spell_path(name)} are not as long as planned: plan with --files of them, or give --flit as then"
        )
    sizes = np.zeros(network.nodes, np.int64)
    for node, path in files.items():
        sizes[node] = path.stat().st_size
    layout = message_layout(lengths, sizes, flit)
    return Source(collective, name, layout.size, layout, files)


class Prepared(NamedTuple):
    """One rank's things for a run: its rows, the input, its part in the transfer, and its memory with its own data."""

    program: Schedule
    source: Source
    part: Part
    memory: Bytes


def prepare(program: Schedule, rank: int, source: Source) -> Prepared:
    """Return the things that one rank needs for a run. Raises FormatError when its own data cannot be read."""
    collective, layout = program.collective, source.layout
    # Zeros cost nothing until they are touched: the system gives pages at the first use.
    memory = np.zeros(layout.size, np.uint8)

    def view(chunk: int) -> Bytes:
        return memory[layout.slice_of(chunk, chunk + 1)]

    # those below ``sums`` are contributions, which are read as shares
    held = [c for first, stop in ranges_at(collective.given(), rank) for c in range(max(first, collective.sums), stop)]
    if collective.sums:
        for share in shares_of(collective, layout):
            if share.node == rank:
                share.put(_read_share(source, share), memory)
        part = Part(view, held, *sums_at(program, rank), add_numbers, shared=collective.shared)
        return Prepared(program, source, part, memory)
    for first, stop in ranges_at(collective.given(), rank):
        _read_into(source, memory, first, stop)
    # What this rank neither brings nor wants only passes, and needs no place.
    stays = np.zeros(collective.chunks, bool)
    for first, stop in (*ranges_at(collective.given(), rank), *ranges_at(collective.wanted(), rank)):
        stays[first:stop] = True

    def passing(chunk: int) -> int | None:
        place = layout.slice_of(chunk, chunk + 1)
        return None if stays[chunk] else place.stop - place.start

    return Prepared(program, source, Part(view, held, passing=passing), memory)


def _read_share(source: Source, share: Share) -> bytes:
    return _piece(Path(source.name), share.there.start, share.there.stop - share.there.start)


def _read_into(source: Source, memory: Bytes, first: int, stop: int) -> None:
    """Read the chunks ``first … stop-1`` into their place."""
    layout, lengths = source.layout, source.collective.lengths
    files = [(0, source.collective.chunks, Path(source.name))]
    if source.files and lengths is not None:
        files = [(int(lengths.first[node]), int(lengths.stop[node]), path) for node, path in source.files.items()]
    for begin, end, path in files:
        # a file that has nothing of the range gives an empty place
        place = layout.slice_of(max(first, begin), min(stop, end))
        if length := max(0, place.stop - place.start):
            piece = _piece(path, place.start - int(layout.bounds[begin]), length, exact=True)
            memory[place] = np.frombuffer(piece, np.uint8)


def _piece(path: Path, start: int, length: int, exact: bool = False) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(length)
    except OSError as error:
        raise FormatError(f"{spell_path(path)} cannot be read: {error.strerror}") from None
    if exact and len(data) != length:
        raise FormatError(f"{spell_path(path)} cannot be read: it has become shorter")
    return data


def write_arrived(prepared: Prepared, rank: int, held: set[int], folder: str) -> None:
    """Write the files that a rank of a scatterv or gatherv has got, and all of them, into ``folder``; raises FormatError."""
    source, memory = prepared.source, prepared.memory
    collective, lengths = source.collective, source.collective.lengths
    if lengths is None:
        return
    mine = [rank] if collective.direction == "from" else list(source.files) if rank == collective.root else []
    for node in mine:
        chunks = range(int(lengths.first[node]), int(lengths.stop[node]))
        if node in source.files and held.issuperset(chunks):
            place = source.layout.slice_of(chunks.start, chunks.stop)
            write_message(memory[place].data, source.files[node], folder)


def true_memory(source: Source) -> Bytes:
    """Return the true bytes of every chunk, in its place, from the input alone. Raises FormatError when it cannot be read."""
    collective, layout = source.collective, source.layout
    if collective.sums:
        return true_data(
            collective, layout, ((share, _read_share(source, share)) for share in shares_of(collective, layout))
        )
    memory = np.zeros(layout.size, np.uint8)
    _read_into(source, memory, 0, collective.chunks)
    return memory
