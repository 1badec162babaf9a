"""Text as machines print it: decoded, in lines that are not too long, with numbers that are not too large."""

import re
from collections.abc import Iterator

_LONGEST = 1 << 16  # bytes of a line
_MOST_COUNTED = 65_535
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a text; wrong bytes are replaced. Raises ValueError when it is no text, or a line is too long."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is text in UTF-16: save it as UTF-8")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST:
            raise ValueError(f"line {number} has {len(line):,} characters: the most are {_LONGEST:,}")
    return lines


def whole_number(text: str, name: str, most: int = _MOST_COUNTED) -> int:
    """Return a number that counts something. Raises ValueError when it is none from 0 to ``most``.

    >>> whole_number("12", "count")
    12
    """
    # no sign, and no digits of other alphabets
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
        raise ValueError(f"{name} is {text[:40]!r}: write a whole number from 0 to {most:,}")
    return int(text)


def check_whole(many: int, said: str, name: str) -> None:
    """Raise ValueError when a file has another number of things than it says at its top: it may be cut off.

    >>> check_whole(4, "5", "entries")
    Traceback (most recent call last):
    ...
    ValueError: it has 4 entries, and its top says 5: give the whole file
    """
    if many != (wanted := whole_number(said, f"its number of {name}", 1 << 28)):
        raise ValueError(f"it has {many:,} {name}, and its top says {wanted:,}: give the whole file")


def plain(text: str) -> str:
    """Return a text without control characters, of at most 256 characters.

    >>> plain("a\\x1b[1mb")
    'a[1mb'
    """
    return _CONTROL.sub("", text)[:256]


class Scanner:
    """The words of a text, each with its line, one after the other: ``next`` comes next, and is empty at the end.

    >>> words = Scanner(iter([("a", 1), ("b", 2)]))
    >>> words.take(), words.line, words.next
    ('a', 1, 'b')
    """

    _line: int  # of the next word

    def __init__(self, words: Iterator[tuple[str, int]]) -> None:
        self._left, self.line = words, 0
        self.next, self._line = next(words, ("", 0))

    def take(self) -> str:
        """Return the next word, and go on."""
        word, self.line = self.next, self._line
        self.next, self._line = next(self._left, ("", self.line))
        return word
