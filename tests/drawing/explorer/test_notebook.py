"""The page in a notebook: in a frame that reaches nothing, small, and left out where the schedule is large."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

import treecast
from tests.drawing.explorer.cases import SORTS, planned
from treecast.drawing.explorer.page import page_of
from treecast.drawing.registry import View


def frame_of(schedule):
    return ElementTree.fromstring(f"<div>{schedule._repr_html_()}</div>").find("iframe")


@pytest.mark.parametrize("sort", ["streams in trees", "wormhole", "sparing"])
def test_a_notebook_shows_the_page(sort):
    assert sort in SORTS
    frame = frame_of(planned(sort))
    assert frame.get("sandbox") == "allow-scripts allow-downloads"
    assert " ".join(frame.get("srcdoc").split()) == " ".join(page_of(planned(sort), View()).split())
    assert len(planned(sort)._repr_html_().encode()) < 150_000


def test_a_large_schedule_only_says_where_its_page_is():
    schedule = treecast.plan("broadcast", "hypercube:9")
    assert frame_of(schedule) is None
    assert "writes a page that shows it step by step" in schedule._repr_html_()
    assert "writes a page" not in treecast.plan("broadcast", "hypercube:13")._repr_html_()


def test_other_results_have_none():
    assert "iframe" not in treecast.verify(planned("wormhole"))._repr_html_()


def test_treecast_is_imported_without_numpy():
    code = "import treecast, sys; print([m for m in ('numpy', 'matplotlib') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100).stdout
        == "[]\n"
    )
