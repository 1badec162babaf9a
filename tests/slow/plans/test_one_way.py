"""Collectives on networks whose arcs lead one way: de Bruijn, Kautz, and directed graphs; bounds against brute force."""

import numpy as np
import pytest

from tests.plans.test_one_way import KINDS, planned
from treecast.networks import network
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

SPECS = [*(f"debruijn:2,{k}" for k in range(1, 6)), *(f"debruijn:3,{k}" for k in range(1, 4)),
         *(f"kautz:2,{k}" for k in range(1, 5))]  # fmt: skip


@pytest.mark.each(19)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_root(spec, kind):
    where = network(spec)
    for root in where if where.nodes <= 32 else range(0, where.nodes, 7):
        schedule, report = planned(kind, where, root, 1 + root % 3)
        if where.nodes <= 9:
            assert verify(schedule, method="expanded").holds
            assert not simulate(schedule).lost
        arcs = set(where.to_networkx().edges)
        assert set(zip(schedule.rows.src.tolist(), schedule.rows.dst.tolist(), strict=True)) <= arcs
        # a shortest way to each node, or from it: where arcs lead one way these are different figures
        far = (
            where.distance(root, np.arange(where.nodes))
            if kind == "scatter"
            else where.distance(np.arange(where.nodes), root)
        )
        if kind in ("scatter", "gather"):  # a longer way may save a step
            assert report.transmissions >= (1 + root % 3) * int(far.sum())
            _, nearest = planned(kind, where, root, 1 + root % 3, "breadth-first-tree")
            assert nearest.transmissions == (1 + root % 3) * int(far.sum())
            assert report.steps <= nearest.steps
