"""Ranks of process groups, forked from a process that has imported torch, of which some die or stop at a given frame."""

import os
import pickle
import select
import signal
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

import treecast.torch
from treecast.running.transport.sockets import Sockets

PATIENCE = 90.0  # seconds after which a job hangs


def harm(left, what=signal.SIGKILL):
    """Have this rank send itself a signal at its ``left``-th frame from now on; return the frames that it has sent so far."""
    send, count = Sockets.send, [0]

    def counted(self, *arguments):
        count[0] += 1
        if count[0] == left:
            os.kill(os.getpid(), what)
        return send(self, *arguments)

    Sockets.send = counted
    return count


def run(size, program, *arguments, survive=1, deadline=None, backend="treecast", **options):
    """Run ``program(rank, ...)`` in as many ranks; return what each returned or raised, None for who was killed."""
    with tempfile.NamedTemporaryFile(prefix="store-") as store:
        pipes, pids = {}, {}
        for rank in range(size):
            reads, writes = os.pipe()
            pid = os.fork()
            if not pid:
                try:
                    torch.set_num_threads(1)
                    treecast.torch.options(survive=survive, deadline=deadline, **options)
                    where = dist.FileStore(store.name + "-", size)
                    dist.init_process_group(backend, store=where, rank=rank, world_size=size)
                    try:
                        found = program(rank, *arguments)
                    except Exception as error:
                        traceback.print_exc()
                        found = RuntimeError(f"{type(error).__name__}: {error}")
                    with os.fdopen(writes, "wb") as said:
                        pickle.dump(found, said)
                    if dist.is_initialized():
                        whole = dist.group.WORLD
                        dist.destroy_process_group()
                        if backend == "treecast":
                            whole.comm.process.finish()
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            os.close(writes)
            pipes[rank], pids[rank] = reads, pid
        return _listen(pipes, pids)


def _listen(pipes, pids):
    """Read what the ranks say until all have ended; who is stopped goes on when the others have said all."""
    said, open_, end = dict.fromkeys(pipes, b""), dict(pipes), time.monotonic() + PATIENCE
    stopped = set()
    while open_ and time.monotonic() < end:
        for rank, pid in pids.items():
            ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED) if pid else (0, 0)
            if ended and os.WIFSTOPPED(status):
                stopped.add(rank)
            elif ended:
                pids[rank] = 0
        if stopped and set(open_) <= stopped:
            for rank in stopped:
                os.kill(pids[rank], signal.SIGCONT)
            stopped = set()
        ready, _, _ = select.select(list(open_.values()), [], [], 0.02)
        for rank in [rank for rank, pipe in open_.items() if pipe in ready]:
            got = os.read(open_[rank], 1 << 16)
            said[rank] += got
            if not got:
                os.close(open_.pop(rank))
    hanging = sorted(open_)
    for pid in filter(None, pids.values()):
        if hanging:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert not hanging, f"ranks {hanging} hang"
    return [pickle.loads(text) if text else None for text in said.values()]
