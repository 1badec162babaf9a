"""Scatterv and gatherv from the command line."""

import pytest


def test_lengths_in_every_spelling(answer, tmp_path):
    table = tmp_path / "lengths.txt"
    table.write_text("# node, flits\n1 3\n2 0\n\n3 2  # the last\n")
    for lengths, steps in (("3,3,0,2", 5), (str(table), 5), ("2", 6)):
        assert answer("plan", "scatterv", "path:4", "--lengths", lengths)["steps"] == steps
    once, again = (answer("plan", "gatherv", "tree:2,3", "--lengths", "random:9", "--seed", "3") for _ in "ab")
    assert once | {"seconds": 0} == again | {"seconds": 0}


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ("1,2", "4 nodes"), ("-1", "no length"), ("0,3,-2,1", "no length"), ("1.5", "no length"), ("random:x", "no length"),
        ("1,99999999999,1,1", "no length"), ("nowhere.txt", "neither a length nor a file"),
    ],
)  # fmt: skip
def test_lengths_that_are_none(ask, lengths, said):
    status, out, err = ask("plan", "scatterv", "path:4", f"--lengths={lengths}")
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("line", "said"),
    [("1 2\n1 3\n2 0\n3 0", "already"), ("1", "a node and its length"), ("1 2\n2 2", "node 3 has no length"), ("9 1", "no node")],
)  # fmt: skip
def test_files_of_lengths_that_are_none(ask, tmp_path, line, said):
    table = tmp_path / "lengths.txt"
    table.write_text(line)
    status, _, err = ask("plan", "scatterv", "path:4", "--lengths", str(table))
    assert (status, err.count("\n")) == (2, 1)
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "scatterv", "path:4"), "needs lengths"),
        (("plan", "scatter", "path:4", "--lengths", "1"), "nothing else"),
        (("plan", "scatterv", "path:4", "--lengths", "1", "--messages", "2"), "instead of a number"),
        (("plan", "scatterv", "path:4", "--lengths", "1", "--tree", "bonsai"), "bonsai"),
        (("plan", "scatterv", "path:4", "--lengths", "1", "--first", "last"), "there is no order 'last'"),
        (("plan", "gatherv", "path:4", "--lengths", "1", "--collect", "stamps"), "slots or walk"),
        (("plan", "gatherv", "tree:2,2", "--lengths", "1", "--builder", "shoulder-tap"), "path"),
        (("plan", "gatherv", "path:4", "--lengths", "1", "--root", "9"), "no node"),
        (("plan", "scatterv", "path:4", "--lengths", "1", "--files", "."), "choose one"),
    ],
)
def test_jobs_that_are_none(ask, arguments, said):
    status, out, err = ask(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_disconnected_graph_and_a_cycle(ask, tmp_path):
    apart, ring = tmp_path / "apart.edges", tmp_path / "ring.edges"
    apart.write_text("a b\nc d\n")
    ring.write_text("a b\nb c\nc a\n")
    assert ask("plan", "scatterv", f"file:{apart}", "--root", "a", "--lengths", "1")[0] == 2
    assert ask("plan", "gatherv", f"file:{ring}", "--root", "a", "--lengths", "1")[0] == 0
    status, _, err = ask(
        "plan", "gatherv", f"file:{ring}", "--root", "a", "--lengths", "1", "--builder", "shoulder-tap"
    )
    assert status == 2
    assert "needs a path" in err


def test_out_and_back_again(ask, answer, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for node in range(1, 7):
        (data / f"{node}.txt").write_bytes(bytes([node]) * (node % 4) * 700)
    at = {name: str(tmp_path / name) for name in ("deal.tc", "dealt", "collect.tcb", "collected")}
    for kind, source, schedule, target in (
        ("scatterv", str(data), at["deal.tc"], at["dealt"]),
        ("gatherv", at["dealt"], at["collect.tcb"], at["collected"]),
    ):  # fmt: skip
        assert ask("plan", kind, "tree:2,2", "--files", source, "--flit", "256", "-o", schedule)[0] == 0
        found = answer("run", schedule, "--input", source, "--flit", "256", "--output", target)
        assert (found["delivered"], found["most_held_for_others"]) == (6, 1)
    collected = {p.name: p.read_bytes() for p in (tmp_path / "collected").iterdir()}
    assert collected == {p.name: p.read_bytes() for p in data.iterdir()}
    status, out, _ = ask("run", at["deal.tc"], "--input", str(data), "--flit", "256", "--dead-nodes", "2@0")
    assert status == 1
    assert "LOST" in out
    status, _, err = ask("run", at["deal.tc"], "--input", str(data), "--flit", "100")
    assert (status, err.count("\n")) == (2, 1 + err.count("verified"))
    status, _, err = ask("run", at["deal.tc"], "--input", str(data), "--flit", "256", "--lying-nodes", "2")
    assert status == 2
    assert "nothing to elect" in err


def test_bounds_of_lengths(answer):
    found = answer("bounds", "scatterv", "path:4", "--lengths", "3,3,0,2")
    assert found["steps_lower_bound"] == 5
    found = answer("bounds", "gatherv", "tree:2,2", "--lengths", "0,9,0,0,0,0,1", "--model", "bufferless-multiport")
    assert found["steps_lower_bound"] == 9


def test_a_folder_that_is_not_empty_is_not_written_to(ask, tmp_path):
    data, there = tmp_path / "data", tmp_path / "there"
    for folder in (data, there):
        folder.mkdir()
        (folder / "1").write_bytes(b"x")
    schedule = str(tmp_path / "p.tc")
    assert ask("plan", "scatterv", "path:2", "--files", str(data), "-o", schedule)[0] == 0
    for target, said in ((str(there), "not empty"), ("-", "standard output"), (str(data), "another folder")):
        status, out, err = ask("run", schedule, "--input", str(data), "--output", target)
        assert (status, out) == (2, "")
        assert said in err
    assert (there / "1").read_bytes() == b"x"


@pytest.mark.slow
def test_the_gain_of_a_cover(answer, ask):
    line = (
        "plan",
        "scatterv",
        "torus:4x4",
        "--lengths",
        "random:15",
        "--model",
        "bufferless-multiport",
        "--builder",
        "cover",
    )
    found = answer(*line)
    assert found["single_tree_steps"] >= found["steps"]
    assert "one tree " in ask(*line)[1]
