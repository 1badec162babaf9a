"""The table of collectives: for each of mpi4py's methods, the reader of its arguments, the algorithm, the argument that tells
its size, and the size from which on it goes straight when nothing is to be survived.

To add a collective is to add an algorithm, and a row here: a function that reads its arguments.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cache, wraps
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.collectives.kinds import COLLECTIVES, Kind
from treecast.running.calls.reader import Entries
from treecast.running.groups.words import NO_WORDS, Words

if TYPE_CHECKING:
    from treecast.running.calls.call import Call

_OPS = [
    "SUM",
    "MAX",
    "MIN",
    "PROD",
    "LAND",
    "LOR",
    "LXOR",
    "BAND",
    "BOR",
    "BXOR",
    "MAXLOC",
    "MINLOC",
    "REPLACE",
    "NO_OP",
]
Failed = tuple[int, ...]
Algorithm = Callable[..., Any]
"""Steps over a group: see ``treecast.running.algorithms``."""
Plans = Mapping[Algorithm, Callable[..., Failed]] | None
"""Functions that carry algorithms out by plans."""


class Caller(NamedTuple):
    """The rank whose arguments are read, and their reader (``mpi.reader.Reader``, or another that has its methods).

    ``sums``: what the bits of its sums depend on, as ``Terms`` has it.
    """

    mpi: Any
    reader: Any
    rank: int
    size: int
    sums: str = "by-rank"

    def in_place(self, argument: Any) -> bool:
        """Return whether an argument says that the data is in the other one."""
        return argument is None or argument is self.mpi.IN_PLACE


class Given(NamedTuple):
    """Arguments that were read: the parts for the algorithm, their bytes as thresholds count them, and the last step.

    ``words``: in which all ranks agree, but for the name of the call. ``bits``: what those of a sum depend on.
    """

    parts: tuple[Any, ...]
    total: int
    finish: Callable[[], None] | None = None
    words: Words = NO_WORDS
    bits: str = ""


class BufferCall(NamedTuple):
    """A collective on buffers, as one rank asks for it.

    ``read``: its arguments; it may raise. The algorithm takes the parts that were read. ``carry``: does so where one algorithm is
    not all of it. ``target``: the one rank that has a result.
    """

    read: Callable[[], Given]
    carry: Callable[["Call", tuple[Any, ...]], Failed] | None = None
    target: int | None = None


class RankCall(NamedTuple):
    """A collective of one rank. ``read`` reads its arguments, and may raise; ``carry`` takes them.

    It brings all data to its place, and returns the result, of objects, and the failed ranks whose data is missing.
    ``target``: the one rank that has a result. ``words``: in which all ranks agree, as far as they are known before.
    """

    read: Callable[[], Any]
    carry: Callable[["Call", Any], tuple[Any, Failed]]
    target: int | None = None
    words: Words = NO_WORDS

    def words_of(self, given: Any) -> Words:
        """Return the words in which all ranks agree, of arguments that were read."""
        return Words(self.words.name, *given.words[1:]) if isinstance(given, Given) else self.words


class MethodRow(NamedTuple):
    """A collective on buffers. ``make``: returns the job of its arguments, which follow a ``Caller``.

    ``sized_by``: the place of the argument that has all bytes of the call, or this rank's share of them; then of the one that
    has them when it is IN_PLACE. ``own_from``: bytes of a call, all blocks of a rank together, from which on it goes straight
    where nothing is to be survived; it is MPI's below, and where this is None. ``blocks``: how the arguments name a block for
    each rank: ``blocks`` of one length, ``vector``, of any, or ``typed``, of a datatype each; "" where they name none.
    """

    name: str
    make: Callable[..., RankCall]
    algorithm: Algorithm
    sized_by: tuple[int, ...] = ()
    own_from: int | None = None
    blocks: str = ""

    def words(self, ours: Caller, arguments: tuple[Any, ...], named: dict[str, Any]) -> Words:
        """Return the words of a call, by its arguments, which may be wrong."""
        job = job_of(self.make, ours, arguments, named)
        try:
            return job.words_of(job.read())
        except Exception:
            return job.words._replace(is_wrong=True)

    @property
    def kind(self) -> Kind | None:
        """The kind of collective that it is, None where there are no plans of it."""
        return _KINDS.get(self.name)

    @property
    def planned(self) -> Kind | None:
        """The kind by whose plans it goes over a network, None where it always goes straight.

        It does where only the root knows how long the blocks are, and where a sum ends in blocks.
        """
        kind = self.kind
        return None if kind is None or kind.one_way or (kind.adds and kind.ends == "own") else kind

    @property
    def shared(self) -> bool:
        """Whether an argument has this rank's share of the bytes, as a root has all of them."""
        return self.kind is not None and self.kind.personal and not self.kind.all_source


_KINDS = {kind.mpi: kind for kind in COLLECTIVES.values() if kind.mpi}


ROWS: dict[str, MethodRow] = {}
"""By the name of mpi4py's method."""

OBJECTS: dict[str, Callable[..., RankCall]] = {}
"""By the name of mpi4py's method: the job of its arguments, which follow a ``Caller``."""


def row(
    name: str, algorithm: Algorithm, sized_by: tuple[int, ...] = (), *, own_from: int | None = None, blocks: str = ""
) -> Callable[[Callable[..., BufferCall]], Callable[..., BufferCall]]:
    """Register a method of mpi4py; see ``MethodRow``."""

    def register(make: Callable[..., BufferCall]) -> Callable[..., BufferCall]:
        words = Words(name)

        @wraps(make)
        def job(ours: Caller, *arguments: Any, **named: Any) -> RankCall:
            asked = make(ours, *arguments, **named)

            def carry(call: "Call", given: Given) -> tuple[None, Failed]:
                failed = call(algorithm, *given.parts) if asked.carry is None else asked.carry(call, given.parts)
                if given.finish is not None:
                    given.finish()
                return None, failed

            return RankCall(asked.read, carry, asked.target, words)

        ROWS[name] = MethodRow(name, job, algorithm, sized_by, own_from, blocks)
        return make

    return register


def of_objects(make: Callable[..., RankCall]) -> Callable[..., RankCall]:
    """Register a method of mpi4py on objects."""

    @wraps(make)
    def job(ours: Caller, *arguments: Any, **named: Any) -> RankCall:
        made = make(ours, *arguments, **named)
        return made._replace(words=made.words._replace(name=made.words.name or make.__name__))

    OBJECTS[make.__name__] = job
    return job


def job_of(make: Callable[..., RankCall], ours: Caller, arguments: tuple[Any, ...], named: dict[str, Any]) -> RankCall:
    """Return the job of a call; one that refuses its arguments where they make none: the others must not wait for this rank."""
    try:
        return make(ours, *arguments, **named)
    except Exception as error:
        wrong = Future[Any]()
        wrong.set_exception(error)
        # With None for each argument, but the caller: only the job's name and shape count, as its reader raises the
        # error.
        needed = [each for each in signature(make).parameters.values() if each.default is each.empty]
        return make(ours, *[None] * (len(needed) - 1))._replace(read=wrong.result)


@cache
def adds(make: Callable[..., RankCall]) -> bool:
    """Return whether a collective has an operation."""
    return "op" in signature(make).parameters


def name_of(mpi: Any, op: Any) -> str:
    """Return the name of an operation, the same at all ranks: of mpi4py's, torch's, or that a program has made it."""
    if not getattr(op, "is_predefined", False):
        return getattr(op, "name", "an operation of the program")
    return next((name for name in _OPS if getattr(mpi, name, None) == op), "another operation")


def check_root(ours: Caller, root: Any) -> int:
    """Return the root. Raises MPI's error for one that is no rank."""
    if not 0 <= index(root) < ours.size:
        raise ours.mpi.Exception(ours.mpi.ERR_ROOT)
    return index(root)


def check_alike(sent: Entries, received: Entries) -> None:
    """Raise ValueError, as mpi4py does, when a contribution and its sum differ in datatype or number."""
    if sent.datatype != received.datatype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if sent.number != received.number:
        raise ValueError(f"mismatch in send count {sent.number} and receive count {received.number}")
