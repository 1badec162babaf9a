"""The tests that `make test-changed` runs are those of the rooms above a change."""

from pathlib import Path

from tests.changed import affected_tests


def folders(*files):
    return {name for name in affected_tests(map(Path, files)) if not name.endswith(".py")}


def test_a_change_runs_the_tests_of_its_room_and_of_those_that_import_it():
    assert {"tests/cli"} == folders("src/treecast/cli/verbs/plan.py")
    above = folders("src/treecast/drawing/registry.py")
    assert {"tests/drawing", "tests/cli"} <= above
    assert not above & {"tests/plans", "tests/networks", "tests/simulation", "tests/mpi"}
    assert folders("src/treecast/networks/star.py") >= {"tests/networks", "tests/plans", "tests/cli", "tests/mpi"}


def test_changed_tests_run_and_nothing_runs_where_nothing_changed():
    assert "tests/networks/test_star.py" in affected_tests([Path("tests/networks/test_star.py")])
    assert affected_tests([]) == []
