"""``treecast verify``, and ``verify()`` and ``sweep()``."""

import json
import re

import pytest

import treecast
from tests.records.test_schema import validate
from treecast.cli import main
from treecast.errors import FormatError
from treecast.files.formats import Told


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


def test_all_files_have_one_shape_of_json(tmp_path, capsys):
    """A plan, a file of another tool, right and wrong: one schema; no wrong one is set beside a bound."""
    assert main(["help", "schema", "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)["verify"]
    plan = treecast.plan("allgather", "ring:4")
    early = plan.select(plan.rows.step != 0)
    files = {"plan.tc": plan, "early.tc": early, "file.xml": plan, "file.goal": plan}
    for name, schedule in files.items():
        treecast.save(schedule, tmp_path / name)
    bad = tmp_path / "bad.xml"
    bad.write_text((tmp_path / "file.xml").read_text().replace('cnt="1"', 'cnt="2"', 1))
    for name in [*files, "bad.xml"]:
        for more in [[], ["--expanded"]][: 1 + name.endswith(".tc")]:
            status = main(["verify", str(tmp_path / name), "--json", *more])
            said = json.loads(capsys.readouterr().out)
            assert validate(said, schema) == []
            wrong = name in ("early.tc", "bad.xml")
            assert (status, said["holds"], bool(said["findings"])) == (int(wrong), not wrong, wrong)
            assert sum(said["rules"].values()) >= len(said["findings"])
            assert ("ratio" in said) == (name == "plan.tc")
            assert name != "early.tc" or re.match("(line|row) [0-9]", said["findings"][0]["where"])


@pytest.mark.parametrize(
    "words", ["verify no.tc", "plan broadcast ring:x", "networks star:3 --nothing", "why no", "bounds", "help no"]
)
def test_an_error_is_json_for_whoever_reads_json(words, capsys):
    assert main([*words.split(), "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == f"error: {json.loads(out)['error']}\n"
    assert main(words.split()) == 2
    assert capsys.readouterr() == ("", err)
