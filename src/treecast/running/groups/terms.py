"""The terms on which ranks make calls together: one policy, whatever carries their messages."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, NamedTuple, TypedDict

from treecast.errors import PlanError, did_you_mean
from treecast.running.groups.members import name_ranks

_WORDS = {
    "on_failed": ("warn", "raise", "ignore"),
    "on_error": ("abort", "die"),
    "sums": ("any", "by-rank", "exact"),
}


class Said(TypedDict, total=False):
    """The terms that a program says, as keywords; ``Terms`` explains them."""

    survive: int
    deadline: float | None
    late: float | None
    sure: bool
    on_failed: str
    on_error: str
    sums: str
    network: Any


class Terms(NamedTuple):
    """What becomes of a call when ranks fail: the same words for ``mpi.wrap``, ``tcp.init`` and ``torch.options``.

    A term that a program does not say is that of the environment, TREECAST_SURVIVE and so on, and else the usual one. All ranks
    of a job say the same.

    Attributes
    ----------
    survive : int
        How many ranks may fail in one call. 1 is usual. Over MPI it is 0, since only ``treecast launch`` starts jobs there
        that outlive a rank.
    deadline : float or None
        Seconds without any sign of a rank after which the others go on without it; None waits for ever. 30 is usual. Over MPI it
        is None: a rank that survives nothing gives no sign there while it computes, and MPI's own calls know no deadline.
    late : float or None
        Seconds after which a rank that is alive, but does not make the call that the others wait in, counts as silent. By default
        all wait for it. Over MPI it needs a deadline; in PyTorch it is the group's timeout.
    sure : bool
        Whether calls of little data end by a state to the first rank and its answer, too. Then nobody returns before all have
        the data; else a rank that returned, and died then, may have returned more than the others agree on.
    on_failed : str
        The end of a call that misses data of ranks that have failed. ``warn``: the lowest living rank prints a line for each of
        them, once, and a call whose result has a place for each rank raises DeliveryError at all ranks. ``raise``: all such calls
        do. ``ignore``: none does, and nothing is printed.
    on_error : str
        The effect of an exception that nobody catches, or of ``sys.exit`` with a status: ``abort`` ends the job, ``die`` counts
        as the death of this rank, which is usual in PyTorch.
    sums : str
        What the bits of a sum of floats depend on. ``by-rank``: the contributions are added in the order of ranks, whichever way
        they go, so equal contributions give equal bits on every network and in every size. ``exact``: the true sum, rounded
        once, so not even on which rank has which contribution. ``any``: on the plan, the size and the number of ranks.
        ``by-rank`` is usual; over MPI it is ``any``, since its own sums are such.
    network : str, Network or graph
        The network between the ranks, rank r at node r (``torus:4x8``, or a graph with its nodes in that order). Long calls go by
        its plans. Over sockets its links are the only connections, and each node is a rank, relays too.

    Examples
    --------
    >>> Terms.of({"late": 5.0}, environment={"TREECAST_SURVIVE": "2"})[:3]
    (2, 30.0, 5.0)
    """

    survive: int = 1
    deadline: float | None = 30.0
    late: float | None = None
    sure: bool = False
    on_failed: str = "warn"
    on_error: str = "abort"
    sums: str = "by-rank"
    network: Any = None

    @classmethod
    def of(
        cls, said: Mapping[str, Any], usual: "Terms | None" = None, environment: Mapping[str, str] = os.environ
    ) -> "Terms":
        """Return the terms that a program says, else the environment, else the usual ones; ``check`` tells if they make sense.

        Raises PlanError for one that there is not.
        """
        for name in said.keys() - set(cls._fields):  # the first that is none is named, with the nearest that is
            hint = did_you_mean(name, cls._fields)
            raise PlanError(f"there is no term {name!r}; terms are {', '.join(cls._fields)}{hint}")
        found = {name: environment[name] for name in _READ if name in environment}
        read = {name.removeprefix("TREECAST_").lower(): _read(name, text) for name, text in found.items()}
        return (usual or cls())._replace(**(read | dict(said)))  # what the program says wins over the environment

    def check(self) -> "Terms":
        """Return these terms. Raises PlanError when they make no sense."""
        said: Any = self.survive
        # True is an int to Python, and would be a 1
        if isinstance(said, bool) or not isinstance(said, Integral) or said < 0:
            raise PlanError(f"survive is a number of failures from 0, not {self.survive!r}")
        for name, given in (("deadline", self.deadline), ("late", self.late)):
            if given is not None and not (isinstance(given, Real) and float(given) > 0):
                raise PlanError(f"{name} is a number of seconds above 0, not {given!r}")
        if self.sure not in (True, False):
            raise PlanError(f"sure is True or False, not {self.sure!r}")
        for name, known in _WORDS.items():
            if (given := getattr(self, name)) not in known:
                raise PlanError(f"{name} is {' or '.join(map(repr, known))}, not {given!r}")
        return self

    def words(self) -> list[str]:
        """Return the terms as words that ranks compare."""
        return list(map(str, self))


OVER_MPI = Terms(survive=0, deadline=None, sums="any")
"""The usual terms over MPI."""


class Carrier(NamedTuple):
    """How a transport has calls made. ``alone``: each rank judges by itself, and nothing is survived. ``relays``: little sums go
    by one rank, alike at all; it would seem late with others. ``is_wide``: many ranks have connections to few each."""

    alone: bool = False
    relays: bool = False
    is_wide: bool = False


def read_words(said: Any) -> list[str]:
    """Return the words of terms that another rank has sent. Raises ValueError for others."""
    words = list(map(str, said))
    if len(words) != len(Terms._fields):
        raise ValueError("words that are no terms")
    return words


def check_alike(said: Mapping[int, Sequence[str]]) -> None:
    """Raise PlanError when ranks have said unlike terms: it names the term, and who says what."""
    for place, name in enumerate(Terms._fields):
        ranks = dict[str, list[int]]()
        for rank, words in said.items():
            ranks.setdefault(words[place], []).append(rank)
        if len(ranks) > 1:
            each = " and ".join(f"{word} ({name_ranks(those)})" for word, those in sorted(ranks.items()))
            raise PlanError(f"the ranks of a job say the same {name}, not {each}")


def _read(name: str, text: str) -> Any:
    """Return the value of a variable; the text itself where it has none, so that the check names it."""
    with suppress(ValueError, KeyError):  # the check says it better, with the names of what would be right
        return _READ[name](text)
    return text


def seconds_of(text: str) -> float | None:
    """Return the seconds that a variable says, None for none."""
    return None if text in ("", "none") else float(text)


_READ: dict[str, Callable[[str], Any]] = {
    "TREECAST_SURVIVE": int,
    "TREECAST_DEADLINE": seconds_of,
    "TREECAST_LATE": seconds_of,
    "TREECAST_SURE": {"": False, "0": False, "1": True}.__getitem__,
    "TREECAST_ON_FAILED": str,
    "TREECAST_ON_ERROR": str,
    "TREECAST_SUMS": str,
    "TREECAST_NETWORK": lambda text: text or None,
}
