"""``treecast verify``, and ``verify()`` and ``sweep()``."""

import json

import pytest

import treecast
from treecast.cli import main
from treecast.errors import FormatError
from treecast.formats import Told


@pytest.mark.parametrize("kind", ["nodes", "links"])
def test_a_sweep_of_one_copy_says_that_it_survives_nothing(tmp_path, kind, capsys):
    treecast.save(treecast.plan("broadcast", "ring:4"), tmp_path / "plan.tc")
    plan = str(tmp_path / "plan.tc")
    assert main(["verify", plan, "--sweep", kind]) == 0
    assert f"one copy survives none: 'verify --sweep {kind} --most 1' tells which do harm" in capsys.readouterr().out
    assert main(["verify", plan, "--sweep", kind, "--most", "1"]) == 1
    assert "does NOT survive" in capsys.readouterr().out


@pytest.mark.parametrize("spoil", [False, True])
def test_python_says_of_a_file_of_another_tool_what_the_command_line_says(tmp_path, spoil, capsys):
    path = tmp_path / "x.xml"
    treecast.save(treecast.plan("allgather", "ring:4"), path)
    if spoil:
        path.write_text(path.read_text().replace('cnt="1"', 'cnt="2"', 1))
    verdict, status = treecast.verify(path), main(["verify", str(path), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (bool(verdict), verdict.holds, status) == (not spoil, not spoil, int(spoil))
    mine = json.loads(verdict.to_json())
    assert {**mine, "seconds": 0} == {**said, "seconds": 0}
    there = treecast.verify(path, told=Told(network="mesh:2x2"))
    assert there.holds == (main(["verify", str(path), "--network", "mesh:2x2"]) == 0)
    assert there.network == "mesh:2x2" or spoil
    with pytest.raises(FormatError, match="leave told out"):
        treecast.verify(treecast.plan("allgather", "ring:4"), told=Told(network="mesh:2x2"))
    for more in ({"model": "one-port"}, {"method": "expanded"}):
        with pytest.raises(FormatError, match="judged by its own rules"):
            treecast.verify(path, **more)
    assert main(["verify", str(path), "--sweep", "nodes"]) == 2


def test_a_schedule_that_is_wrong_is_a_report_and_a_file_that_is_none_an_error(tmp_path):
    schedule = treecast.plan("broadcast", "star:4")
    treecast.save(schedule.select(schedule.rows.step != 1), tmp_path / "wrong.tc")
    assert not treecast.verify(tmp_path / "wrong.tc").holds
    assert main(["verify", str(tmp_path / "wrong.tc")]) == 1
    (tmp_path / "none.tc").write_text("nothing\n")
    with pytest.raises(FormatError):
        treecast.verify(tmp_path / "none.tc")
    assert main(["verify", str(tmp_path / "none.tc")]) == 2
