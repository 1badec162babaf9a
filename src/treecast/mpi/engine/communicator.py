"""What treecast keeps for each communicator of a program: a duplicate of it, and how fast its links are."""

import time
from typing import Any

import numpy as np

from treecast.errors import PlanError
from treecast.mpi.engine.choose import check_survive, network_of
from treecast.mpi.engine.engine import Endpoint, Engine, Outcome, Part
from treecast.mpi.engine.transfers import Transfer
from treecast.mpi.library import load_mpi, tags_of
from treecast.networks import Network
from treecast.networks import network as find_network

_EPOCHS = 16  # operations after which tags are used again
_FOREVER = 1e9
_PROBE = 1 << 18  # bytes by which the rate of links is measured


class Communicator:
    """A duplicate of the user's communicator, which returns errors, and how many operations went over it.

    ``near``: whether all ranks share one memory.
    """

    def __init__(self, comm: Any, mpi: Any) -> None:
        self.mpi, self.comm, self.epoch = mpi, comm.Dup(), 0
        self.comm.Set_errhandler(mpi.ERRORS_RETURN)
        self.tags = tags_of(mpi) // _EPOCHS
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        here = self.comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.near = int(here.Get_size()) == self.size
        here.Free()
        self._rates: dict[Network, float] = {}
        self._named: dict[str, Network] = {}

    def rate(self, where: Network) -> float:
        """Return how many bytes a link of the network carries in a second, measured once; 0 where ranks share one memory.

        Every rank sends to one neighbour, all at once: the slowest counts, of the faster of two runs.
        """
        if self.near or self.size == 1:
            return 0.0
        if where not in self._rates:
            # over the last port, since the first may lead to the same host
            aims = [where.neighbors(u)[-1] for u in range(self.size)]
            sources = [u for u, aim in enumerate(aims) if aim == self.rank]
            self._time_probe(1, aims[self.rank], sources)  # opens connections
            self._rates[where] = _PROBE / min(self._time_probe(_PROBE, aims[self.rank], sources) for _ in range(2))
        return self._rates[where]

    def _time_probe(self, size: int, aim: int, sources: list[int]) -> float:
        """Return the seconds until every rank has sent ``size`` bytes to one rank and got as many from each of some."""
        probe, places = np.zeros(size, np.uint8), [np.empty(size, np.uint8) for _ in sources]
        self.comm.Barrier()
        began = time.monotonic()
        waiting = [self.comm.Irecv(place, source) for place, source in zip(places, sources, strict=True)]
        waiting.append(self.comm.Isend(probe, aim))
        self.mpi.Request.Waitall(waiting)
        return float(self.comm.allreduce(time.monotonic() - began, self.mpi.MAX))

    def network(self, kind: str, survive: int, given: Any) -> Network:
        """Return the network that the ranks are taken for: the one given, if any is (a spelling, a Network, a networkx graph).

        Raises PlanError when the one that is given has another number of nodes, or none survives so many failures.
        """
        if given is None:
            return network_of(kind, self.size, survive, self.near)
        if isinstance(given, str) and given not in self._named:
            self._named[given] = find_network(given)  # reading a file again and again would cost more than sending
        where = self._named[given] if isinstance(given, str) else find_network(given)
        if where.nodes != self.size:
            raise PlanError(f"{where.spec} has {where.nodes:,} nodes, and the communicator {self.size:,} ranks")
        if where.relays is not None or not where.connected:
            why = "has relays" if where.relays is not None else "does not lead from every node to every other"
            raise PlanError(f"{where.spec} {why}: over MPI every node is a rank, and takes part")
        check_survive(kind, where, survive)
        return where

    def run(self, transfers: tuple[Transfer, ...], part: Part, deadline: float | None) -> Outcome:
        """Carry out one operation, with tags that no operation shortly before it had."""
        self.epoch = (self.epoch + 1) % _EPOCHS
        patience = _FOREVER if deadline is None else deadline
        return Engine(Endpoint(self.mpi, self.comm, self.epoch * self.tags), transfers, part, patience).run()


_KEY: list[int] = []  # under which a communicator keeps what we know of it


def communicator_of(comm: Any) -> Communicator:
    """Return what a communicator is to treecast; all its ranks make it together when they first ask.

    Raises PlanError without MPI.
    """
    mpi = load_mpi()
    if not _KEY:
        _KEY.append(mpi.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if found is None:
        found = Communicator(comm, mpi)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: Any, key: int, ours: Any) -> None:
    if not ours.mpi.Is_finalized():
        ours.comm.Free()
