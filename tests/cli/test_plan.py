"""``treecast plan``, and ``plan()``: what is given by mistake, and where the plan goes."""

import pytest

import treecast
from treecast.cli import main
from treecast.errors import FormatError, PlanError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mesages": 5}, "no builder has an option 'mesages'; did you mean 'messages'?"),
        ({"survives": 1}, "did you mean 'survive'?"),
        ({"fault_fre": True}, "did you mean 'fault_free'?"),
        (
            {"bananas": 5},
            "no builder has an option 'bananas'; there is: answering, best_order, by_rank, collect, fault_free, ",
        ),
        ({"survive": 1.5}, "survive must be a whole number, not 1.5"),
        ({"copies": "2"}, "copies must be a whole number, not '2'"),
        ({"copies": True}, "copies must be a whole number, not True"),
    ],
)
def test_a_wrong_keyword_is_answered_with_the_right_one(given, says):
    for asked in (treecast.plan, treecast.alternatives, lambda *job, **what: treecast.program(*job, 5, **what)):
        with pytest.raises(PlanError) as caught:
            asked("broadcast", "star:4", **given)
        assert says in str(caught.value)


@pytest.mark.parametrize("verb", ["plan broadcast star:3", "export plan.tc"])
def test_a_name_that_says_nothing_is_said_to_be_text(tmp_path, monkeypatch, verb, capsys):
    monkeypatch.chdir(tmp_path)
    treecast.save(treecast.plan("broadcast", "star:3"), "plan.tc")
    for name, said in (
        ("x.foo", "x.foo is written as text: .foo is the ending of no format\nwrote x.foo"),
        ("x.txt", "wrote x.txt"),
        ("x", "wrote x"),
    ):
        assert main([*verb.split(), "-o", name]) == 0
        assert capsys.readouterr().err.startswith(said)
        assert treecast.load(name).steps == 3


@pytest.mark.parametrize("verb", ["plan broadcast star:3", "export plan.tc", "repair plan.tc", "verify plan.tc"])
def test_an_empty_name_and_a_compressed_file_are_refused(tmp_path, monkeypatch, verb, capsys):
    monkeypatch.chdir(tmp_path)
    treecast.save(treecast.plan("broadcast", "star:3"), "plan.tc")
    for name, said in (("", "'' is no name of a file: write plan.tc"), ("x.tc.gz", "treecast compresses no files")):
        assert main([*verb.split(), "-o", name]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(FormatError, match="is no name of a file"):
        treecast.save(treecast.plan("broadcast", "star:3"), "")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.tc"]


def test_a_file_is_a_network_without_a_prefix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abilene").write_text("a b\nb c\n")
    assert main(["plan", "broadcast", "abilene"]) == 0


def test_networks_called_lists_them():
    assert treecast.networks() == treecast.families()


def test_what_a_file_says_and_what_is_usual(capsys, tmp_path):
    assert (
        main(["plan", "all-gather", "examples/fabric.ibnetdiscover", "--bytes", "1GB", "-o", str(tmp_path / "p.tc")])
        == 0
    )
    shown = capsys.readouterr()
    assert "nobody says how long a send takes to start: 2us is taken (--latency)" in shown.err
    assert "collective     allgather of" in shown.out
    assert "allgather" in (tmp_path / "p.tc").read_text()
    (tmp_path / "m.txt").write_text("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n")
    assert main(["plan", "allreduce", str(tmp_path / "m.txt"), "--bytes", "1GB", "--latency", "5us"]) == 2
    assert "(of a matrix of GPUs --gpu H100 says the rate)" in capsys.readouterr().err
    assert main(["plan", "broadcast", "examples/fabric.ibnetdiscover", "--root", "host0_0"]) == 2
    assert "did you mean 'host0-0'?" in capsys.readouterr().err
