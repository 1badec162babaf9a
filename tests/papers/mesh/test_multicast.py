"""Multicast on meshes and tori: in the fewest steps, and without contention under the model that it is planned for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import WORMHOLE, model
from treecast.networks import network
from treecast.papers.mesh.builders import multicast
from treecast.papers.mesh.builders.bisection import is_contention_free
from treecast.plans import plan
from treecast.plans.built import Job
from treecast.verification.verifier import verify

MODELS = [f"{name}{half}" for name in WORMHOLE for half in ("", ",half")]


def job(where, nodes):
    return Collective("multicast", where.nodes, 1, nodes[0], tuple(sorted(nodes[1:])))


def drawn(data, specs, most):
    where = network(data.draw(st.sampled_from(specs)))
    nodes = data.draw(st.lists(st.integers(0, where.nodes - 1), min_size=2, max_size=most, unique=True))
    return where, nodes


@examples(40)
@given(st.data())
def test_multicast_holds_under_the_model_it_is_planned_for(data):
    where, nodes = drawn(
        data, ["mesh:5x6", "mesh:3x3x4", "path:12", "torus:5x6", "torus:3x3x4", "ring:9", "torus:4x4"], 14
    )
    under = data.draw(st.sampled_from(MODELS))
    schedule = plan("multicast", where, root=nodes[0], targets=nodes[1:], model=under)
    assert sorted(schedule.rows.dst.tolist()) == sorted(nodes[1:])
    assert schedule.steps == (len(nodes) - 1).bit_length()
    for method in ("fast", "expanded"):
        report = verify(schedule, method=method)
        assert report.holds, report.violations
    assert report.model.name == under


def test_across_the_border_of_a_torus():
    """0,0 and its neighbours round the torus: each is one arc away."""
    schedule = plan("multicast", "torus:8x8", targets=["7,0", "0,7", "7,7"], model="wormhole")
    assert (schedule.steps, verify(schedule).distance) == (2, 3)
    assert verify(plan("multicast", "mesh:8x8", targets=["7,0", "0,7", "7,7"], model="wormhole")).distance == 21


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spec", ["mesh:9x7", "mesh:4x5x4", "mesh:16x16", "path:40", "mesh:3x3x3x3"])
def test_halving_the_sorted_chain_is_free_where_routes_go_axis_by_axis(spec, seed):
    where, rng = network(spec), np.random.default_rng(seed)
    nodes = rng.permutation(where.nodes)[: rng.integers(2, 40)].tolist()
    collective = job(where, nodes)
    for under in map(model, ("wormhole", "wormhole-last")):
        chain = next(way for way in multicast.ways(where, collective, under) if way.name == "chain")
        step, src, dst = chain.sends()
        assert sorted(dst.tolist()) == list(collective.targets)
        assert step.max() + 1 == (len(nodes) - 1).bit_length()
        heard = {nodes[0]: -1}
        for at, a, b in sorted(zip(step.tolist(), src.tolist(), dst.tolist(), strict=True)):
            assert heard[a] < at
            heard[b] = at
        assert len(set(zip(step.tolist(), src.tolist(), strict=True))) == len(step)
        assert is_contention_free(where, step, src, dst, (under.routing,), links=under.duplex == "half")


def test_the_chain_is_not_free_under_other_models():
    """So that the models are told apart: (0,5) > (1,2) goes down the column in which (1,3) > (1,4) goes up."""
    where = network("mesh:2x6")
    step, src, dst = np.array([0, 0]), np.array([5, 9]), np.array([8, 10])
    assert is_contention_free(where, step, src, dst, ("first",), links=False)
    assert not is_contention_free(where, step, src, dst, ("first",))
    assert is_contention_free(where, np.array([0, 1]), src, dst, ("first",))


def test_the_first_way_without_contention_is_taken(monkeypatch):
    where, under = network("mesh:4x4"), model("wormhole")
    collective = job(where, [0, 3, 5, 12])
    chain = next(way for way in multicast.ways(where, collective, under) if way.name == "chain")
    meeting = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3, 2, 12])  # two cross 1 > 2
    bad = multicast.MulticastWay("bad", lambda: meeting)
    monkeypatch.setattr(multicast, "ways", lambda *_: iter([bad, chain]))
    step, src, dst = chain.sends()
    rows = multicast.multicast(Job(where, collective, under)).rows
    assert sorted(zip(rows.step.tolist(), rows.src.tolist(), rows.dst.tolist(), strict=True)) == sorted(
        zip(step.tolist(), src.tolist(), dst.tolist(), strict=True)
    )
    monkeypatch.setattr(multicast, "ways", lambda *_: iter([bad]))
    with pytest.raises(PlanError, match="wormhole-last") as error:
        multicast.multicast(Job(where, collective, model("wormhole,half")))
    assert "\n" not in str(error.value)


@pytest.mark.slow
@examples(40)
@given(st.data())
def test_on_a_torus_no_longer_than_on_the_mesh(data):
    sides = data.draw(st.sampled_from(["9", "4x4", "5x7", "8x6", "3x4x3"]))
    torus, mesh = network(f"torus:{sides}"), network(f"mesh:{sides}")
    nodes = data.draw(st.lists(st.integers(0, mesh.nodes - 1), min_size=2, max_size=14, unique=True))
    far = [
        verify(plan("multicast", where, root=nodes[0], targets=nodes[1:], model="wormhole")).distance
        for where in (torus, mesh)
    ]
    assert far[0] <= far[1]
