"""Builds the site: python docs/build.py [PAGE].

The new site is built beside the one that is there, and replaces it when all of it is right. With a page, as in ``howto/cluster``,
that one alone is run and written, into ``build/page``; its links to others are left out.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BUILD = DOCS.parent / "build"
MADE = ("gallery", "reference/lists", "api", "_explorer")
"""What is written into the folder of the pages, before any is read."""


def page_named(words: str) -> str:
    """Return the name of a page, however it is written: ``docs/howto/cluster.md`` is ``howto/cluster``.

    Raises
    ------
    ValueError
        If there is no such page.
    """
    page = words.removeprefix("docs/").removesuffix(".md")
    if page.startswith("reference/lists/") or DOCS / f"{page}.md" in DOCS.rglob("*.md"):
        return page
    raise ValueError(f"there is no page {words}: PAGE is the name of a file in docs/, as in PAGE=howto/cluster")


def build(page: str = "") -> int:
    """Build the site, or one page of it; return the exit status of Sphinx."""
    began, new = time.monotonic(), BUILD / ("page" if page else "site.new")
    for folder in [new, *([] if page else [DOCS / made for made in MADE])]:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"building {page or 'the site'}: lists and pictures come first, then a line for each page", flush=True)
    words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "--doctree-dir"]
    done = subprocess.run(
        [sys.executable, *words, BUILD / f"doctrees-of-{new.name}", DOCS, new],
        check=False,
        env={**os.environ, "TREECAST_PAGE": page},
    )
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    if done.returncode:
        print(f"failed after {took}; {'nothing else has changed' if page else 'the site is as it was'}")
        return done.returncode
    if not page:
        shutil.rmtree(BUILD / "site", ignore_errors=True)
        new = new.rename(BUILD / "site")
    print(f"built in {took}: {(new / (page or 'index')).relative_to(DOCS.parent)}.html")
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(build(page_named(sys.argv[1]) if sys.argv[1:] and sys.argv[1] else ""))
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
