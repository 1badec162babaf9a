"""The documentation site, as far as it can be judged without building it; ``make docs`` runs its cells and scripts."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = ("reference", "gallery", "api", "_explorer")
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in MADE)
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))

sys.path.insert(0, str(DOCS / "site_extensions"))
from offline import find_loads  # noqa: E402


def entries(page):
    """Return what the tables of contents on a page name, relative to docs/."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                yield (page.parent.relative_to(DOCS) / line).as_posix()


def test_every_page_stands_in_a_table_of_contents():
    listed = {entry for page in PAGES for entry in entries(page)}
    for page in PAGES:
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        assert name == "index" or any(Path("/", name).match(f"/{entry}") for entry in listed), name


def test_there_are_ten_tutorials_and_each_runs_something():
    tutorials = sorted(set((DOCS / "tutorials").glob("*.md")) - {DOCS / "tutorials" / "index.md"})
    assert len(tutorials) >= 10
    for page in tutorials:
        text = page.read_text()
        assert text.startswith("---\nfile_format: mystnb\n"), page.name
        assert text.count("```{code-cell}") >= 3, page.name


@pytest.mark.parametrize("page", [p for p in PAGES if "{code-cell}" in p.read_text()], ids=lambda page: page.stem)
def test_cells_are_python(page):
    for cell in re.findall(r"^```\{code-cell\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        lines = [line for line in cell.splitlines() if not line.startswith((":tags:", "!"))]
        if not lines or not lines[0].startswith("%%"):
            ast.parse("\n".join(lines))


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
            made = target.removeprefix("../").split("/")[0] in MADE
            assert target.startswith("http") or made or (page.parent / target).exists(), (page.name, target)


def test_the_gallery_has_short_scripts():
    assert len(SCRIPTS) >= 30
    for script in SCRIPTS:
        tree = ast.parse(script.read_text())
        title, rule = (ast.get_docstring(tree) or "").splitlines()[:2]
        assert rule == "=" * len(title), script.name
        assert len(tree.body) <= 6, script.name  # the docstring and five lines
        assert "treecast.draw(" in script.read_text(), script.name


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<script src="https://far.example/x.js"></script><link rel="stylesheet" href="//far.example/x.css">'
        '<a href="https://far.example/">elsewhere</a><img src="near.png"><link rel="canonical" href="https://far.example/">'
    )
    (tmp_path / "style.css").write_text(
        "@font-face {src: url(https://far.example/letters.woff)} a {background: url(near.png)}"
    )
    assert [file for file, _ in find_loads(tmp_path)] == ["page.html", "page.html", "style.css"]
