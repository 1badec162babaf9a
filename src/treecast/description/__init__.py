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

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from importlib import import_module
from typing import Any, Literal, cast

from treecast.description.words import count_of as count_of
from treecast.description.words import list_few as list_few
from treecast.description.words import spell as spell
from treecast.description.words import spell_counts as spell_counts
from treecast.description.words import spell_range as spell_range
from treecast.description.words import spell_ranges as spell_ranges
from treecast.description.words import to_text
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
    many = Counter(name.rpartition(".")[2] for name, _ in pairs)
    return [{name if many[last := name.rpartition(".")[2]] > 1 else last: value for name, value in pairs}]


def _flat(figures: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            yield before + name, value


class Described:
    """A result that prints itself, and shows itself in a notebook, by its description."""

    def to_json(self) -> str:
        """Return its figures as JSON, as ``--json`` prints them."""
        return json.dumps(describe(self).figures, ensure_ascii=False, indent=2, default=list)

    def to_pandas(self) -> Any:
        """Return its rows as a DataFrame of pandas: of a result that has none, one row of its figures.

        Raises TreecastError when pandas is missing.
        """
        return data_frame(_rows_of(describe(self).figures))

    def __str__(self) -> str:
        return to_text(describe(self).lines) or repr(self)

    def _repr_html_(self) -> str:
        from treecast.description.notebook import more_of, to_html

        return to_html(describe(self)) + more_of(self)
