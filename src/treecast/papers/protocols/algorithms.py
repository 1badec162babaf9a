"""Algorithms as the work of each node: farthest destination first, SHOULDER-TAP, TRANSMISSION-CERTIFICATE, and gossip in phases.

Communication model: bufferless; computing takes no time. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorems 1, 2 and 3. Gossip:
whispering, messages combine. Source: Chau & Fu, section 3, their arrays M and L.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from treecast.papers.protocols.synchronous import (
    UP,
    Certificate,
    Flit,
    Heard,
    Local,
    News,
    Order,
    PlannedSend,
    Thought,
    Token,
    WakeUp,
    own_flits,
    relay_data,
)


class GossipMemory(NamedTuple):
    """The memory of a node that gossips: the time of unit 0, the messages it holds (M), and those that each link carried (L)."""

    begun: int
    held: frozenset[int]
    over: tuple[frozenset[int], ...]


def in_phases(
    local: Local, memory: GossipMemory | None, now: int, heard: Heard, *, units: Sequence[int], gossip: int
) -> Thought:
    """Each unit of time has a dimension, over which all who have heard anything send whatever has not gone over that link.

    ``units``: the ports by unit; whoever is told reads in the message which unit it is. ``gossip``: the unit in which every node
    begins with its own message, behind the phases by which the initiator tells them; those carry the initiator's message alone.
    """
    nothing = (frozenset[int](),) * local.children
    # 1. What unit it is: the message that wakes a node says so.
    if memory is None:
        told = next((news.left for news in heard.values() if isinstance(news, News)), None)
        # it went in the unit before this one, and so many units follow that one
        begun = now if told is None else now - (len(units) - told)
        memory = GossipMemory(begun, frozenset[int]([local.name] if local.root else []), nothing)
    unit, over = now - memory.begun, list(memory.over)
    # 2. What came counts as gone over that link, too.
    came = {port: news.owners for port, news in heard.items() if isinstance(news, News)}
    held = frozenset[int](memory.held.union(*came.values()))
    for port, owners in came.items():
        over[port] |= owners
    if unit == gossip > 0:  # who has told all of them has nothing new
        held, over = frozenset[int]([] if local.root else [local.name]), list(nothing)
    if unit >= len(units):
        return memory._replace(held=held), ()
    # 3. Send what has not gone over the link of this unit, and wake for the next.
    port = units[unit]
    news = held - over[port]
    over[port] |= news
    plans = [PlannedSend(now, port, News(news, len(units) - 1 - unit))] if news else []
    return GossipMemory(memory.begun, held, tuple(over)), [*plans, PlannedSend(now + 1, port, None)]


_DEALT = -2  # the root's memory: all is planned


def farthest_first(local: Local, memory: int | None, now: int, heard: Heard) -> Thought:
    """The root sends one message right behind the other, over each child of its own if it has many ports; the others pass on.

    The first flit of a message names the way that is left; the memory is the child by which the message that is passing goes.
    """
    if local.root:
        return _DEALT, () if memory == _DEALT else _deal_out(local, now)
    flit = heard.get(UP)
    if not isinstance(flit, Flit):
        return memory, ()
    if flit.route is not None:
        memory = flit.route[0] if flit.route else None
        flit = flit._replace(route=flit.route[1:])
    return memory, () if memory is None else (PlannedSend(now, memory, flit),)


def _deal_out(local: Local, now: int) -> Iterator[PlannedSend]:
    free: dict[int, int] = {}
    for owner, route, flits in sorted(local.data, key=lambda message: -len(message[1])):
        child, rest = route[0], route[1:]
        port = 0 if local.one_port else child  # over one port messages wait for each other
        begin = free.get(port, now)
        for i in range(flits):
            yield PlannedSend(begin + i, child, Flit(owner, i, None if i else rest))
        free[port] = begin + flits


def shoulder_tap(local: Local, memory: None, now: int, heard: Heard) -> Thought:
    """The root of a path wakes its child; a node that is woken wakes the next at once, and plans its own message.

    It sends when its way is free. It knows whether there is a next node, but not whether that has anything to send.
    """
    if local.root:  # all else that it hears has arrived
        return None, () if heard or not local.children else (PlannedSend(now, 0, WakeUp(1)),)
    plans, call = relay_data(local, now, heard), heard.get(UP)
    if not isinstance(call, WakeUp):
        return None, plans
    came = now - 1  # the step in which the call went
    # over one port this step goes into waking the next node
    begin = max(now + (local.one_port and local.children > 0), came + call.after)
    if local.children:
        # its first flit passes here a step after it leaves: it may leave with our last
        plans.append(PlannedSend(now, 0, WakeUp(max(1, begin + local.flits - 1 - now))))
    return None, [*plans, *own_flits(local, begin)]


class NodeMemory(NamedTuple):
    """The memory of a node: when it got the token (-1: not yet), the period of its slots, and each child's certificate."""

    token_time: int = -1
    period: int = 1
    known: tuple[Certificate | None, ...] = ()


class FlitStream(NamedTuple):
    """A node's stream without a gap.

    ``lag``, ``flits``: its certificate. ``own``: how many flits pass before its own message. ``before``: how many pass before
    those of each child. ``number``: as which one, from 1, each child gets its order; 0 where it has no flits. ``earliest``:
    when each child can begin if it does not wait for others.
    """

    lag: int
    flits: int
    own: int
    before: tuple[int, ...]
    number: tuple[int, ...]
    earliest: tuple[int, ...]


def certify(local: Local, memory: NodeMemory | None, now: int, heard: Heard, walk: bool = False) -> Thought:
    """Tokens go down, certificates up, orders down, streams up.

    A node asks all children in turn, which certify in slots; in a ``walk``, as the paper's text has it, each when the one before
    has answered.
    """
    # 1. Orders: begin.
    memory = memory or NodeMemory()
    plans = relay_data(local, now, heard)
    from_parent = heard.get(UP)
    if isinstance(from_parent, Order):
        return memory, [*plans, *_begin(local, memory, now, from_parent.delay)]
    # 2. Tokens and certificates: remember them.
    has_token, answers = memory.token_time >= 0, {c: m for c, m in heard.items() if isinstance(m, Certificate)}
    if isinstance(from_parent, Token) or (local.root and not has_token and not heard):
        period = from_parent.period if isinstance(from_parent, Token) else 1
        memory = NodeMemory(now, period, (None,) * local.children)
    elif not answers:
        return memory, plans
    memory = memory._replace(known=tuple(answers.get(c, known) for c, known in enumerate(memory.known)))
    # 3. Ask the children that have not answered, in a walk one after the other.
    missing = [c for c, known in enumerate(memory.known) if known is None]
    if walk and missing:
        plans.append(PlannedSend(now, missing[0], Token(1)))
    elif missing and not answers:
        period = local.children if local.one_port else 1
        plans += [PlannedSend(now + (c if local.one_port else 0), c, Token(period)) for c in missing]
    # 4. All have answered: certify, or give orders.
    if not missing:
        if local.root:
            return memory, [*plans, *_begin(local, memory, now, 0)]
        # the next step that is a multiple of the period after the token
        stream, slot = _stream(local, memory), now + (memory.token_time - now) % memory.period
        plans.append(PlannedSend(slot, UP, Certificate(stream.lag, stream.flits)))
    return memory, plans


def _begin(local: Local, memory: NodeMemory, now: int, delay: int) -> Iterable[PlannedSend]:
    """Yield orders to the children that have something to send, and the node's own message.

    A child's first flit arrives in the step before it is relayed; the root relays nothing.
    """
    stream = _stream(local, memory)
    begin = now + (stream.lag if local.root else delay)
    for child, number in enumerate(stream.number):
        if not number:
            continue
        leaves = begin + stream.before[child] - (0 if local.root else 1)
        if local.root and not local.one_port:
            leaves = now + stream.earliest[child]  # its children do not share a link
        # the delay counts from the step in which the child gets the order
        yield PlannedSend(now + number - 1, child, Order(leaves - (now + number)))
    yield from own_flits(local, begin + stream.own)


def _stream(local: Local, memory: NodeMemory) -> FlitStream:
    """Return the stream that joins the streams of the children and the node's own message."""
    children = [known or Certificate(0, 0) for known in memory.known]
    sizes = [child.flits for child in children]
    number = [0] * local.children
    for count, child in enumerate((c for c, size in enumerate(sizes) if size), 1):
        number[child] = count if local.one_port else 1
    busy = max(number, default=0) if local.one_port and not local.root else 0  # steps in which orders leave
    lags = [child.lag + order + (0 if local.root else 1) for child, order in zip(children, number, strict=True)]
    earliest = [max(busy, lag) for lag in lags]
    parts = [(busy, UP, local.flits)] if local.flits else []
    parts += [(earliest[child], child, size) for child, size in enumerate(sizes) if size]
    lag = passed = own = 0
    before = [0] * local.children
    for begin, who, size in sorted(parts, key=lambda part: part[0]):
        # this part is there at ``begin``, and ``passed`` flits go before it
        lag = max(lag, begin - passed)
        if who == UP:
            own = passed
        else:
            before[who] = passed
        passed += size
    return FlitStream(lag, passed, own, tuple(before), tuple(number), tuple(earliest))
