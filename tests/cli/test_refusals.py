"""Requests that cannot be met: each is refused in one line, before any work."""

import numpy as np
import pytest

from treecast.cli import main

COST = "--bytes 1MiB --latency 1us --rate 1GB/s"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("networks x.xml --rounding 100%", "rounding: '100%' is all of it"),
        ("networks x.xml --uplinks 0", "uplinks: '0' is no number of cables"),
        ("networks x.xml --part 'a b'", "holds a blank"),
        (
            "plan alltoallv complete:3 --files .",
            "alltoallv has a length for each pair of nodes: give --lengths, not --files",
        ),
        ("plan alltoallv complete:3 --lengths empty.npy", "is no array of numbers"),
        ("plan scatterv path:3 --lengths latin.txt", "is no list of lengths: it is not UTF-8"),
        ("plan broadcast star:4 --latency 1us", "a send costs its start-up time and its bytes: say both"),
        (f"advise broadcast --nodes 8 {COST} --chunk 4KiB", "--costs and --chunk are for one plan"),
        ("advise broadcast --nodes 8 --bytes 1MiB", "say how much data there is and how much sends cost"),
        ("times hypercube:3 --chunk 4KiB", "times has no option --chunk"),
        ("reliability plan.tc --node-failure latin.txt", "is no text: write a node and its probability a line"),
        ("repair plan.tc --dead-nodes 2134 --json -o -", "--json and '-o -' both want standard output"),
        (f"simulate plan.tc --lying-nodes 2134 {COST}", "seconds are of a replay without liars"),
        ("run plan.tc --input data --mpi --cut-links 1234-2134", "over MPI only processes can be killed"),
        ("verify plan.tc --rate 0 --latency 0", "'0' is no rate"),
        ("cast nowhere --hosts data", "names no host"),
        ("plan distribute complete:24 --from tp4", "distribute needs --to"),
        ("plan broadcast ring:5 --mesh tp5", "--mesh is no option of broadcast: it is one of groups"),
        ("plan demand ring:5 --classes 0", "a class is written CHUNKS: HOLDERS > WANTERS"),
        ('plan demand ring:5 --classes {"classes":5}', "error: 'classes' is a list of classes"),
        ('plan demand ring:5 --classes {"classes":[5]}', "error: class 1 of the file has no 'from' and 'to'"),
        ('plan demand ring:5 --classes {"classes":', "error: this is no JSON: "),
        ("draw plan.tc -o data/frames/", "cannot be made"),
        ("draw plan.tc -o picture.xyz", "is no picture"),
    ],
)
def test_refused(files, capsys, command, says):
    (files / "latin.txt").write_bytes(b"2134 \xe9\n")
    (files / "empty.npy").write_bytes(b"\x93NUMPY")
    words = [word.replace("_", " ") for word in command.replace("'a b'", "a_b").split(" ")]
    assert main(words) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.err.count("\n") == 1


def test_a_network_goes_to_standard_output(capsys):
    assert main(["convert", "ring:3", "-o", "-"]) == 0
    assert capsys.readouterr().out.count("<edge ") == 6


def test_a_matrix_of_numpy(tmp_path, capsys):
    np.save(tmp_path / "m.npy", 1 - np.eye(3, dtype=np.int64))
    assert main(["plan", "alltoallv", "complete:3", "--lengths", str(tmp_path / "m.npy"), "--json"]) == 0
    assert '"transmissions": 6' in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["show", "verify", "draw", "simulate"])
def test_a_network_where_a_plan_is_wanted(ask, tmp_path, verb):
    status, _, said = ask(verb, "star:4")
    assert (status, "star:4 is a network, no plan: plan on it first" in said) == (2, True)
    (tmp_path / "host.xml").write_text('<?xml version="1.0"?>\n<system version="1"></system>\n')
    status, _, said = ask(verb, str(tmp_path / "host.xml"))
    assert (status, "holds a network, no plan: plan on it first" in said, "NCCL" in said) == (2, True, True)


def test_a_demand_that_is_no_number_is_named_with_its_line(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demands.csv").write_text("0,1\nx,0\n")
    status, _, said = ask("plan", "alltoallv", "complete:2", "--lengths", "demands.csv")
    assert status == 2
    assert "'demands.csv', line 2: 'x' is no length" in said


def test_a_rate_that_takes_the_place_of_the_files_is_said(ask):
    speed = ("--bytes", "1MB", "--latency", "1us", "--rate")
    status, _, said = ask("plan", "broadcast", "machine:dgx-h100", *speed, "50Gbit/s")
    assert (status, "--rate 50Gbit/s takes the place of the rate in the file" in said) == (0, True)
    status, _, said = ask("plan", "broadcast", "machine:dgx-h100", *speed, "25GB/s")
    assert (status, "takes the place" in said) == (0, False)
