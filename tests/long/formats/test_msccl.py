"""MSCCL XML: what is written holds for the judge and carried out on real bytes; each fault is found by the right rule."""

from tests.formats.test_msccl import fuzz


def test_no_changed_file_of_many_is_more_than_refused():
    assert fuzz(100_000) > 30_000
