"""The registry of pictures: each entry stands beside the function that draws it.

To add a picture, add a file to a folder of this package with a ``@picture`` in it. Several entries may have one kind, for
several media or for several sorts of schedules: of those that fit, the one of lowest rank draws.

This module imports neither numpy nor matplotlib. ``listed_kinds`` reads the entries as text, so that help needs neither.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from treecast.discovery import decorators, import_all
from treecast.errors import TreecastError

if TYPE_CHECKING:
    from treecast.simulation.faults import Faults

FIGURE = ("svg", "png", "pdf", "axes")
"""The media of a picture that matplotlib draws: three sorts of files, and axes of somebody's own figure."""
FRAMES, GIF = "frames", "gif"
MOVING = (GIF, FRAMES)
"""The media of pictures that move: a folder with a file for each step, or a GIF."""
STEP_NUMBER = re.compile(r"%0?(\d*)d")
"""The place for the number of a step in the name of a file."""
_OF_FRAMES = (".png", ".svg", ".pdf")
USUAL_RANK = 50
_HIGH = 720  # pixels of a page in a notebook
TEXT = ("text",)
"""The medium of a picture made of characters."""
_SUFFIXES = {"text": ".txt", "axes": "", FRAMES: "/"}  # of other media: a dot and their name


@dataclass(frozen=True)
class View:
    """How something is to be drawn: under which ``faults``, the one ``tree`` or all, in letters of ASCII or not.

    ``every``: whether all trees are drawn even where they cover one another.
    ``page``: the figure of matplotlib, or the axes that the caller gave, to draw on; None for other pictures. ``steps``: the
    first of the steps to draw and the one behind the last; None for all. ``step``: the one step of which this is a frame; None
    where nothing moves.
    """

    faults: "Faults | None" = None
    tree: int | None = None
    ascii: bool = False
    page: Any = None
    steps: tuple[int, int] | None = None
    step: int | None = None
    every: bool = False


USUAL = View()
"""The view of a picture where nothing is asked for."""
Draw = Callable[[Any, View], str | None]
_Draw = TypeVar("_Draw", bound=Draw)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A way of drawing something of a class: its ``kind``, as in ``space-time``, and its subject in a few words (``summary``).

    ``into``: the media: ``text``, ``svg``, ``png``, ``pdf``, ``axes``, or any other that a file's suffix names. ``fits``: why
    something cannot be drawn like this, as half a sentence, or an empty text. ``rank``: the default is the kind of lowest rank
    that fits. ``draw`` draws it on ``View.page``, or, where no page is needed, returns the contents of a file. ``by_step``:
    whether it can show some steps only.
    """

    kind: str
    of: type
    into: tuple[str, ...]
    summary: str
    draw: Draw
    fits: Callable[[Any, View], str] = lambda subject, view: ""
    rank: int = USUAL_RANK
    by_step: bool = False


_PICTURES: list[Picture] = []


def picture(kind: str, *, of: type, into: tuple[str, ...], summary: str, **more: Any) -> Callable[[_Draw], _Draw]:
    """Register the function below for a kind of picture; ``more`` are fields of Picture."""

    def register(draw: _Draw) -> _Draw:
        _PICTURES.append(Picture(kind=kind, of=of, into=into, summary=summary, draw=draw, **more))
        return draw

    return register


def all_pictures() -> tuple[Picture, ...]:
    """Return every entry, in the order in which they are tried."""
    import_all("treecast.drawing")
    import_all("treecast", "figures")
    return tuple(sorted(_PICTURES, key=lambda entry: entry.rank))


def choose(subject: object, medium: str, kind: str | None, view: View) -> Picture:
    """Return the entry that draws something into a medium.

    Raises TreecastError when there is no such kind of picture, or none that fits: the message names those that do.
    """
    known = [entry for entry in all_pictures() if isinstance(subject, entry.of)]
    kinds = list(dict.fromkeys(entry.kind for entry in known))
    if not kinds:
        raise TreecastError(f"there is no picture of a {type(subject).__name__}")
    if kind is not None and kind not in kinds:
        raise TreecastError(f"{kind!r} is no kind of picture: write one of {', '.join(kinds)}")
    reasons: dict[str, str] = {}
    fitting: list[Picture] = []
    for entry in known:
        if medium in entry.into:
            reason = "" if entry.by_step or view.steps is None else "it shows all steps"
            reason = reason or entry.fits(subject, view)
            if not reason and kind in (None, entry.kind):
                return entry
            reasons[entry.kind] = reason
            fitting += [] if reason else [entry]
    if kind not in (None, *reasons) or not reasons:
        called = [entry for entry in known if kind in (None, entry.kind)]
        if kind is None or any(not entry.fits(subject, view) for entry in called):
            raise _refuse_medium(called, medium)
        reasons[kind] = called[0].fits(subject, view)  # another medium would not do either
    if kind is None:
        raise TreecastError("there is no picture of this: " + "; ".join(f"{k}: {why}" for k, why in reasons.items()))
    instead = ", ".join(dict.fromkeys(entry.kind for entry in fitting))
    raise TreecastError(
        f"there is no picture of kind {kind}: {reasons[kind]}" + (f"; draw {instead}" if instead else "")
    )


def choose_first(subject: object, media: tuple[str, ...], kind: str | None, view: View) -> tuple[str, Picture]:
    """Return the first of some media into which something can be drawn, and the entry that does it.

    Raises TreecastError as ``choose`` does for the first medium.
    """
    refused = list[TreecastError]()
    for medium in media:
        try:
            return medium, choose(subject, medium, kind, view)
        except TreecastError as error:
            refused.append(error)
    raise refused[0]


def frame_of(page: str) -> str:
    """Return a frame for a notebook in which a page runs its own script, and may neither load anything nor reach the notebook."""
    style = f"width: 100%; height: {_HIGH}px; border: 1px solid #8884"
    return f'<iframe sandbox="allow-scripts allow-downloads" style="{style}" title="explorer" srcdoc="{escape(page)}"></iframe>'


def _refuse_medium(entries: list[Picture], medium: str) -> TreecastError:
    kinds = ", ".join(dict.fromkeys(entry.kind for entry in entries))
    files = filter(None, (suffix_of(medium) for entry in entries for medium in entry.into))
    endings = ", ".join(dict.fromkeys(files))
    return TreecastError(f"{kinds} cannot be drawn as {medium}: write to a file that ends in {endings}")


def suffix_of(medium: str) -> str:
    """Return the suffix of files of a medium, with its dot; empty for a medium that is no file."""
    return _SUFFIXES.get(medium, f".{medium}")


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all files that pictures can be written to, that of text last."""
    media = dict.fromkeys(medium for entry in all_pictures() for medium in entry.into)
    return tuple(sorted(filter(None, map(suffix_of, media)), key=lambda suffix: suffix == ".txt"))


def medium_of(path: str | os.PathLike[str]) -> str:
    """Return the medium that the suffix of a file chooses.

    Raises TreecastError when no picture can be written to a file of this name.
    """
    suffix = PurePath(path).suffix.lower()
    if is_folder(path):
        return FRAMES
    media = {suffix_of(medium): medium for entry in all_pictures() for medium in entry.into}
    if not suffix or suffix not in media:
        raise TreecastError(f"{os.fspath(path)!r} is no picture: its name must end in {', '.join(suffixes())}")
    return media[suffix]


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path asks for a file for each step: it is a folder, or has a place for the number of the step.

    Raises TreecastError where such files would be no figures.
    """
    text = os.fspath(path)
    if text.endswith(("/", os.sep)):
        return True
    if STEP_NUMBER.search(Path(text).name) is None:
        return False
    if Path(text).suffix.lower() not in _OF_FRAMES:
        raise TreecastError(f"frames are figures: {text!r} must end in {', '.join(_OF_FRAMES)}")
    return True


def listed_kinds(of: str = "Schedule") -> dict[str, str]:
    """Return the kinds of pictures of a class and their subjects, by rank, without importing their modules.

    >>> list(listed_kinds())
    ['trees', 'space-time', 'network', 'steps', 'sources', 'explorer']
    """
    entries = decorators("treecast", "picture", "drawing", "figures")
    mine = sorted((entry for entry in entries if entry["of"] == of), key=lambda entry: entry.get("rank", USUAL_RANK))
    return {entry["0"]: entry["summary"] for entry in mine}  # of several of a kind, the subject of the most general one
