"""Broadcasts over one port that repeat every q steps: when each node receives which chunk, from its list of q entries.

Communication model: one-port; in a step every node sends to one other node, and receives from one.
Sources: Johnsson & Ho (1989) on hypercubes; Träff & Ripke (2005) for the last q steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from treecast.networks.core import Ints
from treecast.plans.built import Job, rows_between
from treecast.plans.whole.one_port.models import check_rows
from treecast.ragged import places, starts
from treecast.schedule import Payloads, Rows


class PacedStreams(NamedTuple):
    """Sends of messages that follow each other by a pace, as many messages on as steps; int64 of one length.

    The first step and message of each stream, its source and target, counted from the root, and how many messages it has.
    """

    step: Ints
    source: Ints
    target: Ints
    message: Ints
    times: Ints

    def one_by_one(self, pace: int) -> "PacedStreams":
        """Return streams of one message each, by target and then by step."""
        later = pace * places(self.times)
        step, source, target, message, times = (np.repeat(column, self.times) for column in self)
        order = np.lexsort((step + later, target))
        every = step + later, source, target, message + later, np.ones_like(times)
        return PacedStreams(*(column[order] for column in every))


@dataclass(frozen=True)
class Periodic:
    """Who sends to whom in each of the q steps of a period, and which message of it arrives.

    Parameters
    ----------
    nodes, period
        The number of nodes, and q.
    ahead, behind
        The node that a node sends to in some steps of a period, and the one that it receives from.
    lists
        The message of a period that some nodes receive in each of its steps: int64 (nodes asked for, q). An entry e ≥ 0 is
        message e of the period, and e - q message e of the period before it. Every node has each message once, and one entry
        e ≥ 0. Those of node 0 mean nothing.
    """

    nodes: int
    period: int
    ahead: Callable[[Ints, Ints], Ints]
    behind: Callable[[Ints, Ints], Ints]
    lists: Callable[[Ints], Ints]

    def streams(self, messages: int, pace: int, node: int | None = None, *, again: bool = True) -> PacedStreams:
        """Return the streams of a broadcast, or those to and from one node, found from its label alone.

        ``pace``: a multiple of q. ``again``: in each of the last q steps the root sends the last message, which a node takes when
        it first can. So the broadcast takes M - 1 + q steps, else M + q. The last message begins a period.
        """
        if self.nodes == 1:
            return PacedStreams(*np.zeros((5, 0), np.int64))
        if node is None:
            target = np.arange(1, self.nodes)
        else:
            target = np.unique(np.append(self.ahead(np.full(self.period, node), np.arange(self.period)), node))
            target = target[target > 0]
        lists = self.lists(target)
        message = np.arange(min(pace, messages))
        index = np.argsort(lists % self.period, axis=1)[:, (message - messages + 1) % self.period]
        last, first = (messages - 1) % pace, np.argmax(lists >= 0, axis=1)
        early = again & (index[:, last] != first)
        step = message + index - np.take_along_axis(lists, index, axis=1)
        times = (messages - 1 - message) // pace + 1 - (early[:, None] & (message == last))
        streams = np.broadcast_arrays(step, self.behind(target[:, None], index), target[:, None], message, times)
        alone = messages - 1 + first, self.behind(target, first), target, np.full_like(target, messages - 1), early
        found = [np.append(some, more[early]) for some, more in zip(streams, alone, strict=True)]
        kept = found[-1] > 0
        if node is not None:
            kept &= (found[1] == node) | (found[2] == node)
        return PacedStreams(*(column[kept] for column in found))

    def rows(self, job: Job[Any], place: Callable[[Ints], Ints], node: int | None = None) -> Rows:
        """Return the rows of a broadcast, or those of one node, counted from the root; ``place``: the nodes of numbers.

        Chunks are numbered such that those of a stream follow one another. The copies of a chunk are messages that follow one
        another.
        """
        messages, copies = job.collective.messages, job.copies
        pace = lcm(copies, self.period)
        check_rows(min(messages * copies, pace), self.nodes - 1, job.network)
        step, source, target, message, times = self.streams(messages * copies, pace, node, again=copies == 1)
        chunk, together = message // copies, pace // copies
        begins = starts((messages - 1 - np.arange(together)) // together + 1)
        first = begins[chunk % together] + chunk // together
        ranges, payload = np.unique(np.stack([first, first + times]), axis=1, return_inverse=True)
        more = {"payload": payload.reshape(-1), "steps": (times - 1) * pace + 1}
        if copies > 1:
            more["tree"] = message % self.period
        source, target = (job.network.translate(job.collective.root, place(u)) for u in (source, target))
        return rows_between(job.network, Payloads.of_ranges(*ranges), step, source, target, **more)
