"""The plans of a communicator of a program: a duplicate of it for their messages, and how fast its links are."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES
from treecast.engine.blocks import Cut, cut_up
from treecast.engine.choose import (
    ALL_PORT,
    ONE_PORT,
    Operation,
    Role,
    broadcast_role,
    check_survive,
    role_of,
    schedule_of,
)
from treecast.engine.engine import Engine, Outcome, Part
from treecast.engine.transfers import Links
from treecast.engine.turns import AT_ONCE, Turns
from treecast.errors import PlanError
from treecast.mpi.library import tags_of
from treecast.mpi.transport import MpiTransport
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.transport.base import Key, Kind

_EPOCHS = 16  # operations after which tags are used again
_FOREVER = 1e9
_PROBE = 1 << 18  # bytes by which the rate of links is measured


class PlanTransport(MpiTransport):
    """The messages of plans, over a duplicate of their own: each has a tag from 0 to ``tags`` - 1 in one of so many ``calls``."""

    polite = True

    def __init__(self, mpi: Any, comm: Any, calls: int = 1) -> None:
        super().__init__(mpi, comm)
        self._of, self.tags = calls, (tags_of(mpi) - 1) // calls

    def _tag(self, key: Key) -> int:
        return 1 + key.call % self._of * self.tags + key.stage

    def links(self, call: int = 0) -> Links:
        """Return the other ranks as the engine of plans sees them, in a call."""
        return Links(self, range(self.size), lambda tag: Key(Kind.DATA, call, tag), self.cancel)


class Communicator:
    """A duplicate of the user's communicator, which returns errors, for operations by plans.

    ``hosts[r]``: the first rank on the host of rank r; these speak for their hosts.
    """

    def __init__(self, comm: Any, mpi: Any, hosts: list[int]) -> None:
        self.transport = PlanTransport(mpi, comm.Dup(), _EPOCHS)
        self.mpi, self.comm, self.tags = mpi, self.transport.comm, self.transport.tags
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self.hosts, self._speaks = hosts, sorted(set(hosts))
        self._rates: dict[tuple[Network, str], float] = {}
        self._named: dict[str, Network] = {}

    def rate(self, where: Network, model: str) -> float:
        """Return how many bytes a link, or a port, carries in a second, measured once; 0 where ranks share one memory.

        Every rank sends to one neighbour, all at once; where hosts have one port, one rank of each does. The slowest counts, of
        the faster of two runs.
        """
        if len(self._speaks) == 1:
            return 0.0
        if (where, model) not in self._rates:
            # to the next host, or over the last port, since the first may lead to the same host
            hosts = self._speaks
            aims = dict(zip(hosts, [*hosts[1:], hosts[0]], strict=True))
            if model == ALL_PORT:
                aims = {u: where.neighbors(u)[-1] for u in range(self.size)}
            sources = [u for u, aim in aims.items() if aim == self.rank]
            aim = aims.get(self.rank)
            self._time_probe(1, aim, sources)  # opens connections
            self._rates[where, model] = _PROBE / min(self._time_probe(_PROBE, aim, sources) for _ in range(2))
        return self._rates[where, model]

    def _time_probe(self, size: int, aim: int | None, sources: list[int]) -> float:
        """Return the seconds until all have sent ``size`` bytes to a rank each, or to none, and got as many from each of some."""
        probe, places = np.zeros(size, np.uint8), [np.empty(size, np.uint8) for _ in sources]
        self.comm.Barrier()
        began = time.monotonic()
        waiting = [self.comm.Irecv(place, source) for place, source in zip(places, sources, strict=True)]
        waiting += [] if aim is None else [self.comm.Isend(probe, aim)]
        self.mpi.Request.Waitall(waiting)
        return float(self.comm.allreduce(time.monotonic() - began, self.mpi.MAX))

    def network(self, kind: str, survive: int, given: Any) -> Network:
        """Return the network that the ranks are taken for: the one given, or a complete one.

        ``given``: a spelling, a Network, a networkx graph. Where it is None, a broadcast that is to survive nothing has a node
        for each host. Raises PlanError when the network has another number of nodes, or does not survive so many failures.
        """
        if given is None:
            by_host = COLLECTIVES[kind].one_to_all and not survive
            where = find_network(f"complete:{len(self._speaks) if by_host else self.size}")
            check_survive(kind, where, survive, ONE_PORT)
            return where
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

    def operation(self, kind: str, root: int, sizes: Sequence[int], survive: int, given: Any) -> tuple[Operation, Cut]:
        """Return how a collective of blocks of so many bytes is carried out, and how they are cut; see ``cut_up``.

        ``given``: the network that was named, or None. Collective when links have to be measured.
        """
        where, model = self.network(kind, survive, given), ALL_PORT if given is not None else ONE_PORT
        if where.nodes != self.size:
            root = self._speaks.index(self.hosts[root])
        return cut_up(kind, where, sizes, self.rate(where, model), root=root, survive=survive, model=model)

    def role(self, operation: Operation, root: int) -> Role:
        """Return the part of this rank; ``root``: the rank that sends or receives all."""
        if operation.model == ONE_PORT and COLLECTIVES[operation.kind].one_to_all and not operation.survive:
            return broadcast_role(operation, self.hosts, root, self.rank, self.tags)
        return role_of(operation, self.rank, self.tags)

    def run(self, operation: Operation, role: Role, part: Part, deadline: float | None, number: int) -> Outcome:
        """Carry out one operation, with tags that no operation shortly before it had; ``number``: of the call, alike at all."""
        patience = _FOREVER if deadline is None else deadline
        beside = [rank for rank, host in enumerate(self.hosts) if host == self.hosts[self.rank]]
        # a silent rank would keep its turn: so where failures are to be survived there are none
        turns = Turns[Any](AT_ONCE, beside) if operation.model == ONE_PORT and not operation.survive else None
        return Engine(self.transport.links(number), role.transfers, part, patience, turns=turns).run()

    def free(self, beside: MpiTransport) -> None:
        """Free the duplicate, unless something may still come on it; ``beside``: its ranks, as far as they are lost to others."""
        transport = self.transport
        transport.deadline = beside.deadline
        for rank in beside.lost:
            transport.shut(rank)
        transport.close()
        transport.free()


def builder_of(kind: str, where: Network, survive: int) -> str:
    """Return the name of the builder by which a collective goes over one port."""
    blocks = where.nodes ** (2 if COLLECTIVES[kind].blocks == "pair" else 1)
    lengths = (1,) * blocks if COLLECTIVES[kind].lengths else None
    return schedule_of(Operation(kind, where, 0, 1, survive, ONE_PORT, lengths)).builder
