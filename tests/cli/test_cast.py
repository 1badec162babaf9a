"""``treecast cast``: the job that it starts, and files that go nowhere. tests/tcp/test_cast.py moves them."""

import sys

import pytest

from treecast.cli import main
from treecast.jobs.watch import Ending


def test_a_job_is_started_with_this_host_and_each_other_once(tmp_path, monkeypatch, capsys):
    started = []

    def launch(ranks, program, **how):
        started.append((ranks, program, how))
        return Ending(0, "rank 2 was killed; 2 of 3 ended with 0")

    monkeypatch.setattr("treecast.tcp.launch.launch", launch)
    file, hosts = tmp_path / "model", tmp_path / "hosts"
    file.write_bytes(b"weights")
    hosts.write_text("a slots=2\nb\n")
    words = ["--as", "/scratch/model", "--rate", "10Gbit/s", "--network", "path:3"]
    assert main(["cast", str(file), "--hosts", str(hosts), *words]) == 0
    asked = ["cast", str(file), "--as", "/scratch/model", "--rate", "10Gbit/s"]
    assert started == [
        (
            None,
            [sys.executable, "-m", "treecast", *asked],
            {"hosts": [None, "a", "b"], "environment": {"TREECAST_NETWORK": "path:3"}},
        )
    ]
    assert capsys.readouterr().err == "treecast: rank 2 was killed; 2 of 3 ended with 0\n"


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
