"""Real ranks on real sockets, one process each, of which some die, stop or are cut off at a given frame; and a judge of what
they say.

A trial is a row of calls, the same at all ranks. ``run`` forks the ranks, joins them by pairs of sockets, and returns what
each said.
"""

import json
import os
import select
import signal
import socket
import time
import traceback
from itertools import combinations
from typing import NamedTuple

import numpy as np

from treecast.errors import DeliveryError, Evicted
from treecast.running.groups.terms import Terms
from treecast.running.transport.sockets import Sockets
from treecast.tcp.comm import Comm
from treecast.tcp.job import JoinedJob
from treecast.tcp.meeting import Arrivals

PATIENCE = 60.0  # seconds after which a trial hangs
_NEVER = 1e6
QUICK = False  # whether ranks read one another's memory, and little sums go by one rank


class Fault(NamedTuple):
    """What befalls a rank at its k-th frame.

    ``die``, ``half`` (in the middle of it), ``stop`` (until the others have ended), ``pause`` (it goes on at once), or
    ``cut`` (it hears nothing of ``peers``, all others by default, nor they of it).
    """

    rank: int
    frame: int
    fate: str = "die"
    peers: tuple[int, ...] | None = None


def given(call, rank, count):
    """Return what a rank gives to a call: whole numbers, so that every sum is exact."""
    return np.random.default_rng((call, rank)).integers(-1000, 1000, count).astype(float)


def make_call(comm, number, name, root, count):
    """Make a call, and return whether its result is right for who failed."""
    me, size = comm.rank, comm.size
    every = [given(number, r, count) for r in range(size)]
    mine, rows, one = every[me].copy(), np.full((size, count), -1.0), np.full(count, -1.0)
    calls = {
        "Barrier": lambda: comm.Barrier(),
        "Bcast": lambda: comm.Bcast(mine if me == root else one, root),
        "Allgather": lambda: comm.Allgather(mine, rows),
        "Alltoall": lambda: comm.Alltoall(np.concatenate([mine + t for t in range(size)]), rows),
        "Gather": lambda: comm.Gather(mine, rows if me == root else None, root),
        "Scatter": lambda: comm.Scatter(
            np.concatenate([mine + t for t in range(size)]) if me == root else None, one, root
        ),
        "Allreduce": lambda: comm.Allreduce(mine, one),
        "Reduce": lambda: comm.Reduce(mine, one if me == root else None, root=root),
        "Reduce_scatter_block": lambda: comm.Reduce_scatter_block(np.concatenate([mine] * size), one),
        "Scan": lambda: comm.Scan(mine, one),
        "Exscan": lambda: comm.Exscan(mine, one),
    }
    calls[name]()
    living = [r for r in range(size) if r not in comm.last.failed]

    def total(ranks):
        return sum((every[r] for r in ranks), np.zeros(count)) if ranks else np.full(count, -1.0)

    right = {
        "Barrier": lambda: True,
        "Bcast": lambda: me == root or (one == every[root]).all(),
        "Allgather": lambda: all((rows[r] == every[r]).all() for r in living),
        "Alltoall": lambda: all((rows[r] == every[r] + me).all() for r in living),
        "Gather": lambda: me != root or all((rows[r] == every[r]).all() for r in living),
        "Scatter": lambda: (one == every[root] + me).all(),
        "Allreduce": lambda: (one == total(living)).all(),
        "Reduce": lambda: me != root or (one == total(living)).all(),
        "Reduce_scatter_block": lambda: (one == total(living)).all(),
        "Scan": lambda: (one == total([r for r in living if r <= me])).all(),
        "Exscan": lambda: (me > 0 and min(living) >= me) or (one == total([r for r in living if r < me])).all(),
    }
    return bool(right[name]())


NAMES = (
    "Bcast",
    "Allgather",
    "Alltoall",
    "Gather",
    "Scatter",
    "Allreduce",
    "Reduce",
    "Reduce_scatter_block",
    "Scan",
    "Exscan",
    "Barrier",
)


def harm(transport, fault):
    """Have the fault happen at its frame."""
    send, left = transport.send, [fault.frame]

    def counted(to, key, piece, *lent):
        left[0] -= 1
        if left[0] == 0:
            if fault.fate == "half":
                transport._wires[to].sock.send(b"\0" * 7)
            if fault.fate in ("die", "half"):
                os.kill(os.getpid(), signal.SIGKILL)
            if fault.fate in ("stop", "pause"):
                os.kill(os.getpid(), signal.SIGSTOP)
            if fault.fate == "cut":
                for peer in transport._wires if fault.peers is None else fault.peers:
                    transport._selector.unregister(transport._wires[peer].sock)
                    transport._wires[peer].is_mute = True
        return send(to, key, piece, *lent)

    transport.send = counted


def be_rank(rank, socks, calls, survive, deadline, fault, said):
    """Make the calls, and say what came of each."""
    transport = Sockets(rank, len(socks) + 1, socks, deadline, cma=QUICK)
    if fault is not None:
        harm(transport, fault)
    terms = Terms(survive, deadline, None if QUICK else _NEVER, on_failed="ignore")
    process = JoinedJob(transport, Arrivals(), None, terms)
    comm = Comm(process, process.add_group(range(len(socks) + 1), 0))
    transport.start()
    for number, (name, root, count) in enumerate(calls):
        try:
            right = make_call(comm, number, name, root, count)
            line = [number, list(comm.last.failed), right]
        except Evicted:
            line = [number, "Evicted", True]
        except DeliveryError as error:
            line = [number, str(error), True]
        said.write(json.dumps(line) + "\n")
        said.flush()
        if line[1] == "Evicted":
            process.abandon()
            return
    said.write('"end"\n')
    said.flush()
    process.finish()


def join():
    """Return the two ends of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def run(size, calls, faults=(), survive=1, deadline=None):
    """Return what each rank said, and the ranks that did not end in time."""
    pairs = {pair: join() for pair in combinations(range(size), 2)}
    by_rank, pipes, pids = {fault.rank: fault for fault in faults}, {}, {}
    for rank in range(size):
        reads, writes = os.pipe()
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for pipe in pipes.values():
                    os.close(pipe)
                os.close(reads)
                socks = {a + b - rank: two[rank == b] for (a, b), two in pairs.items() if rank in (a, b)}
                for (a, b), two in pairs.items():
                    for end, sock in zip((a, b), two, strict=True):
                        if end != rank:
                            sock.close()
                with os.fdopen(writes, "w") as said:
                    be_rank(rank, socks, calls, survive, deadline, by_rank.get(rank), said)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writes)
        pipes[rank], pids[rank] = reads, pid
    for two in pairs.values():
        for sock in two:
            sock.close()
    for fault in faults:
        if fault.fate == "pause":
            os.waitpid(pids[fault.rank], os.WUNTRACED)
            os.kill(pids[fault.rank], signal.SIGCONT)
    stopped = {fault.rank for fault in faults if fault.fate == "stop"}
    return _listen(pipes, pids, stopped)


def _listen(pipes, pids, stopped):
    """Read what the ranks say until all have ended; who is stopped goes on when the others have said all."""
    texts, open_, end = dict.fromkeys(pipes, b""), dict(pipes), time.monotonic() + PATIENCE
    while open_ and time.monotonic() < end:
        if stopped and all(b'"end"' in texts[rank] or rank not in open_ for rank in pipes if rank not in stopped):
            for rank in stopped:
                os.kill(pids[rank], signal.SIGCONT)
            stopped = set()
        ready, _, _ = select.select(list(open_.values()), [], [], 0.1)
        for rank in [rank for rank, pipe in open_.items() if pipe in ready]:
            got = os.read(open_[rank], 1 << 16)
            texts[rank] += got
            if not got:
                os.close(open_.pop(rank))
    hanging = set(open_)
    for rank, pid in pids.items():
        if rank in hanging:
            os.kill(pid, signal.SIGKILL)
            os.close(open_[rank])
        os.waitpid(pid, 0)
    return {rank: [json.loads(line) for line in text.decode().splitlines()] for rank, text in texts.items()}, hanging


def judge(said, hanging, victims=()):
    """Return what is wrong with what the ranks said, "" for nothing."""
    living = [rank for rank in said if rank not in victims]
    if hanging:
        return f"{sorted(hanging)} hang"
    first = said[living[0]]
    if first[-1:] != ["end"]:
        return f"rank {living[0]} did not end: {first[-1:]}"
    for rank in living:
        if said[rank] != first:
            return f"ranks {living[0]} and {rank} differ: {first}, {said[rank]}"
    if not all(line[2] for line in first[:-1]):
        return f"wrong data: {first}"
    for victim in victims:  # what it said before its last call is a beginning of what they said
        lines = [line for line in said[victim] if line != "end" and line[1] != "Evicted"][:-1]
        if lines != first[: len(lines)]:
            return f"rank {victim} said something else: {lines}, {first}"
    return ""


def frames_of(size, calls, rank):
    """Return how many frames a rank sends when nothing fails."""
    reads, writes = os.pipe()
    send, count = Sockets.send, [0]

    def counted(self, *arguments):
        count[0] += 1
        return send(self, *arguments)

    finish = JoinedJob.finish

    def told(self):
        if self.transport.rank == rank:
            os.write(writes, str(count[0]).encode())
        finish(self)

    Sockets.send, JoinedJob.finish = counted, told
    try:
        run(size, calls)
    finally:
        Sockets.send, JoinedJob.finish = send, finish
        os.close(writes)
    with os.fdopen(reads) as found:
        return int(found.read())


def every_step(size, names, count, fates=("die",)):
    """Kill each rank at each of its frames, in each collective; return how many trials there were, and what went wrong."""
    trials, wrong = 0, []
    for name in names:
        calls = [(name, 1, count), ("Allreduce", 0, 3), ("Barrier", 0, 1)]
        for victim in range(size):
            last = frames_of(size, calls[:1], victim)
            for frame in range(1, last + 1):
                for fate in fates:
                    trials += 1
                    found = judge(*run(size, calls, [Fault(victim, frame, fate)]), [victim])
                    if found:
                        wrong.append(f"{name}, {count}: rank {victim}, {fate} at frame {frame}: {found}")
    return trials, wrong
