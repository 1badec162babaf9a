"""What the documentation shows is run."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs_shown import NOT_RUN, commands_of_jobs, why_not_run
from tests.jobs_shown import PAGES as SHOWN
from tests.test_jobs_shown import PAGES as RUN_PAGES
from tests.test_shown import PAGES as COMPARED
from tests.test_site import PAGES as SITE
from treecast.cli import main
from treecast.cli.app import find_verbs

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
RUN = {
    "docs/develop/architecture.md": 1,
    "docs/explanation/mesh.md": 2,
    "docs/howto/commands.md": 9,
    "docs/howto/cluster.md": 9,
    "docs/howto/quick.md": 17,
    "docs/explanation/reliability.md": 5,
    "docs/reference/explorer.md": 2,
}
"""The pages whose commands tests/test_docs.py runs, with the least number of these."""
RUN_LONG = {
    "docs/explanation/capacities.md": 1,
    "docs/explanation/one-port.md": 6,
    "docs/explanation/trees.md": 9,
    "docs/howto/pictures.md": 5,
    **{f"docs/reference/formats/{name}.md": 2 for name in ("chakra", "chrome", "csv", "goal", "graphml", "simgrid")},
    **{f"docs/reference/formats/{name}.md": 3 for name in ("judged", "msccl", "mscclpp")},
}
"""Those that long runs alone take."""


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_python_of_the_readme_says_what_its_comments_say(capsys):
    (code,) = blocks(ROOT / "README.md", "python")
    exec(code, {})
    said = capsys.readouterr().out.splitlines()
    promised = [line.split("#")[1].strip() for line in code.splitlines() if line.startswith("print")]
    assert said == ["True 307", "7141", "119"]
    for have, promise in zip(said, promised, strict=True):
        assert re.match(rf"{have}\b", promise)


def test_the_five_lines_need_no_more():
    (code,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in code.splitlines() if line and not line.startswith("import")]) == 5


def test_each_reader_has_a_first_answer_in_ten_lines(capsys):
    """tests/test_docs.py runs the commands; Python says what its comments say."""
    page = ROOT / "docs/howto/quick.md"
    parts = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) == 5
    for part in parts:
        code = "".join(re.findall(r"^```(?:console|python)\n(.*?)^```", part, re.MULTILINE | re.DOTALL))
        assert 1 <= len([line for line in code.splitlines() if line]) <= 10
    for code in blocks(page, "python"):
        exec(code, {})
        (promised,) = re.findall(r"^print.*# (.*?):", code, re.MULTILINE)
        assert capsys.readouterr().out.strip() == promised


def commands_of(page):
    return [
        shlex.split(line[2:])
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def test_the_pages_show_every_verb():
    commands = commands_of(ROOT / "README.md") + commands_of(ROOT / "docs/howto/commands.md")
    without_a_line = {"cast", "lab", "launch", "warm-up", "why"}  # they have pages, but for one that takes a minute
    assert {command[1] for command in commands if command[0] == "treecast"} == set(find_verbs()) - without_a_line


def test_every_console_block_stands_on_a_page_whose_commands_run():
    """tests/test_shown.py runs those of papers and results; those of hang.md end with 1, as they should."""
    assert {str(page.relative_to(ROOT)) for page in PAGES if commands_of(page)} == {
        *RUN,
        *RUN_LONG,
        *(str(page.relative_to(ROOT)) for page in COMPARED),
        "docs/howto/hang.md",
    }


def test_every_command_that_starts_a_job_is_run_or_it_is_said_why_not():
    """tests/test_jobs_shown.py runs them: whoever writes one on another page adds the page there, or says why here."""
    shown = {(str(page.relative_to(ROOT)), line) for page in SHOWN for line in commands_of_jobs(page)}
    runs = {page for page, line in shown if not why_not_run(line)}
    assert runs == set(RUN_PAGES)
    assert {begin for begin in NOT_RUN if any(f"{line} ".startswith(begin) for _, line in shown)} == set(NOT_RUN)
    for why in NOT_RUN.values():
        for file in re.findall(r"tests/[\w/.]+\.py", why):
            assert (ROOT / file).exists(), why


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples", "docs/generating"])
def test_pages_that_code_names_are_there(folder):
    named = r'docs/[\w/-]+\.md|"docs" / "[\w/-]+\.md"'
    for file in (ROOT / folder).rglob("*.py"):
        for page in re.findall(named, file.read_text()):
            assert (ROOT / page.replace('"', "").replace(" ", "")).exists(), (file.name, page)


def test_the_layout_in_the_docs_is_the_layout():
    text = (ROOT / "docs/develop/rooms.md").read_text()
    for module in (ROOT / "src" / "treecast").iterdir():
        if module.suffix == ".py" and not module.name.startswith("__"):
            assert module.name in text, module.name
        elif module.is_dir() and (module / "__init__.py").exists():
            assert f"{module.name}/" in text, module.name


@pytest.mark.skipif(sys.platform == "win32", reason="the demos are shell scripts")
def test_a_demo_without_its_file_fails_first(tmp_path):
    """``make`` hands the name over as it is, and nothing is run before the file has been looked for."""
    (tmp_path / "treecast").write_text("#!/bin/sh\necho ran >&2\n")
    (tmp_path / "treecast").chmod(0o755)
    for script in ("demo", "demo-mpi"):
        words = ["make", "-n", script, f"VENV={tmp_path}", "FILE=it's not here"]
        assert (
            "it's"
            not in subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=100).stdout
        )
        env = {"BIN": str(tmp_path), "FILE": "it's not here", "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            ["sh", f"examples/{script}.sh"], capture_output=True, text=True, check=False, cwd=ROOT, env=env, timeout=100
        )
        assert (done.returncode, done.stderr) == (2, "error: FILE=it's not here cannot be read: name a file\n")


def sooner(arguments):
    """Return a command whose theorems are checked for the smallest sizes only."""
    return ["3" if before == "--up-to" else word for before, word in zip(["", *arguments], arguments, strict=False)]


@pytest.mark.slow
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


@pytest.mark.slow
def test_doctests():
    done = subprocess.run(
        [sys.executable, "-m", "doctest", str(ROOT / "src" / "treecast" / "__init__.py")],
        capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
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


@pytest.mark.long
def test_every_example_in_the_source_runs():
    """Those of treecast.torch aside, which needs PyTorch and several ranks, and of text that is sent to a host and run there."""
    source = str(ROOT / "src" / "treecast")
    aside = [word for path in ("torch", "running/cast/begin.py") for word in ("--ignore", f"{source}/{path}")]
    asked = ["-q", "-n", "0", "-p", "no:cacheprovider", "--doctest-modules", source, *aside]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked], capture_output=True, text=True, check=False, timeout=3000
    )
    assert done.returncode == 0, done.stdout
