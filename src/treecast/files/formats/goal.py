"""GOAL: sends and receives with the requirements of each, for LogGOPSim and ATLAHS.

Nothing is said of a node's CPUs or interfaces. So their simulator takes the messages of a node one after another: schedules for
one port take their own time there, and those for all ports are drawn out. Comments say which chunks each message carries.
"""

import math
import re
from collections.abc import Iterator

from treecast.errors import FormatError, shorten
from treecast.files.formats.header import one_line, text_of
from treecast.files.formats.judging import judge_lists
from treecast.files.formats.operations import MOST_RANKS, Listed, Reading, operations_of, read_number
from treecast.files.formats.registry import ADDING, BYTES, begins_like, exporter
from treecast.files.programs.program import ADD, RECEIVE, SEND
from treecast.schedule import Schedule

_NAME = r"[a-zA-Z]\w{0,63}"
_OPERATION = re.compile(
    rf"(?:({_NAME})\s*:\s*)?(?:(send|recv)\s+(\d+)b?\s+(to|from)\s+(\d+)(?:\s+tag\s+(\d+))?|calc\s+(\d+))"
    r"(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
)
_WAITS = re.compile(rf"({_NAME})\s+(requires|irequires)\s+({_NAME})")
_LETTERS = {SEND: "s", RECEIVE: "r", ADD: "c"}
_BEGIN = re.compile(r"rank\s+(\d+)\s*\{")
_FIRST = re.compile(rb"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*num_ranks\s", re.DOTALL)


@exporter("goal", suffix=".goal", summary="sends, receives and their order, for LogGOPSim", settings=(BYTES, ADDING))
def encode(schedule: Schedule, *, size: int | None = None, adding: float = 0.0) -> bytes:
    """Return the messages of a schedule in GOAL. Raises FormatError when they cannot be listed one by one."""
    job, ranks = operations_of(schedule, size, adding)
    parts = ["".join([f"num_ranks {schedule.network.nodes}\n", *(f"// {line}\n" for line in job)]).encode()]
    for rank, operations in enumerate(ranks):
        lines, label = [f"rank {rank} {{\n"], dict[int, str]()
        for one in operations:
            name = label[one.number] = f"{_LETTERS[one.kind]}{one.message}"
            if one.kind == SEND:
                lines.append(f"// {one.comment}\n{name}: send {one.size}b to {one.dst} tag {one.tag}\n")
            elif one.kind == RECEIVE:
                lines.append(f"{name}: recv {one.size}b from {one.src} tag {one.tag}\n")
            else:
                lines.append(f"{name}: calc {math.ceil(one.nanoseconds)}\n")
            lines += [f"{name} requires {label[other]}\n" for other in one.awaited]
        parts.append("".join([*lines, "}\n"]).encode())
    return b"".join(parts)


# -- read ---------------------------------------------------------------------------------------------------------------


def read_goal(data: bytes) -> Listed:
    """Return the operations of a GOAL file. Raises FormatError with the line where it stops being one."""
    reading, said = Reading("goal"), 0
    labels: dict[str, int] | None = None
    for line, text in _lines(text_of(data, "GOAL file"), reading):
        if not said:
            word, _, count = text.partition(" ")
            if word != "num_ranks" or not (said := read_number(count.strip(), line, MOST_RANKS)):
                raise FormatError(f"line {line}: a GOAL file begins with 'num_ranks N', N from 1 to {MOST_RANKS:,}")
        elif labels is None:
            begin = _BEGIN.fullmatch(text)
            if not begin or int(begin[1][:9]) != reading.ranks or reading.ranks == said:  # ranks stand in order
                raise FormatError(f"line {line}: {shorten(text)!r} is not 'rank {reading.ranks} {{', of {said:,} ranks")
            labels = {}
            reading.ranks += 1
        elif text == "}":
            labels = None
        else:
            _read(reading, labels, text, line)
    if labels is not None or not said or reading.ranks != said:
        raise FormatError(f"the file ends within rank {max(reading.ranks - (labels is not None), 0)}: it is cut off")
    return reading.listed(eager=True)


judge = judge_lists("goal", read_goal, recognises=begins_like(_FIRST))


def _read(reading: Reading, labels: dict[str, int], text: str, line: int) -> None:
    """Read an operation of the present rank, or a wait of one."""
    if found := _OPERATION.fullmatch(text):
        label, word, size, way, peer, tag, _ = found.groups()
        if label in labels:
            raise FormatError(f"line {line}: label {label} stands there twice")
        if word and (word == "send") != (way == "to"):
            raise FormatError(f"line {line}: one sends to and receives from, not {word} … {way}")
        code = {"send": SEND, "recv": RECEIVE, None: 0}[word]
        to, called, long = (read_number(part or "0", line) for part in (peer, tag, size))
        # no label has a blank
        labels[label or f"{len(labels)} "] = reading.add((reading.ranks - 1, code, to, called, long), line)
    elif found := _WAITS.fullmatch(text):
        for label in (found[1], found[3]):
            if label not in labels:
                raise FormatError(f"line {line}: {label} is no label above it in this rank")
        reading.wait(labels[found[1]], labels[found[3]], found[2] == "irequires")  # for its begin alone
    else:
        raise FormatError(
            f"line {line}: {shorten(one_line(text))!r} is none of 'LABEL: send BYTESb to RANK tag TAG', 'LABEL: recv BYTESb "
            "from RANK tag TAG', 'LABEL: calc NANOSECONDS' and 'LABEL requires LABEL'"
        )


def _lines(text: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is neither empty nor a comment; comments are taken in."""
    inside = False
    for line, raw in enumerate(text.split("\n"), 1):
        part = raw.strip()
        if inside or part.startswith("/*"):
            inside = "*/" not in part
            if not inside and part.partition("*/")[2].strip():
                raise FormatError(f"line {line}: comments stand on lines of their own")
        elif part.startswith("//"):
            reading.comment(part[2:].strip(), line)
        elif part:
            yield line, part
    if inside:
        raise FormatError("the file ends within a comment: it is cut off")
