"""Laws between collectives: no plan takes more steps than another one that does its work."""

from collections import Counter

import networkx as nx
import pytest

from tests.plans.whole.all_port.test_through_one_node import NVSWITCH, SLURM, hosts_of
from treecast import network, plan
from treecast.errors import PlanError

FEW = ["star:3", "mesh:2x3", "path:5", "tree:2,2", "debruijn:2,2", "circulant:7,1,2", "fat-tree:2", "random"]


def relays():
    """A random graph in which every third node is a relay."""
    graph = nx.connected_watts_strogatz_graph(9, 4, 0.5, seed=1)
    nx.set_node_attributes(graph, dict.fromkeys((0, 3, 6), True), "relay")
    return graph


def where_of(name):
    made = {"nvswitch": NVSWITCH, "slurm": SLURM, "relays": relays()}
    made["rails"] = nx.compose(
        hosts_of(3, 3), nx.relabel_nodes(hosts_of(3, 3), {f"switch{s}": f"rail{s}" for s in (0, 1)})
    )
    made["rails"].add_edges_from([("switch0", "switch1"), ("rail0", "rail1")])
    if name.startswith("random"):
        return network(nx.connected_watts_strogatz_graph(8, 4, 0.5, seed=int(name[6:] or 0)))
    return network(made.get(name, name))


def steps(kind, where, messages, root=None):
    return plan(kind, where, messages=messages, root=None if root is None else where.label(root)).steps


def roots(where, few):
    ranks = where.ranks.tolist()
    return ranks[:1] if where.seen_alike else ranks[:2] + ranks[-1:] if few else ranks


def check(where, messages, few):
    """Hold the collectives of a network against each other."""
    ranks, reverse = where.rank_count, where.reversed()
    allreduce, allgather = steps("allreduce", where, messages), steps("allgather", where, messages)
    scattered = steps("reduce-scatter", where, messages)
    assert allreduce <= scattered + allgather
    assert scattered == steps("allgather", reverse, messages)
    for root in roots(where, few):
        assert allreduce <= steps("reduce-broadcast", where, messages * ranks, root)
        out = steps("broadcast", where, messages * ranks, root)
        assert allgather <= steps("gather", where, messages, root) + out
        assert steps("reduce", reverse, messages * ranks, root) == out
        assert steps("gather", reverse, messages, root) == steps("scatter", where, messages, root)


KINDS = ("broadcast", "scatter", "allgather", "alltoall", "allreduce")


def cables_of(where):
    """The same network as a graph of networkx with capacities."""
    first, head, _ = where.arc_lists()
    count = Counter((u, v) for u in range(where.nodes) for v in head[first[u] : first[u + 1]].tolist())
    graph = (nx.Graph if where.both_ways else nx.DiGraph)()
    graph.add_nodes_from((u, {"relay": where.relays is not None and bool(where.relays[u])}) for u in range(where.nodes))
    graph.add_edges_from((u, v, {"capacity": many}) for (u, v), many in count.items())
    return graph


def check_links(where, messages):
    """Twice the capacity is never slower, and less a link never faster."""
    graph = cables_of(where)
    wide = graph.copy()
    nx.set_edge_attributes(wide, {(u, v): 2 * many for u, v, many in graph.edges(data="capacity")}, "capacity")
    whole = {kind: steps(kind, network(graph), messages) for kind in KINDS}
    for kind in KINDS:
        assert steps(kind, network(wide), messages) <= whole[kind], kind
    for u, v in graph.edges:
        left = graph.copy()
        left.remove_edge(u, v)
        if nx.is_strongly_connected(left) if left.is_directed() else nx.is_connected(left):
            for kind in KINDS:
                assert steps(kind, network(left), messages) >= whole[kind], (kind, u, v)


def check_copies(where, messages):
    """One more copy never takes fewer steps."""
    for kind in ("broadcast", "scatter", "allgather", "alltoall"):
        before = 0
        for copies in range(1, where.ports + 1):
            try:
                taken = plan(kind, where, messages=messages, copies=copies).steps
            except PlanError:
                break
            assert taken >= before, (kind, copies)
            before = taken


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("name", FEW)
def test_no_collective_takes_more_steps_than_others_that_do_its_work(name):
    check(where_of(name), 2, few=True)


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("name", ["ring:5", "path:5", "tree:2,2", "complete:4", "fat-tree:2"])
def test_more_cables_are_never_slower_and_more_copies_never_faster(name):
    check_links(where_of(name), 2)
    check_copies(where_of(name), 2)


MANY = [
    "hypercube:3", "complete:4", "torus:3x3", "tree:2,3", "hyperx:2x3", "petersen", "kautz:2,2", "ring:5", "mesh:3x3",
    "fat-tree:4", "dragonfly:2,1", "tree:3,2", "path:8", "nvswitch", "slurm", "rails",
    "relays", *(f"random{seed}" for seed in range(1, 6)),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("messages", [1, 2, 5])
@pytest.mark.parametrize("name", FEW + MANY)
def test_no_collective_on_any_network_takes_more_steps_than_others(name, messages):
    check(where_of(name), messages, few=False)


@pytest.mark.long
@pytest.mark.parametrize("messages", [1, 3])
@pytest.mark.parametrize(
    "name", ["mesh:2x3", "hypercube:3", "star:3", "mesh:3x3", "debruijn:2,2", "hyperx:2x3", "circulant:7,1,2", "random"]
)
def test_more_cables_are_never_slower_on_more_networks(name, messages):
    check_links(where_of(name), messages)


@pytest.mark.long
@pytest.mark.parametrize("messages", [1, 2, 5])
@pytest.mark.parametrize(
    "name", ["star:4", "hypercube:4", "torus:3x3", "complete:6", "petersen", "hyperx:2x3", "mesh:3x3"]
)
def test_more_copies_are_never_faster_on_more_networks(name, messages):
    check_copies(where_of(name), messages)
