"""Drawing: one function for all pictures, which the registry chooses, and the files that they go into.

Figures need matplotlib (extra ``plot``). Nothing global is touched: no pyplot, no window. The same schedule gives the same
bytes.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from warnings import catch_warnings, simplefilter
from xml.sax.saxutils import escape

import numpy as np

import treecast
from treecast.drawing.look import PLAIN, Look, drawn_on
from treecast.drawing.registry import FIGURE, GIF, MOVING, STEP_NUMBER, Picture, View, choose_first, frame_of, medium_of
from treecast.drawing.style import SUBTITLE, TITLE, matplotlib
from treecast.errors import TreecastError, checks_keywords
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.simulation.faults import Failing, faults_of
from treecast.writing import write_whole

__all__ = ["Drawing", "draw", "save"]

_DPI = 150  # dots in an inch of a PNG
_MOST_FRAMES = 400
_MILLISECONDS, _LAST = 700, 2500  # how long a step of a GIF is shown, and the end
_SHOWN = ("text", "svg", "html")
"""The media of a picture that goes into no file, in the order in which they are tried."""
# dates and versions are left out, so that the same picture is the same bytes
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
}


@checks_keywords
def draw(
    subject: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    tree: int | Literal["all"] | None = None,
    faults: Failing = None,
    ascii: bool = False,  # noqa: A002
    ax: Any = None,
    look: Look = PLAIN,
    figsize: tuple[float, float] | None = None,
    steps: tuple[int, int] | None = None,
) -> Any:
    """Draw a schedule: into a file, into axes of matplotlib, or for whoever looks at the returned value.

    Parameters
    ----------
    subject : Schedule, str or path
        The schedule, or the file that holds it. Node-disjoint paths, a mesh, a job of the hypercube paper, a sweep, a
        comparison and alternatives have pictures too. Of a schedule that is an orbit, the way of node 0's data is drawn.
    output : str or os.PathLike, optional
        The file to write. Its suffix chooses the medium: ``.svg``, ``.png``, ``.pdf``, ``.txt``, ``.gif``, or
        ``.html`` for a page that replays the schedule by itself. A folder (``frames/``) gets a file for each step.
    kind : str, optional
        The kind of picture: ``trees``, ``space-time``, ``network`` (the trees laid over it), ``steps`` (who sends to
        whom, under wormhole switching), ``sources`` (the total distance of wormhole broadcasts on a mesh, by source),
        ``explorer`` (the page). By default the first of these that fits.
    tree : int or "all", optional
        Draw this tree only. Where none is named, ``space-time`` and ``network`` draw one tree of more than 60 nodes, since
        several would cover one another, unless they show faults or some steps; with ``"all"`` they draw every tree.
    faults : Faults, str or sequence of str, optional
        Draw the run under these faults, as ``simulate`` takes them.
    ascii : bool
        Draw text without box-drawing characters.
    ax : matplotlib.axes.Axes, optional
        Draw into these axes. The picture keeps its proportions and its fonts shrink with it.
    steps : tuple of int, optional
        The first of the steps to draw and the one behind the last; by default all.
    look : Look
        The ground, the size and the title of a figure, as in ``Look(dark=True, size=(8, 4.5))``.
    figsize : tuple of float, optional
        The width and height in inches, as matplotlib has it: short for ``look=Look(size=…)``.

    Returns
    -------
    Drawing or matplotlib.axes.Axes or None
        Where neither ``output`` nor ``ax`` is given, the picture as a text that shows itself at a prompt and in a notebook: of
        characters, or SVG where the kind or the look asks for a figure, or a page. ``ax`` where it is given; None where a
        file is written.

    Raises
    ------
    TreecastError
        When there is no such kind of picture or none that fits, when there is too much to draw, when the file cannot be
        written, or when matplotlib is missing.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:3", copies=2)
    >>> print(treecast.draw(schedule, tree=0))
    123 (root)
    └─2─ 213 @1
         └─3─ 312 @2
              └─2─ 132 @3
                   └─3─ 231 @4
                        └─2─ 321 @5

    As a figure, which a notebook shows:

    >>> treecast.draw(schedule, kind="network")
    <Drawing in svg: the network, with the trees laid over it>

    Into a file:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treecast.draw(schedule, f"{folder}/plan.svg", kind="space-time")

    Beside a plot of your own:

    >>> from matplotlib.figure import Figure
    >>> left, right = Figure(figsize=(12, 5)).subplots(1, 2)
    >>> treecast.draw(schedule, ax=left) is left
    True
    """
    # 1. What is drawn, and into what.
    if output is not None and ax is not None:
        raise TreecastError("a picture goes into a file or into axes: leave out output, or ax")
    if figsize is not None:
        look = replace(look, size=figsize)
    media = _SHOWN[0 if look.plain else 1 :] if output is None else (medium_of(output),)  # characters have no look
    if isinstance(subject, str | Path):
        subject = treecast.load(subject)
    _check(subject, tree, bool(faults), steps)
    failing = faults_of(subject.network, faults) if isinstance(subject, Schedule) else None
    view = View(failing or None, None if tree == "all" else tree, ascii, steps=steps, every=tree == "all")
    # 2. The first picture of such a medium that fits; moving ones are drawn step by step.
    medium, entry = choose_first(subject, ("axes",) if ax is not None else media, kind, view)
    if medium in MOVING and output is not None:
        _draw_moving(subject, output, (entry, view, look))
        return None
    # 3. Text and pages.
    if medium not in FIGURE:
        if not look.plain:
            raise TreecastError(f"a {medium} has no look of a figure: write to {', '.join(_METADATA)}")
        contents = entry.draw(subject, view) or ""
        if output is None:
            return Drawing(contents, medium, entry.summary)
        write_whole(output, f"{contents}\n".encode())
        return None
    # 4. Figures.
    page = drawn_on(lambda page: entry.draw(subject, replace(view, page=page)), look, ax)
    if ax is not None:
        return ax
    if output is None:
        svg = figure_bytes(page.figure, medium, entry.summary, (look.transparent, _DPI))
        return Drawing(svg.decode(), medium, entry.summary)
    save(page.figure, output, entry.summary, look.transparent)
    return None


class Drawing(str):
    """A picture as the text that it is: characters, SVG or HTML. A prompt shows the first, a notebook all of them.

    Parameters
    ----------
    medium : str
        ``text``, ``svg`` or ``html``.
    subject : str
        The subject, in a few words.

    Examples
    --------
    >>> import treecast
    >>> drawn = treecast.draw(treecast.plan("broadcast", "star:4"))
    >>> drawn.medium, drawn.splitlines()[0]
    ('text', '1234 (root)')
    """

    medium: str
    summary: str

    def __new__(cls, contents: str, medium: str = "text", summary: str = "") -> "Drawing":
        """Return a text that knows its medium and subject."""
        found = super().__new__(cls, contents)
        found.medium, found.summary = medium, summary
        return found

    def __repr__(self) -> str:
        return str(self) if self.medium == "text" else f"<Drawing in {self.medium}: {self.summary}>"

    def _repr_svg_(self) -> str | None:
        return str(self) if self.medium == "svg" else None

    def _repr_html_(self) -> str | None:
        return frame_of(self) if self.medium == "html" else None


def _draw_moving(subject: Schedule, output: str | os.PathLike[str], how: tuple[Picture, View, Look]) -> None:
    """Draw a picture for each step, and one of the end. Raises TreecastError for more than anybody looks at."""
    entry, view, look = how
    as_gif = medium_of(output) == GIF
    if as_gif and look.transparent:
        raise TreecastError("a GIF has a ground: leave out transparent, or write frames/")
    first, stop = view.steps or (0, subject.steps + 1)
    steps = range(first, min(stop, subject.steps + 1))
    if len(steps) > _MOST_FRAMES:
        raise TreecastError(
            f"{len(steps):,} frames are more than the {_MOST_FRAMES} that are drawn: choose some steps, as in --steps 0:40"
        )

    def frames(format: str) -> Iterator[bytes]:  # noqa: A002
        for done, step in enumerate(steps):
            report(done, len(steps), "frames")
            page = drawn_on(lambda page, step=step: entry.draw(subject, replace(view, page=page, step=step)), look)
            how = look.transparent, 100 if as_gif else _DPI
            yield figure_bytes(page.figure, format, f"{entry.summary}, in step {step}", how)

    if as_gif:
        _write_gif(output, frames("png"))
    else:
        _write_frames(Path(output), steps, frames)


def _write_frames(path: Path, steps: range, frames: Callable[[str], Iterator[bytes]]) -> None:
    """Write a file for each step: into a folder, or under names with a place for the number, as in ``frames/%d.svg``."""
    if STEP_NUMBER.search(path.name) is None:
        path /= f"step-%0{len(str(steps[-1]))}d.png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreecastError(f"the folder {os.fspath(path.parent)!r} cannot be made: {error.strerror}") from None
    wide = int(STEP_NUMBER.findall(path.name)[0] or 0)
    for step, data in zip(steps, frames(path.suffix.lower()[1:]), strict=True):
        write_whole(path.with_name(STEP_NUMBER.sub(f"{step:0{wide}}", path.name)), data)


def _write_gif(path: str | os.PathLike[str], frames: Iterator[bytes]) -> None:
    """Write a GIF with a frame for each step, that begins again when it ends."""
    from PIL import Image

    images: list[Any] = []
    for frame in frames:
        with Image.open(BytesIO(frame)) as one:
            image: Any = one.convert("RGB")
            images.append(image.quantize(colors=128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE))
    data = BytesIO()
    shown = [_MILLISECONDS] * (len(images) - 1) + [_LAST]
    images[0].save(data, format="GIF", save_all=True, append_images=images[1:], duration=shown, loop=0, optimize=False)
    write_whole(path, data.getvalue())


def _check(subject: object, tree: int | str | None, faulty: bool, steps: tuple[int, int] | None) -> None:
    if not isinstance(subject, Schedule):
        if tree is not None or faulty or steps is not None:
            raise TreecastError("only pictures of schedules show faults, one tree or some steps")
        return
    if steps is not None and not 0 <= steps[0] < min(steps[1], subject.steps + 1):
        raise TreecastError(
            f"there are no steps {steps[0]} … {steps[1] - 1}: the schedule has steps 0 … {subject.steps - 1}"
        )
    used = np.unique(subject.rows.tree[subject.rows.tree >= 0]).tolist()
    if tree not in (None, "all", *used):
        raise TreecastError(f"the schedule has no tree {tree}; it has {', '.join(map(str, used)) or 'none'}")


def save(figure: Any, path: str | os.PathLike[str], summary: str = "", transparent: bool = False) -> None:
    """Write a figure to a file, whole or not at all; its suffix says in which format; ``summary``: its subject in a few words.

    Raises TreecastError when no figure has such a suffix, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        raise TreecastError(f"{os.fspath(path)!r} is no picture: its name must end in {', '.join(_METADATA)}")
    write_whole(path, figure_bytes(figure, suffix[1:], summary, (transparent, _DPI)))


def figure_bytes(figure: Any, format: str, summary: str, how: tuple[bool, int]) -> bytes:  # noqa: A002
    """Return the file that a figure is in a format: ``svg``, ``png`` or ``pdf``. The same figure gives the same bytes.

    ``how``: whether its ground is left out, and how many dots there are in an inch.
    """
    data = BytesIO()
    if format != "svg":
        lend_letters(figure)
    # with a salt the names inside of an SVG are the same in each run
    with matplotlib().rc_context({"svg.hashsalt": "treecast", "svg.fonttype": "none"}), catch_warnings():
        simplefilter("ignore", UserWarning)  # a letter that the font lacks, in the name of a node
        figure.savefig(data, format=format, dpi=how[1], metadata=_METADATA[f".{format}"], transparent=how[0])
    if format != "svg":
        return data.getvalue()
    title, more = (_written(figure, gid) for gid in (TITLE, SUBTITLE))
    return _described(data.getvalue(), title or summary, "; ".join(filter(None, (summary, more))))


def _described(svg: bytes, title: str, description: str) -> bytes:
    """Return an SVG file with a title and a description, which screen readers read and search engines find."""
    head, rest = svg.decode().split("<svg ", 1)
    attributes, body = rest.split(">", 1)
    told = f"\n <title>{escape(title)}</title>\n <desc>{escape(description)}</desc>"
    return f'{head}<svg role="img" {attributes}>{told}{body}'.encode()


def _written(figure: Any, gid: str) -> str:
    from matplotlib.text import Text

    return next((text.get_text() for text in figure.findobj(Text) if text.get_gid() == gid), "")


# -- letters that the fonts of matplotlib lack, as in Chinese names of nodes: another font of the machine lends them ------


def lend_letters(top: Any) -> None:
    """Add to each text of a figure the fonts that have its letters, and warn of letters that no font here has."""
    from matplotlib.text import Text

    lacked = set[str]()
    for text in top.findobj(Text):
        families = list(text.get_fontfamily())
        missing = {letter for letter in text.get_text() if letter not in " \n" and not _has(families[0], letter)}
        lenders = {letter: _lender(letter) for letter in missing}
        lacked |= {letter for letter, lender in lenders.items() if lender is None}
        if found := sorted({lender for lender in lenders.values() if lender is not None}):
            text.set_fontfamily([*families, *found])
    if lacked:
        some = "".join(sorted(lacked)[:10])
        warnings.warn(f"no font here has the letters {some}: write an SVG, whose reader has them", stacklevel=4)


def _fonts() -> Any:
    return import_module("matplotlib.font_manager")


@cache
def _charmap(file: str) -> frozenset[int]:
    try:
        return frozenset(_fonts().get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()  # a file that FreeType cannot read


@cache
def _has(family: str, letter: str) -> bool:
    fonts = _fonts()
    return ord(letter) in _charmap(fonts.findfont(fonts.FontProperties(family=[family])))


@cache
def _lender(letter: str) -> str | None:
    """Return a family of this machine that has a letter; None where there is none."""
    # the last resort of matplotlib has a box for each letter
    known = [font for font in _fonts().fontManager.ttflist if not font.name.startswith("Last Resort")]
    # regular and upright ones first
    fonts = sorted(known, key=lambda font: (font.weight not in (400, "normal"), font.style, font.name))
    return next((font.name for font in fonts if ord(letter) in _charmap(font.fname)), None)
