"""A statement of a paper, and the result of checking it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import NamedTuple

from treecast.description import Description, describe


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


@describe.register
def _(finding: Finding) -> Description:
    verdict = "holds" if finding.holds else "FALSE"
    detail = f"  {finding.detail}" if finding.detail else ""
    head = f"{verdict}  {finding.name:<12}  {finding.checked:<11} {finding.seconds:8.2f} s{detail}"
    return Description(asdict(finding), notes=(head, f"       {finding.says}"), holds=finding.holds)
