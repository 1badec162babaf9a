"""A synchronous network of nodes that each run a protocol: messages of a step are received in the next.

Communication model: bufferless, over one port or many, each message is one flit (Bhatt, Pucci, Ranade & Rosenberg); or
whispering, where a message holds those of many nodes (Chau & Fu). A send that breaks it raises ProtocolError. A node knows its
own length, that it has one port or many, and its neighbours by the names it has for them: ``UP`` its parent, 0, 1, … its
children; or ports. All else comes in messages. It counts steps on a clock of its own: no two nodes have the same, so a node knows
no more of the time than it has counted itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
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


class News(NamedTuple):
    """Gossip: the messages of some nodes, ``owners``, in one; ``left``: in how many units after this one nodes still send."""

    owners: frozenset[int]
    left: int


Content = Flit | WakeUp | Token | Certificate | Order | News


def carried(content: Content) -> int:
    """Return how many flits of data a message holds, or messages of nodes; 0 of a control flit."""
    return len(content.owners) if isinstance(content, News) else int(isinstance(content, Flit))


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


class PlannedSend(NamedTuple):
    """A message to be sent to a neighbour, at a time of the node's own clock; without content: the node wants to be woken."""

    time: int
    to: int
    content: Content | None


class NodeState(NamedTuple):
    """The memory of a node.

    ``agenda``: in order of time, of which the first ``sent`` have been sent. ``memory``: its protocol's.
    """

    local: Local
    agenda: tuple[PlannedSend, ...] = ()
    sent: int = 0
    memory: Any = None


class NodeTurn(NamedTuple):
    """A node's part in one step: its state from then on, its messages by neighbour, and when it must be woken."""

    state: NodeState
    sends: dict[int, Content]
    wake: int | None


Heard = Mapping[int, Content]
"""The messages of the last step, by the neighbour from which they came."""
Thought = tuple[Any, Iterable[PlannedSend]]
"""A protocol's memory from now on, and the sends that it plans besides those it has planned before."""
Think = Callable[[Local, Any, int, Heard], Thought]
"""A protocol: a node's answer to the messages that it has received. The root starts by itself, once, having received nothing."""


def take_turn(think: Think, state: NodeState, now: int, heard: Heard) -> NodeTurn:
    """Return a node's turn: its protocol plans, then it sends. Raises ProtocolError when a link cannot carry that."""
    local, agenda, sent, memory = state
    memory, new = think(local, memory, now, heard)
    due = list(new)
    more = tuple(planned for planned in due if planned.time > now)
    if more:
        # those that have been sent are dropped, the others wait in order of time
        agenda, sent = tuple(sorted(agenda[sent:] + more, key=attrgetter("time"))), 0
        due = [planned for planned in due if planned.time <= now]
    while sent < len(agenda) and agenda[sent].time <= now:
        due.append(agenda[sent])
        sent += 1
    said = [(planned.to, planned.content) for planned in due if planned.content is not None]
    sends = dict(said)
    if len(sends) < len(said):
        raise ProtocolError(f"node {local.name} has two flits for one neighbour in one step")
    wake = agenda[sent].time if sent < len(agenda) else None
    return NodeTurn(NodeState(local, agenda, sent, memory), sends, wake)


def own_flits(local: Local, begin: int) -> Iterable[PlannedSend]:
    """Yield a node's own message, up to its parent, without a gap."""
    return (PlannedSend(begin + i, UP, Flit(local.name, i)) for i in range(local.flits))


def relay_data(local: Local, now: int, heard: Heard) -> list[PlannedSend]:
    """Return the data that goes on to the parent at once: all that came from children, unless this is the root."""
    return (
        [] if local.root else [PlannedSend(now, UP, content) for content in heard.values() if isinstance(content, Flit)]
    )


_SHOWN = 15  # sends that are printed


class Utterance(NamedTuple):
    """One flit that a node sent to another in a step."""

    step: int
    src: int
    dst: int
    content: Content

    @property
    def kind(self) -> str:
        """``flit``, ``news``, ``wakeup``, ``token``, ``certificate`` or ``order``."""
        return type(self.content).__name__.lower()


class Conversation(NamedTuple):
    """All sends, by step."""

    sends: tuple[Utterance, ...]

    def __repr__(self) -> str:
        return f"<Conversation: {self.flits:,} flits and {self.control:,} control flits in {self.steps:,} steps>"

    def __str__(self) -> str:
        """Return the first sends, a line each."""
        lines = [f"{one.step:>6}  {one.src} > {one.dst}: {one.kind}" for one in self.sends[:_SHOWN]]
        more = len(self.sends) - _SHOWN
        return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])

    @property
    def steps(self) -> int:
        """The steps that it took."""
        return self.sends[-1].step + 1 if self.sends else 0

    @property
    def flits(self) -> int:
        """How many flits of data were sent, over all arcs."""
        return sum(carried(one.content) for one in self.sends)

    @property
    def control(self) -> int:
        """How many control flits were sent."""
        return sum(not carried(one.content) for one in self.sends)


class NodePlace(NamedTuple):
    """A node in the tree, as only the network knows it: its parent (-1: none), and its children in its own order."""

    parent: int
    children: tuple[int, ...]


def converse(think: Think, places: Sequence[NodePlace], nodes: Sequence[Local], away: bool) -> Conversation:
    """Let all nodes run a protocol until nobody has anything to send; ``away``: data flows away from the root.

    Raises ProtocolError when a node sends more than the machine can carry.
    """
    # 1. Names of neighbours, clocks, and alarms: the root wakes by itself.
    port = [{child: name for name, child in enumerate(place.children)} | {place.parent: UP} for place in places]
    state = [NodeState(local) for local in nodes]
    # any large number will do: no two clocks are alike, so no node can go by the time of others
    clock = [v * 7919 for v in range(len(nodes))]  # the clock of each node in step 0
    alarm: list[int | None] = [None] * len(nodes)
    waiting: list[tuple[int, int]] = []
    for v, local in enumerate(nodes):
        if local.root:
            _set_alarm(alarm, waiting, v, 0)
    sends: list[Utterance] = []
    under_way: list[Utterance] = []
    step = 0
    while under_way or waiting:
        # 2. Who hears something now, or wanted to be woken. Where nothing is under way, time goes on to the next alarm.
        heard: dict[int, dict[int, Content]] = {}
        for one in under_way:
            heard.setdefault(one.dst, {})[port[one.dst][one.src]] = one.content
        if not heard:
            step = max(step, waiting[0][0])
        due = set(heard)
        while waiting and waiting[0][0] <= step:
            when, v = heappop(waiting)
            if alarm[v] == when:
                due.add(v)
        # 3. Their turns, and whether the machine can carry what they send.
        sent: list[Utterance] = []
        for v in sorted(due):
            received = heard.get(v, {})
            turn = take_turn(think, state[v], step + clock[v], received)
            state[v] = turn.state
            _set_alarm(alarm, waiting, v, None if turn.wake is None else turn.wake - clock[v])
            _check_turn(nodes[v], places[v], received, turn.sends, away)
            sent += [
                Utterance(step, v, places[v].parent if to == UP else places[v].children[to], content)
                for to, content in turn.sends.items()
            ]
        _check_step(sent, nodes)
        sends += sent
        under_way = sent
        step += 1
    return Conversation(tuple(sends))


def _set_alarm(alarm: list[int | None], waiting: list[tuple[int, int]], v: int, when: int | None) -> None:
    # an alarm that is set anew leaves the old one in the heap, which is passed over when it comes up
    if when is not None and alarm[v] != when:
        heappush(waiting, (when, v))
    alarm[v] = when


def _check_turn(
    node: Local, place: NodePlace, heard: dict[int, Content], outgoing: dict[int, Content], away: bool
) -> None:
    """Check that a node sends to neighbours, over as many ports as it has, and keeps no data that it has to pass on."""
    # 1. Neighbours and ports.
    for to in outgoing:
        if not (to == UP and place.parent >= 0) and not 0 <= to < len(place.children):
            raise ProtocolError(f"node {node.name} speaks to a neighbour that it does not have")
    if node.one_port and len(outgoing) > 1:
        raise ProtocolError(f"node {node.name} sends {len(outgoing)} flits in one step by its one port")
    # 2. Data that came and is for others goes on at once, and nothing else does but a node's own.
    received = {(f.owner, f.place) for f in heard.values() if isinstance(f, Flit)}
    passed = [(f.owner, f.place) for f in outgoing.values() if isinstance(f, Flit)]
    # those that end here go no further
    passing = {flit for flit in received if not (flit[0] == node.name if away else node.root)}
    # those that begin here
    own = {flit for flit in passed if (node.root if away else flit[0] == node.name)}
    if len(set(passed)) < len(passed) or set(passed) - own != passing:
        raise ProtocolError(f"node {node.name} must send on the flits that came, and no others")


def _check_step(sent: Sequence[Utterance], nodes: Sequence[Local]) -> None:
    """Check that no node with one port is sent two flits in a step."""
    hearing = [one.dst for one in sent if nodes[one.dst].one_port]
    if len(set(hearing)) < len(hearing):
        twice = next(v for v in hearing if hearing.count(v) > 1)
        raise ProtocolError(f"node {nodes[twice].name} is sent two flits in one step by its one port")
