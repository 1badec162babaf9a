"""The words of reports: one word for each concept."""

import re
from pathlib import Path

from treecast.description import Description, Table

_PAGES = Path(__file__).with_name("names.md"), Path(__file__).parents[4] / "docs" / "reference" / "names.md"
"""Where the page on names is: beside this file in an installed package, else among the pages of the repository."""


def topic() -> Description:
    """Return the words of the page on names, without its marks."""
    page = next(path for path in _PAGES if path.is_file()).read_text("utf-8")
    lines = [line.strip("|").split("|") for line in re.sub(r"[`*]", "", page).splitlines() if line.startswith("|")]
    rows = [(word.strip(), says.strip()) for word, says, *_ in lines[2:]]  # behind the head and the line below it
    return Table(("word", "means"), rows, of="words").alone()
