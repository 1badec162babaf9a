import pytest

from treecast.plans import plan
from treecast.simulation.sweeps import sweep


@pytest.mark.parametrize("kind", ["arcs", "links", "nodes+arcs", "nodes+links"])
def test_arcs_and_links_do_no_more_harm_than_nodes(kind):
    for copies in (1, 2):
        assert sweep(plan("broadcast", "star:5", messages=6, copies=copies), kind=kind).holds
