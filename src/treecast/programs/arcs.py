"""Rules ``adjacent`` and ``link-once``: whether the links of a network can carry the messages of a program."""

from typing import Any

import numpy as np

from treecast.errors import TreecastError
from treecast.networks import Network
from treecast.networks import network as network_of
from treecast.networks.arcs import arcs_of
from treecast.programs.verdict import Findings, Where
from treecast.ragged import Ints


def find_network(named: "str | Network | None", ranks: int) -> Network:
    """Return the network of some ranks, by default a complete one. Raises TreecastError when it has not a node for each."""
    found = network_of(f"complete:{ranks}" if named is None else named)
    if found.nodes != ranks:
        raise TreecastError(
            f"{found.spec} has {found.nodes:,} nodes, and the file {ranks:,} ranks: name a network of as many"
        )
    return found


def judge_arcs(
    found: Findings,
    network: Network,
    sends: Ints,
    ends: tuple[Ints, Ints],
    where: Where,
    *,
    when: tuple[Ints, Ints] | None = None,
) -> None:
    """Judge ``adjacent``, and ``link-once`` where it is told ``when``: messages that begin while their arc carries all it can.

    ``sends`` are the operations that send, an entry for each message, ``ends`` whence and whither, and ``where`` tells their
    places in the file. ``when``: after how many steps each begins, and how many it takes.
    """
    src, dst = ends
    room = widths(network, src, dst)
    away = np.flatnonzero(room == 0)
    to = dict(zip(sends[away].tolist(), dst[away].tolist(), strict=True))
    found.these("adjacent", sends[away], lambda one: f"no link leads from there to {to[one]}", where)
    if when is None:
        return
    key, room = src * network.nodes + dst, np.where(room, room, len(sends))
    turn = np.lexsort([sends, when[0], key])
    busy, late = dict[int, list[int]](), list[int]()
    columns = [column[turn].tolist() for column in (sends, key, *when, room)]
    for one, arc, begin, units, most in zip(*columns, strict=True):
        under_way = [end for end in busy.get(arc, ()) if end > begin]
        if len(under_way) >= most:
            late.append(one)
        busy[arc] = [*under_way, begin + units]
    found.these("link-once", np.array(late, np.int64), lambda _: "its arc carries another message then", where)


def widths(network: Network, src: Ints, dst: Ints) -> Ints:
    """Return how many arcs lead from each node to the other: int64 (pairs,), more than one where they are parallel."""
    if network.every_pair_joined:
        return np.ones_like(src)
    arcs, key = arcs_of(network), src * network.nodes + dst
    known, width = np.unique(arcs.tail.astype(np.int64) * network.nodes + arcs.head, return_counts=True)
    place = np.minimum(np.searchsorted(known, key), len(known) - 1)
    return np.where(known[place] == key, width[place], 0)


def figures_of(ranks: int, ends: tuple[Ints, Ints], units: Ints) -> dict[str, Any]:
    """Return the figures of a verdict that count messages, of which each has so many ``units``, and the arc with most."""
    arcs, which = np.unique(ends[0] * ranks + ends[1], return_inverse=True)
    load = np.bincount(which, weights=units).astype(np.int64)
    arc = divmod(int(arcs[load.argmax()]), ranks) if len(arcs) else (-1, -1)
    return {"messages": len(units), "busiest": int(load.max(initial=0)), "busiest_arc": arc}
