"""What looks the same costs the same: from images of a source, with the sides in another order, on a torus, as a multicast."""

import pytest

from tests.papers.mesh.test_symmetry import cost
from treecast.networks import network


def test_a_torus_takes_the_shortest_of_what_is_found_from_the_best_sources():
    """On 5x21 the first one that local search makes shorter has 119, another one 118."""
    assert cost("broadcast", "torus:5x21") == cost("broadcast", "mesh:5x21", 49) == 118


def test_costs_that_once_differed():
    assert {cost("broadcast", "mesh:7x7x7", root) for root in ("0,0,0", "6,6,6", "6,0,6")} == {361}
    assert cost("broadcast", "mesh:9x12", "0,11") == cost("broadcast", "mesh:12x9", "0,0") == 131
    assert cost("broadcast", "mesh:9x12", "4,5") == cost("broadcast", "mesh:12x9", "6,4")
    assert (
        cost("broadcast", "torus:5x11")
        == cost("broadcast", "torus:11x5", 7)
        == cost("broadcast", "mesh:5x11", "2,5")
        == 59
    )
    assert cost("broadcast", "torus:2x3x5") == cost("broadcast", "torus:5x2x3", 11) == 29


@pytest.mark.parametrize("spec", ["torus:8x8", "torus:3x5", "mesh:4x5", "torus:6x4", "torus:5x5", "mesh:3x3x3"])
def test_a_multicast_to_all_is_a_broadcast(spec):
    where = network(spec)
    for root in (0, where.nodes // 3):
        everybody = [v for v in range(where.nodes) if v != root]
        assert cost("multicast", spec, root, targets=everybody) <= cost("broadcast", spec, root)
    assert cost("multicast", "torus:8x8", targets=list(range(1, 64))) == 69
