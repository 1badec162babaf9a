"""What copies claim, sweeps and plain replays confirm: every set of fewer faults than copies does no harm."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from math import comb
from multiprocessing import get_context
from random import Random

import pytest

from tests.oracles.plain import all_sends_of, lost_under
from treecast.errors import FaultError
from treecast.files import formats
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

SPREADING = ("broadcast", "scatter", "gather", "allgather", "alltoall")


def over_trees(kind, spec, copies, messages=1):
    return plan(kind, spec, messages=messages, copies=copies, builder="disjoint-trees")


def elements(schedule, kind):
    nodes = schedule.network.nodes - (not schedule.collective.all_source)
    arcs = schedule.network.nodes * schedule.network.ports
    return {"nodes": nodes, "arcs": arcs, "nodes+arcs": nodes + arcs}[kind]


def survives(kind, spec, what, copies, messages=1):
    schedule = over_trees(kind, spec, copies, messages)
    found = sweep(schedule, kind=what)
    assert found.holds, (kind, spec, copies, found.counterexample)
    assert found.exhaustive
    assert found.sets == sum(comb(elements(schedule, what), size) for size in range(copies))


@pytest.mark.each(2)
@pytest.mark.parametrize("what", ["nodes", "arcs", "nodes+arcs"])
@pytest.mark.parametrize("spec", ["star:3", "star:4", "hypercube:2", "hypercube:3"])
@pytest.mark.parametrize("kind", SPREADING)
def test_every_set_of_fewer_faults_than_copies_does_no_harm(kind, spec, what):
    for copies in range(1, int(spec[-1]) + spec.startswith("hypercube")):
        for messages in (1, 2):
            survives(kind, spec, what, copies, messages)


@pytest.mark.parametrize(("what", "copies"), [("nodes", 4), ("arcs", 3), ("nodes+arcs", 3)])
@pytest.mark.parametrize("kind", SPREADING)
def test_every_set_of_faults_on_the_hypercube_of_16_nodes(kind, what, copies):
    survives(kind, "hypercube:4", what, copies)


@pytest.mark.parametrize("spec", ["star:4", "hypercube:3"])
@pytest.mark.parametrize("kind", SPREADING)
def test_as_many_faults_as_copies_do_harm(kind, spec):
    """So a sweep can fail; and the set that it shows fails in a plain replay too."""
    for copies in (1, 2):
        schedule = over_trees(kind, spec, copies, 2)
        for what in ("nodes", "arcs"):
            found = sweep(schedule, copies, what)
            if kind == "broadcast" or not found.holds:
                assert not found.holds
                lost = lost_under(
                    schedule, all_sends_of(schedule), found.counterexample.nodes, found.counterexample.arcs
                )
                assert (found.node, found.chunk) in lost
            assert not (what == "arcs" and found.holds)


@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("kind", "spec", "copies"),
    [(kind, spec, 2) for kind in SPREADING for spec in ("star:4", "hypercube:3")]
    + [("allgather", "star:4", 3), ("alltoall", "star:4", 3), ("alltoall", "hypercube:4", 3), ("scatter", "star:5", 4)],
)
def test_plain_replays_of_random_sets_say_the_same(kind, spec, copies):
    """Both ways: sets that are survived, and larger ones, of which some are not."""
    schedule = over_trees(kind, spec, copies)
    assert verify(schedule).holds
    network, sends, random = schedule.network, all_sends_of(schedule), Random(7)
    nodes = [v for v in range(network.nodes) if schedule.collective.all_source or v != schedule.collective.root]
    arcs = [(v, port) for v in range(network.nodes) for port in range(network.ports)]
    for _ in range(6):
        chosen = random.sample([*nodes, *arcs], copies - 1)
        dead = [e for e in chosen if not isinstance(e, tuple)], [e for e in chosen if isinstance(e, tuple)]
        assert not lost_under(schedule, sends, *dead)
    assert any(lost_under(schedule, sends, random.sample(nodes, copies + 2)) for _ in range(20))


@pytest.mark.parametrize("kind", SPREADING)
def test_sweeps_count_what_plain_replays_count(kind):
    for copies in (1, 2):
        schedule = over_trees(kind, "star:3", copies, 2)
        sends, nodes = all_sends_of(schedule), [v for v in range(6) if schedule.collective.all_source or v]
        pairs = [(a, b) for a in nodes for b in nodes if a < b]
        failing = sum(bool(lost_under(schedule, sends, dead)) for dead in [(), *((v,) for v in nodes), *pairs])
        assert sweep(schedule, 2, keep_going=True).failing == failing
        arcs = [(v, port) for v in range(6) for port in range(2)]
        pairs = [(a, b) for a in arcs for b in arcs if a < b]
        failing = sum(bool(lost_under(schedule, sends, (), dead)) for dead in [(), *((a,) for a in arcs), *pairs])
        assert sweep(schedule, 2, "arcs", keep_going=True).failing == failing > 0


@pytest.mark.parametrize("kind", ["reduce", "reduce-scatter"])
def test_a_sum_survives_no_fault(kind):
    """A dead arc loses all the sums that go over it, at their owners; no sweep says otherwise."""
    schedule = plan(kind, "star:4" if kind == "reduce" else "star:3", messages=5)
    over = {}
    for _, src, _, port, _, chunk, *_ in all_sends_of(schedule):
        over.setdefault((src, port), set()).add(chunk)
    for arc, chunks in over.items():
        lost = simulate(schedule, Faults(arcs={arc: 0})).lost
        assert {chunk for _, a, b in lost for chunk in range(a, b)} == chunks
        assert all(v == (0 if kind == "reduce" else a // 5) for v, a, _ in lost)
    for most in (None, 1):
        with pytest.raises(FaultError, match=r"^a sum has one copy[^\n]*$"):
            sweep(schedule, most)


def found_of(swept):
    return replace(swept, seconds=0.0), swept.counterexample, swept.lying


CASES = [
    ("broadcast", "star:4", {"copies": 2}, {"most": 4}),  # fails late
    ("broadcast", "star:4", {"copies": 2}, {"most": 4, "keep_going": True}),
    ("broadcast", "star:4", {"copies": 2}, {"most": 3, "sample": 30_000, "seed": 5, "keep_going": True}),
    ("allgather", "hypercube:3", {"copies": 3}, {"kind": "nodes+links"}),
    ("broadcast", "hypercube:4", {"copies": 4}, {"liars": 1, "most": 1}),
    ("broadcast", "hypercube:4", {"copies": 4}, {"liars": 2, "most": 1}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[3]}")
def test_a_sweep_finds_the_same_whoever_does_the_work(case):
    kind, spec, options, how = case
    schedule = plan(kind, spec, **options)
    alone = found_of(sweep(schedule, **how))
    for workers in (1, 2, 4):
        with ThreadPoolExecutor(workers) as executor:
            assert found_of(sweep(schedule, **how, executor=executor)) == alone


def test_a_sweep_ends_with_the_block_of_the_first_that_fails():
    schedule = plan("broadcast", "star:4", copies=2)
    told = []
    found = sweep(schedule, 4, progress=lambda *report: told.append(report))
    assert (found.failing, found.exhaustive) == (61, False)  # of all sets of two nodes, which are one block
    assert found.sets == 1 + 23 + 253
    assert told[-1] == (277, 1 + 23 + 253 + 1771 + 8855, "fault sets")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("allgather", "nodes+arcs"),
        *(pytest.param("allgather", what, marks=pytest.mark.long) for what in ("nodes", "arcs")),
        *(pytest.param("alltoall", what, marks=pytest.mark.long) for what in ("nodes", "arcs", "nodes+arcs")),
    ],
)
def test_a_sample_of_sets_of_three_faults_on_the_star_of_120_nodes(kind, what):
    found = sweep(over_trees(kind, "star:5", 4), kind=what, sample=100_000, seed=5)
    assert found.holds
    assert found.sets == 100_000


@pytest.mark.slow
def test_processes_find_the_same():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for kind, spec, options, how in CASES[1:2] + CASES[-1:]:
            schedule = plan(kind, spec, **options)
            assert found_of(sweep(schedule, **how, executor=executor)) == found_of(sweep(schedule, **how))


@pytest.mark.slow
def test_what_workers_are_told_in_vain_is_refused(ask, tmp_path):
    file = str(tmp_path / "x2.tc")
    formats.save(plan("broadcast", "star:4", copies=2), file)
    status, out, err = ask("verify", file, "--workers", "2")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--workers says how to sweep" in err
    status, out, err = ask("verify", file, "--sweep", "nodes", "--workers", "0")
    assert (status, out, err.count("\n")) == (2, "", 1)
    one, two = (ask("verify", file, "--sweep", "nodes", "--most", "2", "--workers", n) for n in "12")
    assert one[0] == two[0] == 1
    assert [line for line in one[1].splitlines() if "fail" in line] == [
        line for line in two[1].splitlines() if "fail" in line
    ]


@pytest.mark.long
@pytest.mark.parametrize("kind", SPREADING)
def test_every_set_of_three_nodes_and_arcs_on_the_hypercube_of_16_nodes(kind):
    survives(kind, "hypercube:4", "nodes+arcs", 4)
