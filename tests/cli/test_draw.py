"""``treecast draw``, and ``draw()``: pictures that go into no file show themselves."""

import pickle
from xml.etree import ElementTree

import pytest

import treecast
from treecast.cli import main

SCHEDULE = treecast.plan("broadcast", "star:3", messages=3, copies=2)


@pytest.fixture
def plan(tmp_path):
    treecast.save(SCHEDULE, tmp_path / "plan.tc")
    return str(tmp_path / "plan.tc")


def test_a_text_shows_itself_at_a_prompt():
    drawn = treecast.draw(SCHEDULE, tree=0)
    assert repr(drawn) == str(drawn)
    assert drawn.startswith("123 (root)\n")
    assert (drawn._repr_svg_(), drawn._repr_html_()) == (None, None)


@pytest.mark.parametrize("kind", ["trees", "space-time", "network"])
def test_a_figure_shows_itself_in_a_notebook(kind):
    drawn = treecast.draw(SCHEDULE, kind=kind, look=treecast.Look(dark=True))
    assert ElementTree.fromstring(drawn._repr_svg_()).tag.endswith("svg")
    assert repr(drawn).startswith("<Drawing in svg: ")
    assert drawn._repr_html_() is None
    again = pickle.loads(pickle.dumps(drawn))
    assert (again, again.medium, again.summary) == (drawn, drawn.medium, drawn.summary)


def test_all_trees_are_drawn_where_that_is_asked_for(tmp_path):
    treecast.save(treecast.plan("broadcast", "star:5", copies=2), tmp_path / "plan.tc")
    for more, trees in ([], 1), (["--tree", "all"], 2), (["--tree", "3"], 1):
        assert main(["draw", str(tmp_path / "plan.tc"), "--kind", "network", *more, "-o", str(tmp_path / "a.svg")]) == 0
        assert (tmp_path / "a.svg").read_text().count('id="arcs-') == trees


def test_a_notebook_shows_what_a_file_would_hold(tmp_path):
    treecast.draw(SCHEDULE, tmp_path / "plan.svg", kind="network")
    assert treecast.draw(SCHEDULE, kind="network") == (tmp_path / "plan.svg").read_text()
    treecast.draw(SCHEDULE, tmp_path / "plan.html")
    page = treecast.draw(SCHEDULE, kind="explorer")
    assert f"{page}\n" == (tmp_path / "plan.html").read_text()
    assert page._repr_html_() in SCHEDULE._repr_html_()


def test_standard_output_gets_text_or_svg(plan, capsys):
    assert main(["draw", plan, "-o", "-"]) == main(["draw", plan]) == 0
    assert capsys.readouterr().out == 2 * f"{treecast.draw(SCHEDULE)}\n"
    assert main(["draw", plan, "--ascii", "-o", "-"]) == 0
    assert capsys.readouterr().out == f"{treecast.draw(SCHEDULE, ascii=True)}\n"
    assert main(["draw", plan, "--kind", "network", "-o", "-"]) == 0
    assert ElementTree.fromstring(capsys.readouterr().out.encode()).tag.endswith("svg")
    assert main(["draw", plan, "--kind", "network"]) == 2
    assert "network cannot be drawn as text: write to a file, as in -o picture.svg, or -o -" in capsys.readouterr().err
