"""Laws between collectives: no plan takes more steps than another one that does its work."""

import networkx as nx
import pytest

from tests.plans.test_through_one_node import NVSWITCH, SLURM, hosts_of
from treecast import network, plan

FEW = ["star:3", "mesh:2x3", "path:5", "tree:2,2", "debruijn:2,2", "circulant:7,1,2", "fat-tree:2", "random"]
MANY = [
    "hypercube:3", "complete:4", "torus:3x3", "tree:2,3", "hyperx:2x3", "petersen", "kautz:2,2", "ring:5", "mesh:3x3",
    "fat-tree:4", "dragonfly:2,1", "tree:3,2", "path:8", "nvswitch", "slurm", "rails",
    "relays", *(f"random{seed}" for seed in range(1, 6)),
]  # fmt: skip


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


@pytest.mark.parametrize("name", FEW)
def test_no_collective_takes_more_steps_than_others_that_do_its_work(name):
    check(where_of(name), 2, few=True)


@pytest.mark.long
@pytest.mark.parametrize("messages", [1, 2, 5])
@pytest.mark.parametrize("name", FEW + MANY)
def test_no_collective_on_any_network_takes_more_steps_than_others(name, messages):
    check(where_of(name), messages, few=False)
