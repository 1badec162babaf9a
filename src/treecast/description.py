"""One description of each result, which JSON, the terminal and a notebook read alike.

Whoever adds a kind of result registers beside it how it is described, and nothing else:

>>> class Toss(Described):
...     heads = 7
>>> @describe.register
... def _(toss: Toss) -> Description:
...     return Description({"heads": toss.heads}, {"heads": count_of(toss.heads, "toss")})
>>> describe(Toss()).figures
{'heads': 7}
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from importlib import import_module
from io import StringIO
from typing import Any, Literal, cast

from treecast.errors import TreecastError

Mark = Literal["good", "bad", "quiet"]
"""The verdict of a cell on its row: all is well, something is wrong, or the row does not count."""
MOST_ROWS = 130
"""The rows of a table with a line for each node; of a longer one only those are shown that are not all well."""


@dataclass(frozen=True)
class Table:
    """A table for people: the heads of its ``columns``, and the cells of its ``rows``, which are spelled when they are shown.

    ``title`` stands above it, ``notes`` below. ``marks``: the verdicts of cells with certain contents. ``most``: the most rows to
    show; of a longer table the rows that are marked good are left out, then the last ones. ``of``: the name of the rows, in
    the plural.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    title: str = ""
    notes: tuple[str, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict[str, Mark])
    most: int | None = None
    of: str = "rows"

    @property
    def shown(self) -> Sequence[Sequence[object]]:
        """The rows to show."""
        if self.most is None or len(self.rows) <= self.most:
            return self.rows
        return [row for row in self.rows if not any(self.marks.get(str(cell)) == "good" for cell in row)][: self.most]

    @property
    def below(self) -> tuple[str, ...]:
        """The lines below the table: how many rows are left out, and the notes."""
        left = len(self.rows) - len(self.shown)
        return ((f"and {left:,} other {self.of}: --json lists them",) if left else ()) + self.notes

    def alone(self, notes: Iterable[str] = ()) -> "Description":
        """Return the description of a result that is this table: JSON holds its rows by column; ``notes`` follow it."""
        return Description(
            [dict(zip(self.columns, row, strict=True)) for row in self.rows], tables=(self,), notes=notes
        )


@dataclass(frozen=True)
class Description:
    """A result in all the forms in which it is shown.

    ``figures``: the contents of JSON; ranges of chunks are half-open pairs, and an iterable is written out when it is needed.
    ``lines``: the first part for people, names and values, a list of values below one another; the verdict comes first. Then
    come ``tables``, and ``notes``. ``holds``: whether all is as it should be, ``is_open``: whether too little is known to say.
    The command line's exit status is made of these.
    """

    figures: Mapping[str, object] | Iterable[object]
    lines: Mapping[str, object] = field(default_factory=dict[str, object])
    tables: tuple[Table, ...] = ()
    notes: Iterable[str] = ()
    holds: bool = True
    is_open: bool = False

    def pick(self, *names: str) -> dict[str, object]:
        """Return the figures of these names."""
        figures = cast(Mapping[str, object], self.figures)
        return {name: figures[name] for name in names}

    def adding(
        self,
        figures: Mapping[str, object] | None = None,
        lines: Mapping[str, object] | None = None,
        *tables: Table,
        notes: Iterable[str] = (),
    ) -> "Description":
        """Return the description with more figures, lines, tables and notes; lines that it has already keep their place."""
        return self.joined(Description(figures or {}, lines or {}, tables, notes))

    def joined(self, other: "Description", after: str = "") -> "Description":
        """Return this description and another in one, whose figures and lines replace those of one name; it holds when both do.

        ``after``: the line behind which the new lines of the other go; else they are the last.
        """
        lines, names = {**self.lines, **other.lines}, list(self.lines)
        if after in self.lines:
            place = names.index(after) + 1
            names[place:place] = [name for name in other.lines if name not in self.lines]
        # new lines without a place come last
        ordered = {name: lines[name] for name in names} | lines
        figures = self.figures
        if other.figures:
            figures = {**cast(Mapping[str, object], figures), **cast(Mapping[str, object], other.figures)}
        return replace(
            self,
            figures=figures,
            lines=ordered,
            tables=self.tables + other.tables,
            notes=(*self.notes, *other.notes),
            holds=self.holds and other.holds,
            # open where something is, and nothing is broken
            is_open=any(each.is_open for each in (self, other))
            and all(each.holds or each.is_open for each in (self, other)),
        )


def values_of(result: object, *names: str) -> dict[str, Any]:
    """Return the values of a result under their own names, for its figures."""
    return {name: getattr(result, name) for name in names}


@singledispatch
def describe(result: object) -> Description:
    """Return the description of a result, or of a list of such. Raises TypeError when nobody has registered how."""
    raise TypeError(f"nobody says how to describe a {type(result).__name__}: register it with describe.register")


@describe.register(list)
def _(results: list[Any]) -> Description:
    """Return the descriptions of several results in one: their figures as a list, their lines as rows of a table."""
    every = [describe(result) for result in results]
    tables = tuple(table for one in every for table in one.tables)
    columns = tuple(dict.fromkeys(name for one in every for name in one.lines))
    if columns:
        tables = (Table(columns, [[one.lines.get(name, "") for name in columns] for one in every]), *tables)
    return Description(
        [one.figures for one in every],
        tables=tables,
        notes=[note for one in every for note in one.notes],
        holds=all(one.holds for one in every),
    )


def node_table(
    columns: tuple[str, ...], rows: Sequence[Sequence[object]], marks: Mapping[str, Mark], of: str = "nodes"
) -> Table:
    """Return a table with a row for each node, of which at most ``MOST_ROWS`` are shown: those with no good mark first."""
    return Table(columns, rows, marks=marks, most=MOST_ROWS, of=of)


def data_frame(rows: Any) -> Any:
    """Return rows, or columns by their names, as a DataFrame of pandas. Raises TreecastError when pandas is missing."""
    try:
        return import_module("pandas").DataFrame(rows)
    except ImportError:
        raise TreecastError("a table of pandas needs pandas: pip install pandas") from None


def _rows_of(figures: Mapping[str, object] | Iterable[object]) -> list[Mapping[str, object]]:
    """Return the longest list of mappings among figures; where there is none, one row."""
    said = cast("Mapping[str, object]", figures if isinstance(figures, Mapping) else {"": list(figures)})
    lists = [cast("list[Any]", each) for each in said.values() if isinstance(each, list)]
    tables = [each for each in lists if each and all(isinstance(row, Mapping) for row in each)]
    if tables:
        return max(tables, key=len)
    pairs = list(_flat(said))
    # a last name that several have needs the whole way to it
    many = Counter(name.rpartition(".")[2] for name, _ in pairs)
    return [{name if many[last := name.rpartition(".")[2]] > 1 else last: value for name, value in pairs}]


def _flat(figures: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            yield before + name, value


def to_json(result: object) -> str:
    """Return the figures of a result, or of its description, as JSON."""
    found = result if isinstance(result, Description) else describe(result)
    return json.dumps(found.figures, ensure_ascii=False, indent=2, default=list)


def to_csv(result: object) -> str:
    """Return the rows of a result, or of its description, as CSV: those of its longest list of rows, else one row of figures."""
    found = result if isinstance(result, Description) else describe(result)
    rows, text = _rows_of(found.figures), StringIO()
    # a list stands in one cell, as JSON
    plain = [{name: json.dumps(each) if isinstance(each, list) else each for name, each in row.items()} for row in rows]
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(plain)
    return text.getvalue()


class Described:
    """A result that prints itself, and shows itself in a notebook, by its description."""

    def to_json(self) -> str:
        """Return its figures as JSON, as ``--json`` prints them."""
        return to_json(self)

    def to_pandas(self) -> Any:
        """Return its rows as a DataFrame of pandas: of a result that has none, one row of its figures.

        Raises TreecastError when pandas is missing.
        """
        return data_frame(_rows_of(describe(self).figures))

    def __str__(self) -> str:
        return to_text(describe(self).lines) or repr(self)

    def _repr_html_(self) -> str:

        return to_html(describe(self)) + more_of(self)


# -- how numbers, ranges, lists and lines are written for people

_WIDTH, _LINES = 78, 22  # less than a screen of 80 x 24 characters; long lines are broken in two


def spell(value: object) -> str:
    """Return a value as people read it.

    >>> spell(1234567), spell(0.01234), spell(12345.6), spell(True)
    ('1,234,567', '0.0123', '12,346', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def count_of(number: int, noun: str) -> str:
    """Return a number of things, the noun in its plural where there is not one.

    >>> count_of(1, "node"), count_of(1200, "node"), count_of(2, "class")
    ('1 node', '1,200 nodes', '2 classes')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")


def spell_range(first: int, stop: int) -> str:
    """Return the chunks ``first … stop-1`` by the first and the last of them.

    >>> spell_range(0, 4), spell_range(7, 8)
    ('0-3', '7')
    """
    return str(first) if stop == first + 1 else f"{first}-{stop - 1}"


def spell_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges (first, stop) of chunks, "" for none; of many only the first are written."""
    words = [spell_range(first, stop) for first, stop in ranges]
    return list_few(words) if words else ""


def spell_counts(counts: Mapping[Any, int]) -> str:
    """Return how many there are of each, as in tables of nodes: chunks by tree.

    >>> spell_counts({0: 8, 2: 52})
    '0:8 2:52'
    """
    return " ".join(f"{noun}:{count}" for noun, count in counts.items())


def list_few(words: Sequence[str], most: int = 20) -> str:
    """Return words behind commas, of many only the first, "none" of none.

    >>> list_few(["a", "b", "c"], most=2), list_few([])
    ('a, b and 1 more', 'none')
    """
    left = len(words) - most
    return ", ".join(words[:most]) + (f" and {left:,} more" if left > 0 else "") or "none"


def spell_lines(pairs: Mapping[str, object]) -> list[str]:
    """Return names and values, a line each; the values of a list stand below one another.

    >>> spell_lines({"heads": 1234, "tails": ["none", "that counts"]})
    ['heads  1,234', 'tails  none', '       that counts']
    """
    width, lines = max(map(len, pairs), default=0), list[str]()
    for name, value in pairs.items():
        values = list(cast("Iterable[object]", value)) if isinstance(value, list | tuple) else [value]
        lines += [f"{'' if place else name:<{width}}  {spell(each)}" for place, each in enumerate(values)]
    return lines


def to_text(pairs: Mapping[str, object]) -> str:
    """Return names and values, a line each, as far as they fit on a screen.

    >>> print(to_text({"heads": 1234, "tails": "none"}))
    heads  1,234
    tails  none
    """
    lines, kept, left = spell_lines(pairs), list[str](), _LINES
    for line in lines:
        short = line if len(line) <= 2 * _WIDTH else line[: 2 * _WIDTH - 1] + "…"
        # a long line takes two lines of the screen
        left -= -(-len(short) // _WIDTH)
        if left < 0:
            break
        kept.append(short)
    return "\n".join([*kept, *(["…"] if len(kept) < len(lines) else [])])


# -- a description as HTML, for notebooks

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
