"""How this process becomes a rank of a job: its environment says which, and it meets the others, and connects to them."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.errors import PlanError
from treecast.running.groups.terms import Terms, check_alike
from treecast.running.groups.ways import WIDE, ways_of
from treecast.running.transport.links import Links
from treecast.running.transport.sockets import Sockets
from treecast.tcp import meeting, stores
from treecast.tcp.hosts import own_addresses
from treecast.tcp.job import GoneError, JoinedJob, ended_at_exit, last_of
from treecast.tcp.meeting import Arrivals, Listener, MeetingPlace, Met, Seat, spell
from treecast.tcp.proof import Trust, Who
from treecast.tcp.reach import Reach
from treecast.tcp.stores import Store

if TYPE_CHECKING:
    from treecast.networks import Network

Address = tuple[str, int]


class Start(NamedTuple):
    """Which rank this is, of how many, where they meet, and whether rank 0 itself has to hold the meeting place."""

    rank: int
    size: int
    places: tuple[Address, ...] = ()
    held_by_zero: bool = True


class Options(NamedTuple):
    """How a job lives: see ``treecast.tcp.init``."""

    terms: Terms = Terms()
    trust: Trust = Trust()
    start: float = 300.0
    trust_ends: bool = True
    store: Store | None = None


def start_job(where: Start, options: Options) -> JoinedJob:
    """Meet the other ranks, connect to those that are to be connected, and return this rank's part of the job.

    When the job has begun without this rank, that is after the others have taken it in; when nobody of them lives any more, after
    all have begun again. Raises PlanError when that fails.
    """
    while True:
        job = _begin(where, options)
        if not job.is_new:  # from the start: no welcome is needed
            return job
        try:
            job.wait_for_welcome()
            return job
        # Nobody is left of the job that had begun without this rank: it comes to the next beginning.
        except GoneError:
            job.abandon()


def _begin(where: Start, options: Options) -> JoinedJob:
    (rank, size, places, _), (terms, trust, *_) = where, options
    own, until, arrivals = Who(rank, os.urandom(16)), monotonic() + options.start, Arrivals()
    sockets = partial(Sockets, rank, size, deadline=terms.deadline, trust_ends=options.trust_ends)
    if size == 1:  # alone: nobody to meet
        return ended_at_exit(JoinedJob(sockets({}), arrivals, None, terms))
    # 1. Where the others are. A network may fix all ends: then nobody has to meet.
    # the graph tells which ranks are neighbours
    named = None if terms.network is None else network_of_ranks(terms.network, size)
    fixed = at_links(places, named, size)
    # It listens before the others hear of it: they connect as soon as they have the table.
    listener = Listener(own, trust, arrivals.hear, (_listens_at(places, trust), fixed[rank][1] if fixed else 0))
    # 2. The table of all ranks: made of fixed ends, or got where all meet.
    with ExitStack() as held:
        if fixed:
            met = Met([Seat(other, "", [place], terms.words()) for other, place in enumerate(fixed)], False, "")
        else:
            met = _meet(where, options, own, listener.port, until, held=held)
        # 3. Neighbours. All are in a small job. In a large one, or on a network, only some are.
        table, is_new, attempt = met
        reach = Reach(table, own, trust, arrivals) if named is None and size > WIDE and not fixed else None
        if named is not None:
            table = [seat for seat in table if seat.rank in named.neighbors(rank)]  # only over cables
            if is_new:
                raise PlanError(f"nobody can join over the links of {named.spec} yet: it takes a job without network=")
        elif reach is not None and not is_new:
            # in a large job a rank connects to few, and to others when it has to
            near = ways_of(tuple(range(size)), size, terms.survive).neighbours(rank)
            table = [table[other] for other in near]
        # 4. Connections. Who joins a running job reaches those that live; at the start all of the table are reached.
        if is_new:
            reached = meeting.connect_living(table, own, trust, until)
        else:
            reached = meeting.connect_all(table, own, trust, arrivals, until)
        # 5. The transport; on a network another one above it, which passes on what is for others.
        # TREECAST_CMA=0 has all go over sockets
        transport, links = sockets(reached, cma=named is None and os.environ.get("TREECAST_CMA") != "0"), None
        if named is not None:
            links = Links(transport), named
            transport = sockets(links[0].streams, selector=links[0])
        # `held` goes over to the job: from here on its end closes what was opened. An error before closes it here.
        job = JoinedJob(transport, arrivals, listener, terms, links, reach=reach)
        job.is_new, job.attempt, job.held = is_new, attempt, held.pop_all()
    # 6. A launcher's place hears that this rank is connected, and a store, in the end, that all went well.
    if options.store is not None:
        job.note_over = partial(stores.note_over, options.store, size, attempt)
    elif not (fixed or where.held_by_zero):  # a launcher holds the place
        job.tell = partial(meeting.tell_place, places, own, trust)
        job.tell(())
    return ended_at_exit(job)


def _meet(where: Start, options: Options, own: Who, port: int, until: float, *, held: ExitStack) -> Met:
    """Return what the place says where all ranks meet; ``held``: closes it at last, where rank 0 holds it.

    Raises PlanError when rank 0 cannot hold it.
    """
    rank, size, places, held_by_zero = where
    trust, here = options.trust, _listens_at(places, options.trust)
    # without a secret all are on this machine
    hosts = own_addresses(host for host, _ in places) if trust.secret else [here]
    said = [[(host, port) for host in hosts], options.terms.words()]
    after, was_in = last_of(rank)  # of an earlier job of this process, which may begin again
    if options.store is not None:
        met = stores.ask_store(options.store, own, size, said, until, after=after, was_in=was_in)
    else:
        if held_by_zero and not rank:
            try:
                held.callback(MeetingPlace(size, trust, (here, places[0][1]), options.start).close)
            except OSError as error:
                at = spell(places[0])
                raise PlanError(f"rank 0 cannot hold the meeting place {at}: {error.strerror}") from None
        met = meeting.ask_place(places, own, said, trust, until, after=after)
    if len(met.table) != size:
        raise PlanError(f"this rank was told of {size} ranks, and the meeting place of {len(met.table)}")
    check_alike({seat.rank: seat.terms for seat in met.table})
    return met


def network_of_ranks(name: Any, size: int) -> "Network":
    """Return the network whose links are the only connections of a job. Raises PlanError for one that does not fit."""
    from treecast.networks import network

    where = network(name)
    if where.nodes != size or not where.connected:
        why = f"has {where.nodes:,} nodes" if where.nodes != size else "is not connected"
        instead = "; a switch that only passes data on is no process: name the links between ranks, such as complete"
        instead = f"{instead}:{size}" if where.relays is not None else ""
        raise PlanError(f"{where.spec} {why}, and there are {size:,} ranks: each node is a rank, relays too{instead}")
    if any(u not in where.neighbors(v) for u in range(size) for v in where.neighbors(u)):
        raise PlanError(f"{where.spec} has arcs that lead one way: links over sockets lead both ways")
    return where


def _listens_at(places: Iterable[Address], trust: Trust) -> str:
    """Return the address to listen on: without a secret that of this machine alone, of the family of the place to meet.

    Raises PlanError for a place on another host then.
    """
    if trust.secret:
        return ""
    hosts = [host for host, _ in places]
    if far := [host for host in hosts if not host.startswith("127.") and host not in ("localhost", "::1")]:
        way = "set TREECAST_SECRET to the same 64 hexadecimal digits at all"
        raise PlanError(f"ranks that meet at {far[0]} need a secret: {way}")
    return "::1" if "::1" in hosts else "127.0.0.1"


def read_places(text: str) -> tuple[Address, ...]:
    """Return the addresses of a list of ``host:port``. Raises PlanError for others.

    >>> read_places("10.0.0.1:4000,node7:4000")
    (('10.0.0.1', 4000), ('node7', 4000))
    >>> read_places("[fd00::1]:4000")
    (('fd00::1', 4000),)
    """
    found: list[Address] = []
    for word in filter(None, text.split(",")):
        host, _, port = word.strip().rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 1 << 16 or (":" in host and host[0] != "["):
            raise PlanError(f"{word!r} is no place to meet: write host:port or [IPv6]:port, and commas between several")
        found.append((host.strip("[]"), int(port)))
    return tuple(found)


def at_links(places: Iterable[Address], where: "Network | None", size: int) -> list[Address] | None:
    """Return where each rank listens, when the place to meet names that of each; its neighbours connect to it there.

    ``{rank}`` in the name of a host is the number of the rank, ``{name}`` that of its node.

    >>> from treecast import network
    >>> at_links([("h{rank}", 7000)], network("ring:3"), 3)
    [('h0', 7000), ('h1', 7000), ('h2', 7000)]
    """
    for host, port in places:
        if "{" in host:
            names = [str(rank) for rank in range(size)] if where is None else where.labels()
            return [(host.replace("{rank}", str(k)).replace("{name}", names[k]), port) for k in range(size)]
    return None


def find_start(environment: Mapping[str, str] = os.environ) -> Start:
    """Return how a launcher has started this process; rank 0 of 1 where none has.

    Raises PlanError when a launcher has said who this is, but nobody where to meet.

    >>> find_start({"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"})
    Start(rank=1, size=4, places=(('node0', 29501),), held_by_zero=True)
    """
    meet = read_places(environment.get("TREECAST_MEET", ""))
    for name, (rank, size, place) in _LAUNCHERS.items():
        if rank not in environment or size not in environment:
            continue
        ours, number = _number(environment, rank), _number(environment, size)
        places = meet or place(environment)
        if number > 1 and not places:
            raise PlanError(
                f"{name} has started rank {ours} of {number}, but where they meet is open: TREECAST_MEET=host:port"
            )
        if not 0 <= ours < number:
            raise PlanError(f"{rank}={ours} is no rank of {size}={number}")
        return Start(ours, number, places, rank != "TREECAST_RANK")
    return Start(0, 1)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise PlanError(f"{name}={environment[name]!r} is no number") from None


def _beside_master(environment: Mapping[str, str]) -> tuple[Address, ...]:
    """Return the port after that of torchrun's agent, which holds its own."""
    if "MASTER_ADDR" not in environment or "MASTER_PORT" not in environment:
        return ()
    return ((environment["MASTER_ADDR"], _number(environment, "MASTER_PORT") + 1),)


def _of_slurm(environment: Mapping[str, str]) -> tuple[Address, ...]:
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST", "")
    if not nodes:
        return ()
    # Steps of several jobs on one node must not meet. So the port depends on both numbers.
    job, step = (int(environment.get(name, "0") or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    return ((first_host(nodes), 20_000 + (job * 97 + step) % 20_000),)


def first_host(nodes: str) -> str:
    """Return the first host of Slurm's list of nodes.

    >>> first_host("gpu[007-012,20],login1"), first_host("a1,b2")
    ('gpu007', 'a1')
    """
    found = re.match(r"([^,\[]*)(?:\[([^\],-]*)[^\]]*\]([^,]*))?", nodes)
    return "".join(filter(None, found.groups())) if found else nodes


# The first whose variables are there: treecast launch sets those of torchrun, too, and may run inside another
# launcher.
_LAUNCHERS: Mapping[str, tuple[str, str, Callable[[Mapping[str, str]], tuple[Address, ...]]]] = {
    "treecast launch": ("TREECAST_RANK", "TREECAST_SIZE", lambda _: ()),
    "torchrun": ("RANK", "WORLD_SIZE", _beside_master),
    "mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", _beside_master),
    "mpiexec": ("PMI_RANK", "PMI_SIZE", _beside_master),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", _of_slurm),
    "Kubernetes": ("JOB_COMPLETION_INDEX", "TREECAST_SIZE", lambda _: ()),
}
"""By launcher: the variables of rank and size, and where ranks meet when TREECAST_MEET does not say so."""
