"""What a communicator was wrapped with."""

import os
from typing import Any, NamedTuple, TypedDict

from treecast.errors import PlanError

ON_ERROR = ("abort", "die")
_ULFM = "OMPI_MCA_mpi_ft_enable"  # which mpirun --with-ft ulfm sets


class Keywords(TypedDict, total=False):
    """The keywords of the functions of ``treecast.mpi``, each of which may be left out."""

    survive: int
    deadline: float | None
    network: Any


class Options(NamedTuple):
    """The options of ``treecast.mpi.wrap``, which says what they mean."""

    survive: int = 0
    deadline: float | None = None
    network: Any = None
    on_error: str = "abort"
    own: bool = False

    @property
    def straight_always(self) -> bool:
        """Whether every call that can goes treecast's own way, however short it is."""
        return self.own or self.survive > 0


def check_options(options: Options) -> Options:
    """Return options that make sense. Raises PlanError for others."""
    survive, deadline, _, on_error, _ = options
    if survive < 0:
        raise PlanError(f"survive is a number of failures from 0, not {survive}")
    if deadline is not None and not deadline > 0:
        raise PlanError(f"deadline is a number of seconds above 0, not {deadline}")
    if on_error not in ON_ERROR:
        raise PlanError(f"on_error is 'abort' or 'die', not {on_error!r}")
    if survive and os.environ.get(_ULFM, "") not in ("1", "true"):
        raise PlanError(
            f"survive={survive} needs a job that outlives a rank: start it by treecast launch -n RANKS -- COMMAND"
        )
    return options
