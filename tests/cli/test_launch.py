"""``treecast launch``: ranks that are started, and command lines that start none."""

import sys

import pytest

from treecast.cli import main


def test_each_rank_knows_its_number_and_how_many_there_are(capfd):
    say = "import os; print(os.environ['TREECAST_RANK'], 'of', os.environ['TREECAST_SIZE'])"
    assert main(["launch", "--tcp", "-n", "2", "--", sys.executable, "-c", say]) == 0
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == ["0 of 2", "1 of 2"]
    assert err == ""


def test_the_status_is_that_of_the_rank_that_fails_and_a_line_says_so(capfd):
    assert main(["launch", "--tcp", "-n", "1", "--", "sh", "-c", "exit 3"]) == 3
    assert capfd.readouterr().err == "treecast: rank 0 ended with 3; 0 of 1 ended with 0\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "how many ranks? write -n 8, say"),
        ("-n 2", "there is nothing to start: write treecast launch -n 8 -- COMMAND …"),
        ("-n 2 --tcp", "there is nothing to start: write treecast launch --tcp -n 4 -- COMMAND …"),
        ("-n 0 --tcp -- true", "0 ranks do nothing: write -n 4, say"),
        ("-n two -- true", "-n two will not do: write a whole number"),
        ("--tpc -n 2", "launch has no option --tpc: 'treecast launch --help' shows the usage; did you mean '--tcp'?"),
        ("-n 2 --bogus 3", "launch has no option --bogus: 'treecast launch --help' shows the usage"),
        ("-n 2 --timeout -3 -- true", "--timeout -3.0 will not do: write a number from 0"),
        ("-n 2 --timeout 0 -- true", "--timeout 0 leaves no time: write seconds, as in --timeout 60, or leave it out"),
        ("--tcp -n 100000 -- true", "100,000 ranks are too many for one machine: write -n 4096 or less"),
        ("-n 2 --tcp --respawn -1 -- true", "--respawn -1 will not do: write a number from 0"),
        ("-n 2 --respawn 1 -- true", "--hosts, --respawn, --network and --tie go with --tcp"),
        ("-n 2 --tcp --network rng:3 -- true", "'rng:3' is no network: write ring:N, as in ring:8; did you mean"),
        ("-n 2 --tcp --network ring:3 -- true", "ring:3 has 3 nodes, and there are 2 ranks: each node is a rank"),
        ("--tcp --hosts none -- true", "the hosts in none cannot be read: No such file or directory"),
        ("--tcp --hosts . -- true", "the hosts in . cannot be read: Is a directory"),
        ("--tcp --hosts empty -- true", "empty names no host"),
        ("--tcp --hosts slots -- true", "'here slots=x' names no host: write HOST, or HOST:2 for two ranks"),
        ("--tcp --hosts binary -- true", "binary is no text, and names no host"),
    ],
)
def test_what_starts_no_job_is_one_line(ask, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    for name, content in {"empty": b"", "slots": b"here slots=x\n", "binary": b"\xff\xfe"}.items():
        (tmp_path / name).write_bytes(content)
    status, out, err = ask("launch", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {says}")
    assert err.count("\n") == 1
