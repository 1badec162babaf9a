"""A call in the words that all its ranks must share; frames carry their digest, so that unlike calls are found out."""

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from re import findall
from typing import NamedTuple
from zlib import crc32

from treecast.running.transport.marks import SOFT

_HERE, _TORCH = str(Path(__file__).parents[2]), f"{os.sep}torch{os.sep}distributed{os.sep}"


class Words(NamedTuple):
    """The name of a call, the bytes that come to or from each rank, the type of entries, the operation, and the root.

    ``counts``: one number, or one for each rank; None where ranks need not know it. ``datatype``: as numpy spells it; "" where it
    is not plain. ``is_wrong``: the arguments are wrong, and the rest is not known. ``splits``: the bytes that this rank sends to
    each, and those that it receives from each, where they differ from pair to pair; they are its own, and not compared.

    >>> print(Words("Allreduce", 32, "<f4", "SUM")), print(Words("Bcast", 8, "<f8", root=1))
    Allreduce(32 bytes of float32, SUM)
    Bcast(8 bytes of float64, root 1)
    (None, None)
    """

    name: str = ""
    counts: int | tuple[int, ...] | None = None
    datatype: str = ""
    op: str = ""
    root: int | None = None
    is_wrong: bool = False
    splits: tuple[tuple[int, ...], ...] = ()

    @property
    def digest(self) -> int:
        """The digest: 0 of words that are not known."""
        # 0: it differs from nothing
        return 0 if self.is_wrong or not self.name else _digest(self._replace(splits=()) if self.splits else self)

    @property
    def length(self) -> int:
        """The bytes of the call, as far as all ranks know them."""
        # one count a rank: all of them together
        return self.counts if isinstance(self.counts, int) else sum(self.counts or ())

    @property
    def itemsize(self) -> int:
        """The bytes of an entry, 1 where its type is not known."""
        import numpy as np

        try:
            return np.dtype(self.datatype).itemsize if self.datatype else 1  # unknown types count a byte an entry
        except TypeError:  # a type that torch alone has, with its bits in its name
            return int(next(iter(findall(r"\d+", self.datatype)), 8)) // 8 or 1

    def __str__(self) -> str:
        if self.is_wrong:
            return f"{self.name}(wrong arguments)"
        counts, words = self.counts, list[str]()
        if counts is not None:
            many = f"{counts:,} bytes" if isinstance(counts, int) else f"blocks of {_shorten(counts)} bytes"
            words.append(f"{many} of {spell(self.datatype)}" if self.datatype else many)
        words += [self.op] if self.op else []
        words += [f"root {self.root}"] if self.root is not None else []
        return f"{self.name}({', '.join(words)})"


NO_WORDS = Words()
"""Of a call that nobody compares."""


def _shorten(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts[:4])) + (", …" if len(counts) > 4 else "")


def spell(datatype: str) -> str:
    """Return the name of a type of entries."""
    import numpy as np

    try:
        return np.dtype(datatype).name
    except TypeError:
        return datatype


@lru_cache(1 << 10)
def _digest(words: Words) -> int:
    #   31               8 7            0
    #   | the call         | its type   |     0: not known here
    #
    # Where nothing is added a rank need not know the type, and has 0 there. So the first part does without it.
    # ``hard``: the call; ``soft``: the type of its entries, or 0
    hard = crc32(repr((words if words.op else words._replace(datatype=""))[:-1]).encode()) >> SOFT or 1
    soft = crc32(words.datatype.encode()) % ((1 << SOFT) - 1) + 1 if words.datatype else 0
    return hard << SOFT | soft


def site() -> str:
    """Return the line of the program that makes a call: the first one outside of treecast and PyTorch."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    # The frames of treecast and of torch.distributed stand between this one and the line of the program.
    while frame.f_back is not None and (_TORCH in (name := frame.f_code.co_filename) or name.startswith(_HERE)):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
