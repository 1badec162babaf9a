"""Broadcast by eyes: the paper's values, and what every schedule of it must be, from every source in every order."""

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import model
from treecast.networks import network
from treecast.papers.mesh.builders import eyes
from treecast.plans import plan
from treecast.plans.built import Job

pytestmark = pytest.mark.each(3)

ALL_SOURCES = ["mesh:1x1", "mesh:2x2", "mesh:4x4", "mesh:8x8", "mesh:16x16", "mesh:2x2x2", "mesh:4x4x4", "mesh:2x2x2x2"]
PATHS = ["path:1", "path:2", "path:4", "path:8", "path:16", "path:32", "path:64"]


def built(mesh, root, messages=1, **options):
    return eyes.broadcast(
        Job(mesh, Collective("broadcast", mesh.nodes, messages, root), model("wormhole"), options=options)
    )


def sources(mesh):
    """The coordinates of every node, in order: (N, d)."""
    return np.array(list(product(*map(range, mesh.sides))))


def variants(mesh):
    return [{"order": order} for order in permutations(range(len(mesh.sides)))] + [{"best_order": True}]


def assert_binomial(mesh, root, rows):
    """Each node hears once, and before it speaks; it speaks at most once a step, and in every step from then on."""
    dimension = mesh.nodes.bit_length() - 1
    heard = {root: -1}
    spoke = set()
    for step, src, dst in zip(rows.step.tolist(), rows.src.tolist(), rows.dst.tolist(), strict=True):
        assert dst not in heard
        assert heard[src] < step
        assert (src, step) not in spoke
        heard[dst] = step
        spoke.add((src, step))
    assert sorted(heard) == list(range(mesh.nodes))
    assert spoke == {(u, step) for u, since in heard.items() for step in range(since + 1, dimension)}


def assert_free_of_contention(mesh, rows):
    """No arc twice in a step, when messages go along the dimensions one after the other, in either order."""
    label = [tuple(map(int, mesh.label(u).split(","))) for u in range(mesh.nodes)]
    axes = list(range(len(mesh.sides)))
    for route in (axes, axes[::-1]):
        used = set()
        for step, src, dst in zip(rows.step.tolist(), rows.src.tolist(), rows.dst.tolist(), strict=True):
            at, to = list(label[src]), label[dst]
            for axis in route:
                while at[axis] != to[axis]:
                    before = tuple(at)
                    at[axis] += 1 if at[axis] < to[axis] else -1
                    channel = step, before, tuple(at)
                    assert channel not in used
                    used.add(channel)


def test_one_dimensional_eyes_are_those_of_the_paper():
    assert [eyes.inner_distance(k) for k in range(1, 6)] == [1, 1, 3, 5, 11]
    assert [eyes.low_eye(k) for k in range(1, 6)] == [0, 1, 2, 5, 10]
    for k in range(1, 30):
        low, high = eyes.low_eye(k), 2**k - 1 - eyes.low_eye(k)
        assert high - low == eyes.inner_distance(k)
        if k > 1:  # the inner eyes of the halves
            assert low == 2 ** (k - 1) - 1 - eyes.low_eye(k - 1)


def test_eyes_are_those_of_the_paper():
    assert eyes.eyes(1, 2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert eyes.eyes(2, 2).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert eyes.eyes(3, 2).tolist() == [[2, 2], [2, 5], [5, 2], [5, 5]]
    assert eyes.eyes(3, 3).tolist() == [list(e) for e in product((2, 5), repeat=3)]  # the paper leaves out (5,5,2)
    assert eyes.eyes(4, 1).tolist() == [[5], [10]]
    assert eyes.eyes(0, 2).tolist() == [[0, 0]] * 4


def test_optimum_is_the_papers():
    assert [eyes.optimum(k, 2) for k in range(1, 6)] == [3, 15, 69, 291, 1197]
    assert [eyes.optimum(k, 3) for k in range(1, 5)] == [7, 63, 525, 4235]
    assert [eyes.optimum(k, 1) for k in range(1, 7)] == [1, 3, 9, 23, 57, 135]
    for d in range(1, 9):
        assert eyes.optimum(1, d) == 2**d - 1  # eq. (14)
        for k in range(60):
            assert eyes.optimum(k, d) == eyes.by_recurrence(k, d)
    for k in range(1, 40):  # eqs. (3) and (13)
        assert 5 * eyes.optimum(k, 2) == 3 * 2 ** (2 * k + 1) - (-1) ** k - 5 * 2**k
        assert 27 * eyes.optimum(k, 3) == 7 * (2 ** (3 * k + 2) - (-1) ** k - 3 * 2**k)


def test_values_of_the_4x4_mesh():
    assert [int(eyes.claimed_distance(2, s)) for s in ((0, 0), (1, 0), (0, 1), (1, 1))] == [18, 17, 16, 15]
    assert [int(eyes.claimed_distance(2, s, (1, 0))) for s in ((0, 0), (1, 0), (0, 1), (1, 1))] == [18, 16, 17, 15]
    assert [int(eyes.claimed_distance(2, s, best_order=True)) for s in ((0, 0), (1, 0), (0, 1), (1, 1))] == [
        18,
        16,
        16,
        15,
    ]


def test_values_of_the_8x8_mesh():
    grid = np.array(list(product(range(4), repeat=2))).reshape(4, 4, 2)
    fixed = [[79, 75, 73, 75], [76, 72, 70, 72], [75, 71, 69, 71], [76, 72, 70, 72]]
    best = [[79, 75, 73, 75], [75, 72, 70, 71], [73, 70, 69, 70], [75, 71, 70, 72]]
    assert eyes.claimed_distance(3, grid).tolist() == fixed
    assert eyes.claimed_distance(3, grid, best_order=True).tolist() == best
    assert eyes.claimed_distance(3, grid, (1, 0)).T.tolist() == fixed
    assert (np.mean(fixed), np.mean(best)) == (73.0, 72.5)


def test_values_of_three_dimensions():
    assert [int(eyes.claimed_distance(2, s)) for s in ((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1))] == [69, 66, 64, 63]
    assert eyes.claimed_distance(3, (2, 2, 3), best_order=True) == 527
    mesh = network("mesh:8x8x8")
    assert eyes.total_distance(mesh, built(mesh, mesh.node("2,2,3"), best_order=True).rows) == 527
    for order in permutations(range(3)):
        assert eyes.claimed_distance(3, (2, 2, 3), order) >= 527


def test_f_is_that_of_definition_6():
    """Eq. (7), region by region, as the paper has it for d = 3; its bound 2^(k-1) - 1 - a/2 leaves out the border."""
    for k in (2, 3, 4):
        a, b = eyes.inner_distance(k), eyes.inner_distance(k - 1)
        reach = [u for u in range(-(2**k), 2**k) if -a / 2 < u <= 2 ** (k - 1) - 1 / 2 - a / 2]
        assert len(reach) == 2 ** (k - 1)
        for u, v, w in product(reach, repeat=3):
            last = 2 * abs(w) + w
            one = 2 * abs(u) + u if u <= b / 2 else u + 2 * abs(u - b)
            two = 2 * abs(v) + v if v <= b / 2 else abs(v) + v + abs(v - b)
            assert eyes.extra(k, (u, v, w)) == one + two + last


@pytest.mark.parametrize("spec", [*ALL_SOURCES, *PATHS])
def test_the_schedule_is_as_long_as_the_closed_form_says(spec):
    mesh = network(spec)
    k, d = eyes.level(mesh), len(mesh.sides)
    tables = []
    for options in variants(mesh):
        claims = eyes.claimed_distance(k, sources(mesh), **options)
        made = [eyes.total_distance(mesh, built(mesh, root, **options).rows) for root in range(mesh.nodes)]
        assert made == claims.tolist()
        assert min(made) == eyes.optimum(k, d)
        assert {made[mesh.node(",".join(map(str, e)))] for e in eyes.eyes(k, d).tolist()} == {min(made)}
        if k > 1 and d > 1:  # Theorem 2: from eyes only; on paths f_k < 0 inside of an eye, and others do as well
            assert made.count(min(made)) == 2**d
        tables.append(made)
    assert len(tables) == factorial(d) + 1
    if d <= 3:  # no order is better than the best one; one order for all levels may be worse than each level's own
        assert all(best <= least for best, least in zip(tables[-1], np.min(tables[:-1], axis=0), strict=True))


def test_the_best_order_of_a_box_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for k, d in product((2, 3, 4), (2, 3, 4)):
        at = rng.integers(0, 2**k, (60, d))
        u = eyes.outside(k, at)
        least = np.min([eyes.extra(k, u[:, list(order)]) for order in permutations(range(d))], axis=0)
        below = eyes.claimed_distance(k - 1, at % 2 ** (k - 1), best_order=True) - eyes.optimum(k - 1, d)
        assert (eyes.claimed_distance(k, at, best_order=True) - eyes.optimum(k, d) - below).tolist() == least.tolist()


@pytest.mark.parametrize("spec", ["mesh:16x16", "mesh:32x32", "mesh:8x8x8", "mesh:4x4x4x4", "path:256"])
def test_larger_schedules_are_binomial_broadcasts_free_of_contention(spec):
    mesh = network(spec)
    rng = np.random.default_rng(1)
    k, d = eyes.level(mesh), len(mesh.sides)
    for root in rng.integers(0, mesh.nodes, 3).tolist():
        order = tuple(rng.permutation(d).tolist())
        for options in ({"order": order}, {"best_order": True}):
            rows = built(mesh, root, **options).rows
            assert_binomial(mesh, root, rows)
            assert_free_of_contention(mesh, rows)
            assert eyes.total_distance(mesh, rows) == eyes.claimed_distance(k, mesh.coordinates(root), **options)


def test_a_mesh_of_65536_nodes():
    mesh = network("mesh:256x256")
    root = mesh.node("17,200")
    rows, claims, *_ = built(mesh, root, best_order=True)
    assert (claims.steps, len(rows), claims.transmissions) == (16, 65535, 65535)
    assert sorted([*rows.dst.tolist(), root]) == list(range(mesh.nodes))
    assert eyes.total_distance(mesh, rows) == eyes.claimed_distance(8, (17, 200), best_order=True)


def test_the_first_steps_from_an_eye_are_those_of_algorithm_3():
    mesh = network("mesh:8x8x8")
    rows = built(mesh, mesh.node("2,2,2"), order=(0, 2, 1)).rows  # the paper's u, v, w are x, z, y
    said = [(s, mesh.label(u), mesh.label(v)) for s, u, v in zip(rows.step, rows.src, rows.dst, strict=True)]
    assert sorted(said[:7]) == sorted([
        (0, "2,2,2", "5,2,2"),
        (1, "2,2,2", "2,2,5"), (1, "5,2,2", "5,2,5"),
        (2, "2,2,2", "2,5,2"), (2, "5,2,2", "5,5,2"), (2, "2,2,5", "2,5,5"), (2, "5,2,5", "5,5,5"),
    ])  # fmt: skip


def test_far_from_the_centre_the_source_sends_to_the_outer_eyes():
    """Algorithm 1, step 2 of its list: the lower-left eye or its outer neighbour, whichever is nearer."""
    mesh = network("mesh:16x16")
    for x, target in ((0, "2,10"), (3, "2,10"), (4, "5,10"), (7, "5,10")):
        rows = built(mesh, mesh.node(f"{x},0")).rows
        second = {int(u): int(v) for s, u, v in zip(rows.step, rows.src, rows.dst, strict=True) if s == 1}
        assert mesh.label(second[mesh.node(f"{x},0")]) == target
        assert mesh.label(second[mesh.node("10,5")]) == "10,10"


@pytest.mark.parametrize("spec", ["mesh:3x3", "mesh:4x8", "mesh:8x8x2", "path:6", "mesh:1x2"])
def test_other_sides_have_no_eyes(spec):
    mesh = network(spec)
    with pytest.raises(PlanError, match=r"same power of two, as (mesh|path):") as told:
        built(mesh, 0)
    advised = str(told.value).split(", as ")[1].removesuffix(" has")
    eyes.level(network(advised))
    assert "\n" not in str(told.value)


def test_bad_options_are_refused():
    mesh = network("mesh:4x4")
    for order in ((0,), (0, 0), (0, 2), (0, 1, 2)):
        with pytest.raises(PlanError, match="each of 0 … 1 once"):
            built(mesh, 0, order=order)
        with pytest.raises(PlanError, match="each of 0 … 1 once"):
            eyes.claimed_distance(2, (0, 0), order)
    with pytest.raises(PlanError, match="write an order or best-order, not both"):
        plan("broadcast", mesh, model="wormhole", builder="eyes", order=(0, 1), best_order=True)
    with pytest.raises(
        PlanError, match=r"^survive 1 dead node needs 2 copies; .* by eyes sends one copy, surviving no fault"
    ):
        plan("broadcast", mesh, model="wormhole", builder="eyes", copies=2)
    for source in ((4, 0), (0, -1), 3, ()):
        with pytest.raises(PlanError, match="from 0 to 3"):
            eyes.claimed_distance(2, source)


def manhattan(mesh, rows):
    """The TCD, in plain loops from labels."""
    label = {u: tuple(map(int, mesh.label(u).split(","))) for u in range(mesh.nodes)}
    pairs = zip(rows.src.tolist(), rows.dst.tolist(), strict=True)
    return sum(abs(a - b) for u, v in pairs for a, b in zip(label[u], label[v], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", ["mesh:1x1", "mesh:2x2", "mesh:4x4", "mesh:8x8", "mesh:4x4x4", "path:16", "mesh:2x2x2x2"]
)
def test_every_schedule_is_a_binomial_broadcast_free_of_contention(spec):
    mesh = network(spec)
    steps = eyes.level(mesh) * len(mesh.sides)
    for options in variants(mesh):
        for root in range(mesh.nodes):
            rows, claims, *_ = built(mesh, root, 3, **options)
            assert_binomial(mesh, root, rows)
            assert_free_of_contention(mesh, rows)
            assert (claims.steps, claims.transmissions) == (steps, 3 * (mesh.nodes - 1))
            assert len(set(rows.step.tolist())) == steps
            assert int(rows.chunks_sent.sum()) == claims.transmissions
            assert manhattan(mesh, rows) == eyes.total_distance(mesh, rows)
