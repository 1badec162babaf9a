"""Names the tests that a change can break: of the rooms that changed since a commit, and of all rooms that import them.

``python tests/changed.py`` compares the working tree with HEAD, and ``python tests/changed.py main`` with another commit. It
prints paths for pytest. Tests that are no room's are named where anything changed: `make test` runs all there are.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = Path("src/treecast"), Path("tests")
LANES = (TESTS, TESTS / "slow")


def changed_files(commit: str) -> list[Path]:
    """Return the files that differ from a commit, and those that git does not know yet, relative to the root."""
    told: list[str] = []
    for asked in (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"]):
        told += subprocess.run(
            ["git", *asked], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
        ).stdout.split("\n")
    return [Path(name) for name in told if name]


def room_of(module: str) -> str:
    """Return the folder or module of the package with a module: ``plans`` of ``treecast.plans.whole.any_machine.known``."""
    return ([*module.split("."), ""])[1]


def rooms_above(rooms: Iterable[str]) -> set[str]:
    """Return these rooms, and all that import something in them, directly or by way of others."""
    graph = grimp.build_graph("treecast")
    found = set(rooms)
    for room in rooms:
        if f"treecast.{room}" in graph.modules:
            found |= {room_of(each) for each in graph.find_downstream_modules(f"treecast.{room}", as_package=True)}
    return found


def affected_tests(files: Iterable[Path]) -> list[str]:
    """Return the files and folders of tests that a change of some files can break."""
    files = list(files)
    rooms = rooms_above(
        {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in files if file.is_relative_to(SOURCE)}
    )
    found = {lane / room for room in rooms for lane in LANES if (ROOT / lane / room).exists()}
    beside = [
        file
        for file in files
        if file.is_relative_to(TESTS)
        and file.name.startswith("test_")
        and (ROOT / file).exists()
        and not file.is_relative_to(TESTS / "long")
    ]
    found |= {file for file in beside if not any(file.is_relative_to(folder) for folder in found)}
    if files:
        found |= {path.relative_to(ROOT) for lane in LANES for path in (ROOT / lane).glob("test_*.py")}
    return sorted(map(str, found))


if __name__ == "__main__":
    print(*affected_tests(changed_files(*(sys.argv[1:] or ["HEAD"]))))
