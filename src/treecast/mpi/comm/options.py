"""The options with which a communicator was wrapped."""

import os
from typing import Any, NamedTuple

from treecast.calls.options import check_common, check_word
from treecast.errors import PlanError

ON_FAILED = ("warn", "raise", "ignore")
_ULFM = "OMPI_MCA_mpi_ft_enable"  # which mpirun --with-ft ulfm sets
FOR_ONE_CALL = frozenset({"survive", "deadline", "network", "on_failed"})
"""The options that the functions of ``treecast.mpi`` take as keywords."""


class Options(NamedTuple):
    """The options of ``treecast.mpi.wrap``, which explains them."""

    survive: int = 0
    deadline: float | None = None
    network: Any = None
    on_error: str = "abort"
    own: bool = False
    on_failed: str = "warn"


def check_options(options: Options) -> Options:
    """Return options that make sense. Raises PlanError for others."""
    survive, deadline, _, on_error, own, on_failed = options
    check_common(survive, on_error, deadline=deadline)
    if own not in (True, False):
        raise PlanError(f"own is True or False, not {own!r}")
    check_word("on_failed", on_failed, ON_FAILED)
    if survive and os.environ.get(_ULFM, "") not in ("1", "true"):
        raise PlanError(
            f"survive={survive} needs a job that outlives a rank: start it by treecast launch -n RANKS -- COMMAND"
        )
    return options
