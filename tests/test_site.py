"""The documentation site, as far as it can be judged without building it; ``make docs`` runs its cells and scripts."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = tuple(DOCS / folder for folder in ("reference/lists", "gallery", "api", "_explorer"))
PAGES = sorted(page for page in DOCS.rglob("*.md") if not any(page.is_relative_to(made) for made in MADE))
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))

sys.path.insert(0, str(DOCS / "site_extensions"))
sys.path.insert(0, str(DOCS))
from build import page_named  # noqa: E402
from included import with_files  # noqa: E402
from offline import find_loads  # noqa: E402
from plain import formulas  # noqa: E402


def entries(page):
    """Return what the tables of contents on a page name, relative to docs/."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                yield (Path("/", page.parent.relative_to(DOCS)) / line).as_posix()


def test_every_page_stands_in_a_table_of_contents():
    listed = {entry for page in PAGES for entry in entries(page)}
    for page in PAGES:
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        assert name == "index" or any(Path("/", name).match(entry) for entry in listed), name


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


def test_what_the_site_includes_is_a_sentence_with_a_link_in_the_repository():
    included = [page for page in PAGES if "<!-- include " in page.read_text()]
    assert {page.stem for page in included} >= {"star", "mesh", "trees", "hypercube", "outcomes", "changes"}
    for page in PAGES:
        there, shown = page.read_text(), with_files(page.read_text())
        assert "{include}" not in there, page.name
        assert "<!--" not in shown, page.name
        said = re.findall(r"<!-- include .*? -->\n(.*?)\n<!-- end -->", there, re.DOTALL)
        assert len(said) == shown.count("```{include} ")
        assert all(re.search(r"\[[^\]]+\]\([^)]+\)", each) for each in said)


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
            there = (page.parent / target).resolve()
            made = any(there.is_relative_to(folder) for folder in MADE)
            assert target.startswith("http") or made or there.exists(), (page.name, target)


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_to_parts_of_pages_name_a_heading():
    for page in [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for target, part in re.findall(r"\]\(([^)#\s]*\.md)?#([^)\s]+)\)", page.read_text()):
            assert part in anchors(page.parent / target if target else page), (page.name, target, part)


@pytest.mark.parametrize("words", ["howto/cluster", "howto/cluster.md", "docs/howto/cluster.md"])
def test_a_page_is_built_however_its_name_is_written(words):
    assert page_named(words) == "howto/cluster"


@pytest.mark.parametrize("words", ["cluster", "howto", "howto/nothing.md", "../README.md"])
def test_a_page_that_is_not_there_is_told(words):
    with pytest.raises(ValueError, match=f"there is no page {re.escape(words)}: PAGE is the name of a file in docs/"):
        page_named(words)


def sentences(page):
    """Yield the sentences of nine words or more in the text of a page, without those in tables."""
    text = re.sub(r"^```.*?^```|^\|[^\n]*|\]\([^)]*\)", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"\n\s*\n|^ *- |^#", text, flags=re.MULTILINE):
        yield from (words for words in re.split(r"(?<=[.:?!]) ", " ".join(part.split())) if words.count(" ") > 7)


def test_no_sentence_stands_on_two_pages():
    where = defaultdict(set)
    for page in PAGES:
        for words in sentences(page):
            where[words].add(page.relative_to(DOCS).as_posix())
    assert {words: pages for words, pages in where.items() if len(pages) > 1} == {}


def test_the_gallery_has_short_scripts():
    assert len(SCRIPTS) >= 30
    for script in SCRIPTS:
        tree = ast.parse(script.read_text())
        title, rule = (ast.get_docstring(tree) or "").splitlines()[:2]
        assert rule == "=" * len(title), script.name
        assert len(tree.body) <= 6, script.name  # the docstring and five lines
        assert any(ast.unparse(line).startswith("treecast.draw(") for line in tree.body), (
            script.name
        )  # runs again, dark


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<script src="https://far.example/x.js"></script><link rel="stylesheet" href="//far.example/x.css">'
        '<a href="https://far.example/">elsewhere</a><img src="near.png"><link rel="canonical" href="https://far.example/">'
    )
    (tmp_path / "style.css").write_text(
        "@font-face {src: url(https://far.example/letters.woff)} a {background: url(near.png)}"
    )
    assert [file for file, _ in find_loads(tmp_path)] == ["page.html", "page.html", "style.css"]


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        ("S_n", "S_{n}"),
        ("OD_(k-1)", r"\mathrm{OD}_{k-1}"),
        ("2^(m-g) - 1", "2^{m-g}-1"),
        ("2d β + (nd-n+1)Fτ", r"2d\,\beta +(nd-n+1)F\tau "),
        ("v_1 … v_n", r"v_{1}\,\ldots \,v_{n}"),
        ("⌊3n/2⌋ + 1", r"\lfloor 3n/2\rfloor +1"),
        ("⌈Mx(N-1)/k⌉", r"\lceil \frac{Mx(N-1)}{k}\rceil "),
        ("⌈Mx/least in-degree⌉", r"\lceil Mx/\text{least in-degree}\rceil "),
        ("⌈M x 45 x 60 / 30⌉", r"\lceil M\times 45\times 60/30\rceil "),
        ("max(D, ⌈Σ distances/k⌉)", r"\mathrm{max}(D, \lceil \frac{\sum \,\text{distances}}{k}\rceil )"),
        ("R^(-i)(v)", "R^{-i}(v)"),
        ("D(own, T-1)[s] + |s - t|", r"D(\text{own}, T-1)[s]+\left|s-t\right|"),
        ("⟨h⟩v", r"\left\langle h\right\rangle v"),
        ("I", "I"),
    ],
)
def test_formulas_in_plain_characters_are_read(formula, tex):
    text = f"So the {formula} has, at a node, 2 steps."
    assert [(text[start:end], "".join(parts)) for start, end, parts in formulas(text)] == [(formula, tex)]


def test_a_line_may_end_behind_a_relation():
    assert [parts for *_, parts in formulas("1 ≤ x ≤ n - 1")] == [[r"1\le ", r"x\le ", "n-1"]]


@pytest.mark.parametrize(
    "text",
    ["a node", "in 3-D, 8x8", "MPI_Bcast", "S. N. Bhatt and W.-C. Fu", "I am told", "node(s)", "equation (9)", "takes 5 s",
     "e.g.", "(2,3)→(5,3)", "it's", "Appendix B", "x86_64", "star:N", "I/O-bound"],
)  # fmt: skip
def test_words_names_and_units_are_no_formulas(text):
    assert list(formulas(text)) == []


@pytest.mark.parametrize(
    "page", [DOCS / "explanation/new.md", *(DOCS / "papers").glob("*.md")], ids=lambda page: page.stem
)
def test_all_formulas_of_the_theory_are_read(page):
    text = re.sub(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", " ", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    read = list(formulas(text))
    for start, end, _ in reversed(read):
        text = text[:start] + text[end:]
    assert len(read) >= 20
    assert re.findall(r".*(?:\w[_^][\w(]|[⌈⌉⌊⌋⟨⟩Σ≤≥]).*", text) == []
