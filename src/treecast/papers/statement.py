"""A statement of a paper, and the result of checking it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Verdict(NamedTuple):
    """Whether a statement holds for one n, and a remark."""

    holds: bool
    detail: str = ""


class Statement(NamedTuple):
    """A statement of a paper: checked for n = ``least`` to ``usual``, or further on request, at most to ``most``."""

    name: str
    says: str
    least: int
    usual: int
    most: int
    check: Callable[[int], Verdict]


@dataclass(frozen=True)
class Finding:
    """The result for one statement: for which n it was checked, whether it holds for all of them, and a remark."""

    name: str
    says: str
    checked: str
    holds: bool
    detail: str
    seconds: float
