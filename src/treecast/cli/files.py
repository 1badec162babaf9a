"""Files of schedules, as verbs read and write them."""

from typing import TYPE_CHECKING, Any

from treecast.cli import console

if TYPE_CHECKING:
    from treecast.formats import Told
    from treecast.schedule import Schedule
    from treecast.verification.report import Report


def load(file: str, told: "Told | None" = None) -> "tuple[Schedule, Report]":
    """Return the schedule of a file and its report, and print that it is verified. Raises when a rule is broken.

    ``told``: the facts that a file of another tool leaves open.
    """
    from treecast.formats import load_verified

    schedule, report = load_verified(file, told)
    console.say(f"verified {report.method}: {len(schedule):,} rows")
    return schedule, report


def save(schedule: "Schedule", output: str, to: str | None = None, **settings: Any) -> None:
    """Write a schedule to a file, and say so where its name does not tell that it is text."""
    from treecast import formats

    formats.save(schedule, output, to, **settings)
    warn_of_suffix(output, to)


def show_drawn(result: object, output: str | None, as_json: bool, picture: object = None) -> int:
    """Print a result, and draw it, or another ``picture`` of it, into a file if one is named; return the exit status."""
    if output is not None:
        from treecast.drawing.pictures import draw

        draw(result if picture is None else picture, output)
    status = console.show(result, as_json)
    if output is not None:
        console.say(f"written: {output}")
    return status


def warn_of_suffix(output: str, to: str | None) -> None:
    """Say that a file is text where its name does not tell."""
    from treecast.formats.registry import unknown_suffix

    if to is None and (suffix := unknown_suffix(output)):
        console.warn(f"{output} is written as text: {suffix} is the ending of no format")
