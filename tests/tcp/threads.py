"""Ranks as threads of one process, joined by real sockets."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

from tests.tcp.trials import join
from treecast.networks import network
from treecast.tcp.comm import Comm
from treecast.tcp.job import Job
from treecast.tcp.meeting import Arrivals
from treecast.transport.links import Links
from treecast.transport.sockets import Sockets


class DeathError(Exception):
    """Ends a rank at once."""


def run_ranks(size, program, survive=1, deadline=None, late=None, spec=None):
    """Run a program of a communicator in as many ranks; return what each returned or raised, in their order.

    ``spec``: the network whose links are the only connections.
    """
    where = None if spec is None else network(spec)
    near = [range(size) if where is None else where.neighbors(rank) for rank in range(size)]
    pairs = {pair: join() for pair in combinations(range(size), 2) if pair[1] in near[pair[0]]}

    def be_rank(rank):
        transport = Sockets(
            rank, size, {a + b - rank: two[rank == b] for (a, b), two in pairs.items() if rank in (a, b)}, deadline
        )
        links = None if where is None else Links(transport)
        if links is not None:
            transport = Sockets(rank, size, links.streams, deadline, selector=links)
        process = Job(transport, Arrivals(), None, late, links and (links, where))
        transport.start()
        comm = Comm(process, process.add_group(range(size), survive, 0))
        try:
            found = program(comm)
        except DeathError as error:
            process.abandon()
            return error
        except Exception as error:
            found = error
        process.finish()
        return found

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(be_rank, range(size)))
