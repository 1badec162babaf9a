"""Sparing schedules under faults: every set that they claim to survive, and what lies beyond."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles.plain import all_sends_of, replay_sparing, sends_that_took_place, tasks_of, wanted_of
from tests.papers.hypercube.test_dimension_order import KINDS, MODELS, without_the_last_step
from tests.strategies import arbitrary, examples, spread_at_random
from treecast.errors import TreecastError
from treecast.files import formats
from treecast.models import model
from treecast.plans import plan
from treecast.running.execution.local import run
from treecast.schedule import Rows
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.steps import NEVER
from treecast.verification.verifier import verify

long = pytest.mark.long


@cache
def planned(kind, d, k, model, initiator=None):
    """A plan, and every send of it."""
    schedule = plan(kind, f"hypercube:{d}", model=model, survive=k, initiator=initiator)
    return schedule, all_sends_of(schedule)


def links(d):
    return [(v, port) for v in range(1 << d) for port in range(d) if not v >> port & 1]


def both_ways(these, step=0):
    return {arc: step for v, port in these for arc in ((v, port), (v ^ (1 << port), port))}


def served(schedule, arrival, nodes):
    """Whether every node that never fails has the chunks of every source that never fails."""
    collective = schedule.collective
    source = collective.source_of(np.arange(collective.chunks)).tolist()
    living = [v for v in range(collective.nodes) if v not in nodes]
    return all((v, c) in arrival for v in living for c in range(collective.chunks) if source[c] not in nodes)


def served_by(trace):
    """The same, of a Trace."""
    collective, living = trace.schedule.collective, trace.living
    source = collective.source_of(trace.atoms.bounds[:-1])
    return not (trace.arrival[living[source]][:, living] == NEVER).any()


# --- faults from the start ---------------------------------------------------------------------------------------------


@pytest.mark.each(2)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("kind", "what", "d"),
    [("broadcast", "nodes", d) for d in range(1, 6)]
    + [("broadcast", "links", d) for d in range(1, 6)]
    + [("broadcast", "nodes+links", d) for d in range(1, 5)]
    + [("broadcast", "nodes+arcs", d) for d in range(1, 5)]
    + [("allgather", "nodes", d) for d in range(1, 5)]
    + [("allgather", "links", d) for d in range(1, 5)]
    + [("allgather", "nodes+links", d) for d in range(1, 5)]
    + [pytest.param("allgather", what, 5, marks=long) for what in ("nodes", "links")]
    + [pytest.param("broadcast", "nodes+links", 5, marks=long)],
)
def test_every_set_of_as_many_faults_as_it_survives(kind, what, d, model):
    for k in range(d):
        for root in (0, (1 << d) - 2) if kind == "broadcast" and d < 5 else (0,):
            schedule = plan(kind, f"hypercube:{d}", model=model, survive=k, root=root)
            found = sweep(schedule, k, what)
            assert found.holds, (k, found.counterexample)
            assert found.exhaustive


@pytest.mark.each(2)
@pytest.mark.parametrize("model", MODELS)
def test_every_set_of_as_many_faults_as_it_survives_started_by_one_node(model):
    for d in range(1, 4):
        for k in range(d):
            for initiator in (0, (1 << d) - 1):
                schedule = plan("allgather", f"hypercube:{d}", model=model, survive=k, initiator=initiator)
                assert sweep(schedule, k, "nodes+links").holds


@pytest.mark.parametrize("model", MODELS)
def test_nobody_sends_whom_nobody_started(model):
    """A dead initiator starts nobody. What others had to say is lost; and a node that it alone cannot reach is mute."""
    for d, k, initiator in ((2, 1, 3), (3, 2, 0), (3, 0, 5)):
        schedule = plan("allgather", f"hypercube:{d}", model=model, survive=k, initiator=initiator)
        dead = Faults({initiator: 0})
        trace, ran = simulate(schedule, dead), run(schedule, bytes(range(64)), dead)
        assert trace.transmissions == ran.transmissions == trace.delivered == len(ran.intact) == 0
        assert replay_sparing(schedule, {initiator: 0})[1] == []
        alone = initiator ^ ((1 << d) - 1)
        half = schedule.steps // 2
        cut = Faults({}, {(alone ^ 1 << port, port): 0 for port in range(d)})  # nothing comes in, but it could speak
        trace, ran = simulate(schedule, cut), run(schedule, bytes(range(64)), cut)
        sends = sends_that_took_place(trace)
        assert sends == replay_sparing(schedule, {}, cut.arcs)[1]
        assert ran.transmissions == len(sends)
        assert not [send for send in sends if send[1] == alone]
        assert [send for send in sends if send[0] >= half]
        assert trace.delivered == len(ran.intact) == 0  # all lack what it had to say


@pytest.mark.parametrize("model", MODELS)
def test_a_plain_replay_finds_the_same_when_one_node_starts_the_others(model):
    for d, k, most in ((2, 1, 3), (3, 1, 2)):
        schedule, sends = planned("allgather", d, k, model, 1)
        elements = [*(v for v in range(1 << d) if v != 1), *links(d)]
        failing = 0
        for size in range(most + 1):
            for these in combinations(elements, size):
                nodes = {e: 0 for e in these if not isinstance(e, tuple)}
                arrival, _ = replay_sparing(schedule, nodes, both_ways(e for e in these if isinstance(e, tuple)), sends)
                failing += not served(schedule, arrival, nodes)
        found = sweep(schedule, most, "nodes+links", keep_going=True)
        assert found.failing == failing > 0
        assert sweep(schedule, k, "nodes+links").holds


def test_what_an_initiator_needs():
    schedule = planned("allgather", 2, 1, "whispering", 1)[0]
    late = {"step": schedule.rows.step + 9 * (schedule.rows.payload == 0)}
    for wrong in (
        {"initiator": 4}, {"initiator": 2}, {"sparing": False}, {"rows": replace(schedule.rows, **late)},
    ):  # fmt: skip
        with pytest.raises(TreecastError, match=r"^[^\n]+$"):
            replace(schedule, claims=None, **wrong)
    with pytest.raises(TreecastError, match="only a sparing allgather"):
        replace(planned("allgather", 2, 1, "whispering")[0], initiator=0)


@long
@pytest.mark.parametrize("model", MODELS)
def test_every_set_of_three_in_six_dimensions_and_a_million_in_seven(model):
    for what in ("nodes", "links"):
        assert sweep(plan("broadcast", "hypercube:6", model=model, survive=3), 3, what).holds
    for k in range(1, 7):
        found = sweep(plan("broadcast", "hypercube:7", model=model, survive=k), k, "nodes+links", sample=1_000_000)
        assert found.holds, (k, found.counterexample)


@pytest.mark.each(4)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_sets_in_six_dimensions(kind, model):
    for k in (5,) if kind == "allgather" else (2, 3, 4, 5):
        schedule = plan(kind, "hypercube:6", model=model, survive=k)
        for what in ("nodes+links",) if kind == "allgather" else ("nodes", "links", "nodes+links"):
            found = sweep(schedule, k, what, sample=100_000, seed=k)
            assert found.holds, (k, found.counterexample)
            assert found.sets >= 100_000


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [range(1, 5), pytest.param([5], marks=long)], ids=["to 4", "5"])
def test_more_faults_than_it_survives_do_harm(kind, model, sizes):
    for d in sizes:
        for k in range(d):
            schedule = plan(kind, f"hypercube:{d}", model=model, survive=k)
            found = sweep(schedule, k + 1, "links")
            assert not found.holds, (d, k)
            again = simulate(schedule, found.counterexample)
            assert again.arrival_step(found.node, found.chunk) is None
            if d < 4:
                arrival, _ = replay_sparing(schedule, {}, found.counterexample.arcs)
                assert (found.node, found.chunk) not in arrival


def test_the_first_failing_sets_are_those_of_the_table():
    found = sweep(plan("broadcast", "hypercube:2", model="whispering", builder="dimension-order"), 1, "links")
    assert found.counterexample == Faults({}, {(0, 0): 0, (1, 0): 0})
    found = sweep(
        plan("broadcast", "hypercube:3", model="whispering", survive=1, builder="dimension-order"), 2, "nodes"
    )
    assert found.counterexample == Faults({1: 0, 2: 0})


# --- faults in mid-run -------------------------------------------------------------------------------------------------


def single_faults(d, steps, kind):
    """Every node, link and arc, at every step."""
    for step in range(steps + 1):
        yield from (({v: step}, {}) for v in range(1 << d) if v or kind == "allgather")
        yield from (({}, both_ways([link], step)) for link in links(d))
        yield from (({}, {(v, port): step}) for v in range(1 << d) for port in range(d))


@pytest.mark.each(7)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("kind", "d"),
    [
        ("broadcast", 2), ("broadcast", 3), ("broadcast", 4), ("allgather", 2), ("allgather", 3),
        pytest.param("allgather", 4, marks=long),
    ],
)  # fmt: skip
def test_every_single_fault_at_every_step(kind, d, model):
    schedule, sends = planned(kind, d, 1, model)
    for nodes, arcs in single_faults(d, schedule.steps, kind):
        trace = simulate(schedule, Faults(nodes, arcs))
        arrival, made = replay_sparing(schedule, nodes, arcs, sends)
        assert served_by(trace), (nodes, arcs)
        assert served(schedule, arrival, nodes)
        assert trace.transmissions == len(made)


@st.composite
def under_faults(draw, most_d=5, beyond=0):
    """A plan and at most k (or so many beyond) faults of nodes, links and arcs, each at some step."""
    kind, model = draw(st.sampled_from(KINDS)), draw(st.sampled_from(MODELS))
    d = draw(st.integers(1, most_d if kind == "broadcast" else min(most_d, 4)))
    k = draw(st.integers(0, d - 1))
    initiator = draw(st.sampled_from([None, None, 0, (1 << d) - 1])) if kind == "allgather" and d < 4 else None
    schedule, sends = planned(kind, d, k, model, initiator)
    nodes, arcs = {}, {}
    for _ in range(draw(st.integers(0, k + beyond))):
        step = draw(st.integers(0, schedule.steps + 1))
        v, port = draw(st.integers(0 if kind == "allgather" else 1, (1 << d) - 1)), draw(st.integers(0, d - 1))
        which = draw(st.sampled_from(["node", "link", "arc"]))
        if which == "node":
            nodes |= {} if v == initiator and not beyond else {v: step}
        else:
            arcs |= both_ways([(v, port)], step) if which == "link" else {(v, port): step}
    return schedule, sends, nodes, arcs


@given(under_faults())
@examples(300)
def test_faults_at_any_step_do_no_harm(case):
    schedule, sends, nodes, arcs = case
    trace = simulate(schedule, Faults(nodes, arcs))
    arrival, made = replay_sparing(schedule, nodes, arcs, sends)
    assert served_by(trace)
    assert served(schedule, arrival, nodes)
    assert sends_that_took_place(trace) == made


@given(under_faults(most_d=4, beyond=4))
@examples(200)
def test_simulate_is_the_plain_replay_whatever_fails(case):
    schedule, sends, nodes, arcs = case
    trace = simulate(schedule, Faults(nodes, arcs))
    arrival, made = replay_sparing(schedule, nodes, arcs, sends)
    chunks = range(schedule.collective.chunks)
    found = {(v, c): trace.arrival_step(v, c) for v in range(schedule.network.nodes) for c in chunks}
    assert {key: step for key, step in found.items() if step is not None} == arrival
    assert sends_that_took_place(trace) == made
    assert trace.steps == max((send[0] + 1 for send in made), default=0)
    together = {}
    for step, v, port, _ in made:
        together[step, v, port] = together.get((step, v, port), 0) + 1
    sizes = [max((n for (s, _, _), n in together.items() if s == step), default=0) for step in range(trace.steps)]
    assert trace.message_sizes.tolist() == sizes


@given(under_faults(most_d=4, beyond=3), st.binary(min_size=0, max_size=120))
@examples(120)
def test_real_bytes_go_where_simulate_says(case, data):
    schedule, _, nodes, arcs = case
    faults = Faults(nodes, arcs)
    trace, ran = simulate(schedule, faults), run(schedule, data, faults)
    chunks = range(schedule.collective.chunks)
    for v in range(schedule.network.nodes):
        assert ran.held[v].tolist() == [trace.arrival_step(v, c) is not None for c in chunks]
    assert (ran.steps, ran.transmissions) == (trace.steps, trace.transmissions)
    assert len(ran.intact) == trace.delivered


@pytest.mark.parametrize("model", MODELS)
def test_several_messages_a_source_go_together(model):
    for kind in KINDS:
        one, three = (plan(kind, "hypercube:3", model=model, survive=2, messages=m) for m in (1, 3))
        assert verify(three).holds
        faults = Faults({5: 2}, {(1, 2): 0})
        a, b = simulate(one, faults), simulate(three, faults)
        assert (b.transmissions, b.delivered) == (3 * a.transmissions, a.delivered)
        assert (b.message_sizes == 3 * a.message_sizes).all()
        arrival, made = replay_sparing(three, faults.nodes, faults.arcs)
        assert served(three, arrival, faults.nodes)
        assert sends_that_took_place(b) == made
        data = bytes(range(240))
        assert run(three, data, faults).transmissions == b.transmissions


# --- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plan.tc", "plan.tcb"])
@pytest.mark.parametrize("model", MODELS)
def test_files_of_sparing_schedules(model, name, tmp_path):
    path = tmp_path / name
    for kind, d, more in (
        ("broadcast", 3, {"root": 5}),
        ("allgather", 3, {}),
        ("allgather", 2, {"initiator": 3}),
        ("allgather", 0, {"builder": "dimension-order"}),
        ("allgather", 4, {"order": (2, 0, 3, 1), "messages": 3}),
    ):
        schedule = plan(kind, f"hypercube:{d}", model=model, survive=max(d - 1, 0), **more)
        formats.save(schedule, path)
        again = formats.load(path)
        assert again.sparing
        assert again.rows == schedule.rows
        for word in ("network", "collective", "model", "copies", "orbit", "claims", "builder", "initiator"):
            assert getattr(again, word) == getattr(schedule, word), word
        assert again.transmissions == schedule.transmissions
        assert b"sparing" in path.read_bytes()
        if name == "plan.tc":
            assert "\nsparing yes\n" in path.read_text()
            assert "sparing" not in formats.encode(plan(kind, f"hypercube:{d}"), "text").decode()


def text_of(schedule):
    return formats.encode(schedule, "text").decode()


def by_hand(schedule):
    return "".join(line for line in text_of(schedule).splitlines(keepends=True) if not line.startswith("digest"))


@pytest.mark.parametrize("model", MODELS)
def test_tampered_files_are_refused_in_one_line(model, tmp_path):
    schedule = plan("allgather", "hypercube:3", model=model, survive=2)
    hand, rows = by_hand(schedule), len(schedule.rows)
    lines = hand.splitlines(keepends=True)
    header = [line for line in lines if not line[0].isdigit()]
    rest = lines[len(header) :]
    claimless = "".join(line for line in lines if not line.startswith("claims"))
    path = tmp_path / "plan.tc"
    path.write_text(hand)
    assert formats.load(path).rows == schedule.rows
    tampered = {
        "digest": text_of(schedule).replace("sparing yes", "sparing no"),
        "not sparing": hand.replace("sparing yes", "sparing no"),
        "no claims, not sparing": claimless.replace("sparing yes\n", ""),
        "perhaps": hand.replace("sparing yes", "sparing perhaps"),
        "twice": hand.replace("sparing yes", "sparing yes\nsparing yes"),
        "one more copy": claimless.replace("copies 3", "copies 4"),
        "last row gone": claimless.replace(f"rows {rows}", f"rows {rows - 1}").replace(rest[-1], ""),
        "claims": hand.replace("transmissions=", "transmissions=1"),
        "a sum": claimless.replace("collective allgather", "collective allreduce"),
    }
    for what, text in tampered.items():
        assert text not in (hand, text_of(schedule)), what
        path.write_text(text)
        with pytest.raises(TreecastError, match=r"^[^\n]+$"):
            formats.load(path)


@pytest.mark.parametrize("name", ["plan.tc", "plan.tcb"])
def test_any_changed_byte_is_noticed(name, tmp_path):
    path = tmp_path / name
    formats.save(plan("broadcast", "hypercube:3", model="whispering", survive=2), path)
    data = path.read_bytes()
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(TreecastError, match=r"^[^\n]+$"):
            formats.load(path)


# --- schedules that nobody planned -------------------------------------------------------------------------------------


@st.composite
def any_sparing(draw):
    """A sparing schedule of data of any kind, mostly of rows that come again and again; and faults."""
    schedule = draw(
        st.one_of(spread_at_random(), arbitrary(kinds=["broadcast", "allgather", "gather"]), arbitrary(orbit=True))
    )
    try:
        schedule = replace(schedule, sparing=True, model=model("shouting"))
    except TreecastError:
        assume(False)
    where, nodes, arcs = schedule.network, {}, {}
    assume((where.neighbor(schedule.rows.src, schedule.rows.port) == schedule.rows.dst).all())
    for _ in range(draw(st.integers(0, 3))):
        v, port, step = (draw(st.integers(0, most)) for most in (where.nodes - 1, where.ports - 1, 8))
        if draw(st.booleans()) or int(where.neighbor(v, port)) < 0:
            nodes[v] = step
        else:
            arcs[v, port] = step
    collective = schedule.collective
    assume(collective.all_source or nodes.get(collective.root) != 0)
    return schedule, Faults(nodes, arcs)


@given(any_sparing(), st.sampled_from(["nodes", "links", "nodes+arcs"]), st.integers(0, 2))
@examples(80)
def test_a_sweep_of_any_sparing_schedule_is_one_replay_after_the_other(case, what, most):
    schedule, _ = case
    collective, sends = schedule.collective, all_sends_of(schedule)
    spared = () if collective.all_source else (collective.root,)
    network = schedule.network
    arcs = [(v, p) for v in range(network.nodes) for p in range(network.ports) if int(network.neighbor(v, p)) >= 0]
    elements = [v for v in range(network.nodes) if v not in spared] if what != "links" else []
    if what == "links":
        ends = {(v, int(network.neighbor(v, p))): (v, p) for v, p in arcs}
        elements += [(ends[u, v], ends[v, u]) for u, v in ends if u < v]
    elif what == "nodes+arcs":
        elements += [(arc,) for arc in arcs]
    assume(most <= len(elements) <= 14)
    wanted, failing = wanted_of(schedule), 0
    starts = {c: start for c, (start, _) in data_of(schedule).items()}
    for size in range(most + 1):
        for these in combinations(elements, size):
            nodes = {e: 0 for e in these if isinstance(e, int)}
            cut = {arc: 0 for e in these if not isinstance(e, int) for arc in e}
            arrival, _ = replay_sparing(schedule, nodes, cut, sends)
            failing += any(
                (v, c) not in arrival
                for v in range(network.nodes)
                for c in wanted[v]
                if v not in nodes and starts[c] not in nodes
            )
    assert sweep(schedule, most, what, keep_going=True).failing == failing


def data_of(schedule):
    collective = schedule.collective
    return tasks_of(collective.kind, collective.nodes, collective.messages, collective.root)[0]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("kind", "d"), [("broadcast", 3), ("allgather", 3), ("broadcast", 4)])
def test_a_plain_replay_finds_the_same_under_every_set_of_nodes_and_links(kind, d, model):
    """Sets of ≤ k, and of k + 1, of which some fail: as many by plain loops as by the sweep."""
    for k in range(d if d < 4 else 2):
        schedule, sends = planned(kind, d, k, model)
        elements = [v for v in range(1 << d) if v or kind == "allgather"]
        elements += links(d)
        most = k + 1 if (kind, d) == ("broadcast", 3) or k == 0 else k
        failing = tried = 0
        for size in range(most + 1):
            for these in combinations(elements, size):
                nodes = {e: 0 for e in these if not isinstance(e, tuple)}
                arrival, _ = replay_sparing(schedule, nodes, both_ways(e for e in these if isinstance(e, tuple)), sends)
                fails = not served(schedule, arrival, nodes)
                assert size > k or not fails, these
                tried, failing = tried + 1, failing + fails
        found = sweep(schedule, most, "nodes+links", keep_going=True)
        assert (found.sets, found.failing) == (tried, failing)
        assert failing or most == k


@pytest.mark.slow
@pytest.mark.parametrize("d", range(2, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_an_extended_unit_less_and_some_set_does_harm(kind, d):
    for k in range(1, d):
        fewer = without_the_last_step(kind, d, k, "whispering")
        assert fewer.steps == d + k
        assert not sweep(fewer, k, "links").holds
        assert sweep(fewer, k, "nodes").holds == (k == 1)
        assert not sweep(plan(kind, f"hypercube:{d}", model="shouting", survive=k - 1), k, "links").holds


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("model", MODELS)
def test_every_pair_of_faults_each_at_every_step(model):
    """Three dimensions, two faults: 17,000 pairs, by simulate; the root may not fail."""
    schedule, _ = planned("broadcast", 3, 2, model)
    elements = [({v: 0}, ()) for v in range(1, 8)] + [({}, ((v, port),)) for v, port in links(3)]
    when = range(schedule.steps) if model == "shouting" else range(0, schedule.steps, 2)
    for (one, first), (other, second) in combinations(elements, 2):
        for s in when:
            for t in when:
                nodes = dict.fromkeys(one, s) | dict.fromkeys(other, t)
                faults = Faults(nodes, both_ways(first, s) | both_ways(second, t))
                assert served_by(simulate(schedule, faults)), faults


@pytest.mark.slow
@given(any_sparing())
@examples(150)
def test_every_replay_of_any_sparing_schedule_is_the_plain_one(case):
    schedule, faults = case
    arrival, made = replay_sparing(schedule, faults.nodes, faults.arcs)
    trace, ran = simulate(schedule, faults), run(schedule, bytes(range(60)), faults)
    every = [(v, c) for v in range(schedule.network.nodes) for c in range(schedule.collective.chunks)]
    assert {key: s for key in every if (s := trace.arrival_step(*key)) is not None} == arrival
    assert {key for key in every if ran.held[key]} == set(arrival)
    assert sends_that_took_place(trace) == made
    assert (trace.transmissions, ran.transmissions) == (len(made), len(made))
    if not len(faults) and verify(schedule).counts["holds"] == 0:
        assert schedule.transmissions == len(made)


@st.composite
def altered(draw):
    """A planned schedule of which some rows are left out, moved in time, said again, or turned round."""
    kind, by, d = draw(st.sampled_from(KINDS)), draw(st.sampled_from(MODELS)), draw(st.integers(2, 3))
    k = draw(st.integers(1, d - 1))
    other = draw(st.permutations(range(d)))
    base = [tuple(r) for r in zip(*columns_of(planned(kind, d, k, by)[0]), strict=True)]
    more = [
        tuple(r) for r in zip(*columns_of(plan(kind, f"hypercube:{d}", survive=k, model=by, order=other)), strict=True)
    ]
    random, rows = Random(draw(st.integers(0, 2**32))), list(base)
    for _ in range(draw(st.integers(0, 5))):
        r = random.randrange(len(rows))
        step, src, dst, port = rows[r]
        change = draw(st.sampled_from(["out", "later", "earlier", "again", "added"]))
        if change == "out":
            del rows[r]
        elif change == "added":
            rows.append(random.choice(more))
        else:
            moved = (
                max(0, step + {"later": 1, "earlier": -1, "again": random.randrange(1, 4)}[change]),
                src,
                dst,
                port,
            )
            rows = [*rows, moved] if change == "again" else [*rows[:r], moved, *rows[r + 1 :]]
    if draw(st.integers(0, 4)) == 0:
        rows += more
    if draw(st.integers(0, 4)) == 0:
        rows += [(step, src ^ 1, dst ^ 1, port) for step, src, dst, port in base if step >= d]
    table = planned(kind, d, k, by)[0].rows.payloads
    columns = dict(zip(("step", "src", "dst", "port"), zip(*sorted(set(rows)), strict=True), strict=True))
    same = [0] * len(columns["step"])
    made = Rows.of(table, **columns, steps=[1] * len(same), tree=[-1] * len(same), payload=same)
    schedule = replace(planned(kind, d, k, by)[0], rows=made, claims=None)
    return schedule, d, k


def columns_of(schedule):
    return [getattr(schedule.rows, name).tolist() for name in ("step", "src", "dst", "port")]


@pytest.mark.slow
@given(altered(), st.randoms(use_true_random=False))
@examples(300)
def test_what_verifies_survives_whatever_it_claims(case, random):
    """Calling paths are enough: from the start, by every set, and in mid-run, by some."""
    schedule, d, k = case
    if not verify(schedule).holds:
        return
    found = sweep(schedule, k, "nodes+links")
    assert found.holds, found.counterexample
    for _ in range(20):
        nodes, arcs = {}, {}
        for _ in range(k):
            v, port, step = random.randrange(1, 1 << d), random.randrange(d), random.randrange(schedule.steps)
            if random.random() < 0.5:
                nodes[v] = step
            else:
                arcs |= both_ways([(v, port)], step)
        assert served_by(simulate(schedule, Faults(nodes, arcs))), (nodes, arcs)
