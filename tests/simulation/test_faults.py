from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import everybody_served, replay
from tests.strategies import arbitrary
from treecast.collectives import Collective, Demand
from treecast.errors import FaultError, TreecastError
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.fault_sets import KINDS
from treecast.simulation.faults import Faults, parse_faults, random_faults, wanted
from treecast.simulation.sweeps import sweep


@pytest.mark.parametrize("n", [3, 4, pytest.param(5, marks=pytest.mark.long)])
def test_every_set_of_fewer_nodes_than_copies_does_no_harm(n):
    for copies in range(1, n):
        for messages in (1, n - 1, 2 * n + 1):
            found = sweep(plan("broadcast", f"star:{n}", messages=messages, copies=copies))
            nodes = network(f"star:{n}").nodes - 1
            assert found.holds
            assert found.exhaustive
            assert found.sets == sum(comb(nodes, size) for size in range(copies))


@pytest.mark.parametrize("kind", ["arcs", "links", "nodes+arcs", "nodes+links"])
def test_arcs_and_links_do_no_more_harm_than_nodes(kind):
    for n, most in ((3, 2), (4, 2)):
        for copies in range(1, most + 1):
            found = sweep(plan("broadcast", f"star:{n}", messages=n + 1, copies=copies), kind=kind)
            assert found.holds, found
    elements = {"arcs": 72, "links": 36, "nodes+arcs": 95, "nodes+links": 59}[kind]
    found = sweep(plan("broadcast", "star:4", messages=5, copies=3), kind=kind)
    assert found.holds
    assert found.sets == 1 + elements + comb(elements, 2)


@pytest.mark.parametrize("n", [3, 4, pytest.param(5, marks=pytest.mark.long)])
def test_as_many_faults_as_copies_can_do_harm_and_the_set_is_shown(n):
    for copies in range(1, n):
        schedule = plan("broadcast", f"star:{n}", messages=n - 1, copies=copies)
        found = sweep(schedule, most=copies)
        assert not found.holds
        assert len(found.counterexample) == copies
        arrival, _, _ = replay(schedule, found.counterexample.nodes)
        assert found.node not in found.counterexample.nodes
        assert (found.node, found.chunk) not in arrival


@given(arbitrary(), st.integers(0, 2))
def test_sweeps_count_what_plain_replays_count(schedule, most):
    inner = [v for v in range(schedule.network.nodes) if v != schedule.collective.root]
    sets = [dead for size in range(most + 1) for dead in combinations(inner, size)]
    failing = [dead for dead in sets if not everybody_served(schedule, dead)]
    found = sweep(schedule, most, keep_going=True)
    assert (found.sets, found.failing) == (len(sets), len(failing))
    assert sweep(schedule, most).holds == (not failing)
    if failing:
        assert tuple(sorted(found.counterexample.nodes)) == failing[0]


def test_sweeps_over_arcs_count_what_plain_replays_count():
    schedule = plan("broadcast", "star:3", messages=3, copies=2)
    network = schedule.network
    arcs = [(u, port) for u in range(6) for port in range(2)]
    failing = 0
    for size in range(3):
        for dead in combinations(arcs, size):
            arrival, _, _ = replay(schedule, arc_dies=dict.fromkeys(dead, 0))
            failing += len(arrival) < network.nodes * 3
    assert sweep(schedule, 2, "arcs", keep_going=True).failing == failing > 0


def test_samples_are_seeded_and_of_the_size_asked():
    schedule = plan("broadcast", "star:6", messages=5, copies=5)
    assert sweep(schedule, kind="nodes+links", sample=20_000, seed=3).holds
    less = plan("broadcast", "star:5", messages=4, copies=2)
    one, two = (sweep(less, 3, sample=50_000, seed=7, keep_going=True) for _ in range(2))
    assert (one.failing, one.counterexample) == (two.failing, two.counterexample)
    assert one.failing > 0
    assert not one.exhaustive
    assert len(one.counterexample) == 3
    assert sweep(less, 3, sample=50_000, seed=8, keep_going=True).failing != one.failing


def test_progress_counts_all_sets():
    told = []
    sweep(
        plan("broadcast", "star:5", messages=4, copies=4), progress=lambda done, total, what: told.append((done, total))
    )
    assert told[-1][0] == told[-1][1] == 280_960
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_allgather_needs_nothing_of_the_dead():
    from tests.schedule.test_schedule import rotation_of_ring

    ring = rotation_of_ring(5)  # one way only: any dead node cuts its own data and all that passes it
    found = sweep(ring, 1, keep_going=True)
    assert (found.sets, found.failing) == (6, 5)
    assert sweep(ring, 0).holds


@pytest.mark.parametrize(
    ("nodes", "links", "described"),
    [
        (["2134", "7@5"], [], ["2143@5", "2134"]),
        ([], ["1234-2134"], ["1234-2134"]),
        ([], ["1234>2134@9"], ["1234>2134@9"]),
        ([], ["0-6@2"], ["1234-2134@2"]),
        ([], ["1234>2134@2", "2134>1234"], ["1234>2134@2", "2134>1234"]),
    ],
)
def test_faults_as_people_write_them(nodes, links, described):
    star = network("star:4")
    assert sorted(parse_faults(star, nodes, links).describe(star)) == sorted(described)


def test_labels_that_hold_the_signs_of_links():
    import networkx as nx

    graph = network(nx.Graph([("a-b", "c>d"), ("c>d", "e")]))
    faults = parse_faults(graph, ["a-b@2"], ["a-b-c>d", "c>d>e@1"])
    assert faults.nodes == {graph.node("a-b"): 2}
    assert len(faults.arcs) == 3


@pytest.mark.parametrize(
    ("nodes", "links"),
    [(["9999"], []), (["2134@x"], []), (["@3"], []), ([], ["1234"]), ([], ["1234-1243-2134"]), ([], ["1234-1243@"]),
     ([], ["1234-2143"]), ([], ["1234>"]), (["2134@-1"], []), (["2134@9999999999999"], [])],
)  # fmt: skip
def test_faults_that_name_nothing_are_refused_in_one_line(nodes, links):
    with pytest.raises(TreecastError) as error:
        parse_faults(network("star:4"), nodes, links)
    assert "\n" not in str(error.value)


def test_random_faults():
    star = network("star:4")
    faults = random_faults(star, 5, seed=1, spare=[0])
    assert len(faults) == 5
    assert 0 not in faults.nodes
    assert faults == random_faults(star, 5, seed=1, spare=[0])
    assert faults != random_faults(star, 5, seed=2, spare=[0])
    assert len(random_faults(star, 23, seed=1, spare=[0])) == 23
    with pytest.raises(FaultError, match="a seed is"):
        random_faults(star, 1, seed=-1)
    for count in (24, -1):
        with pytest.raises(FaultError, match="choose 0 to 23"):
            random_faults(star, count, seed=1, spare=[0])


def test_sweeps_that_cannot_be_made_are_refused():
    schedule = plan("broadcast", "star:3", messages=2)
    for arguments in (
        {"most": 6},
        {"most": -1},
        {"kind": "ideas"},
        {"sample": 0, "most": 1},
        {"sample": 5},
        {"sample": 5, "most": 1, "seed": -1},
    ):
        with pytest.raises(FaultError, match=r"^[^\n]+$"):
            sweep(schedule, **arguments)
    assert set(KINDS) == {"nodes", "arcs", "links", "nodes+arcs", "nodes+links"}
    assert Faults().describe(schedule.network) == []


def test_samples_of_nearly_all_elements_come_to_an_end():
    schedule = plan("broadcast", "star:4", messages=3, copies=3)
    for most in (1, 20, 23):
        found = sweep(schedule, most, sample=100, keep_going=True)
        assert found.sets == 100
        assert found.holds == (most in (1, 23))


def test_a_sweep_that_stops_early_is_not_exhaustive():
    schedule = plan("broadcast", "star:4", messages=3)
    assert not sweep(schedule, 3).exhaustive
    assert sweep(schedule, 3, keep_going=True).exhaustive


def test_rows_that_leave_by_no_port_touch_no_arc():
    from treecast.collectives import Collective
    from treecast.models import model
    from treecast.schedule import Payloads, Rows, Schedule
    from treecast.simulation.replay import simulate

    for port in (30_000, -1, 2):
        columns = {"step": [0, 1], "steps": [1, 1], "src": [0, 1], "dst": [1, 2], "tree": [0, 0], "payload": [0, 0]}
        rows = Rows.of(Payloads.of([[(0, 1)]]), port=[port, 0], **columns)
        schedule = Schedule(network("path:3"), Collective("broadcast", 3, 1), model("all-port"), rows)
        trace = simulate(schedule)
        assert trace.delivered == 3
        assert trace.arc_load().sum() == 1
        assert sweep(schedule, 1, "arcs", keep_going=True).failing == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arcs", "links", "nodes+arcs", "nodes+links"])
def test_arcs_and_links_do_no_more_harm_than_nodes_at_length(kind):
    for copies in (1, 2):
        assert sweep(plan("broadcast", "star:5", messages=6, copies=copies), kind=kind).holds


def test_a_sum_whose_givers_are_all_dead_is_not_wanted():
    demand, where = Demand.of([([0, "+", 1], 2, 3), ([1, "+", 2], 3, 1), (0, 3, 2)]), network("complete:4")
    collective = Collective.of_demand(where, demand)
    # of sums, finished sums, and copies; a giver to the second sum lives
    assert collective.lost([0, 1]).tolist() == [True, False, True, False, True]
    assert collective.lost([]).tolist() == [False] * 5
    left = wanted(collective, parse_faults(where, ["0", "1"]))
    assert left.node.tolist() == [3]
    assert (left.stop - left.first).tolist() == [1]
