"""The public functions have types that a type checker can use: the Python of README and tutorials passes as a user's own code."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = re.findall(r"```py(?:thon)?\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PAGES = [ROOT / "docs/start.md", *sorted((ROOT / "docs/tutorials").glob("*.md"))]
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


def cells_of(page):
    """Return the Python of a page's cells, without lines for the shell; cells that write a file are none."""
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for cell in cells if "%%" not in cell for line in cell.splitlines()]
    return "\n".join(line for line in lines if not line.startswith((":tags:", "!")))


@pytest.mark.skipif(find_spec("pyright") is None, reason="needs pyright")
def test_a_type_checker_passes_what_is_right_and_finds_what_is_not(tmp_path):
    assert len(SNIPPETS) >= 1
    pages = [code for page in PAGES if "import treecast" in (code := cells_of(page))]
    assert len(pages) >= 8
    for number, code in enumerate([*SNIPPETS, USES, *pages]):
        (tmp_path / f"right_{number}.py").write_text(code)
    (tmp_path / "slips.py").write_text(SLIPS)
    settings = {
        "extraPaths": [str(ROOT / "src")],
        "reportUnusedExpression": False,
        "reportRedeclaration": False,
        "reportMissingImports": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    wrong = [(Path(each["file"]).name, each["range"]["start"]["line"], each["message"]) for each in found]
    assert [each for each in wrong if each[0] != "slips.py"] == []
    assert sorted({line for _, line, _ in wrong}) == [3, 4, 5, 6, 7]
