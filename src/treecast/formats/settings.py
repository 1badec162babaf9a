"""What several exporters can be told, and how its text is read."""

import math

from treecast.errors import FormatError
from treecast.formats.registry import Setting

_WAYS = ("strip", "scratch")
_UNITS = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30}


def read_size(text: str) -> int:
    """Return a number of bytes as people write it, with k, M or G for 2^10, 2^20 or 2^30.

    Raises
    ------
    FormatError
        When it is none, or 0.

    Examples
    --------
    >>> read_size("16M"), read_size("65536")
    (16777216, 65536)
    """
    digits, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS and text[-1:] else (text, "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits)):
        raise FormatError(f"{text!r} is no number of bytes: write 65536, 64k, 16M or 2G")
    return int(digits) * _UNITS[unit]


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
    what="How many bytes the data of all blocks together has (16M, 64k, 1000000); by default 64k a chunk.",
    read=read_size,
)
BANDWIDTH = Setting(
    name="bandwidth",
    keyword="bandwidth",
    what="The bytes that a link carries in a second; by default 125e6.",
    read=read_number,
)
LATENCY = Setting(
    name="latency",
    keyword="latency",
    what="The seconds that a link takes to carry nothing; by default 1e-6.",
    read=read_number,
)
ADDING = Setting(
    name="adding",
    keyword="adding",
    what="The nanoseconds that a node takes to add a number of 8 bytes; by default adding takes no time.",
    read=read_number,
)


def _read_way(text: str) -> str:
    if text not in _WAYS:
        raise FormatError(f"copies are {' or '.join(_WAYS)}, not {text!r}")
    return text


COPIES = Setting(
    name="copies",
    keyword="copies",
    what="What becomes of further copies of a chunk: strip (left out, the default), or scratch (received where nobody reads).",
    read=_read_way,
)
