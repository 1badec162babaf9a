"""A cast in the job that a launcher has started: what is asked for, and how this rank takes part.

Every host loads this before it moves a byte: what only the one needs that starts hosts stands in ``launch``.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from treecast.errors import DeliveryError, PlanError
from treecast.running.cast.rank import Caster, name_here
from treecast.running.cast.report import CastOutcome, Far
from treecast.tcp import init


class CastRequest(NamedTuple):
    """What is asked for: where the files are, and where they go; bytes per second of a link; the network of links, if one is
    named; whether files of equal size and time are compared; seconds that hosts have to answer.
    """

    own: Path
    target: str
    rate: float | None = None
    network: str | None = None
    sure: bool = False
    start: float = 30.0


def rate_words(asked: CastRequest) -> dict[str, str]:
    """Return the rate of a link as the environment says it."""
    return {"TREECAST_RATE": str(round(asked.rate * 8))} if asked.rate else {}


def cast_here(asked: CastRequest, show: Callable[[CastOutcome], int]) -> int:
    """Take part in the job that a launcher has started; return the exit status. ``show``: shows the outcome, and returns it.

    The lowest rank that lives shows it, and all end alike, and only then. Raises PlanError where there is no job.
    """
    began, far = monotonic(), Far()
    os.environ.update(rate_words(asked))
    comm = init(survive=1 << 16, on_failed="ignore")  # any number of ranks may die, and the report says who did
    if comm.size < 2:
        raise PlanError("a file goes to other hosts: write --hosts FILE, or start treecast cast by a launcher")
    target, status = Path(asked.target.replace("{rank}", str(comm.rank))), 1
    caster = Caster(comm.rank, name_here(), target, None if comm.rank else asked.own, sure=asked.sure, tell=far.say)
    try:
        with far.shown():
            found = {each.number: each for each in caster.join(comm) or ()}
        ends = {rank: found.get(rank, "died") for rank in range(comm.size) if rank or 0 not in found}
        seconds = monotonic() - began, caster.looked, caster.sent
        outcome = CastOutcome(ends, caster.names, caster.size, seconds, asked.rate)
        status = show(outcome) if comm.rank == min(comm.members) else 0
    except (PlanError, DeliveryError) as error:
        if comm.rank == min(comm.members):
            sys.stderr.write(f"error: {error}\n")
    # All end alike, and only when all know.
    heard = comm.allgather(status)
    return max(each for each in heard if each is not None)  # None of the dead
