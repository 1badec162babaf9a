"""``treecast deadlock``: reports and statuses."""

import json

from treecast.cli import main


def test_a_mesh_a_file_and_json(tmp_path, capsys):
    assert main(["deadlock", "allreduce tp + reduce-scatter dp", "tp2,dp2"]) == 1
    assert "may hang: 4 ranks" in capsys.readouterr().out
    file = tmp_path / "calls.txt"
    file.write_text("0: tp main\n1: tp main  # and no more\n")
    assert main(["deadlock", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["holds"], found["order"]) == (True, ["tp:1"])
    assert main(["deadlock", "allreduce tp"]) == 2
    assert "name a mesh" in capsys.readouterr().err
    assert main(["deadlock", "allreduce tp", "xp2"]) == 2


def test_too_much_to_try_has_a_status_of_its_own(capsys):
    assert main(["deadlock", "allreduce tp + send pp + allreduce dp", "tp2,pp2,dp2", "--slots", "2"]) == 3
    assert "not known" in capsys.readouterr().out
