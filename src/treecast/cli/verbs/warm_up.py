"""``treecast warm-up``."""

import io
import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout

from treecast.cli import console

_JOBS = """
plan broadcast star:4 --messages 60 --copies 3 -o star.tc
verify star.tc --sweep nodes
simulate star.tc --random-faults 2 --seed 1
draw star.tc
export star.tc -o star.graphml
plan broadcast star.graphml
plan allgather star:4 --messages 2 -o gather.tc
simulate gather.tc --dead-nodes 2134@1
plan allgather hypercube:4 --copies 2
plan allgather torus:3x4 --copies 2
plan alltoall leaf-spine:2,2,2
plan alltoall star:4 --copies 2
plan alltoall mesh:3x4 --messages 2
plan scatter mesh:3x4 --copies 2
plan scatter star:4 --copies 2
plan scatter kautz:2,3 --messages 20
plan reduce-scatter hypercube:3 --messages 3 -o sums.tc
simulate sums.tc --dead-nodes 0b101@2
plan allreduce torus:3x3
plan allreduce mesh:2x3 --builder priced-trees
plan allgather mesh:3x4 --messages 2
plan allgather mesh:3x4 --copies 2
plan allgather mesh:3x4 --builder priced-trees
plan allgather fat-tree:2 --messages 3 --builder packed-trees
plan broadcast mesh:3x4
plan distribute torus:2x3 --from tp2 --to tp4 --model one-port,half
plan broadcast debruijn:3,2 --messages 9
plan broadcast torus:8x8 --messages 90
plan broadcast torus:7x7x7 --messages 1000
plan broadcast circulant:9,1,2 --messages 30 --builder packed-trees
plan broadcast kautz:2,3 --messages 9 --copies 2 --against links
plan broadcast complete:6 --copies 3
plan broadcast complete:6 --messages 3 --model one-port
plan allreduce mesh:2x3 --messages 2 --model one-port,half
plan broadcast mesh:2x3 --messages 3 --model one-port --builder spread
plan broadcast fat-tree:4 --messages 2 --model one-port --builder list-schedule
plan broadcast complete:6 --messages 3 --model one-port,half -o half.tc
plan allgather complete:5 --model one-port,combining
plan broadcast complete:6 --copies 2 --model one-port,combining
plan allgatherv complete:5 --lengths random:4 --model one-port
plan alltoallv complete:5 --lengths random:4 --model one-port
plan broadcast tree:2,2 --messages 40 --model one-port --builder periods
plan allreduce ring:4 --without-owners -o shared.tc
verify shared.tc
plan allgather hypercube:3 --model whispering --survive 2 -o whispering.tc
verify whispering.tc --sweep links --most 1
simulate whispering.tc --dead-nodes 0b101@2
plan allgather hypercube:7 --model shouting --survive 2 -o shouting.tc
simulate shouting.tc --dead-nodes 0b0000101@2
verify whispering.tc --model whispering,half
plan broadcast mesh:3x6 --model wormhole -o mesh.tc
plan broadcast mesh:2x4 --model wormhole --builder exhaustive
plan multicast mesh:8x8 --root 0,0 --targets 7,7 3,4 5,1 --model wormhole
bounds broadcast mesh:3x3 --model wormhole
plan gatherv tree:3,2 --lengths random:9 -o collect.tc
plan gatherv tree:3,2 --lengths random:9 --collect walk
plan gatherv tree:3,2 --lengths random:9 --model bufferless-multiport
plan gatherv tree:3,2 --lengths random:9 --tree depth-bounded:3
plan gatherv path:9 --lengths random:9 --builder shoulder-tap
plan scatterv torus:5x5 --lengths random:9
plan scatterv torus:5x5 --lengths random:9 --tree best
plan scatterv torus:5x5 --lengths random:9 --model bufferless-multiport --builder cover
plan scatterv hypercube:4 --lengths random:9 --model bufferless-multiport --builder cover
plan allreduce hypercube:3 -o sum.tc
export sum.tc -o sum.xml
verify sum.xml
theorems star --up-to 3
theorems hypercube --up-to 2
"""
COMMANDS = [line.split() for line in _JOBS.strip().split("\n")]
"""Small jobs that between them run every kernel, in an order in which files are written before they are read."""


def warm_up() -> int:
    """Compile everything that large work needs, once: for containers and batch jobs, whose first run should not wait.

    Example: treecast warm-up

    Compiled code goes where numba keeps it: NUMBA_CACHE_DIR, or beside treecast, or the user's cache folder. Nothing needs this:
    small work runs without compiled code, and large work compiles its kernels when it needs them.
    """
    from treecast.cli import main
    from treecast.compiled import policy
    from treecast.progress import report

    with tempfile.TemporaryDirectory() as folder, chdir(folder), console.progress("compiling"), policy("compile"):
        for place, words in enumerate(COMMANDS):
            report(place, len(COMMANDS), f"compiling: {' '.join(words)[:60]}")
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = main([*words])
            if status == 130:
                return status
    kept = os.environ.get("NUMBA_CACHE_DIR")
    console.show_text("compiled" + (f" into {kept}" if kept else ""))
    return 0
