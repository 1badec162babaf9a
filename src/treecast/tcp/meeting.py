"""How ranks find one another: each tells a meeting place where it listens, gets the table of all, and connects to the lower ones.

After that the place is not needed. The listening sockets stay open, for those who come back.
"""

import json
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, Protocol

from treecast.errors import PlanError
from treecast.groups.members import name_ranks
from treecast.groups.terms import read_words
from treecast.tcp.proof import PLACE, Trust, Who, greet, read_all

START = 300.0
"""Seconds within which all ranks have to come."""
_STRANGERS = 64
_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 24
_NAP = 0.05
_READY = 60.0  # seconds that a newcomer has to connect to all
_APPLIES = "applies"


class TooLateError(PlanError):
    """The job has ended before a newcomer was taken in."""


class Seat(NamedTuple):
    """A rank: its number, its identity, its addresses with a port each, and its terms in words."""

    rank: int
    identity: str
    addresses: list[tuple[str, int]]
    terms: list[str]

    @classmethod
    def read(cls, rank: int, identity: str, said: Any) -> "Seat":
        """Return the seat that a rank has told of. Raises ValueError for words that tell of none."""
        addresses, terms = said
        return cls(rank, identity, [(str(host), int(port)) for host, port in addresses], read_words(terms))


class Store(Protocol):
    """Keeps a value under a name for all ranks, as the stores of torch.distributed do."""

    def set(self, key: str, value: str) -> Any: ...  # noqa: D102
    def get(self, key: str) -> Any: ...  # noqa: D102


class Listener:
    """Takes connections, each of which proves in a thread of its own that it belongs to the job; 64 strangers at once."""

    def __init__(
        self, own: Who, trust: Trust, take: Callable[[socket.socket, Who], None], address: tuple[str, int]
    ) -> None:
        self._own, self._trust, self._use = own, trust, take
        self._free, self._closed = BoundedSemaphore(_STRANGERS), Event()
        self.socket = socket.create_server(address, backlog=_STRANGERS)
        self.port = int(self.socket.getsockname()[1])
        Thread(target=self._accept, name="treecast.listen", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                sock, _ = self.socket.accept()
            except OSError:
                if self._closed.is_set():
                    return
                sleep(_NAP)  # no more files may be open: some will be closed
                continue
            if self._free.acquire(blocking=False):
                Thread(target=self._prove, args=(sock,), daemon=True).start()
            else:
                sock.close()

    def _prove(self, sock: socket.socket) -> None:
        try:
            sock, who = greet(sock, self._own, self._trust, server=True)
        except OSError:
            return
        finally:
            self._free.release()
        try:
            self._use(sock, who)
        except (OSError, ValueError):
            with suppress(OSError):
                sock.close()

    def close(self) -> None:
        """Listen no more."""
        self._closed.set()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def send_record(sock: socket.socket, record: Any) -> None:
    """Send a record: its length, and JSON."""
    body = json.dumps(record).encode()
    sock.sendall(_LENGTH.pack(len(body)) + body)


def read_record(sock: socket.socket, until: float) -> Any:
    """Return a record that comes. Raises OSError or ValueError when none does."""
    (length,) = _LENGTH.unpack(read_all(sock, _LENGTH.size, until))
    if length > _LONGEST:
        raise ValueError("a record that is too long")
    return json.loads(read_all(sock, length, until))


class Place(Listener):
    """The meeting place of a job of ``size`` ranks: it answers with the table of all when all have come.

    ``address``: where it listens. It may be closed afterwards.
    """

    def __init__(self, size: int, trust: Trust, address: tuple[str, int] | None = None, start: float = START) -> None:
        self._size, self._until = size, monotonic() + start
        self._seats: dict[int, list[Any]] = {}
        self._lock, self._full = Lock(), Event()
        super().__init__(Who(PLACE, bytes(16)), trust, self._take, (trust.host, 0) if address is None else address)

    def _take(self, sock: socket.socket, who: Who) -> None:
        with sock:
            seat = read_record(sock, monotonic() + 5)
            with self._lock:
                if not 0 <= who.rank < self._size:
                    send_record(sock, {"error": f"rank {who.rank} is none of {self._size}"})
                    return
                # who comes later takes the place of who has gone
                if self._full.is_set() or who.rank not in self._seats:
                    self._seats[who.rank] = [who.rank, who.identity.hex(), seat]
                if len(self._seats) == self._size:
                    self._full.set()
            if self._full.wait(max(0.0, self._until - monotonic())):
                send_record(sock, {"table": [self._seats[rank] for rank in range(self._size)]})
            else:
                lacking = set(range(self._size)) - set(self._seats)
                send_record(sock, {"error": f"{name_ranks(lacking)} did not come"})


def ask_place(places: Iterable[tuple[str, int]], own: Who, said: Any, trust: Trust, until: float) -> list[Seat]:
    """Tell a meeting place where this rank listens, and return the table of all ranks. Raises PlanError when that fails."""
    tried, why = list(places), "nobody answers"
    while monotonic() < until:
        for place in tried:
            try:
                sock = socket.create_connection(place, timeout=5)
            except OSError as error:
                why = str(error)
                continue
            try:
                sock, who = greet(sock, own, trust, server=False)
            except OSError as error:
                raise PlanError(f"the meeting place {place[0]}:{place[1]} is none of this job: {error}") from None
            with sock:
                if who.rank != PLACE:
                    raise PlanError(f"{place[0]}:{place[1]} is no meeting place but rank {who.rank}")
                send_record(sock, said)
                answer = _read_answer(sock, until)
            if "error" in answer:
                raise PlanError(f"the job cannot start: {answer['error']}")
            return [Seat.read(rank, identity, said) for rank, identity, said in answer["table"]]
        sleep(_NAP)
    raise PlanError(f"no meeting place at {', '.join(f'{host}:{port}' for host, port in tried)}: {why}")


def _read_answer(sock: socket.socket, until: float) -> Any:
    try:
        return read_record(sock, until + 5)
    except (OSError, ValueError) as error:
        raise PlanError(f"the meeting place has gone before all ranks were there: {error}") from None


def ask_store(store: Store, own: Who, size: int, said: Any) -> list[Seat]:
    """Tell a store where this rank listens, and return the table of all ranks."""
    store.set(f"treecast/{own.rank}", json.dumps([own.identity.hex(), said]))
    return [Seat.read(rank, *json.loads(store.get(f"treecast/{rank}"))) for rank in range(size)]


class Arrivals:
    """The connections that have proved who they are and asked to be taken, and that nobody has taken yet."""

    def __init__(self) -> None:
        self._came: SimpleQueue[tuple[socket.socket, Who]] = SimpleQueue()

    def put(self, sock: socket.socket, who: Who) -> None:
        """Keep a connection, when its other side says that it is connected to all."""
        if read_record(sock, monotonic() + _READY) != _APPLIES:
            raise ValueError("no rank asks so")
        sock.settimeout(None)
        self._came.put((sock, who))

    def take(self, seconds: float = 0.0) -> Iterator[tuple[socket.socket, Who]]:
        """Yield those that have come since, or wait for one."""
        with suppress(Empty):
            yield self._came.get(seconds > 0, seconds)
            while True:
                yield self._came.get_nowait()


def connect(seat: Seat, own: Who, trust: Trust) -> socket.socket:
    """Return a connection to a rank, by the first of its addresses that answers. Raises OSError for none."""
    why = OSError("it has no address")
    for address in seat.addresses:
        try:
            sock = socket.create_connection(address, timeout=5)
            sock, who = greet(sock, own, trust, server=False)
        except OSError as error:
            why = error
            continue
        if who.rank == seat.rank and seat.identity in ("", who.identity.hex()):
            return sock
        sock.close()
        why = OSError(f"rank {who.rank} of another job answers there")
    raise why


def connect_all(
    table: Iterable[Seat], own: Who, trust: Trust, arrivals: Arrivals, until: float
) -> Mapping[int, socket.socket]:
    """Return the connections to the other ranks of a table: this rank connects to the lower ones, and the higher ones to it.

    An identity that is empty is any: that of a rank which listens at a place that all know, and may do so only later.
    """
    socks: dict[int, socket.socket] = {}
    seats = sorted(table)
    for seat in (seat for seat in seats if seat.rank < own.rank):
        while seat.rank not in socks:
            try:
                socks[seat.rank] = connect(seat, own, trust)
                send_record(socks[seat.rank], _APPLIES)
            except OSError as error:
                if seat.identity or monotonic() > until:
                    raise PlanError(f"the job cannot start: rank {seat.rank} cannot be reached: {error}") from None
                sleep(_NAP)
    awaited = {seat.rank: bytes.fromhex(seat.identity) for seat in seats if seat.rank > own.rank}
    while awaited:
        for sock, who in arrivals.take(_NAP):
            if awaited.get(who.rank) in (b"", who.identity):
                socks[who.rank] = sock
                del awaited[who.rank]
            else:
                sock.close()
        if awaited and monotonic() > until:
            raise PlanError(f"the job cannot start: {name_ranks(awaited)} did not connect")
    return socks


def connect_living(table: list[Seat], own: Who, trust: Trust) -> Mapping[int, socket.socket]:
    """Return a newcomer's connections to all ranks that answer. Raises PlanError when none does."""
    socks: dict[int, socket.socket] = {}
    for seat in table:
        if seat.rank != own.rank:
            with suppress(OSError):
                socks[seat.rank] = connect(seat, own, trust)
    for rank, sock in list(socks.items()):
        try:
            send_record(sock, _APPLIES)
        except OSError:
            del socks[rank]
    if not socks:
        raise TooLateError("no rank of the job answers: nobody is left whom this one could join")
    return socks
