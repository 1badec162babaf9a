"""The links of a rank as the engine of plans sees them: as much of mpi4py as it asks for."""

from time import monotonic
from typing import Any

from treecast.errors import Evicted
from treecast.groups.group import Group
from treecast.mpi.engine.choose import Program
from treecast.mpi.engine.engine import Endpoint, Engine, Outcome, Part
from treecast.transport.base import Key, Kind, Ticket
from treecast.transport.sockets import Sockets

TAGS = 1 << 31  # others are of data that is fetched
_FOREVER = 1e9
_PUMP = 50e-6  # seconds between two looks at the links


class _LostError(Exception):
    """The link has gone; as mpi4py says that a process has failed."""

    def Get_error_class(self) -> int:  # noqa: N802
        """Return the class of the error."""
        return Lane.ERR_PROC_FAILED


class _Status:
    count = 0

    def Get_count(self, datatype: object) -> int:  # noqa: N802
        return self.count


class _Request:
    def __init__(self, lane: "Lane", peer: int, key: Key, ticket: Ticket) -> None:
        self._lane, self._peer, self._key, self._ticket = lane, peer, key, ticket

    def Test(self, status: _Status | None = None) -> bool:  # noqa: N802
        self._lane.look()
        if self._ticket.lost:
            raise _LostError
        if status is not None:
            status.count = self._ticket.length
        return self._ticket.over

    def Cancel(self) -> None:  # noqa: N802
        self._lane.direct.cancel(self._peer, self._key)


class Lane:
    """The links of a rank during a call; as much of mpi4py, and of its communicators, as the engine asks for."""

    BYTE, ERR_PROC_FAILED = None, 1
    Exception, Status = _LostError, _Status

    def __init__(self, direct: Sockets, group: Group) -> None:
        self.direct, self._group = direct, group
        self._begun, self._looked = list[_Request](), 0.0

    def look(self) -> None:
        """Move bytes. Raises Evicted when the others have gone on without this rank."""
        now = monotonic()
        if now - self._looked > _PUMP:
            self._looked = now
            self._group.transport.wait(lambda: False, 0)
            self._group.agreement.check_in()

    def _key(self, tag: int) -> Key:
        return Key(
            Kind.DATA, self._group.agreement.number, tag >> 16, tag & 0xFFFF, self._group.instance, self._group.ident
        )

    def Isend(self, what: list[Any], peer: int, tag: int) -> _Request:  # noqa: N802
        """Begin to send over a link."""
        to = self._group.agreement.members[peer]
        return _Request(self, to, self._key(tag), self.direct.send(to, self._key(tag), memoryview(what[0])))

    Issend = Isend

    def Irecv(self, what: list[Any], peer: int, tag: int) -> _Request:  # noqa: N802
        """Begin to receive over a link."""
        source, key = self._group.agreement.members[peer], self._key(tag)
        request = _Request(self, source, key, self.direct.receive(source, key, memoryview(what[0])))
        self._begun.append(request)
        return request

    def Iprobe(self, peer: int, tag: int) -> bool:  # noqa: N802
        """Return whether a message has come over a link."""
        self.look()
        source, key = self._group.agreement.members[peer], self._key(tag)
        if self.direct.waits(source, key) is not None:
            return True
        if source in self.direct.lost:
            raise _LostError
        return False

    def run(self, program: Program, part: Part) -> Outcome:
        """Carry out what this rank does in a plan, as far as it comes."""
        self.direct.forget(self._group.agreement.number, self._group.ident)
        patience = self._group.late or _FOREVER
        try:
            return Engine(Endpoint(Lane, self), program.transfers, part, patience).run()
        except Evicted:
            for request in self._begun:
                request.Cancel()
            raise
