"""The command line, mostly in this process; what needs a terminal, a pipe or a signal, in one of its own."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from itertools import product
from pathlib import Path

import pytest

from tests.cli.test_cli import PLAN
from tests.cli.test_cli import answer as answer
from treecast.cli import main
from treecast.compiled import policy
from treecast.files import formats
from treecast.plans import plan

TREECAST = [sys.executable, "-m", "treecast"]


def command(*arguments, **options):
    """Run a command in a process of its own."""
    return subprocess.run([*TREECAST, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_theorems(answer, ask):
    status, found = answer("theorems", "star", "--up-to", "3")
    assert status == 0
    assert set(found[0]) == {"name", "says", "checked", "holds", "as_known", "detail", "seconds"}
    status, out, err = ask("theorems", "star", "--up-to", "3")
    assert (status, err) == (0, "")
    assert out.count("holds  ") == sum(one["holds"] for one in found)
    assert out.count("FALSE  ") == sum(not one["holds"] for one in found) == 1
    assert all(one["as_known"] for one in found)
    assert max(map(len, out.splitlines())) <= 100


def test_draw(files, ask):
    status, out, err = ask("draw", "plan.tc")
    assert (status, err, out.count("(root)")) == (0, "", 3)
    assert ask("draw", "plan.tc", "--tree", "1", "--ascii")[1].isascii()
    assert "complete @" in ask("draw", "plan.tc", "--kind", "space-time", "--dead-nodes", "2134")[1]
    for name in ("picture.svg", "picture.png"):
        assert ask("draw", "plan.tc", "-o", name) == (0, "", "")
        assert (files / name).stat().st_size > 1000


def test_a_plan_through_a_pipe(files):
    first = subprocess.Popen([*TREECAST, *PLAN, "--messages", "9", "-o", "-"], stdout=subprocess.PIPE)
    done = command("verify", "-", "--json", stdin=first.stdout)
    first.stdout.close()
    assert (first.wait(60), done.returncode, done.stderr) == (0, 0, "")
    assert json.loads(done.stdout)["messages"] == 9


def test_data_through_a_pipe(files):
    with open("data", "rb") as data:
        done = command("run", "plan.tcb", "--input", "-", "--json", stdin=data)
    assert (done.returncode, json.loads(done.stdout)["bytes"]) == (0, 5120)


def test_whoever_stops_reading_gets_no_traceback(files):
    for arguments in (
        ["show", "plan.tc"],
        ["theorems", "hypercube", "--up-to", "1"],
        ["plan", "broadcast", "star:5", "-o", "-"],
    ):
        program = subprocess.Popen(
            [*TREECAST, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=0
        )
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(60) == 0
        program.stderr.close()


@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("how", "status", "says"),
    [
        ("verify plan.tc > /dev/full", 2, "error: No space left on device\n"),
        ("verify plan.tc >&-", 0, ""),
        ("verify early.tc >&-", 1, ""),
        ("verify - <&-", 2, "error: standard input cannot be read: it is closed\n"),
        ("verify missing.tc 2>&-", 2, ""),
        ("verify plan.tc < /dev/null | head -1", 0, ""),
    ],
)
def test_odd_streams(files, how, status, says):
    done = subprocess.run(
        ["bash", "-c", f"exec 9>&2; '{sys.executable}' -m treecast {how}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (status, says)


def test_signs_that_an_encoding_lacks(files):
    done = command("bounds", "broadcast", "star:4", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "?M x / degree?" in done.stdout


def in_terminal(*arguments, **environment):
    """Run a command in a terminal; return its exit status and what the terminal showed."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*TREECAST, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"} | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            if not select.select([ours], [], [], 60)[0] or not (more := os.read(ours, 1 << 16)):
                break
        except OSError:  # the other end is closed
            break
        shown += more
    os.close(ours)
    return program.wait(60), shown.decode().replace("\r\n", "\n")


def test_in_a_terminal_there_is_chatter_and_colour(files):
    status, shown = in_terminal("run", "plan.tc", "--input", "data", "--dead-nodes", "2134@9")
    assert status == 0
    assert shown.startswith("verified by streams: 69 rows\n")
    assert re.search("\x1b\\[[0-9;]*32m", shown)
    assert "━" in shown
    status, shown = in_terminal("plan", "broadcast", "star:4", "-o", "new.tc")
    assert shown.endswith("wrote new.tc, 23 rows\n")


def test_no_color_is_heeded(files):
    status, shown = in_terminal("run", "plan.tc", "--input", "data", "--dead-nodes", "2134@9", NO_COLOR="1")
    assert status == 0
    assert not re.search("\x1b\\[[0-9;]*3[0-9]m", shown)


def test_a_terminal_is_not_flooded(files, ask):
    formats.save(plan("scatter", "path:24"), "large.tc")
    status, shown = in_terminal("show", "large.tc")
    assert (status, shown.count("port=")) == (0, 200)
    assert shown.endswith("and 76 more rows: --all shows them\n")
    assert in_terminal("show", "large.tc", "--all")[1].count("port=") == 276
    assert ask("show", "large.tc")[1].count("port=") == 276


def compile_all():
    """Compiled functions are kept on disk; compiling them is the one thing that cannot be cut short."""
    with policy("compile"):
        assert main(["plan", "broadcast", "star:4", "--copies", "3"]) == 0
        assert main(["theorems", "star", "--up-to", "4"]) == 0


THEOREMS = "theorems star --up-to 11"


LARGE_PLAN = "plan broadcast star:9 --messages 1000 --copies 8 -o large.tc"


@pytest.mark.parametrize(
    ("command", "after", "compiled"),
    [
        (THEOREMS, 0, False),
        (LARGE_PLAN, 1.5, False),
        *(
            pytest.param(command, after, True, marks=pytest.mark.long)
            for command, after in product((THEOREMS, LARGE_PLAN), (0, 1.5))
        ),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_ctrl_c(tmp_path, command, after, compiled):
    if compiled:
        compile_all()
    program = subprocess.Popen(
        [*TREECAST, *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"}),
    )  # fmt: skip
    while "numpy" not in Path(f"/proc/{program.pid}/maps").read_text():  # before that Python itself starts
        time.sleep(0.01)
    time.sleep(after)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=100)
    assert (program.returncode, err) == (130, "interrupted\n")
    assert os.listdir(tmp_path) == []


INTERRUPT = """
import os, sys

imports = None

def count(event, arguments):
    global imports
    if event == "exec" and arguments[0].co_filename.endswith("treecast/__main__.py"):
        imports = 0
    elif event == "import" and imports is not None:
        imports += 1
        if imports == int(os.environ["AT"]):
            os.kill(os.getpid(), 2)

sys.addaudithook(count)
"""
ENTRY = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["scripts"]["treecast"]


@pytest.mark.each(5)
@pytest.mark.parametrize("at", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
@pytest.mark.parametrize("how", ["-m", "installed"])
def test_ctrl_c_at_imports_from_the_first_line_on(tmp_path, how, at):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)
    module, _, name = ENTRY.partition(":")
    script = ["-c", f"import sys; from {module} import {name}; sys.exit({name}())"]
    done = subprocess.run(
        [sys.executable, *(["-m", "treecast"] if how == "-m" else script), "theorems", "star", "--up-to", "3"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "AT": str(at)},
        capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


HEAVY = ["numba", "networkx", "matplotlib", "markdown_it"]


@pytest.mark.each(7)
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ["numpy", *HEAVY]),
        (["--version"], ["numpy", *HEAVY]),
        ([], ["numpy", *HEAVY]),
        (["bounds", "--help"], ["numpy", *HEAVY]),
        (["show", "--help"], ["numpy", *HEAVY]),
        (["run", "--bogus"], ["numpy", *HEAVY]),
        (["plan", "--help"], HEAVY),  # what builders can be told is known to the builders alone
        (["plan", "--bogus"], HEAVY),
        (["theorems", "--help"], HEAVY),
    ],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_help_imports_nothing_heavy(arguments, heavy):
    code = (
        "import sys; from treecast.cli import main; *arguments, heavy = sys.argv[1:]; main(arguments); "
        "print(*[m for m in heavy.split() if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, " ".join(heavy)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stderr.splitlines()[-1] == ""


NEGATIVES = """
import sys
from treecast.cli import main
assert False, "python -O leaves this out"
for name in sys.argv[1:]:
    print("--", main(["verify", name]), flush=True)
"""


def test_the_day_one_negatives_without_asserts(files):
    expected = (
        ("hand.tc", 0, "verified       yes"),
        ("early.tc", 1, "verified       NO: holds is broken once"),
        ("no-arc.tc", 1, "verified       NO: adjacent is broken once"),
        ("tampered.tc", 2, "error: the file was changed or cut off"),
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", NEGATIVES, *(name for name, _, _ in expected)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    *shown, rest = re.split(r"^-- (\d)\n", done.stdout, flags=re.MULTILINE)
    assert rest == ""
    assert list(map(int, shown[1::2])) == [status for _, status, _ in expected]
    for said, (_, _, says) in zip(shown[::2], expected, strict=True):
        assert says in said
