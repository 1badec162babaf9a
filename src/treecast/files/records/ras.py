"""What NCCL's RAS tells, ``ncclras``: how many ranks have launched how many operations, and a few of these ranks by name."""

import json
import re
from collections import defaultdict
from typing import NamedTuple

from treecast.errors import FormatError
from treecast.files.records.plain import BROKEN

_HEAD = re.compile(r"^#(\S+) \((\w+)\) ", re.M)
_COUNT = re.compile(r"(\d{1,9}) ranks? (?:has|have) launched up to operation (\d{1,12})")
_KIND = re.compile(r"different (\w+) operation counts")
_MISSING = re.compile(r"Missing communicator data from (\d{1,9}) ranks?")
_NO_COMMA = re.compile(r'(["\w}\]])(\s*\n\s*")')
_RANK = re.compile(r"^\s*Rank (\d{1,9}) ", re.M)


class CallCounts(NamedTuple):
    """Of one communicator: a row for each count (operation, how many ranks, those that are named), and ranks that are silent.

    ``size``: how many ranks it has.
    """

    name: str
    kind: str
    size: int
    rows: tuple[tuple[int, int, tuple[int, ...]], ...]
    missing: tuple[int, ...] = ()


def is_ras(head: bytes) -> bool:
    """Return whether a file begins as the output of ``ncclras`` does, as text or JSON."""
    return (b"Job summary" in head and b"Communicators" in head) or (
        b"nccl_version" in head and b'"communicators' in head
    )


def read_ras(text: str) -> list[CallCounts]:
    """Return the communicators whose ranks differ, or of which some are silent. Raises FormatError."""
    if text.lstrip().startswith("{"):
        return _read_json(text)
    found, heads = list[CallCounts](), list(_HEAD.finditer(text))
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
            size = sum(row[1] for row in rows) + len(missing)
            found.append(CallCounts(head[2], kind, size, tuple(sorted(rows)), missing))
    return found


def _read_json(text: str) -> list[CallCounts]:
    """Read the form of NCCL 2.28 and on; 2.28.9 leaves out a comma at the end of a line."""
    found = list[CallCounts]()
    try:
        for said in json.loads(_NO_COMMA.sub(r"\1,\2", text))["communicators"]:
            made = {int(each["rank"]): dict[str, int](each["collective_counts"]) for each in said["ranks"]}
            missing = tuple(sorted(int(each["rank"]) for each in said["missing_ranks"]))
            first = next(iter(made.values()), dict[str, int]())
            kinds = [kind for kind in first if len({each.get(kind, 0) for each in made.values()}) > 1]
            ranks = defaultdict[int, list[int]](list)
            for rank, each in sorted(made.items()):
                # All kinds that differ are added: who has launched least in all is behind.
                ranks[sum(int(each.get(kind, 0)) for kind in kinds)].append(rank)
            rows = tuple((count, len(some), tuple(some)) for count, some in sorted(ranks.items()) if kinds)
            if rows or missing:
                kind = kinds[0] if len(kinds) == 1 else ""
                found.append(CallCounts(str(said["hash"])[:40], kind, int(said["size"]), rows, missing))
    except BROKEN as error:
        raise FormatError(f"NCCL's RAS cannot be read: {type(error).__name__}") from None
    return found
