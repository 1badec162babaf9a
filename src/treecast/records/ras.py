"""What NCCL's RAS tells, ``ncclras``: how many ranks have launched how many operations, and a few of these ranks by name."""

import re
from typing import NamedTuple

_HEAD = re.compile(r"^#(\S+) \((\w+)\) ", re.M)
_COUNT = re.compile(r"(\d{1,9}) ranks? (?:has|have) launched up to operation (\d{1,12})")
_KIND = re.compile(r"different (\w+) operation counts")
_MISSING = re.compile(r"Missing communicator data from (\d{1,9}) ranks?")
_RANK = re.compile(r"^\s*Rank (\d{1,9}) ", re.M)


class Counts(NamedTuple):
    """Of one communicator: a row for each count (operation, how many ranks, those that are named), and ranks that are silent.

    ``size``: how many ranks it has.
    """

    name: str
    kind: str
    size: int
    rows: tuple[tuple[int, int, tuple[int, ...]], ...]
    missing: tuple[int, ...] = ()


def is_ras(head: bytes) -> bool:
    """Return whether a file begins as the output of ``ncclras`` does."""
    return b"Job summary" in head and b"Communicators" in head


def read_ras(text: str) -> list[Counts]:
    """Return the communicators whose ranks differ, or of which some are silent."""
    found, heads = list[Counts](), list(_HEAD.finditer(text))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : after.start() if after else len(text)]
        marks = [*_COUNT.finditer(part), *_MISSING.finditer(part)]
        marks.sort(key=lambda mark: mark.start())
        rows, missing = list[tuple[int, int, tuple[int, ...]]](), tuple[int, ...]()
        for mark, next_ in zip(marks, [*marks[1:], None], strict=True):
            ranks = tuple(map(int, _RANK.findall(part[mark.end() : next_.start() if next_ else len(part)])))
            if mark.re is _COUNT:
                rows.append((int(mark[2]), int(mark[1]), ranks))
            else:
                missing = ranks
        if rows or missing:
            kind = match[1] if (match := _KIND.search(part)) else ""
            found.append(
                Counts(head[2], kind, sum(row[1] for row in rows) + len(missing), tuple(sorted(rows)), missing)
            )
    return found
