"""The paper's SPT and SPG as schedules: right, as long as claimed, and the trees of Definitions 6 and 7."""

import networkx as nx
import pytest

from tests.oracles.plain import disjoint
from tests.oracles.star import parent_spg, parent_spt
from treecast.cli import main
from treecast.drawing.pictures import draw
from treecast.networks import Star
from treecast.plans import plan
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify


@pytest.mark.each(5)
@pytest.mark.parametrize("n", range(2, 7))
def test_plans_hold_and_are_as_long_as_claimed(n):
    star = Star(n)
    leaves = star.nodes // n - 1
    for root in (0, star.nodes - 1):
        for messages in (1, 5):
            tree, graph = (plan("broadcast", star, root=root, messages=messages, builder=b) for b in ("spt", "spg"))
            for schedule in (tree, graph):
                report = verify(schedule)
                assert report.holds, report.violations
                assert not simulate(schedule).lost
            assert tree.steps == messages + star.diameter - 1
            assert graph.steps == messages - 1 + max(nx.eccentricity(graph_of(graph), root), deepest(graph))
            assert tree.transmissions == messages * (star.nodes - 1)
            assert graph.transmissions == messages * (star.nodes - 1 + leaves * (n - 2))
            if n < 6:
                for kind in ("scatter", "gather", "reduce"):
                    assert verify(plan(kind, star, root=root, messages=messages, builder="spt")).holds


def graph_of(schedule):
    return nx.DiGraph(zip(schedule.rows.src.tolist(), schedule.rows.dst.tolist(), strict=True))


def deepest(schedule):
    """The longest way from the root in the graph of the rows."""
    return nx.dag_longest_path_length(graph_of(schedule))


@pytest.mark.parametrize("n", range(3, 6))
def test_each_row_is_an_arc_of_the_definitions(n):
    star, root = Star(n), 4
    one_in_front = {v for v in range(star.nodes) if star.label(int(star.untranslate(root, v)))[0] == "1"}
    spt, spg = (plan("broadcast", star, root=root, builder=name).rows for name in ("spt", "spg"))
    for src, dst, port, tree in zip(*(getattr(spt, c).tolist() for c in ("src", "dst", "port", "tree")), strict=True):
        assert (tree == -1) == (dst in one_in_front)
        if tree == 0:
            assert parent_spt(star, dst, root) == (src, port)
    seen = set()
    for src, dst, port, tree in zip(*(getattr(spg, c).tolist() for c in ("src", "dst", "port", "tree")), strict=True):
        assert parent_spg(star, dst, tree, root) == (src, port)
        seen.add((dst, tree))
    expected = {
        (v, t) for v in range(star.nodes) for t in range(star.ports) if parent_spg(star, v, t, root) is not None
    }
    assert seen == expected


@pytest.mark.parametrize("n", range(3, 6))
def test_the_ways_of_spg_are_disjoint_and_none_can_be_shorter(n):
    """Lemma 5, by networkx: a way that ends over a given arc cannot be shorter than the distance to its last node but one."""
    star = Star(n)
    plain = nx.Graph((v, int(star.neighbor(v, p))) for v in range(star.nodes) for p in range(star.ports))
    far = nx.single_source_shortest_path_length(plain, 0)
    for v in range(1, star.nodes):
        if star.label(v)[0] == "1":
            ways = []
            for tree in range(star.ports):
                way = [v]
                while way[-1]:
                    way.append(parent_spg(star, way[-1], tree)[0])
                assert len(way) - 2 == far[way[1]]
                ways.append(way)
            assert all(disjoint(a, b) for i, a in enumerate(ways) for b in ways[:i])


def test_they_are_shown_and_drawn(tmp_path, capsys):
    for name in ("spt", "spg"):
        file, picture = str(tmp_path / f"{name}.tc"), tmp_path / f"{name}.svg"
        assert main(["plan", "broadcast", "star:4", "--builder", name, "-o", file]) == 0
        assert main(["show", file, "--node", "2143"]) == 0
        assert main(["draw", file, "-o", str(picture)]) == 0
        assert picture.stat().st_size > 1000
    capsys.readouterr()
    drawn = draw(plan("broadcast", "star:4", builder="spt")).splitlines()
    assert len(drawn) == 24 - 6 + 1  # the root, and the nodes whose symbol 1 is not in front
    first = draw(plan("broadcast", "star:4", builder="spg"), tree=0).splitlines()
    assert len(first) == 1 + 6 + 5
