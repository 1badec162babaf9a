"""Ranks as threads of one process, joined by real sockets."""

import sys
import traceback
from functools import partial
from itertools import combinations
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from time import monotonic

from tests.tcp.trials import join
from treecast.networks import network
from treecast.running.groups.terms import Terms
from treecast.running.transport.base import Ticket
from treecast.running.transport.links import Links
from treecast.running.transport.sockets import Sockets
from treecast.tcp.comm import Comm
from treecast.tcp.job import JoinedJob
from treecast.tcp.meeting import Arrivals


class DeathError(BaseException):
    """Ends a rank at once; no handler of errors takes it."""


def die_at(comm, frame):
    """Have a rank over links die at a message of data, counted from 1; nothing that its side thread says then goes out."""
    direct, left, thread = comm.process.links[0].direct, [frame], current_thread()
    send = direct.send

    def counted(to, key, piece):
        left[0] -= key.kind == 0
        if left[0] > 0:
            return send(to, key, piece)
        if current_thread() is thread:
            raise DeathError
        return Ticket()

    direct.send = counted


def at_once(parts, seconds=60.0):
    """Call functions in threads of their own; return what each returned. Raises the first error, and TimeoutError with the
    stacks of those that have not ended in time: they are left behind, so that nothing waits for them.
    """
    ended = SimpleQueue()

    def call(number, part):
        try:
            ended.put((number, part(), None))
        except BaseException as error:
            ended.put((number, None, error))

    threads = [Thread(target=call, args=each, daemon=True) for each in enumerate(parts)]
    for thread in threads:
        thread.start()
    found, until = {}, monotonic() + seconds
    while len(found) < len(threads):
        try:
            number, result, error = ended.get(timeout=max(0.0, until - monotonic()))
        except Empty:
            frames = sys._current_frames()
            stacks = {k: frames[thread.ident] for k, thread in enumerate(threads) if k not in found}
            told = "\n".join(f"{k}:\n{''.join(traceback.format_stack(stack))}" for k, stack in stacks.items())
            raise TimeoutError(f"after {seconds} s have not ended {told}") from None
        if error is not None:
            raise error
        found[number] = result
    return [found[number] for number in range(len(threads))]


def run_ranks(size, program, spec=None, **terms):
    """Run a program of a communicator in as many ranks; return what each returned or raised, in their order.

    ``spec``: the network whose links are the only connections. Deaths are not told, and nobody is silent, but by ``terms``.
    """
    terms = Terms.of({"deadline": None, "on_failed": "ignore", **terms}).check()
    where = None if spec is None else network(spec)
    near = [range(size) if where is None else where.neighbors(rank) for rank in range(size)]
    pairs = {pair: join() for pair in combinations(range(size), 2) if pair[1] in near[pair[0]]}

    def be_rank(rank):
        transport = Sockets(
            rank,
            size,
            {a + b - rank: two[rank == b] for (a, b), two in pairs.items() if rank in (a, b)},
            terms.deadline,
        )
        links = None if where is None else Links(transport)
        if links is not None:
            transport = Sockets(rank, size, links.streams, terms.deadline, selector=links)
        process = JoinedJob(transport, Arrivals(), None, terms, links and (links, where))
        transport.start()
        comm = Comm(process, process.add_group(range(size), 0))
        try:
            found = program(comm)
        except DeathError as error:
            process.abandon()
            return error
        except Exception as error:
            found = error
        process.finish()
        return found

    return at_once([partial(be_rank, rank) for rank in range(size)])
