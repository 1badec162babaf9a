from tests.networks.test_flows import random_graphs
from tests.plans.whole.all_port.test_packed_trees import PETERSEN
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def test_verified_is_claimed_is_expanded_on_random_graphs():
    for where, root in random_graphs(15, 8, seed=7):
        for messages in (1, 2, 5):
            schedule = plan("broadcast", where, root=root, messages=messages, builder="packed-trees")
            report = verify(schedule)
            assert report.holds, report.violations
            assert verify(schedule, method="expanded").holds
            assert (report.steps, report.transmissions) == (schedule.claims.steps, messages * (where.nodes - 1))
            assert report.steps >= best(schedule_bounds(schedule), "steps").value
            backwards = plan("reduce", where, root=root, messages=messages, builder="packed-trees")
            assert verify(backwards).holds


def test_copies_survive_every_node_and_link():
    for where, root in [
        (PETERSEN, 3),
        (network("mesh:3x3"), 0),
        (network("kautz:2,3"), 1),
        *random_graphs(10, 9, seed=8),
    ]:
        most = fewest_ways(where, root, nodes=True).ways
        for copies in {1, 2, most} - set(range(most + 1, 3)):
            schedule = plan("broadcast", where, root=root, messages=5, copies=copies)
            report = verify(schedule)
            assert report.holds, report.violations
            assert verify(schedule, method="expanded").holds
            if copies == 2:
                assert sweep(schedule, 1, "nodes").holds
                assert sweep(schedule, 1, "links").holds
