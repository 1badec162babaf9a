"""Sends, receives and other work of ranks, with what each waits for: what both kinds of files are read into."""

from dataclasses import dataclass, field

import numpy as np

from treecast.errors import FormatError
from treecast.formats.operations.comments import Comments
from treecast.ragged import Ints

WORK, SEND, RECEIVE = 0, 1, 2
MOST_RANKS = 2**16
"""The most ranks of a file."""
MOST = 2**23
"""The most operations of a file, and the most waits."""
LONGEST = 15
"""The most digits of a number."""


@dataclass(frozen=True, eq=False)
class Program:
    """The operations of all ranks.

    Parameters
    ----------
    format : str
        The kind of file.
    ranks : int
        How many ranks there are.
    rank, word, peer, tag, size : int64 (operations,)
        Whose an operation is; WORK, SEND or RECEIVE; to or from whom, by which tag, and how many bytes.
    line : int64 (operations,)
        The line of the file.
    waits : int64 (waits, 3)
        (a, b, whole): a does not begin before b has ended, or where ``whole`` is 0, before b has begun.
    comments : Comments
        What the file says besides.
    """

    format: str
    ranks: int
    rank: Ints
    word: Ints
    peer: Ints
    tag: Ints
    size: Ints
    line: Ints
    waits: Ints
    comments: Comments

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def eager(self) -> bool:
        """Whether the program that reads such files may end a send before its receive has begun."""
        return self.format == "goal"

    def spell(self, operation: int) -> str:
        """Return an operation as findings name it."""
        word, peer, tag = (int(column[operation]) for column in (self.word, self.peer, self.tag))
        said = {SEND: f"send to {peer}, tag {tag}", RECEIVE: f"receive from {peer}, tag {tag}"}.get(word, "work")
        return f"rank {self.rank[operation]}, line {self.line[operation]} ({said})"


@dataclass
class Reading:
    """A program that is being read."""

    format: str
    ranks: int = 0
    rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int, int, int]])
    waits: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    comments: Comments = field(default_factory=Comments)

    def add(self, row: tuple[int, int, int, int, int], line: int) -> int:
        """Add (rank, word, peer, tag, size) and return its number."""
        if len(self.rows) >= MOST:
            raise FormatError(f"line {line}: more than {MOST:,} operations are too many to judge")
        self.rows.append((*row, line))
        if row[1] == SEND:
            self.comments.sent(len(self.rows) - 1)
        return len(self.rows) - 1

    def wait(self, waiting: int, other: int, whole: int = 1) -> None:
        """Let an operation wait for another."""
        if len(self.waits) >= 2 * MOST:
            raise FormatError(f"more than {2 * MOST:,} waits are too many to judge")
        self.waits.append((waiting, other, whole))

    def program(self) -> Program:
        """Return what has been read. Raises FormatError when an operation names a rank that is not there."""
        table = np.array(self.rows, np.int64).reshape(-1, 6)
        wrong = np.flatnonzero((table[:, 1] != WORK) & ((table[:, 2] >= self.ranks) | (table[:, 2] == table[:, 0])))
        if len(wrong):
            rank, _, peer, _, _, line = table[wrong[0]].tolist()
            raise FormatError(
                f"line {line}: rank {rank} has no message with rank {peer}: ranks are 0 to {self.ranks - 1}"
            )
        waits = np.array(self.waits, np.int64).reshape(-1, 3)
        rank, word, peer, tag, size, line = (column.copy() for column in table.T)
        return Program(self.format, self.ranks, rank, word, peer, tag, size, line, waits, self.comments)


def number(text: str, line: int, most: int = 10**LONGEST) -> int:
    """Return a whole number up to ``most``. Raises FormatError when it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST and int(text) <= most):
        raise FormatError(f"line {line}: {text[:40]!r} is no whole number up to {most:,}")
    return int(text)


def text_of(data: bytes, what: str) -> str:
    """Return a file as text. Raises FormatError when it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FormatError(f"this is no {what}: it is not UTF-8") from None
