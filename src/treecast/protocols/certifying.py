"""TRANSMISSION-CERTIFICATE, as the work of each node of a tree: tokens down, certificates up, orders down, streams up.

Communication model: bufferless; computing takes no time. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorem 3. With ``walk`` a
node asks one child after the other, as the paper's text has it; else it asks all in turn, and they answer in slots.
"""

from collections.abc import Iterable
from typing import NamedTuple

from treecast.protocols.messages import Certificate, Order, Token
from treecast.protocols.node import UP, Heard, Local, Planned, Thought, own_flits, relay_data


class Memory(NamedTuple):
    """The memory of a node: when it got the token (-1: not yet), the period of its slots, and each child's certificate."""

    token_time: int = -1
    period: int = 1
    known: tuple[Certificate | None, ...] = ()


class Stream(NamedTuple):
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


def certify(local: Local, memory: Memory | None, now: int, heard: Heard, walk: bool = False) -> Thought:
    """Pass the token to all children in turn, which certify in slots; in a ``walk``, to each when the one before has answered."""
    memory = memory or Memory()
    plans = relay_data(local, now, heard)
    from_parent = heard.get(UP)
    if isinstance(from_parent, Order):
        return memory, [*plans, *_begin(local, memory, now, from_parent.delay)]
    has_token, answers = memory.token_time >= 0, {c: m for c, m in heard.items() if isinstance(m, Certificate)}
    if isinstance(from_parent, Token) or (local.root and not has_token and not heard):
        period = from_parent.period if isinstance(from_parent, Token) else 1
        memory = Memory(now, period, (None,) * local.children)
    elif not answers:
        return memory, plans
    memory = memory._replace(known=tuple(answers.get(c, known) for c, known in enumerate(memory.known)))
    missing = [c for c, known in enumerate(memory.known) if known is None]
    if walk and missing:
        plans.append(Planned(now, missing[0], Token(1)))
    elif missing and not answers:
        period = local.children if local.one_port else 1
        plans += [Planned(now + (c if local.one_port else 0), c, Token(period)) for c in missing]
    if not missing:
        plans += _begin(local, memory, now, 0) if local.root else [_certify(local, memory, now)]
    return memory, plans


def _certify(local: Local, memory: Memory, now: int) -> Planned:
    stream = _stream(local, memory)
    slot = now + (memory.token_time - now) % memory.period
    return Planned(slot, UP, Certificate(stream.lag, stream.flits))


def _begin(local: Local, memory: Memory, now: int, delay: int) -> Iterable[Planned]:
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
        yield Planned(now + number - 1, child, Order(leaves - (now + number)))
    yield from own_flits(local, begin + stream.own)


def _stream(local: Local, memory: Memory) -> Stream:
    """Return the stream that joins the streams of the children and the node's own message."""
    sizes = [(known or Certificate(0, 0)).flits for known in memory.known]
    number = [0] * local.children
    for count, child in enumerate((c for c, size in enumerate(sizes) if size), 1):
        number[child] = count if local.one_port else 1
    busy = max(number, default=0) if local.one_port and not local.root else 0  # steps in which orders leave
    earliest = [
        max(busy, (known or Certificate(0, 0)).lag + order + (0 if local.root else 1))
        for known, order in zip(memory.known, number, strict=True)
    ]
    parts = [(busy, UP, local.flits)] if local.flits else []
    parts += [(earliest[child], child, size) for child, size in enumerate(sizes) if size]
    lag = passed = own = 0
    before = [0] * local.children
    for begin, who, size in sorted(parts, key=lambda part: part[0]):
        lag = max(lag, begin - passed)
        if who == UP:
            own = passed
        else:
            before[who] = passed
        passed += size
    return Stream(lag, passed, own, tuple(before), tuple(number), tuple(earliest))
