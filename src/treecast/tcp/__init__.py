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

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from treecast.errors import DeliveryError, Evicted, PlanError, UnlikeCallsError

if TYPE_CHECKING:
    from treecast.running.groups.terms import Said
    from treecast.tcp.comm import Comm
    from treecast.tcp.stores import Store

__all__ = ["Comm", "DeliveryError", "Evicted", "UnlikeCallsError", "connect", "init"]


def __getattr__(name: str) -> Any:
    for where in ("library", "messages", "comm"):
        if not name.startswith("_") and hasattr(found := import_module(f"treecast.tcp.{where}"), name):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def init(
    rank: int | None = None,
    size: int | None = None,
    meet: str | None = None,
    *,
    store: "Store | None" = None,
    secret: bytes | None = None,
    tls: tuple[str, str, str] | None = None,
    trust_ends: bool = True,
    start: float = 300.0,
    **terms: "Unpack[Said]",
) -> "Comm":
    """Join a job, and return the communicator of all its ranks.

    Without arguments the environment says which rank this is and where they meet, and without a launcher it is rank 0 of 1.
    When the job has begun without this process, it is a newcomer in the seat of a rank that has failed, and waits for
    ``Comm.admit`` of the others. When none of them lives, it waits until all ranks have come again, and the job begins
    again. When the job has ended well meanwhile, the process says so in one line and ends with 0.

    Parameters
    ----------
    rank, size : int, optional
        Which rank this is, of how many.
    meet : str, optional
        Where they meet: ``host:port``. Rank 0 holds that place. When it is ``h{rank}:7000``, or
        ``{name}:7000`` with the names of a file of cables, each rank listens there, and ranks of a ``network`` meet over its
        links alone.
    store : Store, optional
        In place of that: any object with ``set(key, text)``, a ``get(key)`` that waits, and ``check(keys)``, as torch's stores.
    secret : bytes, optional
        The bytes that all ranks have to know, 32 random ones, say. By default TREECAST_SECRET or TREECAST_SECRET_FILE has it.
        Without one all ranks are on this machine, and of the same user.
    tls : tuple of three paths, optional
        Certificate, key, and the authority that both sides trust: connections are encrypted then.
    trust_ends : bool
        Whether the end of a connection proves a death. False where somebody in between may end connections: then it is silence.
    start : float
        Seconds within which all ranks have to come.
    **terms
        What becomes of calls when ranks fail, the same at all ranks: ``survive=1, deadline=30, late=None, sure=False,
        on_failed="warn", on_error="abort", sums="by-rank", network=None``. ``treecast.running.groups.terms.Terms`` explains them.

    Returns
    -------
    Comm
        The communicator of all ranks.

    Raises
    ------
    PlanError
        The terms make no sense, or differ, or the ranks do not find one another.

    Examples
    --------
    >>> comm = init(survive=1)                                      # doctest: +SKIP
    >>> comm.rank, comm.size                                        # doctest: +SKIP
    (0, 4)
    """
    from treecast.running.groups.terms import Terms, check_alike
    from treecast.tcp.comm import Comm
    from treecast.tcp.meeting import TooLateError
    from treecast.tcp.proof import Tls, Trust, read_secret
    from treecast.tcp.start import Options, Start, find_start, read_places, start_job

    # 1. The terms, and whom to trust.
    ours = Terms.of(terms).check()
    trust = Trust(read_secret() if secret is None else secret, None if tls is None else Tls(*tls))
    # 2. Where the others are: the launcher says so, or the program.
    if rank is None and size is None:
        where = find_start()
        if meet is not None:
            where = where._replace(places=read_places(meet))
    else:
        where = Start(rank or 0, size or 0, read_places(meet or ""))
        if not 0 <= where.rank < where.size or not (where.places or store or where.size == 1):
            raise PlanError(f"rank={rank}, size={size}, meet={meet!r} make no job: write init(0, 4, 'host:port'), say")
    # 3. Meet them.
    try:
        process = start_job(where, Options(ours, trust, start, trust_ends, store))
    except TooLateError as error:  # a launcher has started it anew
        sys.stderr.write(f"treecast: {error}\n")
        raise SystemExit(0) from None
    # 4. The communicator; ranks that met over links alone compare their terms by it.
    comm = Comm(process, process.whole(), is_new=process.is_new)
    if process.links is not None:  # they may have met over the links alone
        said = enumerate(comm.ask("init", ours.words()))
        check_alike({each: words for each, words in said if words is not None})
    return comm


def connect(**terms: "Unpack[Said]") -> "Comm":
    """Join the job that a launcher has started, over sockets; return the communicator of all its ranks.

    It is ``treecast.tcp.init`` with the settings of the environment (``treecast launch --tcp``, torchrun, srun, mpiexec,
    Kubernetes): ``terms`` are the same, and so are errors.

    Examples
    --------
    >>> comm = connect(survive=1, deadline=30)                      # doctest: +SKIP
    >>> comm.allreduce(comm.rank)                                   # doctest: +SKIP
    6
    """
    return init(**terms)
