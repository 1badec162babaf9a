"""The generated pages of the documentation have everything that is registered; each rule has a schedule that breaks it."""

from tests.test_reference import generate as generate
from treecast.cli.topics import read_rules
from treecast.collectives import COLLECTIVES
from treecast.plans import all_builders


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
