"""Fault-tolerant broadcast and gossip on the hypercube: Chau & Fu, and Fraigniaud, held against the paper's figures."""

from collections import defaultdict
from itertools import permutations
from random import Random

import pytest

from tests.oracles.plain import all_sends_of, replay_sparing, sends_that_took_place, talk, talk_in_four_phases
from treecast.cli import main
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.plans import builders, plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

pytestmark = pytest.mark.each(2)

MODELS = ("whispering", "shouting")
KINDS = ("broadcast", "allgather")


def orders(d):
    """The first order, the last, and two between; all of them for d ≤ 3."""
    if d <= 3:
        return list(permutations(range(d)))
    some = [tuple(range(d)), tuple(range(d))[::-1], (*range(1, d), 0)]
    return [*some, tuple(Random(d).sample(range(d), d))]


def tolerances(d):
    return range(max(d, 1))


def steps_of(model, d, k):
    if model == "whispering":
        return d + k + 1 if k else d
    return d + 1 if 0 < k == d - 1 else d


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_replay_agrees_when_nothing_fails(kind, model):
    for d in range(5):
        for k in tolerances(d):
            schedule = plan(kind, f"hypercube:{d}", survive=k, model=model, order=orders(d)[-1])
            arrival, made = replay_sparing(schedule)
            chunks = schedule.collective.chunks
            assert len(arrival) == chunks << d
            assert len(set(made)) == len(made) == schedule.transmissions
            trace = simulate(schedule)
            assert sends_that_took_place(trace) == made
            assert all(trace.arrival_step(v, c) == step for (v, c), step in arrival.items())


@pytest.mark.parametrize("d", range(2, 11))
def test_messages_and_steps_of_the_paper(d):
    n, spec = 1 << d, f"hypercube:{d}"
    one = plan("broadcast", spec, model="whispering", survive=d - 1)
    assert (one.steps, one.transmissions) == (2 * d, n * d - n + 1)
    assert one[:d].transmissions == n - 1
    gossip = plan("allgather", spec, model="whispering", survive=d - 1)
    assert (gossip.steps, gossip.transmissions) == (2 * d, n * (n * d - n + 1))
    sizes = [2**i for i in range(d)] + [n - 2 ** (i + 1) for i in range(d)]
    assert gossip.message_sizes.tolist() == sizes
    assert sum(sizes) == n * d - n + 1
    for k in range(d):
        planned = plan("allgather", spec, model="whispering", survive=k, builder="dimension-order")
        assert planned.message_sizes.tolist() == sizes[: d + k + 1 if k else d]
    without = plan("allgather", spec, model="whispering", survive=d - 1, fault_free=True)
    assert without.steps == 2 * d - 1
    assert without.message_sizes.tolist() == sizes[:-1]
    assert without.transmissions == gossip.transmissions
    shouted = plan("allgather", spec, model="shouting", survive=d - 1, builder="dimension-order")
    assert (shouted.steps, shouted.transmissions) == (d + 1, n * n * d // 2)
    quick = plan("allgather", spec, model="shouting", survive=d - 1, fault_free=True)
    assert (quick.steps, quick.transmissions) == (d, n * n * d // 2)


@pytest.mark.parametrize("d", range(6))
@pytest.mark.parametrize("model", MODELS)
def test_without_faults_the_last_step_can_go(model, d):
    for kind in KINDS:
        for k in range(max(d - 1, 1)):  # k = d-1 needs the last step when something fails
            schedule = plan(kind, f"hypercube:{d}", model=model, survive=k, fault_free=True)
            assert verify(schedule).holds
            assert not simulate(schedule).lost
            assert schedule.steps == (d if model == "shouting" or not k else d + k + 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("builder", ["dimension-order", "four-phases"])
def test_a_plan_that_would_not_verify_is_refused(builder, model):
    """Without the last step the longest form survives d - 2 faults: to ask for d - 1 as well is a contradiction."""
    for d in range(1, 5):
        for k in range(d):
            try:
                schedule = plan("allgather", f"hypercube:{d}", model=model, survive=k, fault_free=True, builder=builder)
            except TreecastError as error:
                assert (k, len(str(error).splitlines())) == (d - 1, 1), error  # noqa: PT017
            else:
                assert verify(schedule).holds, (d, k)


@pytest.mark.parametrize("model", MODELS)
def test_every_plan_takes_the_fewest_steps_there_can_be(model):
    """README and docs/howto/commands.md say so of gossip; the bounds have the proofs."""
    for d in range(1, 7):
        for k in range(d):
            for kind in KINDS:
                report = verify(plan(kind, f"hypercube:{d}", survive=k, model=model))
                least = max(bound.value for bound in report.bounds if bound.of == "steps")
                assert report.holds
                assert report.steps == least, (kind, d, k)


def without_the_last_step(kind, d, k, model):
    schedule = plan(kind, f"hypercube:{d}", model=model, survive=k, builder="dimension-order")
    return schedule.select(schedule.rows.step < schedule.steps - 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_no_fewer_steps_survive_as_many_faults(model, kind):
    """Without the last step some set of k faults does harm, or no set at all is needed: the diameter says it."""
    for d in range(1, 5 if kind == "broadcast" else 4):
        for k in range(d):
            fewer = without_the_last_step(kind, d, k, model)
            if steps_of(model, d, k) == d:
                assert simulate(fewer).lost
            else:
                found = sweep(fewer, k, "nodes+links")
                assert found.counterexample is not None, (d, k)
                assert simulate(fewer, found.counterexample).lost


def some_way(d, node, dead):
    """Whether some way of at most d arcs leads from 0 to a node past the dead: by breadth, in sets of labels."""
    reached, front = {0}, {0}
    for _ in range(d):
        front = {v ^ 1 << i for v in front for i in range(d)} - reached - dead
        reached |= front
    return node in reached


def test_no_shouting_in_d_steps_survives_d_minus_1_faults():
    """Whatever the schedule: a node at distance d-1 whose d-1 nearer neighbours are dead is d+1 arcs away."""
    for d in range(3, 8):
        node = (1 << d - 1) - 1
        assert not some_way(d, node, {node ^ 1 << i for i in range(d - 1)})
        assert all(some_way(d, node, {node ^ 1 << i for i in range(d - 1) if i != spared}) for spared in range(d - 1))


def test_the_figures_of_four_dimensions():
    whispered, shouted = (
        [plan("broadcast", "hypercube:4", model=model, survive=k) for k in range(4)] for model in MODELS
    )
    assert [s.steps for s in whispered] == [4, 6, 7, 8]
    assert [s.steps for s in shouted] == [4, 4, 4, 5]
    assert [s.transmissions for s in (whispered[0], shouted[0])] == [15, 15]
    exchange = plan("allgather", "hypercube:4", model="whispering")
    assert exchange.message_sizes.tolist() == [1, 2, 4, 8]


def test_send_by_send_the_verifiers_agree_on_copies():
    for kind in KINDS:
        for by in MODELS:
            assert verify(plan(kind, "hypercube:3", model=by, survive=2), method="expanded").holds


@pytest.mark.parametrize("d", range(1, 6))
def test_whispering_every_node_has_one_partner_in_a_step(d):
    where = network(f"hypercube:{d}")
    for builder in builders("allgather", where):
        if "whispering" not in builder.models:
            continue
        for k in tolerances(d) if d < 5 else (d - 1,):
            schedule = plan(
                "allgather", where, model="whispering", builder=builder.name, survive=k, order=orders(d)[-1]
            )
            partners = defaultdict(set)
            for step, src, dst, port, *_ in all_sends_of(schedule):
                assert dst == src ^ (1 << port)
                partners[step, src].add(dst)
                partners[step, dst].add(src)
            assert all(len(these) == 1 for these in partners.values())


@pytest.mark.parametrize("d", range(1, 8))
def test_fraigniauds_scheme_takes_as_long_as_cited(d):
    spec, n = f"hypercube:{d}", 1 << d
    for k in range(d):
        for model in MODELS:
            for kind in KINDS:
                schedule = plan(kind, spec, model=model, builder="fraigniaud", survive=k, order=orders(d)[-1])
                assert not schedule.sparing
                report = verify(schedule)
                assert report.holds, (k, model, kind, report.violations)
                times = n if kind == "allgather" else 1
                assert schedule.transmissions == schedule.claims.transmissions == (k + 1) * (n - 1) * times
                assert schedule.steps == schedule.claims.steps
                if d < 5:
                    assert verify(schedule, method="expanded").holds
            if model == "whispering":
                assert schedule.steps == (d + k + 1 if d > 1 else 1)
                assert sum(schedule.message_sizes.tolist()) == (k + 1) * (n - 1)
            else:
                assert schedule.steps <= (d + 1 if d > 1 else 1)
    assert schedule.steps == (d + 1 if d > 1 else 1)
    assert sum(schedule.message_sizes.tolist()) == n - 1


def test_nothing_said_twice_is_less_than_fraigniauds():
    for d in range(2, 8):
        mine, its = (
            plan("allgather", f"hypercube:{d}", model="whispering", survive=d - 1, builder=name)
            for name in ("dimension-order", "fraigniaud")
        )
        saved = sum(its.message_sizes.tolist()) - sum(mine.message_sizes.tolist())
        assert saved == (1 << d) - 1 - d
        assert its.steps == mine.steps == 2 * d


@pytest.mark.parametrize("d", range(6))
@pytest.mark.parametrize("model", MODELS)
def test_four_phases_take_twice_the_steps(model, d):
    n, spec = 1 << d, f"hypercube:{d}"
    for k in tolerances(d):
        once = plan("allgather", spec, model=model, survive=k, builder="dimension-order")
        for initiator in {0, n - 1, n // 3}:
            started = plan("allgather", spec, model=model, survive=k, initiator=initiator, builder="four-phases")
            assert not started.orbit
            assert started.steps == 2 * once.steps
            assert started.transmissions == once.transmissions == started.claims.transmissions
            report = verify(started)
            assert report.holds, (k, initiator, report.violations)
            first = started[: once.steps]
            assert set(first.collective.source_of(first.rows.payloads.first)) <= {initiator}
            if d < 4:
                assert sends_that_took_place(simulate(started)) == replay_sparing(started)[1]
    if model == "whispering" and d:
        assert started.transmissions == n * (n * d - n + 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [range(4), pytest.param([4], marks=pytest.mark.long)], ids=["to 3", "4"])
def test_send_by_send_the_verifiers_agree_on_every_other_rule(kind, model, sizes):
    for d in sizes:
        for k in tolerances(d):
            schedule = plan(kind, f"hypercube:{d}", model=model, survive=k)
            fast, slow = verify(schedule), verify(schedule, method="expanded")
            assert (fast.steps, fast.transmissions) == (slow.steps, slow.transmissions)
            agreed = {rule: count for rule, count in slow.counts.items() if rule != "copies"}
            assert agreed == {rule: count for rule, count in fast.counts.items() if rule != "copies"}
            assert not any(agreed.values())
            if k == 0:
                assert slow.holds


def random_faults(random, d, count, last, spared=()):
    """``count`` faults, nodes and links and arcs, each at a random step: (nodes, arcs as (source, port))."""
    nodes, arcs = {}, {}
    for _ in range(count):
        v, port, step = random.randrange(1 << d), random.randrange(d), random.choice([0, 0, random.randrange(last + 2)])
        which = random.randrange(3)
        if which == 0 and v not in spared:
            nodes[v] = step
        else:
            arcs[v, port] = step
            if which == 1:
                arcs[v ^ (1 << port), port] = step
    return nodes, arcs


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", range(1, 5))
def test_started_by_one_node_they_send_the_same_under_as_many_faults_as_they_survive(d, model):
    random, n = Random(d + 10), 1 << d
    for k in range(d):
        for _ in range(4):
            order, initiator = tuple(random.sample(range(d), d)), random.randrange(n)
            schedule = plan("allgather", f"hypercube:{d}", model=model, survive=k, order=order, initiator=initiator)
            assert verify(schedule).holds
            nodes, arcs = random_faults(random, d, k, schedule.steps, {initiator})
            held, made, steps = talk_in_four_phases(model, d, order, k, initiator, False, nodes, arcs)
            trace = simulate(schedule, Faults(nodes, arcs))
            assert sends_that_took_place(trace) == made
            assert schedule.steps == steps
            for v in set(range(n)) - set(nodes):
                assert set(range(n)) - set(nodes) <= held[v]


def refused_when_it_fails(schedule, rows, k, kind):
    """Verify and sweep the schedule of some rows; a sweep that fails must be foreseen. Return (refused, fails)."""
    fewer = schedule.select(rows)
    report = verify(fewer)
    fails = not sweep(fewer, k, "nodes+links").holds
    assert not (fails and report.holds), (kind, k)
    if fails and not report.counts["holds"] and not report.counts["delivered"]:
        assert report.counts["copies"]
    return not report.holds, fails


@pytest.mark.each(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, pytest.param(4, marks=pytest.mark.long)])
def test_whatever_fails_with_a_row_less_is_refused(d, kind, model):
    every_row_is_needed(d, kind, model)


def every_row_is_needed(d, kind, model):
    seen = []
    for k in range(1, d):
        schedule = plan(kind, f"hypercube:{d}", model=model, survive=k)
        every = range(len(schedule.rows))
        for row in every:
            seen.append(refused_when_it_fails(schedule, [r for r in every if r != row], k, kind))
        last = [r for r in every if schedule.rows.step[r] < schedule.steps - 1]
        refused, fails = refused_when_it_fails(schedule, last, k, kind)
        assert refused
        assert fails, (k, "the last unit is not needed")
    assert (True, True) in seen


@pytest.mark.parametrize("model", MODELS)
def test_whatever_fails_with_a_row_moved_or_some_left_out_is_refused(model):
    """Many random subsets of the rows of a broadcast: never a schedule that verifies and fails."""
    random, held = Random(5), 0
    for d, k in ((2, 1), (3, 1), (3, 2), (4, 2)):
        schedule = plan("broadcast", f"hypercube:{d}", model=model, survive=k)
        for _ in range(30):
            out = set(random.sample(range(len(schedule.rows)), random.randrange(1, 4)))
            refused, _ = refused_when_it_fails(schedule, [r for r in range(len(schedule.rows)) if r not in out], k, d)
            held += not refused
    assert held or model == "shouting"


BAD = [
    ("hypercube:3", {"survive": 3}, "--survive 3"),
    ("hypercube:0", {"survive": 1}, "--survive 1"),
    ("hypercube:3", {"survive": -1}, "--survive=-1"),
    ("hypercube:3", {"order": (0, 0, 1)}, "--order 0,0,1"),
    ("hypercube:3", {"order": (0, 1)}, "--order 0,1"),
    ("hypercube:3", {"order": (0, 1, 3)}, "--order 0,1,3"),
    ("hypercube:3", {"order": (0, 1, -1)}, "--order 0,1,-1"),
    ("hypercube:3", {"initiator": 8}, "--initiator 8"),
    ("hypercube:3", {"initiator": -1}, "--initiator=-1"),
    ("hypercube:3", {"initiator": "zz"}, "--initiator zz"),
    ("hypercube:3", {"initiator": 1, "builder": "dimension-order"}, "--initiator 1 --builder dimension-order"),
    ("hypercube:3", {"builder": "fraigniaud", "fault_free": True}, "--builder fraigniaud --fault-free"),
    ("hypercube:3", {"builder": "disjoint-trees", "model": "all-port", "order": (0, 1, 2)},
     "--builder disjoint-trees --model all-port --order 0,1,2"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "asked", "words"), BAD, ids=[b[2] for b in BAD])
def test_what_cannot_be_had_is_refused_in_one_line(spec, asked, words, tmp_path, capsys):
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        plan("allgather", spec, **({"model": "whispering"} | asked))
    model = [] if "--model" in words else ["--model", "whispering"]
    code = main(["plan", "allgather", spec, *model, *words.split(), "-o", str(tmp_path / "x.tc")])
    written = capsys.readouterr()
    assert code == 2
    assert len(written.err.splitlines()) == 1
    assert not (tmp_path / "x.tc").exists()


@pytest.mark.parametrize("order", ["0,x,2", "", "0;1;2", "0,1,2.0"])
def test_an_order_that_is_none_is_refused(order, capsys):
    assert main(["plan", "allgather", "hypercube:3", "--model", "whispering", "--order", order]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_dead_originator_is_refused():
    for model in MODELS:
        schedule = plan("broadcast", "hypercube:3", root=5, survive=2, model=model)
        with pytest.raises(TreecastError, match=r"^the root 0b101 [^\n]+$"):
            simulate(schedule, Faults({5: 0}))


def test_an_initiator_goes_by_its_label_too():
    named = plan("allgather", "hypercube:3", model="whispering", initiator="0b101")
    assert named.rows == plan("allgather", "hypercube:3", model="whispering", initiator=5).rows


def messages_of(model, d, k):
    """The messages of one broadcast, counted dimension by dimension: the closed forms."""
    n, units = 1 << d, min(k + 1, d) if k else 0
    if model == "whispering":
        return n - 1 + sum(n - 2 ** (i + 1) for i in range(units))
    return n * units // 2 + n - 2**units


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("d", range(7))
@pytest.mark.parametrize("model", MODELS)
def test_every_plan_holds_and_is_as_long_as_the_closed_forms_say(model, d):
    spec, n = f"hypercube:{d}", 1 << d
    for k in tolerances(d):
        for number, order in enumerate(orders(d)):
            for kind in KINDS:
                roots = range(n) if kind == "broadcast" and (d < 3 or (d < 5 and number < 2)) else (0,)
                if kind == "broadcast" and number == 3:
                    roots = (0, n // 2, n - 1)
                for root in roots:
                    schedule = plan(kind, spec, root=root, survive=k, model=model, order=order)
                    assert (schedule.sparing, schedule.copies, schedule.builder) == (True, k + 1, "dimension-order")
                    report = verify(schedule)
                    assert report.holds, (kind, root, order, k, report.violations)
                    figures = steps_of(model, d, k), messages_of(model, d, k) * (n if kind == "allgather" else 1)
                    assert (schedule.claims.steps, schedule.claims.transmissions) == figures
                    assert (report.steps, report.transmissions) == figures
                    assert (schedule.steps, schedule.transmissions) == figures
                    if d < 4 or (number == 3 and d < 6):
                        trace = simulate(schedule)
                        assert trace.transmissions == figures[1]
                        assert trace.delivered == n


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", range(1, 6))
def test_nodes_that_know_only_themselves_send_the_same_under_faults(d, model):
    """Any number of faults: what is planned is what the protocol does, send by send."""
    random, n = Random(d), 1 << d
    for kind in KINDS:
        for k in range(d):
            for fault_free in (False, True):
                order, root = tuple(random.sample(range(d), d)), 0 if kind == "allgather" else random.randrange(n)
                schedule = plan(
                    kind, f"hypercube:{d}", model=model, survive=k, order=order, root=root, fault_free=fault_free
                )
                for count in [0, k, d, 2 * d] if d < 5 else [k, 2 * d]:
                    spared = {root} if kind == "broadcast" else set()
                    nodes, arcs = random_faults(random, d, count, schedule.steps, spared)
                    sources = {root} if kind == "broadcast" else set(range(n))
                    held, made, _ = talk(model, d, order, k, sources, fault_free, nodes, arcs)
                    trace = simulate(schedule, Faults(nodes, arcs))
                    found = sends_that_took_place(trace)
                    if kind == "broadcast":
                        made = [(*send[:3], 0) for send in made]
                        held = [{0} if root in these else set() for these in held]
                    assert found == made, (kind, k, order, root, nodes, arcs)
                    for v in set(range(n)) - set(nodes):
                        has = {c for c in range(schedule.collective.chunks) if trace.arrival_step(v, c) is not None}
                        assert has == held[v]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_whatever_fails_with_one_row_of_one_source_less_is_refused(model):
    random = Random(4)
    for builder in ("dimension-order", "four-phases"):
        for k in (1, 2):
            schedule = plan("allgather", "hypercube:3", model=model, survive=k, builder=builder).plain()
            every = list(range(len(schedule.rows)))
            for row in random.sample(every, 25):
                refused_when_it_fails(schedule, [r for r in every if r != row], k, builder)


@pytest.mark.slow
@pytest.mark.each(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_fails_with_a_row_less_is_refused_at_length(kind, model):
    every_row_is_needed(3, kind, model)


@pytest.mark.long
@pytest.mark.parametrize("what", ["nodes", "links"])
def test_shouting_in_five_steps_survives_three_faults_in_five_dimensions(what):
    for kind in KINDS:
        for k in range(4):
            schedule = plan(kind, "hypercube:5", model="shouting", survive=k)
            assert schedule.steps == 5
            if kind == "broadcast" or k < 3:
                assert sweep(schedule, k, what).holds
