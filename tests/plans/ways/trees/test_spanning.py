import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.errors import PlanError
from treecast.networks import network
from treecast.plans import plan
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees import spanning
from treecast.verification.verifier import verify

NAMES = ("breadth-first", "balanced", "broadcast-time", "depth-bounded", "best")
SMALL = [
    "star:3", "star:4", "hypercube:1", "hypercube:4", "mesh:1x1", "mesh:2x3", "mesh:3x3x2", "torus:3x4", "path:2", "path:7",
    "ring:6", "tree:2,2", "tree:3,2",
]  # fmt: skip


def found(where, root, name, flits=None, both_ways=False, slack=0):
    flits = np.ones(where.nodes, np.int64) if flits is None else flits
    kind = f"depth-bounded:{where.eccentricity(root) + slack}" if name == "depth-bounded" else name
    return spanning.spanning_tree(
        where, root, kind, flits, lambda tree: certificates(tree, flits).steps, both_ways=both_ways
    )


def check(tree, where, root):
    """By networkx: a spanning arborescence of arcs of the network, its order from the root down."""
    graph, below = where.to_networkx(), [v for v in range(where.nodes) if v != root]
    arcs = [(int(tree.parent[v]), v) for v in below]
    assert all(graph.has_edge(*arc) for arc in arcs)
    assert all(int(where.neighbor(tree.parent[v], tree.port[v])) == v for v in below)
    if below:
        assert nx.is_arborescence(nx.DiGraph(arcs))
    place = {v: i for i, v in enumerate(tree.order.tolist())}
    assert sorted(place) == list(range(where.nodes))
    assert place[root] == 0
    assert all(place[a] < place[b] for a, b in arcs)
    assert int(tree.parent[root]) == -1


def broadcast_of(tree):
    """How long a broadcast takes, told one child a step, by plain recursion."""
    children = {}
    for v in tree.order[1:].tolist():
        children.setdefault(int(tree.parent[v]), []).append(v)
    last, waiting = 0, [(tree.root, 0)]
    while waiting:
        v, heard = waiting.pop()
        last = max(last, heard)
        waiting += [(child, heard + i) for i, child in enumerate(children.get(v, []), 1)]
    return last


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("name", NAMES)
def test_every_tree_of_every_family_spans_it(spec, name):
    where = network(spec)
    for root in {0, where.nodes // 2, where.nodes - 1}:
        tree = found(where, root, name)
        check(tree, where, root)
        if name in ("breadth-first", "balanced", "depth-bounded"):
            assert tree.height == where.eccentricity(root)


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 24))
    graph = nx.gnp_random_graph(nodes, draw(st.sampled_from([0.05, 0.2, 0.5, 1.0])), seed=draw(st.integers(0, 99)))
    nx.add_path(graph, range(nodes))
    return network(graph), draw(st.integers(0, nodes - 1))


@pytest.mark.each(5)
@pytest.mark.parametrize("dimension", range(1, 13))
def test_rounds_of_a_broadcast_are_fewest_on_hypercubes(dimension):
    assert broadcast_of(spanning.broadcast_time(network(f"hypercube:{dimension}"), 0)) == dimension


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 9, 16, 31, 33, 64, 100])
def test_rounds_of_a_broadcast_are_fewest_on_complete_graphs_stars_and_paths(nodes):
    for graph, rounds in (
        (nx.complete_graph(nodes), (nodes - 1).bit_length()),
        (nx.star_graph(nodes - 1), nodes - 1),
        (nx.path_graph(nodes), nodes - 1),
    ):
        assert broadcast_of(spanning.broadcast_time(network(graph), 0)) == rounds


@pytest.mark.parametrize("sides", [(2, 2), (3, 3), (5, 5), (4, 7), (9, 9)])
def test_rounds_of_a_broadcast_are_fewest_on_meshes_from_a_corner(sides):
    assert broadcast_of(spanning.broadcast_time(network(f"mesh:{sides[0]}x{sides[1]}"), 0)) == sum(sides) - 2


def fewest_rounds(where):
    """By trying all: the sets that can have heard after each round."""
    near, all_nodes = [set(where.neighbors(v)) for v in range(where.nodes)], frozenset(range(where.nodes))
    heard, rounds = {frozenset([0])}, 0
    while all_nodes not in heard:
        after = set()
        for some in heard:
            reach = {some}
            for u in some:
                reach |= {r | {v} for r in reach for v in near[u] - r}
            after |= reach
        heard, rounds = after, rounds + 1
    return rounds


def test_rounds_of_a_broadcast_on_small_graphs_are_the_fewest_or_one_more():
    exact = 0
    cases = [nx.gnp_random_graph(9, p, seed=s) for p in (0.3, 0.5) for s in range(15)] + [
        nx.wheel_graph(9),
        nx.petersen_graph(),
    ]
    cases = [graph for graph in cases if nx.is_connected(graph)]
    for graph in cases:
        where = network(graph)
        rounds, fewest = broadcast_of(spanning.broadcast_time(where, 0)), fewest_rounds(where)
        assert fewest <= rounds <= fewest + 1
        exact += rounds == fewest
    assert exact >= 0.9 * len(cases)


def test_a_bounded_tree_has_fewer_children():
    for graph, most, children in (
        (nx.complete_graph(40), 6, 2),
        (nx.complete_graph(40), 3, 6),
        (nx.wheel_graph(30), 6, 6),
    ):
        tree = spanning.depth_bounded(network(graph), 0, most)
        assert tree.height <= most
        assert np.bincount(tree.parent[tree.parent >= 0]).max() <= children


def test_a_balanced_tree_divides_the_flits():
    where = network("hypercube:8")
    flits = np.random.default_rng(1).integers(0, 20, where.nodes)
    flits[0] = 0
    tree = spanning.balanced(where, 0, flits)
    loads = np.bincount(tree.branch, flits)[where.neighbors(0)]
    assert loads.max() <= 1.05 * flits.sum() / 8
    assert (
        spanning.streams_steps(tree, flits, "all")
        < spanning.streams_steps(spanning.breadth_first(where, 0), flits, "all") / 3
    )


@pytest.mark.each(7)
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
@pytest.mark.parametrize("model", ["bufferless", "bufferless-multiport"])
@pytest.mark.parametrize(
    "graph",
    ["hypercube:5", "torus:4x4", nx.complete_graph(24), nx.wheel_graph(24), nx.barabasi_albert_graph(60, 3, seed=3)],
    ids=str,
)
def test_the_best_tree_never_loses(graph, model, kind):
    where = network(graph)
    for seed in range(3):
        lengths = np.random.default_rng(seed).integers(0, 6, where.nodes)
        steps = {}
        for tree in (
            "best",
            "breadth-first",
            "balanced",
            "broadcast-time",
            f"depth-bounded:{where.eccentricity(0) + 1}",
        ):
            schedule = plan(kind, where, lengths=lengths, model=model, tree=tree)
            report = verify(schedule)
            assert report.holds, report.violations
            steps[tree] = report.steps
        assert steps["best"] == min(steps.values()), steps


@pytest.mark.parametrize(
    ("graph", "gain"),
    [(nx.complete_graph(64), 35), (nx.wheel_graph(40), 10), ("hypercube:6", 1), ("star:5", 3)],
    ids=str,
)
def test_over_one_port_other_trees_beat_breadth_first_ones_where_degrees_are_high(graph, gain):
    where = network(graph)
    lengths = np.random.default_rng(1).integers(0, 4, where.nodes)
    near, best = (
        plan("gatherv", where, lengths=lengths, model="bufferless", tree=tree).steps
        for tree in ("breadth-first", "best")
    )
    assert near - best >= gain


def test_every_builder_of_one_tree_takes_every_tree():
    for kind, builder in (
        ("scatterv", "farthest-first"),
        ("gatherv", "transmission-certificate"),
        ("gatherv", "nearest-first"),
    ):
        for model in ("bufferless", "bufferless-multiport"):
            for tree in ("balanced", "broadcast-time", "depth-bounded:4", "best"):
                schedule = plan(kind, "mesh:3x3", lengths=3, model=model, builder=builder, tree=tree)
                assert verify(schedule).holds


def test_lengths_that_are_all_null():
    for tree in ("balanced", "broadcast-time", "best"):
        assert verify(plan("gatherv", "hypercube:3", lengths=0, model="bufferless", tree=tree)).holds
        assert plan("scatterv", "hypercube:3", lengths=0, model="bufferless", tree=tree).steps == 0


def test_directed_graphs():
    cycle = network(nx.cycle_graph(5, create_using=nx.DiGraph))
    for name in NAMES:
        check(found(cycle, 2, name), cycle, 2)
        assert verify(
            plan("scatterv", cycle, lengths=2, model="bufferless", tree=name.replace("bounded", "bounded:4"))
        ).holds
        with pytest.raises(PlanError, match="needs an arc back"):
            found(cycle, 2, name, both_ways=True)
    some = nx.DiGraph(nx.path_graph(6))  # both ways along the path, and one arc that would be a short cut
    some.add_edge(0, 5)
    for name in NAMES:
        tree = found(network(some), 0, name, both_ways=True, slack=2)
        assert tree.height == 5
        assert found(network(some), 0, "breadth-first").height == 3
        told = plan("gatherv", some, lengths=2, model="bufferless", tree=name.replace("bounded", "bounded:5"))
        assert verify(told).holds


@pytest.mark.parametrize(
    "kind", ["deepest", "best:3", "depth-bounded", "depth-bounded:", "depth-bounded:-1", "depth-bounded:x"]
)
def test_names_that_are_none(kind):
    with pytest.raises(PlanError, match=r"write (one of breadth-first, balanced, .*, best|depth-bounded:D)") as caught:
        plan("scatterv", "mesh:3x3", lengths=1, model="bufferless", tree=kind)
    assert "\n" not in str(caught.value)


def test_a_depth_that_no_tree_has():
    with pytest.raises(PlanError, match=r"mesh:3x3 from \(?0,0\)? has depth 3: its farthest node is 4 arcs away"):
        plan("scatterv", "mesh:3x3", lengths=1, model="bufferless", tree="depth-bounded:3")


@pytest.mark.long
@given(graphs(), st.integers(0, 2), st.lists(st.integers(0, 9), min_size=24, max_size=24))
@examples(150)
def test_trees_of_random_graphs(drawn, slack, lengths):
    where, root = drawn
    flits = np.array(lengths[: where.nodes])
    flits[root] = 0
    for name in NAMES:
        tree = found(where, root, name, flits, slack=slack)
        check(tree, where, root)
        if name == "depth-bounded":
            assert tree.height <= where.eccentricity(root) + slack
        assert certificates(found(where, root, "best", flits), flits).steps <= certificates(tree, flits).steps
