"""How a process group begins, on which terms: by the job's launcher or torch's store, and how its subgroups do."""

import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Unpack

from treecast.errors import PlanError
from treecast.running.groups.members import name_ranks
from treecast.running.groups.terms import Said, Terms
from treecast.tcp import init
from treecast.tcp.comm import Comm
from treecast.tcp.proof import Trust, Who, read_secret
from treecast.tcp.start import find_start
from treecast.torch.group import ProcessGroup, number_of
from treecast.torch.store import PlaceStore, SharedStore
from treecast.torch.work import dist, seconds_of

_said: list[Said] = [{}]
_shared: list[SharedStore] = []
"""Those of all rendezvous: torch keeps them by references of C++ alone, which Python does not count."""


def options(**terms: Unpack[Said]) -> None:
    """Say on which terms groups live that begin from now on, the same at all ranks.

    Parameters
    ----------
    **terms
        What becomes of calls when ranks fail: ``survive=1, deadline=30, late=None, sure=False, on_failed="warn",
        on_error="die", sums="by-rank", network=None``. ``treecast help terms`` explains them. ``late`` is by default the
        timeout of the group. The errors of ``on_failed`` are DistBackendErrors.

    Raises
    ------
    PlanError
        They make no sense.

    Examples
    --------
    >>> treecast.torch.options(survive=2)                           # doctest: +SKIP
    """
    _terms(terms)
    _said[:] = [terms]


def _terms(said: Said) -> Terms:
    return Terms.of(said, Terms(on_error="die")).check()  # in torch an error of one rank ends that rank alone


def create(options: Any, _more: Any = None) -> ProcessGroup:
    """Return the process group that torch asks for: that of all ranks, or a part of it.

    Raises PlanError when the ranks do not find one another, or a part has ranks that have failed.
    """
    # The terms of the moment: those said later hold for later groups.
    terms = _terms(_said[0])
    terms = terms._replace(late=terms.late or seconds_of(options.timeout))  # what the timeout of torch means
    whole = dist.group.WORLD if dist.is_initialized() else None
    ranks: list[int] = list(options.global_ranks_in_group) or list(range(options.group_size))
    if isinstance(whole, ProcessGroup):  # torch has a world of treecast's: a part of that
        if gone := {*ranks} & {*whole.failed}:
            raise PlanError(f"{name_ranks(gone)} has failed and is in no new group: name those in living()")
        process, seats = whole.comm.process, [whole.comm.group.seats[rank] for rank in ranks]
        ident = number_of(options.group_id, process)
        comm = Comm(process, process.add_group(seats, ident, terms))
    else:
        comm = _join(options, terms)
    return ProcessGroup(comm, options, ranks)


def _join(options: Any, terms: Terms) -> Comm:
    rank, size = options.group_rank, options.group_size
    how: dict[str, Any] = terms._asdict()
    host = os.environ.get("MASTER_ADDR", "")
    if tuple(os.environ.get(f"TREECAST_{name}") for name in ("RANK", "SIZE")) == (str(rank), str(size)):
        comm = init(**how)  # they meet where the launcher says
    else:
        if host not in ("", "localhost", "127.0.0.1", "::1"):  # other hosts are in it: the connection has to be proved
            # A secret of the job's own: rank 0 makes it, and only who reaches the store learns it.
            if not (secret := read_secret()):  # whoever reaches torch's store knows one that is there
                if rank == 0:
                    options.store.set("treecast/secret", secrets.token_hex(32))
                secret = bytes.fromhex(options.store.get("treecast/secret").decode())
            how |= {"meet": f"{host}:1", "secret": secret}  # port 1: the store tells where they meet
        comm = init(rank, size, store=options.store, **how)
    for store in _shared[-1:]:  # the last rendezvous is the one of this job
        store.attempt = comm.process.attempt
    return comm


def rendezvous(url: str, **_more: Any) -> Iterator[tuple[Any, int, int]]:
    """Yield store, rank and size for ``init_method="treecast://"``: whichever launcher has started this process.

    Newcomers come in by it, too. The store is one that all ranks share: ``treecast launch --tcp`` keeps it, or torchrun's agent,
    and else rank 0.
    """
    where = find_start()
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    if not (host and port) and where.places:
        host, port = where.places[0][0], str(where.places[0][1])
        os.environ["MASTER_ADDR"] = host  # torch's own code asks for it
    if "TREECAST_RANK" in os.environ and where.places:
        store: Any = PlaceStore(where.places, Who(where.rank, os.urandom(16)), Trust(read_secret()))
    elif where.size == 1 or not (host and port):  # alone: a store of this process
        store = dist.HashStore()
    else:
        # One process holds the port: torchrun's agent, where it does, and else rank 0.
        holds = where.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        wait = timedelta(seconds=300)
        store = dist.TCPStore(host, int(port), where.size, holds, wait, wait_for_workers=False, multi_tenant=True)
        store = dist.PrefixStore("treecast", store)
    whole = dist.group.WORLD if dist.is_initialized() else None
    # names of the new beginning
    _shared.append(SharedStore(store, whole.comm.process.attempt if isinstance(whole, ProcessGroup) else ""))
    yield _shared[-1], where.rank, where.size
