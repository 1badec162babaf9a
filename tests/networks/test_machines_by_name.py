"""Machines that are known by name, and twisted tori."""

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast.errors import NetworkError
from treecast.networks.machines import machines


def test_what_is_known_of_them() -> None:
    figures = {
        name: (where.rank_count, where.nodes, where.arcs // 2, where.chunk_rate * 8 / 1e9)
        for name in machines()
        if (where := treecast.network(f"machine:{name}")).chunk_rate
    }
    assert figures["mi250x"] == (8, 8, 26, 400)
    assert figures["dgx-1"] == (8, 8, 24, 200)
    assert figures["dgx-a100"] == (8, 14, 48, 400)  # two links of 200 Gbit/s to each switch
    assert figures["dgx-h100"] == (8, 12, 144, 200)
    assert figures["gb200-nvl72"] == (72, 90, 1296, 400)
    assert figures["mi300x"] == (8, 8, 28, 512)
    groups, switches = 74, 32
    within, between = switches * (switches - 1) // 2, 4 * (groups - 1)
    links = 4 * 9472 + groups * within + groups * between // 2
    assert figures["frontier"] == (9472, 9472 + groups * switches, links, 200)
    assert figures["tt-galaxy"] == (32, 32, 52, 400)
    with pytest.raises(NetworkError, match="did you mean 'mi250x'"):
        treecast.network("machine:mi250")


@pytest.mark.parametrize("sides", ["2x4", "4x8", "3x3x6", "4x4x8", "3x6x6"])
def test_twisted_tori(sides: str) -> None:
    """Against the same grid built point by point: each way round a short side ends half a long side further on."""
    lengths = [int(side) for side in sides.split("x")]
    short = min(lengths)
    truth = nx.Graph()
    for at in np.ndindex(*lengths):
        for axis, length in enumerate(lengths):
            there = list(at)
            there[axis] += 1
            if there[axis] == length:
                there[axis] = 0
                if length == short:
                    there = [(x + short) % side if side > short else x for x, side in zip(there, lengths, strict=True)]
            truth.add_edge(",".join(map(str, at)), ",".join(map(str, there)))
    where = treecast.network(f"torus:{sides},twisted")
    found = nx.Graph((where.label(u), where.label(v)) for u in range(where.nodes) for v in where.neighbors(u))
    assert set(map(frozenset, found.edges())) == set(map(frozenset, truth.edges()))
    assert where.diameter == nx.diameter(truth)
    every, ports = np.arange(where.nodes), np.arange(where.ports)
    for h in range(0, where.nodes, 7):  # translations carry arcs to arcs of the same port
        moved = where.translate(h, where.neighbor(every[:, None], ports))
        assert np.array_equal(where.neighbor(where.translate(h, every)[:, None], ports), moved)
        assert np.array_equal(where.untranslate(h, where.translate(h, every)), every)
    assert where.node(where.label(5)) == 5


def test_twisted_plans_are_orbits_and_shorter() -> None:
    twisted, torus = (treecast.plan("alltoall", f"torus:4x4x8{end}") for end in (",twisted", ""))
    assert treecast.verify(twisted)
    assert twisted.steps < torus.steps
    for wrong in ("torus:4x4x4,twisted", "torus:4x12,twisted", "torus:1x2,twisted"):
        with pytest.raises(NetworkError, match="write sides of n and of 2n nodes"):
            treecast.network(wrong)


@pytest.mark.parametrize(
    ("spec", "nodes", "ranks", "order"),
    [
        ("rails:dgx-h100,1,3", 3 * 12 + 8, 24, 24),
        ("rails:dgx-h100,2,3", 6 * 12 + 16 + 24, 48, 48),
        ("rails:dgx-a100,2,2,1", 80, 32, 16),
    ],
)
def test_cards_are_on_rails(spec, nodes, ranks, order):
    where = treecast.network(spec)
    assert (where.nodes, where.rank_count, where.symmetry.order) == (nodes, ranks, order)
    far = where.distance(*(where.node(f"{at}.gpu3") for at in ("0.0", "0.1")))
    assert far == 2  # by the leaf of rail 3
    assert where.distance(where.node("0.0.gpu3"), where.node("0.1.gpu4")) == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dgx-h100", "write rails:NAME,BLOCKS,HOSTS"),
        ("dgx-h100,0,4", "write rails:NAME"),
        ("dgx-h100,2,x", "write rails:NAME"),
        ("mi250x,2,2", "a card for each GPU is known of dgx-a100, dgx-h100, gb200-nvl72"),
        ("nothing,2,2", "a card for each GPU is known of"),
        ("dgx-h100,1000,1000", "nodes: the most are 262,144"),
    ],
)
def test_rails_that_there_are_not(text, why):
    with pytest.raises(NetworkError, match=why):
        treecast.network(f"rails:{text}")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(machines()))
def test_every_machine_is_whole_and_planned(name: str) -> None:
    where = treecast.network(f"machine:{name}")
    assert where.connected
    assert where.both_ways
    assert len({where.degree_at(u) for u in where.ranks.tolist()}) == 1 or name in ("mi250x", "tt-galaxy", "tt-loudbox")
    schedule = treecast.plan("allgather" if where.rank_count < 100 else "broadcast", where.spec)
    assert treecast.verify(schedule)
    assert treecast.network(schedule.network.spec) == where
