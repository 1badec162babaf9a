"""Choosing the number of chunks, and the part of each rank; results are kept. Planners come in at first use alone."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf, isqrt, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.collectives import COLLECTIVES, Collective, Kind
from treecast.errors import PlanError
from treecast.networks import Network, network
from treecast.networks.kept import kept
from treecast.running.engine.transfers import Transfer, transfers_of, with_tags
from treecast.running.engine.turns import AT_ONCE
from treecast.running.execution.layout import sums_at

if TYPE_CHECKING:
    from treecast.schedule import Schedule

OVERHEAD = 200e-6
"""The seconds that a message takes beside those on the wire: by it many small chunks are slow."""
_SMALLEST, _LARGEST = 1 << 12, 1 << 22  # bytes of a chunk, where there is choice
_WHOLE = 1 << 16  # bytes that go as one chunk
# MPI counts entries in an int of 32 bits, so 2 GiB are too much before version 4.
_MOST = 1 << 30  # bytes of a message that every MPI can send
_MOST_FLITS = 1 << 14  # of all blocks, times ranks
_KEPT = 64
_FEW = 4  # messages of a plan whose steps say those of plans of more
_GAIN, _PARTIAL = 1.3, 2e-9  # of partial sums: how much faster they have to be; seconds to add a byte as one
_CROWDED = 1.3  # times as long as without others a one-port plan takes where messages of several meet at a port
_MEMORY = 1e9  # bytes per second between ranks that share one memory
ALL_PORT, ONE_PORT = "all-port", "one-port"


def check_survive(kind: str, where: Network, survive: int, model: str = ALL_PORT) -> None:
    """Raise PlanError when ``survive`` failures cannot be survived, with how many can."""
    if survive < 0:
        raise PlanError(f"survive is a number of failures from 0, not {survive}")
    most = most_survived(kind, where, model)
    if survive > most:
        why = ""
        if COLLECTIVES[kind].one_way:
            why = ": it sends each message one way"
        elif COLLECTIVES[kind].adds:
            why = ": contributions that went two ways would be added twice"
        elif not where.every_pair_joined and survive <= where.nodes - 2:
            why = f"; complete:{where.nodes} survives {where.nodes - 2}"
        raise PlanError(f"{kind} on {where.spec} survives at most {most} failures, not {survive}{why}")


def most_survived(kind: str, where: Network, model: str = ALL_PORT) -> int:
    """Return how many failures a collective survives on a network."""
    one_copy = COLLECTIVES[kind].one_way or COLLECTIVES[kind].adds
    return 0 if one_copy else _most_copies(where, kind, model) - 1


def messages_of(kind: str, where: Network, size: int, survive: int, rate: float = 0.0, *, model: str = ALL_PORT) -> int:
    """Return in how many chunks ``size`` bytes go: the data of a root, or the block of each source or pair.

    ``rate``: bytes per second over a link; 0 of ranks that share one memory, where data that goes straight to its target is best
    left whole. Data of b bytes on d arcs, one behind the other, in chunks of c, takes (b/c + d) (c/rate + overhead): least for
    c = sqrt(b · overhead · rate / d). Over one port a chunk of a broadcast takes as many turns for each of ⌈log2 N⌉ arcs as
    messages are under way at once; all else goes straight, and is cut only for the sake of memory.
    """
    if model == ONE_PORT and not COLLECTIVES[kind].one_to_all:
        return max(1, -(-size // _LARGEST))
    if not rate and not survive and where.every_pair_joined:
        return max(1, -(-size // _MOST))
    if size <= _WHOLE:
        return 1
    trees = trees_of(where, survive) if COLLECTIVES[kind].one_to_all and model != ONE_PORT else 1
    # each tree carries its share of all copies
    share = -(-size * (survive + 1) // trees)
    count = -(-size // chunk_of(share, _arcs_of(where, model), rate))
    # As many chunks for each tree, or the trees would end at different times.
    spread = min(trees, -(-size // _WHOLE))
    return -(-count // spread) * spread


def flit_of(where: Network, sizes: Sequence[int], survive: int, rate: float = 0.0, *, model: str = ALL_PORT) -> int:
    """Return the bytes of a flit of blocks of different lengths; ``rate`` as in ``messages_of``.

    So many flits that a plan of them is made in less than a second are the most.
    """
    best = chunk_of(sum(sizes) * (survive + 1), _arcs_of(where, model), rate)
    # The greater of the best size, and of the least by which planning stays short.
    return max(best, -(-sum(sizes) // max(1, _MOST_FLITS // where.nodes)))


def _arcs_of(where: Network, model: str) -> int:
    if model == ONE_PORT and where.every_pair_joined:
        return AT_ONCE * max(1, (where.nodes - 1).bit_length())
    return where.diameter + 1


def chunk_of(share: int, arcs: int, rate: float) -> int:
    """Return how many bytes of ``share``, which pass so many arcs, a chunk should have; ``rate`` as in ``messages_of``."""
    best = isqrt(int(share * OVERHEAD * rate / max(1, arcs))) if rate else _LARGEST
    return min(max(best, _SMALLEST), _LARGEST)


def trees_of(where: Network, survive: int) -> int:
    """Return over how many trees a broadcast goes, as builders say; straight to all on a complete network where none fails."""
    return 1 if where.every_pair_joined and not survive else _most_copies(where, "broadcast")


@kept(16)
def _most_copies(where: Network, kind: str, model: str = ALL_PORT, *, by_rule: bool = False) -> int:
    """Return the most copies of any builder; ``by_rule``: of those by which a rank learns its part from its number."""
    from treecast.plans import builders

    known = [b for b in builders(kind, where) if model in b.models and (b.at or not by_rule)]
    return max([1, *(b.most_copies(where) for b in known)])


class Operation(NamedTuple):
    """A collective as it is carried out: on which network, from or to which root, in how many chunks, with how many failures, and
    under which model; where blocks have different lengths, how many flits each has; whether sums are added in the order of ranks.
    """

    kind: str
    network: Network
    root: int
    messages: int = 1
    survive: int = 0
    model: str = ALL_PORT
    lengths: tuple[int, ...] | None = None
    by_rank: bool = False


class Role(NamedTuple):
    """The role of one rank in an operation: its transfers; how many contributions it is to add to sums, and which it ends."""

    collective: Collective
    transfers: tuple[Transfer, ...]
    sums: tuple[dict[int, int], dict[int, int]]


@lru_cache(_KEPT)
def role_of(operation: Operation, rank: int, tags: int) -> Role:
    """Return the role of one rank in an operation; tags are from 0 to ``tags`` - 1."""
    kind, where, root, messages, survive, model, *_ = operation
    check_survive(kind, where, survive, model)
    straight = where.every_pair_joined and not survive
    several = not straight and _most_copies(where, "broadcast", by_rule=True) > max(1, survive)
    # By rule: the rank learns its own rows from its number, and nobody makes the whole schedule.
    if COLLECTIVES[kind].one_to_all and (several or model == ONE_PORT):
        from treecast.plans import program

        mine = program(kind, where, rank, root=root, messages=messages, survive=survive, model=model)
    else:
        mine = schedule_of(operation).at(rank)
    return Role(mine.collective, transfers_of(mine, rank, tags), sums_at(mine, rank))


@lru_cache(8)
def schedule_of(operation: Operation) -> "Schedule":
    """Return the schedule that is carried out: on a complete network one copy of a broadcast goes straight to all."""
    from treecast.plans import plan

    kind, where, root, messages, survive, model, lengths, by_rank = operation
    straight = COLLECTIVES[kind].one_to_all and where.every_pair_joined and not survive and model == ALL_PORT
    how: dict[str, Any] = {"root": root, "survive": survive, "model": model, "lengths": lengths, "by_rank": by_rank}
    builder = "breadth-first-tree" if straight else None  # whose branches are one arc long there
    return plan(kind, where, messages=None if lengths is not None else messages, builder=builder, **how)


def chunks_in(what: Operation, size: int, rate: float = 0.0) -> int:
    """Return in how many chunks a block of ``size`` bytes goes; ``rate`` as in ``messages_of``.

    A plan by rank takes a + b M steps for M chunks: least time for M = sqrt(a size / (b overhead rate)).
    """
    if not what.by_rank:
        return messages_of(what.kind, what.network, size, what.survive, rate, model=what.model)
    # The steps of two small plans tell a and b, as they grow in proportion to the chunks.
    few, more = _steps_of(what)
    best = isqrt(int((few - more) * _FEW * size / (more * OVERHEAD * (rate or _MEMORY)))) if more else 1
    return max(1, min(best, -(-size // _SMALLEST)), -(-size // _MOST))


def seconds_of(what: Operation, size: int, rate: float = 0.0) -> float:
    """Return about how long the plan of an operation takes whose blocks have ``size`` bytes; inf where there is none.

    As many messages more take as many steps more, as those of few tell. ``rate`` as in ``messages_of``.
    """
    count, (few, more) = chunks_in(what, size, rate), _steps_of(what)
    return (few + (count / _FEW - 1) * more) * (size / count / (rate or _MEMORY) + OVERHEAD)


@lru_cache(_KEPT)
def _steps_of(what: Operation) -> tuple[float, float]:
    """Return the steps of an operation of few messages, and how many as many more take."""
    try:
        few, all_ = (schedule_of(what._replace(messages=count)).steps for count in (_FEW, 2 * _FEW))
    except PlanError:
        return inf, 0
    return few, all_ - few


class SumWay(NamedTuple):
    """The way of a sum: contributions are added down the plan of a kind, by rank there, or else at owners; as partial sums."""

    kind: str
    by_rank: bool = False
    is_partial: bool = False


AT_OWNERS = SumWay("alltoall")


@lru_cache(_KEPT)
def way_of_sum(kind: Kind, where: Network, size: int, rate: float, *, exact: bool, model: str) -> SumWay:
    """Return the way of a sum of so many bytes that takes least time, of those by which the bits are the same.

    A sum by rank is added at owners, or along a chain. An exact one is added at owners, or as partial sums, which are twice as
    long, down the trees of an allgather, whose plan a search for a better one would take long to beat; finished sums go up
    them. ``rate`` as in ``messages_of``.
    """

    def seconds(name: str, *, by_rank: bool = False) -> float:
        return seconds_of(Operation(name, where, 0, model=model, by_rank=by_rank), -(-size // where.nodes), rate)

    if where.every_pair_joined:
        return AT_OWNERS
    half = seconds("gather") if kind.ends == "root" else seconds("allgather")
    at_owners = seconds("alltoall") + half
    if exact:
        other = SumWay("allreduce", is_partial=True), _GAIN * 3 * half + size * _PARTIAL
    else:
        other = SumWay("allreduce", by_rank=True), seconds("allreduce", by_rank=True)
    return min((AT_OWNERS, at_owners), other, key=lambda each: each[1])[0]


def between_hosts(what: Operation, hosts: int, root: int, size: int, rate: float) -> Operation:
    """Return how a broadcast of ``size`` bytes goes from one of several hosts: down a chain, or as a one-port plan of all.

    A chain has more arcs, and no two messages for one port. With ``messages_of`` it takes (sqrt(b/rate) + sqrt(d overhead))^2 s.
    """

    def seconds(where: Network) -> float:
        return (sqrt(size / (rate or _MEMORY)) + sqrt(_arcs_of(where, ONE_PORT) * OVERHEAD)) ** 2

    chain, every = network(f"path:{hosts}"), network(f"complete:{hosts}")
    # Where messages of several ranks meet at a port, a one-port plan takes longer than its steps say.
    if seconds(chain) < _CROWDED * seconds(every):
        return what._replace(network=chain, root=0)
    return what._replace(network=every, root=root)


def broadcast_role(operation: Operation, hosts: Sequence[int], root: int, rank: int, tags: int) -> Role:
    """Return the part of one rank in a broadcast from ``root`` to ranks on several hosts; tags are from 0 to ``tags`` - 1.

    Between hosts it is a one-port broadcast on their complete network, and one rank speaks for each. On a host the data passes
    from rank to rank, through memory, each chunk a step after it came. On a path it passes so from host to host, too.
    ``operation``: the broadcast between hosts, from that of the root. ``hosts``: of each rank, the first rank on its host.

    >>> import treecast
    >>> operation = Operation("broadcast", treecast.network("complete:2"), 0, 5, model="one-port")
    >>> for transfer in broadcast_role(operation, [0, 1, 1], 0, 2, 100).transfers:
    ...     print("to" if transfer.sends else "from", transfer.peer, transfer.first, transfer.stop)
    from 1 0 5
    """
    if not operation.network.every_pair_joined:
        return _chain_role(operation, hosts, root, rank, tags)
    # Of each host the lowest rank, and the root itself on its own: data must not pass a rank before the root there.
    speakers = [root if first == hosts[root] else first for first in sorted(set(hosts))]
    here = [r for r, host in enumerate(hosts) if host == hosts[rank]]
    speaks = next(r for r in speakers if r in here)
    chain = [speaks, *(r for r in here if r != speaks)]
    place, role = chain.index(rank), role_of(operation, speakers.index(speaks), tags)
    between = [each._replace(peer=speakers[each.peer]) for each in role.transfers] if rank == speaks else []
    # At the root nothing arrives. A transfer that is never carried out stands for it, from which the steps within the
    # host follow.
    begins = Transfer(False, root, 0, operation.messages, -1, 1, -1, 0, 0)
    arrivals = [begins] if root == speaks else [each for each in role.transfers if not each.sends]

    def pass_on(sends: bool, to: int) -> list[Transfer]:
        later = place + sends
        return [each._replace(sends=sends, peer=to, step=each.step + later, tree=-1) for each in arrivals]

    within = pass_on(False, chain[place - 1]) if place else []
    within += pass_on(True, chain[place + 1]) if place + 1 < len(chain) else []
    collective = replace(role.collective, nodes=len(hosts), root=root)
    return Role(collective, with_tags([*between, *within], tags), ({}, {}))


def _chain_role(operation: Operation, hosts: Sequence[int], root: int, rank: int, tags: int) -> Role:
    """Return the part of one rank where data passes down a chain of all ranks, host by host, from the root on."""
    ranks, messages = range(len(hosts)), operation.messages
    # Host by host from that of the root, and within its host the root first: each link between hosts is passed once.
    chain = sorted(ranks, key=lambda r: ((hosts[r] - hosts[root]) % len(hosts), r != root, r))
    place = chain.index(rank)
    found = [
        Transfer(sends, chain[peer], 0, messages, place - 1 + sends, 1, 0, 0, 0)
        for sends, peer in ((False, place - 1), (True, place + 1))
        if 0 <= peer < len(chain)
    ]
    return Role(Collective(operation.kind, len(hosts), messages, root), with_tags(found, tags), ({}, {}))
