"""The text format. Its grammar is in docs/format.md.

::

    treecast 1
    digest sha256:…            of all that follows; without it the file counts as written by hand
    network star:4
    collective broadcast
    root 1234
    messages 6
    copies 2
    model all-port
    claims steps=9 transmissions=276
    rows 69
    0+4 1234>2134 port=0 tree=0 0-1,4-5
"""

import hashlib
import re
from collections.abc import Iterator

import numpy as np

from treecast.errors import FormatError, TreecastError
from treecast.formats.header import Header, header_of, schedule_of
from treecast.networks import Network
from treecast.schedule import Payloads, Rows, Schedule

MAGIC = b"treecast 1\n"
_HEADERS = (
    "network",
    "collective",
    "root",
    "messages",
    "copies",
    "model",
    "orbit",
    "builder",
    "claims",
    "rows",
)
_ROW = re.compile(r"(\d{1,10})\+(\d{1,10}) (\S+)>(\S+) port=(\d{1,5})(?: tree=(\d{1,5}))? ([\d,-]+)")


def encode(schedule: Schedule) -> bytes:
    """Return a schedule in the text format, with its digest."""
    body = "".join(_lines(schedule)).encode()
    return MAGIC + b"digest sha256:" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _lines(schedule: Schedule) -> Iterator[str]:
    for key, value in header_of(schedule).items():
        yield f"{key} {value}\n"
    yield f"rows {len(schedule)}\n"
    for line in lines(schedule):
        yield line + "\n"


def lines(schedule: Schedule) -> Iterator[str]:
    """Yield the rows of a schedule as they stand in a file, a line each, without line ends."""
    rows, table, network = schedule.rows, schedule.rows.payloads, schedule.network
    chunks = [",".join(_spell(a, b) for a, b in table.ranges(p)) for p in range(len(table))]
    labels: dict[int, str] = {}

    def label(u: int) -> str:
        return labels[u] if u in labels else labels.setdefault(u, network.label(u))

    for step, steps, src, dst, port, tree, payload in zip(
        *(column.tolist() for column in rows.columns().values()), strict=True
    ):
        of_tree = f" tree={tree}" if tree >= 0 else ""
        yield f"{step}+{steps} {label(src)}>{label(dst)} port={port}{of_tree} {chunks[payload]}"


def _spell(first: int, stop: int) -> str:
    return str(first) if stop == first + 1 else f"{first}-{stop - 1}"


def decode(data: bytes) -> Schedule:
    """Return the schedule of a text file. Raises FormatError with the line where it stops being one."""
    if not data.startswith(MAGIC):
        raise FormatError("this is no treecast file: it does not begin with the line 'treecast 1'")
    body, before = data[len(MAGIC) :], 1
    if body.startswith(b"digest "):
        line, _, body = body.partition(b"\n")
        before = 2
        if line != b"digest sha256:" + hashlib.sha256(body).hexdigest().encode():
            raise FormatError(
                "the file was changed or cut off: its digest does not match (if you edited it, delete its second line)"
            )
    try:
        lines = body.decode().split("\n")
    except UnicodeDecodeError:
        raise FormatError("this is no treecast text file: it is not UTF-8") from None
    if lines.pop():
        raise FormatError(f"line {before + len(lines) + 1}: the last line is cut off (it does not end)")
    numbered = [(before + i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    header: Header = {}
    while numbered:
        number, line = numbered.pop(0) if len(header) < len(_HEADERS) else numbered[0]
        key, _, value = line.partition(" ")
        if key not in _HEADERS or key in header:
            raise FormatError(
                f"line {number}: {_cut(line)!r} is none of the lines {', '.join(_HEADERS)}, each at most once"
            )
        header[key] = value.strip()
        if key == "rows":
            break
    else:
        raise FormatError("there is no line 'rows N' before the rows")
    return schedule_of(header, lambda network, collective: _rows(header["rows"], numbered, network))


def _rows(claimed: str, numbered: list[tuple[int, str]], network: Network) -> Rows:
    if claimed != str(len(numbered)):
        raise FormatError(f"the file has {len(numbered)} rows, not {claimed[:20]!r} as its line 'rows' says")
    columns = np.empty((7, len(numbered)), np.int64)
    payloads: dict[str, int] = {}
    nodes: dict[str, int] = {}

    def node(text: str) -> int:
        if text not in nodes:
            nodes[text] = network.node(text)
        return nodes[text]

    for i, (number, line) in enumerate(numbered):
        match = _ROW.fullmatch(line)
        try:
            if match is None:
                raise FormatError(
                    "a row is written STEP+STEPS SRC>DST port=P tree=T CHUNKS, as in '0+4 1234>2134 port=0 tree=0 0-3'"
                )
            step, steps, src, dst, port, tree, chunks = match.groups()
            payload = payloads.setdefault(chunks, len(payloads))
            columns[:, i] = step, steps, node(src), node(dst), port, -1 if tree is None else tree, payload
        except TreecastError as error:
            raise FormatError(f"line {number}: {_cut(line)!r}: {error}") from None
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    table = Payloads.of([_ranges(chunks) for chunks in payloads])
    return Rows.of(table, **dict(zip(names, columns, strict=True)))


def _ranges(chunks: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in chunks.split(","):
        ends = part.split("-")
        if not 1 <= len(ends) <= 2 or not all(end.isdigit() and len(end) < 19 for end in ends):
            raise FormatError(f"{_cut(chunks)!r} are no chunks: write numbers and ranges, as in 0-3,7")
        found.append((int(ends[0]), int(ends[-1]) + 1))
    return found


def _cut(line: str) -> str:
    return line if len(line) <= 60 else line[:57] + "…"
