"""Bytes, seconds, rates and counts as people write them: ``16MiB``, ``1us``, ``12.5GB/s``, ``64k``.

Every verb, file and function reads them here. A text of a time or rate names its unit; a number is seconds, or bytes a second.
"""

import math
import re
from fractions import Fraction

from treecast.errors import TreecastError, shorten

_NUMBER = r"[0-9]{1,19}(?:\.[0-9]{1,19})?(?:[eE][-+]?[0-9]{1,2})?"
_MOST = 10**30  # seconds, or bytes a second
_THOUSANDS = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_COUNTS = {sign: Fraction(size) for sign, size in _THOUSANDS.items()}
_BYTES = {
    "": 1,
    "B": 1,
    **{f"{sign}B": size for sign, size in _THOUSANDS.items()},
    **{f"{sign}iB": 1024**power for power, sign in enumerate("KMGT", 1)},
    **{sign: 1024**power for power, sign in enumerate("kMGT", 1)},
    "K": 1024,
}
_UNITS = ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "kB")
_SECONDS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    **dict.fromkeys(("us", "µs", "μs"), Fraction(1, 10**6)),
    "ns": Fraction(1, 10**9),
}
_RATES = {
    **{f"{unit}/s": Fraction(size) for unit, size in _BYTES.items() if "B" in unit},
    **{f"{sign}bit/s": Fraction(size, 8) for sign, size in {"": 1, **_THOUSANDS}.items()},
}


def parse_bytes(text: str | int) -> int:
    """Return a number of bytes: ``65536``, ``64k``, ``64K`` or ``64KiB`` (2^10 each), ``64kB`` (10^3 each), ``16MiB``, ``2GB``.

    Raises TreecastError when it is no whole number of bytes above 0.

    >>> parse_bytes("16MiB"), parse_bytes("1.5kB"), parse_bytes(100)
    (16777216, 1500, 100)
    """
    if isinstance(text, float):
        size = Fraction(text) if math.isfinite(text) else None
    else:
        size = Fraction(text) if isinstance(text, int) else _read(text, {u: Fraction(s) for u, s in _BYTES.items()})
    if size is None or size.denominator > 1 or not 0 < size < 2**63:
        raise TreecastError(f"{shorten(repr(text))} is no number of bytes: write 65536, 64KiB, 16MiB or 2GB")
    return int(size)


def parse_seconds(text: str | float) -> float:
    """Return a time in seconds: ``1us``, ``200ns``, ``1.5ms``, ``2s``, ``0``; a number counts seconds.

    Raises TreecastError when it is no time from 0 on, or a text without a unit.

    >>> parse_seconds("1us"), parse_seconds(2.5)
    (1e-06, 2.5)
    """
    return float(_from_zero(text, _SECONDS, "time", "1us, 1.5ms or 2s"))


def parse_rate(text: str | float) -> float:
    """Return a rate in bytes a second: ``12.5GB/s``, ``100Gbit/s``; ``inf`` where bytes take no time; or a number.

    Raises TreecastError when it is no rate above 0, or a text without a unit; also for ``Gb/s``, which may be bits or bytes.

    >>> parse_rate("100Gbit/s"), parse_rate("12.5GB/s")
    (12500000000.0, 12500000000.0)
    """
    if isinstance(text, str) and (found := re.fullmatch(rf"{_NUMBER}\s*([kKMGT]?)(?:b/s|bps|bit)", text.strip())):
        raise TreecastError(f"{text!r} may be bits or bytes: write {found[1]}bit/s or {found[1]}B/s")
    if text in ("inf", math.inf):
        return math.inf
    rate = _from_zero(text, _RATES, "rate", "12.5GB/s or 100Gbit/s")
    if not rate:
        raise TreecastError(
            f"{text!r} is no rate: a link that carries nothing is a cut one; write 12.5GB/s or 100Gbit/s"
        )
    return float(rate)


def parse_share(text: str) -> float:
    """Return a share of something, from 0 to 1: ``0.01``, ``1%``. Raises TreecastError when it is no such number.

    >>> parse_share("50%"), parse_share("0.01")
    (0.5, 0.01)
    """
    value = _read(text, {"": Fraction(1), "%": Fraction(1, 100)})
    if value is None or value > 1:
        raise TreecastError(f"{text!r} is no share: write 1%, or 0.01")
    return float(value)


def parse_count(text: str) -> int:
    """Return how many messages people mean by ``400``, ``64k`` (10^3 each) or ``1e6``; numbers below 0 are taken, too.

    Raises TreecastError when it is no whole number.

    >>> parse_count("64k"), parse_count("1e6")
    (64000, 1000000)
    """
    number = _read(text.removeprefix("-").replace("_", ""), {"": Fraction(1), **_COUNTS})
    if number is None or number.denominator > 1:
        raise TreecastError(f"{shorten(text)!r} is no number of messages: write it as in 400, 64k or 1e6")
    return -int(number) if text.startswith("-") else int(number)


def spell_seconds(seconds: float) -> str:
    """Return a time with four digits, in the greatest unit of which it is one at least.

    >>> spell_seconds(0.0015110), spell_seconds(2.5e-7), spell_seconds(75), spell_seconds(0)
    ('1.511 ms', '250 ns', '75 s', '0 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        # what four digits would round up to a whole unit is told in that unit
        if seconds >= 0.99995 * size or (unit == "ns" and seconds):
            value = seconds / size
            # four digits in all, so fewer after the point the more stand before it
            digits = f"{value:,.{max(0, 3 - int(math.log10(value))) if value >= 1 else 3}f}"
            return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + f" {unit}"
    return "0 s"


def spell_ratio(ratio: float) -> str:
    """Return by how many times something is longer or dearer, with three digits behind the point.

    >>> spell_ratio(1), spell_ratio(2.93719), spell_ratio(144.2)
    ('1.000', '2.937', '144.2')
    """
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:,.1f}"


def spell_bytes(size: int) -> str:
    """Return a number of bytes, in the unit that makes it a whole number of the fewest digits.

    >>> spell_bytes(16777216), spell_bytes(16_000_000), spell_bytes(204_608)
    ('16 MiB', '16 MB', '204,608 bytes')
    """
    whole = [(size // _BYTES[unit], unit) for unit in _UNITS if size and size % _BYTES[unit] == 0]
    fewest = min(whole, key=lambda each: len(str(each[0])), default=(size, ""))
    if len(str(fewest[0])) < len(str(size)):
        return f"{fewest[0]:,} {fewest[1]}"
    return f"{size:,} byte{'s' if size != 1 else ''}"


def _from_zero(text: str | float, units: dict[str, Fraction], noun: str, right: str) -> Fraction:
    if isinstance(text, str):
        value = _read(text, units)
        if value is None and _read(text, {"": Fraction(1)}):
            some = [unit for unit in ("us", "ms", "s", "GB/s", "Gbit/s") if unit in units]
            raise TreecastError(f"{text!r} has no unit: write {' or '.join(text.strip() + unit for unit in some)}")
        # 0 is 0 in any unit
        value = Fraction(0) if value is None and re.fullmatch(r"0+(\.0*)?", text) else value
    else:
        value = Fraction(text) if math.isfinite(text) else None
    if value is None or not 0 <= value < _MOST:
        raise TreecastError(f"{text!r} is no {noun}: write {right}")
    return value


def _read(text: str, units: dict[str, Fraction]) -> Fraction | None:
    found = re.fullmatch(rf"({_NUMBER})\s*(.*)", text.strip())
    return None if found is None or found[2] not in units else Fraction(found[1]) * units[found[2]]
