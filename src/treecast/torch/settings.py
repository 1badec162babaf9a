"""The settings of a job of torch's: how many deaths it survives, when silence counts as one, and the meaning of a hole."""

import os
from typing import Any, NamedTuple

from treecast.errors import PlanError


class Settings(NamedTuple):
    """See ``treecast.torch.options``."""

    survive: int = 1
    deadline: float | None = 30.0
    holes: str = "raise"
    network: Any = None


_SET: list[Settings] = []


def options(survive: int = 1, deadline: float | None = 30.0, holes: str = "raise", network: Any = None) -> None:
    """Say how groups live that begin from now on; the environment's TREECAST_SURVIVE and TREECAST_DEADLINE say so, too.

    Parameters
    ----------
    survive : int
        How many ranks may fail in one call, the same at all ranks. 0: any that fails is an error at all that live.
    deadline : float, optional
        Seconds without any sign of a rank after which the others go on without it; None waits for ever.
    holes : {"raise", "keep"}
        The end of a call that has a place for each rank, when one has failed: raise at all ranks, or leave its place as it was.
    network : str, Network or graph, optional
        The network whose links are the only connections; node r is rank r. By default TREECAST_NETWORK.

    Raises
    ------
    PlanError
        That makes no sense.

    Examples
    --------
    >>> treecast.torch.options(survive=2)                           # doctest: +SKIP
    """
    settings = Settings(survive, deadline, holes, network)
    if settings.survive < 0 or settings.holes not in ("raise", "keep"):
        raise PlanError(f"{settings} makes no sense: survive is a number from 0, and holes 'raise' or 'keep'")
    _SET[:] = [settings]


def read_settings() -> Settings:
    """Return the settings: those that were given, else TREECAST_SURVIVE and TREECAST_DEADLINE, else the usual ones."""
    if _SET:
        return _SET[0]
    survive, deadline = os.environ.get("TREECAST_SURVIVE", "1"), os.environ.get("TREECAST_DEADLINE", "30")
    try:
        return Settings(int(survive), None if deadline in ("", "none") else float(deadline))
    except ValueError:
        raise PlanError(
            f"TREECAST_SURVIVE={survive!r} and TREECAST_DEADLINE={deadline!r}: write a number of ranks and seconds, or none"
        ) from None
