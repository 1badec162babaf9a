"""Wormhole switching on meshes and tori: what is planned holds, by both verifiers, and what is wrong is told."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.collectives import Collective
from treecast.errors import TreecastError
from treecast.files.formats import decode, encode
from treecast.models import model
from treecast.networks import Mesh, Torus, network
from treecast.papers.mesh.builders import bisection
from treecast.papers.mesh.builders.bisection import is_contention_free
from treecast.plans import plan
from treecast.schedule import Payloads, Rows, Schedule
from treecast.simulation.replay import simulate
from treecast.verification.rules.wormhole import depth_contention
from treecast.verification.verifier import verify


@examples(60)
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
    assert all(verify(schedule, method=method).holds for method in ("fast", "expanded"))


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
        (("broadcast", "mesh:100000x100000", {"model": "wormhole"}), "too many"),
        (("broadcast", "mesh:30000x30000x30", {"model": "wormhole"}), "too many"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(asked, said):
    kind, spec, options = asked
    with pytest.raises(TreecastError, match=said) as error:
        plan(kind, spec, **options)
    assert "\n" not in str(error.value)


def turns(where, u, v, order):
    """The axes of a route, a move after the other: those of which the next move is due first, in exact numbers."""
    ends = zip(*where.coordinates([u, v]).T.tolist(), where.sides, strict=True)
    lengths = [min(abs(a - b), side - abs(a - b) if isinstance(where, Torus) else side) for a, b, side in ends]
    axes = [axis for axis, length in enumerate(lengths) for _ in range(length)]
    if order != "diagonal":
        return axes if order == "first" else axes[::-1]
    done, found = [0] * len(lengths), []
    while len(found) < len(axes):
        due = [Fraction(2 * k + 1, 2 * n) if k < n else Fraction(2) for k, n in zip(done, lengths, strict=True)]
        found.append(due.index(min(due)))
        done[found[-1]] += 1
    return found


@pytest.mark.each(7)
@pytest.mark.parametrize("order", ["first", "last", "diagonal"])
@pytest.mark.parametrize(
    "spec", ["mesh:4x3", "torus:5x4", "torus:2x3", "mesh:3x2x3", "ring:6", "mesh:7x5", "torus:4x3x5"]
)
def test_routes_are_shortest_walks_that_take_the_axes_in_their_order(spec, order):
    where = network(spec)
    for u in range(where.nodes):
        v = np.arange(where.nodes)
        route, node, port = where.routes(np.full_like(v, u), v, order)
        assert np.bincount(route, minlength=where.nodes).tolist() == where.distance(u, v).tolist()
        arcs = {r: {} for r in v.tolist()}
        for r, here, by in zip(route.tolist(), node.tolist(), port.tolist(), strict=True):
            arcs[r][here] = by
        for w in v.tolist():
            at, axes = u, []
            while at != w:
                name = where.port_name(arcs[w][at])
                axes.append(int(name[1:]))
                after = int(where.neighbor(at, arcs[w][at]))
                side, gap = where.sides[axes[-1]], [int(where.coordinates(x)[axes[-1]]) for x in (at, w)]
                if isinstance(where, Torus) and (gap[1] - gap[0]) % side * 2 == side:
                    assert name[0] == "+"  # halfway round
                at = after
            assert axes == turns(where, u, w, order)


def test_a_diagonal_route_stays_near_the_straight_line():
    mesh = network("mesh:9x4x13")
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, mesh.nodes, (2, 300))
    route, node, _ = mesh.routes(u, v, "diagonal")
    here, there, at = (mesh.coordinates(x) for x in (u[route], v[route], node))
    total = mesh.distance(u, v)[route]
    straight = here + (there - here) * mesh.distance(u[route], node) / total
    assert np.abs(at - straight).max() < 1.5


@pytest.mark.parametrize("spec", ["mesh:4x5", "torus:4x5"])
def test_channels_are_arcs_or_links(spec):
    where = network(spec)
    u, v = np.random.default_rng(2).integers(0, where.nodes, (2, 200))
    for order in ("first", "last", "diagonal"):
        _, node, port = where.routes(u, v, order)
        there = where.neighbor(node, port)
        arcs, links = (where.channels(u, v, order, links)[1].tolist() for links in (False, True))
        ends = list(zip(node.tolist(), there.tolist(), strict=True))
        assert len(set(arcs)) == len(set(ends)) == len(set(zip(arcs, ends, strict=True)))
        pairs = [frozenset(end) for end in ends]
        assert len(set(links)) == len(set(pairs)) == len(set(zip(links, pairs, strict=True)))


def meetings(schedule, links=False):
    """Pairs of messages that share a channel, neither before the other, by the definition: every pair, every chain."""
    rows, where = schedule.rows, schedule.network
    said = list(zip(rows.step.tolist(), rows.src.tolist(), rows.dst.tolist(), strict=True))
    before = {(i, j) for i, (s, u, v) in enumerate(said) for j, (t, x, _) in enumerate(said) if s < t and x in (u, v)}
    while True:
        further = {(i, k) for i, j in before for m, k in before if j == m} - before
        if not further:
            break
        before |= further
    route, channel = where.channels(rows.src.astype(int), rows.dst.astype(int), schedule.model.routing, links)
    crossed = [set(channel[route == i].tolist()) for i in range(len(said))]
    pairs = combinations(range(len(said)), 2)
    return sum(1 for i, j in pairs if crossed[i] & crossed[j] and not {(i, j), (j, i)} & before)


@pytest.mark.parametrize("seed", range(40))
def test_depth_contention_is_what_its_definition_says(seed):
    """Of random trees of messages, no plan's, so that many meet; as broadcasts, as gathers, and over links."""
    rng = np.random.default_rng(seed)
    where = network(["mesh:4x5", "torus:4x4", "mesh:2x3x3", "path:9"][seed % 4])
    nodes, sends, busy = rng.permutation(where.nodes).tolist(), [], {}
    for i, node in enumerate(nodes[1:], 1):
        teller = nodes[rng.integers(0, i)]
        busy[teller] = step = busy.get(teller, -1) + 1 + int(rng.integers(0, 2))
        busy[node] = step
        sends.append((step, teller, node))
    last = max(busy.values())
    for made in (sends, [(last - step, v, u) for step, u, v in sends]):
        schedule = messages(where, *made)
        for under in ("wormhole", "wormhole-diagonal", "wormhole-last,half"):
            judged = replace(schedule, model=model(under))
            assert depth_contention(judged, judged.model) == meetings(judged, under.endswith("half"))


def test_depth_contention_has_no_meaning_without_a_forest():
    line = network("path:5")
    both = messages(line, (0, 0, 1), (1, 2, 1), (2, 1, 3), (3, 1, 4))  # 1 hears twice and sends twice
    assert depth_contention(both, both.model) is None
    tree = plan("broadcast", "mesh:2x2")
    assert verify(tree).depth_contention is None
    assert verify(plan("reduce-broadcast", "mesh:3x3", model="wormhole")).depth_contention is None


def test_a_pair_that_meets_on_several_channels_is_one_pair():
    line = network("path:6")
    assert verify(messages(line, (0, 0, 1), (1, 0, 5), (1, 1, 4))).depth_contention == 1
    assert verify(messages(line, (0, 0, 1), (1, 0, 5), (2, 0, 4))).depth_contention == 0


@pytest.mark.each(5)
@pytest.mark.parametrize(
    "spec",
    ["path:16", "mesh:4x4", "mesh:8x8", "mesh:16x4", "mesh:2x32", "mesh:4x4x4", "mesh:2x8x4", "mesh:2x2x2x2x2x2"],
)
def test_recursion_by_boxes_has_no_depth_contention(spec):
    where = network(spec)
    for root in range(where.nodes):
        schedule = plan("broadcast", where, root=root, model="wormhole")
        for under in ("wormhole", "wormhole-diagonal,half"):
            assert depth_contention(schedule, model(under)) == 0


MESHES = ["mesh:1x1", "mesh:2x1", "path:7", "mesh:3x5", "mesh:5x5", "mesh:4x4", "mesh:3x3x3", "mesh:2x3x2", "mesh:13x3",
          "torus:4x4", "torus:3x5", "torus:2x2x3", "ring:9"]  # fmt: skip


KINDS = ["broadcast", "scatter", "gather", "reduce", "reduce-broadcast"]


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.each(4)
@pytest.mark.parametrize(
    "shape", [(a, b) for a in range(2, 8) for b in range(a, 8)] + [(2, 3, 3), (3, 3, 3), (2, 3, 5), (4, 4, 2)], ids=str
)
def test_nothing_meets_whatever_the_routing(shape):
    grid = Mesh(shape)
    tables = bisection.minimum(shape)
    for source in range(0, grid.nodes, 1 if grid.nodes <= 20 else 3):
        assert is_contention_free(grid, *bisection.sends(*tables, source))


@pytest.mark.slow
def test_a_picture_of_all_sources(ask, tmp_path):
    plan_file, picture = tmp_path / "p.tc", tmp_path / "sources.png"
    assert ask("plan", "broadcast", "mesh:4x4", "--model", "wormhole", "-o", str(plan_file))[0] == 0
    assert ask("draw", str(plan_file), "--kind", "sources", "-o", str(picture))[0] == 0
    assert picture.stat().st_size > 1000
    assert ask("draw", str(plan_file), "--kind", "sources")[0] == 2
