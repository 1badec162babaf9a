"""A node that takes part in a protocol: its messages, its knowledge at first, its memory, and the sends that it plans.

Communication model: bufferless; each message is one flit. Source: Bhatt, Pucci, Ranade & Rosenberg. A node knows its own length,
that it has one port or many, and its neighbours by the names it has for them: ``UP`` its parent, 0, 1, … its children. All else
comes in messages. It counts steps on a clock of its own.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from treecast.errors import ProtocolError

UP = -1
"""A node's name for its parent."""


class Flit(NamedTuple):
    """Flit number ``place`` of the message of node ``owner``: for it, of a scatter; from it, of a gather.

    ``route``: in the first flit of a message that is dealt out, the children by which it goes on; () at its end. None in all
    others: they follow the first. Nodes that relay read nothing else of it.
    """

    owner: int
    place: int
    route: tuple[int, ...] | None = None


class WakeUp(NamedTuple):
    """SHOULDER-TAP: the way to the root is free for a flit that leaves ``after`` steps from the one in which this goes."""

    after: int


class Token(NamedTuple):
    """TRANSMISSION-CERTIFICATE: certify in the step behind that in which this goes, or a multiple of ``period`` later.

    Siblings get it in different steps, so those are slots of which no two meet.
    """

    period: int


class Certificate(NamedTuple):
    """TRANSMISSION-CERTIFICATE: ``lag`` steps after I have been told I can begin ``flits`` flits without a gap."""

    lag: int
    flits: int


class Order(NamedTuple):
    """TRANSMISSION-CERTIFICATE: begin to send ``delay`` steps after you have got this."""

    delay: int


Content = Flit | WakeUp | Token | Certificate | Order


class Local(NamedTuple):
    """A node's knowledge before it has received anything.

    ``name``: its mark on its own flits. ``children``: how many there are. ``flits``: the length of its message.
    ``data``: the messages of a scatter's root for others: (owner, route, flits), in any order.
    """

    name: int
    root: bool
    children: int
    flits: int
    one_port: bool
    data: tuple[tuple[int, tuple[int, ...], int], ...] = ()


class Planned(NamedTuple):
    """A flit to be sent to a neighbour, at a time of the node's own clock."""

    time: int
    to: int
    content: Content


class State(NamedTuple):
    """The memory of a node.

    ``agenda``: in order of time, of which the first ``sent`` have been sent. ``memory``: its protocol's.
    """

    local: Local
    agenda: tuple[Planned, ...] = ()
    sent: int = 0
    memory: Any = None


class Turn(NamedTuple):
    """A node's part in one step: its state from then on, its messages by neighbour, and when it must be woken."""

    state: State
    sends: dict[int, Content]
    wake: int | None


Heard = Mapping[int, Content]
"""The messages of the last step, by the neighbour from which they came."""
Thought = tuple[Any, Iterable[Planned]]
"""A protocol's memory from now on, and the sends that it plans besides those it has planned before."""
Think = Callable[[Local, Any, int, Heard], Thought]
"""A protocol: a node's answer to the messages that it has received. The root starts by itself, once, having received nothing."""


def take_turn(think: Think, state: State, now: int, heard: Heard) -> Turn:
    """Return a node's turn: its protocol plans, then it sends. Raises ProtocolError when a link cannot carry that."""
    local, agenda, sent, memory = state
    memory, new = think(local, memory, now, heard)
    due = list(new)
    more = tuple(planned for planned in due if planned.time > now)
    if more:
        agenda, sent = tuple(sorted(agenda[sent:] + more, key=attrgetter("time"))), 0
        due = [planned for planned in due if planned.time <= now]
    while sent < len(agenda) and agenda[sent].time <= now:
        due.append(agenda[sent])
        sent += 1
    sends = {planned.to: planned.content for planned in due}
    if len(sends) < len(due):
        raise ProtocolError(f"node {local.name} has two flits for one neighbour in one step")
    wake = agenda[sent].time if sent < len(agenda) else None
    return Turn(State(local, agenda, sent, memory), sends, wake)


def own_flits(local: Local, begin: int) -> Iterable[Planned]:
    """Yield a node's own message, up to its parent, without a gap."""
    return (Planned(begin + i, UP, Flit(local.name, i)) for i in range(local.flits))


def relay_data(local: Local, now: int, heard: Heard) -> list[Planned]:
    """Return the data that goes on to the parent at once: all that came from children, unless this is the root."""
    return [] if local.root else [Planned(now, UP, content) for content in heard.values() if isinstance(content, Flit)]
