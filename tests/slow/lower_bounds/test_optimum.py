"""No bound is above the optimum: on all small networks, one step less than a bound says cannot be done, as a search finds."""

import pytest

from tests.lower_bounds.test_optimum import KINDS, all_of, graph_of, graphs, possible
from tests.oracles.optimum import Place
from treecast import plan
from treecast.errors import TreecastError


@pytest.mark.parametrize("one_port", [False, True])
def test_on_the_smallest_networks(one_port):
    assert sum(all_of(graphs(nodes), nodes, one_port) for nodes in (2, 3)) > 50


@pytest.mark.each(5)
@pytest.mark.parametrize("kind", KINDS)
def test_the_search_forbids_nothing_that_a_plan_does(kind):
    """Else it would prove bounds that are wrong. What one step less than the plan needs it forbids, as a rule."""
    met = counted = 0
    for nodes in (2, 3, 4):
        for arcs in graphs(nodes):
            place = Place(nodes, arcs)
            for messages, copies in ((1, 1), (2, 1), (1, 2)):
                try:
                    schedule = plan(kind, graph_of(nodes, arcs), messages=messages, copies=copies)
                except TreecastError:
                    continue
                assert possible(kind, place, 0, messages, copies, schedule.steps), (sorted(arcs), messages, copies)
                met += not possible(kind, place, 0, messages, copies, schedule.steps - 1)
                counted += 1
    assert met > counted / 3
