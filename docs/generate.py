"""Writes the pages of the reference that are made from registries, help texts and docstrings, when the site is built."""

from pathlib import Path

from generating.atlas import atlas, graphs
from generating.bounds import bounds
from generating.builders import builders
from generating.collectives import collectives
from generating.networks import networks
from generating.outcomes import outcomes
from generating.papers import statements
from generating.pictures import draw_dark
from generating.rules import pictures, rules
from generating.topics import topics
from generating.verbs import verbs

import treecast

PAGES = {
    "verbs": verbs,
    "rules": rules,
    "builders": builders,
    "bounds": bounds,
    "networks": networks,
    "atlas": atlas,
    "collectives": collectives,
}
"""The pages that are more than a topic of ``treecast help``, by the names of their files."""


def write_reference(folder: Path) -> None:
    """Write all pages into a folder, and the tables of papers and the pictures that other pages include.

    Parameters
    ----------
    folder
        Where they go. It is made if it is not there; a file whose text has not changed is left as it is.
    """
    files = {f"{name}.md": make() for name, make in PAGES.items()}
    files |= {f"{name}.md": text for name, text in topics(without=set(PAGES)).items()} | _tables()
    files |= {f"wrong/{name}.svg": text for name, text in pictures().items()}
    files |= {f"atlas/{name}.svg": text for name, text in graphs().items()}
    _write(folder, files)
    draw_dark(folder / "pictures")


def write_included(folder: Path, page: str) -> None:
    """Write what one page needs: itself if it is made from a registry, and the tables that pages include."""
    files, name = _tables(), Path(page).name
    if page.startswith("reference/lists/"):
        files[f"{name}.md"] = PAGES[name]() if name in PAGES else topics(without=set(PAGES))[name]
    _write(folder, files)


def _tables() -> dict[str, str]:
    tables = {f"theorems/{paper}.inc": text for paper, text in statements().items()}
    return tables | {f"outcomes/{name}.inc": text for name, text in outcomes().items()}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def write_first_page(folder: Path) -> None:
    """Write the explorer that the first page of the site shows, as ``first.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    treecast.draw(treecast.plan("broadcast", "torus:4x4", messages=4, survive=1), folder / "first.html")
