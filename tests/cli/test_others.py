"""Files of other tools in every verb: what can be carried is carried, what cannot says why in one line."""

import json

import pytest

import treecast
from tests.formats.msccl_files import broken
from tests.formats.mscclpp_plans import in_packets, through_switch
from tests.formats.test_operations import binomial_broadcast
from treecast.cli import main

PLAN = treecast.plan("broadcast", "ring:4", messages=4)


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        (binomial_broadcast(), [], "does not say the contents of its messages, so it is no schedule: name"),
        (binomial_broadcast(), ["--collective", "allgather"], "wrong: delivered: rank 0 wants 3 chunks"),
        (
            binomial_broadcast(),
            ["--collective", "broadcast", "--network", "ring:5"],
            "has 5 nodes, and the file 4 ranks",
        ),
        (json.dumps(in_packets()).encode(), [], "right, but no schedule of ours"),
        (json.dumps(through_switch("rlxsignal")).encode(), [], "this plan of MSCCL++ is wrong: relaxed"),
        (json.dumps(through_switch()).encode(), ["--allow", "relax"], "'relax' is no rule of mscclpp"),
        (b"treecast 2\n", ["--network", "ring:4"], "says its network and job"),
    ],
)
def test_what_cannot_be_carried_says_why(text, words, why, tmp_path, capsys):
    path = tmp_path / "file"
    path.write_bytes(text)
    assert main(["draw", str(path), *words]) == 2
    told = capsys.readouterr().err.strip()
    assert why in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("name", ["race.xml", "late.goal"])
def test_rules_may_be_allowed_to_be_broken(name, tmp_path, capsys):
    files = {"race.xml": (broken("race")[0], "race"), "late.goal": (binomial_broadcast(), "adjacent")}
    data, rule = files[name]
    (tmp_path / name).write_bytes(data)
    words = ["verify", str(tmp_path / name), *(["--network", "path:4"] if rule == "adjacent" else [])]
    assert main(words) == 1
    assert f"BROKEN: {rule}" in capsys.readouterr().out
    assert main([*words, "--allow", rule]) == (3 if rule == "adjacent" else 0)
    assert "holds" in capsys.readouterr().out


def test_a_file_that_does_not_say_its_collective_has_a_status_of_its_own(tmp_path, capsys):
    file = tmp_path / "sends.goal"
    file.write_bytes(binomial_broadcast())
    assert main(["verify", str(file)]) == 3
    assert "holds, contents unknown (pairs, order, adjacent)" in capsys.readouterr().out
    assert main(["verify", str(file), "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["holds"], found["open"]) == (True, True)
    assert main(["verify", str(file), "--collective", "broadcast"]) == 0
    assert "holds (" in capsys.readouterr().out
    assert main(["verify", str(file), "--collective", "allgather"]) == 1


def test_over_mpi_a_file_is_read_as_it_stands(tmp_path, capsys):
    treecast.export(PLAN, tmp_path / "ours.xml")
    words = ["run", str(tmp_path / "ours.xml"), "--mpi", "--input", str(tmp_path / "ours.xml"), "--network", "ring:4"]
    assert main(words) == 2
    assert "write its schedule by 'treecast verify -o', and run that" in capsys.readouterr().err


FILES = {
    "ours.xml": lambda path: treecast.export(PLAN, path),
    "ours.mscclpp.json": lambda path: treecast.export(PLAN, path),
    "ours.simgrid": lambda path: treecast.export(PLAN, path),
    "theirs.goal": lambda path: path.write_bytes(binomial_broadcast()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_each_verb_takes_files_of_others(name, tmp_path, capsys):
    path, data = tmp_path / name, tmp_path / "data"
    FILES[name](path)
    data.write_bytes(bytes(range(256)))
    told = ["--collective", "broadcast"] if name == "theirs.goal" else []
    told += ["--network", "complete:4"] if name.endswith((".xml", ".goal", ".json")) else []
    for words in (
        ["verify", path],
        ["show", path],
        ["draw", path, "-o", tmp_path / "page.html"],
        ["simulate", path, "--dead-nodes", "2" if name == "theirs.goal" else "3"],
        ["run", path, "--input", data],
        ["repair", path, "--dead-nodes", "3", "-o", tmp_path / "new.tc"],
        ["export", path, "-o", tmp_path / "again.csv"],
    ):
        assert main([*map(str, words), *told]) == (words[0] == "simulate"), (words, capsys.readouterr().err)
    assert "<html" in (tmp_path / "page.html").read_text()
    assert treecast.load(tmp_path / "new.tc").network.rank_count == 3
    assert treecast.load(tmp_path / "again.csv").collective.kind == "broadcast"
