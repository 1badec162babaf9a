"""A description as HTML, for notebooks."""

from collections.abc import Iterable
from importlib import import_module
from typing import cast

from treecast.description import Description, Table
from treecast.description.words import spell

_STYLES = {"good": "color: #1a7f37", "bad": "color: #c00; font-weight: bold", "quiet": "color: #888"}
_LEFT = "text-align: left; white-space: pre-wrap"


def more_of(result: object) -> str:
    """Return the HTML that a notebook shows below the description of a result: pictures lie above it, so by name."""
    below: str = import_module("treecast.drawing.explorer.page").page_below(result)
    return below


def to_html(description: Description) -> str:
    """Return a description as a piece of HTML: its lines, its tables and its notes."""
    parts = list[str]()
    if description.lines:
        parts.append(_table((_row("th", [name]) + _value(value) for name, value in description.lines.items()), ""))
    parts += [_of_table(table) for table in description.tables]
    notes = list(description.notes)
    if notes:
        parts.append(f"<pre>{_escape(chr(10).join(notes))}</pre>")
    return "\n".join(parts)


def _escape(text: str) -> str:
    """Return text for HTML; that module's table of entities is large, and every ``import torch`` comes by here."""
    return import_module("html").escape(text)


def _of_table(table: Table) -> str:
    marks = {cell: _STYLES[mark] for cell, mark in table.marks.items()}
    rows = (_row("td", map(spell, row), marks) for row in table.shown)
    below = "".join(f"<p>{_escape(line)}</p>" for line in table.below)
    return _table(rows, _row("th", table.columns), table.title) + below


def _value(value: object) -> str:
    values = cast(list[object], value) if isinstance(value, list) else [value]
    return _row("td", ["\n".join(map(spell, values))])


def _table(rows: Iterable[str], head: str, title: str = "") -> str:
    caption = f'<caption style="{_LEFT}">{_escape(title)}</caption>' if title else ""
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table>{caption}{top}<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _row(tag: str, cells: Iterable[str], styles: dict[str, str] | None = None) -> str:
    return "".join(
        f'<{tag} style="{_LEFT}{"; " + style if (style := (styles or {}).get(cell)) else ""}">{_escape(cell)}</{tag}>'
        for cell in cells
    )
