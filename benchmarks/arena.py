"""Race treecast's plans against every algorithm of MPI that SimGrid has, on simulated networks whose links share their bandwidth.

    make arena                                          as root, on Debian or Ubuntu: installs SimGrid by apt
    make arena ARGS="--networks torus:4x4x4 --kinds broadcast scatter --json arena.json"

For each network and collective it prints the bound of the network's links, the time of treecast's plan, that of MPI's best
algorithm, and what Open MPI, MPICH, MVAPICH and Intel MPI choose by themselves. All messages go over the same links and routes.
MPI does not know the network: its ranks are the nodes in order.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import treecast
from treecast.collectives import find_kind
from treecast.errors import PlanError

BANDWIDTH, LATENCY = 125e6, 1e-6
LEAST = 65_472  # bytes of a chunk: SimGrid sends shorter ones in another way
MIB, KIB = 2**20, 2**10
NETWORKS = ("torus:4x4x4", "hypercube:6", "star:5")
SIZES = {"broadcast": 16 * MIB, "allgather": MIB, "scatter": 256 * KIB, "alltoall": 64 * KIB, "allreduce": 16 * MIB}
"""The bytes of each collective: all data, or one block of an allgather, scatter or alltoall."""
MPI_NAME = {"broadcast": "bcast"}  # the others are called alike
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
START = 12 * LATENCY  # of a message
MANY = 1_000_000  # messages at which the steps of a bound are as good as its bandwidth
PROGRAM = Path(__file__).with_name("arena.c")


@dataclass
class Race:
    """A collective on a network: milliseconds of all who took part. ``lost``: why some algorithms have no time."""

    network: str
    kind: str
    size: int
    bound: float = 0.0
    treecast: float = 0.0
    messages: int = 0
    builder: str = ""
    steps: int = 0
    mpi: dict[str, float] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The fastest algorithm of MPI; empty when none ended."""
        return min((name for name in self.mpi if name not in SELECTORS), key=self.mpi.__getitem__, default="")


def blocks_of(kind: str, network: str) -> int:
    """Return how many blocks of M chunks a collective has."""
    traits, nodes = find_kind(kind), treecast.network(network).nodes
    return {"one": 1, "node": nodes, "pair": nodes**2}[traits.blocks]


def block_bytes(race: Race) -> float:
    """Return the bytes of each block: an allreduce divides its vector among the nodes."""
    return race.size / (blocks_of(race.kind, race.network) if race.kind == "allreduce" else 1)


def find_plan(race: Race) -> treecast.Schedule:
    """Return the plan that should be fastest, among numbers of messages whose messages are long enough, and models."""
    block, degree = block_bytes(race), treecast.network(race.network).degree
    most = max(1, int(block // LEAST))
    tried = {most, most // 2, *(degree * (most // degree - i) for i in range(3)), *range(1, min(most, 12) + 1)}
    jobs = [(m, "all-port") for m in sorted(tried) if 1 <= m <= most] + [(degree, "shouting"), (2 * degree, "shouting")]
    plans = list[treecast.Schedule]()
    for messages, model in jobs:
        try:
            plan = treecast.plan(race.kind, race.network, messages=messages, model=model)
        except PlanError:
            continue
        if not plan.sparing and int(plan.message_sizes.min()) * block / messages >= LEAST:
            plans.append(plan)
    return min(plans, key=lambda plan: estimate(plan, block))


def estimate(plan: treecast.Schedule, block: float) -> float:
    """Return about how many seconds a plan takes in SimGrid, whose messages start late and share links with those back."""
    chunk = block / plan.collective.messages
    return 1.12 * int(plan.message_sizes.sum()) * chunk / BANDWIDTH + plan.steps * START


def smpirun(folder: Path, ranks: int, *words: str, timeout: float) -> str:
    """Return what SimGrid prints of a run on the network in a folder; an empty text when it does not end in time."""
    command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts", *words]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as run:
        try:
            return run.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return ""


def seconds_of(said: str, words: str) -> float | None:
    """Return the seconds behind some words, or None; a deadlock ends without them, or says CRITICAL."""
    found = re.search(rf"{words} ([0-9.e+-]+)", said)
    return float(found[1]) if found and "CRITICAL" not in said else None


def measure_plan(race: Race, folder: Path) -> None:
    """Fill in the bound and the time of treecast's plan; leave the network in the folder."""
    schedule = find_plan(race)
    steps = max(b.value for b in treecast.bounds(race.kind, race.network, messages=MANY) if b.of == "steps")
    race.bound = 1e3 * steps * block_bytes(race) / MANY / BANDWIDTH
    race.messages, race.builder, race.steps = schedule.collective.messages, schedule.builder, schedule.steps
    size = int(block_bytes(race) * blocks_of(race.kind, race.network))
    if not treecast.verify(schedule).holds:
        raise SystemExit(f"the plan of {race.kind} on {race.network} is wrong")
    treecast.save(schedule, folder, to="simgrid", size=size, rate=BANDWIDTH, latency=LATENCY)
    said = smpirun(folder, schedule.network.nodes, "-replay", "list.txt", "--log=root.thres:info", timeout=600)
    seconds = seconds_of(said, "Simulation time")
    if seconds is None:
        raise SystemExit(f"SimGrid does not replay {race.kind} on {race.network}: {said[-500:]}")
    race.treecast = 1e3 * seconds


def algorithms(race: Race, folder: Path, program: Path, ranks: int) -> list[str]:
    """Return the names of SimGrid's algorithms of a collective: it lists them when it is asked for one that is none."""
    name = MPI_NAME.get(race.kind, race.kind)
    said = smpirun(folder, ranks, f"--cfg=smpi/{name}:nonsense", str(program), name, "8", timeout=60)
    found = re.search(r"Valid algorithms: (.*?)\.?$", said, re.MULTILINE)
    return [] if found is None else [each for each in found[1].split(", ") if each not in ("default", "automatic")]


def measure_mpi(race: Race, folder: Path, program: Path, timeout: float, only: list[str] | None = None) -> None:
    """Fill in the time of every algorithm of MPI, or of ``only`` some."""
    name, ranks = MPI_NAME.get(race.kind, race.kind), treecast.network(race.network).nodes
    for algorithm in algorithms(race, folder, program, ranks):
        if only and algorithm not in only:
            continue
        options = [f"--cfg=smpi/{name}:{algorithm}", "--cfg=smpi/host-speed:1Gf", "--cfg=smpi/simulate-computation:no"]
        said = smpirun(folder, ranks, *options, str(program), name, str(race.size), timeout=timeout)
        seconds = seconds_of(said, "seconds")
        if seconds is None:
            race.lost[algorithm] = "refused or deadlocked" if said else f"not done in {timeout:g} s"
        else:
            race.mpi[algorithm] = 1e3 * seconds
        print(
            f"  {race.network} {race.kind} {algorithm}: {seconds or race.lost[algorithm]}", file=sys.stderr, flush=True
        )


def table(races: list[Race]) -> str:
    """Return the races as a Markdown table."""
    lines = [
        "| network | collective | bytes | bound ms | treecast ms | of the bound | plan "
        "| MPI's best ms | its name | times treecast's | " + " | ".join(SELECTORS) + " |",
        "|---" * (10 + len(SELECTORS)) + "|",
    ]
    for race in races:
        best = race.mpi.get(race.best)
        cells = [
            race.network, race.kind, f"{race.size:,}", f"{race.bound:.1f}", f"{race.treecast:.1f}",
            f"{race.treecast / race.bound:.2f}", f"{race.builder}, {race.messages} messages, {race.steps} steps",
            f"{best:.1f}" if best else "-", race.best or "-", f"{best / race.treecast:.2f}" if best else "-",
            *(f"{race.mpi[name]:.1f}" if name in race.mpi else "-" for name in SELECTORS),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Race."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, help="on these networks, of at most 512 nodes")
    parser.add_argument("--kinds", nargs="+", default=tuple(SIZES), choices=tuple(SIZES), help="these collectives")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each algorithm of MPI: some never end")
    parser.add_argument("--algorithms", nargs="+", help="these algorithms of MPI only")
    parser.add_argument("--no-mpi", action="store_true", help="treecast and the bounds alone")
    parser.add_argument("--json", help="write all figures to this file")
    chosen = parser.parse_args()
    if shutil.which("smpirun") is None or shutil.which("smpicc") is None:
        print("SimGrid is not here: 'apt-get install libsimgrid-dev' brings smpirun and smpicc", file=sys.stderr)
        return 2
    races = list[Race]()
    with tempfile.TemporaryDirectory() as work:
        program = Path(work, "arena")
        subprocess.run(["smpicc", "-O2", str(PROGRAM), "-o", str(program)], check=True)
        for network in chosen.networks:
            for kind in chosen.kinds:
                race = Race(network, kind, SIZES[kind])
                folder = Path(work, f"{len(races)}")
                measure_plan(race, folder)
                if not chosen.no_mpi:
                    measure_mpi(race, folder, program, chosen.timeout, chosen.algorithms)
                races.append(race)
                shutil.rmtree(folder)
                if chosen.json:
                    found = [asdict(each) | {"best": each.best} for each in races]
                    Path(chosen.json).write_text(json.dumps(found, indent=2) + "\n")
    print(table(races))
    for race in races:
        for name, why in race.lost.items():
            print(f"{race.network}, {race.kind}: {name} {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
