"""Tables of benchmarks as they print them: nccl-tests and rccl-tests, OSU, IMB; and the rings that NCCL says it has found."""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from treecast.description import Description
from treecast.errors import FormatError
from treecast.networks.reading.registry import HEAD, readers

_PERF = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|gather|scatter)_perf\b")
_OSU = re.compile(r"#\s*OSU \S+ (.+?)(?: Personalized Exchange)? Latency Test", re.IGNORECASE)
_IMB = re.compile(r"#\s*Benchmarking\s+(\w+)")
_RANK = re.compile(r"\bRank\s+(\d{1,9})\b.*\bon\s+(\S+)\s+device\s+(\d{1,9})\b")
_COMM = re.compile(r"(?<!\S)(\S+?):\d+:\d+ \[\d+\] NCCL INFO .*\brank (\d{1,9}) nranks (\d{1,9}) cudaDev (\d{1,9})\b")
_RING = re.compile(r"NCCL INFO Channel \d+/\d+ :((?:\s+\d{1,9})+)\s*$")
_HEAD = re.compile(r"#?\s*size\b.*\btime\b.*\balgbw\b.*\bbusbw\b")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_OF_EACH = frozenset({"allgather", "alltoall", "gather", "scatter"})
"""Collectives of which OSU and IMB say the bytes of one rank's part."""
_FLAT = frozenset({"broadcast", "reduce"})
"""Collectives whose busbw is their algbw, however many ranks there are."""
_TIMES, _SIZES = ("time", "t_max[usec]"), ("size", "Size", "#bytes", "bytes")
_KINDS = ("allreduce", "allgather", "reduce-scatter", "alltoall", "broadcast", "reduce", "gather", "scatter")
_CALLED = {"bcast": "broadcast", "all-to-all": "alltoall", "all-reduce": "allreduce", "all-gather": "allgather"}


class LogRow(NamedTuple):
    """A line of a table: the bytes as it says them, and the seconds."""

    size: int
    seconds: float


@dataclass
class Log:
    """What a log says: the tool, the tables of timed collectives, the host and device of each rank, and the rings of ranks.

    ``ranks``: how many it says; ``factors``: the least and the most that busbw / algbw is in a row, by how these are rounded.
    """

    tool: str = ""
    tables: dict[str, list[LogRow]] = field(default_factory=dict[str, list[LogRow]])
    hosts: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])
    rings: list[list[int]] = field(default_factory=list[list[int]])
    ranks: int = 0
    factors: dict[str, list[tuple[float, float]]] = field(default_factory=dict[str, list[tuple[float, float]]])

    def ranks_told(self, kind: str) -> tuple[int, int] | None:
        """Return the least and the most ranks of which the columns of a collective can be; None where they tell nothing.

        >>> Log(factors={"allreduce": [(1.7495, 1.7505), (1.0, 1.9)]}).ranks_told("allreduce")
        (8, 8)
        """
        parts, low, high = bus_factor(kind, 1 << 60), 2, 1 << 30
        # busbw / algbw = parts · (N - 1) / N. Each row says N within its rounding, and all rows have to agree.
        for least, most in self.factors.get(kind, []) if kind not in _FLAT else []:
            # N = 1 / (1 - factor / parts); rounding of floats must rule out no number
            low = max(low, math.ceil(1 / (1 - min(least / parts, 1 - 1e-9)) - 1e-6))
            high = min(high, math.floor(1 / (1 - min(most / parts, 1 - 1e-9)) + 1e-6))
        return None if kind in _FLAT or low > high or (low, high) == (2, 1 << 30) else (low, high)

    def total(self, kind: str, size: int, ranks: int) -> int:
        """Return the bytes of all blocks together, as treecast counts them, where a table says ``size``."""
        if self.tool == "nccl-tests":  # those of a rank: of an alltoall its row, of all others all that there is
            return size * (ranks if kind == "alltoall" else 1)
        return size * (ranks if kind in _OF_EACH else 1) * (ranks if kind == "alltoall" else 1)


def bus_factor(kind: str, ranks: int) -> float:
    """Return what nccl-tests multiplies algbw by, so that busbw compares with the rate of a link.

    >>> bus_factor("allreduce", 4), bus_factor("alltoall", 4), bus_factor("broadcast", 4)
    (1.5, 0.75, 1.0)
    """
    parts = {"allreduce": 2, "broadcast": 0, "reduce": 0}.get(kind, 1)
    return parts * (ranks - 1) / ranks if parts else 1.0


def bandwidths(kind: str, ranks: int, total: int, seconds: float) -> Description:
    """Return algbw and busbw, as nccl-tests counts them, of a collective whose blocks have ``total`` bytes; none of other kinds.

    >>> print(*bandwidths("allreduce", 4, 10**9, 0.1).lines.values())
    algbw 10 GB/s, busbw 15 GB/s, as nccl-tests counts them
    """
    if kind not in _KINDS or not seconds:
        return Description({})
    algbw = total / (ranks if kind == "alltoall" else 1) / seconds  # of an alltoall nccl-tests says what one rank has
    busbw = algbw * bus_factor(kind, ranks)
    said = f"algbw {algbw / 1e9:,.4g} GB/s, busbw {busbw / 1e9:,.4g} GB/s, as nccl-tests counts them"
    return Description({"algbw": algbw, "busbw": busbw}, {"bandwidth": said})


def read_log(text: str, kind: str = "") -> Log:
    """Return what a log says. ``kind``: the collective, where it does not tell. Raises FormatError when it has no table."""
    # 1. Line by line: a title, a rank, a ring, a head, or a row of the table under the last head.
    found, here, columns, fastest = Log(), "", list[str](), dict[str, str]()
    for line in text.splitlines():
        if said := _PERF.search(line):
            here = _name(said[1])
        elif said := _RANK.search(line):
            found.hosts[int(said[1])] = said[2], int(said[3])
        elif said := _COMM.search(line):
            found.hosts.setdefault(int(said[2]), (said[1], int(said[4])))
            found.ranks = int(said[3])
        elif said := _RING.search(line):
            found.rings.append([int(word) for word in said[1].split()])
        elif said := _OSU.search(line) or _IMB.search(line):
            found.tool, here, columns = ("OSU" if "OSU" in line else "IMB"), _name(said[1]), []
        elif said := re.search(r"#processes\s*=\s*(\d{1,9})\b", line):
            found.ranks = int(said[1])
        elif _HEAD.search(line):
            found.tool, columns = "nccl-tests", line[line.index("size") :].replace("#wrong", "wrong").split()
        elif re.search(r"#\s*Size\b.*Latency|#bytes\b.*t_max", line):
            columns = re.sub(r"(Avg )?Latency(\(us\))?", "time", line).lstrip("# ").split()
        elif columns and _NUMBER.match(line.strip()):
            row = dict([*zip(columns, line.split(), strict=False)][::-1])  # of two columns of a name the first
            fastest = max(fastest, row, key=_rate_of)  # whose columns have the most digits
            time, size = (next((row[word] for word in words if word in row), "") for words in (_TIMES, _SIZES))
            if all(_NUMBER.fullmatch(word) for word in (time, size)):
                found.tables.setdefault(here, []).append(LogRow(int(float(size)), float(time) * 1e-6))
                found.factors.setdefault(here, []).extend(_factor(row))
    # 2. Rings that several ranks have printed are one; rows without a title get the collective that they look like.
    found.rings = list({tuple(each): each for each in found.rings}.values())
    rows, factors = found.tables.pop("", []), found.factors.pop("", [])
    guess = kind or _guessed(fastest, max(len(found.hosts), found.ranks))
    if rows and guess:
        found.tables.setdefault(guess, []).extend(rows)
        found.factors.setdefault(guess, []).extend(factors)
    # 3. Nothing found: what was given instead?
    if not found.tables:
        looks = next((each.summary for each in readers().values() if each.recognises(text[:HEAD].encode())), "")
        if looks:
            raise FormatError(f"this is no log of a benchmark but a network ({looks}): give it as --network")
        raise FormatError(
            "this log has no table of a collective: give the output of nccl-tests, rccl-tests, OSU or IMB, as in "
            "'all_reduce_perf -b 1M -e 1G -f 2 > log.txt', or name the collective, as in --collective alltoall"
        )
    return found


def _rate_of(row: dict[str, str]) -> float:
    return float(row["algbw"]) if _NUMBER.fullmatch(row.get("algbw", "")) else -1.0


def _factor(row: dict[str, str]) -> list[tuple[float, float]]:
    """Return the least and the most that busbw / algbw is in a row, as far as both are printed; nothing where they are not."""
    words = row.get("algbw", ""), row.get("busbw", "")
    if not all(_NUMBER.fullmatch(word) for word in words):
        return []
    # Half of the last digit that is printed, and a little more.
    (alg, half), (bus, other) = ((float(word), 0.51 * 10.0 ** -len(word.partition(".")[2])) for word in words)
    return [((bus - other) / (alg + half), (bus + other) / (alg - half))] if alg > half else []


def _guessed(row: dict[str, str], ranks: int) -> str:
    """Return the collective of a row of nccl-tests, from its columns, where these tell; else an empty text."""
    try:
        factor, adds, rooted = float(row["busbw"]) / float(row["algbw"]), row["redop"] != "none", int(row["root"]) >= 0
    except (KeyError, ValueError, ZeroDivisionError):
        return ""
    if rooted:
        return "reduce" if adds else "broadcast"
    if not adds or (ranks < 2 and factor == 1):  # an allreduce of 2 ranks, or a reduce-scatter of very many
        return ""
    between = sum(bus_factor(kind, ranks) for kind in ("allreduce", "reduce-scatter")) / 2 if ranks > 1 else 1
    return "allreduce" if factor > between else "reduce-scatter"


def _name(word: str) -> str:
    """Return the collective that a benchmark calls so; an empty text for another."""
    name = word.strip().lower().replace("_", "-")
    name = _CALLED.get(name, name)
    return name if name in _KINDS else ""
