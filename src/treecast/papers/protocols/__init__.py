"""Scatters and gathers without buffers, and gossip on hypercubes, as protocols: nodes know only their neighbours and messages.

Communication model: bufferless, over one port or many (Bhatt, Pucci, Ranade & Rosenberg); whispering (Chau & Fu). A schedule
says which node sends which flits in which step. Here no node has a schedule: each is a state machine that receives, remembers and
sends. Run together the machines must send exactly the rows of the schedule, step by step.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from treecast.collectives import Lengths
from treecast.description import Description, describe
from treecast.errors import PlanError
from treecast.papers.protocols.algorithms import certify, farthest_first, in_phases, shoulder_tap
from treecast.papers.protocols.synchronous import (
    Certificate,
    Content,
    Conversation,
    Flit,
    Local,
    News,
    NodePlace,
    Order,
    Think,
    Token,
    Utterance,
    WakeUp,
    converse,
)
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.schedule.description import spell_steps
from treecast.schedule.tree_of_rows import first_controls, trees_of_rows

__all__ = [
    "BUILDERS",
    "Certificate",
    "Conformance",
    "Content",
    "Conversation",
    "Flit",
    "News",
    "Order",
    "Token",
    "Utterance",
    "WakeUp",
    "agrees",
    "compare_with_nodes",
    "differences",
    "run_protocol",
]

_MOST_SENDS = 2**22
Send = tuple[int, int, int, tuple[int, int] | None]
"""Step, source, target, and (owner, place) of a flit of data; None for a control flit."""
_KINDS = ("wakeup", "token", "certificate", "order")
_SHOWN = 5  # sends of each kind that are missing, or too many


@dataclass(frozen=True)
class Conformance:
    """The sends of the nodes; those of the schedule that are ``missing``, and those that are ``more`` than it has."""

    schedule: Schedule
    conversation: Conversation
    missing: list[Send]
    more: list[Send]

    @property
    def holds(self) -> bool:
        """Whether the sends of the nodes are those of the schedule."""
        return not self.missing and not self.more


def run_protocol(schedule: Schedule) -> Conversation:
    """Let every node run the protocol of a scatterv or gatherv, or of a broadcast or gossip on a hypercube; return their sends.

    The protocol gets from the schedule the tree with the order of siblings, the lengths, the model and the algorithm (the
    builder, and whether certificates are collected in slots or by a walk). It gets no steps: the nodes find them. On a hypercube
    it gets the dimension of each unit of time, and whether one node begins.
    Raises PlanError when no protocol is known for the schedule, or when it has too many sends to keep each of them.
    """
    lengths, by = schedule.collective.lengths, schedule.builder
    known = by in (_IN_PHASES if lengths is None else _BY_BUILDER)
    if not known or (lengths is None and schedule.model.ports != "one"):
        raise PlanError(
            f"there is no protocol of {schedule.collective.kind} by {by or 'an unknown builder'} under {schedule.model.name}; "
            f"there is of {', '.join(_BY_BUILDER)}, and under whispering of {', '.join(_IN_PHASES)}"
        )
    if schedule.transmissions > _MOST_SENDS:
        raise PlanError(f"{schedule.transmissions:,} sends are too many for state machines: at most {_MOST_SENDS:,}")
    return _gossip(schedule) if lengths is None else _without_buffers(schedule, lengths)


def _gossip(schedule: Schedule) -> Conversation:
    """Let the nodes of a hypercube send over one dimension after the other: all begin, or the initiator, or the root."""
    network, rows, steps = schedule.network, schedule.rows, schedule.steps
    # all rows of a step go over the same dimension
    units = np.zeros(steps, np.int64)
    units[rows.step] = rows.port
    first, every = schedule.initiator, schedule.collective.all_source
    # with an initiator half of the steps tell all, and the others gossip
    think = partial(in_phases, units=units.tolist(), gossip=0 if first is None else steps // 2)
    begins = (
        set(range(network.nodes)) if every and first is None else {schedule.collective.root if first is None else first}
    )
    nodes = [Local(v, v in begins, network.ports, 1, True) for v in range(network.nodes)]
    return converse(think, [NodePlace(-1, tuple(network.neighbors(v))) for v in range(network.nodes)], nodes, True)


def _without_buffers(schedule: Schedule, lengths: Lengths) -> Conversation:
    away, root = schedule.collective.direction == "from", schedule.collective.root
    parent, token = _parents(schedule)
    places = _places(schedule, parent, token)
    # in slots the second is asked in the step behind the first, or with it
    think = _BY_BUILDER[schedule.builder]
    if think is certify:  # in a walk a second child is asked only when the first has answered
        pairs = [place.children[:2] for place in places if len(place.children) > 1]
        think = partial(certify, walk=any(token[second] > token[first] + 1 for first, second in pairs))
    data = _data_of_root(places, parent, lengths, root) if away else ()
    own: list[int] = [0] * len(places) if away else lengths.flits.tolist()
    one_port = schedule.model.ports == "one"
    nodes = [
        Local(v, v == root, len(place.children), flits, one_port, data if v == root else ())
        for v, (place, flits) in enumerate(zip(places, own, strict=True))
    ]
    if think is shoulder_tap and any(node.children > 1 for node in nodes):
        raise PlanError("shoulder-tap needs a path, but these rows do not form one")
    return converse(think, places, nodes, away)


def agrees(schedule: Schedule) -> bool:
    """Return whether the nodes, each on its own, send exactly the rows of the schedule: when, to whom, and which flit.

    Parameters
    ----------
    schedule : Schedule
        A scatterv or gatherv by a builder that has a protocol; or a broadcast or allgather on a hypercube under whispering, by
        dimension-order or four-phases.

    Returns
    -------
    bool

    Raises
    ------
    PlanError
        When there is no protocol for it, or there are too many sends.

    Examples
    --------
    >>> import treecast
    >>> treecast.agrees(treecast.plan("gatherv", "tree:2,3", lengths=4))
    True
    >>> treecast.agrees(treecast.plan("allgather", "hypercube:4", model="whispering", survive=3))
    True
    """
    return compare_with_nodes(schedule).holds


def compare_with_nodes(schedule: Schedule) -> Conformance:
    """Run the protocol of a schedule and compare the sends of the nodes with its rows. Raises as ``run_protocol`` does."""
    conversation = run_protocol(schedule)
    return Conformance(schedule, conversation, *differences(schedule, conversation))


def differences(schedule: Schedule, conversation: Conversation) -> tuple[list[Send], list[Send]]:
    """Return the sends of the schedule that no node makes, and the sends of nodes that the schedule does not have."""
    planned, sent = Counter(_planned_sends(schedule)), Counter(_sends_of(schedule, conversation))
    return sorted((planned - sent).elements(), key=str), sorted((sent - planned).elements(), key=str)


_BY_BUILDER: dict[str, Think] = {
    "farthest-first": farthest_first,
    "shoulder-tap": shoulder_tap,
    "transmission-certificate": certify,
}


_IN_PHASES = ("dimension-order", "four-phases")
BUILDERS = (*_BY_BUILDER, *_IN_PHASES)
"""The builders whose plans the nodes find by a protocol, the last ones under whispering."""


def _sends_of(schedule: Schedule, conversation: Conversation) -> Iterator[Send]:
    """Yield each flit that is said; of gossip each chunk of the messages of all owners."""
    collective = schedule.collective
    for sent in conversation.sends:
        content, found = sent.content, [None]
        if isinstance(content, News):
            owners = content.owners if collective.all_source else [0]
            found = product(owners, range(collective.messages))
        elif isinstance(content, Flit):
            found = [(content.owner, content.place)]
        yield from ((sent.step, sent.src, sent.dst, flit) for flit in found)


def _planned_sends(schedule: Schedule) -> list[Send]:
    rows = schedule.rows.take(schedule.speaking)
    control = (column[rows.control].tolist() for column in (rows.step, rows.src, rows.dst))
    found: list[Send] = [(step, src, dst, None) for step, src, dst in zip(*control, strict=True)]
    for sends in replace(schedule, rows=rows).expand():
        columns = sends.src, sends.dst, *schedule.collective.place_of(sends.chunk)
        for src, dst, owner, place in zip(*(column.tolist() for column in columns), strict=True):
            found.append((sends.step, src, dst, (owner, place)))
    return found


def _parents(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return the node from which each node hears first, -1 for none, and in which step."""
    rows, root = schedule.rows, schedule.collective.root
    if schedule.collective.direction == "to":
        parent, row = first_controls(schedule)
    else:
        found = trees_of_rows(rows.src, rows.dst, schedule.network.nodes)
        parent, row = found.parent[0].astype(np.int64), found.row[0]
        parent[root] = -1
    step, heard = np.full(len(row), -1, np.int64), row >= 0
    step[heard] = rows.step[row[heard]]
    return parent, step


def _places(schedule: Schedule, parent: Ints, token: Ints) -> list[NodePlace]:
    """Return every node's neighbours in the tree; children in the order in which they are asked, then of their streams."""
    rows, nodes = schedule.rows, schedule.network.nodes
    begins = np.full(nodes, np.iinfo(np.int64).max)
    carried = np.flatnonzero(~rows.control)
    np.minimum.at(begins, rows.src[carried], rows.payloads.chunk(rows.payload[carried], 0))
    children: list[list[int]] = [[] for _ in range(nodes)]
    for v in np.lexsort((begins, token)).tolist():
        if parent[v] >= 0:
            children[parent[v]].append(v)
    return [NodePlace(above, tuple(below)) for above, below in zip(parent.tolist(), children, strict=True)]


def _data_of_root(
    places: list[NodePlace], parent: Ints, lengths: Lengths, root: int
) -> tuple[tuple[int, tuple[int, ...], int], ...]:
    """Return the message of a scatter's root for each node: whose it is, by which children it goes, how long it is."""
    found: list[tuple[int, tuple[int, ...], int]] = []
    for v in lengths.sequence.tolist():
        if lengths.flits[v]:
            route, at = list[int](), v
            while at != root:
                above = int(parent[at])
                # a way longer than there are nodes goes round in a circle
                if above < 0 or len(route) > len(places):
                    raise PlanError(f"the rows form no tree: node {v} is not reached from the root")
                route.append(places[above].children.index(at))
                at = above
            found.append((v, tuple(reversed(route)), int(lengths.flits[v])))
    return tuple(found)


@describe.register
def _(found: Conformance) -> Description:
    conversation, kinds = found.conversation, Counter(one.kind for one in found.conversation.sends)
    figures = {
        "protocol": found.schedule.builder,
        "steps": conversation.steps,
        "data": conversation.flits,
        "control": conversation.control,
        "kinds": kinds,
        "not_said": len(found.missing),
        "not_planned": len(found.more),
    }
    verdict = "the sends of the schedule, one by one"
    if not found.holds:
        verdict = f"NOT the sends of the schedule: {len(found.missing):,} not said, {len(found.more):,} not planned"
    control = ", ".join(f"{kinds[kind]:,} {kind}s" for kind in _KINDS if kinds[kind])
    lines = {
        "nodes say": verdict,
        "protocol": found.schedule.builder,
        "steps": spell_steps(found.schedule, conversation.steps),
        "data": f"{conversation.flits:,} {'flits sent' if found.schedule.collective.lengths else 'messages of nodes sent'}",
        "control": f"{conversation.control:,} flits sent" + (f": {control}" if control else ""),
    }
    label = found.schedule.network.label
    notes = list[str]()
    for title, sends in (("not said", found.missing), ("not planned", found.more)):
        for step, src, dst, flit in sends[:_SHOWN]:
            content = "a control flit" if flit is None else f"flit {flit[1]} of {label(flit[0])}"
            notes.append(f"{title}: {content}, step {step}, {label(src)} to {label(dst)}")
    return Description(figures, lines, notes=notes, holds=found.holds)
