"""A synchronous network of nodes that each run a protocol: messages of a step are received in the next.

Communication model: bufferless, over one port or many; a send that breaks it raises ProtocolError. No two nodes have the same
clock, so a node knows no more of the time than it has counted itself.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from treecast.errors import ProtocolError
from treecast.protocols.node import UP, Content, Flit, Local, State, Think, take_turn

_SHOWN = 15  # sends that are printed


class Utterance(NamedTuple):
    """One flit that a node sent to another in a step."""

    step: int
    src: int
    dst: int
    content: Content

    @property
    def kind(self) -> str:
        """``flit``, ``wakeup``, ``token``, ``certificate`` or ``order``."""
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
        return sum(isinstance(one.content, Flit) for one in self.sends)

    @property
    def control(self) -> int:
        """How many control flits were sent."""
        return len(self.sends) - self.flits


class Place(NamedTuple):
    """A node in the tree, as only the network knows it: its parent (-1: none), and its children in its own order."""

    parent: int
    children: tuple[int, ...]


def converse(think: Think, places: Sequence[Place], nodes: Sequence[Local], away: bool) -> Conversation:
    """Let all nodes run a protocol until nobody has anything to send; ``away``: data flows away from the root.

    Raises ProtocolError when a node sends more than the machine can carry.
    """
    port = [{child: name for name, child in enumerate(place.children)} | {place.parent: UP} for place in places]
    state = [State(local) for local in nodes]
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
    if when is not None and alarm[v] != when:
        heappush(waiting, (when, v))
    alarm[v] = when


def _check_turn(node: Local, place: Place, heard: dict[int, Content], outgoing: dict[int, Content], away: bool) -> None:
    """Check that a node sends to neighbours, over as many ports as it has, and keeps no data that it has to pass on."""
    for to in outgoing:
        if not (to == UP and place.parent >= 0) and not 0 <= to < len(place.children):
            raise ProtocolError(f"node {node.name} speaks to a neighbour that it does not have")
    if node.one_port and len(outgoing) > 1:
        raise ProtocolError(f"node {node.name} sends {len(outgoing)} flits in one step by its one port")
    received = {(f.owner, f.place) for f in heard.values() if isinstance(f, Flit)}
    passed = [(f.owner, f.place) for f in outgoing.values() if isinstance(f, Flit)]
    passing = {flit for flit in received if not (flit[0] == node.name if away else node.root)}
    own = {flit for flit in passed if (node.root if away else flit[0] == node.name)}
    if len(set(passed)) < len(passed) or set(passed) - own != passing:
        raise ProtocolError(f"node {node.name} must send on the flits that came, and no others")


def _check_step(sent: Sequence[Utterance], nodes: Sequence[Local]) -> None:
    """Check that no node with one port is sent two flits in a step."""
    hearing = [one.dst for one in sent if nodes[one.dst].one_port]
    if len(set(hearing)) < len(hearing):
        twice = next(v for v in hearing if hearing.count(v) > 1)
        raise ProtocolError(f"node {nodes[twice].name} is sent two flits in one step by its one port")
