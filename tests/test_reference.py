"""The generated pages of the documentation have everything that is registered; each rule has a schedule that breaks it."""

import re
import sys
from pathlib import Path

import pytest

from tests.test_site import PAGES
from treecast.cli.app import find_verbs
from treecast.cli.topics import read_rules
from treecast.collectives import COLLECTIVES
from treecast.files.formats import read
from treecast.networks import families
from treecast.papers.theorems import PAPERS
from treecast.plans import all_builders
from treecast.verification.verifier import verify

ROOT = Path(__file__).parent.parent
WRONG = ROOT / "examples" / "wrong"


@pytest.fixture
def generate(monkeypatch):
    """The module that writes the pages, found as Sphinx finds it."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    yield generate
    for name in [name for name in sys.modules if name.partition(".")[0] in ("generate", "generating")]:
        del sys.modules[name]


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: f"{rule.name}-{rule.file}")
def test_each_rule_is_broken_by_its_schedule_and_no_other_rule_is(rule):
    report = verify(read(WRONG / f"{rule.name}-{rule.file}.tc"))
    assert [name for name, count in report.counts.items() if count] == [rule.name]


def test_each_wrong_schedule_says_what_is_wrong_and_belongs_to_a_rule():
    names = {f"{rule.name}-{rule.file}" for rule in read_rules()}
    assert {path.stem for path in WRONG.iterdir()} == names
    for path in WRONG.iterdir():
        assert len([line for line in path.read_text().splitlines() if line.startswith("# ")]) == 1


def test_pictures_show_the_row_or_node_that_breaks_a_rule(generate):
    from generating.rules import pictures

    found = pictures()
    assert {f"{name}-dark" for name in found if not name.endswith("-dark")} == {n for n in found if n.endswith("-dark")}
    for name, picture in found.items():
        report = verify(read(WRONG / f"{name.removesuffix('-dark')}.tc"))
        rows = {violation.row for violation in report.violations if violation.row >= 0}
        nodes = {node for violation in report.violations if violation.row < 0 for node in violation.nodes}
        assert picture.count('stroke-dasharray="6 4"') >= len(rows), name
        assert picture.count("✗") == len(nodes), name


def test_pictures_that_treecast_draws_are_drawn_dark_too(generate):
    from generating.pictures import DRAWN

    shown = {name for page in PAGES for name in re.findall(r"!\[.*?\]\((?:\.\./)*pictures/(.*?)\)", page.read_text())}
    photos = {"explorer.png", "perfetto.png"}
    measured = {"star4-losses.png", "torch-loss.svg"}
    assert shown == set(DRAWN) | photos | measured


def test_pages_name_all_that_there_is(generate):
    from generating.markdown import cell

    pages = {name: make() for name, make in generate.PAGES.items() if name not in ("builders", "bounds", "atlas")}
    assert all(f"\n## {verb}\n" in pages["verbs"] for verb in find_verbs())
    assert all(f"`{kind}`" in pages["collectives"] for kind in COLLECTIVES)
    assert all(f"`{family.spelling}`" in pages["networks"] for family in families().values())
    anchors = re.findall(r"^\((\S+)\)=$", pages["rules"], re.MULTILINE)
    assert len(set(anchors)) == len(read_rules())
    assert all(f"](#{anchor})" in pages["rules"] for anchor in anchors)
    assert "the time limit" in generate.topics(without=set())["exit"]
    tables = generate.statements()
    assert all(f"| {cell(statement.name)} |" in tables[paper] for paper in PAPERS for statement in PAPERS[paper])


@pytest.mark.long
def test_all_is_written_and_builders_and_bounds_are_all_there(generate, tmp_path):
    generate.write_reference(tmp_path)
    builders, bounds = (tmp_path / "builders.md").read_text(), (tmp_path / "bounds.md").read_text()
    assert all(f"\n## {entry.name}\n" in builders for entry in all_builders())
    assert all(f"`{kind}`" in bounds for kind in COLLECTIVES)
    shown = {(rule.name, rule.file) for rule in read_rules()}  # two rules of a file may have one name, and one schedule
    assert len(list((tmp_path / "wrong").iterdir())) == 2 * len(shown)  # light and dark
    assert len(list((tmp_path / "atlas").iterdir())) == 2 * (tmp_path / "atlas.md").read_text().count("{image}") > 10
    assert len(list((tmp_path / "pictures").iterdir())) > 7
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    generate.write_reference(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
