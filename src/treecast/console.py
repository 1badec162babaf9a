"""What the command line shows: tables and data on standard output, progress and chatter on standard error."""

import json
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table


def show_json(data: object) -> None:
    """Print data as JSON on standard output."""
    print(json.dumps(data, ensure_ascii=False, indent=2))  # noqa: T201


def show_text(text: str) -> None:
    """Print text on standard output as it is."""
    print(text)  # noqa: T201


def say(text: str) -> None:
    """Print a remark on standard error."""
    _console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)


def show_figures(figures: Mapping[str, object]) -> None:
    """Print names and values, a line each."""
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        show_text(f"{name.replace('_', ' '):<{width}}  {_spelled(value)}")


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], marks: Mapping[str, str] | None = None
) -> None:
    """Print a table; ``marks`` gives the style of cells with certain contents."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        cells = [_spelled(value) for value in row]
        table.add_row(*(f"[{marks[cell]}]{cell}[/]" if marks and cell in marks else _plain(cell) for cell in cells))
    console = _console()
    if not console.is_terminal:
        console.width = 200
    console.print(table, highlight=False)


def _plain(cell: str) -> str:
    return cell.replace("[", r"\[")


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_spelled(v)}" for k, v in value.items())  # type: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return ", ".join(_spelled(v) for v in value) or "none"  # type: ignore[reportUnknownVariableType]
    return str(value)


def _console(stderr: bool = False) -> Console:
    return Console(stderr=stderr, soft_wrap=False)


@contextmanager
def progress(title: str) -> Generator[Callable[[int, int], None]]:
    """Show a bar on standard error for as long as the work takes; nothing when that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
