"""The output of the command line: tables and data on standard output, progress and chatter on standard error."""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import TextIO

from treecast.description import Description, Table, describe, spell, spell_lines, to_json
from treecast.progress import reporting

_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def show_text(text: str) -> None:
    """Print text on standard output as it is; print nothing more once its reader has left (``| head``)."""
    try:
        print(text)  # noqa: T201
    except BrokenPipeError:
        drop_output()


def flush() -> None:
    """Hand over the text that has been printed so far."""
    if sys.stdout is None:  # type: ignore[reportUnnecessaryComparison]  # the caller closed it
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Lead standard output to nowhere, so that its buffer raises nothing at exit."""
    try:
        # The buffer still has text, and Python flushes it at exit: into nothing, and without an error then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # it is no real file
        return


def say(text: str) -> None:
    """Print a remark on standard error, when that is a terminal."""
    if is_terminal(sys.stderr):
        print(text, file=sys.stderr)  # noqa: T201


def warn(text: str) -> None:
    """Print a warning on standard error, whoever reads it."""
    if sys.stderr is not None:  # type: ignore[reportUnnecessaryComparison]
        print(text, file=sys.stderr)  # noqa: T201


def show(result: object, as_json: bool) -> int:
    """Print a result, or its description, as JSON or for people; return the exit status: 0 it holds, 1 it does not, 3 unknown.

    The parts that people read stand apart: lines, tables, notes.
    """
    description = result if isinstance(result, Description) else describe(result)
    if as_json:
        show_text(to_json(description))
        return _status(description)
    apart = False
    if description.lines:
        show_lines(description.lines)
        apart = True
    for table in description.tables:
        if apart:
            show_text("")
        show_table(table)
        apart = True
    for note in description.notes:
        if apart:
            show_text("")
        show_text(note)
        # notes stand apart from tables, but not from one another
        apart = False
    return _status(description)


def _status(description: Description) -> int:
    return 3 if description.is_open else 0 if description.holds else 1


def show_lines(lines: Mapping[str, object]) -> None:
    """Print names and values, a line each; values in a list below one another."""
    for line in spell_lines(lines):
        show_text(line)


def show_table(table: Table) -> None:
    """Print a table with its title, and below it how much is left out, and its notes."""
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    if table.title:
        show_text(table.title)
    grid = Grid(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in table.columns:
        grid.add_column(column, overflow="fold")
    styles = {cell: _STYLES[mark] for cell, mark in table.marks.items()}
    for row in table.shown:
        cells = [spell(value) for value in row]
        grid.add_row(*(Text(cell, styles.get(cell, "")) for cell in cells))
    # mpirun gives ranks a terminal also where their output goes into a file
    console = Console(force_terminal=False) if os.environ.get("NO_COLOR") else Console()
    if not console.is_terminal:
        # no terminal: as wide as most tables are, so that few cells are folded
        console.width = 200
    with console.capture() as shown:
        console.print(grid, highlight=False)
    for line in shown.get().splitlines():
        show_text(line.rstrip())
    for line in table.below:
        show_text(line)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether people are looking at standard output or standard error."""
    return stream is not None and stream.isatty()


_PATIENCE = 10.0  # seconds until work says that it goes on where no bar is shown


def wrote(output: str, more: str = "") -> None:
    """Say on standard error which file was written."""
    warn(f"wrote {output}{more}")


@contextmanager
def _line_after(title: str) -> Generator[None]:
    """Print one line on standard error if the work takes long: how far it is."""
    told = [""]

    def show(done: int, total: int, name: str) -> None:
        told[0] = f": {name or title}, {done:,} of {total:,}" if total else f": {name}" if name else ""

    def tell() -> None:
        warn(f"treecast: still at work after {_PATIENCE:g} s{told[0]}")

    timer = Timer(_PATIENCE, tell)
    timer.daemon = True
    timer.start()
    try:
        with reporting(show):
            yield
    finally:
        timer.cancel()


@contextmanager
def progress(title: str, after: float = 0) -> Generator[None]:
    """Show a bar on standard error for as long as the work takes; where that is no terminal, a line after ten seconds.

    It shows the reports of the work inside (``treecast.progress.report``). ``after``: it appears when so many seconds have
    passed, also where nothing is reported.
    """
    if not is_terminal(sys.stderr):
        with _line_after(title):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    # Short work shows no bar at all: it would only flicker.
    task, appears = bar.add_task(title, total=None), Timer(after, bar.start)
    appears.daemon = True

    def show(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total or None, description=name or title)

    appears.start()
    try:
        with reporting(show):
            yield
    finally:
        appears.cancel()
        appears.join()  # it may be starting the bar just now
        bar.stop()
