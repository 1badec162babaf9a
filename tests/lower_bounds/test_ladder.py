"""The list of bounds: rows of the table by chance have bounds at once, and nobody climbs higher than needed."""

import sys
from functools import partial
from itertools import product
from types import MappingProxyType

import networkx as nx
import numpy as np
import pytest

from tests.tcp.threads import at_once
from treecast import lower_bounds
from treecast.collectives import COLLECTIVES, Collective, Lengths, collective
from treecast.collectives.kinds import Kind
from treecast.errors import TreecastError
from treecast.lower_bounds import best, bounds, is_least, ladder
from treecast.models import model
from treecast.networks import network

ROWS = [
    Kind("new", blocks, starts, ends, "a new row", lengths=lengths)
    for blocks, starts, ends, lengths in product(
        ("one", "node"), ("root", "own", "every"), ("root", "own", "all", "targets"), (False, True)
    )
    if (starts, ends) not in (("root", "root"), ("own", "own")) and not (blocks == "one" and "own" in (starts, ends))
    if not (blocks == "one" and lengths) and (starts, ends) != ("every", "targets")
]


def named(row):
    return f"{row.blocks}-{row.starts}-{row.ends}{'-lengths' * row.lengths}"


def far(where, held, wanted):
    """How far the farthest chunk is from whoever has it: any contribution, of sums."""
    graph = where.to_networkx()
    ways = dict(nx.all_pairs_shortest_path_length(graph))
    return max(
        (ways[u][v] for u, first, stop in held for v, low, high in wanted if first < high and low < stop), default=0
    )


@pytest.mark.parametrize("machine", ["all-port", "one-port", "one-port,half", "shouting", "whispering"])
@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_new_row_has_bounds_at_once(row, machine, monkeypatch):
    monkeypatch.setattr(collective, "COLLECTIVES", MappingProxyType({**COLLECTIVES, "new": row}))
    for spec in ("hypercube:3", "mesh:3x3", "path:5"):
        where = network(spec)
        lengths = Lengths.of(np.arange(where.nodes) % 3) if row.lengths else None
        targets = (1, where.nodes - 1) if row.targets else ()
        try:
            job = Collective("new", where.nodes, 1 if lengths else 3, targets=targets, lengths=lengths)
        except TreecastError:
            continue  # a row that the table's checks do not let through
        found = bounds(job, where, 1, model(machine))
        wanted, sums = list(job.wanted()), job.sums if job.results else 0
        least = far(where, list(job.given()), [(v, first - sums, stop - sums) for v, first, stop in wanted])
        assert best(found, "steps").value >= least
        assert best(found, "transmissions").value >= 1


def test_nobody_climbs_higher_than_needed(monkeypatch):
    """Steps that doors say are the fewest, or fewer than might be, are judged without prices."""
    asked = list[str]()
    watched = [
        (lambda job, known, rung=rung: asked.append(rung.__name__) or rung(job, known), trait)
        for rung, trait in ladder.LADDER
    ]
    monkeypatch.setattr(ladder, "LADDER", watched)
    where = network(nx.path_graph(6))
    job = Collective.over(where, "scatter", 3)
    assert is_least(15, job, where, model("one-port"))
    assert asked == ["sends", "doors"]
    assert not is_least(16, job, where, model("one-port"))
    assert asked[-1] == "by_windows"


@pytest.fixture
def often_switched():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_several_threads_climb_at_once(often_switched):
    """Each finds all bounds: two that take the same rung at once do not leave the next one out."""
    for spec in ("ring:4", "complete:4", "tree:2,2", "hypercube:3"):
        for name in ("broadcast", "alltoall", "allreduce"):
            where = network(spec)
            job = Collective(name, where.nodes, 3), where, 1, model("all-port")
            alone = bounds(*job)
            lower_bounds._rungs.cache_clear()
            assert at_once([partial(bounds, *job)] * 4) == [alone] * 4
