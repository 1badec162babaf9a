"""What each rank of benchmarks/lab.py runs: one broadcast, several times, by MPI_Bcast or along treecast's disjoint trees.

    lab_program.py NETWORK BYTES REPEATS MPI                      MPI_Bcast, as mpirun was told
    lab_program.py NETWORK BYTES REPEATS CHUNK COPIES [DEADLINE]  chunks of CHUNK bytes over COPIES trees each

All hosts are one machine with one clock. So a rank's time runs from the moment when the root begins, after a barrier, until
the rank has everything. With a DEADLINE the last broadcast leaves the mark by which links are cut, and each rank serves the
others until the deadline: nobody waits for a link that is dead. Rank 0 prints a line of JSON: per broadcast each rank's time,
and the wrong bytes.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

import treecast

BLANK = 255
WINDOW, PAUSE = 4, 3e-4


def main() -> None:
    """Run the broadcasts."""
    spec, size, repeats, *how = sys.argv[1:]
    world = MPI.COMM_WORLD
    data = np.random.default_rng(1).integers(0, BLANK, int(size), np.uint8)
    buffer = np.full(len(data), BLANK, np.uint8)
    deadline = float(how[2]) if how[2:] else 0.0
    if how[0] == "mpi":
        once: Callable[[float], float] = lambda _: by_mpi(world, buffer)  # noqa: E731
    else:
        roles = along_trees(world.rank, treecast.disjoint_trees(spec), len(data), int(how[0]), int(how[1]))
        once = lambda until: by_trees(world, buffer, roles, until)  # noqa: E731
    found = []
    for turn in range(int(repeats) + 1):  # the first opens connections and does not count
        last = turn == int(repeats)
        buffer[:] = data if world.rank == 0 else BLANK
        world.Barrier()
        began = time.monotonic()
        if deadline and last and world.rank == 0:
            (Path(os.environ["TREECAST_LAB"]) / "mark").touch()
        ended = once(began + deadline if deadline and last else 0.0)
        found.append((began, ended, int(np.count_nonzero(buffer != data))))
    tell(world, found[1:], bool(deadline))


def by_mpi(world: MPI.Comm, buffer: np.ndarray) -> float:
    """MPI's own broadcast; return when it was done here."""
    world.Bcast(buffer, 0)
    return time.monotonic()


def along_trees(rank: int, trees: treecast.TreeSet, size: int, chunk: int, copies: int) -> list[tuple]:
    """Return what a rank does: (tag, first byte, last, parent, children) for each chunk and tree that carries it.

    The data is cut into as many parts as there are trees; part p goes over trees p … p + copies - 1, cyclically. Chunks of
    different parts take turns. Every (chunk, tree) has a tag of its own.
    """
    count = len(trees)
    cuts = [size * part // count for part in range(count + 1)]
    kids = [trees.children(tree, rank) for tree in range(count)]
    roles, turns = [], -(-max(np.diff(cuts)) // chunk)
    for turn in range(turns):
        for copy in range(copies):
            for part in range(count):
                first, tree = cuts[part] + turn * chunk, (part + copy) % count
                last = min(first + chunk, cuts[part + 1])
                if first < last:
                    tag = (turn * copies + copy) * count + part
                    roles.append((tag, first, last, int(trees.parent[tree, rank]), kids[tree]))
    return roles


def by_trees(world: MPI.Comm, buffer: np.ndarray, roles: list[tuple], until: float) -> float:
    """Receive chunks and pass them on; return when the last one was here. ``until``: serve others until then, and no longer.

    Few receives are open at a time, since each look at them costs in proportion. Between looks the rank sleeps: many
    ranks share few cores, and one that spins takes the time of one that has something to send.
    """
    sends = [
        world.Isend(buffer[first:last], kid, tag)
        for tag, first, last, parent, kids in roles
        if parent < 0
        for kid in kids
    ]
    todo = {
        parent: [role for role in reversed(roles) if role[3] == parent] for parent in {role[3] for role in roles} - {-1}
    }
    requests, waiting, missing = [], [], {role[1] for role in roles if role[3] >= 0}
    begun, left, ended = set(), sum(map(len, todo.values())), 0.0

    def receive(slot: int, parent: int) -> None:
        if todo[parent]:
            role = todo[parent].pop()
            tag, first, last, *_ = role
            # a second copy has a place of its own: it may arrive while the first is sent on
            place = np.empty(last - first, np.uint8) if first in begun else buffer[first:last]
            begun.add(first)
            requests[slot], waiting[slot] = world.Irecv(place, parent, tag), (role, place)

    for parent in todo:
        for _ in range(WINDOW):
            requests.append(MPI.REQUEST_NULL)
            waiting.append(None)
            receive(len(requests) - 1, parent)
    while left and not (until and time.monotonic() > until):
        done = MPI.Request.Testsome(requests)
        if not done:
            time.sleep(PAUSE)
            continue
        left -= len(done)
        for slot in done:
            (tag, first, last, parent, kids), place = waiting[slot]
            receive(slot, parent)
            sends += [world.Isend(place, kid, tag) for kid in kids]
            if first in missing:
                missing.discard(first)
                buffer[first:last] = place
                ended = ended if missing else time.monotonic()
    if until:  # what crosses a dead link never ends: nobody asks
        while time.monotonic() < until:
            MPI.Request.Testsome(sends)
            time.sleep(PAUSE)
        return ended or until
    while not MPI.Request.Testall(sends):
        time.sleep(PAUSE)
    return ended or time.monotonic()


def tell(world: MPI.Comm, found: list[tuple[float, float, int]], by_file: bool) -> None:
    """Gather what all ranks found and print it; by way of files when links may be dead."""
    if by_file:
        lab = Path(os.environ["TREECAST_LAB"])
        (lab / f"found{world.rank}.part").write_text(json.dumps(found))
        (lab / f"found{world.rank}.part").rename(lab / f"found{world.rank}")
        if world.rank:
            os._exit(0)
        files = [lab / f"found{rank}" for rank in range(world.size)]
        while not all(file.exists() for file in files):
            time.sleep(0.01)
        every = [json.loads(file.read_text()) for file in files]
    else:
        every = world.gather(found)
    if world.rank == 0:
        turns = list(zip(*every, strict=True))
        print(
            json.dumps(
                [{"seconds": [e[1] - turn[0][0] for e in turn], "wrong": [e[2] for e in turn]} for turn in turns]
            )
        )
        sys.stdout.flush()
    if by_file:
        os._exit(0)


if __name__ == "__main__":
    main()
