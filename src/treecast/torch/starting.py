"""How a process group begins: by the job's launcher or torch's store, and how its subgroups do."""
# pyright: basic

import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from treecast.errors import PlanError
from treecast.groups.members import name_ranks
from treecast.groups.terms import Terms
from treecast.tcp import init
from treecast.tcp.comm import Comm
from treecast.tcp.proof import read_secret
from treecast.tcp.start import find_start
from treecast.torch.group import ProcessGroup, number_of
from treecast.torch.settings import read_terms
from treecast.torch.work import dist, seconds_of

_JOINED: list[str] = []


def create(options: Any, _more: Any = None) -> ProcessGroup:
    """Return the process group that torch asks for: that of all ranks, or a part of it.

    Raises PlanError when the ranks do not find one another, or a part has ranks that have failed.
    """
    terms = read_terms()
    terms = terms._replace(late=terms.late or seconds_of(options.timeout))  # what the timeout of torch means
    whole = dist.group.WORLD if dist.is_initialized() else None
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))
    if isinstance(whole, ProcessGroup):
        gone = set(ranks) & set(whole.failed)
        if gone:
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
        how |= {"meet": f"{host}:1", "secret": read_secret() or _shared_secret(options.store, rank)}
    return init(rank, size, store=options.store, join=is_new, **how)


def _shared_secret(store: Any, rank: int) -> bytes:
    """Return a secret that the ranks share by torch's store: whoever reaches the store knows it."""
    if rank == 0:
        store.set("treecast/secret", secrets.token_hex(32))
    return bytes.fromhex(store.get("treecast/secret").decode())


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
