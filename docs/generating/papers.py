"""The tables of the papers' statements, which the pages on papers include: what is checked, and how far."""

from treecast.papers.theorems import PAPERS, SIZES

from .markdown import cell, table


def statements() -> dict[str, str]:
    """Return the table of each paper, by its name."""
    return {paper: _table(paper) for paper in PAPERS}


def _table(paper: str) -> str:
    letter = SIZES[paper].letter
    rows = [
        [
            cell(statement.name),
            cell(statement.says),
            f"{letter} = {statement.least} … {statement.usual}"
            if statement.usual > statement.least
            else f"{letter} = {statement.least}",
            str(statement.most),
            "holds" if statement.false_from is None else f"**false** from {letter} = {statement.false_from} on",
        ]
        for statement in PAPERS[paper]
    ]
    return table(("statement", "says", "checked for", "can be checked up to", "verdict"), rows)
