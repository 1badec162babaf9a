"""Pictures that move: a folder with a file for each step, or a GIF."""

import os
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from treecast.errors import TreecastError
from treecast.files import write_whole
from treecast.progress import report

FRAMES, GIF = "frames", "gif"
MOVING = (GIF, FRAMES)
"""The media of pictures that move."""
_FORMATS = (".png", ".svg", ".pdf")
_MOST_FRAMES = 400
_NUMBER = re.compile(r"%0?(\d*)d")
_MILLISECONDS, _LAST = 700, 2500  # how long a step is shown, and the end


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path asks for a file for each step: it is a folder, or has a place for the number of the step.

    Raises TreecastError where such files would be no figures.
    """
    text = os.fspath(path)
    if text.endswith(("/", os.sep)):
        return True
    if _NUMBER.search(Path(text).name) is None:
        return False
    if Path(text).suffix.lower() not in _FORMATS:
        raise TreecastError(f"frames are figures: {text!r} must end in {', '.join(_FORMATS)}")
    return True


def check_frames(first: int, last: int) -> range:
    """Return the steps of which frames are drawn. Raises TreecastError for more frames than anybody looks at."""
    if last - first >= _MOST_FRAMES:
        raise TreecastError(
            f"{last - first + 1:,} frames are more than the {_MOST_FRAMES} that are drawn: choose some steps, as in --steps 0:40"
        )
    return range(first, last + 1)


def write_frames(path: str | os.PathLike[str], steps: range, draw: Callable[[int, str], bytes]) -> None:
    """Write a file for each step: into a folder, or under names with a place for the number, as in ``frames/%d.svg``.

    ``draw`` returns the file of a step in a format.
    """
    text = os.fspath(path)
    if _NUMBER.search(Path(text).name) is None:
        text = os.path.join(text, f"step-%0{len(str(steps[-1]))}d.png")
    folder = Path(text).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreecastError(f"the folder {os.fspath(folder)!r} cannot be made: {error.strerror}") from None
    for done, step in enumerate(steps):
        report(done, len(steps), "frames")
        wide = int(_NUMBER.findall(Path(text).name)[0] or 0)
        write_whole(folder / _NUMBER.sub(f"{step:0{wide}}", Path(text).name), draw(step, Path(text).suffix.lower()[1:]))


def write_gif(path: str | os.PathLike[str], steps: range, draw: Callable[[int, str], bytes]) -> None:
    """Write a GIF with a frame for each step, that begins again when it ends."""
    from PIL import Image

    images: list[Any] = []
    for done, step in enumerate(steps):
        report(done, len(steps), "frames")
        with Image.open(BytesIO(draw(step, "png"))) as one:
            image: Any = one.convert("RGB")
            images.append(image.quantize(colors=128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE))
    data = BytesIO()
    shown = [_MILLISECONDS] * (len(images) - 1) + [_LAST]
    images[0].save(data, format="GIF", save_all=True, append_images=images[1:], duration=shown, loop=0, optimize=False)
    write_whole(path, data.getvalue())
