"""The command line of a rank: programs by their names and paths, and what is said of those that cannot be started."""

import os
import sys
from pathlib import Path

import pytest

from treecast.errors import PlanError
from treecast.running.jobs.command import PROGRAM, ending_the_job


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that writes a file; the folder ``bin`` is on the PATH, and the working folder is the one above it."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    def write(name, text="", mode=0o755):
        Path(name).write_text(text)
        Path(name).chmod(mode)

    return write


@pytest.mark.parametrize("first", [f"#!{sys.executable}", "#!/usr/bin/env python3"])
@pytest.mark.parametrize(("name", "path"), [("mine", "bin/mine"), ("./bin/mine", "bin/mine"), ("bin/mine", "bin/mine")])
def test_a_console_script_is_run_by_its_python(make, tmp_path, first, name, path):
    make("bin/mine", f"{first}\nprint(1)\n")
    python, program, script, word = ending_the_job([name, "5"])
    assert Path(python).name.startswith("python")
    assert Path(python).is_absolute()
    assert (program, (tmp_path / script).resolve(), word) == (PROGRAM, tmp_path / path, "5")


def test_any_other_program_is_found_by_its_name_too(make, tmp_path):
    make("bin/mine", "#!/bin/sh\n")
    assert ending_the_job(["mine", "5"])[-3:] == ["exec", str(tmp_path / "bin/mine"), "5"]


def test_a_script_beside_this_python_needs_no_path(make, monkeypatch, tmp_path):
    make("other", f"#!{sys.executable}\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert ending_the_job(["other"])[1:] == [PROGRAM, str(tmp_path / "other")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "nosuch cannot be started: there is no such program"),
        (["bin/nosuch"], "bin/nosuch cannot be started: there is no such program"),
        (["here"], "here cannot be started: write ./here"),
        (["bin/plain"], "bin/plain cannot be started: it may not be run: chmod +x bin/plain, or python bin/plain"),
        (["python3", "-u", "nosuch.py"], "nosuch.py cannot be started: there is no such file"),
        (["bin/gone"], "/gone/python3 cannot be started: there is no such program"),
    ],
)
def test_a_program_that_cannot_be_started_is_refused(make, words, said):
    make("here")
    make("bin/plain", mode=0o644)
    make("bin/gone", "#!/gone/python3\n")
    with pytest.raises(PlanError) as found:
        ending_the_job(words)
    assert str(found.value) == said
