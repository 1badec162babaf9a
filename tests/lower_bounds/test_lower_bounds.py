from itertools import combinations, product
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_disjoint_paths import shortest_ways
from tests.oracles.plain import graph_of
from treecast import lower_bounds
from treecast.collectives import COLLECTIVES as ALL
from treecast.collectives import Collective, Lengths
from treecast.drawing.passages import fewest_steps
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds, distances
from treecast.models import MODELS, model
from treecast.networks import network
from treecast.networks.wired import graph_from
from treecast.plans import plan
from treecast.verification.verifier import verify

COLLECTIVES = [name for name, kind in ALL.items() if not kind.targets and not kind.lengths]


def found(spec, messages, copies, under="all-port", root=0, kind="broadcast"):
    where = network(spec)
    return bounds(Collective(kind, where.nodes, messages, root), where, copies, model(under))


def steps(kind, spec, messages=1, copies=1, under="all-port", root=0):
    return best(found(spec, messages, copies, under, root, kind), "steps").value


def sends(kind, spec, messages=1, copies=1, under="all-port", root=0):
    return best(found(spec, messages, copies, under, root, kind), "transmissions").value


@pytest.mark.parametrize("n", range(3, 10))
def test_the_table_of_the_paper(n):
    for messages, copies in ((1, 1), (400, 1), (400, n - 1), (7, 2)):
        lower = found(f"star:{n}", messages, copies)
        nodes = network(f"star:{n}").nodes
        # one more when x = n - 1: the way over the arc that leads away from a node
        expected = -(-messages * copies // (n - 1)) + 3 * (n - 1) // 2 - 1 + (copies == n - 1)
        assert best(lower, "steps").value == expected
        assert best(lower, "transmissions").value == messages * copies * (nodes - 1)
        assert all(b.formula and b.source for b in lower)


def shortest_broadcast(graph, root, messages, one_port, half=False):
    """The least number of all-port (or one-port) steps of a broadcast, by breadth-first search over what everybody holds.

    With ``half`` a node sends or receives in a step.
    """
    full = (1 << messages) - 1
    start = tuple(full if v == root else 0 for v in graph)
    arcs = list(graph.edges)
    front, seen, steps = {start}, {start}, 0
    while not any(all(held == full for held in state) for state in front):
        following = set()
        for state in front:
            choices = [
                [None, *(c for c in range(messages) if state[u] >> c & 1 and not state[v] >> c & 1)] for u, v in arcs
            ]
            for picked in product(*choices):
                used = [arc for arc, c in zip(arcs, picked, strict=True) if c is not None]
                if one_port and (len({u for u, _ in used}) < len(used) or len({v for _, v in used}) < len(used)):
                    continue
                if half and {u for u, _ in used} & {v for _, v in used}:
                    continue
                after = list(state)
                for (_, v), c in zip(arcs, picked, strict=True):
                    if c is not None:
                        after[v] |= 1 << c
                following.add(tuple(after))
        front = following - seen
        seen |= following
        steps += 1
    return steps


@pytest.mark.parametrize(
    ("spec", "messages"), [("ring:4", 1), ("path:3", 2), ("path:4", 1), ("mesh:2x2", 1), ("tree:2,1", 2), ("ring:3", 2)]
)
@pytest.mark.parametrize("one_port", [False, True])
def test_no_schedule_beats_the_bound(spec, messages, one_port):
    graph = graph_of(network(spec))
    for root in range(min(2, len(graph))):
        bound = best(found(spec, messages, 1, "one-port" if one_port else "all-port", root), "steps").value
        assert bound <= shortest_broadcast(graph, root, messages, one_port)


@pytest.mark.parametrize(
    ("spec", "messages", "least"),
    [("path:3", 1, 2), ("path:3", 2, 4), ("complete:3", 1, 2), ("complete:3", 2, 4), ("complete:4", 1, 2)],
)
def test_no_schedule_beats_the_bound_of_half_duplex(spec, messages, least):
    """With one port of half duplex; where the fewest steps are the bound, on complete networks, it is met."""
    graph, bound = graph_of(network(spec)), best(found(spec, messages, 1, "one-port,half", 0), "steps").value
    assert bound <= shortest_broadcast(graph, 0, messages, True, half=True) == least
    assert bound == least or spec == "path:3"


@pytest.mark.parametrize(
    ("nodes", "messages", "copies", "least"), [(64, 10, 2, 25), (64, 1, 1, 6), (5, 4, 3, 14), (2, 7, 1, 7)]
)
def test_copies_over_one_port(nodes, messages, copies, least):
    """The last node that hears anything hears x copies of M messages from then on."""
    bound = best(found(f"complete:{nodes}", messages, copies, "one-port", 0), "steps")
    assert bound.value == least
    assert bound.formula == "M x - 1 + ⌈log2 N⌉" or nodes == 2


def shortest_personal(graph, packets, one_port):
    """The least number of steps in which packets get from where they are to where they belong, by breadth-first search."""
    end = tuple(v for _, v in packets)
    front = {tuple(u for u, _ in packets)}
    seen, steps = set(front), 0
    while end not in front:
        following = set()
        for state in front:
            moves = [[u, *(graph[u] if u != v else ())] for u, v in zip(state, end, strict=True)]
            for after in product(*moves):
                used = [(u, v) for u, v in zip(state, after, strict=True) if u != v]
                ends = ({u for u, _ in used}, {v for _, v in used}) if one_port else (set(used),)
                if all(len(some) == len(used) for some in ends):
                    following.add(after)
        front = following - seen
        seen |= following
        steps += 1
    return steps


@pytest.mark.parametrize(("spec", "tight"), [("ring:3", 1), ("path:3", 2), ("tree:2,1", 2)])
@pytest.mark.parametrize("one_port", [False, True])
def test_no_alltoall_beats_the_bound(spec, tight, one_port):
    graph = graph_of(network(spec))
    least = shortest_personal(graph, [(u, v) for u, v in product(graph, graph) if u != v], one_port)
    assert steps("alltoall", spec, under="one-port" if one_port else "all-port") <= least
    assert one_port or least == tight == steps("alltoall", spec)


def shortest_sum(graph, root, back):
    """The least number of all-port steps until the root has the sum of all, and, with ``back``, all have heard of it.

    A state: what each node has added up, who has sent that on, and who knows the finished sum.
    """
    everyone = frozenset(graph)
    front, steps = {(tuple(frozenset([v]) for v in graph), frozenset(), frozenset())}, 0
    while True:
        informed = {(*state[:2], state[2] | {root}) if state[0][root] == everyone else state for state in front}
        if any(len(state[2]) == (len(graph) if back else 1) for state in informed):
            return steps
        following = set()
        for added, gone, known in informed:
            left = [v for v in graph if v != root and v not in gone]
            heard = known | {v for u in known for v in graph[u]}
            for targets in product(*([None, *graph[v]] for v in left)):
                going = {v: to for v, to in zip(left, targets, strict=True) if to is not None}
                after = [set(some) for some in added]
                for v, to in going.items():
                    after[to] |= added[v]
                following.add((tuple(map(frozenset, after)), gone | set(going), frozenset(heard)))
        front = following
        steps += 1


@pytest.mark.parametrize("spec", ["ring:3", "path:3", "path:4", "ring:4", "ring:5", "tree:2,1", "tree:3,1"])
def test_no_sum_beats_the_bound(spec):
    graph = graph_of(network(spec))
    for root in range(min(2, len(graph))):
        assert steps("reduce", spec, root=root) == shortest_sum(graph, root, back=False)
        assert steps("reduce-broadcast", spec, root=root) == shortest_sum(graph, root, back=True)


def test_arcs_that_lead_one_way_are_with_arcs_reversed():
    """In a ring of one-way arcs what is one arc ahead is far behind."""
    wheel = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    where = graph_from(wheel)
    for kind, expected in (("broadcast", 2), ("reduce", 3), ("scatter", 2), ("gather", 3), ("reduce-broadcast", 5)):
        assert best(bounds(Collective(kind, 4, 1), where, 1, model("all-port")), "steps").value == expected
    to_root = [nx.shortest_path_length(wheel, v, 0) for v in range(4)]
    gather = bounds(Collective("gather", 4, 5), where, 1, model("all-port"))
    assert best(gather, "transmissions").value == 5 * sum(to_root)
    for kind in COLLECTIVES:
        assert best(bounds(Collective(kind, 4, 1), where, 1, model("all-port,half")), "steps").value > 0


@pytest.mark.each(5)
@pytest.mark.parametrize(
    "spec", ["hypercube:2", "hypercube:3", "hypercube:4", "star:3", "star:4", "torus:3x3", "ring:5", "mesh:2x3"]
)
def test_copies_take_as_many_arcs_as_disjoint_ways_have(spec):
    graph = graph_of(network(spec))
    for copies in range(1, network(spec).degree_at(0) + 1):
        least = sum(shortest_ways(graph, 0, node, copies)[-1] for node in range(1, len(graph)))
        assert sends("scatter", spec, messages=7, copies=copies) == 7 * least
        if spec[0] == "h":
            d = network(spec).d
            assert least == sum(comb(d, h) * (copies * h + 2 * max(0, copies - h)) for h in range(1, d + 1))
        if network(spec).seen_alike:
            assert sends("alltoall", spec, messages=7, copies=copies) == 7 * len(graph) * least


STARS = {
    4: [62, 160, 282],
    5: [442, 1020, 1698, 2464],
    6: [3444, 7548, 12232, 17136, 22600],
    7: [29628, 63180, 100950, 139160, 179560, 223668],
}


@pytest.mark.parametrize("n", [4, 5, *(pytest.param(n, marks=pytest.mark.long) for n in (6, 7))])
def test_disjoint_ways_on_star_networks(n):
    for copies, least in enumerate(STARS[n], 1):
        assert sends("scatter", f"star:{n}", copies=copies) == least
        assert steps("alltoall", f"star:{n}", 5, copies) == -(-5 * least // (n - 1))


@pytest.mark.parametrize(
    "spec", ["star:4", "star:5", "hypercube:5", "torus:3x4", "ring:7", "mesh:3x4", "path:5", "tree:2,3"]
)
def test_distances_are_counted_right(spec):
    """A scatter sends as many chunks as all distances."""
    where = network(spec)
    every = np.arange(where.nodes)
    for root in (0, where.nodes - 1):
        assert sends("scatter", spec, root=root) == where.distance(root, every).sum()
    assert sends("alltoall", spec) == where.distance(every[:, None], every).sum()


def test_where_ways_are_too_many_to_search_for_only_their_first_arcs_count(monkeypatch):
    for spec in ("star:5", "torus:3x4", "mesh:3x4"):
        where = network(spec)
        every = np.arange(1, where.nodes)
        exact = [sends(kind, spec, copies=2) for kind in ("scatter", "alltoall")]
        with monkeypatch.context() as patch:
            patch.setattr(distances, "_MOST_SEARCHED", 0)
            distances.ways.cache_clear()
            lower_bounds._rungs.cache_clear()
            first = np.sort([1 + where.distance(w, every) for w in where.neighbors(0)], axis=0)
            assert sends("scatter", spec, copies=2) == first[:2].sum() <= exact[0]
            assert sends("alltoall", spec, copies=2) <= exact[1]
        distances.ways.cache_clear()
        lower_bounds._rungs.cache_clear()


def test_copies_need_as_many_ways_to_every_node():
    with pytest.raises(PlanError, match="2 copies need 2 disjoint paths, but 1 lead from 2 to 0 on path:5"):
        found("path:5", 1, 2, root=2, kind="scatter")


def test_what_is_known_of_single_messages():
    known = {
        "alltoall": {"hypercube:3": 4, "hypercube:4": 8, "hypercube:6": 32, "star:4": 21, "star:5": 111},
        "allgather": {
            "star:4": 8, "star:5": 30, "star:6": 144, "hypercube:5": 7, "hypercube:6": 11, "hypercube:9": 57,
            "torus:4x4x4": 11,
        },
    }  # fmt: skip
    for kind, figures in known.items():
        for spec, value in figures.items():
            assert steps(kind, spec) == value
            assert steps(kind, spec, messages=1000) >= 1000 * (value - 1)
    assert steps("allreduce", "star:4") == 16  # 2 N (N - 1) sends over N · 3 arcs, which is more than 8 + the diameter


@pytest.mark.parametrize("spec", ["hypercube:2", "hypercube:3", "hypercube:4", "star:3", "torus:3x3"])
def test_every_arc_is_needed_in_a_broadcast_of_most_copies(spec):
    """On the hypercube the trees of Johnsson & Ho are as shallow as can be."""
    where = network(spec)
    for messages in (1, 2, 7):
        bound = steps("broadcast", spec, messages, where.degree)
        assert bound == messages + where.diameter
        if spec[0] == "h":
            assert plan("broadcast", where, messages=messages, copies=where.degree).steps == bound


def test_a_sum_has_one_copy():
    for kind in ("reduce", "reduce-broadcast", "reduce-scatter", "allreduce"):
        with pytest.raises(PlanError, match="added twice"):
            found("star:4", 1, 2, kind=kind)
        assert verify(plan(kind, "star:4")).bounds
    with pytest.raises(PlanError, match="too many nodes"):
        found("tree:2,30", 1, 1, kind="scatter")


def test_large_networks_take_no_longer():
    assert sends("scatter", "star:13") == sum(k * c for k, c in enumerate(levels_of_star(13)))
    assert steps("scatter", "torus:1000x1000") == 250_000
    assert steps("allgather", "hypercube:40") > 2**34


def levels_of_star(n):
    """How many nodes are at each distance, from mean distance n + 2/n + H_n - 4 alone: Σ k · count is what is asked for."""
    from fractions import Fraction
    from math import factorial

    total = factorial(n) * (n + Fraction(2, n) + sum(Fraction(1, k) for k in range(1, n + 1)) - 4)
    return [0, total]


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["ring:4", "ring:5", "star:3", "hypercube:2", "hypercube:3", "torus:3x3"])
def test_no_disjoint_ways_are_shorter_than_the_bound_of_copies(spec):
    """The x disjoint paths to some node take, at best, as many steps as the longest of them has arcs."""
    graph = graph_of(network(spec))
    for copies in range(1, network(spec).degree + 1):
        needed = 0
        for node in range(1, len(graph)):
            ways = sorted(nx.all_simple_paths(graph, 0, node, cutoff=6 if len(graph) > 8 else None), key=len)
            best_of = [
                len(some[-1]) - 1
                for some in combinations(ways[:40], copies)
                if len({v for way in some for v in way[1:-1]}) == sum(len(way) - 2 for way in some)
                and len([way for way in some if len(way) == 2]) <= 1
            ]
            needed = max(needed, min(best_of))
        assert best(found(spec, 1, copies), "steps").value <= needed
    with pytest.raises(PlanError, match="disjoint paths"):
        found(spec, 1, network(spec).degree + 1)


def test_where_messages_combine_only_distance_counts():
    assert best(found("star:4", 400, 1, "shouting"), "steps").value == 4
    assert best(found("path:3", 1000, 1, "shouting"), "steps").value == 2
    assert best(found("star:4", 400, 1, "whispering"), "steps").value == 5  # 24 nodes: five doublings


@pytest.mark.parametrize(
    ("kind", "under", "copies", "fewest", "least"),
    [("broadcast", "shouting", 4, 5, 32), ("broadcast", "shouting", 3, 4, 24), ("broadcast", "shouting", 1, 4, 15),
     ("broadcast", "whispering", 4, 8, 32), ("broadcast", "whispering", 2, 6, 16), ("broadcast", "whispering", 1, 4, 15),
     ("allgather", "shouting", 4, 5, 512), ("allgather", "whispering", 4, 8, 512), ("allgather", "shouting", 1, 4, 240)],
)  # fmt: skip
def test_faults_to_survive_are_no_ways_where_messages_combine(kind, under, copies, fewest, least):
    """On Q_4: what has crossed a link need not cross it again, so x ways take fewer than x transmissions to each node."""
    assert steps(kind, "hypercube:4", 1, copies, under) == fewest
    assert sends(kind, "hypercube:4", 1, copies, under) == least
    assert sends(kind, "hypercube:4", 3, copies, under) == 3 * least
    schedule = plan(kind, "hypercube:4", copies=copies, model=under)
    assert schedule.transmissions >= least
    assert list(verify(schedule).bounds) == bounds(schedule.collective, schedule.network, copies, model(under))


def fewest_calls(graph, root, faults, steps):
    """Whether some schedule of calls, a matching of links a step, informs all in so many steps whatever links are cut."""
    links = sorted({(min(u, v), max(u, v)) for u, v in graph.edges})
    matchings = [
        some for size in range(1, len(graph) // 2 + 1) for some in combinations(links, size)
        if len({v for link in some for v in link}) == 2 * size
    ]  # fmt: skip
    largest = [some for some in matchings if not any(set(some) < set(other) for other in matchings)]
    for calls in product(largest, repeat=steps):
        for cut in combinations(links, faults):
            informed = {root}
            for some in calls:
                informed |= {w for u, v in some if (u, v) not in cut and informed & {u, v} for w in (u, v)}
            if len(informed) < len(graph):
                break
        else:
            return True
    return False


@pytest.mark.parametrize(("spec", "most"), [("hypercube:2", 2), ("complete:4", 3), ("ring:5", 2), ("complete:3", 2)])
def test_no_calls_survive_cut_links_in_fewer_steps(spec, most):
    graph = graph_of(network(spec))
    for copies in range(1, most + 1):
        bound = steps("broadcast", spec, 1, copies, "whispering")
        assert not fewest_calls(graph, 0, copies - 1, bound - 1)
    assert fewest_calls(graph_of(network("hypercube:2")), 0, 1, 4)


@pytest.mark.parametrize("d", range(2, 9))
def test_the_hypercube_against_faults(d):
    """Whispering: Fraigniaud's d + f + 1, and d without faults. Shouting: d, and d + 1 for f = d - 1."""
    for f in range(d):
        assert steps("broadcast", f"hypercube:{d}", 1, f + 1, "whispering") == (d + f + 1 if f else d)
        assert steps("broadcast", f"hypercube:{d}", 1, f + 1, "shouting") == d + (f == d - 1)


def test_transmissions_against_faults_that_are_open():
    """What docs/explanation/open.md lists of whispering on Q_6; shouting meets the bound for f = d - 1."""
    sent = [plan("broadcast", "hypercube:6", survive=f, model="whispering").transmissions for f in range(1, 6)]
    assert sent == [126, 189, 252, 315, 321]
    assert [sends("broadcast", "hypercube:6", 1, f + 1, "whispering") for f in range(1, 6)] == [64, 96, 128, 160, 192]
    assert plan("broadcast", "hypercube:6", survive=5, model="shouting").transmissions == 192


def test_what_is_drawn_has_the_bound_that_is_reported():
    for under in ("whispering", "shouting"):
        schedule = plan("allgather", "hypercube:3", survive=2, model=under)
        assert fewest_steps(schedule, None) == best(list(verify(schedule).bounds), "steps").value


def test_one_node_needs_nothing():
    assert [b.value for b in found("mesh:1", 5, 1)] == [0, 0]


def test_no_plan_is_faster_than_the_bound():
    for spec in ("star:4", "mesh:3x4", "torus:3x3", "tree:2,2", "hypercube:3"):
        where = network(spec)
        for root, messages in product((0, where.nodes - 1), (1, 5, 100)):
            schedule = plan("broadcast", where, root=root, messages=messages)
            assert schedule.steps >= best(found(spec, messages, 1, root=root), "steps").value


def test_bounds_of_lengths_where_arcs_lead_one_way():
    """Three nodes that each have an arc of their own to the root, which has one arc out: 4 steps do."""
    graph = nx.DiGraph([("a", "r"), ("b", "r"), ("c", "r"), ("r", "a"), ("a", "b"), ("a", "c")])
    where = graph_from(graph)
    root = where.node("r")
    flits = np.where(np.arange(4) == root, 0, 4)
    job = Collective("gatherv", 4, 1, root, lengths=Lengths.of(flits))
    assert best(bounds(job, where, 1, model("bufferless-multiport")), "steps").value == 4
    assert best(bounds(job, where, 1, model("bufferless")), "steps").value == 12
    assert best(bounds(job, where, 1, model("shouting")), "steps").value == 1


def test_bounds_of_lengths_under_wormhole_switching():
    mesh = network("mesh:2x2x2")
    for flits, steps, distance in (([0] * 8, 0, 0), ([0] * 7 + [4], 1, 1), ([0, 1, 1, 1, 0, 0, 0, 0], 2, 3)):
        found = bounds(Collective("scatterv", 8, 1, lengths=Lengths.of(flits)), mesh, 1, model("wormhole"))
        assert (best(found, "steps").value, best(found, "tcd").value) == (steps, distance)


def test_a_multicast_waits_for_the_ports_of_the_root():
    where = network("mesh:3x3")
    job = Collective("multicast", 9, 5, 0, (4, 8))
    assert best(bounds(job, where, 1, model("one-port")), "steps").value == 8
    assert best(bounds(job, where, 1, model("all-port")), "steps").value == 6


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 9])
def test_a_broadcast_on_a_complete_network_meets_the_bound_of_what_a_node_can_hear(nodes):
    """One message in the first step, N - 1 at most in each of the others."""
    for messages in range(1, 4 * nodes):
        report = verify(plan("broadcast", f"complete:{nodes}", messages=messages))
        least = 1 + -(-(messages - 1) // (nodes - 1))
        assert (report.steps, best(list(report.bounds), "steps").value) == (least, least)


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_what_a_node_can_hear_by_plain_loops(seed, messages):
    """Step by step, over each arc whose tail the first chunk can have reached."""
    graph = nx.gnp_random_graph(7, 0.5, seed=seed, directed=True)
    graph.add_edges_from((0, v) for v in range(1, 7) if not nx.has_path(graph, 0, v))
    where = graph_from(graph)
    far = nx.single_source_shortest_path_length(graph, 0)
    least = 0
    for v in range(1, 7):
        heard = step = 0
        while heard < messages:
            heard += sum(far[u] <= step for u in graph.predecessors(v))
            step += 1
        least = max(least, step)
    schedule = plan("broadcast", where, root=where.label(where.node("0")), messages=messages)
    assert least <= best(list(verify(schedule).bounds), "steps").value <= schedule.steps


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["ring:3", "path:3", "path:4", "star:3", "hypercube:2", "tree:2,1", "tree:3,1"])
@pytest.mark.parametrize("one_port", [False, True])
def test_no_scatter_beats_the_bound(spec, one_port):
    graph, under = graph_of(network(spec)), "one-port" if one_port else "all-port"
    for root in range(1 if spec == "star:3" else 2):
        if one_port and spec == "star:3":
            continue  # too many states
        to = [(root, v) for v in graph if v != root]
        least = shortest_personal(graph, to, one_port)
        assert steps("scatter", spec, under=under, root=root) <= least
        back = shortest_personal(graph, [(v, u) for u, v in to], one_port)
        assert steps("gather", spec, under=under, root=root) <= back == least


def shortest_allgather(graph, one_port):
    """The least number of steps until all hold all, one chunk each, by breadth-first search."""
    nodes, arcs = len(graph), list(graph.edges)
    front, steps = {tuple(1 << v for v in range(nodes))}, 0
    while not any(all(held == (1 << nodes) - 1 for held in state) for state in front):
        following = set()
        for state in front:
            choices = [[c for c in range(nodes) if state[u] & ~state[v] & 1 << c] for u, v in arcs]
            choices = [[*some, *([None] if one_port or not some else [])] for some in choices]
            for picked in product(*choices):
                used = [arc for arc, c in zip(arcs, picked, strict=True) if c is not None]
                if one_port and (len({u for u, _ in used}) < len(used) or len({v for _, v in used}) < len(used)):
                    continue
                after = list(state)
                for (_, v), c in zip(arcs, picked, strict=True):
                    after[v] |= 0 if c is None else 1 << c
                following.add(tuple(after))
        front = following
        steps += 1
    return steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "tight"), [("ring:3", 1), ("path:3", 2), ("hypercube:2", 2), ("tree:2,1", 2), ("ring:4", 2)]
)
@pytest.mark.parametrize("one_port", [False, True])
def test_no_allgather_beats_the_bound(spec, tight, one_port):
    least = shortest_allgather(graph_of(network(spec)), one_port)
    for kind in ("allgather", "reduce-scatter"):
        assert steps(kind, spec, under="one-port" if one_port else "all-port") <= least
        assert one_port or least == tight == steps(kind, spec)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COLLECTIVES)
def test_less_room_never_lowers_a_bound(kind):
    for spec in ("star:4", "hypercube:3", "mesh:2x3", "ring:5"):
        for messages in (1, 4):
            full = steps(kind, spec, messages)
            assert full <= steps(kind, spec, messages, under="all-port,half")
            assert full <= steps(kind, spec, messages, under="one-port")
            assert steps(kind, spec, messages, under="shouting") <= full
        assert all(steps(kind, spec, under=name) <= steps(kind, spec, under=f"{name},half") for name in MODELS)
    assert steps("allgather", "ring:5", under="whispering") == 4  # 5 nodes: one has no partner, then three doublings
