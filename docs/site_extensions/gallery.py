"""The gallery: pictures that scripts have written, light and dark, and beside each the page that replays its schedule."""

import ast
import re
import shutil
from contextlib import chdir
from functools import partial
from pathlib import Path
from unittest import mock

from sphinx_gallery.scrapers import figure_rst

import treecast
from treecast.schedule import Schedule

PAGES = Path(__file__).parent.parent / "_explorer"
REPLAY = """
.. raw:: html

    <div class="explorer">
    <p><a href="../explorer/{name}.html">Open the page that replays this plan</a></p>
    <iframe src="../explorer/{name}.html" title="{name}: the plan, step by step" loading="lazy"></iframe>
    </div>
"""


class WrittenPictures:
    """Take over the pictures that an example has written beside itself, and write the page of its schedule.

    An example has a page if it leaves a ``schedule`` that a page can show.
    """

    def __repr__(self):
        return "WrittenPictures()"  # Sphinx compares settings by what they print

    def __call__(self, block, block_vars, gallery_conf):
        """Return the reStructuredText for the pictures that one block of an example has drawn."""
        script, variables = Path(block_vars["src_file"]), block_vars["example_globals"]
        lights = [Path(next(block_vars["image_path_iterator"])).with_suffix(file.suffix) for file in _written(script)]
        _take(script, lights)
        if lights:
            _draw_dark(block[1], script, variables)
            darks = [light.with_stem(f"{light.stem}-dark") for light in lights]
            _take(script, darks)
            thumbs = lights[0].parent / "thumb"
            thumbs.mkdir(exist_ok=True)
            shutil.copy(darks[0], thumbs / f"sphx_glr_{script.stem}_thumb-dark{darks[0].suffix}")
        said = figure_rst(list(map(str, lights)), gallery_conf["src_dir"]) if lights else ""
        said = re.sub(r"\n *:srcset:.*", "", said.replace("image-sg::", "image::"))  # an image that can have a dark one
        schedule = variables.get("schedule")
        if isinstance(schedule, Schedule):
            said += self._write_page(schedule, script.stem.removeprefix("plot_"))
        return said

    def _write_page(self, schedule, name):
        folder = PAGES / "explorer"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            treecast.draw(schedule, folder / f"{name}.html")
        except treecast.TreecastError:
            return ""
        return REPLAY.format(name=name)


def _written(script):
    return sorted(file for file in script.parent.iterdir() if file.suffix in (".svg", ".gif"))


def _take(script, images):
    for file, to in zip(_written(script), images, strict=True):
        shutil.move(file, to)


def _draw_dark(block, script, variables):
    """Run the lines of a block that draw once more, for light on dark, with what all its lines have made."""
    lines = ast.parse(block)
    lines.body = [line for line in lines.body if ast.unparse(line).startswith("treecast.draw(")]
    dark = partial(treecast.draw, look=treecast.Look(dark=True))
    with chdir(script.parent), mock.patch.object(treecast, "draw", dark):
        exec(compile(lines, script.name, "exec"), dict(variables))
