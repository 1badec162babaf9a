"""The settings of several exporters, and how their texts are read."""

import math

from treecast.errors import FormatError
from treecast.formats.registry import Setting
from treecast.models import Cost
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs
from treecast.units import parse_bytes, parse_rate, parse_seconds

_WAYS = ("strip", "scratch")


def read_number(text: str) -> float:
    """Return a number above 0. Raises FormatError when it is none.

    >>> read_number("125e6")
    125000000.0
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise FormatError(f"{text!r} will not do: write a number above 0, as in 125e6")
    return number


BYTES = Setting(
    name="bytes",
    keyword="size",
    summary="How much data there is, all blocks together: 16MiB; by default as planned, or 64KiB a chunk.",
    read=parse_bytes,
)
RATE = Setting(
    name="rate",
    summary="The rate of a link: 12.5GB/s, 100Gbit/s; by default as planned, or 125MB/s.",
    read=parse_rate,
)
LATENCY = Setting(
    name="latency",
    summary="The latency of a link: 1us; by default as planned, or 1us.",
    read=parse_seconds,
)
ADDING = Setting(
    name="adding",
    summary="The nanoseconds that a node takes to add a number of 8 bytes; by default adding takes no time.",
    read=read_number,
)


def _read_way(text: str) -> str:
    if text not in _WAYS:
        raise FormatError(f"copies are {' or '.join(_WAYS)}, not {text!r}")
    return text


COPIES = Setting(
    name="copies",
    summary="Further copies of a chunk: strip (left out, the default), or scratch (received where nobody reads).",
    read=_read_way,
)


def link_cost(schedule: Schedule, latency: float | None = None, rate: float | None = None) -> Cost:
    """Return the cost of a link: as said, else as the schedule was planned for, else 1 us and 125 MB/s."""
    own = schedule.costs.default if schedule.costs is not None else Costs.of(1e-6, 125e6).default
    return Cost(own.startup if latency is None else latency, own.per_byte if rate is None else 1 / rate)
