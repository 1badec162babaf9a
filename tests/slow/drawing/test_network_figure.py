"""The picture of a network: where nodes stand, which arcs lie over which links, and what is crossed out."""

import numpy as np
import pytest

from tests.drawing.explorer.test_network_view import rails
from treecast.drawing.figures.plan_view import PlanView, points_on
from treecast.networks import network


def through_nodes(view):
    """Return how many nodes all bent links run through."""
    low, high = np.array(list(view.bend)).T
    curves = view.curves(low, high, np.zeros(len(low)))
    met = 0
    for (u, v), curve in zip(view.bend, curves, strict=True):
        points = np.stack([points_on(curve[None], place)[0][0] for place in np.linspace(0.05, 0.95, 91)])
        others = np.delete(view.at, [u, v], axis=0)
        met += int((np.hypot(*(points[:, None] - others).transpose(2, 0, 1)) < view.radius).any(axis=0).sum())
    return met


@pytest.mark.parametrize("where", [rails(), network("star:5"), network("dragonfly:4,2")], ids=lambda where: where.spec)
def test_links_bend_to_the_side_with_fewer_nodes(where):
    view = PlanView.of(where, 0)
    right, left = (view._replace(bend={pair: side * abs(by) for pair, by in view.bend.items()}) for side in (1, -1))
    assert through_nodes(view) <= min(through_nodes(right), through_nodes(left))
    assert through_nodes(view) < max(through_nodes(right), through_nodes(left))
