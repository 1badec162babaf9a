"""SimGrid's traces, read line by line: those of all ranks one behind the other, whoever wrote them.

Every line names its rank, so that a folder of traces is judged as the one file that its traces are together.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from treecast.errors import FormatError, shorten
from treecast.formats.native.header import one_line, text_of
from treecast.formats.operations.judge import judge_listed
from treecast.formats.operations.reading import LONGEST, MOST_RANKS, Listed, Reading, number
from treecast.formats.registry import Told, begins_like, judged
from treecast.programs.program import RECEIVE, SEND
from treecast.programs.verdict import FileVerdict
from treecast.schedule import Schedule

_FIRST = re.compile(rb"\s*(?:#[^\n]*\n\s*)*\d+[ \t]+init\s")
_NUMBERS = dict.fromkeys(("send", "isend", "recv", "irecv"), (3, 4)) | {
    "wait": (3, 3),
    "init": (0, 1),
    "finalize": (0, 0),
    "waitall": (0, 1),
    "compute": (1, 1),
    "sleep": (1, 1),
}
_COLLECTIVE = re.compile(r"bcast|(all)?reduce|reducescatter|barrier|(ex)?scan|(all)?gatherv?|scatterv?|alltoallv?")


@dataclass
class _Rank:
    """The state of a rank."""

    barrier: int = -1  # the operation that must have ended before any other begins
    open: dict[tuple[int, int, int], list[int]] = field(default_factory=dict[tuple[int, int, int], list[int]])
    ended: bool = False


@judged("simgrid", like="goal", recognises=begins_like(_FIRST), folder="list.txt")
def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on traces, and a function that makes their schedule, if comments say it."""
    return judge_listed(read_traces(data), told)


def read_traces(data: bytes) -> Listed:
    """Return the operations of the traces of all ranks. Raises FormatError with the line where they stop being some."""
    reading, ranks = Reading("simgrid"), dict[int, _Rank]()
    for line, raw in enumerate(text_of(data, "trace").split("\n"), 1):
        text = raw.strip()
        if text.startswith("#"):
            reading.comment(text[1:].strip(), line)
        elif text:
            _read(reading, ranks, text.split(), line)
    if sorted(ranks) != list(range(len(ranks))) or not ranks:
        missing = min(set(range(len(ranks) + 1)) - set(ranks))
        raise FormatError(
            f"there is no trace of rank {missing}: ranks are 0, 1, …, and all traces stand in one file or folder"
        )
    for rank, state in sorted(ranks.items()):
        if not state.ended:
            raise FormatError(f"the trace of rank {rank} does not end with '{rank} finalize': it is cut off")
    reading.ranks = len(ranks)
    return reading.listed(eager=False)


def _read(reading: Reading, ranks: dict[int, _Rank], words: list[str], line: int) -> None:
    """Read a line of some rank."""
    rank, word, numbers = number(words[0], line, MOST_RANKS - 1), "".join(words[1:2]).lower(), words[2:]
    if _COLLECTIVE.fullmatch(word):
        raise FormatError(
            f"line {line}: {word} is a collective whose messages SimGrid chooses: give its sends and receives"
        )
    least, most = _NUMBERS.get(word, (1, 0))
    if not least <= len(numbers) <= most:
        known = ", ".join(sorted(_NUMBERS))
        raise FormatError(
            f"line {line}: {shorten(one_line(' '.join(words)))!r} is none of RANK and {known} with its numbers"
        )
    if (word == "init") == (rank in ranks) or (rank in ranks and ranks[rank].ended):
        raise FormatError(f"line {line}: the trace of rank {rank} goes from init to finalize, each once")
    if word == "init":
        ranks[rank] = _Rank()
    elif word in ("compute", "sleep"):
        if not re.fullmatch(r"\d{1,30}(\.\d{1,30})?(e\+?\d{1,3})?", numbers[0]):
            raise FormatError(f"line {line}: {shorten(numbers[0])!r} is no amount of work")
        _block(reading, ranks[rank], rank, [], line)
    elif word in ("waitall", "finalize"):
        state = ranks[rank]
        left = [one for several in state.open.values() for one in several]
        if word == "finalize":
            if left:
                raise FormatError(f"line {line}: rank {rank} ends and has not waited for all that it began")
            state.ended = True
        elif left:
            state.open = {}
            _block(reading, state, rank, left, line)
    elif word == "wait":
        _wait(reading, ranks[rank], rank, [number(part, line) for part in numbers], line)
    else:
        _begin(reading, ranks[rank], rank, words[1:], line)


def _amount(text: str, line: int) -> int:
    """Return a number of bytes, or a rank or tag; SimGrid also writes 1e+06."""
    if re.fullmatch(r"\d(\.\d{1,15})?e\+?\d{1,2}", text) and float(text) < 10**LONGEST and float(text).is_integer():
        return int(float(text))
    return number(text, line)


def _begin(reading: Reading, state: _Rank, rank: int, words: list[str], line: int) -> None:
    """Begin a send or receive, and await its end where the word says so."""
    word, (peer, tag, size) = words[0].lower(), (_amount(part, line) for part in words[1:4])
    code = SEND if word.endswith("send") else RECEIVE
    one = reading.add((rank, code, peer, tag, size), line)
    if state.barrier >= 0:
        reading.wait(one, state.barrier)
    if word.startswith("i"):
        ends = (rank, peer) if code == SEND else (peer, rank)
        state.open.setdefault((*ends, tag), []).append(one)
    else:
        _block(reading, state, rank, [one], line)


def _wait(reading: Reading, state: _Rank, rank: int, numbers: list[int], line: int) -> None:
    """Await the first of the open requests with this source, destination and tag."""
    src, dst, tag = numbers
    several = state.open.get((src, dst, tag))
    if not several:
        raise FormatError(
            f"line {line}: rank {rank} waits for a request from {src} to {dst} of tag {tag}, which it has not begun"
        )
    _block(reading, state, rank, [several.pop(0)], line)


def _block(reading: Reading, state: _Rank, rank: int, awaited: list[int], line: int) -> None:
    """Let all that follows wait until these operations have ended, and all that were awaited before."""
    one = reading.add((rank, 0, 0, 0, 0), line)
    for other in [*awaited, *([state.barrier] if state.barrier >= 0 else [])]:
        reading.wait(one, other)
    state.barrier = one
