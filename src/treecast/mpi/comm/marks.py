"""Marks by which the launcher sees that a rank waits for one that has left: nobody will ever answer such a call."""

import atexit
import mmap
from collections import Counter
from collections.abc import Callable
from zlib import crc32

from mpi4py import MPI

from treecast.running.jobs.program import job_file

_HEAD = 8  # bytes that say how often calls were entered or left: odd inside one
_made = Counter[str]()  # marks of communicators of the same ranks, which all make in the same order
_LEAVING: list[int] = []  # the key of the attribute whose end tells of MPI_Finalize
_BEFORE: list[Callable[[], None]] = []


class CallMark:
    """A file in memory, beside that of the job: how often calls on a communicator were entered or left, and its ranks.

    Outside ``treecast launch``, and on other hosts, there is no such file. ``times``: the one number, in there. A call is made
    ``with`` it. ``world``: its ranks in MPI_COMM_WORLD.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.times = memoryview(bytearray(_HEAD)).cast("Q")
        world, group = MPI.COMM_WORLD.Get_group(), comm.Get_group()
        self.world = MPI.Group.Translate_ranks(group, list(range(group.size)), world)
        ranks = " ".join(map(str, self.world))
        _made[ranks] += 1
        name = f"calls-{world.rank}-{crc32(ranks.encode())}.{_made[ranks]}"  # alike at all ranks but for the rank
        try:
            with job_file(name).open("xb+") as file:
                file.write(bytes(_HEAD) + ranks.encode())
                file.flush()
                self.times = memoryview(mmap.mmap(file.fileno(), 0))[:_HEAD].cast("Q")
        except OSError:
            pass

    def __enter__(self) -> None:
        # A write to mapped memory, and no system call: it costs next to nothing, and the file shows it even when the
        # process is killed.
        self.times[0] += 1

    def __exit__(self, *_: object) -> None:
        self.times[0] += 1


def before_the_end(work: Callable[[], None]) -> None:
    """Have something done when this rank makes no calls any more, before MPI_Finalize."""
    if not _LEAVING:
        _LEAVING.append(MPI.Comm.Create_keyval(delete_fn=_leave))
        MPI.COMM_SELF.Set_attr(_LEAVING[0], MPI.COMM_WORLD.rank)
        atexit.register(_leave, None, 0, MPI.COMM_WORLD.rank)  # before mpi4py calls MPI_Finalize
    _BEFORE.append(work)


def not_before_the_end(work: Callable[[], None]) -> None:
    """Have something not done any more before MPI_Finalize."""
    if work in _BEFORE:
        _BEFORE.remove(work)


def _leave(comm: MPI.Comm | None, key: int, rank: int) -> None:
    """Note that this rank makes no calls any more."""
    place = job_file(f"left-{rank}")
    if place.parent.is_dir():
        place.write_text("0")
    # From the last one on: what was made later may stand on what was made before.
    while _BEFORE and not MPI.Is_finalized():
        _BEFORE.pop()()
