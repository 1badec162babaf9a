"""Collectives that survive the deaths of ranks, over plain sockets: no MPI is needed, and no host must not die.

>>> import treecast.tcp                                             # doctest: +SKIP
>>> comm = treecast.tcp.init(survive=1)                             # doctest: +SKIP
>>> comm.Allreduce(mine, total)                                     # doctest: +SKIP
>>> comm.last.failed                                                # doctest: +SKIP
()

``init`` joins the job that a launcher has started (``treecast launch --tcp``, torchrun, srun, mpiexec, Kubernetes), and
returns the communicator of all its ranks. It has the methods of mpi4py's, and so have the operations and datatypes here: ``SUM``,
``IN_PLACE``, ``DOUBLE`` …
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from treecast.errors import DeliveryError, Evicted, PlanError

if TYPE_CHECKING:
    from treecast.tcp.comm import Comm
    from treecast.tcp.meeting import Store

__all__ = ["Comm", "DeliveryError", "Evicted", "connect", "init"]


def __getattr__(name: str) -> Any:
    where = "treecast.tcp.comm" if name in ("Comm", "Request", "UNDEFINED") else "treecast.tcp.library"
    if name.startswith("_") or not hasattr(import_module(where), name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(where), name)


def init(
    rank: int | None = None,
    size: int | None = None,
    meet: str | None = None,
    *,
    store: "Store | None" = None,
    survive: int = 0,
    deadline: float | None = 30.0,
    secret: bytes | None = None,
    tls: tuple[str, str, str] | None = None,
    trust_ends: bool = True,
    on_error: str = "abort",
    start: float = 300.0,
    join: bool | None = None,
    late: float | None = None,
    sure: bool = False,
    network: Any = None,
) -> "Comm":
    """Join a job, and return the communicator of all its ranks.

    Without arguments the environment says which rank this is and where they meet, and without a launcher it is rank 0 of 1.
    A process joins once.

    Parameters
    ----------
    rank, size : int, optional
        Which rank this is, of how many.
    meet : str, optional
        Where they meet: ``host:port``. Rank 0 holds that place until all are there.
    store : Store, optional
        In place of that: any object with ``set(key, text)`` and a ``get(key)`` that waits, as torch's stores have.
    survive : int
        How many ranks may fail in one call.
    deadline : float, optional
        Seconds without any sign of a rank after which the others go on without it; None waits for ever. A rank that ends is
        known at once, whatever the deadline.
    secret : bytes, optional
        The bytes that all ranks have to know, 32 random ones, say. By default TREECAST_SECRET or TREECAST_SECRET_FILE has it.
        Without one all ranks are on this machine, and of the same user.
    tls : tuple of three paths, optional
        Certificate, key, and the authority that both sides trust: connections are encrypted then.
    trust_ends : bool
        Whether the end of a connection proves a death. False where somebody in between may end connections: then it is silence.
    on_error : str
        The effect of an exception that nobody catches, or ``sys.exit`` with a status: ``abort`` or ``die``, as for
        ``treecast.mpi.wrap``.
    start : float
        Seconds within which all ranks have to come.
    join : bool, optional
        Whether this is a newcomer in the seat of a rank that has failed: it waits for ``Comm.admit`` of the others. By
        default when TREECAST_JOIN is set, as by ``treecast launch --tcp --respawn``; the process then leaves, with status 0,
        when the job is over already. The meeting place has to be there still.
    network : str, Network or graph, optional
        The network whose links are the only connections: each node is a rank, relays too. Calls go down its plans, and all
        else is flooded over the links, so hosts need not reach one another by IP. By default TREECAST_NETWORK names it. When
        ``meet`` is ``h{rank}:7000``, or ``{name}:7000`` with the names of a file of cables, each rank listens there, and ranks
        meet over the links alone.
    sure : bool
        Whether calls of little data end by a state to the first rank and its answer, too. Then nobody returns before all have
        the data; else a rank that returned, and died then, may have returned more than the others agree on.
    late : float, optional
        Seconds after which a rank that is alive, but does not make the call that the others wait in, counts as silent.

    Returns
    -------
    Comm
        The communicator of all ranks.

    Raises
    ------
    PlanError
        The options make no sense, or the ranks do not find one another.

    Examples
    --------
    >>> comm = init(survive=1)                                      # doctest: +SKIP
    >>> comm.rank, comm.size                                        # doctest: +SKIP
    (0, 4)
    """
    from treecast.calls.options import check_common
    from treecast.tcp.comm import Comm
    from treecast.tcp.meeting import TooLateError
    from treecast.tcp.proof import Tls, Trust, read_secret
    from treecast.tcp.start import Options, Start, find_start, read_places, start_job

    check_common(survive, on_error, deadline=deadline, late=late)
    trust = Trust(read_secret() if secret is None else secret, None if tls is None else Tls(*tls))
    if rank is None and size is None:
        where = find_start()
        if meet is not None:
            where = where._replace(places=read_places(meet))
    else:
        where = Start(rank or 0, size or 0, read_places(meet or ""))
        if not 0 <= where.rank < where.size or not (where.places or store or where.size == 1):
            raise PlanError(f"rank={rank}, size={size}, meet={meet!r} make no job: write init(0, 4, 'host:port'), say")
    is_new = bool(os.environ.get("TREECAST_JOIN")) if join is None else join
    named = network if network is not None else os.environ.get("TREECAST_NETWORK")
    options = Options(survive, deadline, trust, start, trust_ends, store, on_error, is_new, late, sure, named)
    try:
        process = start_job(where, options)
        if is_new:
            return Comm(process, process.wait_for_welcome(survive), is_new=True)
    except TooLateError as error:
        if join:
            raise
        # the launcher has started it anew, and the job has ended well meanwhile
        sys.stderr.write(f"treecast: {error}\n")
        raise SystemExit(0) from None
    comm = Comm(process, process.add_group(range(where.size), survive, 0))
    if process.links is not None and len(set(comm.allgather(survive))) > 1:
        raise PlanError("the ranks of a job say the same survive")
    return comm


def connect(survive: int = 0, deadline: float | None = 30.0) -> "Comm":
    """Join the job that a launcher has started, over sockets; return the communicator of all its ranks.

    It is ``treecast.tcp.init`` with the settings of the environment: ``treecast launch --tcp``, torchrun, srun, mpiexec,
    Kubernetes.

    Parameters
    ----------
    survive : int
        How many ranks may fail in one call.
    deadline : float, optional
        Seconds without any sign of a rank after which the others go on without it; None waits for ever.

    Returns
    -------
    Comm
        The communicator of all ranks.

    Raises
    ------
    PlanError
        The options make no sense, or the ranks do not find one another.

    Examples
    --------
    >>> comm = connect(survive=1)                                   # doctest: +SKIP
    >>> comm.allreduce(comm.rank)                                   # doctest: +SKIP
    6
    """
    return init(survive=survive, deadline=deadline)
