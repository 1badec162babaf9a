"""Lists of sends, receives and other work, as GOAL, SimGrid's traces and Chakra's have them, on their way from and to a program.

Comments add the rest: the job, and the chunks of each message. Other programs skip comments. With them a
file is a schedule; without them its sends and receives are judged alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecast.errors import FormatError, shorten
from treecast.files.formats.header import Header, header_of, is_whole, read_word
from treecast.files.formats.native import read_ranges
from treecast.files.programs.messages import Messages, chunk_places, messages_of, of_schedule
from treecast.files.programs.program import RECEIVE, SEND, Place, Program
from treecast.ragged import Ints
from treecast.schedule import Payloads, Schedule

MOST_RANKS = 2**16
"""The most ranks of a file."""
MOST = 2**23
"""The most operations of a file, and the most waits."""
NO_PORT = -2
"""The port of a message that leaves it to us to find it."""
LONGEST = 15
"""The most digits of a number."""
_MARK, _NOTHING = "treecast ", "-"
_CARRIED = re.compile(r"step (\d{1,9}) port (-?\d{1,9}) tree (-?\d{1,9}) chunks (\S+)")
_SPELLED = {SEND: "send to {}, tag {}", RECEIVE: "receive from {}, tag {}", 0: "work"}

# -- write --------------------------------------------------------------------------------------------------------------


def comments_of_job(messages: Messages, begins: Ints, mark: str = _MARK) -> list[str]:
    """Return the comments that say the job, without the marks that make them comments."""
    collective = messages.schedule.collective
    # of sums; their results are no more data
    words = header_of(messages.schedule) | {"bytes": str(begins[collective.sums or collective.chunks])}
    return [f"{mark}{word} {value}" for word, value in words.items()]


def comments_of(messages: Messages, which: Ints) -> list[str]:
    """Return the comments that say the chunks of some messages, without the marks that make them comments."""
    columns = (column[which].tolist() for column in (messages.step, messages.port, messages.tree))
    rows = zip(*columns, messages.spelled(";", which), strict=True)
    return [f"step {step} port {port} tree {tree} chunks {chunks or _NOTHING}" for step, port, tree, chunks in rows]


class ListedOperation(NamedTuple):
    """An operation of a rank: its number in the program, its kind, and the message that it sends, receives or adds.

    ``nanoseconds``: those that adding takes. ``comment``: of a send, what says its chunks. ``awaited``: operations of its rank.
    """

    number: int
    kind: int
    src: int
    dst: int
    tag: int
    size: int
    message: int
    nanoseconds: float
    comment: str
    awaited: list[int]


def operations_of(
    schedule: Schedule, size: int | None, adding: float
) -> tuple[list[str], Iterator[Iterator[ListedOperation]]]:
    """Return the comments that say the job of a schedule, and the operations of each rank, those that others await first.

    ``size``: as ``chunk_places`` takes it. ``adding``: the nanoseconds that adding a number takes. Raises FormatError when
    messages cannot be listed one by one.
    """
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    program, carried = of_schedule(messages, begins)
    nanoseconds = adding * messages.numbers(begins)

    def of_rank(some: Ints) -> Iterator[ListedOperation]:
        kind, message = program.kind[some], carried[some]
        said = iter(comments_of(messages, message[kind == SEND]))
        # a message without bytes is written as one of 1
        ends, size = (messages.src[message], messages.dst[message]), np.maximum(program.size[some], 1)
        columns = (some, kind, *ends, program.tag[some], size, message, nanoseconds[message])
        for row in zip(*(column.tolist() for column in columns), strict=True):
            comment = next(said) if row[1] == SEND else ""
            yield ListedOperation._make((*row, comment, program.awaited(row[0])))

    return comments_of_job(messages, begins), map(of_rank, program.of_ranks())


# -- read ---------------------------------------------------------------------------------------------------------------


class Comments(NamedTuple):
    """The comments on messages: each one's operation, step, port, tree and payload, int64 (messages,); the payloads.

    ``lines``: the line of the file where each is sent; empty where operations are not counted by lines.
    """

    operation: Ints
    step: Ints
    port: Ints
    tree: Ints
    payload: Ints
    payloads: Payloads
    lines: Ints

    def each(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the operation of each message, and the ranges of its chunks."""
        for operation, payload in zip(self.operation.tolist(), self.payload.tolist(), strict=True):
            yield operation, self.payloads.ranges(payload)


@dataclass(frozen=True, eq=False)
class Listed:
    """The operations that a file lists, and its comments: ``header``, the job in the words of treecast's own formats, or nothing.

    ``eager``: whether a send may end before its receive has begun.
    """

    format: str
    program: Program
    header: Header
    said: Comments
    eager: bool


class Reading:
    """A file that is being read, and how many ranks it has so far. ``noun``: what the numbers of its operations count."""

    def __init__(self, format: str, noun: str = "line") -> None:  # noqa: A002
        self.format, self.ranks, self.noun = format, 0, noun
        self._rows, self._waits = list[tuple[int, ...]](), list[tuple[int, int, bool]]()
        self._header: Header = {}
        self._payloads = dict[str, tuple[int, list[tuple[int, int]]]]()  # by chunks as they were written
        self._said, self._waiting = list[tuple[int, ...]](), list[tuple[int, ...]]()  # the latter on the next send

    def comment(self, text: str, line: int) -> None:
        """Take in a comment of a line, without the marks that make it one. Raises FormatError for a wrong one of treecast's."""
        if found := _CARRIED.fullmatch(text):
            *numbers, chunks = found.groups()
            if chunks not in self._payloads:
                try:
                    self._payloads[chunks] = len(self._payloads), read_ranges(chunks.replace(";", ","))
                except FormatError as error:
                    raise FormatError(f"{self.noun} {line}: {error}") from None
            self._waiting.append((*map(int, numbers), self._payloads[chunks][0]))
        elif text.startswith(_MARK) and not read_word(self._header, text.removeprefix(_MARK), "bytes"):
            raise FormatError(f"{self.noun} {line}: {shorten(text)!r} is no 'treecast WORD VALUE', each word once")

    def add(self, row: tuple[int, int, int, int, int], line: int) -> int:
        """Add (rank, kind, peer, tag, size) and return its number; the comments before a send are on it."""
        number = len(self._rows)
        if number >= MOST:
            raise FormatError(f"{self.noun} {line}: more than {MOST:,} operations are too many to judge")
        self._rows.append((*row, line))
        if row[1] == SEND:
            self._said += [(number, *numbers) for numbers in self._waiting]
            self._waiting = []
        return number

    def wait(self, waiting: int, other: int, begun: bool = False) -> None:
        """Let an operation wait for the end of another, or only until that one has ``begun``."""
        if len(self._waits) >= 2 * MOST:
            raise FormatError(f"more than {2 * MOST:,} waits are too many to judge")
        self._waits.append((waiting, other, begun))

    def listed(self, eager: bool) -> Listed:
        """Return the operations. Raises FormatError when an operation names a rank that is not there."""
        # 1. The columns of operations, and what they wait for.
        table = np.array(self._rows, np.int64).reshape(-1, 6)
        rank, kind, peer, tag, size, line = (column.copy() for column in table.T)
        wrong = np.flatnonzero((kind > 0) & ((peer >= self.ranks) | (peer == rank)))
        if len(wrong):
            k = wrong[0]
            raise FormatError(
                f"{self.noun} {line[k]}: rank {rank[k]} has no message with rank {peer[k]}: ranks are 0 to {self.ranks - 1}"
            )
        waits = np.array(self._waits, np.int64).reshape(-1, 3)
        late, early, begun = waits[np.argsort(waits[:, 0], kind="stable")].T.copy()  # a program has them by who waits

        def where(one: int) -> Place:
            said = _SPELLED[int(kind[one])].format(peer[one], tag[one])
            return f"rank {rank[one]}, {self.noun} {line[one]} ({said})", (int(rank[one]), int(line[one]))

        # 2. The program.
        program = Program(
            ranks=self.ranks,
            rank=rank,
            lane=np.arange(len(rank)),  # one each: nothing but waits orders them
            kind=kind,
            to=np.where(kind == SEND, peer, -1),
            source=np.where(kind == RECEIVE, peer, -1),
            tag=tag,
            size=size,
            units=np.ones_like(rank),
            waiting=late,
            wait=early,
            begun=begun > 0,
            where=where,
        )
        # 3. What comments say of a schedule.
        columns = np.array(self._said, np.int64).reshape(-1, 5).T
        lines = line[columns[0]] if self.noun == "line" else line[:0]
        said = Comments._make((*columns, Payloads.of([ranges for _, ranges in self._payloads.values()]), lines))
        return Listed(self.format, program, self._header, said, eager)


def read_number(text: str, line: int, most: int = 10**LONGEST) -> int:
    """Return a whole number up to ``most``. Raises FormatError when it is none."""
    if not (is_whole(text, LONGEST) and int(text) <= most):
        raise FormatError(f"line {line}: {text[:40]!r} is no whole number up to {most:,}")
    return int(text)
