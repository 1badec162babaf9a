"""What a builder returns."""

import os
from functools import cache
from typing import NamedTuple

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.schedule import Claims, Rows


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


@cache
def memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(size: int, what: str) -> None:
    """Raise PlanError when ``size`` bytes do not fit in this machine's memory."""
    if size > memory():
        raise PlanError(f"{what}: about {size / 2**30:,.0f} GiB are too many for this machine's memory")
