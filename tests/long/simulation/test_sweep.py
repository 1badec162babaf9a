"""What copies claim, sweeps and plain replays confirm: every set of fewer faults than copies does no harm."""

import pytest

from tests.simulation.test_sweep import SPREADING, survives


@pytest.mark.parametrize("kind", SPREADING)
def test_every_set_of_three_nodes_and_arcs_on_the_hypercube_of_16_nodes(kind):
    survives(kind, "hypercube:4", "nodes+arcs", 4)
