"""The bound by flight says what its theorem says. That no search beats it is in test_optimum, with all other bounds."""

from math import ceil

import networkx as nx
import pytest

import treecast
from treecast.collectives import Collective
from treecast.lower_bounds.doors import flight
from treecast.lower_bounds.job import Problem
from treecast.models import model


@pytest.mark.parametrize("spec", ["fat-tree:4", "ring:7", "torus:3x4", "hypercube:3", "slim-fly:5", "dragonfly:2,1,2"])
@pytest.mark.parametrize("messages", [1, 2, 6])
def test_it_is_no_less_than_the_mean_distance_says(spec, messages):
    where = treecast.network(spec)
    graph, ranks = where.to_networkx(), where.ranks.tolist()
    far = [
        d for u in ranks for v, d in nx.single_source_shortest_path_length(graph, u).items() if v in set(ranks) - {u}
    ]
    degree, mean = graph.out_degree(ranks[0]), sum(far) / len(far)
    (bound,) = flight(Problem(Collective.over(where, "alltoall", messages), where, 1, model("all-port")), [])
    exact = messages * (len(ranks) - 1) / degree + mean - 1
    assert ceil(round(exact, 9)) <= bound.value <= ceil(exact + 1)


@pytest.mark.parametrize(("spec", "least"), [("fat-tree:4", 20), ("fat-tree:8", 132), ("fat-tree:16", 1028)])
def test_fat_trees_meet_it(spec, least):
    schedule = treecast.plan("alltoall", spec)
    report = treecast.verify(schedule)
    assert report.holds
    assert report.method == "by symmetry"
    assert schedule.steps == least == max(bound.value for bound in report.bounds if bound.of == "steps")
