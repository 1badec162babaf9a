"""The fate of each message of a schedule under faults: whether it is sent, with which chunks, and whether it arrives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.programs.messages import Messages
from treecast.ragged import Ints, starts
from treecast.schedule import Payloads, Rows
from treecast.simulation.faults import Faults, parse_faults
from treecast.simulation.replay import replay


@dataclass(frozen=True, eq=False)
class Fates:
    """The fates of messages under some faults.

    ``sent`` and ``arrived``, bool (messages,): which are sent, and which of them arrive. ``carried``: the chunks that are really
    sent, message by message.
    """

    faults: Faults
    sent: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    carried: Payloads


def fates_of(messages: Messages, dead_nodes: Sequence[str], cut_links: Sequence[str]) -> Fates:
    """Return the fate of each message when nodes and links fail, which are written as ``simulate`` takes them.

    Raises FaultError or NetworkError for nodes and links that do not exist, and when the root is dead from the start.
    """
    faults = parse_faults(messages.schedule.network, dead_nodes, cut_links)
    count, payloads = len(messages), messages.payloads
    if not len(faults):
        every = np.ones(count, np.bool_)
        return Fates(faults, every, every, payloads)
    if bool((np.diff(payloads.start) == 0).any()):
        raise FormatError("control flits have no timeline under faults: leave the faults out")
    columns = {name: getattr(messages, name) for name in ("step", "src", "dst", "port", "tree")}
    rows = Rows.of(payloads, **columns, steps=np.ones(count, np.int64), payload=np.arange(count))
    trace = replay(replace(messages.schedule, rows=rows, claims=None), faults)
    order = np.empty(count, np.int64)  # the message of each row: rows of one arc and step have an order of their own
    order[_order(trace.schedule.rows)] = _order(messages)
    atom = trace.moves.atom[trace.moved]
    message = order[trace.moves.row[trace.moved]]
    turn = np.lexsort([atom, message])
    first, stop = trace.atoms.bounds[:-1][atom[turn]], trace.atoms.bounds[1:][atom[turn]]
    start = starts(np.bincount(message, minlength=count))
    sent, arrived = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    sent[message] = True
    arrived[order[trace.moves.row[trace.arrived]]] = True
    return Fates(faults, sent, arrived, Payloads(start, first, stop))


def _order(these: Messages | Rows) -> Ints:
    """Return an order of messages, or of rows that are messages, that depends on their columns alone."""
    chunk = these.payloads.first[these.payloads.start[:-1]]
    chunk = chunk if isinstance(these, Messages) else chunk[these.payload]
    return np.lexsort([chunk, these.port, these.tree, these.dst, these.src, these.step])
