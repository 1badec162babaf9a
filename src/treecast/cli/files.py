"""Files of schedules, as verbs read and write them, and the facts that a file of another tool leaves open, as options."""

import sys
from typing import TYPE_CHECKING, Any

import treecast
from treecast.cli import console
from treecast.cli.options import with_options
from treecast.description import to_csv, to_json
from treecast.errors import TreecastError
from treecast.units import parse_bytes
from treecast.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from treecast.description import Description
    from treecast.schedule import Schedule
    from treecast.verification.report import Report

_MANY_ROWS = 200
_UNDER = "Files of other tools"
_FACTS = (
    (
        "network",
        "network",
        "Of a file of MSCCL, MSCCL++, GOAL or SimGrid: where its ranks are; by default every two are joined.",
        str,
    ),
    ("collective", "collective", "Of a file of GOAL or SimGrid: its collective, unless its comments say it.", str),
    ("root", "root", "With --collective: the node that all data comes from, or goes to.", str),
    ("messages", "messages", "With --collective: how many messages the data consists of.", int),
    ("allow", "allow", "Of a file of another tool: rules that it may break, as in --allow relaxed.", tuple),
)
_BYTES = "With --collective, or of a plan of MSCCL++: how many bytes the data of all blocks has, as in 16MiB."


class _Facts:
    def read(self) -> "treecast.formats.Told":
        """Return these facts. Raises FormatError for a text that is no number of bytes."""

        # one of the two classes has no bytes
        given: dict[str, Any] = {"size": None} | vars(self)
        if given["size"] is not None:
            given["size"] = parse_bytes(given["size"])
        return treecast.formats.Told(**given)


@with_options(_UNDER, 2, _FACTS)
class PlaceOptions(_Facts):
    """The facts that a file of another tool leaves open, but for its bytes."""


@with_options(_UNDER, 2, [*_FACTS, ("size", "bytes", _BYTES, str)])
class ToldOptions(_Facts):
    """The facts that a file of another tool leaves open, its bytes as well."""


def load(file: str, told: "treecast.formats.Told | None" = None) -> "tuple[Schedule, Report]":
    """Return the schedule of a file and its report, and print that it is verified. Raises when a rule is broken.

    ``told``: the facts that a file of another tool leaves open.
    """
    schedule, report = treecast.formats.load_verified(file, told)
    console.say(f"verified {report.method}: {len(schedule):,} rows")
    return schedule, report


def save(schedule: "Schedule", output: str) -> None:
    """Write a schedule to a file, and say so where its name does not tell that it is text."""
    treecast.save(schedule, output)
    warn_of_suffix(output)


def check_output(output: str | None, as_json: bool) -> None:
    """Raise TreecastError where a schedule and its report would both go to standard output."""
    if as_json and output == "-":
        raise TreecastError("--json and '-o -' both want standard output: choose one")


def show_plan(
    plan: "Schedule", report: "Report", shown: "Callable[[], Description]", output: str | None, as_json: bool
) -> int:
    """Write a plan into a file if it is right, and print its report; return the exit status."""
    # The file first: when writing fails, no report says that all is well.
    if report and output is not None:
        save(plan, output)
    if output != "-" or not report:
        console.show(shown(), as_json)
    if report and output not in (None, "-"):
        console.wrote(output, f", {len(plan):,} rows")
    return 0 if report else 1


def show_rows(rows: "Schedule", as_json: bool, every: bool, hint: str) -> int:
    """Print the rows of a schedule, in a terminal the first 200 unless ``every`` is asked for; ``hint``: how to see more."""
    from treecast.schedule.listing import Listing

    listing = Listing(rows, None if every or not console.is_terminal(sys.stdout) else _MANY_ROWS)
    status = console.show(listing, as_json)
    if listing.left_out and not as_json:
        console.say(f"and {listing.left_out:,} more rows: {hint}")
    return status


def show_drawn(result: object, output: str | None, as_json: bool, picture: object = None) -> int:
    """Print a result, and write its figures into a file if one is named, or draw it, or another ``picture`` of it.

    Return the exit status.
    """
    # Before the report, which must not end with 0 where no file was written.
    if output is not None and output.lower().endswith((".csv", ".json")):
        write_whole(output, (to_csv if output.lower().endswith(".csv") else to_json)(result).encode())
    elif output is not None:
        from treecast.drawing.pictures import draw

        draw(result if picture is None else picture, output)
    status = console.show(result, as_json)
    if output is not None:
        console.wrote(output)
    return status


def warn_of_suffix(output: str) -> None:
    """Say that a file is text where its name does not tell."""
    if suffix := treecast.formats.unknown_suffix(output):
        console.warn(f"{output} is written as text: {suffix} is the ending of no format")
