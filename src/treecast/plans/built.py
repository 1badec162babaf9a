"""What a builder returns."""

import os
from functools import cache
from typing import NamedTuple

from numpy.typing import ArrayLike

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.schedule import Claims, Payloads, Rows


class Built(NamedTuple):
    """The rows of a schedule, and what its builder claims of them: computed by other means than from the rows."""

    rows: Rows
    claims: Claims
    collective: Collective | None = None
    """With the chunks numbered as the rows have it, where the builder chooses that."""
    copies: int = 0
    """Over how many disjoint ways each chunk goes, where that is less than was asked for."""
    initiator: int | None = None
    """The node that starts the others, where one does."""


def rows_between(
    network: Network, payloads: Payloads, step: ArrayLike, src: ArrayLike, dst: ArrayLike, **columns: ArrayLike
) -> Rows:
    """Return rows over the arc from one node to another; ``columns``: the others of ``Rows.of``."""
    return Rows.of(payloads, step=step, src=src, dst=dst, port=network.port_between(src, dst), **columns)


def rows_over(network: Network, payloads: Payloads, step: ArrayLike, arc: Ints, **columns: ArrayLike) -> Rows:
    """Return rows over arcs, by their numbers in ``arcs_of``; ``columns``: the others of ``Rows.of``."""
    arcs = arcs_of(network)
    return Rows.of(payloads, step=step, src=arcs.tail[arc], dst=arcs.head[arc], port=arcs.port[arc], **columns)


NO_ROWS = Rows.of(Payloads.of([]), step=(), src=(), dst=(), port=())
"""The rows of a schedule in which nothing is sent."""


@cache
def memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(size: int, what: str) -> None:
    """Raise PlanError when ``size`` bytes do not fit in this machine's memory."""
    if size > memory():
        raise PlanError(f"{what}: about {size / 2**30:,.0f} GiB are too many for this machine's memory")
