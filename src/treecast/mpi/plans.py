"""The plans of a communicator of a program: what carries their messages, and the network that its ranks are taken for."""

from functools import partial
from typing import Any

from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.mpi.library import tags_of
from treecast.mpi.transport import MpiTransport
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.running.calls.table import Algorithm, MethodRow
from treecast.running.engine.choose import ALL_PORT, ONE_PORT, Operation, check_survive, schedule_of
from treecast.running.engine.lane import Lane
from treecast.running.engine.planned import Planned
from treecast.running.engine.transfers import Peers
from treecast.running.groups.group import Group
from treecast.running.transport.base import Key, Until

# A message of an earlier call that comes late has another tag.
_EPOCHS = 16  # calls after which tags are used again


class PlanTransport(MpiTransport):
    """The messages of plans, over a duplicate of their own: each has a tag from 0 to ``tags`` - 1 in one of so many ``calls``."""

    polite = True

    def __init__(self, mpi: Any, comm: Any, calls: int = 1) -> None:
        super().__init__(mpi, comm)
        self._of, self.tags, self._bits = calls, (tags_of(mpi) - 1) // calls, 0

    def forget(self, call: int, group: int) -> None:
        """Drop nothing: a message of an earlier call has another tag."""

    def _place(self, key: Key) -> int:
        return key.call % self._of * self.tags + (key.stage << 16 | key.about)


class PlanLane(Lane):
    """The links of a rank over a transport that moves nothing of the group's."""

    send, give_up = Peers.send, Peers.give_up

    def __init__(self, direct: PlanTransport, group: Group) -> None:
        super().__init__(direct, group)
        self.tags = direct.tags

    @property
    def _patience(self) -> float:
        return self._group.terms.deadline or super()._patience

    def _move(self, until: Until, seconds: float) -> None:
        """Move messages of the plan, and answer who is still in an earlier call."""
        self._transport.wait(until, seconds)
        self._group.transport.wait(lambda: False, 0)


class Plans:
    """The plans of a communicator, over a duplicate of it. ``hosts[r]``: the first rank on the host of rank r."""

    def __init__(self, comm: Any, mpi: Any, hosts: list[int], groups: tuple[Group, ...]) -> None:
        self.transport, self.hosts = PlanTransport(mpi, comm.Dup(), _EPOCHS), hosts
        self._named: dict[str, Network] = {}
        self._planned: dict[tuple[Network, str], Planned] = {}
        for group in groups:
            self.transport.watch(partial(self._lose, group))

    @staticmethod
    def _lose(group: Group, rank: int, proof: bool, why: str) -> None:
        # Silence here says little: plans alone go over this duplicate. Over the group's own transport a rank is
        # judged silent.
        if proof:
            group.lose(rank, True, why)

    def way(self, row: MethodRow, survive: int, given: Any) -> tuple[str, str, dict[Algorithm, Any]] | None:
        """Return the name of the way that a call goes, that of the network, and the plans; None where it goes straight.

        ``given``: the network that was named, or None.

        Raises PlanError when the network does not fit, or survives too little.
        """
        kind, model = row.planned, ONE_PORT if given is None else ALL_PORT
        # between hosts a sum for one rank is not faster, and one copy goes of each contribution
        if kind is None or (kind.adds and given is None and (survive or not kind.results)):
            return None
        where = self.network(kind.name, 0 if kind.adds else survive, given)
        name = "trees"
        if given is None:  # the name of the builder by which it goes over one port
            lengths = (1,) * where.nodes ** (2 if kind.blocks == "pair" else 1) if kind.lengths else None
            name = schedule_of(Operation(kind.name, where, 0, 1, survive, ONE_PORT, lengths)).builder
        ranks = where if where.nodes == self.transport.size else find_network(f"complete:{self.transport.size}")
        if (ranks, model) not in self._planned:
            self._planned[ranks, model] = Planned(
                lambda group: PlanLane(self.transport, group), ranks, model, self.hosts
            )
        return name, where.spec, {row.algorithm: self._planned[ranks, model].plan(row.algorithm, kind)}

    def network(self, kind: str, survive: int, given: Any) -> Network:
        """Return the network that the ranks are taken for: the one given, or a complete one.

        ``given``: a spelling, a Network, a networkx graph. Where it is None, a broadcast that is to survive nothing has a node
        for each host. Raises PlanError when the network has another number of nodes, or does not survive so many failures.
        """
        size = self.transport.size
        if given is None:
            by_host = COLLECTIVES[kind].one_to_all and not survive
            where = find_network(f"complete:{len(set(self.hosts)) if by_host else size}")
            check_survive(kind, where, survive, ONE_PORT)
            return where
        if isinstance(given, str) and given not in self._named:
            self._named[given] = find_network(given)  # reading a file again and again would cost more than sending
        where = self._named[given] if isinstance(given, str) else find_network(given)
        if where.nodes != size:
            instead = f": name the links between ranks, such as complete:{size}" if where.relays is not None else ""
            raise PlanError(f"{where.spec} has {where.nodes:,} nodes, and the communicator {size:,} ranks{instead}")
        if where.relays is not None or not where.connected:
            why = "has relays" if where.relays is not None else "does not lead from every node to every other"
            raise PlanError(f"{where.spec} {why}: over MPI every node is a rank, and takes part")
        check_survive(kind, where, survive)
        return where

    def free(self, beside: MpiTransport) -> None:
        """Free the duplicate, unless something may still come on it; ``beside``: its ranks, as far as they are lost to others."""
        transport = self.transport
        transport.deadline = beside.deadline
        for rank in beside.lost:
            transport.shut(rank)
        transport.close()
        transport.free()
