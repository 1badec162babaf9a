import pytest

from tests.plans.whole.all_port.test_priced_disjoint_paths import NETWORKS, takes
from treecast.lower_bounds import best, schedule_bounds
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
@pytest.mark.parametrize("name", list(NETWORKS))
def test_every_single_dead_node_and_link_is_survived(name, kind):
    where = NETWORKS[name]
    if (name, kind) in (("kautz:2,3", "alltoall"), ("random", "alltoall")):
        pytest.skip("swept in the long tests")
    schedule = plan(kind, where, messages=8, survive=1)
    assert schedule.recipe.builder == "disjoint-paths"
    report = verify(schedule)
    assert report.holds, report.violations
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    bound = best(schedule_bounds(schedule), "steps").value
    assert bound <= report.steps <= 1.35 * bound + 2
    assert sweep(schedule, 1, "nodes").holds
    assert sweep(schedule, 1, "links").holds


@pytest.mark.parametrize(
    ("spec", "model", "copies", "steps"),
    [("dragonfly:4,2", "all-port,half", 1, 34), ("mesh:4x4", "one-port,half", 2, 213)],
)
def test_links_and_ports_have_prices_on_machines_that_share_them(spec, model, copies, steps):
    takes(spec, model, copies, steps)
