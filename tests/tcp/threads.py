"""Ranks as threads of one process, joined by real sockets."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

from tests.tcp.trials import join
from treecast.tcp.comm import Comm
from treecast.tcp.job import Job
from treecast.tcp.meeting import Arrivals
from treecast.transport.sockets import Sockets


def run_ranks(size, program, survive=1, deadline=None, late=None):
    """Run a program of a communicator in as many ranks; return what each returned or raised, in their order."""
    pairs = {pair: join() for pair in combinations(range(size), 2)}

    def be_rank(rank):
        socks = {a + b - rank: two[rank == b] for (a, b), two in pairs.items() if rank in (a, b)}
        process = Job(Sockets(rank, size, socks, deadline).start(), Arrivals(), None, late)
        comm = Comm(process, process.add_group(range(size), survive, 0))
        try:
            found = program(comm)
        except Exception as error:
            found = error
        process.finish()
        return found

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(be_rank, range(size)))
