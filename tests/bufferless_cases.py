"""Small networks of any kind, and plans for nodes without buffers on them, right and wrong ones."""

from dataclasses import replace

import networkx as nx
import numpy as np

from treecast.collectives import COLLECTIVES
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import Rows

MACHINES = ("bufferless", "bufferless-multiport")
KINDS = tuple(COLLECTIVES)


def two_switches(**power):
    """Two switches with two hosts each; ``power``: attributes of the switches."""
    graph = nx.Graph([("s", "t"), ("a", "s"), ("b", "s"), ("c", "t"), ("d", "t")])
    for name in "st":
        graph.nodes[name].update(relay=True, **power)
    return graph


def one_way():
    """A ring of arcs that lead one way, and a chord."""
    return nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)])


NETWORKS = {
    **{spec: spec for spec in ("path:4", "ring:5", "mesh:2x3", "tree:2,2", "complete:4")},
    "two switches": two_switches(),
    "switches that add": two_switches(adds=True),
    "one way": one_way(),
}


def asked(kind, where, size):
    """The words that a kind of collective needs on a network, with blocks of so many chunks."""
    ranks, row = where.ranks.tolist(), COLLECTIVES[kind]
    if row.blocks == "class":
        return [(0, [1], size), (1, [len(ranks) - 1, 0], size)], {}
    if row.targets:
        return kind, {"targets": ranks[-2:], "messages": size}
    if not row.lengths:
        return kind, {"messages": size}
    flits = [size * (1 + 2 * v % 3) if v in ranks else 0 for v in range(where.nodes)]
    if row.blocks == "pair":
        return kind, {
            "lengths": [[flits[v] * (u != v and u in ranks) for v in range(where.nodes)] for u in range(where.nodes)]
        }
    return kind, {"lengths": flits}


def planned(kind, where, machine, size=1):
    """The plan of a kind of collective on a network."""
    where = network(where)
    what, words = asked(kind, where, size)
    return plan(what, where, model=machine, **words)


def changed(schedule, dice):
    """The schedule with a row or two moved in time, or gone: ``dice`` is a generator of numpy."""
    columns, count = schedule.rows.columns(), len(schedule.rows)
    step, kept = columns["step"].astype(np.int64), np.ones(count, np.bool_)
    for row in dice.integers(count, size=dice.integers(1, 3)).tolist():
        if dice.integers(5):
            step[row] = max(0, step[row] + dice.choice([-1, 1, 2]))
        else:
            kept[row] = False
    columns = {name: column[kept] for name, column in (columns | {"step": step}).items()}
    return replace(schedule, rows=Rows.of(schedule.rows.payloads, **columns), claims=None)
