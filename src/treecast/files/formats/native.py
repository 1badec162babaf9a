"""treecast's own two formats: text to read, compare and write by hand, and binary for millions of rows.

The grammar of the text is in docs/reference/formats/text.md.

::

    treecast 2
    digest sha256:…            of all other lines; without it the file counts as written by hand
    network star:4
    collective broadcast
    root 1234
    messages 6
    copies 2
    model all-port
    claims steps=9 transmissions=276
    rows 69
    0+4 1234>2134 port=0 tree=0 0-1,4-5

The binary one has a header in JSON, the columns as they lie in memory, and a digest at the end: docs/reference/formats/binary.md.

How a binary file goes:

    magic and version │ 8 bytes: length of the header │ header, JSON │ columns of rows │ start, first, stop │ SHA-256 of all
"""

import codecs
import hashlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError, TreecastError, did_you_mean, shorten
from treecast.files.formats.header import (
    VERSION,
    WORDS,
    Header,
    header_of,
    header_with_proof,
    is_word,
    number,
    read_word,
    rows_of,
    schedule_of,
    text_of,
)
from treecast.files.formats.registry import begins_with, exporter, importer
from treecast.networks import Network
from treecast.ragged import Ints
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule
from treecast.schedule.listing import NOTHING, lines

_MAGIC = b"treecast "
_VERSIONS = {f"treecast {version}\n".encode(): version for version in range(1, VERSION + 1)}
_WORDS = (*WORDS, "rows")
_ROW = re.compile(
    r"([0-9]{1,10})\+([0-9]{1,10}) ([^\s>]+)>([^\s>]+)(?: port=(-1|[0-9]{1,5}))?(?: tree=([0-9]{1,5}))? ([0-9,-]+)"
)
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_BLOCK = 1 << 10  # the number of rows that are taken apart at a time: few, or the garbage collector walks them all
_NO_PORT = -2  # of a row that leaves it to us to find its port


@exporter("text", suffix=".tc", summary="to read, compare and write by hand")
def encode_text(schedule: Schedule) -> bytes:
    """Return a schedule in the text format, with its digest. Raises FormatError when it cannot be written as text."""
    return _encoded(schedule, header_with_proof(schedule))


def _encoded(schedule: Schedule, words: Header) -> bytes:
    header = "".join(f"{word} {value}\n" for word, value in words.items())
    rows = "".join(line + "\n" for line in lines(schedule))
    # each row has one
    if rows.count(">") != len(schedule):
        raise FormatError("a node's name holds '>', which joins two nodes in the text format: write to a .tcb file")
    body = f"{header}rows {len(schedule)}\n{rows}".encode()
    first = f"treecast {VERSION}\n".encode()
    return first + _digest_line(VERSION, first, body) + b"\n" + body


def digest_of(schedule: Schedule) -> str:
    """Return the digest of the text file of a schedule without the proof of a bound; empty where no file can hold it."""
    try:
        return _encoded(schedule, header_of(schedule)).split(b"\n", 2)[1].decode().removeprefix("digest ")
    except TreecastError:
        return ""


def _digest_line(version: int, first: bytes, body: bytes) -> bytes:
    """Return the line of the digest: in version 1 of all that follows it, later also of the first line."""
    covered = body if version == 1 else first + body
    return b"digest sha256:" + hashlib.sha256(covered).hexdigest().encode()


def _as_written(data: bytes) -> bytes:
    """Return a file without the additions of editors and version control on Windows: a byte order mark, CRLF."""
    data = data.removeprefix(codecs.BOM_UTF8)
    # its first line tells how lines end
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data[: len(_MAGIC) + 12] else data


@importer("text", recognises=begins_with(_MAGIC, codecs.BOM_UTF8 + _MAGIC))
def decode_text(data: bytes) -> Schedule:
    """Return the schedule of a text file. Raises FormatError with the line where it stops being one."""
    # 1. The first line says the version.
    data = _as_written(data)
    first = data[: data.find(b"\n") + 1]
    if first not in _VERSIONS:
        known = " and ".join(str(version) for version in _VERSIONS.values())
        if re.fullmatch(rb"treecast [0-9]{1,9}\n", first):
            raise FormatError(f"this file has format version {first.split()[1].decode()}: this treecast reads {known}")
        raise FormatError(f"this is no treecast file: its first line is not 'treecast {VERSION}'")
    # 2. The second line may be the digest of what follows.
    body, before = data[len(first) :], 1
    if body.startswith(b"digest "):
        line, _, body = body.partition(b"\n")
        before = 2
        if line != _digest_line(_VERSIONS[first], first, body):
            raise FormatError(
                "the file was changed or cut off: its digest does not match (if you edited it, delete its second line)"
            )
    # 3. Lines with their numbers, without comments.
    found = text_of(body, "treecast text file").split("\n")
    if found.pop():
        raise FormatError(f"line {before + len(found) + 1}: the last line is cut off (it does not end)")
    # a comment needs its space, so that no changed byte turns the digest into one
    numbered = (
        (place, line)
        for place, line in enumerate(found, before + 1)
        if line.strip() and line != "#" and not line.startswith("# ")
    )
    # 4. The header, until the line that counts the rows; then the rows.
    header: Header = {}
    for place, line in numbered:
        if not read_word(header, line, "rows"):
            meant = did_you_mean(line.split(" ")[0], _WORDS)
            known = "a header" if meant else f"a header, which are {', '.join(_WORDS)}, each at most once"
            raise FormatError(f"line {place}: {shorten(line)!r} is none of the lines of {known}{meant}")
        if "rows" in header:
            break
    else:
        raise FormatError("there is no line 'rows N' before the rows")
    claimed = header.pop("rows")
    return schedule_of(header, lambda network: _rows(claimed, numbered, network), _VERSIONS[first])


def _rows(claimed: str, numbered: Iterator[tuple[int, str]], network: Network) -> Rows:
    nodes, payloads = dict[str, int](), dict[str, int]()
    blocks, at = [np.empty((len(COLUMNS), 0), np.int64)], list[int]()
    while block := list(islice(numbered, _BLOCK)):
        at += [place for place, _ in block]
        blocks.append(_columns(block, network, nodes, payloads))
    if claimed != str(len(at)):
        raise FormatError(f"the file has {len(at)} rows, not {shorten(claimed)!r} as its line 'rows' says")
    columns: dict[str, Ints] = dict(zip(COLUMNS, [*np.concatenate(blocks, axis=1)], strict=True))
    table = Payloads.of([read_ranges(chunks) for chunks in payloads])
    return rows_of(network, table, _NO_PORT, columns, lines=np.array(at, np.int64))


def _columns(block: list[tuple[int, str]], network: Network, nodes: dict[str, int], payloads: dict[str, int]) -> Ints:
    """Return the columns of some rows, in the order of COLUMNS; add to the numbers of nodes and of payloads."""
    matches = [_ROW.fullmatch(line) for _, line in block]
    found = [match.groups() for match in matches if match]
    if len(found) < len(block):
        raise _at(
            block[matches.index(None)],
            "a row is written STEP+STEPS SRC>DST port=P tree=T CHUNKS, as in '0+4 1234>2134 port=0 tree=0 0-3'",
        )
    step, steps, src, dst, port, tree, chunks = zip(*found, strict=True)
    for i, name in enumerate(src + dst):  # i % block: the row
        if name not in nodes:
            try:
                nodes[name] = network.node(name)
            except TreecastError as error:
                raise _at(block[i % len(block)], str(error)) from None
    for payload in chunks:
        payloads.setdefault(payload, len(payloads))
    numbers = [int(s) for s in step], [int(s) for s in steps], [nodes[u] for u in src], [nodes[v] for v in dst]
    more = [int(p or _NO_PORT) for p in port], [int(t or -1) for t in tree], [payloads[p] for p in chunks]
    return np.array([*numbers, *more], np.int64)


def _at(line: tuple[int, str], why: str) -> FormatError:
    return FormatError(f"line {line[0]}: {shorten(line[1])!r}: {why}")


def read_ranges(chunks: str) -> list[tuple[int, int]]:
    """Return the ranges (first, stop) of chunks as people write them. Raises FormatError when they are none.

    >>> read_ranges("0-3,7")
    [(0, 4), (7, 8)]
    """
    if chunks == NOTHING:
        return []
    parts = [_RANGE.fullmatch(part) for part in chunks.split(",")]
    found = [(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    if len(found) < len(parts):
        raise FormatError(f"{shorten(chunks)!r} are no chunks: write numbers and ranges, as in 0-3,7")
    return found


# -- binary ------------------------------------------------------------------------------------------------------------

MAGIC = b"\x89treecast-binary "
_BINARY_VERSIONS = {MAGIC + f"{version}\r\n".encode(): version for version in range(1, VERSION + 1)}
_MAGIC_SIZE = len(MAGIC) + 3
_SIZE = 8  # bytes of the header's length
_DIGEST = hashlib.sha256().digest_size
_COUNTS = ("rows", "payloads", "ranges", "node_bytes")
_MOST = 2**48  # of anything: no file is as long, and no sum of such numbers overflows


@exporter("binary", suffix=".tcb", summary="for millions of rows")
def encode_binary(schedule: Schedule) -> bytes:
    """Return a schedule in the binary format. Raises FormatError when its header cannot be written."""
    rows, table = schedule.rows, schedule.rows.payloads
    counts = (len(rows), len(table), len(table.first), rows.src.itemsize)
    words = header_with_proof(schedule) | dict(zip(_COUNTS, map(str, counts), strict=True))
    header = json.dumps(words, sort_keys=True).encode()
    columns: dict[str, NDArray[Any]] = rows.columns() | {"start": table.start, "first": table.first, "stop": table.stop}
    shapes, digest = _shapes(*counts), hashlib.sha256()
    parts = [MAGIC + f"{VERSION}\r\n".encode(), len(header).to_bytes(_SIZE, "little"), header]
    parts += [column.astype(shapes[name][0], copy=False).tobytes() for name, column in columns.items()]
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def _shapes(rows: int, payloads: int, ranges: int, node_bytes: int) -> dict[str, tuple[np.dtype[Any], int]]:
    """Return the type and length of each array of a file, in order."""
    types = COLUMNS | {"src": f"i{node_bytes}", "dst": f"i{node_bytes}"}
    table = {"start": payloads + 1, "first": ranges, "stop": ranges}
    columns = {name: (np.dtype(of).newbyteorder("<"), rows) for name, of in types.items()}
    return columns | {name: (np.dtype("<i8"), length) for name, length in table.items()}


@importer("binary", recognises=begins_with(MAGIC))
def decode_binary(data: bytes) -> Schedule:
    """Return the schedule of a binary file. Raises FormatError when it is cut off or was changed."""
    # 1. The version and the digest.
    version = _BINARY_VERSIONS.get(bytes(data[:_MAGIC_SIZE]))
    if version is None:
        raise FormatError("this is no binary treecast file: it does not begin like one")
    body = memoryview(data)[:-_DIGEST]
    if hashlib.sha256(body).digest() != data[-_DIGEST:]:
        raise FormatError("the file was changed or cut off: its digest does not match")
    # 2. The header says how long the columns are: a file of another length is none.
    begin = _MAGIC_SIZE + _SIZE
    end = begin + int.from_bytes(body[_MAGIC_SIZE:begin], "little")
    header = _header(bytes(body[begin : min(end, len(body))]))
    rows, payloads, ranges, node_bytes = (number(header, word, _MOST) for word in _COUNTS)
    shapes = _shapes(rows, payloads, ranges, 8 if node_bytes == 8 else 4)
    if node_bytes not in (4, 8) or end + sum(of.itemsize * length for of, length in shapes.values()) != len(body):
        raise FormatError("this binary file holds no schedule: its columns are not as long as its header says")
    # 3. The columns, as they lie in the file.
    arrays: dict[str, NDArray[Any]] = {}
    for name, (of, length) in shapes.items():
        arrays[name] = np.frombuffer(body, of, length, end)
        end += of.itemsize * length
    table = Payloads(*(arrays.pop(name).astype(np.int64) for name in ("start", "first", "stop")))
    # else a row would have chunks that are not there
    if bool(((table.start < 0) | (table.start > ranges)).any()):
        raise FormatError("this binary file holds no schedule: a payload begins outside the table of ranges")
    words = {word: value for word, value in header.items() if is_word(word)}
    return schedule_of(words, lambda network: Rows.of(table, **arrays), version)


def _header(text: bytes) -> Header:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError("this binary file holds no schedule: its header cannot be read") from None
    words = cast(dict[str, object], found) if isinstance(found, dict) else {}
    header = {word: value for word, value in words.items() if isinstance(value, str)}
    known = all(is_word(word) or word in _COUNTS for word in header)
    if set(header) != set(words) or not set(_COUNTS) <= set(header) or not known:
        raise FormatError(f"this binary file holds no schedule: its header is no table of {', '.join(WORDS + _COUNTS)}")
    return header


# -- rows that are shown ------------------------------------------------------------------------------------------------
