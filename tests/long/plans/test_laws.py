"""Laws between collectives: no plan takes more steps than another one that does its work."""

import pytest

from tests.plans.test_laws import FEW, check, check_copies, check_links, where_of

MANY = [
    "hypercube:3", "complete:4", "torus:3x3", "tree:2,3", "hyperx:2x3", "petersen", "kautz:2,2", "ring:5", "mesh:3x3",
    "fat-tree:4", "dragonfly:2,1", "tree:3,2", "path:8", "nvswitch", "slurm", "rails",
    "relays", *(f"random{seed}" for seed in range(1, 6)),
]  # fmt: skip


@pytest.mark.parametrize("messages", [1, 2, 5])
@pytest.mark.parametrize("name", FEW + MANY)
def test_no_collective_on_any_network_takes_more_steps_than_others(name, messages):
    check(where_of(name), messages, few=False)


@pytest.mark.parametrize("messages", [1, 3])
@pytest.mark.parametrize(
    "name", ["mesh:2x3", "hypercube:3", "star:3", "mesh:3x3", "debruijn:2,2", "hyperx:2x3", "circulant:7,1,2", "random"]
)
def test_more_cables_are_never_slower_on_more_networks(name, messages):
    check_links(where_of(name), messages)


@pytest.mark.parametrize("messages", [1, 2, 5])
@pytest.mark.parametrize(
    "name", ["star:4", "hypercube:4", "torus:3x3", "complete:6", "petersen", "hyperx:2x3", "mesh:3x3"]
)
def test_more_copies_are_never_faster_on_more_networks(name, messages):
    check_copies(where_of(name), messages)
