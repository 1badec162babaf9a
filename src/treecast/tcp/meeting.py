"""How ranks find one another: each tells a meeting place where it listens, gets the table of all, and connects to the lower ones.

Whoever comes later in the seat of a rank learns so from the place, as long as that is there: the job has begun without it. The
listening sockets stay open, for those who come back. When nobody of the job lives any more, and all seats ask, it begins again.
"""

import resource
import secrets
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, cast

from treecast.errors import PlanError
from treecast.running.groups.members import name_ranks
from treecast.running.groups.terms import read_words
from treecast.tcp.proof import LIMIT, PLACE, StrangerError, Trust, Who, greet
from treecast.tcp.records import pack, read_record, send_record

_STRANGERS = 64
_WAITING = 1024  # connections that wait until one of these has proved itself, or its time is up
_HURRY = 0.25  # seconds that each stranger has where half of the places are taken
_NAP = 0.05
_READY = 60.0  # seconds that a newcomer has to connect to all
_TELLERS = 8  # threads that send the table at once
_SHAPES = {"ask": list, "put": dict, "where": dict}, {"lost": list}, {"seat": list, "after": str}
"""The records that a meeting place takes: what is asked for, who is lost, and who comes."""
_APPLIES = "applies"
OPENS = "opens"
"""Said by a rank that needs a connection to another."""
_CLOSED = (ConnectionAbortedError, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError)


class TooLateError(PlanError):
    """The job has ended well before a newcomer was taken in."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"rank {rank} came back too late: the job is done")


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


class Met(NamedTuple):
    """What a meeting place says: the seats, whether the job has begun without this rank, and the name of this beginning."""

    table: list[Seat]
    is_new: bool
    attempt: str


class Listener:
    """Takes connections, each of which proves in a thread of its own that it belongs to the job; 64 strangers at once.

    More wait, and nobody for long: the more strangers there are, the less time each has. Who is closed so comes again.
    """

    def __init__(
        self, own: Who, trust: Trust, take: Callable[[socket.socket, Who], None], address: tuple[str, int]
    ) -> None:
        _raise_limit()  # before the first connection
        self._own, self._use = own, take
        self._trust = trust._replace(secret=trust.key)  # read here, where an error is the caller's
        self._free, self._closed, self._strangers = BoundedSemaphore(_STRANGERS), Event(), set[socket.socket]()
        self.socket = listen(address)
        self.port = int(self.socket.getsockname()[1])
        Thread(target=self._accept, name="treecast.listen", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            with suppress(OSError):
                while True:
                    sock, _ = self.socket.accept()
                    # Strangers that say nothing fill these places. With more of them each has less time, so places
                    # become free.
                    self._free.acquire()
                    self._strangers.add(sock)
                    Thread(target=self._prove, args=(sock,), daemon=True).start()
            sleep(_NAP)  # no more files may be open: some will be closed

    def _prove(self, stranger: socket.socket) -> None:
        # few strangers have all the time they need
        seconds = LIMIT if len(self._strangers) < _STRANGERS // 2 else _HURRY
        try:
            sock, who = greet(stranger, self._own, self._trust, server=True, seconds=seconds)
        except OSError:
            return
        finally:
            self._strangers.discard(stranger)
            self._free.release()
        try:
            self._use(sock, who)
        except (OSError, ValueError):
            sock.close()
        except BaseException:  # an error of this program is seen, and nobody waits for an answer
            sock.close()
            raise

    def close(self) -> None:
        """Listen no more."""
        self._closed.set()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self.socket.close()


def _raise_limit() -> None:
    """Let this process have as many files open as it may: each connection is one."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(OSError, ValueError):  # macOS has a lower limit that it does not tell
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def listen(address: tuple[str, int]) -> socket.socket:
    """Return a socket that listens at an address: at "" by IPv6 and IPv4, as far as this machine has them."""
    host, port = address
    both = not host and socket.has_dualstack_ipv6()  # one socket for both families
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING, dualstack_ipv6=both)


def spell(address: tuple[str, int]) -> str:
    """Return an address as ``host:port``.

    >>> spell(("node1", 7000)), spell(("::1", 7000))
    ('node1:7000', '[::1]:7000')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _read_asked(sock: socket.socket, until: float | None) -> dict[str, Any]:
    """Return what a rank says to a meeting place. Raises as ``read_record`` does, also for a record that no rank sends."""
    said = cast("dict[str, Any]", read_record(sock, until))
    if type(said) is not dict or {key: type(value) for key, value in said.items()} not in _SHAPES:
        raise ValueError("a record that no rank sends")
    return said


class MeetingPlace(Listener):
    """The meeting place of a job of ``size`` ranks: it answers with the table of all when all have come.

    Who comes later in a seat is told that it is new; when it comes again, as nobody of the job lives, all have to come again.
    ``address``: where it listens. It may be closed afterwards. ``seats``: of the ranks that have come. ``hear``: told when a rank
    is connected to all, with none, and at its end with the ranks that it has put out. It keeps values for all ranks, too.
    """

    def __init__(self, size: int, trust: Trust, address: tuple[str, int], start: float = 300.0) -> None:
        self._size, self._start, self._until = size, start, monotonic() + start
        self.seats: dict[int, list[Any]] = {}
        self.hear: Callable[[int, Iterable[int]], None] = lambda rank, lost: None
        self._lock, self._full, self._waiting = Lock(), Event(), list[tuple[socket.socket, bool]]()
        self._attempt, self._is_over, self._values = secrets.token_hex(8), False, dict[str, str]()
        super().__init__(Who(PLACE, bytes(16)), trust, self._take, address)
        Thread(target=self._answer, name="treecast.place", daemon=True).start()

    def _take(self, sock: socket.socket, who: Who) -> None:
        said = _read_asked(sock, monotonic() + LIMIT)
        while "ask" in said:  # ask after ask, on one connection
            send_record(sock, self._keep(**said))
            said = _read_asked(sock, None)
        if "lost" in said:
            with sock:
                self.hear(who.rank, said["lost"])
            return
        if not 0 <= who.rank < self._size:
            self._tell({"error": f"rank {who.rank} is none of {self._size}"}, [sock])
            return
        with self._lock:
            if len(self.seats) == self._size and said["after"] == self._attempt:
                self.seats, self._full, self._attempt = {}, Event(), secrets.token_hex(8)  # all have to come again
                self._until = monotonic() + self._start
                Thread(target=self._answer, name="treecast.place", daemon=True).start()
            seat, is_late = [who.rank, who.identity.hex()], self._full.is_set() or monotonic() > self._until
            is_new = len(self.seats) == self._size and self.seats[who.rank][:2] != seat
            self.seats[who.rank] = [*seat, said["seat"]]  # who comes later takes the place of who has gone
            self._waiting.append((sock, is_new))
            if len(self.seats) == self._size or self._is_over:  # so that nobody waits for the time
                self._full.set()
        if is_late:
            self._answer()

    def _answer(self) -> None:
        """Answer all that wait, when all have come or the time is up."""
        self._full.wait(max(0.0, self._until - monotonic()))
        with self._lock:
            lacking = self.lacking()
            if lacking and not self._is_over and monotonic() < self._until:  # the job begins again meanwhile
                return
            waiting, self._waiting = self._waiting, []
            said: dict[str, Any] = {"error": f"{name_ranks(lacking)} did not come"}
            if not lacking:
                said = {"table": [self.seats[rank] for rank in range(self._size)], "attempt": self._attempt}
            elif self._is_over:
                said = {"over": True}
        for new in {is_new for _, is_new in waiting}:
            self._tell({**said, "is_new": new}, [sock for sock, is_new in waiting if is_new == new])

    def _tell(self, record: Any, socks: list[socket.socket]) -> None:
        said = pack(record)

        def send(sock: socket.socket) -> None:
            with suppress(OSError), sock:
                sock.settimeout(LIMIT)  # a rank that does not read delays nobody else
                sock.sendall(said)

        with ThreadPoolExecutor(_TELLERS) as tellers:
            list(tellers.map(send, socks))

    def _keep(self, ask: list[str], put: dict[str, str | None], where: dict[str, str | None]) -> Any:
        """Put values under their names (None: no value), if all is as said ``where``; return whether, and those asked for."""
        with self._lock:
            # compare and set: two ranks never take the same step
            if so := all(self._values.get(key) == value for key, value in where.items()):
                self._values = {key: value for key, value in (self._values | put).items() if value is not None}
            return so, [self._values.get(key) for key in ask], len(self._values)

    def lacking(self) -> set[int]:
        """Return the ranks that have not come yet."""
        return set(range(self._size)) - self.seats.keys()

    def end(self) -> None:
        """Have nobody wait any more: a rank has ended well, and so has the job."""
        with self._lock:
            self._is_over = True
            self._full.set()


def knock(address: tuple[str, int], own: Who, trust: Trust) -> tuple[socket.socket, Who]:
    """Return a connection to an address, and who is there. Raises OSError for none."""
    sock = socket.create_connection(address, timeout=LIMIT)
    try:
        return greet(sock, own, trust, server=False)
    except TimeoutError:  # it has much to do
        raise ConnectionAbortedError("it has not answered in time") from None


def tell_place(places: Iterable[tuple[str, int]], own: Who, trust: Trust, lost: Iterable[int]) -> None:
    """Tell a meeting place, if it is there, that this rank is connected to all but those that are lost."""
    for place in places:
        with suppress(OSError), knock(place, own, trust)[0] as sock:
            send_record(sock, {"lost": list(lost)})
            break


def ask_place(
    places: Iterable[tuple[str, int]], own: Who, said: Any, trust: Trust, until: float, *, after: str = ""
) -> Met:
    """Tell a meeting place where this rank listens, and return what it says. Raises PlanError when that fails.

    ``after``: the last beginning of the job of which this rank knows that nobody lives.
    """
    tried, why, met = list(places), "nobody answers", False
    while monotonic() < until:
        for place in tried:
            try:
                sock, who = knock(place, own, trust)
                with sock:
                    if who.rank != PLACE:
                        raise PlanError(f"{spell(place)} is no meeting place but rank {who.rank}")
                    met = True
                    send_record(sock, {"seat": said, "after": after})
                    answer = read_record(sock, until + 5)  # 5 s more than it waits itself
            except StrangerError as error:
                raise PlanError(f"the meeting place {spell(place)} is none of this job: {error}") from None
            except (OSError, ValueError) as error:  # it has too many strangers, say
                if met and isinstance(error, ConnectionRefusedError):  # it was there once, so nobody will come any more
                    raise PlanError("the meeting place has gone before all ranks were there") from None
                why = str(error)
                continue
            if "over" in answer:
                raise TooLateError(own.rank)
            if "error" in answer:
                raise PlanError(f"the job cannot start: {answer['error']}")
            return Met([Seat.read(*each) for each in answer["table"]], answer["is_new"], answer["attempt"])
        sleep(_NAP)
    raise PlanError(f"no meeting place at {', '.join(map(spell, tried))}: {why}")


class Arrivals(SimpleQueue[tuple[socket.socket, Who]]):
    """The connections that have proved who they are and asked to be taken, and that nobody has taken yet.

    ``take``: is told of a rank that needs a connection, where not all have one to all.
    """

    take: Callable[[socket.socket, Who], None] | None = None
    _is_closed = False

    def hear(self, sock: socket.socket, who: Who) -> None:
        """Keep a connection, when its other side says that it is connected to all."""
        said = read_record(sock, monotonic() + _READY)
        sock.settimeout(None)
        if said == OPENS and self.take is not None:
            self.take(sock, who)
        elif said == _APPLIES:
            self.put((sock, who))
        else:
            raise ValueError("no rank asks so")
        if self._is_closed:
            self.close()

    def close(self) -> None:
        """Take nobody any more, so that those who have asked know it."""
        self._is_closed = True
        with suppress(Empty):
            while True:
                self.get_nowait()[0].close()


def connect(seat: Seat, own: Who, trust: Trust, until: float) -> socket.socket:
    """Return a connection to a rank, by the first of its addresses that answers. Raises OSError for none.

    It is tried again as long as a handshake is closed, as among many strangers, or nobody listens who may do so only later.
    """
    while True:
        why = OSError("it has no address")
        for address in seat.addresses:
            try:
                sock, who = knock(address, own, trust)
            except OSError as error:
                why = why if isinstance(why, _CLOSED) else error
                continue
            if who.rank == seat.rank and seat.identity in ("", who.identity.hex()):  # "": whoever listens there
                return sock
            sock.close()
            why = OSError(f"rank {who.rank} of another job answers there")
        # a place that all know may be taken later
        if monotonic() > until or (seat.identity and not isinstance(why, _CLOSED)):
            raise why
        sleep(_NAP)


def connect_all(
    table: Iterable[Seat], own: Who, trust: Trust, arrivals: Arrivals, until: float
) -> Mapping[int, socket.socket]:
    """Return the connections to the other ranks of a table: this rank connects to the lower ones, and the higher ones to it.

    An identity that is empty is any: that of a rank which listens at a place that all know, and may do so only later.
    """
    socks, seats = dict[int, socket.socket](), sorted(table)
    for seat in (seat for seat in seats if seat.rank < own.rank):
        try:
            socks[seat.rank] = connect(seat, own, trust, until)
            send_record(socks[seat.rank], _APPLIES)
        except OSError as error:
            raise PlanError(f"the job cannot start: rank {seat.rank} cannot be reached: {error}") from None
    awaited = {seat.rank: bytes.fromhex(seat.identity) for seat in seats if seat.rank > own.rank}
    while awaited:
        try:
            sock, who = arrivals.get(timeout=max(0.0, until - monotonic()))
        except Empty:
            raise PlanError(f"the job cannot start: {name_ranks(awaited)} did not connect") from None
        if awaited.get(who.rank) in (b"", who.identity):  # any, or the one that the table names
            socks[who.rank] = sock
            del awaited[who.rank]
        else:
            sock.close()
    return socks


def connect_living(table: list[Seat], own: Who, trust: Trust, until: float) -> Mapping[int, socket.socket]:
    """Return a newcomer's connections to all ranks that answer."""
    met, living = dict[int, socket.socket](), dict[int, socket.socket]()
    for seat in table:
        if seat.rank != own.rank:
            with suppress(OSError):
                met[seat.rank] = connect(seat, own, trust, until)
    for rank, sock in met.items():  # who hears it is connected to all
        try:
            send_record(sock, _APPLIES)
            living[rank] = sock
        except OSError:
            sock.close()
    return living
