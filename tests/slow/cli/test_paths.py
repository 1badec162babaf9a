"""``treecast paths``."""

import pytest


@pytest.mark.each(2)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_pictures(ask, tmp_path, suffix):
    for command in (
        ("paths", "hypercube:4", "14"),
        ("paths", "star:4", "2143"),
    ):
        picture = tmp_path / f"{command[0]}.{suffix}"
        status, out, _ = ask(*command, "-o", str(picture))
        assert status == 0
        assert out
        assert picture.stat().st_size > 1000
