"""Lists of sends, receives and other work, as GOAL and SimGrid's traces have them, on their way to a program."""

from dataclasses import dataclass, field

import numpy as np

from treecast.errors import FormatError
from treecast.formats.operations.comments import Comments
from treecast.programs.program import RECEIVE, SEND, Place, Program

MOST_RANKS = 2**16
"""The most ranks of a file."""
MOST = 2**23
"""The most operations of a file, and the most waits."""
LONGEST = 15
"""The most digits of a number."""


@dataclass(frozen=True, eq=False)
class Listed:
    """The operations that a file lists, and its comments. ``eager``: whether a send may end before its receive has begun."""

    format: str
    program: Program
    comments: Comments
    eager: bool


@dataclass
class Reading:
    """A file that is being read."""

    format: str
    ranks: int = 0
    rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int, int, int]])
    waits: list[tuple[int, int, bool]] = field(default_factory=list[tuple[int, int, bool]])
    comments: Comments = field(default_factory=Comments)

    def add(self, row: tuple[int, int, int, int, int], line: int) -> int:
        """Add (rank, kind, peer, tag, size) and return its number."""
        if len(self.rows) >= MOST:
            raise FormatError(f"line {line}: more than {MOST:,} operations are too many to judge")
        self.rows.append((*row, line))
        if row[1] == SEND:
            self.comments.sent(len(self.rows) - 1)
        return len(self.rows) - 1

    def wait(self, waiting: int, other: int, begun: bool = False) -> None:
        """Let an operation wait for the end of another, or only until that one has ``begun``."""
        if len(self.waits) >= 2 * MOST:
            raise FormatError(f"more than {2 * MOST:,} waits are too many to judge")
        self.waits.append((waiting, other, begun))

    def listed(self, eager: bool) -> Listed:
        """Return the operations. Raises FormatError when an operation names a rank that is not there."""
        table = np.array(self.rows, np.int64).reshape(-1, 6)
        rank, kind, peer, tag, size, line = (column.copy() for column in table.T)
        wrong = np.flatnonzero((kind > 0) & ((peer >= self.ranks) | (peer == rank)))
        if len(wrong):
            k = wrong[0]
            raise FormatError(
                f"line {line[k]}: rank {rank[k]} has no message with rank {peer[k]}: ranks are 0 to {self.ranks - 1}"
            )
        waits = np.array(self.waits, np.int64).reshape(-1, 3)
        late, early, begun = waits[np.argsort(waits[:, 0], kind="stable")].T
        words = {SEND: "send to {}, tag {}", RECEIVE: "receive from {}, tag {}", 0: "work"}

        def where(one: int) -> Place:
            said = words[int(kind[one])].format(peer[one], tag[one])
            return f"rank {rank[one]}, line {line[one]} ({said})", (int(rank[one]), int(line[one]))

        program = Program(
            ranks=self.ranks,
            rank=rank,
            lane=np.arange(len(rank)),
            kind=kind,
            to=np.where(kind == SEND, peer, -1),
            source=np.where(kind == RECEIVE, peer, -1),
            tag=tag,
            size=size,
            units=np.ones_like(rank),
            waiting=late.copy(),
            wait=early.copy(),
            begun=begun > 0,
            where=where,
        )
        return Listed(self.format, program, self.comments, eager)


def number(text: str, line: int, most: int = 10**LONGEST) -> int:
    """Return a whole number up to ``most``. Raises FormatError when it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST and int(text) <= most):
        raise FormatError(f"line {line}: {text[:40]!r} is no whole number up to {most:,}")
    return int(text)
