"""The commands in blocks of pages that are no console's: they start jobs; and why no test runs the few that none does."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```([^`\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_FIRST = "treecast|torchrun|srun|until|for(?! _ in )|make|pip|python3?|smpicc|smpirun|pkill|torchfrtrace"
_COMMAND = re.compile(rf"(?:\w+=\S+ )*(?:{_FIRST}) (?!\d)")
_REMARK = re.compile(r"\s{2,}# .*")

NOT_RUN = {
    "make ": "they install, or run these tests; examples/demo*.sh have tests of their own",
    "pip ": "it installs",
    "python3 -m venv": "it installs",
    "python benchmarks/mpi.py": "minutes of a quiet machine: make bench-mpi",
    "srun ": "needs Slurm; tests/tcp/test_meeting.py has its variables",
    "smpirun ": "needs SimGrid: make simgrid",
    "treecast why records --dumps ": "needs a job: tests/records/test_ring.py",
    "treecast cast ": "writes to /scratch by ssh; tests/cast/test_launch.py has a stand-in for ssh",
    "until treecast launch ": "runs until nobody dies: tests/mpi/test_solvers.py",
    "for k in ": "needs torch: tests/torch/test_comeback.py",
    "torchrun ": "needs torch: tests/torch/test_comeback.py",
    "treecast launch --tcp --respawn 1 -n 4 -- python examples/torch_": "needs torch: tests/torch/test_comeback.py",
    "treecast launch --tcp --respawn 2 -n 4 -- python examples/torch_": "needs torch: tests/torch",
    "treecast lab run star:4 ": "MPI_Finalize of most programs waits for a cut link: tests/lab/test_lab.py cuts others",
    "TREECAST_DUMP=records ": "64 ranks until they get a signal: tests/tcp/test_seen.py",
    "pkill ": "it reaches programs of others",
    "torchfrtrace ": "needs torch: tests/torch",
}
"""Why no test runs the commands that begin so."""


def commands_of_jobs(page):
    """Return the commands in the blocks of a page that name no language, each as one line for a shell."""
    found = []
    for language, block in _BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            line = _REMARK.sub("", line.removeprefix("$ ").strip())
            if not language and _COMMAND.match(line):
                found.append(line)
    return found


def why_not_run(line):
    """Return the reason for which no test runs a command, "" for one that is run."""
    return next((why for begin, why in NOT_RUN.items() if f"{line} ".startswith(begin)), "")
