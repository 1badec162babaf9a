"""How this process becomes a rank of a job: it meets the others, and connects to them."""

import os
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from treecast.errors import PlanError
from treecast.networks import Network, network
from treecast.tcp.hosts import own_addresses
from treecast.tcp.job import Job, ended_at_exit
from treecast.tcp.meeting import (
    Arrivals,
    Listener,
    Place,
    Seat,
    Store,
    ask_place,
    ask_store,
    connect_all,
    connect_living,
)
from treecast.tcp.places import Address, Start, at_links
from treecast.tcp.proof import Trust, Who
from treecast.transport.links import Links
from treecast.transport.sockets import Sockets


class Options(NamedTuple):
    """How a job lives: see ``treecast.tcp.init``."""

    survive: int = 0
    deadline: float | None = 30.0
    trust: Trust = Trust()
    start: float = 300.0
    trust_ends: bool = True
    store: Store | None = None
    on_error: str = "abort"
    join: bool = False
    late: float | None = None
    sure: bool = False
    network: Any = None


def start_job(where: Start, options: Options) -> Job:
    """Meet the other ranks, connect to those that are to be connected, and return this rank's part of the job.

    Raises PlanError when that fails.
    """
    rank, size, places, _ = where
    own, until, arrivals = Who(rank, os.urandom(16)), monotonic() + options.start, Arrivals()
    if size == 1:
        return ended_at_exit(Job(Sockets(0, 1, {}, options.deadline), arrivals, None), options.on_error)
    named = None if options.network is None else network_of_ranks(options.network, size)
    if named is not None and options.join:
        raise PlanError(f"nobody can join over the links of {named.spec} yet: it takes a job without network=")
    fixed = at_links(places, named, size)
    _check_reach(places, options)
    listener = Listener(own, options.trust, arrivals.put, (options.trust.host, fixed[rank][1] if fixed else 0))
    if fixed:
        table = [Seat(other, "", [place], options.survive, False) for other, place in enumerate(fixed)]
    else:
        table = _meet(where, options, own, listener.port, until)
    relays = all(seat.relays for seat in table)
    if named is not None:
        near = set(named.neighbors(rank))
        table = [seat for seat in table if seat.rank in near]
    living, trust = options.join, options.trust
    socks = connect_living(table, own, trust) if living else connect_all(table, own, trust, arrivals, until)
    cma = named is None and os.environ.get("TREECAST_CMA") != "0"
    transport = Sockets(rank, size, socks, options.deadline, trust_ends=options.trust_ends, cma=cma)
    links = None
    if named is not None:
        links = Links(transport), named
        streams = links[0].streams
        transport = Sockets(rank, size, streams, options.deadline, trust_ends=options.trust_ends, selector=links[0])
    job = Job(transport, arrivals, listener, options.late, links)
    job.sure, job.relays = options.sure, relays
    return ended_at_exit(job, options.on_error)


def _meet(where: Start, options: Options, own: Who, port: int, until: float) -> list[Seat]:
    """Return the table of all ranks, from the place where they meet."""
    rank, size, places, held_by_zero = where
    hosts = own_addresses(host for host, _ in places) if options.trust.secret else ["127.0.0.1"]
    said = [[(host, port) for host in hosts], options.survive, options.late is None]
    if options.store is not None:
        table = ask_store(options.store, own, size, said)
    else:
        place = _hold(size, options, places[0]) if held_by_zero and not rank else None
        try:
            table = ask_place(places, own, said, options.trust, until)
        finally:
            if place is not None:
                place.close()
    _check_alike(table, size)
    return table


def network_of_ranks(name: Any, size: int) -> Network:
    """Return the network whose links are the only connections of a job. Raises PlanError for one that does not fit."""
    where = network(name)
    if where.nodes != size or not where.connected:
        why = f"has {where.nodes:,} nodes" if where.nodes != size else "is not connected"
        raise PlanError(f"{where.spec} {why}, and there are {size:,} ranks: each node is a rank, relays too")
    if any(u not in where.neighbors(v) for u in range(size) for v in where.neighbors(u)):
        raise PlanError(f"{where.spec} has arcs that lead one way: links over sockets lead both ways")
    return where


def _hold(size: int, options: Options, address: Address) -> Place:
    try:
        return Place(size, options.trust, (options.trust.host, address[1]), options.start)
    except OSError as error:
        raise PlanError(f"rank 0 cannot hold the meeting place {address[0]}:{address[1]}: {error.strerror}") from None


def _check_reach(places: Iterable[Address], options: Options) -> None:
    """Raise PlanError for a place on another host without a secret: a job that has none listens on this machine alone."""
    far = [host for host, _ in places if not host.startswith("127.") and host not in ("localhost", "::1")]
    if far and not options.trust.secret:
        raise PlanError(
            f"ranks that meet at {far[0]} need a secret: set TREECAST_SECRET to the same 64 hexadecimal digits at all"
        )


def _check_alike(table: Sequence[Seat], size: int) -> None:
    """Raise PlanError, at all ranks, when they have started with different options."""
    if len(table) != size:
        raise PlanError(f"this rank was told of {size} ranks, and the meeting place of {len(table)}")
    said = sorted({seat.survive for seat in table})
    if len(said) > 1:
        raise PlanError(f"the ranks of a job say the same survive, not {' and '.join(map(str, said))}")
