"""GOAL files, read line by line: whoever wrote them."""

import re
from collections.abc import Callable, Iterator

from treecast.description import Described
from treecast.errors import FormatError
from treecast.formats.native.header import one_line, shorten
from treecast.formats.operations.judge import judge_program, schedule_of_program
from treecast.formats.operations.program import MOST_RANKS, RECEIVE, SEND, WORK, Program, Reading, number, text_of
from treecast.formats.registry import Told, importer
from treecast.schedule import Schedule

_NAME = r"[a-zA-Z]\w{0,63}"
_OPERATION = re.compile(
    rf"(?:({_NAME})\s*:\s*)?(?:(send|recv)\s+(\d+)b?\s+(to|from)\s+(\d+)(?:\s+tag\s+(\d+))?|calc\s+(\d+))"
    r"(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
)
_WAITS = re.compile(rf"({_NAME})\s+(requires|irequires)\s+({_NAME})")
_BEGIN = re.compile(r"rank\s+(\d+)\s*\{")
_FIRST = re.compile(rb"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*num_ranks\s", re.DOTALL)


def _recognises(head: bytes) -> bool:
    return _FIRST.match(head) is not None


def judge(data: bytes, told: Told) -> tuple[Described, Callable[[], Schedule]]:
    """Return the verdict on a GOAL file, and what makes its schedule."""
    return judge_program(read_goal(data), told)


@importer("goal", recognises=_recognises, judge=judge)
def decode(data: bytes) -> Schedule:
    """Return the schedule of a GOAL file whose comments say it. Raises FormatError when they do not, or it is wrong."""
    return schedule_of_program(read_goal(data))


def read_goal(data: bytes) -> Program:
    """Return the operations of a GOAL file. Raises FormatError with the line where it stops being one."""
    reading, said = Reading("goal"), 0
    labels: dict[str, int] | None = None
    for line, text in _lines(text_of(data, "GOAL file"), reading):
        if not said:
            word, _, count = text.partition(" ")
            if word != "num_ranks" or not (said := number(count.strip(), line, MOST_RANKS)):
                raise FormatError(f"line {line}: a GOAL file begins with 'num_ranks N', N from 1 to {MOST_RANKS:,}")
        elif labels is None:
            begin = _BEGIN.fullmatch(text)
            if not begin or int(begin[1][:9]) != reading.ranks or reading.ranks == said:
                raise FormatError(f"line {line}: {shorten(text)!r} is not 'rank {reading.ranks} {{', of {said:,} ranks")
            labels = {}
            reading.ranks += 1
        elif text == "}":
            labels = None
        else:
            _read(reading, labels, text, line)
    if labels is not None or not said or reading.ranks != said:
        raise FormatError(f"the file ends within rank {max(reading.ranks - (labels is not None), 0)}: it is cut off")
    return reading.program()


def _read(reading: Reading, labels: dict[str, int], text: str, line: int) -> None:
    """Read an operation of the present rank, or what one waits for."""
    if found := _OPERATION.fullmatch(text):
        label, word, size, way, peer, tag, _ = found.groups()
        if label in labels:
            raise FormatError(f"line {line}: label {label} stands there twice")
        if word and (word == "send") != (way == "to"):
            raise FormatError(f"line {line}: one sends to and receives from, not {word} … {way}")
        code = {"send": SEND, "recv": RECEIVE, None: WORK}[word]
        to, called, long = (number(part or "0", line) for part in (peer, tag, size))
        labels[label or f"{len(labels)} "] = reading.add((reading.ranks - 1, code, to, called, long), line)
    elif found := _WAITS.fullmatch(text):
        for label in (found[1], found[3]):
            if label not in labels:
                raise FormatError(f"line {line}: {label} is no label above it in this rank")
        reading.wait(labels[found[1]], labels[found[3]], int(found[2] == "requires"))
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
            try:
                reading.comments.take(part[2:].strip())
            except FormatError as error:
                raise FormatError(f"line {line}: {error}") from None
        elif part:
            yield line, part
    if inside:
        raise FormatError("the file ends within a comment: it is cut off")
