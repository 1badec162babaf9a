"""A broadcast and an allgather over one port from each node to the next, along a path or a cycle through all nodes.

Communication model: store-and-forward, one-port, full or half duplex, one message of fixed length per arc and step.

A node of a tree tells its children one after the other. So a long message takes as many steps a chunk as the busiest node has
children: along a Hamiltonian path one, with a row for each arc however long the message is. Where a node sends or receives, or
has one partner in a step, the chunks follow each other two steps apart. Along a Hamiltonian cycle each node sends on the chunk it
got last, and hears something new in every step. With half duplex, and an even number of nodes, every other one sends in turn.

A path is looked for by going on to the node with the fewest ways on (Warnsdorff 1823). Where none is left, the end of the path is
turned round (Pósa 1976), or it begins anew.
"""

from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.traits import all_to_all, one_to_all
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.plans.built import Built, Job, rows_between, rows_of_blocks
from treecast.plans.registry import any_machine
from treecast.plans.search import WORK
from treecast.schedule import Claims, Payloads, Rows
from treecast.steps import NEVER
from treecast.takes import takes

_MOST_NODES, _MOST_IN_CYCLE = 2**11, 2**10
_LOOK = 2**10  # units of work for an arc that a search looks at


def _fits(job: Job[Network]) -> str:
    network, model = job.network, job.model
    if model.ports != "one" or model.combining or network.past_routes is not None:
        return "is for one port, where a message is one chunk, and arcs share no channel"
    if network.relays is not None or network.nodes > _MOST_NODES or network.rank_count < 2:
        return f"is for 2 to {_MOST_NODES:,} nodes, none of them a relay"
    return "" if path_through_all(network, job.collective.root) else "finds no path through all nodes"


def _claims(job: Job[Network]) -> Claims:
    others, messages = job.network.nodes - 1, job.collective.messages
    return Claims((others - 1) * _late(job) + job.model.latency + (messages - 1) * _pace(job), messages * others)


def _pace(job: Job[Network]) -> int:
    """Return how many steps the chunks follow one another by: one where a node sends while it receives, else two."""
    return 1 + (job.model.half_port or job.model.partner == "same")


def _late(job: Job[Network]) -> int:
    """Return how many steps after a node the next one sends: when a chunk is there, and not while the node hears another."""
    return job.model.latency + (_pace(job) == 2 and job.model.latency % 2 == 0)


@any_machine(
    "hamiltonian",
    one_to_all,
    fits=_fits,
    alike=True,
    claims=_claims,
    summary="from each node to the next along a path through all nodes: long messages, in few rows",
)
def hamiltonian_path(job: Job[Network]) -> Built:
    """One-port: M + N - 2 steps, of half duplex or with one partner 2 M + N - 3; with a latency L instead of 1, (L - 1)(N - 1)
    more, or as many as the parity of half duplex adds; M (N - 1) transmissions.

    At most N - 1 - ⌈log2 N⌉ above the bound of one port, however many messages.
    """
    path = np.array(path_through_all(job.network, job.collective.root), np.int64)
    messages, place = job.collective.messages, np.arange(len(path) - 1)
    table, steps = Payloads.of_ranges([0], [messages]), (messages - 1) * _pace(job) + 1
    rows = rows_between(job.network, table, place * _late(job), path[:-1], path[1:], steps=steps, tree=0, payload=0)
    return Built(rows, _claims(job))


def _fits_cycle(job: Job[Network]) -> str:
    network, model = job.network, job.model
    past = network.past_routes is not None and network.relays is None and not model.combining
    if past and 1 < network.nodes <= _MOST_IN_CYCLE:
        return "" if len(_cycle_past_relays(network, model)) else "finds no cycle of routes that share no link"
    if model.ports != "one" or model.combining:
        return "is for one port, where a message is one chunk"
    if network.relays is not None or not 3 <= network.nodes <= _MOST_IN_CYCLE:
        return f"is for 3 to {_MOST_IN_CYCLE:,} nodes, none of them a relay"
    if _pace(job) == 2 and network.nodes % 2:
        return "is for an even number of nodes, of which every other one sends"
    return "" if path_through_all(network, 0, closed=True) else "finds no cycle through all nodes"


def _claims_of_cycle(job: Job[Network]) -> Claims:
    others, messages, half = job.network.nodes - 1, job.collective.messages, _pace(job) - 1
    turns = ((1 + half) * (others - 1) + half) * max(messages, job.model.latency)
    return Claims(turns + messages + job.model.latency - 1, messages * others * job.network.nodes)


@any_machine(
    "hamiltonian",
    all_to_all,
    fits=_fits_cycle,
    alike=True,
    claims=_claims_of_cycle,
    summary="each node sends on the chunk it got last, around a cycle through all nodes",
)
def hamiltonian_cycle(job: Job[Network]) -> Built:
    """One-port, and over routes past relays: M (N - 1) steps, over one port the fewest; of half
    duplex, or with one partner, 2 M (N - 1).

    M N (N - 1) transmissions, the fewest.
    """
    network, nodes, arcs = job.network, job.network.nodes, arcs_of(job.network)
    messages, half = job.collective.messages, _pace(job) - 1
    if network.past_routes is None:
        cycle = np.array(path_through_all(network, 0, closed=True))
        port = network.port_between(cycle, np.roll(cycle, -1))
    else:
        around = _cycle_past_relays(network, job.model)
        cycle, port = arcs.tail[around].astype(np.int64), arcs.port[around]
    place, turn = (each.ravel() for each in np.indices((nodes, nodes - 1)))
    src, dst = cycle[place], cycle[(place + 1) % nodes]
    step = ((1 + half) * turn + half * (place % 2)) * max(messages, job.model.latency)
    rows = rows_of_blocks(job, step, src, dst, cycle[(place - turn) % nodes])
    by = np.empty(nodes, np.int64)
    by[cycle] = port
    rows = Rows.of_any_steps(rows.payloads, **(rows.columns() | {"port": by[rows.src]}))
    return Built(rows, _claims_of_cycle(job))


@kept(16)
def _cycle_past_relays(network: Network, machine: Model) -> Ints:
    """Return the arcs of a cycle through all nodes that a machine can keep busy at once, int64; none where none is found.

    The nodes come in the order of their numbers, or each is one of the nearest to the one before.
    """
    arcs, wanted = arcs_of(network), takes(machine, network)
    far = np.full((network.nodes, network.nodes), NEVER)
    if network.past_routes is not None:
        length = np.count_nonzero(network.past_routes.channel >= 0, axis=1)
        np.minimum.at(far, (arcs.tail, arcs.head), length)
    near = [0]
    while len(near) < network.nodes:
        away = far[near[-1]].copy()
        away[near] = NEVER
        if away.min() >= NEVER:  # where arcs lead one way, no route may lead from here to a node that is left
            break
        near.append(int(away.argmin()))
    orders = [list(range(network.nodes)), near] if len(near) == network.nodes else [list(range(network.nodes))]
    for order in orders:
        load, found = np.zeros(wanted.resources, np.int64), list[int]()
        for u, v in pairwise([*order, order[0]]):
            for a in range(int(arcs.first[u]), int(arcs.first[u + 1])):
                taken = wanted.resource[a]
                if arcs.head[a] == v and (load[taken] < wanted.room[taken]).all():
                    np.add.at(load, taken, 1)
                    found.append(a)
                    break
        if len(found) == network.nodes:
            return np.array(found, np.int64)
    return np.zeros(0, np.int64)


@kept(64)
def path_through_all(network: Network, root: int, *, closed: bool = False) -> tuple[int, ...]:
    """Return the nodes of a path from a root through all nodes; empty where none is found, which is no proof.

    ``closed``: an arc leads from its end back to the root.

    >>> from treecast.networks import network
    >>> path_through_all(network("mesh:2x3"), 0)
    (0, 3, 4, 1, 2, 5)
    """
    arcs, nodes, work = arcs_of(network), network.nodes, 0

    def sets(first: Ints, ends: NDArray[np.int32]) -> list[list[int]]:
        return [sorted({*ends[a:b].tolist()}) for a, b in pairwise(first.tolist())]

    near, into = sets(arcs.first, arcs.head), sets(arcs.into, arcs.tail[arcs.entering])
    if sum(len(ways) < 2 for v, ways in enumerate(near) if v != root) > 1 - closed and network.both_ways:
        return ()  # it ends where there is no way on
    chance, noise, most = Random(0), -1, min(WORK // _LOOK, nodes**2 << 10)
    while work < most:
        path, place, noise = [root], {root: 0}, (noise + 1) % 4
        left = [len(ways) - (root in ways) for ways in near]  # to how many nodes a node leads that the path lacks
        while work < most:
            work += 1 + len(near[path[-1]])
            free = [v for v in near[path[-1]] if v not in place]
            if free:
                ways_on = [left[v] + (0.01 + noise) * chance.random() for v in free]
                path.append(free[ways_on.index(min(ways_on))])
                place[path[-1]] = len(path) - 1
                for v in into[path[-1]]:
                    left[v] -= 1
            else:  # by an arc back to the path: the nodes behind its end go the other way round
                back = [v for v in near[path[-1]] if v not in path[-2:]] if network.both_ways else []
                if not back:
                    break
                turn = place[chance.choice(back)] + 1
                work += len(path) - turn
                path[turn:] = path[: turn - 1 : -1]
                place.update((v, turn + i) for i, v in enumerate(path[turn:]))
            if len(path) == nodes and (root in near[path[-1]] or not closed):
                return tuple(path)
    return ()
