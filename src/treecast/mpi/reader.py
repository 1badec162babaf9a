"""Reads message arguments over MPI: unusual data is packed by MPI, with the errors that mpi4py raises itself."""

from operator import index
from threading import Lock
from typing import Any

from treecast.errors import PlanError
from treecast.running.calls import reader
from treecast.running.calls.items import Items, counts_of, places_of, take_apart
from treecast.running.calls.reader import Entries, Place, datatype_of

_MIRRORS = {"blocks": "Neighbor_alltoall", "vector": "Neighbor_alltoallv", "typed": "Neighbor_alltoallw"}


class Reader(reader.Reader):
    """Reads the arguments of calls on communicators of ``size`` ranks.

    It packs and unpacks by messages to itself, over a duplicate of COMM_SELF. On a graph with ``size`` links to itself
    mpi4py reads an argument of so many blocks as the real call does. Any thread may call it.
    """

    def __init__(self, mpi: Any, size: int) -> None:
        super().__init__(mpi, size)
        self._lock = Lock()
        self._self: Any = None
        self._links: Any = None

    def free(self) -> None:
        """Free its communicators."""
        for comm in (self._self, self._links):
            if comm is not None:
                comm.Free()

    def _read_other(self, argument: Any, form: str, *, writable: bool) -> Place:
        if writable:
            self._check(argument, form, writable)
        try:  # blocks that do not come stay as they are: their present bytes are packed
            parts = self._parts(argument, form) if form else [argument]
            pieces = [self._pack(part) for part in parts]
        except Exception:
            self._check(argument, form, writable)  # it is mpi4py that says why an argument is wrong
            raise

        def finish() -> None:
            for piece, part in zip(pieces, parts, strict=True):
                self._copy([piece, len(piece), self._mpi.PACKED], part)

        return Place(pieces, finish)

    def _read_entries(self, argument: Any, blocks: int, *, writable: bool) -> Entries:
        mpi, parts = self._mpi, max(1, blocks)
        if writable:
            self._check(argument, "", writable)
        packed, items = self._pack(argument), take_apart(mpi, argument)
        datatype = self._datatype(items)
        self._check_layout(datatype)
        number = len(packed) // datatype.size if datatype.size else 0
        if items.counts is not None:
            number *= parts
        elif number % parts:
            raise ValueError(f"message: cannot infer count, number of entries {number} is not a multiple of {parts}")
        layout = mpi.buffer.allocate(number * datatype.extent, clear=True)
        here, there = [layout, number, datatype], [items.buffer, number, items.places, datatype]
        self._copy(there, here)
        return Entries(layout, number, datatype, lambda: self._copy(here, there))

    def check_sum(self, datatype: Any, op: Any) -> None:
        """Raise MPI's error for an operation that does not go with a datatype."""
        if not isinstance(op, self._mpi.Op) or not op or op.is_predefined:
            one, other = (self._mpi.buffer.allocate(max(1, datatype.extent), clear=True) for _ in range(2))
            with self._lock:
                self._own().Allreduce([one, 1, datatype], [other, 1, datatype], op)

    def _datatype(self, items: Items) -> Any:
        if items.datatype is None:
            return datatype_of(self._mpi, items.buffer)
        return self._mpi.Datatype.fromcode(items.datatype) if isinstance(items.datatype, str) else items.datatype

    def _check_layout(self, datatype: Any) -> None:
        true_first, true_extent = datatype.Get_true_extent()
        if datatype.lb or true_first < 0 or true_first + true_extent > datatype.extent:
            raise PlanError(
                f"entries of {datatype.name or 'a datatype'} overlap or begin elsewhere: they cannot be added in parts"
            )

    def _own(self) -> Any:
        if self._self is None:
            self._self = self._mpi.Intracomm(self._mpi.COMM_SELF).Dup()  # which may be wrapped itself
        return self._self

    def _pack(self, argument: Any) -> Any:
        """Return the bytes of a simple argument, packed."""
        mpi = self._mpi
        with self._lock:
            own, status = self._own(), mpi.Status()
            # A message to itself has MPI lay out any datatype as contiguous bytes. A matched probe tells how many
            # there are.
            request = own.Isend(argument, 0, 0)
            message = own.Mprobe(0, 0, status)
            packed = mpi.buffer.allocate(status.Get_elements(mpi.BYTE))
            message.Recv([packed, len(packed), mpi.PACKED])
            request.Wait()
        return packed

    def _copy(self, source: Any, target: Any) -> None:
        with self._lock:
            self._own().Sendrecv(source, 0, 0, target, 0, 0)

    def _check(self, argument: Any, form: str, writable: bool) -> None:
        """Have mpi4py read an argument, and raise what it finds wrong; nothing is written."""
        none, byte = [0] * self._size, self._mpi.BYTE
        # The other end is empty, so mpi4py reads the argument, and MPI moves nothing, or finds that there is no room.
        nothing = {
            "vector": [bytearray(), (none, none), byte],
            "typed": [bytearray(), none, none, [byte] * self._size],
        }.get(form, [bytearray(), 0, byte])
        ends = (nothing, argument) if writable else (argument, nothing)
        if not form:
            self._copy(*ends)
            return
        with self._lock:
            if self._links is None:
                self._links = self._own().Create_dist_graph_adjacent(none, none)
            try:
                getattr(self._links, _MIRRORS[form])(*ends)
            except self._mpi.Exception as error:
                if error.Get_error_class() != self._mpi.ERR_TRUNCATE:
                    raise

    def _parts(self, argument: Any, form: str) -> list[Any]:
        """Return the blocks of an argument, as simple arguments."""
        size = self._size
        if form == "typed":
            buffer, *given, types = argument
            counts, places = (given[0] if len(given) == 1 else given) or (None, None)
            if buffer is self._mpi.BOTTOM and None in (counts, places):
                raise ValueError("BOTTOM needs counts and displacements")
            counts, places = [1] * size if counts is None else counts, [0] * size if places is None else places
        else:
            items = take_apart(self._mpi, argument, form == "vector")
            buffer, counts, first, _ = items
            types = [datatype := self._datatype(items)] * size
            number = len(self._pack([buffer, datatype])) // (datatype.size or 1) if counts is None else 0
            if form == "vector":
                counts = counts_of(counts, size, number)
                first = places_of(first, counts)
            elif number % size or index(first or 0) < 0:
                raise ValueError(f"{number} entries are not {size} equal blocks that begin at entry {first}")
            else:
                counts = [number // size if counts is None else index(counts)] * size
                first = [index(first or 0) + k * counts[0] for k in range(size)]
            places = [place * datatype.extent for place in first]
        begin, buffers = self._mpi.Get_address(buffer), self._mpi.buffer
        return [
            [buffers.fromaddress(begin + place, 0), count, datatype]
            for _, place, count, datatype in zip(range(size), places, counts, types, strict=True)
        ]
