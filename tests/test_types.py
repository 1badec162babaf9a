"""The public functions have types that a type checker can use: the Python of README and tutorials passes as a user's own code."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SNIPPETS = [
    code
    for page in (ROOT / "README.md", *sorted((ROOT / "docs/howto").glob("*.md")))
    for code in re.findall(r"```py(?:thon)?\n(.*?)```", page.read_text(), re.DOTALL)
]
PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
USES = """
import numpy as np

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
treecast.simulate(schedule).lost_sends
treecast.simulate("plan.tc", ["2134"]).holds
treecast.simulate(schedule, liars=["2134"]).fooled
treecast.simulate(schedule, None, "2134").right
treecast.verify(schedule).bounds
treecast.verify("plan.tc").holds
treecast.run(schedule, np.zeros(3)).intact
treecast.elect(schedule, b"", ["2134"]).right
treecast.parse_faults("star:4", "2134@3").nodes
treecast.draw(schedule, kind="network")
treecast.sweep(schedule, 1).counterexample
treecast.repair(schedule, cut_links=["1234-2134"]).schedule.steps
job = treecast.job(schedule)
treecast.plan(job, bytes="1MiB", latency="1us", rate=1e9).steps
treecast.plan("broadcast", "star:4", messages=6, root="2134", tree="best").steps
treecast.bounds(job)[0].value
treecast.alternatives("broadcast", "star:4", copies=3).chosen.name
treecast.program(job, "2134").steps
treecast.program("broadcast", "star:4", "2134", messages=6).steps
treecast.repair(job, dead_nodes=["2134"]).before.steps
"""
SLIPS = """
import treecast

treecast.simulate(treecast.plan("broadcast", "star:4")).fooled
treecast.simulate(treecast.plan("broadcast", "star:4"), liars=["2134"]).delivered
treecast.run(treecast.plan("broadcast", "star:4"), "text")
treecast.plan("broadcast", "star:4", messages="six")
treecast.bounds("broadcast", "star:4", root=1.5)
"""


def programs_of(page):
    """Return the Python of a page: its cells as one program, without lines for the shell, and each program that a cell writes."""
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for cell in cells if "%%" not in cell for line in cell.splitlines()]
    written = [cell.partition("\n")[2] for cell in cells if re.match(r"%%writefile \S+\.py\n", cell)]
    return ["\n".join(line for line in lines if not line.startswith((":tags:", "!"))), *written]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder with all of them, and a file of slips."""
    folder = tmp_path_factory.mktemp("user")
    assert len(SNIPPETS) >= 4
    programs = [code for page in PAGES for code in programs_of(page) if "import treecast" in code]
    assert len(programs) >= 9
    for number, code in enumerate([*SNIPPETS, USES, *programs]):
        (folder / f"right_{number}.py").write_text(code)
    (folder / "slips.py").write_text(SLIPS)
    return folder


def check_found(found):
    """Hold that the (file, line from 1 on, message) that a checker found are the slips, and nothing else."""
    assert [each for each in found if each[0] != "slips.py"] == []
    assert sorted({line for _, line, _ in found}) == [4, 5, 6, 7, 8]


@pytest.mark.skipif(find_spec("pyright") is None, reason="needs pyright")
def test_pyright_passes_what_is_right_and_finds_what_is_not(folder):
    settings = {
        "extraPaths": [str(ROOT / "src")],
        "reportUnusedExpression": False,
        "reportRedeclaration": False,
        "reportMissingImports": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)],
        capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    check_found([(Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["message"]) for each in found])


@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_mypy_passes_what_is_right_and_finds_what_is_not(folder):
    # a cell may define again what an earlier one has defined
    options = ["--follow-imports=silent", "--ignore-missing-imports", "--disable-error-code=no-redef", "--output=json"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "."],
        cwd=folder, env=os.environ | {"MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    found = map(json.loads, done.stdout.splitlines())
    check_found([(each["file"], each["line"], each["message"]) for each in found])
