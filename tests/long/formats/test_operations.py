"""GOAL files and SimGrid's traces are read and judged: what is written is the same schedule again, and faults are named."""

from tests.formats.test_operations import fuzz


def test_no_changed_file_of_many_is_more_than_refused():
    assert fuzz(30_000)[0] > 3000
