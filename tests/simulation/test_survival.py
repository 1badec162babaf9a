"""How likely a loss is: against every set replayed one by one, and whatever spreads the work."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import chain, combinations
from math import comb, prod
from multiprocessing import get_context

import numpy as np
import pytest

import treecast
from treecast.errors import FaultError
from treecast.plans import plan
from treecast.simulation.fault_sets import FaultSets
from treecast.simulation.losses import Curves
from treecast.simulation.replay import simulate
from treecast.simulation.spreading import _do, _kept, spread
from treecast.simulation.strata import elements_of
from treecast.simulation.survival import reliability

PAPER = {"builder": "disjoint-trees", "trees": "paper"}


def star(copies):
    return plan("broadcast", "star:4", copies=copies, **PAPER)


@pytest.mark.parametrize(
    ("copies", "harmful", "loss"),
    [
        (1, [0, 16, 226, 1698, 8702], "0.148024"),
        (2, [0, 0, 64, 913, 6297], "0.00598346"),
        (3, [0, 0, 0, 131, 1992], "0.000124813"),
    ],
)
def test_the_sets_that_do_harm_to_the_papers_trees(copies, harmful, loss):
    found = reliability(star(copies), 0.01, sets=100_000)
    assert [harm.harmful for harm in found.harms[:5]] == harmful
    assert [harm.stratum.sets for harm in found.harms[:5]] == [comb(23, s) for s in range(5)]
    assert f"{found.loss.estimate:.6g}"[:8] == loss[:8]
    assert found.loss.low <= float(loss) * (1 + 1e-5)
    assert found.loss.high >= float(loss) * (1 - 1e-5)


def every_set(schedule, chances):
    """Return the loss and the share that is not served, replaying every set of faults one by one."""
    parts = [(FaultSets(schedule, kind), each) for kind, each in chances.items()]
    elements = [(sets, e, each(sets, e)) for sets, each in parts for e in range(sets.elements)]
    wants = set(schedule.part.wanted().node.tolist())
    loss = unserved = 0.0
    for chosen in chain.from_iterable(combinations(range(len(elements)), size) for size in range(len(elements) + 1)):
        likely = prod(p if i in chosen else 1 - p for i, (_, _, p) in enumerate(elements))
        if not likely:
            continue
        faults = treecast.Faults()
        for i in chosen:
            more = elements[i][0].faults((elements[i][1],))
            faults = treecast.Faults({**faults.nodes, **more.nodes}, {**faults.arcs, **more.arcs})
        trace = simulate(schedule, faults)
        lacking, living = {v for v, _, _ in trace.lost}, wants - set(faults.nodes)
        loss += likely * bool(lacking)
        unserved += likely * len(lacking) / max(1, len(living))
    return loss, unserved


@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("kind", "spec", "asked"),
    [
        ("broadcast", "ring:4", {"copies": 2}),
        ("scatter", "path:4", {"messages": 2}),
        ("gather", "ring:4", {}),
        ("allgather", "ring:4", {"copies": 2}),
        ("multicast", "mesh:2x2", {"model": "wormhole", "targets": ["0,1", "1,1"]}),
        ("broadcast", "hypercube:2", {"model": "whispering", "survive": 1}),
    ],
)
@pytest.mark.parametrize("chances", [(0.1, 0.0, 0.0), (0.0, 0.3, 0.0), (0.2, 0.05, 0.0)])
def test_all_sets_one_by_one_say_the_same(kind, spec, asked, chances):
    schedule = plan(kind, spec, **asked)
    given = {k: p for k, p in zip(("nodes", "links", "arcs"), chances, strict=True) if p}
    loss, unserved = every_set(schedule, {k: lambda sets, e, p=p: p for k, p in given.items()})
    found = reliability(schedule, *chances)
    assert found.exact
    assert found.loss.estimate == pytest.approx(loss, rel=1e-9)
    assert found.unserved.estimate == pytest.approx(unserved, rel=1e-9)
    assert found.loss.low - 1e-15 <= loss <= found.loss.high + 1e-12


def test_nodes_that_are_not_alike():
    schedule = plan("broadcast", "ring:6", copies=2)
    each = {1: 0.5, 2: 0.01, 4: 1.0, 5: 0.2}
    loss, unserved = every_set(schedule, {"nodes": lambda sets, e: each.get(int(sets.node[e]), 0.0)})
    found = reliability(schedule, {str(v): p for v, p in each.items()} | {"0": 0.7})  # the root does not fail
    assert found.loss.estimate == pytest.approx(loss, rel=1e-9)
    assert found.unserved.estimate == pytest.approx(unserved, rel=1e-9)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
def test_sets_are_drawn_as_likely_as_they_are(size):
    schedule = plan("broadcast", "ring:6")
    elements = elements_of(schedule, {"nodes": {1: 0.5, 2: 0.01, 3: 0.3, 4: 0.3, 5: 0.2}})
    sets, weights = elements.sets((size,), 0, comb(5, size))
    assert weights.sum() == pytest.approx(1)
    p = elements.groups[0].probability
    exact = np.array([np.prod(np.where(np.isin(np.arange(5), one), p, 1 - p)) for one in sets])
    assert weights == pytest.approx(exact / exact.sum())
    drawn = elements.draw(np.random.default_rng(4), (size,), 20_000)
    seen = {tuple(sorted(one)): 0 for one in sets.tolist()}
    for one in drawn.tolist():
        seen[tuple(sorted(one))] += 1
    for count, likely in zip(seen.values(), weights.tolist(), strict=True):
        assert abs(count - 20_000 * likely) <= 5 * (20_000 * likely * max(0.0, 1 - likely)) ** 0.5 + 1e-9


def test_sets_of_nodes_and_links_are_all_pairs():
    schedule = plan("broadcast", "ring:5")
    elements = elements_of(schedule, {"nodes": 0.1, "links": 0.1})
    total = comb(4, 2) * comb(5, 3)
    parts = [elements.sets((2, 3), a, min(a + 7, total))[0] for a in range(0, total, 7)]
    seen = {tuple(one) for part in parts for one in part.tolist()}
    assert seen == {(*a, *b) for a in combinations(range(4), 2) for b in combinations(range(4, 9), 3)}


def test_every_number_of_faults_has_its_interval():
    """It holds the truth, also of those that are seldom drawn; so a curve says what can be said of other probabilities."""
    schedule = star(2)
    exact = reliability(schedule, 0.05)
    truth = {harm.stratum.faults: harm.shares.estimate for harm in exact.harms if harm.how == "all"}
    for likely, sets in ((0.05, 2560), (0.05, 100_000), (0.2, 60_000), (0.05, 300)):
        found = reliability(schedule, likely, sets=sets, seed=1)
        assert found.tried <= sets
        assert {harm.how for harm in found.harms} == {"all", "drawn"}
        for harm in found.harms:
            if harm.stratum.faults in truth:
                assert harm.shares.low <= truth[harm.stratum.faults] <= harm.shares.high
        for factor in (0.1, 0.5):
            low, _, high = found.loss_times(factor)
            again = reliability(schedule, likely * factor, sets=100_000)
            assert low <= again.loss.high
            assert again.loss.low <= high


class Counts:
    """An executor's worker that has been sent nothing yet, and counts what is sent to it."""

    def __init__(self):
        self.sent = 0

    def submit(self, function, name, task, packed):
        from concurrent.futures import Future

        self.sent += packed is not None
        future = Future()
        future.set_result(function(name, task, packed))
        return future


def test_work_is_sent_once_to_a_worker(monkeypatch):
    _kept.clear()
    executor = Counts()
    executor._max_workers = 1
    assert spread(len, ["a", "bb", "ccc"] * 20, executor) == [1, 2, 3] * 20
    assert executor.sent == 1
    assert _do(b"unknown", "a", None) is None
    _kept.clear()
    executor._max_workers = 0


def test_more_likely_faults_are_the_same_table():
    schedule = star(2)
    found = reliability(schedule, 0.01, 0.001, sets=10_000)
    for factor in (0.1, 1.0, 3.0):
        again = reliability(schedule, 0.01 * factor, 0.001 * factor, sets=10_000)
        low, _, high = found.loss_times(factor)
        assert low <= again.loss.high
        assert again.loss.low <= high
    exact = reliability(schedule, 0.01)
    assert exact.loss_times(0.5).estimate == pytest.approx(reliability(schedule, 0.005).loss.estimate, rel=1e-12)


def test_slopes_are_the_copies():
    curves = Curves(tuple(reliability(star(x), 0.01, sets=5000) for x in (1, 2, 3)), ("1", "2", "3"))
    for place, one in enumerate(curves.found):
        low, high = (one.loss_times(factor).estimate for factor in (0.001, 0.01))
        assert np.log10(high / low) == pytest.approx(place + 1, abs=0.01)
        assert one.fewest == place + 1


def test_what_is_proven_is_not_replayed():
    schedule = star(3)
    one, other = reliability(schedule, 0.01, sets=100_000), reliability(schedule, 0.01, sets=100_000, survives=2)
    assert one.loss.estimate == other.loss.estimate
    assert [harm.how for harm in other.harms[:3]] == ["proven"] * 3
    assert one.tried - other.tried == 1 + 23 + 253


def test_the_root_does_not_fail_but_any_node_of_an_allgather_does():
    assert len(elements_of(plan("broadcast", "ring:5"), {"nodes": 0.1}).node) == 4
    assert len(elements_of(plan("allgather", "ring:5"), {"nodes": 0.1}).node) == 5
    assert reliability(plan("broadcast", "ring:5"), 1.0).loss.estimate == 0.0  # nobody else lives
    assert reliability(plan("broadcast", "ring:5"), 0.0, 1.0).loss.estimate == 1.0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "nothing can fail"),
        ({"node_failure": 0.0}, "nothing can fail"),
        ({"node_failure": -0.1}, "-0.1 is no probability of all nodes: write a number from 0 to 1"),
        ({"link_failure": 1.5}, "1.5 is no probability of all links"),
        ({"arc_failure": float("nan")}, "nan is no probability of all arcs"),
        ({"node_failure": {"2": 2.0}}, "2.0 is no probability of 2"),
        ({"node_failure": {"9": 0.1}}, "9"),
        ({"node_failure": 0.1, "sets": 3}, "3 sets"),
        ({"node_failure": 0.1, "confidence": 1.0}, "confidence 1.0"),
        ({"node_failure": 0.1, "seed": -1}, "seed"),
    ],
)
def test_nonsense_is_refused_in_one_line(given, says):
    with pytest.raises(treecast.TreecastError, match=f"^[^\n]*{says}[^\n]*$"):
        reliability(plan("broadcast", "ring:5"), **given)


def test_sums_are_refused():
    with pytest.raises(FaultError, match="one copy"):
        reliability(plan("reduce", "ring:5"), 0.1)


def test_no_curve_where_nodes_are_not_alike():
    found = reliability(plan("broadcast", "ring:5"), {"1": 0.1, "2": 0.2})
    with pytest.raises(FaultError, match="one probability for all nodes"):
        found.loss_times(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("copies", "likely", "sets", "runs"),
    [(2, 0.05, 2560, 100), pytest.param(3, 0.02, 40_000, 600, marks=pytest.mark.long)],
)
def test_intervals_hold_the_truth(copies, likely, sets, runs):
    """In at least 95 of 100 runs; and they are not so wide that they would hold anything."""
    schedule = star(copies)
    truth, held, served = reliability(schedule, likely), 0, 0
    for seed in range(runs):
        found = reliability(schedule, likely, sets=sets, seed=seed)
        assert not found.exact
        assert found.loss.high - found.loss.low < 0.12 * truth.loss.estimate
        held += found.loss.low <= truth.loss.low <= truth.loss.high <= found.loss.high
        served += found.unserved.low <= truth.unserved.estimate <= found.unserved.high
    assert held >= 0.95 * runs
    assert served >= 0.95 * runs


def without_time(found):
    return [found.harms, found.pool, found.loss, found.unserved, found.tail]


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers", [2, pytest.param(1, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_the_result_is_the_same_for_any_number_of_workers(workers):
    schedule = plan("broadcast", "star:4", copies=2)
    alone = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3)
    assert not alone.exact
    assert without_time(reliability(schedule, 0.05, 0.01, sets=20_000, seed=4)) != without_time(alone)
    threads, processes = ThreadPoolExecutor(3), ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    for executor in (threads, processes):
        with executor:
            found = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3, executor=executor)
        assert without_time(found) == without_time(alone)
