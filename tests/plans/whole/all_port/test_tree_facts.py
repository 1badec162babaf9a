"""What plan says of its trees beside what is measured."""

import json

import networkx as nx

from treecast.networks import network
from treecast.plans import facts, plan
from treecast.plans.whole.all_port.tree_facts import about_trees
from treecast.verification.verifier import verify


def lines(*job, **more):
    schedule = plan(*job, **more)
    return facts(schedule, verify(schedule).depth).lines


def test_trees_that_are_proved_to_be_the_least_deep():
    assert lines("broadcast", "torus:4x4x4", messages=600) == {
        "trees": "6 of 6 that share no arc",
        "paths": "6 that share no arc, to every node",
        "depth": "7: the least, proved",
    }


def test_trees_that_may_be_less_deep_and_copies():
    found = lines("reduce", "star:5", messages=400)
    assert found["depth"] == "8: at least 7"
    assert lines("broadcast", "star:5", copies=3)["apart"] == "the paths to a node share no other node, and no arc"


def test_packed_trees_say_their_seed_and_where_ways_are_fewest():
    where = nx.complete_graph(5)
    where.add_edges_from([(4, 5), (3, 5)])
    found = lines("broadcast", where, messages=50, builder="packed-trees", tree_seed=7)
    assert found["trees"] == "2 of 2 that share no arc"
    assert found["paths"] == "2 that share no arc, fewest to 5"
    assert found["seed"] == 7
    assert "seed" not in lines("broadcast", where, builder="packed-trees")


def test_nothing_is_known_of_what_no_builder_made_and_of_one_node():
    assert not facts(plan("broadcast", "star:4").select(slice(3)), 2).lines.get("apart")
    assert about_trees(network("path:1"), 0, 1, 0).lines == {}
    assert facts(plan("alltoall", "star:4"), 0).lines == {}


def test_plan_prints_them(capsys):
    from treecast.cli import main

    assert main(["plan", "broadcast", "torus:3x3", "--messages", "60", "--json"]) in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert (found["ways"], found["depth_lower_bound"], found["least_depth_proved"]) == (4, 3, True)
