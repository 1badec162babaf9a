"""Bytes, seconds and rates as people write them."""

from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import TreecastError
from treecast.units import parse_bytes, parse_count, parse_rate, parse_seconds, spell_bytes, spell_seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1), ("64k", 65536), ("64KiB", 65536), ("64kB", 64000), ("1.5 MiB", 1572864), ("2GB", 2 * 10**9),
        ("1e6", 10**6), ("16K", 16384), ("3TiB", 3 << 40), (12, 12), ("7B", 7), ("10KB", 10_000),
    ],
)  # fmt: skip
def test_bytes(text: Any, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("250 ns", 2.5e-7),
        ("1.5ms", 1.5e-3),
        ("0", 0.0),
        ("2s", 2.0),
        (0, 0.0),
        (0.5, 0.5),
    ],
)
def test_seconds(text: Any, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("12.5GB/s", 12.5e9), ("100Gbit/s", 12.5e9), ("1kbit/s", 125.0),
        ("1GiB/s", 2.0**30), ("125e6B/s", 125e6), (5, 5.0), ("inf", inf),
        ("8bit/s", 1.0),
    ],
)  # fmt: skip
def test_rates(text: Any, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (parse_bytes, "0", "no number of bytes"),
        (parse_bytes, "1.5", "no number of bytes"),
        (parse_bytes, "-4", "no number of bytes"),
        (parse_bytes, "16MB/s", "no number of bytes"),
        (parse_bytes, "1e400", "no number of bytes"),
        (parse_bytes, "1e30", "no number of bytes"),
        (parse_bytes, "", "no number of bytes"),
        (parse_bytes, "٣", "no number of bytes"),
        (parse_seconds, "-1us", "no time"),
        (parse_seconds, "inf", "no time"),
        (parse_seconds, inf, "no time"),
        (parse_seconds, nan, "no time"),
        (parse_seconds, "1 hour", "no time"),
        (parse_seconds, "5", "'5' has no unit: write 5us or 5ms or 5s"),
        (parse_seconds, "1e40s", "no time"),
        (parse_rate, "0GB/s", "a link that carries nothing is a cut one"),
        (parse_rate, "125e6", "has no unit: write 125e6GB/s or 125e6Gbit/s"),
        (parse_rate, "12.5Gb/s", "may be bits or bytes: write Gbit/s or GB/s"),
        (parse_rate, "10Gbps", "may be bits or bytes"),
        (parse_rate, -1, "no rate"),
        (parse_rate, "fast", "no rate"),
    ],
)
def test_nonsense_is_one_line_that_says_what_would_be_right(parse: Any, text: Any, says: str) -> None:
    with pytest.raises(TreecastError, match=says) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    assert "write" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "count"), [("400", 400), ("64k", 64_000), ("1e6", 10**6), ("1_000", 1000), ("1.5k", 1500), ("-3", -3)]
)
def test_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (16 * 10**6, "16 MB"),
        (144 * 10**6, "144 MB"),
        (1 << 24, "16 MiB"),
        (65536, "64 KiB"),
        (1000, "1 kB"),
        (1, "1 byte"),
    ],
)
def test_a_round_number_of_bytes_stays_round(size: int, words: str) -> None:
    assert spell_bytes(size) == words


@given(st.integers(1, 2**62))
def test_what_is_spelled_is_read_again(size: int) -> None:
    assert parse_bytes(spell_bytes(size).replace(",", "").replace("bytes", "B").replace("byte", "B")) == size


@given(st.floats(1e-9, 1e5))
def test_a_spelled_time_has_three_digits_at_least(seconds: float) -> None:
    number, unit = spell_seconds(seconds).replace(",", "").split()
    size = {"s": 1, "ms": Fraction(1, 10**3), "µs": Fraction(1, 10**6), "ns": Fraction(1, 10**9)}[unit]
    assert abs(float(Fraction(number) * size) / seconds - 1) < 1e-3
