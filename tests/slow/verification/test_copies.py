"""Copies against nodes, links and arcs: what is claimed, both verifiers and every single fault agree."""

from dataclasses import replace

import networkx as nx

from tests.networks.test_flows import random_graphs
from tests.verification.test_copies import BOW, agreed
from treecast import plan, sweep
from treecast.against import AGAINST, covers
from treecast.networks import network
from treecast.networks.flows import fewest_apart

KNOT = network(nx.compose(nx.complete_graph(4), nx.complete_graph(range(3, 7))))


def test_what_copies_are_against_is_judged_and_survived():
    judged = {True: 0, False: 0}
    for where, root in [(BOW, 0), (KNOT, 1), *random_graphs(8, 7, seed=31)]:
        for against in AGAINST:
            most = fewest_apart(where, root, against).ways
            if most < 2:
                continue
            schedule = plan(
                "broadcast", where, root=root, messages=3, copies=2, against=against, builder="packed-trees"
            )
            assert schedule.against == against
            for claimed in AGAINST:
                holds = agreed(replace(schedule, against=claimed))
                judged[holds] += 1
                assert holds or not covers(against, claimed)
                if holds:
                    assert sweep(replace(schedule, against=claimed)).holds
                    assert sweep(schedule, 1, claimed).holds
    assert judged[True] > 30
    assert judged[False] > 3
