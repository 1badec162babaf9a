"""Paced streams, one chunk in every T steps: each is as good as a row for each of its chunks."""

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples, paced
from treecast.files.formats import load, save


@examples(30)
@given(paced(), st.sampled_from([".tc", ".tcb"]))
def test_files_hold_them(tmp_path_factory, schedule, suffix):
    path = tmp_path_factory.mktemp("paced") / f"plan{suffix}"
    save(schedule, path)
    assert load(path).rows == schedule.rows
