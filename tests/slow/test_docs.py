"""What the documentation shows is run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT, RUN, RUN_LONG, commands_of
from treecast.cli import main


def sooner(arguments):
    """Return a command whose theorems are checked for the smallest sizes only."""
    return ["3" if before == "--up-to" else word for before, word in zip(["", *arguments], arguments, strict=False)]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["soon", "whole"])
@pytest.mark.parametrize(
    ("name", "least"),
    [*RUN.items(), *(pytest.param(*page, marks=pytest.mark.long) for page in RUN_LONG.items())],
)
def test_commands_run(name, least, whole, tmp_path, monkeypatch, capsys):
    """All of a page's commands, in order, in a folder that holds the files that the page speaks of.

    Quick runs check fewer sizes of the theorems; tests/papers checks more of them.
    """
    shutil.copy(ROOT / "README.md", tmp_path)
    for example in ("cluster.graphml", "fabric.ibnetdiscover", "allreduce.log"):
        shutil.copy(ROOT / "examples" / example, tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # the README's commands run where it lies
    (tmp_path / "data").mkdir()
    for node in range(1, 7):  # of tree:2,2, for docs/explanation/trees.md
        (tmp_path / "data" / str(node)).write_bytes(bytes(range(node)) * 900 * (node % 3))
    monkeypatch.chdir(tmp_path)
    commands = commands_of(ROOT / name)
    assert len(commands) >= least
    for program, *arguments in commands:
        if program == "diff":
            assert subprocess.run([program, *arguments], check=False, timeout=300).returncode == 0, arguments
        else:
            assert program == "treecast"
            assert main(arguments if whole else sooner(arguments)) == 0, arguments
    capsys.readouterr()


def test_doctests():
    done = subprocess.run(
        [sys.executable, "-m", "doctest", str(ROOT / "src" / "treecast" / "__init__.py")],
        capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the demo is a shell script")
def test_the_demo(tmp_path, monkeypatch):
    binary = shutil.which("treecast", path=str(Path(sys.executable).parent))
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(range(256)) * 100)
    done = subprocess.run(
        ["sh", str(ROOT / "examples" / "demo.sh")], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"BIN": str(Path(binary).parent), "FILE": str(file), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "everything to all 22 living nodes" in done.stdout
    assert "\x1b[" not in done.stdout
    assert (tmp_path / "treecast-demo.png").read_bytes().startswith(b"\x89PNG")
