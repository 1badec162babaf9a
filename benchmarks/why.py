"""Who is to blame: `treecast why` beside PyTorch's and NVIDIA's analysers, on the same records of jobs with a known fault.

    why.py [--seeds N] [--only SET …] [FOLDER=RANKS …]

Two sets are made here. `gloo` are real jobs over PyTorch's gloo, one fault each, whose flight recorders are read when nothing
moves any more: made where torch is installed. `simulated` are records in the form of NCCL's, of tests/records/jobs.py: they and
treecast have one author, so they show most about the others. FOLDER=RANKS adds records of one's own, with the ranks to be named:
`hang=3,5`, or `hang=` where nobody is.

A set has a row for each fault. `right`: runs in which exactly the ranks at fault were named. `false`: ranks that were named
though not at fault. `none`: runs with a fault and nobody named. `stops`: runs that ended in an exception, or in no time. Each
tool runs as its command does, so the seconds have its start in them.
"""

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.records.jobs import FAULTS, make_job, write

SECONDS = 60
NVIDIA = "nvidia_resiliency_ext.attribution.trace_analyzer.fr_attribution"
WORDS = ":  right false none stops      s"
_BLAME = {"unlike", "skipped", "extra", "splits", "crossed", "absent", "stuck", "ended", "behind"}


class Case(NamedTuple):
    """Records of one run: the set and the fault that they are of, their folder, and the ranks that are at fault."""

    kind: str
    fault: str
    folder: Path
    ranks: frozenset[int]


class Answer(NamedTuple):
    """The ranks that a tool named, None where it stopped, how long it took, and those that are at fault."""

    named: set[int] | None
    seconds: float
    ranks: frozenset[int]

    @property
    def false(self) -> set[int]:
        """Those that it named and that are not at fault."""
        return (self.named or set()) - self.ranks


def named_by_treecast(out: str) -> set[int]:
    """Return the ranks that verdicts blame: the members of a call that is stalled are no cause of it."""
    return {rank for verdict in json.loads(out)["verdicts"] if verdict["kind"] in _BLAME for rank in verdict["ranks"]}


def named_by_pytorch(out: str) -> set[int]:
    """Return the ranks that are missing in a call, or differ there."""
    missing = [rank for ranks in re.findall(r"missing ranks: \{([\d, ]+)\}", out) for rank in ranks.split(",")]
    return {int(rank) for rank in [*missing, *re.findall(r"Culprit rank (\d+)", out)]}


def named_by_nvidia(out: str) -> set[int]:
    """Return the last column of the table of calls that ranks are missing in."""
    rows = [line.split("|") for line in out.splitlines() if line.count("|") == 5 and "Missing Ranks" not in line]
    return {int(rank) for row in rows for rank in re.findall(r"\d+", row[-1])}


def tools() -> dict[str, tuple[list[str], Callable[[str], set[int]]]]:
    """Return the command of each tool that is here, and how to read it; say which are not."""
    beside = Path(sys.executable).with_name("torchfrtrace")
    found = {"treecast": ([sys.executable, "-m", "treecast", "why", "--json"], named_by_treecast)}
    if beside.exists():
        found["torchfrtrace"] = ([str(beside)], named_by_pytorch)
    with contextlib.suppress(ModuleNotFoundError):
        if find_spec(NVIDIA):
            line = [sys.executable, "-m", NVIDIA, "--pattern", "*_*", "--emit-stdout", "--fr-path"]
            found["NVRx"] = (line, named_by_nvidia)
    for name, package in {"torchfrtrace": "torch", "NVRx": "nvidia-resiliency-ext of 0.5 or newer"}.items():
        if name not in found:
            print(f"{name} is not here, so it has no figures: it comes with {package}")
    return found


def ask(line: list[str], read: Callable[[str], set[int]], folder: Path) -> tuple[set[int] | None, float]:
    """Return the ranks that a tool names, None where it stops, and how long it takes."""
    began = time.perf_counter()
    try:
        done = subprocess.run([*line, str(folder)], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, SECONDS
    seconds = time.perf_counter() - began
    if "Traceback (most recent call last)" in done.stderr or not done.stdout + done.stderr:
        return None, seconds
    return read(done.stdout if read is not named_by_pytorch else done.stdout + done.stderr), seconds


def simulated(folder: Path, seeds: int) -> Iterator[Case]:
    """Yield jobs of 6 to 12 ranks with groups in rows and columns."""
    for fault in FAULTS:
        for seed in range(seeds):
            dumps, ranks = make_job(seed, fault)
            yield Case("simulated", fault, write(folder / f"{fault}.{seed}", dumps), frozenset(ranks))


def make_calls(fault: str, rank: int, odd: int, moved: Any) -> None:
    """Make the calls of a rank in a job of gloo: some sums, then those among which the odd one's differ."""
    import torch
    import torch.distributed as dist

    def add(elements: int, *, dtype: torch.dtype = torch.float32, group: Any = None) -> None:
        moved[rank] += 1
        dist.all_reduce(torch.ones(elements, dtype=dtype), group=group)
        moved[rank] += 1

    at_fault = rank == odd
    for step in range(4):
        add(10 + step)
    if fault == "crossed":
        groups = [dist.new_group(list(range(dist.get_world_size()))) for _ in range(2)]
        for group in reversed(groups) if at_fault else groups:
            add(6, group=group)
    if at_fault and fault in ("stopped", "raised", "dead", "frozen"):
        {
            "stopped": lambda: time.sleep(3600),
            "raised": lambda: sys.exit("no data"),
            "dead": lambda: os._exit(9),
            "frozen": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        }[fault]()
    for step in range(4):
        if at_fault and step == 1:
            if fault == "left_out":
                continue
            if fault == "extra":
                add(20)
            if fault == "other_kind":
                dist.broadcast(torch.ones(21), 0)
                continue
        wide = at_fault and fault == "other_type"
        add((20 + step) << (at_fault and fault == "other_size"), dtype=torch.float64 if wide else torch.float32)
    dist.barrier()


GLOO = (
    "none",
    "left_out",
    "extra",
    "other_size",
    "other_kind",
    "other_type",
    "stopped",
    "raised",
    "dead",
    "frozen",
    "crossed",
)


def be_rank(fault: str, rank: int, size: int, odd: int, port: int, moved: Any, over: Any, folder: Path) -> None:
    """Be a rank of a job of gloo, until its parent says that nothing moves: then write what its flight recorder has."""
    import torch.distributed as dist
    from torch._C._distributed_c10d import _dump_fr_trace

    def run() -> None:
        long = datetime.timedelta(seconds=600)
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", timeout=long, rank=rank, world_size=size)
        make_calls(fault, rank, odd, moved)

    os.close(2)
    os.open(os.devnull, os.O_WRONLY)
    threading.Thread(target=run, daemon=True).start()
    while not over.value:  # an event would wait for a rank that gloo has aborted
        time.sleep(0.02)
    (folder / f"trace_rank_{rank}").write_bytes(_dump_fr_trace())
    moved[rank] = -1
    while True:  # an end would break the connections of ranks that have not written theirs
        time.sleep(1)


def gloo(folder: Path, seeds: int) -> Iterator[Case]:
    """Yield real jobs of four or five ranks."""
    if find_spec("torch") is None:
        print("gloo jobs need torch, which is not installed")
        return
    os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")
    from torch._C._profiler import gather_traceback, symbolize_tracebacks

    symbolize_tracebacks([gather_traceback(True, True, False)])  # seconds, which ranks that are forked need not take
    context = multiprocessing.get_context("fork")
    for fault in GLOO:
        for seed in range(seeds):
            rng = random.Random(f"{fault}{seed}")
            size, there = rng.choice((4, 5)), folder / f"{fault}.{seed}"
            odd = rng.randrange(1, size)  # rank 0 holds the store that the others meet at
            there.mkdir(parents=True)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            moved, over = context.RawArray("q", size), context.RawValue("b", 0)
            ranks = [
                context.Process(target=be_rank, args=(fault, rank, size, odd, port, moved, over, there), daemon=True)
                for rank in range(size)
            ]
            for each in ranks:
                each.start()
            wait_until_still(moved, over, ranks)
            yield Case("gloo", fault, there, frozenset(() if fault == "none" else (odd,)))


def wait_until_still(moved: Any, over: Any, ranks: list[Any]) -> None:
    """Let a job run until no rank has made or ended a call for two seconds, have its records written, and end it."""
    seen, since, limit = None, time.monotonic(), time.monotonic() + SECONDS
    while time.monotonic() < limit:
        now = list(moved)
        if now != seen or not all(now):
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > 2:
            break
        time.sleep(0.1)
    over.value = 1
    limit = time.monotonic() + 20
    while time.monotonic() < limit and any(
        at >= 0 and not has_stopped(each) for at, each in zip(moved, ranks, strict=True)
    ):
        time.sleep(0.1)
    for each in ranks:
        each.kill()
        each.join()


def has_stopped(process: Any) -> bool:
    """Whether a process has ended, or is frozen."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZTX"
    return True


def given(names: Iterable[str]) -> Iterator[Case]:
    """Yield folders of one's own."""
    for name in names:
        folder, _, ranks = name.partition("=")
        yield Case("given", Path(folder).name, Path(folder), frozenset(int(rank) for rank in ranks.split(",") if rank))


def main() -> int:
    """Print a table of each set of records; return 1 when treecast names a rank that is not at fault."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER=RANKS")
    parser.add_argument("--keep", help="a folder for the records that are made")
    parser.add_argument("--seeds", type=int, default=2, help="runs of each fault")
    parser.add_argument("--only", nargs="*", choices=("gloo", "simulated"), default=("gloo", "simulated"))
    asked = parser.parse_args()
    rivals, false = tools(), 0
    with tempfile.TemporaryDirectory() as place:
        sets = {"gloo": gloo, "simulated": simulated}
        for name in asked.only:
            false += compare(name, sets[name](Path(asked.keep or place) / name, asked.seeds), rivals)
        if asked.folders:
            false += compare("given", given(asked.folders), rivals)
    return int(false > 0)


def compare(title: str, cases: Iterable[Case], rivals: dict[str, Any]) -> int:
    """Print what each tool says about the runs of a set; return how many ranks treecast names falsely."""
    print(f"\n{title:<12} runs{''.join(f'{name + WORDS:>44}' for name in rivals)}")
    every = dict[str, list[Answer]]((name, []) for name in rivals)
    for fault, runs in groupby(cases, lambda case: case.fault):
        rows = dict[str, list[Answer]]((name, []) for name in rivals)
        for case in runs:
            for name, (line, read) in rivals.items():
                rows[name].append(Answer(*ask(line, read, case.folder), case.ranks))
        show(fault, rows)
        for name, answers in rows.items():
            every[name] += answers
    show("all", every)
    return sum(len(answer.false) for answer in every["treecast"])


def show(title: str, rows: dict[str, list[Answer]]) -> None:
    """Print a line of a table: the counts of each tool over some runs."""
    cells = list[str]()
    for answers in rows.values():
        right = sum(answer.named == answer.ranks for answer in answers)
        false = sum(len(answer.false) for answer in answers)
        none = sum(answer.named == set() != answer.ranks for answer in answers)
        stops = sum(answer.named is None for answer in answers)
        seconds = sum(answer.seconds for answer in answers) / max(len(answers), 1)
        cells.append(f"{right:>3} {false:>5} {none:>5} {stops:>5} {seconds:>6.1f}")
    print(f"{title:<12} {len(rows['treecast']):>4}{''.join(f'{cell:>44}' for cell in cells)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
