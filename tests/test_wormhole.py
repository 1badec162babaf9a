"""Wormhole switching on meshes and tori: what is planned holds, by both verifiers, and what is wrong is told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecast.collectives import Collective
from treecast.errors import TreecastError
from treecast.formats import decode, encode
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import Payloads, Rows, Schedule
from treecast.simulator import simulate
from treecast.verifier import verify

MESHES = ["mesh:1x1", "mesh:2x1", "path:7", "mesh:3x5", "mesh:5x5", "mesh:4x4", "mesh:3x3x3", "mesh:2x3x2", "mesh:13x3",
          "torus:4x4", "torus:3x5", "torus:2x2x3", "ring:9"]  # fmt: skip
KINDS = ["broadcast", "scatter", "gather", "reduce", "reduce-broadcast"]


@pytest.mark.parametrize("spec", MESHES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planned_holds_without_contention(spec, kind):
    where = network(spec)
    for under in ("wormhole", "wormhole-last", "wormhole,half"):
        for root in sorted({0, where.nodes // 2, where.nodes - 1}):
            schedule = plan(kind, where, root=root, messages=2, model=under.partition(",")[0])
            fast, slow = verify(schedule, under), verify(schedule, under, method="expanded")
            assert fast.holds, fast.violations
            assert slow.holds, slow.violations
            twice = 2 if kind == "reduce-broadcast" else 1
            assert schedule.steps == twice * (where.nodes - 1).bit_length()
            assert fast.distance == sum(where.distance(schedule.rows.src, schedule.rows.dst).tolist())
            assert not simulate(schedule).lost


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_multicast_reaches_its_targets_and_nobody_else(data):
    where = network(data.draw(st.sampled_from(["mesh:5x6", "mesh:3x3x4", "path:12"])))
    root = data.draw(st.integers(0, where.nodes - 1))
    targets = data.draw(st.sets(st.integers(0, where.nodes - 1).filter(lambda v: v != root), min_size=1))
    schedule = plan("multicast", where, root=root, targets=sorted(targets), model="wormhole")
    assert {root} | set(schedule.rows.dst.tolist()) == targets | {root}
    assert schedule.steps == len(targets).bit_length()
    again = decode(encode(schedule))
    assert again.rows == schedule.rows
    assert again.collective == schedule.collective
    for method in ("fast", "expanded"):  # staircases may meet: then it is told, not hidden
        report = verify(schedule, method=method)
        assert {rule for rule, count in report.counts.items() if count} <= {"channel-once"}


def messages(where, *sends):
    """A schedule of (step, src, dst) that each carry everything."""
    step, src, dst = np.array(sends, np.int64).T
    one = np.ones_like(step)
    rows = Rows.of(
        Payloads.of([[(0, 1)]]), step=step, steps=one, src=src, dst=dst, port=-one, tree=-one, payload=one - 1
    )  # fmt: skip
    return Schedule(where, Collective("broadcast", where.nodes, 1), model("wormhole"), rows)


def test_breaches_are_told_by_both_verifiers():
    line = network("path:4")
    for sends, rule in (
        ([(0, 0, 2), (1, 0, 3), (1, 2, 1)], None),
        ([(0, 0, 1), (1, 0, 2), (1, 1, 3)], "channel-once"),  # 1>2 twice
        ([(0, 0, 2), (1, 0, 1), (1, 2, 3), (1, 2, 1)], "one-role"),
        ([(0, 0, 0), (1, 0, 2), (2, 0, 1), (2, 2, 3)], "routed"),
        ([(0, 0, 2), (0, 1, 3), (1, 0, 1)], "holds"),
    ):
        for method in ("fast", "expanded"):
            found = verify(messages(line, *sends), method=method).counts
            assert (found[rule] > 0) if rule else not any(found.values()), (sends, method, found)
    half = verify(messages(line, (0, 0, 3), (1, 0, 2), (1, 3, 1)), "wormhole,half").counts
    full = verify(messages(line, (0, 0, 3), (1, 0, 2), (1, 3, 1)), "wormhole").counts
    assert (half["channel-once"], full["channel-once"]) == (1, 0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("broadcast", "star:4", {"model": "wormhole"}), "wormhole"),
        (("broadcast", "mesh:8x4", {"model": "wormhole", "builder": "eyes"}), "no builder 'eyes'"),
        (("multicast", "mesh:4x4", {"model": "wormhole"}), "needs targets"),
        (("broadcast", "mesh:4x4", {"targets": [3]}), "needs targets"),
        (("multicast", "mesh:4x4", {"targets": ["9,9"], "model": "wormhole"}), "no node"),
        (("broadcast", "mesh:0x4", {"model": "wormhole"}), "each at least 1"),
        (("broadcast", "mesh:4x4", {"root": "4,0", "model": "wormhole"}), "no node"),
        (("broadcast", "mesh:1000000x1000000", {"model": "wormhole"}), "too many"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(asked, said):
    kind, spec, options = asked
    with pytest.raises(TreecastError, match=said) as error:
        plan(kind, spec, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("spec", ["mesh:4x3", "torus:5x4", "torus:2x3", "mesh:3x2x3", "ring:6"])
def test_routes_are_shortest_walks_along_the_axes(spec):
    where = network(spec)
    for last_first in (False, True):
        for u in range(where.nodes):
            v = np.arange(where.nodes)
            route, node, port = where.routes(np.full_like(v, u), v, last_first)
            assert np.bincount(route, minlength=where.nodes).tolist() == where.distance(u, v).tolist()
            at = dict.fromkeys(v.tolist(), u)
            for r, here, by in sorted(
                zip(route.tolist(), node.tolist(), port.tolist(), strict=True), key=lambda x: x[0]
            ):
                if here == at[r]:
                    at[r] = int(where.neighbor(here, by))
            assert sorted(at.items()) == [(w, w) for w in v.tolist()]
