"""A statement of a paper, and the result of checking it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from treecast.description import Description, count_of, describe

LONGEST = 18
"""The letters of the longest name of a statement."""


class Checked(NamedTuple):
    """Whether a statement holds for one n, and a remark."""

    holds: bool
    detail: str = ""


Claims = Iterator[tuple[object, str]]
"""The claims of which a statement consists for one n, one after another: whether each holds, and a remark.

The remark of the first that does not hold says where; else that of the last is the remark of the statement.
"""


class Statement(NamedTuple):
    """A statement of a paper: checked for n = ``least`` to ``usual``, or further on request, at most to ``most``.

    ``false_from``: of a statement that is in the paper's words and known to be false, the least n for which it is.
    ``shows``: for one n, something that can be drawn, and the faults that the picture shows.
    """

    name: str
    says: str
    least: int
    usual: int
    most: int
    claims: Callable[[int], Claims]
    false_from: int | None = None
    shows: Callable[[int], tuple[Any, Any]] | None = None

    def check(self, n: int) -> Checked:
        """Return whether all claims hold for one n."""
        detail = ""
        # Claims are computed one by one: the first that is false ends it.
        for holds, detail in self.claims(n):
            if not holds:
                return Checked(False, detail)
        return Checked(True, detail)


class Statements(list[Statement]):
    """The statements of a paper, or of a part of it. One is stated above the function that yields its claims."""

    def __call__(
        self,
        name: str,
        says: str,
        least: int,
        usual: int,
        most: int,
        *,
        false_from: int | None = None,
        shows: Callable[[int], tuple[Any, Any]] | None = None,
    ) -> Callable[[Callable[[int], Claims]], Callable[[int], Claims]]:
        """State the claims of the function below."""

        def state(claims: Callable[[int], Claims]) -> Callable[[int], Claims]:
            self.append(Statement(name, says, least, usual, most, claims, false_from, shows))
            return claims

        return state


def spell_sum(findings: Sequence["CheckedStatement"]) -> str:
    """Return how many statements hold and how many are false, and whether that is known of them."""
    false = [finding for finding in findings if not finding.holds]
    known = sum(finding.as_known for finding in false)
    found = [f"{count_of(len(findings), 'statement')}: {len(findings) - len(false):,} hold"]
    if known:
        found.append(
            f"{known:,} in the paper's words {'is' if known == 1 else 'are'} FALSE, as is known, by the size beside it"
        )
    if other := [finding.name for finding in findings if not finding.as_known]:
        found.append(f"NOT as is known, exit status 1: {', '.join(other)}")
    return "; ".join(found)


@dataclass(frozen=True)
class CheckedStatement:
    """The result for one statement: for which n it was checked, whether it holds for all of them, and a remark.

    ``as_known``: whether that is the known verdict. A statement in the paper's words that is known to be false must be found
    false, for the very n from which it is; all others must hold.
    """

    name: str
    says: str
    checked: str
    holds: bool
    as_known: bool
    detail: str
    seconds: float


@describe.register
def _(finding: CheckedStatement) -> Description:
    verdict = "holds" if finding.holds else "FALSE"
    detail = f"  {finding.detail}" if finding.detail else ""
    head = f"{verdict}  {finding.name:<{LONGEST}}  {finding.checked:<11} {finding.seconds:8.2f} s{detail}"
    known = "" if finding.as_known else "; NOT KNOWN to be false" if not finding.holds else "; KNOWN to be false"
    return Description(asdict(finding), notes=(head, f"       {finding.says}{known}"), holds=finding.as_known)
