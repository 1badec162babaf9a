"""What the watcher of a rank passes on: every byte, in whole lines, to a file, a pipe or a terminal."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from treecast.running.jobs.command import PROGRAM, ending_the_job

WRITE = "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))"


def watched(*words, rank=2, size=3, folder="/none", **more):
    """Start a command as a rank under watch."""
    place = {"TREECAST_RANK": str(rank), "TREECAST_SIZE": str(size), "TREECAST_JOB": f"{folder}/status"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*words], env={**os.environ, **place, **more}, **pipes)


@pytest.mark.parametrize(
    ("written", "passed"),
    [(b"", b""), (b"a\nb\n", b"a\nb\n"), (b"no end", b"no end\n"), (b"\xff\x00\xfe\r\n\n", b"\xff\x00\xfe\r\n\n"),
     (b"10%\r20%\r", b"10%\r20%\r\n"), (b"\r\n" * 3 + b"\r", b"\r\n" * 3 + b"\r\n")],
)  # fmt: skip
def test_bytes_stay_as_they_are_and_the_last_line_is_ended(written, passed):
    line = ending_the_job([sys.executable, "-c", WRITE, written.hex()])
    assert watched(*line).communicate(timeout=60) == (passed, b"")
    assert watched(*line, size=1).communicate(timeout=60) == (written, b"")


def test_tags_and_files_of_ranks(tmp_path):
    program = "import sys; print('a\\nb'); print('c', file=sys.stderr); sys.stdout.write('d')"
    more = {"TREECAST_TAG": "1", "TREECAST_LOGS": str(tmp_path)}
    found = watched(*ending_the_job([sys.executable, "-c", program]), **more).communicate(timeout=60)
    assert found == (b"[2] a\n[2] b\n[2] d\n", b"[2] c\n")
    lines = (tmp_path / "rank-2.log").read_text().splitlines()
    assert sorted(lines) == ["a", "b", "c", "d"]
    assert lines.index("a") < lines.index("b") < lines.index("d")


@pytest.mark.parametrize("how", [[sys.executable, "-c"], ["sh", "-c"]])
def test_a_line_comes_when_it_is_printed_not_when_the_rank_ends(how):
    python = "print('here'); import sys; sys.stdin.read()"
    program = python if how[0] != "sh" else f'{sys.executable} -c "{python}"; true'
    reads, writes = os.pipe()
    with ExitStack() as opened:
        opened.callback(os.close, writes)
        place = {**os.environ, "TREECAST_JOB": "/none/status"}
        rank = subprocess.Popen(ending_the_job([*how, program]), stdin=reads, stdout=subprocess.PIPE, env=place)
        os.close(reads)
        assert rank.stdout.readline() == b"here\n"  # while the rank waits for the end of its input
    with rank.stdout:
        assert (rank.stdout.read(), rank.wait(60)) == (b"", 0)


@pytest.mark.parametrize("end", ["kill -9 $$", "exit 0"])
def test_a_child_that_keeps_the_pipe_keeps_nobody(end):
    rank = watched(*ending_the_job(["sh", "-c", f"setsid sleep 600 & echo $!; {end}"]))
    out, _ = rank.communicate(timeout=60)
    os.kill(int(out), 9)
    assert rank.returncode == (-9 if "kill" in end else 0)


def test_a_rank_hears_that_nobody_reads():
    rank = watched(*ending_the_job([sys.executable, "-c", "while True: print('x' * 1000)"]))
    rank.stdout.close()
    assert b"BrokenPipeError" in rank.communicate(timeout=60)[1]


def test_a_rank_at_a_terminal_has_one():
    ours, theirs = os.openpty()
    program = "import os; print(os.isatty(1), os.isatty(2))"
    line = ending_the_job([sys.executable, "-c", program])
    rank = subprocess.Popen(line, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    assert (os.read(ours, 100), rank.wait(60)) == (b"True False\r\n", 0)
    os.close(ours)


@pytest.mark.parametrize(("script", "status"), [("exit 143", -9), ("exit 255", 255), ("exit 3", 3), ("exit 0", 0)])
def test_a_rank_on_another_host_ends_as_ssh_says(script, status, tmp_path):
    line = [sys.executable, "-I", "-S", PROGRAM, "there", "sh", "-c", script]
    rank = watched(*line, folder=tmp_path)
    rank.communicate(timeout=60)
    said = (tmp_path / "ended-2").read_text()
    assert (rank.returncode, said) == (status, str(-15 if status == -9 else status))


@pytest.mark.parametrize("options", [[], ["-u"]])
def test_a_rank_whose_output_was_a_file_has_streams_that_are_none(tmp_path, monkeypatch, options):
    """What they printed came out in pieces, or their ``reconfigure`` failed: they were made for the file."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = (
        "import sys; sys.stdout.reconfigure(errors='replace'); sys.stderr.reconfigure(errors='replace')\n"
        "print(sys.stdout.seekable(), sys.stdout.name, sys.stderr.write_through, sys.stdout is sys.__stdout__)\n"
        "sys.stdout.buffer.write(b'bytes\\n'); sys.stderr.write('told\\n')"
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        line = ending_the_job([sys.executable, *options, "-c", program])
        subprocess.run(line, stdout=out, stderr=err, timeout=60, check=True)
    said = f"False <stdout> {bool(options)} True\nbytes\n"
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == (said, "told\n")
