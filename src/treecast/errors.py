"""The errors of treecast, and calls with a keyword that a function does not have: the error says which it has.

Every message is one line that names the error and its remedy; the command line prints it behind ``error:`` and exits with 2.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import ParamSpec, TypeVar

_ALIKE = 0.75  # of 1: how like a known name an unknown one must be for a hint


class TreecastError(ValueError):
    """The base of all errors that treecast raises on purpose. Its message is one line.

    Examples
    --------
    >>> import treecast
    >>> try:
    ...     treecast.plan("broadcast", "star:4", root=99)
    ... except treecast.TreecastError as error:
    ...     print(error)
    99 is no node of star:4: nodes go from 0 to 23
    """


class NetworkError(TreecastError):
    """A network, node or link that does not exist.

    Examples
    --------
    >>> import treecast
    >>> treecast.network("torus:0x4")
    Traceback (most recent call last):
        ...
    treecast.errors.NetworkError: no torus has such sides: write the sides, each at least 1, as in torus:8x8x8
    """


class PlanError(TreecastError):
    """A collective, root, number of messages or of copies for which there is no plan.

    Examples
    --------
    >>> import treecast
    >>> treecast.plan("broadcast", "ring:5", messages=-1)
    Traceback (most recent call last):
        ...
    treecast.errors.PlanError: -1 messages cannot be sent: write a number from 1 to 2147483647
    """


class UnlikeCallsError(PlanError):
    """Ranks of a communicator make calls that do not go together; all that live raise it, and it names both calls.

    Examples
    --------
    >>> import treecast
    >>> issubclass(treecast.UnlikeCallsError, treecast.PlanError)
    True
    """


class ScheduleError(TreecastError):
    """Columns that do not form a schedule.

    Examples
    --------
    >>> import treecast
    >>> treecast.plan("broadcast", "ring:5")[::2]
    Traceback (most recent call last):
        ...
    treecast.errors.ScheduleError: a schedule is sliced by steps: write schedule[3:8], or schedule[3:4] for one step
    """


class FormatError(TreecastError):
    """A file that cannot be read as, or written from, a schedule.

    Examples
    --------
    >>> import treecast
    >>> treecast.load("no.tc")
    Traceback (most recent call last):
        ...
    treecast.errors.FormatError: 'no.tc' cannot be read: No such file or directory
    """


class FaultError(TreecastError):
    """A fault that names no node, link or step of the schedule.

    Examples
    --------
    >>> import treecast
    >>> treecast.parse_faults(treecast.network("ring:5"), ["0@x"])
    Traceback (most recent call last):
        ...
    treecast.errors.FaultError: '0@x' names no fault: write NODE or NODE@STEP, as in 0@5
    """


class ProtocolError(TreecastError):
    """A node that says more than the machine can carry, or keeps data that it has to pass on.

    Examples
    --------
    >>> import treecast
    >>> issubclass(treecast.ProtocolError, treecast.TreecastError)
    True
    """


class LabError(TreecastError):
    """A lab that cannot be built here, or is asked for more than it can do.

    Examples
    --------
    >>> import treecast
    >>> issubclass(treecast.LabError, treecast.TreecastError)
    True
    """


class DeliveryError(TreecastError):
    """Data that a collective over MPI did not bring, since ranks have failed.

    Examples
    --------
    >>> import treecast
    >>> try:                                                        # doctest: +SKIP
    ...     comm.Allgather(mine, blocks)
    ... except treecast.DeliveryError:
    ...     comm = comm.Shrink()
    """


class Evicted(DeliveryError):  # noqa: N818
    """This rank was silent for so long that the others have gone on without it; nothing that it does changes their results.

    Examples
    --------
    >>> import treecast
    >>> issubclass(treecast.Evicted, treecast.TreecastError)
    True
    """


def closest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, "" where none is; case and ``_`` for ``-`` make no difference.

    >>> closest_name("All_Reduce", ["allgather", "allreduce"])
    'allreduce'
    """
    spelled = {_plain(other): other for other in known}
    near = get_close_matches(_plain(name), spelled, 1, _ALIKE)
    return spelled[near[0]] if near else ""


def shorten(text: str) -> str:
    """Return the beginning of a text that may be long, for an error that quotes it."""
    return text if len(text) <= 60 else text[:57] + "…"


def did_you_mean(name: str, known: Iterable[str], stands_for: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the hint that ends an error about an unknown name: the one that was probably meant, "" where none is like it.

    ``stands_for``: for known names that are other words for something, its name.

    >>> did_you_mean("brodcast", ["broadcast", "scatter"])
    "; did you mean 'broadcast'?"
    >>> did_you_mean("gosip", ["gossip"], {"gossip": "allgather"})
    "; did you mean 'allgather'?"
    """
    found = closest_name(name, known)
    meant = stands_for.get(found, found)
    return f"; did you mean {meant!r}?" if meant and meant != name else ""


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


_Words = ParamSpec("_Words")
_Found = TypeVar("_Found")


def checks_keywords(verb: Callable[_Words, _Found]) -> Callable[_Words, _Found]:
    """Return a function that raises TypeError with the right keywords when it is called with a wrong one.

    >>> @checks_keywords
    ... def simulate(schedule, faults=None): ...
    >>> simulate(None, fualts=3)
    Traceback (most recent call last):
        ...
    TypeError: simulate() has no keyword 'fualts'; did you mean 'faults'? It has: schedule, faults
    """
    known = list(signature(verb).parameters)

    @wraps(verb)
    def checked(*given: _Words.args, **named: _Words.kwargs) -> _Found:
        for name in named:
            if name not in known:
                hint = did_you_mean(name, known).rstrip("?")
                end = "? It has" if hint else "; it has"
                raise TypeError(f"{verb.__name__}() has no keyword {name!r}{hint}{end}: {', '.join(known)}")
        return verb(*given, **named)

    return checked
