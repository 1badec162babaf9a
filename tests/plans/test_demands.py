"""Plans of any demand: both judges accept them, no bound is above them, and their certificates hold by other means."""

import pytest

import treecast
from tests.demands.demands import FAMILIES, MACHINES, NETWORKS, by_chance, fewest_steps
from treecast.collectives import Demand
from treecast.lower_bounds.proof import proven
from treecast.lower_bounds.seconds import bound_seconds
from treecast.networks import network
from treecast.schedule.costs import Costs, seconds_by_events

CASES = [(where, machine, family) for where in NETWORKS for machine in MACHINES for family in FAMILIES]


def check(where, machine, family, seed):
    """Plan a demand by chance, and hold it against both judges, its bounds, their certificates, a replay, and its file."""
    rows = by_chance(network(where).rank_count, family, seed)
    schedule = treecast.plan(rows, where, model=machine)
    assert treecast.verify(schedule)
    assert treecast.verify(schedule, method="expanded")
    known = treecast.bounds(rows, where, model=machine)
    for bound in known:
        assert bound.value <= getattr(schedule, bound.of)
        if bound.certificate:
            job = schedule.collective, schedule.network, 1, schedule.model
            assert proven(bound.certificate, *job) == bound.value
    assert treecast.simulate(schedule).holds
    return schedule.steps, max(bound.value for bound in known if bound.of == "steps")


@pytest.mark.slow
@pytest.mark.each(12)
@pytest.mark.parametrize(("where", "machine", "family"), CASES)
def test_demands_by_chance_are_planned(where, machine, family):
    check(where, machine, family, len(where))


TINY = [
    (where, machine, seed)
    for where in ("path:3", "ring:3", "path:4", "tree:1,3")
    for machine in ("all-port", "all-port,half", "one-port", "one-port,half")
    for seed in range(12)
]


@pytest.mark.each(6)
@pytest.mark.parametrize(("where", "machine", "seed"), TINY)
def test_tiny_demands_take_the_fewest_steps_that_there_are(where, machine, seed):
    copies = by_chance(network(where).nodes, "copies", seed, most=2)
    least = fewest_steps(where, machine, copies)
    if least is None:
        pytest.skip("too many states to search")
    assert max(b.value for b in treecast.bounds(copies, where, model=machine) if b.of == "steps") <= least
    assert treecast.plan(copies, where, model=machine).steps == least
    back = [row for row in copies if not isinstance(row[0], list) or len(row[0]) == 1]
    if back and (fewest := fewest_steps(where, machine, back)) is not None:  # sums for one are these, backwards
        sums = Demand.of(back).on(network(where)).reversed()
        assert treecast.plan(sums, where, model=machine).steps == fewest


def test_a_file_has_its_demand(tmp_path):
    rows = [(["1234", "+", "2134"], "4231", 2), ("1234", ["2134", "4231"], 3)]
    schedule = treecast.plan(rows, "star:4", model="one-port")
    for name in ("plan.tc", "plan.tcb"):
        treecast.save(schedule, tmp_path / name)
        again = treecast.load(tmp_path / name)
        assert again == schedule
        assert again.collective == schedule.collective
    assert treecast.plan(treecast.job(schedule)).collective.demand == schedule.collective.demand


@pytest.mark.parametrize("machine", ["whispering", "one-port,ports=2,combining", "shouting"])
def test_demands_of_bytes_where_messages_combine_take_no_less_than_the_bound(machine):
    demand = [([3], [0, 2], 2), ([1], [0, 1], 1), ([1, "+", 2], [0, 4], 3)]
    cost = {"latency": "1us", "rate": "1GB/s"}
    schedule = treecast.plan(demand, "complete:5", model=machine, bytes=6000, **cost)
    costs, rows = Costs.of(**cost), {"block": schedule.sizes.chunk, "cost": Costs.of(**cost).default}
    bound = bound_seconds(schedule.collective, schedule.network, 1, schedule.model, **rows)
    assert bound.seconds <= seconds_by_events(schedule, costs)
    if schedule.model.room:  # a node hears six chunks
        heard = 6 // schedule.model.room * schedule.sizes.chunk
        assert bound.seconds == pytest.approx(bound.offset * 1e-6 + heard * 1e-9)


def test_a_copy_lives_as_long_as_one_of_its_holders():
    schedule = treecast.plan([([0, 4], [2], 1)], "ring:8")
    first, other = (treecast.simulate(schedule, [str(v)]) for v in (0, 4))
    assert first.holds != other.holds  # whoever was to give it; both have it
    alone = treecast.plan([(0, [2], 1)], "ring:8")
    assert treecast.simulate(alone, ["0"]).holds  # there never was anything to send


@pytest.mark.slow
def test_relays_pass_on_and_several_trainers_give():
    found = treecast.plan(treecast.demands.distribute("tp2", "tp1,dp14"), "fat-tree:4", model="one-port")
    assert treecast.verify(found)
    assert found.steps < 14 * 32 / 3  # straight, each of the two would send its half to 14


@pytest.mark.parametrize(
    ("where", "machine", "family"),
    [
        ("complete:8", "all-port", "copies"),
        ("petersen", "all-port", "sums for one"),
        ("mesh:3x4", "all-port", "copies"),
        ("fat-tree:4", "one-port", "copies"),
    ],
)
def test_prices_of_steps_prove_plans_that_all_other_bounds_leave_open(where, machine, family):
    rows = by_chance(network(where).rank_count, family, len(where))
    schedule = treecast.plan(rows, where, model=machine)
    (proof,) = [b for b in treecast.bounds(rows, where, model=machine) if b.source == "prices of steps"]
    assert proof.value == schedule.steps
    assert proven(proof.certificate, schedule.collective, schedule.network, 1, schedule.model) == schedule.steps


# Demands by chance on all networks and machines, several of each.


SEEDS = range(1, 3)


@pytest.mark.slow
@pytest.mark.each(6)
@pytest.mark.parametrize(("where", "machine", "family"), CASES)
def test_demands_by_chance_are_planned_at_length(where, machine, family):
    for seed in SEEDS:
        check(where, machine, family, seed)


@pytest.mark.slow
def test_all_machines_are_there():
    assert len(CASES) == 3 * len(NETWORKS) * len(MACHINES)
