"""Ranks as threads, with messages that go through memory and may be lost: as much of mpi4py as the ways need, without MPI.

Nobody is told of a death here: a rank that falls silent is like one that was stopped.
"""

import threading
import time
from functools import reduce
from operator import and_
from types import SimpleNamespace

from treecast.mpi.ways.call import Call


class Silent(Exception):  # noqa: N818
    """Raised in a rank that falls silent."""


class Failure(Exception):  # noqa: N818
    """What mpi4py would raise; nothing here does."""


class Status:
    count = 0

    def Get_count(self, datatype):  # noqa: N802
        return self.count

    def Get_error(self):  # noqa: N802
        return 0


class Request:
    def __init__(self, take=None):
        self.take, self.over = take, take is None

    def test(self, status):
        if not self.over:
            found = self.take()
            if found is None:
                return False
            status.count, self.over = found, True
        return True

    def Test(self, status=None):  # noqa: N802
        return self.test(status or Status())

    def Cancel(self):  # noqa: N802
        self.over = True

    @staticmethod
    def Waitall(requests, statuses):  # noqa: N802
        for request, status in zip(requests, statuses, strict=True):
            while not request.test(status):
                time.sleep(1e-4)


MPI = SimpleNamespace(
    Exception=Failure, Request=Request, Status=Status, BYTE="byte", TAG_UB=0, ERRORS_RETURN=0, ERR_PROC_FAILED=1,
    ERR_PROC_FAILED_PENDING=2, ERR_TRUNCATE=3, COMM_WORLD=SimpleNamespace(Get_attr=lambda key: 2**31 - 1),
    buffer=SimpleNamespace(allocate=lambda size: memoryview(bytearray(size))),
)  # fmt: skip


class Comm:
    """The communicator of one rank. It falls silent before its message ``last``; messages over ``cut`` pairs are lost."""

    def __init__(self, boxes, rank, size, last, cut, agreement=None):
        self.boxes, self.rank, self.size, self.last, self.cut = boxes, rank, size, last, cut
        self.agreed, self.agreement = 0, agreement

    def Set_errhandler(self, handler):  # noqa: N802
        pass

    def Get_rank(self):  # noqa: N802
        return self.rank

    def Get_size(self):  # noqa: N802
        return self.size

    def Isend(self, what, to, tag):  # noqa: N802
        if self.last == 0:
            raise Silent
        self.last -= 1
        if frozenset((self.rank, to)) not in self.cut:
            self.boxes[self.rank, to, tag] = bytes(what[0])
        return Request()

    def Irecv(self, what, source, tag):  # noqa: N802
        def take():
            found = self.boxes.get((source, self.rank, tag))
            if found is None:
                return None
            what[0][: len(found)] = found
            return len(found)

        return Request(take)

    def Agree(self, flag):  # noqa: N802
        if self.agreement is not None:
            return self.agreement
        flags = self.boxes.setdefault(("agree", self.agreed), [])
        self.agreed += 1
        flags.append(flag)
        while len(flags) < self.size:
            time.sleep(1e-4)
        return reduce(and_, flags)


def together(size, survive, deadline, job, *, last=None, cut=(), agreement=None):
    """Run ``job(call)`` at every rank; return what it returned, or the exception, for each rank that did not fall silent.

    ``last``: for ranks that fall silent, how many messages they send before. ``agreement``: what MPI's agreement says whatever
    the ranks do, as Open MPI's does now and then while another thread of a process waits in MPI.
    """
    boxes, found = {}, {}

    def run(rank):
        call = Call(
            MPI,
            Comm(boxes, rank, size, (last or {}).get(rank, -1), {frozenset(pair) for pair in cut}, agreement),
            survive,
            deadline,
        )
        call.begin()
        try:
            found[rank] = job(call)
        except Silent:
            pass
        except Exception as error:  # that of one rank has to be compared with the others'
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
