"""The words of reports: one word for each concept."""

import re
from pathlib import Path

from treecast.description import Description, Table

_PAGES = Path(__file__).with_name("names.md"), Path(__file__).parents[4] / "docs" / "names.md"
"""Where the page on names is: beside this file in an installed package, else among the pages of the repository."""


def topic() -> Description:
    """Return the words of the page on names, without its marks."""
    page = next(path for path in _PAGES if path.is_file()).read_text("utf-8")
    cells = [
        [_plain(cell) for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    rows = [(word, says) for word, says, *_ in cells[2:]]  # behind the head and the line below it
    columns = ("word", "means")
    return Table(columns, rows, of="words").alone()


def _plain(cell: str) -> str:
    return re.sub(r"[`*]", "", cell).strip()
