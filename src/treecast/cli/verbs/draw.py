"""``treecast draw``."""

from typing import Annotated, Literal
from warnings import catch_warnings

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import FaultOptions, File, Output, read_steps
from treecast.cli.files import PlaceOptions, load
from treecast.cli.options import Flag
from treecast.drawing.registry import listed_kinds
from treecast.errors import TreecastError

_KINDS = ", ".join(f"{kind} ({summary})" for kind, summary in listed_kinds().items())


def draw(
    file: File,
    /,
    *,
    output: Output = None,
    kind: Annotated[
        str | None,
        Parameter(help=f"The kind of picture: {_KINDS}; by default the first that fits."),
    ] = None,
    tree: int | Literal["all"] | None = None,
    failing: FaultOptions = FaultOptions(),
    told: PlaceOptions = PlaceOptions(),
    in_ascii: Annotated[Flag, Parameter(name="--ascii")] = False,
    dark: Flag = False,
    transparent: Flag = False,
    size: str | None = None,
    steps: str | None = None,
    title: str | None = None,
) -> int:
    """Draw a schedule: into an SVG, PNG, PDF, GIF or text file, as frames, as text in the terminal, or as a page to explore.

    Example: treecast draw plan.tc --kind space-time -o picture.svg

    Parameters
    ----------
    output
        The picture to write; its ending chooses the format. A GIF moves; a folder (frames/, or frames/%d.svg) gets a
        file for each step. Without it, text on standard output; with -, text or, where there is none, SVG.
    tree
        Draw this tree only. Where none is named, space-time and network draw one tree of more than 60 nodes; with all
        they draw every tree.
    in_ascii
        Draw text without box-drawing characters.
    dark
        Draw a figure light on a dark ground.
    transparent
        Let the page behind a figure show through.
    size
        The width and height of a figure in inches, as in 13.3x7.5, or 30x17cm; or its width alone. Letters grow with it.
    steps
        Draw the steps A:B only (B not included).
    title
        The title of a figure, instead of its own.
    """
    from treecast.drawing import pictures
    from treecast.drawing.look import Look, read_size

    # 1. What can be wrong with the options, before anything is drawn.
    if in_ascii and output not in (None, "-") and not output.endswith(".txt"):
        raise TreecastError(f"--ascii is for text: leave it out, or write to a .txt file, not {output!r}")
    schedule, _ = load(file, told.read())
    faults = failing.read(schedule)
    some = None if steps is None else read_steps(steps)
    look = Look(dark=dark, transparent=transparent, size=None if size is None else read_size(size), title=title)
    # 2. The picture. Warnings of the drawing become lines of ours.
    with catch_warnings(record=True) as warned:
        drawn = pictures.draw(
            schedule,
            None if output == "-" else output,
            kind=kind,
            tree=tree,
            faults=faults,
            ascii=in_ascii,
            look=look,
            steps=some,
        )
    for warning in warned:
        console.warn(f"{warning.message}")
    # 3. Text goes out here; a file has been written.
    if output is None and drawn.medium != "text":
        raise TreecastError(
            f"{kind or 'this'} cannot be drawn as text: write to a file, as in -o picture.{drawn.medium}, or -o -"
        )
    if output in (None, "-"):
        console.show_text(drawn)
    else:
        console.wrote(output)
    return 0
