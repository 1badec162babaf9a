"""Farthest destination first (FDF), as the work of each node: the root deals out, the others pass on.

Communication model: bufferless. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorem 1. The first flit of a message names the way
that is left; a node keeps in mind by which child the message that is passing goes.
"""

from collections.abc import Iterator

from treecast.protocols.messages import Flit
from treecast.protocols.node import UP, Heard, Local, Planned, Thought

_DEALT = -2  # the root's memory: all is planned


def farthest_first(local: Local, memory: int | None, now: int, heard: Heard) -> Thought:
    """The root sends one message right behind the other, over each child of its own if it has many ports."""
    if local.root:
        return _DEALT, () if memory == _DEALT else _deal_out(local, now)
    flit = heard.get(UP)
    if not isinstance(flit, Flit):
        return memory, ()
    if flit.route is not None:
        memory = flit.route[0] if flit.route else None
        flit = flit._replace(route=flit.route[1:])
    return memory, () if memory is None else (Planned(now, memory, flit),)


def _deal_out(local: Local, now: int) -> Iterator[Planned]:
    free: dict[int, int] = {}
    for owner, route, flits in sorted(local.data, key=lambda message: -len(message[1])):
        child, rest = route[0], route[1:]
        port = 0 if local.one_port else child
        begin = free.get(port, now)
        for i in range(flits):
            yield Planned(begin + i, child, Flit(owner, i, None if i else rest))
        free[port] = begin + flits
