"""All nine collectives: planned, verified by three ways that share nothing, and held against the closed forms of the papers."""

from functools import partial

import pytest

from tests.oracles.plain import faults_found, graph_of
from tests.plans.whole.all_port.test_collectives import CUBES, STARS, TORI, rows_at
from tests.strategies import ALL_SOURCE, KINDS, all_port, fits
from treecast.errors import NetworkError, PlanError
from treecast.networks import network
from treecast.plans import disjoint_trees, plan, program
from treecast.plans.ways.trees import hypercube as hypercube_trees
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

COMPLETE = [f"complete:{n}" for n in (1, 2, 3, 5, 8)]


OTHERS = ["mesh:2x3", "path:1", "path:4", "tree:2,2"]


_FEW_SENDS, _FEWER_SENDS = 1_500, 800


_FEW_ROWS = 40_000


_MOST_ARCS = 24  # of networks on which every plan is judged whenever the tests run; of others, with the long tests


def cases(where, kind):
    """Every builder, number of copies, some numbers of messages and some roots."""
    k = max(where.ports, 1)
    for builder in all_port(kind, where):
        for copies in filter(partial(fits, builder, kind, where), range(1, builder.most_copies(where) + 1)):
            for messages in sorted({1, 2, k - 1, k, k + 1, 7} - {0}):
                roots = {0} if kind in ALL_SOURCE or messages not in (1, k) else {0, where.nodes // 2, where.nodes - 1}
                for root in sorted(roots):
                    rows = copies * where.nodes * (where.diameter if kind in ("scatter", "gather", "alltoall") else 1)
                    rows *= 1 if builder.orbit else where.nodes * messages
                    if rows <= _FEW_ROWS and (where.nodes < 200 or messages in (1, k + 1)):
                        yield builder, copies, messages, root


@pytest.mark.each(17)
@pytest.mark.parametrize("kind", KINDS)  # all on one network in turn: they share trees and ways
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=pytest.mark.long if network(spec).nodes * network(spec).ports > _MOST_ARCS else ())
        for spec in STARS + CUBES + TORI + COMPLETE + OTHERS
    ],
)
def test_every_plan_is_right_by_every_judge(kind, spec):
    where = network(spec)
    graph = graph_of(where) if where.nodes <= 24 else None
    if not all_port(kind, where):
        with pytest.raises(PlanError, match=f"no plan of {kind}"):
            plan(kind, where)
        return
    for builder, copies, messages, root in cases(where, kind):
        schedule = plan(kind, where, root=root, messages=messages, copies=copies, builder=builder.name)
        report = verify(schedule)
        assert report.holds, (builder.name, copies, messages, root, report.violations)
        assert schedule.orbit == (kind in ALL_SOURCE and builder.orbit)
        assert report.method == ("by symmetry" if schedule.orbit else "by streams")
        rows, times = schedule.rows, where.nodes if schedule.orbit else 1
        last = max((a + b for a, b in zip(rows.step.tolist(), rows.steps.tolist(), strict=True)), default=0)
        sizes = [sum(b - a for a, b in rows.payloads.ranges(p)) for p in range(len(rows.payloads))]
        sent = sum(sizes[p] for p in rows.payload.tolist())
        assert (schedule.claims.steps, schedule.claims.transmissions) == (last, sent * times)
        assert (report.steps, report.transmissions) == (last, sent * times)
        if graph and sent * times + where.nodes * schedule.collective.chunks <= _FEW_SENDS:
            assert verify(schedule, method="expanded").holds
            trace = simulate(schedule)
            assert not trace.lost
            assert (trace.steps, trace.transmissions) == (last, sent * times)
            if sent * times <= _FEWER_SENDS:
                assert faults_found(schedule, graph) == set()


@pytest.mark.parametrize("d", range(1, 7))
def test_a_node_of_a_hypercube_knows_its_broadcast_from_its_label(d):
    spec, nodes = f"hypercube:{d}", 1 << d
    for copies in {1, d}:
        for root in {0, nodes - 2}:
            name = program("broadcast", spec, 0, root=root, messages=4, copies=copies).builder
            schedule = plan("broadcast", spec, root=root, messages=4, copies=copies, builder=name)
            for node in range(nodes) if d < 6 else (0, 5, root, nodes - 1):
                rows = rows_at(schedule, node)
                assert schedule.at(node).rows == rows
                assert program("broadcast", spec, node, root=root, messages=4, copies=copies).rows == rows


@pytest.mark.parametrize("d", range(1, 7))
def test_hypercube_trees_from_the_label_are_those_of_the_arrays(d):
    cube = network(f"hypercube:{d}")
    for root in {0, cube.nodes - 1}:
        trees = disjoint_trees(cube, root)
        for j in range(d):
            for v in range(cube.nodes):
                found = hypercube_trees.parent(cube, v, j, trees.root)
                assert found == (None if v == trees.root else (int(trees.parent[j][v]), int(trees.port[j][v])))
                children = hypercube_trees.children(cube, v, j, trees.root)
                assert [child for child, _ in children] == trees[j].children(v)
                assert all(port == int(trees.port[j][child]) for child, port in children)
                assert hypercube_trees.depth_of(cube, v, j, trees.root) == len(trees[j].way(v)) - 1
    for tree in (-1, d):
        with pytest.raises(NetworkError, match="its trees go from 0"):
            hypercube_trees.parent(cube, cube.nodes - 1, tree)
