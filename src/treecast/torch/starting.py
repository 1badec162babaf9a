"""How a process group begins, on which terms: by the job's launcher or torch's store, and how its subgroups do."""
# pyright: basic

import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Unpack

from treecast.errors import PlanError
from treecast.groups.members import name_ranks
from treecast.groups.terms import Said, Terms
from treecast.tcp import init
from treecast.tcp.comm import Comm
from treecast.tcp.proof import read_secret
from treecast.tcp.start import find_start
from treecast.torch.group import ProcessGroup, number_of
from treecast.torch.work import dist, seconds_of

_JOINED: list[str] = []
_said: list[Said] = [{}]


def options(**terms: Unpack[Said]) -> None:
    """Say on which terms groups live that begin from now on, the same at all ranks.

    Parameters
    ----------
    **terms
        What becomes of calls when ranks fail: ``survive=1, deadline=30, late=None, sure=False, on_failed="warn",
        on_error="die", network=None``. ``treecast.groups.terms.Terms`` explains them. ``late`` is by default the timeout of the
        group. The errors of ``on_failed`` are DistBackendErrors.

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
    return Terms.of(said, Terms(on_error="die")).check()


def create(options: Any, _more: Any = None) -> ProcessGroup:
    """Return the process group that torch asks for: that of all ranks, or a part of it.

    Raises PlanError when the ranks do not find one another, or a part has ranks that have failed.
    """
    terms = _terms(_said[0])
    terms = terms._replace(late=terms.late or seconds_of(options.timeout))  # what the timeout of torch means
    whole = dist.group.WORLD if dist.is_initialized() else None
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))
    if isinstance(whole, ProcessGroup):
        if gone := {*ranks} & {*whole.failed}:
            raise PlanError(f"{name_ranks(gone)} has failed and is in no new group: name those in living()")
        process, seats = whole.comm.process, [whole.comm.group.seats[rank] for rank in ranks]
        ident = number_of(options.group_id, process)
        comm = Comm(process, process.add_group(seats, ident, terms))
    else:
        comm = _join(options, terms)
    return ProcessGroup(comm, options, ranks)


def _join(options: Any, terms: Terms) -> Comm:
    rank, size, is_new = options.group_rank, options.group_size, is_newcomer()
    how: dict[str, Any] = terms._asdict()
    launched = tuple(os.environ.get(f"TREECAST_{name}") for name in ("RANK", "SIZE")) == (str(rank), str(size))
    if launched and not _JOINED:  # the launcher's meeting place serves one job
        _JOINED.append(options.group_id)
        return init(**how, join=is_new or None)
    host = os.environ.get("MASTER_ADDR", "")
    if host not in ("", "localhost", "127.0.0.1", "::1"):
        if not (secret := read_secret()):  # whoever reaches torch's store knows one that is there
            if rank == 0:
                options.store.set("treecast/secret", secrets.token_hex(32))
            secret = bytes.fromhex(options.store.get("treecast/secret").decode())
        how |= {"meet": f"{host}:1", "secret": secret}
    return init(rank, size, store=options.store, join=is_new, **how)


def is_newcomer() -> bool:
    """Return whether a launcher has started this process in the seat of one that has ended."""
    return bool(os.environ.get("TREECAST_JOIN")) or int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0) > 0


def rendezvous(url: str, **_more: Any) -> Iterator[tuple[Any, int, int]]:
    """Yield store, rank and size for ``init_method="treecast://"``: whichever launcher has started this process.

    Newcomers come in by it, too. The store is torch's where MASTER_ADDR and MASTER_PORT say so, and else of this process alone.
    """
    where = find_start()
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    if "TREECAST_RANK" in os.environ or where.size == 1 or (not (host and port) and not where.places):
        yield dist.HashStore(), where.rank, where.size
        return
    if not (host and port):
        host, port = where.places[0][0], str(where.places[0][1])
        os.environ["MASTER_ADDR"] = host
    holds = where.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    store = dist.TCPStore(
        host, int(port), where.size, holds, timedelta(seconds=300), wait_for_workers=False, multi_tenant=True
    )
    yield dist.PrefixStore("treecast", store), where.rank, where.size
