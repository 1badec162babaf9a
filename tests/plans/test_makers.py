"""Every builder keeps the laws of those that make plans, on small networks that it is for."""

import pytest

from treecast.networks import past_relays
from treecast.plans import all_builders
from treecast.testing import check_machine, check_maker

pytestmark = pytest.mark.slow

SMALL = ["ring:4", "hypercube:3", "complete:5", "star:3"]
OTHERS = {
    "disjoint-trees": [*SMALL, "mesh:2x3", "torus:8x8"],
    "eyes": ["mesh:4x4"],
    "hamiltonian": ["hypercube:3", "path:5", "mesh:2x3"],
    "orbits": [*SMALL, "fat-tree:4"],
    "packed-trees": ["mesh:2x3", "fat-tree:4"],
    "periods": ["ring:5"],
    "priced-trees": [*SMALL, "path:4", "mesh:2x3", "fat-tree:4"],
    "shoulder-tap": ["path:5"],
    "walk": ["leaf-spine:3,2,3 past relays"],
}


@pytest.mark.parametrize("name", sorted({entry.name for entry in all_builders()}))
def test_every_builder_keeps_the_laws(name, monkeypatch):
    if name == "walk":  # small ones, though routes could join all pairs
        monkeypatch.setattr(past_relays, "_FEW_PAIRS", 1)
    messages = (40,) if name == "periods" else (1, 4)
    check_maker(name, OTHERS.get(name, SMALL), messages)


@pytest.mark.parametrize("machine", ["all-port", "one-port", "one-port,half", "whispering", "shouting"])
def test_every_machine_keeps_the_laws(machine):
    check_machine(machine)
