"""The papers' statements as checks that run, each with the range in which it was checked, the verdict and the time."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from treecast.errors import PlanError, did_you_mean
from treecast.networks import permutations
from treecast.papers.hypercube import statements as hypercube
from treecast.papers.mesh import statements as mesh
from treecast.papers.star import collectives as star_collectives
from treecast.papers.star import statements as star
from treecast.papers.statement import CheckedStatement, Statement
from treecast.papers.trees import statements as trees
from treecast.progress import Progress, part_of, report, reporting

__all__ = ["PAPERS", "SIZES", "CheckedStatement", "check_theorems"]

PAPERS: dict[str, tuple[Statement, ...]] = {
    "star": (*star.stated, *star_collectives.stated),
    "hypercube": tuple(hypercube.stated),
    "mesh": tuple(mesh.stated),
    "trees": tuple(trees.stated),
}
"""The statements of each paper."""


class _Size(NamedTuple):
    """The size of a paper's networks: its letter in the paper, and the range that can be checked."""

    network: str
    letter: str
    least: int
    most: int


SIZES = {
    "star": _Size("star network", "n", 3, permutations.MAX_SYMBOLS),
    "hypercube": _Size("hypercube", "d", 1, max(statement.most for statement in hypercube.stated)),
    "mesh": _Size("mesh", "k", 1, max(statement.most for statement in mesh.stated)),
    "trees": _Size("tree", "N", 2, max(statement.most for statement in trees.stated)),
}
"""How each paper counts the sizes for which its statements are checked."""


def check_theorems(
    paper: str = "star", up_to: int | None = None, progress: Progress | None = None, *, only: Sequence[str] = ()
) -> list[CheckedStatement]:
    """Check the statements of a paper by computing.

    Parameters
    ----------
    paper : {"star", "hypercube", "mesh", "trees"}
        The paper.
    up_to : int, optional
        Check for sizes up to this one, as far as each check can go. The default is a size that takes seconds.
    progress : callable, optional
        Told which statement is being checked, and how much of how much is done.
    only : sequence of str, optional
        Check the statements that have one of these texts in their names, as ``Theorem 3``. The default is all of them.

    Returns
    -------
    list of CheckedStatement
        Of each statement its words, the sizes for which it was checked, and whether it holds. Statements of a paper that
        are known to be false are there in its own words: for them ``holds`` is False, and ``as_known`` is True.

    Raises
    ------
    PlanError
        For a paper that is not there, for sizes beyond the checks, and for a text that is in no name.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.check_theorems("star", up_to=3)
    >>> all(finding.as_known for finding in found), found[0].checked
    (True, 'n = 2 … 3')
    >>> [(finding.holds, finding.as_known) for finding in treecast.check_theorems("trees", only=["Theorem 3"])]
    [(True, True), (False, True), (True, True)]
    """
    with reporting(progress):
        return list(each_theorem(paper, up_to, only))


def each_theorem(paper: str, up_to: int | None = None, only: Sequence[str] = ()) -> Iterator[CheckedStatement]:
    """Return the statements of a paper one after another, each as it is checked: see ``check_theorems``."""
    if paper not in PAPERS:
        hint = did_you_mean(paper, PAPERS)
        raise PlanError(f"there is no paper {paper!r} yet; there is: {', '.join(PAPERS)}{hint}")
    network, letter, least, most = SIZES[paper]
    if up_to is not None and not least <= up_to <= most:
        raise PlanError(f"theorems of the {network} can be checked up to {letter} = {least} … {most}, not {up_to}")
    return (_find(statement, letter, up_to) for statement in _named(paper, only))


def _named(paper: str, only: Sequence[str]) -> list[Statement]:
    """Return the statements of a paper that have one of the texts in their names; without any text, all of them."""
    names = [statement.name for statement in PAPERS[paper]]
    for text in only:
        if not any(text in name for name in names):
            raise PlanError(
                f"no statement of {paper} has {text!r} in its name; there are: {', '.join(names)}{did_you_mean(text, names)}"
            )
    return [statement for statement in PAPERS[paper] if not only or any(text in statement.name for text in only)]


def shown(paper: str, up_to: int | None = None, only: Sequence[str] = ()) -> tuple[Any, Any]:
    """Return what the first of the named statements shows that shows something, and the faults in it.

    The size is the least for which a statement is known to be false, else the last that is checked. Raises PlanError where none
    shows anything.
    """
    for statement in _named(paper, only):
        if statement.shows is not None:
            return statement.shows(statement.false_from or _last(statement, up_to))
    able = [statement.name for statement in PAPERS[paper] if statement.shows is not None]
    others = [name for name, statements in PAPERS.items() if any(each.shows is not None for each in statements)]
    there = f"; there is of: {', '.join(able)}" if able else f"; there is of the {' and the '.join(others)} paper"
    raise PlanError(f"there is no picture of these statements of the {paper} paper{there}")


def _last(statement: Statement, up_to: int | None) -> int:
    return max(statement.least, min(statement.most, up_to or statement.usual))


def _find(statement: Statement, letter: str, up_to: int | None) -> CheckedStatement:
    began, details, holds = time.perf_counter(), list[str](), True
    last = _last(statement, up_to)
    # Right so far: a statement that is known to be false from n on must not be found true there.
    checked, as_known = f"{letter} = {statement.least} … {last}", last < (statement.false_from or last + 1)
    for n in range(statement.least, last + 1):
        with part_of(f"{statement.name}, {letter} = {n}"):
            report(0, 1)
            holds, detail = statement.check(n)
        if not holds:
            # A counter-example is known only where it is the known one.
            checked, as_known, details = f"{letter} = {n}", n == statement.false_from, [detail]
            break
        details.append(detail)
    seconds = time.perf_counter() - began
    return CheckedStatement(statement.name, statement.says, checked, holds, as_known, _join(details), seconds)


def _join(details: list[str]) -> str:
    """Return the remark of the last n, or all of them where they are short."""
    return ", ".join(details) if any(details) and all(len(d) <= 8 for d in details) else details[-1]
