"""Markdown of what registries say."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO

from treecast.cli import main
from treecast.description import Description, Table, spell


def cell(value: object) -> str:
    """Return a value as the cell of a table: one line, in which nothing is taken for Markdown."""
    text = " ".join(spell(value).split()) if not isinstance(value, str) else " ".join(value.split())
    escaped = re.sub(r"([|*_<>\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w\\-])--[a-z][a-z-]*", r"`\g<0>`", escaped)  # two dashes would become a longer one


def code(text: str) -> str:
    """Return a text as code within a line or cell."""
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [list(columns), ["---"] * len(columns), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_table(shown: Table) -> str:
    """Return a table of a description; its first column is what things are called, so it is code."""
    rows = [[code(str(row[0])), *map(cell, row[1:])] for row in shown.rows]
    return table(shown.columns, rows) + "".join(f"\n{cell(note)}\n" for note in shown.notes)


def of_description(shown: Description) -> str:
    """Return the lines, tables and notes of a description."""
    lines = [f"- **{cell(name)}**: {cell(value)}\n" for name, value in shown.lines.items()]
    notes = [f"- {cell(note)}\n" for note in shown.notes]
    return "".join(lines) + "\n" + "\n".join(map(of_table, shown.tables)) + "\n" + "".join(notes)


def doc_of(thing: object) -> str:
    """Return what a function, class or module says of itself, as Markdown, without the parts of numpydoc."""
    text, *_ = re.split(
        r"\n(?:(?:Parameters|Returns|Raises|Examples|Attributes)\n-+\n|>>> )", inspect.getdoc(thing) or ""
    )
    return of_prose(text)


def of_prose(text: str) -> str:
    """Return the prose of a docstring as Markdown: its code, emphasis and lists stay, nothing else is taken for Markdown."""
    parts = re.split(r"(``[^`]*``)", text.strip())
    parts = [part[1:-1] if part.startswith("``") else re.sub(r"([<>\[\]_|])", r"\\\1", part) for part in parts]
    return "".join(parts)


def block(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def printed(arguments: Sequence[str], keep: Callable[[str], bool] = lambda line: True) -> str:
    """Return what a command prints: those of its lines that are kept."""
    output = StringIO()
    with redirect_stdout(output):
        main(list(arguments))
    return "\n".join(line for line in output.getvalue().splitlines() if keep(line))


def page(title: str, *parts: str) -> str:
    """Return a page: its title, and parts with an empty line between them."""
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts if part.strip())]) + "\n"
