"""A schedule says how it was planned, and planning it again gives the same rows."""

import shlex

import pytest

from tests.plans.test_recipe import ASKED
from treecast import plan
from treecast.cli import main
from treecast.files import formats


@pytest.mark.parametrize(("kind", "spec", "options"), ASKED)
def test_the_command_plans_the_same_rows(kind, spec, options, tmp_path, capsys):
    schedule = plan(kind, spec, **options)
    words = shlex.split(schedule.command)
    assert words[0] == "treecast"
    assert main([*words[1:], "-o", str(tmp_path / "again.tc")]) == 0, capsys.readouterr()
    assert formats.load(tmp_path / "again.tc") == schedule
