"""Facts that GOAL and SimGrid's traces have no words for, in comments: the job, and the chunks of each message.

Other programs skip comments. With them a file is a schedule; without them its sends and receives are judged alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecast.errors import FormatError, shorten
from treecast.formats.native.header import Header, header_of, read_word
from treecast.formats.native.text import read_ranges
from treecast.programs.messages import Messages
from treecast.ragged import Ints
from treecast.schedule import Payloads

_MARK = "treecast "
_NOTHING = "-"
_CARRIED = re.compile(r"step (\d{1,9}) port (-?\d{1,9}) tree (-?\d{1,9}) chunks (\S+)")


class Said(NamedTuple):
    """The comments on messages: each one's operation, step, port, tree and payload, int64 (messages,); and the payloads."""

    operation: Ints
    step: Ints
    port: Ints
    tree: Ints
    payload: Ints
    payloads: Payloads

    def each(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the operation of each message, and the ranges of its chunks."""
        for operation, payload in zip(self.operation.tolist(), self.payload.tolist(), strict=True):
            yield operation, self.payloads.ranges(payload)


@dataclass
class Comments:
    """The comments of a file; ``header``: the job, in the words of treecast's own formats, or nothing."""

    header: Header = field(default_factory=dict[str, str])
    _known: dict[str, int] = field(default_factory=dict[str, int])  # chunks as they were written, and the payload
    _ranges: list[list[tuple[int, int]]] = field(default_factory=list[list[tuple[int, int]]])
    _numbers: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    _waiting: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])  # comments on the next send

    def take(self, text: str, line: int) -> None:
        """Take in a comment of a line, without the marks that make it one. Raises FormatError for a wrong one of treecast's."""
        if found := _CARRIED.fullmatch(text):
            *numbers, chunks = found.groups()
            payload = self._known.setdefault(chunks, len(self._ranges))
            try:
                self._ranges += [read_ranges(chunks.replace(";", ","))] if payload == len(self._ranges) else []
            except FormatError as error:
                raise FormatError(f"line {line}: {error}") from None
            self._waiting.append((*map(int, numbers), payload))
        elif text.startswith(_MARK) and not read_word(self.header, text.removeprefix(_MARK), "bytes"):
            raise FormatError(f"line {line}: {shorten(text)!r} is no 'treecast WORD VALUE', each word once")

    def sent(self, operation: int) -> None:
        """Give the comments on the next send to this one."""
        self._numbers += [(operation, *numbers) for numbers in self._waiting]
        self._waiting = []

    @cached_property
    def said(self) -> Said:
        """The comments on the messages of a file that was read to its end."""
        operation, step, port, tree, payload = np.array(self._numbers, np.int64).reshape(-1, 5).T
        return Said(operation, step, port, tree, payload, Payloads.of(self._ranges))


def comments_of_job(messages: Messages, begins: Ints, mark: str = _MARK) -> list[str]:
    """Return the comments that say the job, without the marks that make them comments."""
    collective = messages.schedule.collective
    words = header_of(messages.schedule) | {"bytes": str(begins[collective.sums or collective.chunks])}
    return [f"{mark}{word} {value}" for word, value in words.items()]


def comments_of(messages: Messages, which: Ints) -> list[str]:
    """Return the comments that say the chunks of some messages, without the marks that make them comments."""
    spelled = messages.spelled(";", which)
    columns = (messages.step[which], messages.port[which], messages.tree[which])
    return [
        f"step {step} port {port} tree {tree} chunks {chunks or _NOTHING}"
        for step, port, tree, chunks in zip(*(column.tolist() for column in columns), spelled, strict=True)
    ]
