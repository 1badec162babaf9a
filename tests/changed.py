"""Names the tests that a change can break: of the rooms that changed since a commit, and of all rooms that import them.

``python tests/changed.py`` compares the working tree with HEAD, and ``python tests/changed.py main`` with another commit. It
prints paths for pytest. Tests that are no room's are named where anything changed: `make test` runs all there are.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

from treecast.discovery import WINGS

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = Path("src/treecast"), Path("tests")
ELSEWHERE = {"verbs": "cli", "topics": "cli", "figures": "drawing", "reading": "networks"}
"""The folders of tests of parts that stand in wings."""


def changed_files(commit: str) -> list[Path]:
    """Return the files that differ from a commit, and those that git does not know yet, relative to the root."""
    told: list[str] = []
    for asked in (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"]):
        told += subprocess.run(
            ["git", *asked], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
        ).stdout.split("\n")
    return [Path(name) for name in told if name]


def room_of(module: str) -> str:
    """Return the package of the core, or of a wing, with a module: ``treecast.plans``, ``treecast.running.transport``."""
    names = module.split(".")
    return ".".join(names[: 3 if f"treecast.{names[1]}" in WINGS else 2])


def tests_of(module: str) -> set[str]:
    """Return the folders of tests of a module: of its verbs those of the command line, of kernels those of all kernels."""
    _, *names = module.split(".")
    if where := {ELSEWHERE[name] for name in names if name in ELSEWHERE}:
        return where
    below = [name for name in names[1:2] if (ROOT / SOURCE / names[0] / name).is_dir()]
    return {names[0], *below, *(["kernels"] if {"kernels", "compiled"} & {*names} else [])}


def modules_above(rooms: Iterable[str]) -> set[str]:
    """Return the modules of these rooms, and all that import something in them, directly or by way of others."""
    graph = grimp.build_graph("treecast")
    found = {module for module in graph.modules for room in rooms if f"{module}.".startswith(f"{room}.")}
    for room in {*rooms} & graph.modules:
        found |= graph.find_downstream_modules(room, as_package=True)
    return found - {"treecast"}


def affected_tests(files: Iterable[Path]) -> list[str]:
    """Return the files and folders of tests that a change of some files can break."""
    files = list(files)
    changed = [".".join(file.relative_to("src").with_suffix("").parts) for file in files if file.is_relative_to(SOURCE)]
    rooms = {name for module in modules_above({*map(room_of, changed)}) for name in tests_of(module)}
    found = {TESTS / room for room in rooms if (ROOT / TESTS / room).is_dir()}
    beside = [
        file
        for file in files
        if file.is_relative_to(TESTS) and file.name.startswith("test_") and (ROOT / file).exists()
    ]
    found |= {file for file in beside if not any(file.is_relative_to(folder) for folder in found)}
    if files:
        found |= {path.relative_to(ROOT) for path in (ROOT / TESTS).glob("test_*.py")}
    return sorted(map(str, found))


if __name__ == "__main__":
    print(*affected_tests(changed_files(*(sys.argv[1:] or ["HEAD"]))))
