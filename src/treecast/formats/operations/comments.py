"""What neither GOAL nor SimGrid's traces say, and treecast says in comments: the job, and what each message carries.

Other programs skip comments. With them a file is a schedule; without them its sends and receives are judged alone.
"""

import re
from dataclasses import dataclass, field

from treecast.errors import FormatError
from treecast.formats.native.header import Header, header_of, read_word, shorten
from treecast.formats.native.text import read_ranges
from treecast.programs.messages import Messages
from treecast.ragged import Ints

_MARK = "treecast "
_NOTHING = "-"
_CARRIED = re.compile(r"step (\d{1,9}) port (-?\d{1,9}) tree (-?\d{1,9}) chunks (\S+)")


@dataclass(frozen=True)
class Carried:
    """What a comment says of a message: its step, port and tree, and the ranges of its chunks."""

    step: int
    port: int
    tree: int
    ranges: tuple[tuple[int, int], ...]


@dataclass
class Comments:
    """What the comments of a file say.

    Parameters
    ----------
    header : dict from str to str
        The job, in the words of treecast's own formats; empty where the file does not say it.
    waiting : list of Carried
        What is said of the next send.
    carried : dict from int to tuple of Carried
        What is said of each send, by the number of its operation.
    """

    header: Header = field(default_factory=dict[str, str])
    waiting: list[Carried] = field(default_factory=list[Carried])
    carried: dict[int, tuple[Carried, ...]] = field(default_factory=dict[int, tuple[Carried, ...]])

    def take(self, text: str, line: int) -> None:
        """Take in a comment of a line, without the marks that make it one. Raises FormatError for a wrong one of treecast's."""
        if found := _CARRIED.fullmatch(text):
            step, port, tree = (int(number) for number in found.groups()[:3])
            try:
                ranges = tuple(read_ranges(found[4].replace(";", ",")))
            except FormatError as error:
                raise FormatError(f"line {line}: {error}") from None
            self.waiting.append(Carried(step, port, tree, ranges))
        elif text.startswith(_MARK) and not read_word(self.header, text.removeprefix(_MARK), "bytes"):
            raise FormatError(f"line {line}: {shorten(text)!r} is no 'treecast WORD VALUE', each word once")

    def sent(self, operation: int) -> None:
        """Give what is said of the next send to this one."""
        if self.waiting:
            self.carried[operation] = tuple(self.waiting)
            self.waiting = []


def comments_of_job(messages: Messages, begins: Ints) -> list[str]:
    """Return the comments that say the job, without the marks that make them comments."""
    collective = messages.schedule.collective
    words = header_of(messages.schedule) | {"bytes": str(begins[collective.sums or collective.chunks])}
    return [f"{_MARK}{word} {value}" for word, value in words.items()]


def comments_of(messages: Messages, which: Ints) -> list[str]:
    """Return the comments that say what some messages carry, without the marks that make them comments."""
    spelled = messages.spelled(";", which)
    columns = (messages.step[which], messages.port[which], messages.tree[which])
    return [
        f"step {step} port {port} tree {tree} chunks {chunks or _NOTHING}"
        for step, port, tree, chunks in zip(*(column.tolist() for column in columns), spelled, strict=True)
    ]


def sizes_said(carried: tuple[Carried, ...], begins: Ints) -> int:
    """Return how many bytes the chunks have that some messages carry."""
    total, last = 0, len(begins) - 1
    for message in carried:
        for first, stop in message.ranges:
            total += int(begins[min(stop, last)] - begins[min(first, last)])
    return total
