"""What a communicator of a program is to treecast: a communicator of our own beside it, and what is known of its links."""

import time
from typing import Any

import numpy as np

from treecast.errors import PlanError
from treecast.execute.mpi import load_mpi, tags_of
from treecast.execute.mpi.choose import check_survive, family, network_of
from treecast.execute.mpi.engine import Engine, Outcome, Part
from treecast.execute.mpi.program import Lane
from treecast.networks import Network
from treecast.networks import network as find_network

_EPOCHS = 16  # operations after which tags are used again
_FOREVER = 1e9
_PROBE = 1 << 18  # bytes by which the rate of links is measured


class Channel:
    """A duplicate of the user's communicator, which returns errors, and how many operations went over it.

    ``near``: whether all ranks share one memory. ``rate``: the bytes per second of a link, 0 where they do.
    """

    def __init__(self, comm: Any, mpi: Any) -> None:
        self.mpi, self.comm, self.epoch = mpi, comm.Dup(), 0
        self.comm.Set_errhandler(mpi.ERRORS_RETURN)
        self.tags = tags_of(mpi) // _EPOCHS
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        here = self.comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.near = int(here.Get_size()) == self.size
        here.Free()
        self.rate = 0.0 if self.near else self._measured_rate()

    def _measured_rate(self) -> float:
        """Return how many bytes a link carries in a second: the least that is seen when all ranks use one link each at once."""
        where, probe, place = family(self.size), np.zeros(_PROBE, np.uint8), np.empty(_PROBE, np.uint8)
        ahead = where.neighbor(np.arange(self.size), 0)
        to, source, seconds = int(ahead[self.rank]), int(np.flatnonzero(ahead == self.rank)[0]), 0.0
        for size in (1, _PROBE):  # the first opens the connection
            self.comm.Barrier()
            began = time.monotonic()
            self.comm.Sendrecv(probe[:size], to, 0, place[:size], source, 0)
            seconds = time.monotonic() - began
        return _PROBE / float(self.comm.allreduce(seconds, self.mpi.MAX))

    def network(self, kind: str, survive: int, given: "str | Network | None") -> Network:
        """Return the network that the ranks are taken for.

        Raises PlanError when the one that is given has another number of nodes, or none survives so many failures.
        """
        if given is None:
            return network_of(kind, self.size, survive, self.near)
        where = find_network(given)
        if where.nodes != self.size:
            raise PlanError(f"{where.spec} has {where.nodes:,} nodes, and the communicator {self.size:,} ranks")
        check_survive(kind, where, survive)
        return where

    def run(self, lanes: tuple[Lane, ...], part: Part, deadline: float | None) -> Outcome:
        """Carry out one operation, with tags that no operation shortly before it had."""
        self.epoch = (self.epoch + 1) % _EPOCHS
        patience = _FOREVER if deadline is None else deadline
        return Engine(self.mpi, self.comm, lanes, part, patience, self.epoch * self.tags).run()


_KEY: list[int] = []  # under which a communicator keeps its channel


def channel_of(comm: Any) -> Channel:
    """Return the channel of a communicator; all its ranks make it together when they first ask. Raises PlanError without MPI."""
    mpi = load_mpi()
    if not _KEY:
        _KEY.append(mpi.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if found is None:
        found = Channel(comm, mpi)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: Any, key: int, channel: Any) -> None:
    if not channel.mpi.Is_finalized():
        channel.comm.Free()
