"""``treecast theorems``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import Names
from treecast.cli.options import Json
from treecast.description import Table
from treecast.errors import TreecastError
from treecast.papers.statement import spell_sum
from treecast.papers.theorems import PAPERS, SIZES, CheckedStatement, each_theorem, shown

_LETTERS = ", ".join(f"{size.letter} of the {size.network}" for size in SIZES.values())


def theorems(
    paper: Annotated[str, Parameter(help=f"The paper: {', '.join(PAPERS)}; without one they are listed.")] = "",
    /,
    *,
    up_to: Annotated[
        int | None, Parameter(help=f"Check up to this size ({_LETTERS}), as far as each check can go.")
    ] = None,
    only: Annotated[
        Names, Parameter(help='Check the statements that have one of these texts in their names: "Lemma 6" erratum.')
    ] = (),
    draw: Annotated[
        str | None,
        Parameter(help="Also draw into this file what a statement shows: the walk of section 4.4 of the star paper."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check the statements of a paper by computing, and print for which sizes each was checked, the verdict and the time.

    FALSE is a statement in the paper's words with a counter-example at the size beside it. The exit status is 0 where each
    statement has its known verdict, and 1 where one that ought to hold is false, or one that is known to be false holds.

    Example: treecast theorems star --up-to 10 --only "Lemma 6"
    """

    # 1. Without a paper: the list of papers.
    if not paper:
        if up_to is not None or only or draw:
            raise TreecastError(f"name the paper, too: {', '.join(PAPERS)}")
        rows = [(name, SIZES[name].network, len(statements)) for name, statements in PAPERS.items()]
        table = Table(("paper", "networks", "statements"), rows, of="papers")
        return console.show(table.alone(["'treecast theorems star' checks those of one"]), as_json)
    if draw is not None:
        # 2. The picture first: an error in its name comes before minutes of checks.
        from treecast.drawing import pictures

        subject, faults = shown(paper, up_to, only)
        pictures.draw(subject, draw, faults=faults)
    # 3. Each statement, told as soon as it is checked.
    checked, found = each_theorem(paper, up_to, only), list[CheckedStatement]()
    while True:
        with console.progress("theorems"):
            finding = next(checked, None)
        if finding is None:
            break
        found.append(finding)
        if not as_json:
            console.show(finding, False)
            console.flush()  # a reader of the pipe sees each when it is checked
    if draw is not None:
        console.wrote(draw)
    # 4. The sum of all, and the exit status.
    if as_json:
        return console.show(found, True)
    console.show_text(spell_sum(found))
    return int(not all(each.as_known for each in found))
