"""A table of messages, a line each, for spreadsheets and data frames; it is also read, and can be verified.

Lines that begin with ``#`` come first. They say the job in the words of the text format, so that a table can be read as a
schedule, and how many bytes all blocks have.
"""

import csv
import io
import re
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from treecast.description import spell_range
from treecast.errors import FormatError, TreecastError, did_you_mean, shorten
from treecast.files.formats.header import Header, is_whole, number, one_line, read_word, rows_of, schedule_of, text_of
from treecast.files.formats.native import read_ranges
from treecast.files.formats.operations import comments_of_job
from treecast.files.formats.registry import BYTES, begins_like, exporter, importer
from treecast.files.programs.messages import chunk_places, messages_of, sizes_of
from treecast.networks import Network
from treecast.ragged import Ints
from treecast.schedule import Payloads, Rows, Schedule

_COLUMNS = ("step", "src", "dst", "src_label", "dst_label", "port", "tree", "chunks", "bytes")
_HEAD = ",".join(_COLUMNS)
_NEEDED = ("step", "src", "dst", "chunks")
_UNSAID = -(10**18)
"""The port, or the bytes, of a message that says none: no number that a cell can hold."""


@exporter("csv", suffix=".csv", summary="a table of messages, for spreadsheets and data frames", settings=(BYTES,))
def encode(schedule: Schedule, *, size: int | None = None) -> bytes:
    """Return the messages of a schedule as a table. Raises FormatError when they cannot be listed one by one."""
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    network, out = schedule.network, io.StringIO()
    out.writelines(f"{line}\n" for line in [*comments_of_job(messages, begins, "# "), _HEAD])
    lines = csv.writer(out, lineterminator="\n")
    label = network.labels(np.arange(network.nodes))
    columns = (messages.step, messages.src, messages.dst, messages.port, messages.tree, messages.sizes(begins))
    numbers: list[list[int]] = [column.tolist() for column in columns]
    step, src, dst, port, tree, length = numbers
    ends = [label[u] for u in src], [label[v] for v in dst]
    lines.writerows(zip(step, src, dst, *ends, port, tree, messages.spelled(";"), length, strict=True))
    return out.getvalue().encode()


@importer("csv", recognises=begins_like(re.compile(rb"# network |(#[^\n]*\n)*[\w,]*\bstep,")))
def decode(data: bytes) -> Schedule:
    """Return the schedule of a table: a row for each message. Raises FormatError with the line where it stops being one.

    Columns stand in any order. Labels, port, tree and bytes may be left out, or empty, and columns without a name are skipped.
    """
    lines = iter(text_of(data, "table of messages").splitlines())
    header, names, before = _header(lines)
    size = header.pop("bytes", None)
    if not {"network", "collective"} <= set(header):
        raise FormatError(
            f"a table of messages says its job before the line {_HEAD}: it needs lines '# network …' and '# collective …', as "
            "in '# network torus:4x4'"
        )
    said: list[tuple[Payloads, Ints, Ints]] = []

    def rows(network: Network) -> Rows:
        payloads, columns = _columns(lines, names, before, network)
        said.append((payloads, columns["payload"], columns.pop("bytes")))
        return rows_of(network, payloads, _UNSAID, columns, lines=columns.pop("line"))

    schedule = schedule_of(header, rows)
    if size is not None:
        _check_bytes(chunk_places(schedule, number({"bytes": size}, "bytes", least=1)), *said[0])
    return schedule


def _check_bytes(begins: Ints, payloads: Payloads, payload: Ints, said: Ints) -> None:
    """Raise FormatError when a message does not have the bytes of its chunks."""
    wrong = np.flatnonzero((sizes_of(payloads, begins)[payload] != said) & (said != _UNSAID))
    if len(wrong):
        message = int(wrong[0])
        chunks = ";".join(spell_range(*pair) for pair in payloads.ranges(int(payload[message])))
        raise FormatError(
            f"message {message + 1} of the table says {said[message]:,} bytes, which is not the length of {chunks}"
        )


def _header(lines: Iterator[str]) -> tuple[Header, list[str], int]:
    """Return the words of the lines before the table, its columns, and how many lines there are; leave off behind the columns."""
    header: Header = {}
    for place, line in enumerate(lines, 1):
        names = [name.strip() for name in line.split(",")]
        if not line.startswith("#") and set(names) & set(_COLUMNS):
            for name in names:
                if name and (name not in _COLUMNS or names.count(name) > 1):
                    raise FormatError(
                        f"line {place}: {shorten(name)!r} is none of the columns {_HEAD}, each once{did_you_mean(name, _COLUMNS)}"
                    )
            if missing := [name for name in _NEEDED if name not in names]:
                raise FormatError(
                    f"line {place}: a message needs {', '.join(_NEEDED)}: there is no column {missing[0]}"
                )
            return header, names, place
        mark, _, rest = line.partition(" ")
        if mark != "#" or not read_word(header, rest, "bytes"):
            raise FormatError(
                f"line {place}: {shorten(line)!r} is neither '# WORD VALUE', each word once, nor the line {_HEAD}"
            )
    raise FormatError(f"a table of messages has a line {_HEAD}")


def _columns(lines: Iterator[str], names: list[str], before: int, network: Network) -> tuple[Payloads, dict[str, Ints]]:
    """Return the payloads and columns of a table, in the order of its lines."""
    # the same texts come up again and again
    whole, node = cache(_number), cache(partial(_node, network))
    payloads: dict[str, int] = {}
    found: list[tuple[int, ...]] = []
    reader, places = csv.reader(lines, strict=True), [names.index(name) if name in names else -1 for name in _COLUMNS]
    try:
        for cells in reader:
            if len(cells) != len(names):
                raise FormatError(f"it has {len(cells)} cells, and a message the columns {','.join(names)}")
            cells.append("")  # of columns that are left out
            step, src, dst, src_label, dst_label, port, tree, chunks, size = (cells[place] for place in places)
            ends, payload = (node(src, src_label), node(dst, dst_label)), payloads.setdefault(chunks, len(payloads))
            port, size = (whole(cell) if cell else _UNSAID for cell in (port, size))
            found.append((*ends, payload, whole(step), port, whole(tree or "-1"), size, before + reader.line_num))
    except (csv.Error, TreecastError) as error:
        raise FormatError(f"line {before + reader.line_num}: {one_line(str(error))}") from None
    # commas divide cells: a table has ; between ranges
    ranges = [read_ranges(chunks.replace(";", ",") or "-") for chunks in payloads]
    said = ("src", "dst", "payload", "step", "port", "tree", "bytes", "line")
    columns = np.array(found, np.int64).reshape(-1, len(said)).T.copy()
    return Payloads.of(ranges), dict(zip(said, columns, strict=True))


def _node(network: Network, number: str, label: str) -> int:
    """Return a node from its number and its label, which must fit."""
    node = network.check_node(_number(number))
    if label and network.label(node) != label:
        raise FormatError(f"node {node} is {network.label(node)}, not {shorten(label)}")
    return node


def _number(text: str) -> int:
    if not is_whole(text.removeprefix("-"), 18):
        raise FormatError(f"{shorten(text)!r} is no number")
    return int(text)
