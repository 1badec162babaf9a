"""``treecast bounds``."""

from tests.cli.test_cli import JOB


def test_bounds(answer):
    found = answer("bounds", "broadcast", "star:5", "--messages", "400", "--survive", "2")
    assert set(found) >= JOB | {"steps_lower_bound", "transmissions_lower_bound", "bounds"}
    assert (found["steps_lower_bound"], found["transmissions_lower_bound"]) == (305, 142_800)
    assert set(found["bounds"][0]) == {"of", "value", "formula", "source", "given", "certificate"}
    assert answer("bounds", "broadcast", "star:5", "--model", "one-port")["steps_lower_bound"] == 8
