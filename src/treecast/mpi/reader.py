"""Reads message arguments over MPI: unusual data is packed by MPI, with the errors that mpi4py raises itself."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, cast

from treecast.calls import reader
from treecast.calls.items import Items, counts_of, take_apart
from treecast.calls.reader import Entries, Place, datatype_of
from treecast.errors import PlanError

_MIRRORS = {"blocks": "Neighbor_alltoall", "vector": "Neighbor_alltoallv", "typed": "Neighbor_alltoallw"}


class Reader(reader.Reader):
    """Reads the arguments of calls on communicators of ``size`` ranks.

    It packs and unpacks by messages to itself, over duplicates of COMM_SELF: the *mirror* is a graph with ``size`` links from its
    one rank to itself, on which mpi4py reads an argument of so many blocks as the real call does. Any thread may call it.
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
        if form:
            return self._pack_all(form, argument, writable)
        if writable:
            self._check_place(argument)
        scratch = self._pack(argument)
        return Place([scratch], lambda: self._copy([scratch, len(scratch), self._mpi.PACKED], argument))

    def _read_entries(self, argument: Any, blocks: int, *, writable: bool) -> Entries:
        mpi, parts = self._mpi, max(1, blocks)
        if writable:
            self._check_place(argument)
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

    # -- by MPI ------------------------------------------------------------------------------------------------------

    def _own(self) -> Any:
        if self._self is None:
            self._self = self._mpi.Intracomm(self._mpi.COMM_SELF).Dup()  # which may be wrapped itself
        return self._self

    def _mirror(self, form: str) -> Any:
        if self._links is None:
            links = [0] * self._size
            self._links = self._own().Create_dist_graph_adjacent(links, links)
        return getattr(self._links, _MIRRORS[form])

    def _pack(self, argument: Any) -> Any:
        """Return the bytes of a simple argument, packed."""
        mpi = self._mpi
        with self._lock:
            own, status = self._own(), mpi.Status()
            request = own.Isend(argument, 0, 0)
            message = own.Mprobe(0, 0, status)
            packed = mpi.buffer.allocate(status.Get_elements(mpi.BYTE))
            message.Recv([packed, len(packed), mpi.PACKED])
            request.Wait()
        return packed

    def _copy(self, source: Any, target: Any) -> None:
        with self._lock:
            self._own().Sendrecv(source, 0, 0, target, 0, 0)

    def _check_place(self, argument: Any) -> None:
        """Raise mpi4py's error for a simple argument that cannot be received into; nothing is written."""
        self._copy([b"", 0, self._mpi.BYTE], argument)

    def _pack_all(self, form: str, argument: Any, writable: bool) -> Place:
        """Return scratch memory with the present bytes of the blocks, so that blocks that do not come stay as they are."""
        pieces, spec = self._scratch(form, argument)
        with self._lock:
            mirror = self._mirror(form)
            if writable:
                self._ask(mirror, self._nothing(form), argument)
            mirror(argument, spec)

        def finish() -> None:
            with self._lock:
                mirror(spec, argument)

        return Place(pieces, finish if writable else None)

    def _scratch(self, form: str, argument: Any) -> tuple[list[Any], list[Any]]:
        """Return the pieces of memory for packed blocks, and how mpi4py writes it."""
        try:
            lengths: list[int] = getattr(self, f"_lengths_of_{form}")(argument)
            if len(lengths) != self._size or min(lengths) < 0:
                raise ValueError(f"message: expecting {self._size} counts from 0")
        except Exception:
            with self._lock:  # it is mpi4py that says why an argument is wrong
                self._ask(self._mirror(form), argument, self._nothing(form))
            raise
        memory = self._mpi.buffer.allocate(sum(lengths))
        places = [sum(lengths[:k]) for k in range(self._size)]
        pieces = [memory[place : place + length] for place, length in zip(places, lengths, strict=True)]
        return pieces, self._spec(form, memory, lengths, places)

    def _spec(self, form: str, memory: Any, lengths: Sequence[int], places: Sequence[int]) -> list[Any]:
        byte = self._mpi.BYTE
        if form == "blocks":
            return [memory, lengths[0], byte]
        if form == "vector":
            return [memory, (lengths, places), byte]
        return [memory, lengths, places, [byte] * self._size]

    def _nothing(self, form: str) -> list[Any]:
        return self._spec(form, bytearray(), [0] * self._size, [0] * self._size)

    def _ask(self, mirror: Callable[[Any, Any], None], sent: Any, received: Any) -> None:
        """Have mpi4py read two arguments; that their lengths differ is no error of theirs."""
        try:
            mirror(sent, received)
        except self._mpi.Exception as error:
            if error.Get_error_class() != self._mpi.ERR_TRUNCATE:
                raise

    # -- lengths -----------------------------------------------------------------------------------------------------

    def _lengths_of_blocks(self, argument: Any) -> list[int]:
        packed = len(self._pack(argument))
        counted = take_apart(self._mpi, argument).counts is not None
        return [packed if counted else packed // self._size] * self._size

    def _lengths_of_vector(self, argument: Any) -> list[int]:
        buffer, counts, _, datatype = take_apart(self._mpi, argument, vector=True)
        whole = len(self._pack(buffer if datatype is None else [buffer, datatype])) if counts is None else 0
        given = [] if counts is None else counts_of(counts, self._size, 0)
        if isinstance(datatype, self._mpi.Datatype):
            entry = int(cast("Any", datatype).size)
        else:
            entry = len(self._pack([buffer, 1, datatype])) if whole or any(given) else 0
        return [count * entry for count in given or counts_of(None, self._size, whole // entry if entry else 0)]

    def _lengths_of_typed(self, argument: Any) -> list[int]:
        items = list(argument)
        counts: Any = None if len(items) == 2 else items[1][0] if len(items) == 3 else items[1]
        sizes = [int(datatype.size) for datatype in items[-1]]
        return sizes if counts is None else [int(count) * size for count, size in zip(counts, sizes, strict=True)]
