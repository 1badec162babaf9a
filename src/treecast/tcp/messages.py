"""mpi4py's messages between two ranks, and its requests, of messages and of collectives."""
# ruff: noqa: N802

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial, partialmethod
from operator import index
from typing import Any

from treecast.errors import PlanError
from treecast.running.calls.messages import ANY, NOBODY, PeerMessage
from treecast.running.calls.table import Caller
from treecast.running.groups.group import Group
from treecast.tcp import library
from treecast.tcp.job import JoinedJob

ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED = ANY, ANY, NOBODY, -32766
"""Any sender and any tag; with whom messages bring nothing; and a colour, a place or a count that is none."""
_TAG_UB = (1 << 31) - 1
_LOOK = 5e-3  # seconds between two looks at calls beside the program, where messages are moved meanwhile
Work = PeerMessage | Future[Any]
_Asked = tuple[tuple[PeerMessage, ...], "Status | None"]


@dataclass
class Status:
    """What came: from which rank, with which tag, how many bytes, and whether it was cancelled. Errors are raised."""

    source: int = ANY_SOURCE
    tag: int = ANY_TAG
    error: int = 0
    count: int = 0
    cancelled: bool = False

    def tell(self, work: Work | None) -> None:
        """Say what came by a call that is over."""
        found, transfer = Status(), work if isinstance(work, PeerMessage) else None
        if transfer is not None and transfer.came is not None:
            found = Status(transfer.source, transfer.came.tag, count=transfer.came.length)
        elif transfer is not None:
            # of a call with nobody there is no source
            found = Status(min(transfer.peer, ANY_SOURCE), cancelled=transfer.is_cancelled)
        vars(self).update(vars(found))

    def Get_count(self, datatype: Any = library.BYTE) -> int:
        """Return how many entries came; UNDEFINED where a part of one did."""
        number, rest = divmod(self.count, datatype.size or 1)  # a type of no bytes divides nothing
        return UNDEFINED if rest else number

    Get_elements = Get_count
    Get_source, Get_tag = partialmethod(getattr, "source"), partialmethod(getattr, "tag")
    Get_error, Is_cancelled = partialmethod(getattr, "error"), partialmethod(getattr, "cancelled")


class Request:
    """A nonblocking call under way; false, the null request, when it is over.

    It has mpi4py's ``Wait`` and ``Test``, and of several calls ``Waitall``, ``Waitany``, ``Waitsome``, ``Testall``, ``Testany``,
    ``Testsome``; small forms return the objects that came, too. All raise the errors of calls. ``begin``: of a persistent one.
    """

    def __init__(self, *works: Work, begin: "Callable[[], Request] | None" = None) -> None:
        self.works, self._begin = works, begin

    def __bool__(self) -> bool:
        return bool(self.works or self._begin)

    def __eq__(self, other: object) -> bool:  # null requests are equal
        return self is other or (isinstance(other, Request) and not self and not other)

    __hash__ = object.__hash__

    def end(self, status: Status | None = None) -> Any:
        """Return the object that came by a call that is over, and forget the call. Raises its error."""
        works, self.works = self.works, ()
        if status is not None:
            status.tell(works[0] if works else None)
        # the first result: of a send and a receive at once, what came
        return next(iter([work.result() for work in works]), None)

    def Start(self) -> None:
        """Begin a persistent message. Raises PlanError while it is under way, and for a request of another call."""
        if self.works or self._begin is None:
            raise PlanError("a persistent message is started, as soon as it is not under way: Send_init makes one")
        self.works = self._begin().works

    @staticmethod
    def Startall(requests: "Sequence[Request]") -> None:
        """Begin several."""
        for request in requests:
            request.Start()

    def Get_status(self, status: Status | None = None) -> bool:
        """Return whether the call is over, without forgetting it."""
        return Request(*self.works).Test(status)  # of a copy: this one is not forgotten

    def Cancel(self) -> None:
        """Receive no message, unless one has come."""
        for work in self.works:
            work.cancel()

    def Free(self) -> None:
        """Forget the call, which goes on."""
        self.works, self._begin = (), None

    def wait(self, status: Status | None = None) -> Any:
        """Wait until the call is over; return the object that came."""
        return _end([self], all, status and [status])[0][1]

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Return whether the call is over, and the object that came."""
        found = _end([self], all, status and [status], waits=False)
        return bool(found), found[0][1] if found else None

    def Wait(self, status: Status | None = None) -> bool:
        """Wait until the call is over."""
        return self.wait(status) is None or True

    def Test(self, status: Status | None = None) -> bool:
        """Return whether the call is over."""
        return self.test(status)[0]

    cancel, get_status = Cancel, Get_status


Prequest, REQUEST_NULL = Request, Request()
Found = list[tuple[int, Any]]
"""The calls that are over: their places, and the objects that came."""


def _end(
    requests: Sequence[Request], wants: Callable[..., Any], statuses: Sequence[Status] | None, *, waits: bool = True
) -> Found:
    """End calls that are over, after a look, or a wait for one that is.

    ``wants``: ``any`` ends all such, ``next`` the first, ``all`` waits for all, or one that has failed, and ends none before.
    """
    # several of one request, where it sends and receives
    works = [work for request in requests for work in request.works]
    moved = next((work for work in works if isinstance(work, PeerMessage)), None)
    beside = [work for work in works if isinstance(work, Future)]
    over = list[int]()

    def enough() -> bool:
        over[:] = [
            k for k, each in enumerate(requests) if (each.works or wants is all) and all(w.done() for w in each.works)
        ]
        # a failed one ends the wait for all
        has_failed = any(isinstance(work, PeerMessage) and work.ticket.lost for k in over for work in requests[k].works)
        return has_failed or (len(over) == len(requests) if wants is all else bool(over))

    # Messages move only while somebody waits for them. Calls beside the program have a thread of their own, and are
    # looked at.
    while not (moved is None and enough()):
        if moved is not None:
            # both kinds: look at the thread's now and then
            moved.wait(enough, 0.0 if not waits else _LOOK if beside else None)
        elif waits:
            wait([work for work in beside if not work.done()], return_when=FIRST_COMPLETED)
        if not waits or enough():
            break
    chosen = over[: 1 if wants is next else None] if enough() else []  # ``next``: one only
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(len(chosen) - len(statuses)))
    told = [*(statuses or ()), *[None] * len(chosen)]
    return [(k, requests[k].end(status)) for k, status in zip(chosen, told, strict=False)]


def _one(found: Found | None) -> tuple[int, bool, Any]:
    return (found[0][0], True, found[0][1]) if found else (UNDEFINED, found is None, None)


def _some(found: Found | None) -> tuple[list[int] | None, list[Any] | None]:
    return (None, None) if found is None else ([k for k, _ in found], [thing for _, thing in found])


_FORMS: dict[str, tuple[Any, Callable[[Found | None], Any], Callable[[Found | None], Any]]] = {
    "waitany": (next, lambda found: _one(found)[::2], lambda found: _one(found)[0]),
    "testany": (next, _one, lambda found: _one(found)[:2]),
    "waitsome": (any, _some, lambda found: _some(found)[0]),
    "testsome": (any, _some, lambda found: _some(found)[0]),
    "waitall": (all, lambda found: _some(found or [])[1], lambda found: True),
    "testall": (
        all,
        lambda found: (found != [], None if found == [] else _some(found or [])[1]),
        lambda found: found != [],
    ),
}
"""By the name of a small form: the calls that it wants, and what it and the capital one return of those that are over."""


def _add_form(title: str, wants: Any, shape: Callable[[Found | None], Any]) -> None:
    def form(requests: Sequence[Request], statuses: Any = None) -> Any:
        told = [statuses] if isinstance(statuses, Status) else statuses
        if "status" in title.lower():  # the calls are not forgotten
            requests = [Request(*each.works) for each in requests]
        # "all" of no requests is over at once
        is_any = any(each.works for each in requests) or (wants is all and requests)
        return shape(_end(requests, wants, told, waits="wait" in title.lower()) if is_any else None)

    setattr(Request, title, staticmethod(form))


for _name, (_wants, *_shapes) in _FORMS.items():
    for _title, _shape in zip((_name, _name.capitalize()), _shapes, strict=True):
        _add_form(_title, _wants, _shape)
    for _title in (_name.replace("test", f"{letter}et_status_") for letter in "gG" if _name.startswith("test")):
        _add_form(_title, _wants, _shapes[1])


class Message:
    """A message that a matched probe has found, and that nothing else receives; false when it is received.

    It has mpi4py's methods. ``receive``: begins to receive it, by the name of the call and a buffer; None once it is.
    """

    def __init__(self, receive: Callable[[str, Any], Request] | None = None) -> None:
        self._receive = receive

    def __bool__(self) -> bool:
        return self._receive is not None

    def _begin(self, name: str, buf: Any) -> Request:
        """Begin to receive it. Raises PlanError when it has been received."""
        receive, self._receive = self._receive, None
        if receive is None:
            raise PlanError(f"{name}: there is no message, or it was received: Mprobe finds one")
        return receive(name, buf)

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive it into a buffer."""
        self._begin("Recv", buf).wait(status)

    def Irecv(self, buf: Any) -> Request:
        """Begin to receive it into a buffer."""
        return self._begin("Irecv", buf)

    def recv(self, status: Status | None = None) -> Any:
        """Receive the object."""
        return self._begin("recv", None).wait(status)

    def irecv(self) -> Request:
        """Begin to receive the object."""
        return self._begin("irecv", None)


MESSAGE_NULL = Message()


class Messaging:
    """The part of a communicator that two ranks use: a message of a communicator is received in it alone.

    It has mpi4py's methods: capital ones for buffers and arrays, small ones for any objects. ``Send`` returns when the buffer is
    free, ``Ssend`` when the message is received, ``Bsend`` at once; ``Isend`` begins, and ``Send_init`` returns what may begin
    again. All raise DeliveryError when the other rank has died or ended, Exception for a message longer than its place.
    """

    process: JoinedJob
    group: Group
    _ours: Caller

    def _sent(self, name: str, buf: Any, dest: int, tag: int) -> PeerMessage:
        mode, piece = name.lower().removeprefix("i")[:2], b""
        if dest != PROC_NULL:  # nothing is read for nobody
            piece = library.pickle.dumps(buf) if name.islower() else self._ours.reader.send(buf)
        copies = mode == "bs" or name.endswith("replace")  # a copy: the buffer is free at once
        transfer = PeerMessage(
            self.group, name, index(dest), index(tag), bytes(piece) if copies else piece, receives=False
        )
        transfer.waits = mode == "ss"  # "ss": over when it is received
        return self._check(transfer, 0)

    def _received(self, name: str, buf: Any, source: int, tag: int) -> PeerMessage:
        place = None if name.islower() else self._ours.reader.receive(bytearray() if source == PROC_NULL else buf)
        transfer = PeerMessage(self.group, name, index(source), index(tag), place and place.pieces[0], receives=True)
        transfer.finish = partial(_load, transfer) if place is None else place.finish
        return self._check(transfer, ANY)

    def _check(self, transfer: PeerMessage, least: int) -> PeerMessage:
        transfer.unlike = partial(library.Exception, library.ERR_TRUNCATE)
        if transfer.peer != PROC_NULL and not least <= transfer.peer < self.group.size:
            raise library.Exception(library.ERR_RANK, f"{transfer.name}: there is no rank {transfer.peer}")
        if not least <= transfer.tag <= _TAG_UB:
            raise library.Exception(library.ERR_TAG, f"{transfer.name}: {transfer.tag} is no tag: 0 to {_TAG_UB:,} are")
        return transfer

    def _start(self, *transfers: PeerMessage) -> Request:
        messages = self.process.messages
        with self.process.transport.lock:  # in one go: no frame comes between
            self.process.check_open()
            for each in transfers:
                messages.receive(each) if each.receives else messages.send(each)
        return Request(*transfers)

    def _send(self, name: str, buf: Any, dest: int, tag: int = 0) -> _Asked:
        """Send to a rank."""
        return (self._sent(name, buf, dest, tag),), None

    def _recv(
        self, name: str, buf: Any = None, source: int = ANY, tag: int = ANY, status: Status | None = None
    ) -> _Asked:
        """Receive from a rank, or any; the small form returns the object, and uses no buffer."""
        return (self._received(name, buf, source, tag),), status

    def _sendrecv(
        self, name: str, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, *more: Any, **named: Any
    ) -> _Asked:
        """Send, and receive at once, as ``Send`` and ``Recv`` do."""
        named = {"tag" if key == "recvtag" else key: value for key, value in named.items()}
        received, status = self._recv(name, recvbuf, *more, **named)
        return (*received, self._sent(name, sendbuf, dest, sendtag)), status

    def _replace(self, name: str, buf: Any, dest: int, sendtag: int = 0, *more: Any, **named: Any) -> _Asked:
        """Send a buffer, and receive into it."""
        return self._sendrecv(name, buf, dest, sendtag, buf, *more, **named)

    @classmethod
    def add_methods(cls) -> None:
        """Give the class mpi4py's methods."""
        sends = ("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend")
        again = ("Send_init", "Bsend_init", "Ssend_init", "Rsend_init")
        for make, names in (
            (cls._send, (*sends, *again, *map(str.lower, sends))),
            (cls._recv, ("Recv", "Irecv", "Recv_init", "recv", "irecv")),
            (cls._sendrecv, ("Sendrecv", "Isendrecv", "sendrecv")),
            (cls._replace, ("Sendrecv_replace", "Isendrecv_replace")),
        ):
            for name in names:
                cls._add(name, make)
        for name in ("Probe", "Iprobe", "Mprobe", "Improbe"):
            for each in (name, name.lower()):
                setattr(cls, each, partialmethod(cls._find, each))

    @classmethod
    def _add(cls, name: str, make: Callable[..., _Asked]) -> None:
        # mpi4py names the argument of small forms otherwise
        first, names = name[0].lower(), {"obj": "buf", "sendobj": "sendbuf"}

        def begin(self: Messaging, given: Any, named: dict[str, Any]) -> tuple[Request, Status | None]:
            transfers, status = make(self, name, *given, **{names.get(key, key): value for key, value in named.items()})
            return self._start(*transfers), status

        def method(self: Messaging, *given: Any, **named: Any) -> Any:
            if name.endswith("_init"):
                return Request(begin=lambda: begin(self, given, named)[0])
            request, status = begin(self, given, named)
            # "b": a buffered send never waits
            return request if first == "i" else None if first == "b" else request.wait(status)

        method.__name__, method.__qualname__, method.__doc__ = name, f"Comm.{name}", make.__doc__
        setattr(cls, name, method)

    def _find(self, name: str, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Any:
        """Return whether a message has come that fits, which is not received; ``Probe`` waits for one.

        ``Mprobe`` and ``Improbe`` return the message itself, which nothing else receives, or None.
        """
        messages, asked = self.process.messages, (index(source), index(tag), None)
        transfer = self._check(PeerMessage(self.group, name, *asked, receives=True), ANY)
        waits, claims = name[0] not in "Ii", "mp" in name.lower()  # "mp": a matched probe takes what it finds

        def is_there() -> bool:
            if transfer.came is None:
                transfer.came = messages.find(transfer, claims=claims)
            return transfer.came is not None or transfer.done()

        self.process.check_open()
        transfer.wait(is_there, None if waits else 0.0)
        # whom the probe could be for
        others = {*range(self.group.size)} - {self.group.rank} if source == ANY else {source}
        if transfer.came is None and (waits or not others <= self.group.agreement.byes.keys()):
            transfer.result()  # a look at those that have ended well finds nothing, and is no error
        if status is not None:
            status.tell(transfer)
        found = transfer.came is not None or source == PROC_NULL
        return found if not claims else Message(partial(self._take, transfer)) if found else None

    def _take(self, probe: PeerMessage, name: str, buf: Any) -> Request:
        """Begin to receive what a matched probe has found."""
        tag = probe.tag if probe.came is None else probe.came.tag
        transfer = self._received(name, buf, probe.source, tag)
        with self.process.transport.lock:
            self.process.check_open()
            if probe.came is not None:
                self.process.messages.take(transfer, probe.came)
        return Request(transfer)


def _load(transfer: PeerMessage) -> Any:
    return library.pickle.loads(transfer.piece) if transfer.piece else None
