"""Scatter, allgather and alltoall over one port on complete networks: one send after the other, to the target or a relay.

Communication model: store-and-forward, one-port, full duplex; where messages combine, a block is one message.

The sends that ``direct`` does over all ports at once are done in turns. A row of an orbit is a shift of all nodes by as many
labels. So in a step of one row each node sends once and receives once, and R rows take R turns, in any order in which relays
have the chunks that they send.

Where messages combine, rows of one shift go together, and a few shifts twice, for the messages that relays get after the first
time: x - 1 of N - 1 in an alltoall in x copies, x in an allgather.

*In pairs*: with half duplex every two nodes meet once, as in a tournament. Of N nodes, N odd, those meet in turn t whose numbers
add up to t modulo N, and one is left out. With one node more, it meets the one that is left out. In a turn both of a pair send
their M chunks, one after the other.
"""

from typing import Any

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each, of_unequal_lengths, one_to_each
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_of_blocks
from treecast.plans.lengths import lengths_of
from treecast.plans.registry import builder, every_port
from treecast.plans.whole.all_port.relays import by_relays
from treecast.plans.whole.one_port.models import COMBINING_HALF, EITHER, HALF, check_rows, turn
from treecast.schedule import Claims

_TURNS: dict[str, Any] = {"on": Complete, "under": EITHER, "most_copies": every_port}
_WITH_HALVES: dict[str, Any] = _TURNS | {"under": (*EITHER, *HALF)}


def _claims_of_scatter(job: Job[Complete]) -> Claims:
    others, copies = job.network.nodes - 1, job.copies
    turns = len(_turns_of_scatter(job)[0]) if others == 2 else copies * others
    turns = others + copies - 1 if _together(job) else turns
    return Claims(turn(job) * turns, job.collective.messages * (2 * copies - 1) * others)


def _together(job: Job[Complete]) -> bool:
    """Return whether the root sends all that goes to a node, or by way of it, together: to one after the other, once each.

    With three copies or more a relay passes some on while the root has more for it, so no node may be bound to one partner.
    """
    fits = 1 < job.copies <= job.network.nodes // 2 and not (job.copies > 2 and _bound(job))
    return job.model.combining and not job.model.half_port and fits


def _bound(job: Job[Complete]) -> bool:
    """Return whether a node has one partner in a step, as it has with half duplex."""
    return job.model.normal.partner == "same"


@builder(
    "direct",
    one_to_each,
    claims=_claims_of_scatter,
    summary="to one target after the other; more copies by way of relays",
    **_WITH_HALVES,
)
def scatter(job: Job[Complete]) -> Built:
    """One-port: x - 1 copies of each block to a relay each, then one to its target itself: M x (N - 1) steps, the fewest.

    M (2x - 1) (N - 1) transmissions. A relay passes a chunk on in the turn after it came. Relays of way w are w labels beyond
    the target. The same holds for half duplex, and for one partner in a step; there three nodes take 6M steps with two copies,
    as each send keeps two of them busy. Where messages combine, N + x - 2 steps, for x up to N/2: a relay passes copies on to
    one target after the other.
    """
    others = job.network.nodes - 1
    when, way, target = _turns_of_scatter(job)
    when, way, target = when[way >= 0], way[way >= 0], target[way >= 0]
    relay, more, late = (target + way) % max(others, 1), np.flatnonzero(way), np.ones_like(way)
    if _together(job):
        when, late = relay, way  # a node hears the copies of way w 2w - 1 steps after the root's, so no two at once
    start = when * turn(job)
    step = np.concatenate([start, start[more] + late[more] * turn(job)])
    source = np.concatenate([way * 0, relay[more] + 1])
    ends = np.concatenate([relay, target[more]]) + 1
    block, tree = np.concatenate([target, target[more]]) + 1, np.concatenate([way, way[more]])
    source, ends, block = (job.network.translate(job.collective.root, u) for u in (source, ends, block))
    return Built(rows_of_blocks(job, step, source, ends, block, tree=tree), _claims_of_scatter(job))


def _turns_of_scatter(job: Job[Complete]) -> tuple[Ints, Ints, Ints]:
    """Return the number, way and target, counted from 0, of each turn of the root; way -1 where it waits.

    The last way is direct. To whom the root sends is neither the relay nor the target of the turn before, which are busy with
    each other. A way goes through the targets upwards, or downwards where its relays would be in the way.
    """
    others, copies = job.network.nodes - 1, job.copies
    if (others, copies) == (2, 2):  # too few nodes for that
        way, target = ([1, -1, 1, -1, 0, 0], [0, 0, 1, 1, 1, 0]) if _bound(job) else ([1, 0, 1, 0], [0, 1, 1, 0])
        return np.arange(len(way)), np.array(way), np.array(target)
    place, ways, busy = np.arange(others), list[Ints](), set[int]()
    for way in range(copies - 1, -1, -1) if others else ():
        step = -1 if way and (way + 1) % others == 0 else 1
        first = next(target for target in range(others) if (target + way) % others not in busy)
        ways.append((first + step * place) % others)
        busy = {int(ways[-1][-1]), int(ways[-1][-1] + way) % others} if way else busy
    target = np.concatenate([place[:0], *ways])
    return np.arange(len(target)), np.repeat(np.arange(copies)[::-1], others), target


def _claims_of_allgather(job: Job[Complete]) -> Claims:
    nodes = job.network.nodes
    return Claims(_steps_of_allgather(job) * turn(job), job.collective.messages * job.copies * (nodes - 1) * nodes)


def _steps_of_allgather(job: Job[Complete]) -> int:
    """Return the number of turns: of all rows, or where messages combine of all shifts and again of the first x."""
    nodes, copies = job.network.nodes, job.copies
    if job.model.combining and copies > 1:
        return nodes - 1 + copies - (nodes == 2 * copies)  # relay x passes nothing on to node 0 again
    return copies * (nodes - 1)


def _allgather(job: Job[Complete]) -> Built:
    """One-port: of x copies tree t leads by way of node t + 1 to all others; one copy goes to each node itself. An orbit.

    M x (N - 1) steps and M x (N - 1) N transmissions, the fewest there can be. With one copy dead nodes hurt nobody else. Where
    messages combine, N + x - 1 steps of more copies.
    """
    when, source, target, tree = _turns_of_allgather(job)
    step = when * turn(job)
    return Built(rows_of_blocks(job, step, source, target, source * 0, tree=tree), _claims_of_allgather(job))


def _turns_of_allgather(job: Job[Complete]) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the turn, source, target and tree of each row, for the block of node 0."""
    others = np.arange(1, job.network.nodes)
    tree, place = (index.ravel() for index in np.indices((job.copies, len(others))))
    source, target = place * 0, others[place]
    if job.copies > 1:  # first to the relay, and from there to all others in order
        source, target = np.where(place, tree + 1, 0), np.where(place, others[place - (place <= tree)], tree + 1)
    when, shift = np.arange(len(source)), (target - source) % job.network.nodes
    if job.model.combining and job.copies > 1:
        when = _turns_of_shifts(shift, np.where(source > 0, tree, -1), len(others) + shift - 1)
    return when, source, target, tree


def _turns_of_shifts(shift: Ints, heard: Ints, again: Ints) -> Ints:
    """Return the turn of each row where shifts go from the least on: if the relay has ``heard`` by then, else ``again``."""
    return np.where(shift - 1 > heard, shift - 1, again)


def _claims_of_allgatherv(job: Job[Complete]) -> Claims:
    sends, lengths = job.copies * (job.network.nodes - 1), lengths_of(job.collective)
    turns = int(lengths.flits.max()) if lengths.total and not job.model.combining else int(lengths.total > 0)
    return Claims(_steps_of_allgather(job) * turns, sends * lengths.total)


@builder(
    "direct",
    of_unequal_lengths(all_to_all),
    orbit=False,
    summary="to the node k labels on in turn k, without relays; of x copies, each by way of one relay",
    **_TURNS,
)
def allgatherv(job: Job[Complete]) -> Built:
    """One-port: the turns of an allgather, where a turn takes as long as the longest block.

    (N - 1) x times the longest block: the fewest steps without relays, as who has it sends it to all. Where messages combine, as
    many as an allgather. x Σ length (N - 1) transmissions, the fewest.
    """
    network, lengths = job.network, lengths_of(job.collective)
    when, source, target, tree = _turns_of_allgather(job)
    check_rows(len(source), network.nodes, network)
    node = np.flatnonzero(lengths.flits)[:, None]
    step = when * (1 if job.model.combining else int(lengths.flits.max()))
    found = np.broadcast_arrays(step, network.translate(node, source), network.translate(node, target), tree, node)
    step, source, target, tree, block = (column.ravel() for column in found)
    return Built(rows_of_blocks(job, step, source, target, block, tree=tree), _claims_of_allgatherv(job))


def _claims_of_alltoall(job: Job[Complete]) -> Claims:
    nodes, copies = job.network.nodes, job.copies
    sends = (2 * copies - 1) * (nodes - 1)
    turns = nodes + copies - 2 + (2 * copies > nodes) if job.model.combining and copies > 1 else sends
    return Claims(turn(job) * turns, job.collective.messages * sends * nodes)


def _alltoall(job: Job[Complete]) -> Built:
    """One-port: one way goes to the target itself, the others by way of a relay each, w labels beyond the target. An orbit.

    M (2x - 1) (N - 1) steps and M (2x - 1) (N - 1) N transmissions, the fewest there can be. Where messages combine, N + x - 2
    steps of more copies, and one more where x is above N/2.
    """
    tree, source, target, block = by_relays(job.network.nodes, job.copies)
    when, shift = np.arange(len(source)), (target - source) % job.network.nodes
    if job.model.combining and job.copies > 1:
        when = _turns_of_shifts(shift, source - 1, 2 * (job.network.nodes - 1) - shift)
    return Built(rows_of_blocks(job, when * turn(job), source, target, block, tree=tree), _claims_of_alltoall(job))


def _claims_of_all(job: Job[Complete]) -> Claims:
    return (_claims_of_alltoall if job.collective.personal else _claims_of_allgather)(job)


@builder(
    "direct",
    all_to_all,
    each_to_each,
    claims=_claims_of_all,
    summary="to the node k labels on in turn k; more copies by way of relays",
    **_TURNS,
)
def together(job: Job[Complete]) -> Built:
    """One-port: an allgather or an alltoall, in the fewest steps there can be."""
    return _alltoall(job) if job.collective.personal else _allgather(job)


def _claims_in_pairs(job: Job[Complete]) -> Claims:
    nodes, messages = job.network.nodes, job.collective.messages
    turns = nodes - 1 + nodes % 2 if nodes > 1 else 0
    return Claims(2 * turns * turn(job), messages * nodes * (nodes - 1))


@builder(
    "direct",
    all_to_all,
    each_to_each,
    on=Complete,
    under=(*HALF, *COMBINING_HALF),
    claims=_claims_in_pairs,
    summary="every two nodes meet once, as in a tournament, and each sends the other its block",
    orbit=False,
)
def in_pairs(job: Job[Complete]) -> Built:
    """One-port, half duplex: 2M(N - 1) steps for even N and 2MN for odd N, the fewest there can be; M N (N - 1) transmissions.

    Where messages combine, as many as for M = 1; these are not the fewest.
    """
    nodes = job.network.nodes
    check_rows(nodes, nodes - 1, job.network)
    meeting, low, high = _meetings(nodes)
    step = np.concatenate([2 * meeting, 2 * meeting + 1]) * turn(job)
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    block = source * nodes + target if job.collective.personal else source
    return Built(rows_of_blocks(job, step, source, target, block, tree=0), _claims_in_pairs(job))


def _meetings(nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return the turn, and the two nodes, of each pair."""
    odd = nodes - 1 + nodes % 2
    low, high = np.triu_indices(nodes, 1)
    turn = np.where(high < odd, low + high, 2 * low) % max(odd, 1)
    return turn, low, high
