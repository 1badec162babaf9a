"""Wormhole switching on meshes and tori: what is planned holds, by both verifiers, and what is wrong is told."""

import pytest

from treecast.networks import Mesh, network
from treecast.papers.mesh.builders import bisection
from treecast.papers.mesh.builders.bisection import is_contention_free
from treecast.plans import plan
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

MESHES = ["mesh:1x1", "mesh:2x1", "path:7", "mesh:3x5", "mesh:5x5", "mesh:4x4", "mesh:3x3x3", "mesh:2x3x2", "mesh:13x3",
          "torus:4x4", "torus:3x5", "torus:2x2x3", "ring:9"]  # fmt: skip


KINDS = ["broadcast", "scatter", "gather", "reduce", "reduce-broadcast"]


@pytest.mark.each(13)
@pytest.mark.parametrize(
    "spec", [pytest.param(spec, marks=pytest.mark.long if network(spec).nodes > 15 else ()) for spec in MESHES]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planned_holds_without_contention(spec, kind):
    where = network(spec)
    for under in ("wormhole", "wormhole-last", "wormhole,half", "wormhole-diagonal", "wormhole-diagonal,half"):
        for root in sorted({0, where.nodes // 2, where.nodes - 1}):
            schedule = plan(kind, where, root=root, messages=2, model=under)
            fast, slow = verify(schedule, under), verify(schedule, under, method="expanded")
            assert fast.holds, fast.violations
            assert slow.holds, slow.violations
            twice = 2 if kind == "reduce-broadcast" else 1
            assert schedule.steps == twice * (where.nodes - 1).bit_length()
            assert fast.distance == sum(where.distance(schedule.rows.src, schedule.rows.dst).tolist())
            assert not simulate(schedule).lost


@pytest.mark.each(4)
@pytest.mark.parametrize(
    "shape", [(a, b) for a in range(2, 8) for b in range(a, 8)] + [(2, 3, 3), (3, 3, 3), (2, 3, 5), (4, 4, 2)], ids=str
)
def test_nothing_meets_whatever_the_routing(shape):
    grid = Mesh(shape)
    tables = bisection.minimum(shape)
    for source in range(0, grid.nodes, 1 if grid.nodes <= 20 else 3):
        assert is_contention_free(grid, *bisection.sends(*tables, source))


def test_a_picture_of_all_sources(ask, tmp_path):
    plan_file, picture = tmp_path / "p.tc", tmp_path / "sources.png"
    assert ask("plan", "broadcast", "mesh:4x4", "--model", "wormhole", "-o", str(plan_file))[0] == 0
    assert ask("draw", str(plan_file), "--kind", "sources", "-o", str(picture))[0] == 0
    assert picture.stat().st_size > 1000
    assert ask("draw", str(plan_file), "--kind", "sources")[0] == 2
