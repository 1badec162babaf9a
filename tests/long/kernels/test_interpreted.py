"""Every kernel does the same interpreted and compiled: on what small jobs give it, and on random input."""

import networkx as nx
import numpy as np
import pytest

from tests.kernels.test_interpreted import KERNELS, agree, listened
from tests.kernels.test_interpreted import tour as tour
from treecast.networks import network, permutations
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import split

LARGER = """
plan allgather star:4 --copies 2 --search 1
plan broadcast torus:5x5 --messages 90 --builder packed-trees
plan broadcast torus:5x5 --messages 9 --copies 2 --builder packed-trees
theorems star --up-to 4
theorems hypercube --up-to 3
"""


def test_larger_jobs(tour, tmp_path):
    calls, seen = listened([line.split() for line in LARGER.strip().split("\n")], tmp_path)
    assert {name: kinds for name, kinds in seen.items() if len(kinds | tour[1].get(name, kinds)) > 1} == {}
    for name, mine in calls.items():
        for arguments, *result in mine:
            agree(KERNELS[name], arguments, result)


@pytest.mark.parametrize("paper", [False, True])
def test_walks_up_the_trees_of_a_star(paper):
    agree(KERNELS["star.walk_trees"], (0, 24, permutations.place_values(4), 8, paper))


@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_ways(copies):
    arcs = split(arcs_of(network("star:4")))
    price, used = np.ones(len(arcs.head), np.int64), np.zeros(len(arcs.head), np.bool_)
    agree(KERNELS["disjoint_paths.arcs_of_paths"], (*arcs[:5], 24, 23, price, used, copies))


@pytest.mark.parametrize("bridges", [1, 2])
def test_worst_cuts_compiled(bridges):
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(7))
    graph.add_edges_from((i, 5 + i) for i in range(bridges))
    agree(
        KERNELS["cuts.worst_cut"],
        (*arcs_of(network(graph))[:5], np.arange(12), 11, 4, np.zeros(12, np.bool_)),
    )
