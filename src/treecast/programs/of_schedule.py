"""A schedule as a program: the sends, receives and additions of each rank, message by message, and their waits."""

import numpy as np

from treecast.programs.messages import Messages
from treecast.programs.program import ADD, RECEIVE, SEND, Program
from treecast.ragged import Ints, starts


def of_schedule(messages: Messages, begins: Ints) -> tuple[Program, Ints]:
    """Return the program of ranks, rank by rank, in the order of messages, and the message of each operation.

    ``begins``: as ``chunk_places`` returns them. A send waits for the receives that brought its chunks, for the additions to its
    sums, and for the send before it on its arc; an addition for its receive. Nothing else is ordered: each operation is a lane.

    >>> import treecast
    >>> from treecast.programs.messages import chunk_places, messages_of
    >>> schedule = treecast.plan("broadcast", "path:3")
    >>> program, message = of_schedule(messages_of(schedule), chunk_places(schedule, 10))
    >>> program.rank.tolist(), message.tolist(), program.size.tolist()
    ([0, 1, 1, 2], [0, 0, 1, 1], [10, 10, 10, 10])
    >>> program.waiting.tolist(), program.wait.tolist()
    ([2], [1])
    """
    count, every = len(messages), np.arange(len(messages))
    added = np.flatnonzero(messages.added(np.arange(messages.schedule.part.chunks + 1)) > 0)
    rank = np.concatenate([messages.src, messages.dst, messages.dst[added]])
    message = np.concatenate([every, every, added])
    turn = np.lexsort([np.arange(len(message)), message, rank])
    number = np.empty(len(turn), np.int64)
    number[turn] = np.arange(len(turn))
    send, receive, brought = number[:count], number[count : 2 * count], number[count : 2 * count].copy()
    brought[added] = number[2 * count :]
    by_arc = np.lexsort([every, messages.dst, messages.src])
    follows = np.flatnonzero(messages.place[by_arc] > 0)
    late = [np.repeat(send, np.diff(messages.needs_start)), send[by_arc[follows]], number[2 * count :]]
    early = [brought[messages.needs], send[by_arc[follows - 1]], receive[added]]
    waiting, wait = np.concatenate(late), np.concatenate(early)
    order = np.argsort(waiting, kind="stable")
    kind = np.repeat([SEND, RECEIVE, ADD], [count, count, len(added)])[turn]
    rank, message = rank[turn], message[turn]
    to, source = (
        np.where(kind == bit, end[message], -1) for bit, end in ((SEND, messages.dst), (RECEIVE, messages.src))
    )
    program = Program(
        ranks=messages.schedule.network.nodes,
        rank=rank,
        lane=np.arange(len(rank)),
        kind=kind,
        to=to,
        source=source,
        tag=messages.place[message],
        size=messages.sizes(begins)[message],
        units=np.ones_like(rank),
        wait_start=starts(np.bincount(waiting, minlength=len(rank))),
        wait=wait[order],
        begun=np.zeros(len(wait), np.bool_),
        where=lambda one: (f"rank {rank[one]}, message {message[one]}", (int(rank[one]), int(message[one]))),
    )
    return program, message
