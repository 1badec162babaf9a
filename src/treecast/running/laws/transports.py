"""The laws of a transport, as programs of its ranks. Whatever keeps them carries every collective, and survives as sockets do.

A law is a generator for each rank, which yields the events that the rank waits for. ``check_law`` has all ranks of a law in one
process, and moves them by turns; ``check_rank`` carries out the part of one rank, where each is a process. A few laws are
``OPTIONAL``: a carrier that has no such thing leaves them out.

Examples
--------
>>> import contextlib, socket
>>> from treecast.testing import transports
>>> from treecast.running.transport.sockets import Sockets
>>> @contextlib.contextmanager
... def make(size, deadline):
...     with socket.create_server(("127.0.0.1", 0)) as server:
...         ends = socket.create_connection(server.getsockname()), server.accept()[0]
...     both = [Sockets(rank, size, {1 - rank: ends[rank]}, deadline) for rank in range(size)]
...     try:
...         yield both
...     finally:
...         for transport in both:
...             transport.close()
>>> transports.check_law("bytes_come_to_their_places", make)

With pytest, one test is all of it: ``@pytest.mark.parametrize("name", transports.LAWS)`` above a function that calls
``check_law(name, make)``.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import monotonic

from treecast.errors import PlanError
from treecast.running.laws import ends, frames, messages
from treecast.running.laws.rank import LAWS, OPTIONAL, Rank
from treecast.running.transport.base import Steps, Transport, Until

__all__ = ["LAWS", "OPTIONAL", "check_law", "check_rank", "check_transport", "ends", "frames", "messages"]

_LIMIT = 30.0  # seconds that a law may take
_LOOK = 1e-3

Make = Callable[[int, float | None], AbstractContextManager[Sequence[Transport]]]
"""Makes the transports of so many ranks, with a deadline, none of which has been used; and ends them."""


def check_transport(make: Make, without: Sequence[str] = ()) -> None:
    """Check all laws but some optional ones. Raises AssertionError for a law that is broken, PlanError for a name that is none.

    ``make(size, deadline)``: a context that yields the transports of so many ranks, all in this process.
    """
    for name in without:
        if name not in OPTIONAL:
            raise PlanError(f"{name} is no optional law: those are {', '.join(sorted(OPTIONAL))}")
    for name in LAWS:
        if name not in without:
            check_law(name, make)


def check_law(name: str, make: Make) -> None:
    """Check one law by its name. Raises AssertionError when it is broken, or has not ended in 30 seconds."""
    with make(2, LAWS[name].deadline) as transports:
        _check(name, transports)


def check_rank(name: str, transport: Transport) -> None:
    """Carry out the part of one rank of a law, where each is a process; all ranks do so. Raises as ``check_law`` does.

    ``transport``: one that has not been used, of two ranks, with the deadline that ``LAWS`` tells.
    """
    _check(name, [transport])


def _check(name: str, transports: Sequence[Transport]) -> None:
    """Carry out the parts of some ranks by turns."""
    parts = {rank: LAWS[name].part(rank) for rank in map(Rank, transports)}
    untils: dict[Rank, Until] = dict.fromkeys(parts, lambda: True)
    end = monotonic() + _LIMIT
    while untils:
        if monotonic() > end:
            waiting = sorted(rank.rank for rank in untils)
            raise AssertionError(f"{name}: ranks {waiting} still wait after {_LIMIT:g} seconds")
        for rank, part in parts.items():
            # As a call would: a transport is used under its lock.
            with rank.transport.lock:
                _go_on(rank, part, untils)


def _go_on(rank: Rank, part: Steps[None], untils: dict[Rank, Until]) -> None:
    """Go on with a part as far as it comes, and move bytes; errors of the wait are raised where the part waits."""
    try:
        while rank in untils and untils[rank]():
            untils[rank] = next(part)
        if not (rank.stops or rank.transport.is_closed):
            try:
                rank.transport.wait(lambda: False, _LOOK)
            except Exception as error:
                # The law waits there, and may expect the error.
                untils[rank] = part.throw(error)
    except StopIteration:
        untils.pop(rank, None)
