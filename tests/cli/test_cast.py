"""``treecast cast``: what it asks for, and files that go nowhere. tests/cast moves them."""

import json
from pathlib import Path

import pytest

from treecast.cli import main
from treecast.running.cast.job import CastRequest
from treecast.running.cast.rank import Result
from treecast.running.cast.report import CastOutcome


def test_each_host_of_the_list_is_asked_once(tmp_path, monkeypatch, capsys):
    asked = []

    def cast_to(names, what):
        asked.append((names, what))
        ends = {1: Result(1, "a", 7, ""), 2: "not reached (ssh: No route to host)"}
        return CastOutcome(ends, {1: "a", 2: "b"}, 7, (2.0, 0.0, 1.0))

    monkeypatch.setattr("treecast.running.cast.launch.cast_to", cast_to)
    monkeypatch.chdir(tmp_path)
    Path("model").write_bytes(b"weights")
    Path("hosts").write_text("a slots=2\nb\n")
    words = ["--as", "/scratch/model", "--rate", "8Gbit/s", "--network", "path:3", "--start", "5"]
    assert main(["cast", "model", "--hosts", "hosts", *words]) == 1
    assert asked == [(["a", "b"], CastRequest(tmp_path / "model", "/scratch/model", 1e9, "path:3", False, 5.0))]
    assert capsys.readouterr().out.splitlines() == [
        "rank 1 on a: whole, 7 bytes came",
        "rank 2 on b: not reached (ssh: No route to host)",
        "7 bytes to 1 of 2 hosts in 2.00 s (1.00 to start, 1.00 to send), 0.0 MB/s",
    ]
    assert main(["cast", "--from", "model", "--hosts", "hosts", "--allow-missing", "--checksum", "--json"]) == 0
    assert asked[1][1] == CastRequest(tmp_path / "model", str(tmp_path / "model"), None, None, True, 30.0)
    assert [each["whole"] for each in json.loads(capsys.readouterr().out)["hosts"]] == [True, False]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "--path is missing: 'treecast cast --help' shows the usage"),
        ("model", "a file goes to other hosts: write --hosts FILE, or start treecast cast by a launcher"),
        ("model --hosts none", "the hosts in none cannot be read: No such file or directory"),
        ("model --hosts empty", "empty names no host"),
        ("nothing --hosts hosts", "nothing is no file, and no folder of files"),
        ("model --hosts hosts --rate fast", "'fast' is no rate: write 12.5GB/s or 100Gbit/s"),
        ("model --hosts hosts --rate 10", "'10' has no unit: write 10GB/s or 10Gbit/s"),
        ("model --hosts hosts --network rng:3", "'rng:3' is no network: write ring:N, as in ring:8; did you mean"),
        ("model --hosts hosts --network ring:3", "ring:3 has 3 nodes, and there are 2 ranks: each node is a rank"),
        ("model other --hosts hosts", "'other' is one argument too many: 'treecast cast --help'"),
    ],
)
def test_what_goes_nowhere_is_one_line(ask, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    for name, text in {"model": "weights", "empty": "", "hosts": "elsewhere\n"}.items():
        (tmp_path / name).write_text(text)
    status, out, err = ask("cast", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {says}")
    assert err.count("\n") == 1
    assert len(list(tmp_path.iterdir())) == 3
