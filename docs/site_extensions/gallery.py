"""The gallery: pictures that scripts have written, and beside each the page that replays its schedule."""

import shutil
from pathlib import Path

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
        """Return the reStructuredText for what one block of an example has drawn."""
        script = Path(block_vars["src_file"])
        written = sorted(file for file in script.parent.iterdir() if file.suffix in (".svg", ".gif"))
        moved = []
        for file in written:
            to = Path(next(block_vars["image_path_iterator"])).with_suffix(file.suffix)
            moved.append(str(shutil.move(file, to)))
        said = figure_rst(moved, gallery_conf["src_dir"]) if moved else ""
        schedule = block_vars["example_globals"].get("schedule")
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
