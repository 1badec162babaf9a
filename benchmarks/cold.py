"""Measure the processor time of small commands: on a machine that has compiled nothing yet, and on one that has.

    make bench-cold                  every command below
    make bench-cold ARGS=cover       those with this word in them

Every verb is there but 'lab', 'launch' and 'warm-up', which start other programs or compile all there is.

Cold: the compiler's cache directory is empty. Warm: the same command once more. User and system time of the process and
of all that it starts, which other work on the machine changes little; the warm figure is the better of two.
Commands that write pictures may take as much more as a bare import of matplotlib does. Modules are compiled to bytecode
before, as an installer does it.
"""

import compileall
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import treecast

LIMITS = 2.0, 0.6
"""What a command on a network of up to some hundred nodes may take, cold and warm, in seconds of a 2.5 GHz core."""

FILES = {
    "star.tc": "plan broadcast star:4 --messages 60 --copies 3",
    "hundred.tc": "plan broadcast star:5 --messages 40 --survive 2",
    "pairs.tc": "plan alltoall star:5",
    "gossip.tc": "plan allgather hypercube:6 --model whispering --survive 3",
    "worm.tc": "plan broadcast mesh:10x10 --model wormhole",
    "sum.tc": "plan allreduce hypercube:5 --messages 3",
    "collect.tc": "plan gatherv tree:3,4 --lengths random:9",
    "cover.tc": "plan scatterv torus:8x8 --lengths random:9 --builder cover",
}
COMMANDS = """
--help
help rules
completion bash
networks
networks star:5
builders broadcast torus:4x4x4 --messages 600
advise broadcast --nodes 16 --bytes 1MiB --survive 1 --max-degree 4 --latency 1us --rate 12.5GB/s
program broadcast mesh:1000x1000x1000 999,0,5 --messages 600
plan broadcast star:4
plan broadcast star:5 --messages 400 --survive 2
plan scatter star:5 --copies 4
plan gather star:5
plan allgather star:5
plan alltoall star:5
plan reduce-scatter hypercube:7
plan allreduce torus:10x10
plan broadcast complete:100 --survive 3
plan broadcast mesh:10x10
plan allgather hypercube:7 --model whispering --survive 3
plan allgather hypercube:7 --model shouting
plan broadcast mesh:10x10 --model wormhole
plan broadcast torus:11x9 --model wormhole
plan broadcast mesh:8x8 --model wormhole
plan multicast mesh:10x10 --root 0,0 --targets 7,7 3,4 5,1 --model wormhole
plan gatherv tree:3,4 --lengths random:9
plan scatterv torus:10x10 --lengths random:9
plan scatterv torus:10x10 --lengths random:9 --builder cover
plan scatterv hypercube:7 --lengths random:9 --builder cover
plan gatherv mesh:10x10 --lengths random:9 --builder cover
verify hundred.tc
verify star.tc --sweep nodes
verify gossip.tc --sweep nodes --most 1
verify pairs.tc
verify worm.tc
verify cover.tc
simulate hundred.tc --random-faults 2 --seed 1
simulate gossip.tc --dead-nodes 0b000101@2
simulate collect.tc --distributed
run hundred.tc --input README.md --random-faults 2 --seed 1
run sum.tc --input README.md
draw star.tc
draw star.tc -o trees.svg
draw hundred.tc --kind space-time -o picture.svg
show hundred.tc --node 54321
export star.tc --to chrome -o star.json
repair hundred.tc --dead-nodes 54321 -o repaired.tc
diff star.tc star.tc
reliability star.tc --node-failure 0.01
bounds broadcast star:5 --messages 400 --survive 2
bounds broadcast mesh:10x10 --model wormhole
bounds scatterv torus:10x10 --lengths random:9
compare star:4 hypercube:5 --survive 1
paths hypercube:6 14
paths star:5 54321
times hypercube:6
theorems star --up-to 4
theorems hypercube --up-to 3
theorems mesh --up-to 4
theorems trees --up-to 6
"""


def processor_seconds(command: str, folder: str, cache: str) -> tuple[float, int]:
    """Run a command; return its user and system time, that of its children too, and its exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    words = ["-c", command] if command.startswith("import ") else ["-m", "treecast", *command.split()]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(f"exit status {done.returncode}: treecast {command}\n{done.stderr}", file=sys.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def main() -> None:
    """Measure the commands that have the word asked for in them."""
    words = sys.argv[1:]
    compileall.compile_dir(Path(treecast.__file__).parent, quiet=1)
    wanted = [line for line in COMMANDS.split("\n") if line and all(word in line for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "README.md").write_bytes(b"treecast " * 2000)
        for name, command in FILES.items():
            if any(name in line for line in wanted):
                processor_seconds(f"{command} -o {name}", folder, f"{folder}/plans")
        pictures = any(".svg" in line for line in wanted)
        matplotlib = processor_seconds("import matplotlib.figure", folder, folder)[0] if pictures else 0.0
        over = 0
        print(f"{'command':<86}{'cold':>8}{'warm':>8}   processor seconds", flush=True)
        for number, command in enumerate(wanted):
            times = [processor_seconds(command, folder, f"{folder}/{number}")[0] for _ in range(3)]
            cold, warm = times[0], min(times[1:])
            more = matplotlib if ".svg" in command else 0.0
            slow = cold > LIMITS[0] + more or warm > LIMITS[1] + more
            over += slow
            print(f"{command:<86}{cold:>8.2f}{warm:>8.2f}{'   over' if slow else ''}", flush=True)
    print(f"{len(wanted) - over} of {len(wanted)} within {LIMITS[0]} s cold and {LIMITS[1]} s warm")


if __name__ == "__main__":
    main()
