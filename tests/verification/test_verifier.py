import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import everybody_served, graph_of, is_right
from tests.schedule.test_schedule import rotation_of_ring
from tests.strategies import arbitrary, examples, mutations, planned
from tests.verification.test_rules import UNDER
from treecast.collectives import Collective
from treecast.errors import ScheduleError
from treecast.models import Model, model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import Claims, Payloads, Rows, Schedule
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def broken(report):
    return {rule for rule, count in report.counts.items() if count}


def by_hand(spec, messages, table, rows, copies=1, claims=None, kind="broadcast", orbit=False, under="all-port"):
    """A schedule from rows (step, steps, src, dst, port, tree, payload)."""
    where = network(spec)
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    collective = Collective(kind, where.nodes, messages)
    return Schedule(where, collective, model(under), Rows.of(Payloads.of(table), **columns), copies, orbit, claims)


RIGHT = [(0, 2, 0, 1, 0, 0, 0), (1, 2, 1, 2, 0, 0, 0)]  # two chunks down a path of three nodes


def test_a_right_schedule_by_hand():
    report = verify(by_hand("path:3", 2, [[(0, 2)]], RIGHT, claims=Claims(3, 4)))
    assert report.holds
    assert (report.steps, report.transmissions, report.depth) == (3, 4, 2)
    assert set(report.counts) == {"adjacent", "link-once", "one-chunk", "holds", "delivered", "claims"}


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("holds", [RIGHT[0], (0, 2, 1, 2, 0, 0, 0)]),  # sent on before it has come
        ("adjacent", [RIGHT[0], (2, 2, 0, 2, 0, 0, 0)]),  # no such arc
        ("adjacent", [RIGHT[0], (1, 2, 1, 2, 1, 0, 0)]),  # there is an arc, by another port
        ("adjacent", [RIGHT[0], (1, 2, 1, 2, -1, 0, 0)]),
        ("adjacent", [RIGHT[0], (1, 2, 1, 2, 99, 0, 0)]),
        ("link-once", [*RIGHT, (1, 1, 0, 1, 0, 0, 1)]),  # the arc is busy
        ("delivered", RIGHT[:1]),
        ("delivered", [RIGHT[0], (1, 1, 1, 2, 0, 0, 1)]),
    ],
)
@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_each_rule_is_broken_alone(rule, rows, method):
    report = verify(by_hand("path:3", 2, [[(0, 2)], [(0, 1)]], rows), method=method)
    assert not report.holds
    assert broken(report) == {rule}
    assert report.violations[0].rule == rule
    assert all("\n" not in v.text for v in report.violations)


@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_rules_of_ports_and_duplex(method):
    both = by_hand("path:3", 1, [[(0, 1)]], [(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0)])
    assert verify(both, "one-port", method).holds
    star = by_hand("tree:2,1", 1, [[(0, 1)]], [(0, 1, 0, 1, 0, 0, 0), (0, 1, 0, 2, 1, 0, 0)])
    assert verify(star, method=method).holds
    assert broken(verify(star, "one-port", method)) == {"send-port"}
    joined = by_hand("ring:3", 1, [[(0, 1)]], [(0, 1, 0, 1, 0, 0, 0), (1, 1, 0, 2, 1, 0, 0), (1, 1, 1, 2, 0, 0, 0)])
    assert broken(verify(joined, "one-port", method)) == {"recv-port"}
    stream = by_hand("path:3", 2, [[(0, 2)]], RIGHT)
    assert verify(stream, "one-port", method).holds
    assert broken(verify(stream, "whispering", method)) == {"one-partner"}
    back = by_hand(
        "path:2", 2, [[(0, 1)], [(1, 2)]], [(0, 1, 0, 1, 0, 0, 0), (1, 1, 0, 1, 0, 0, 1), (1, 1, 1, 0, 1, 0, 0)]
    )
    assert verify(back, method=method).holds
    assert verify(back, "whispering", method).holds
    assert broken(verify(back, "all-port,half", method)) == {"duplex"}


@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_copies_need_disjoint_ways(method):
    square = [(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0), (2, 1, 2, 3, 0, 0, 0)]
    other = [(0, 1, 0, 3, 1, 1, 0), (1, 1, 3, 2, 1, 1, 0), (2, 1, 2, 1, 1, 1, 0)]
    assert verify(by_hand("ring:4", 1, [[(0, 1)]], square + other, 2), method=method).holds
    assert broken(verify(by_hand("ring:4", 1, [[(0, 1)]], square, 2), method=method)) == {"copies"}
    # node 1 hears twice, but node 2 hears over the same way in both trees
    again = [(1, 1, 0, 1, 0, 1, 0), (2, 1, 1, 2, 0, 1, 0), (3, 1, 2, 3, 0, 1, 0)]
    assert broken(verify(by_hand("ring:4", 1, [[(0, 1)]], square + again, 2), method=method)) == {"copies"}
    # tree 1 is cut: node 3 sends on what it has only by way of tree 0
    borrowed = [(3, 1, 3, 2, 1, 1, 0), (4, 1, 2, 1, 1, 1, 0)]
    assert broken(verify(by_hand("ring:4", 1, [[(0, 1)]], square + borrowed, 2), method=method)) == {"copies"}


@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_one_port_where_messages_combine(method):
    """Chunks that share an arc and a step are one message; two arcs of a node are two."""
    table = [[(0, 1)], [(1, 2)], [(0, 2)]]
    same = [(0, 1, 0, 1, 0, -1, 0), (0, 1, 0, 1, 0, -1, 1), (1, 1, 0, 2, 1, -1, 2)]
    several = [(0, 1, 0, 1, 0, -1, 2), (0, 1, 0, 2, 1, -1, 2)]
    meeting = [(0, 1, 0, 1, 0, -1, 2), (1, 1, 1, 2, 0, -1, 0), (1, 1, 0, 2, 1, -1, 1)]
    for rows, rules in ((same, set()), (several, {"send-port"}), (meeting, {"recv-port"})):
        schedule = by_hand("complete:3", 2, table, rows)
        assert broken(verify(schedule, "one-port,combining", method)) == rules
    assert "send-port" in broken(verify(by_hand("complete:3", 2, table, same), "one-port", method))
    assert broken(verify(by_hand("complete:3", 2, table, several), "shouting", method)) == set()


@pytest.mark.parametrize("method", ["fast", "expanded"])
def test_one_port_of_half_duplex_sends_or_receives(method):
    """A stream of two chunks passes a node that receives the second while it sends the first."""
    stream = by_hand("path:3", 2, [[(0, 2)]], RIGHT)
    apart = by_hand("path:3", 2, [[(0, 2)]], [RIGHT[0], (2, *RIGHT[1][1:])])
    assert broken(verify(stream, "one-port", method)) == set()
    assert broken(verify(stream, "one-port,half", method)) == {"half-port"}
    assert broken(verify(apart, "one-port,half", method)) == set()
    assert "half-port" in broken(verify(rotation_of_ring(4, 1), "one-port,half", method))


@pytest.mark.parametrize("claims", [Claims(4, 4), Claims(3, 5), Claims(2, 3)])
def test_claims_are_compared(claims):
    assert broken(verify(by_hand("path:3", 2, [[(0, 2)]], RIGHT, claims=claims))) == {"claims"}


def test_a_report_says_where_and_why():
    schedule = by_hand("path:3", 2, [[(0, 2)]], [RIGHT[0], (0, 2, 1, 2, 0, 0, 0)])
    violation = verify(schedule).violations[0]
    assert (violation.row, violation.nodes) == (1, (1, 2))
    assert violation.text == "row 1: 1 > 2 at step 0 carries chunk 0, but 1 first holds it at step 1"
    with pytest.raises(ScheduleError, match="fast or expanded"):
        verify(schedule, method="magic")


def test_rows_of_no_arc_are_refused_by_both_under_one_port():
    """What the last test leaves open: a row from a node to itself, beside a row by the port that it names."""
    rows = [(2, 1, 0, 0, 0, 0, 0), (2, 1, 0, 2, 0, 0, 0)]
    schedule = by_hand("star:3", 1, [[(0, 1)]], rows, kind="allgather", orbit=True)
    for method in ("fast", "expanded"):
        assert "adjacent" in broken(verify(schedule, "one-port,combining", method))


@examples(100)
@given(arbitrary(orbit=True))
def test_an_orbit_written_out_breaks_the_same_rules(schedule):
    assert broken(verify(schedule)) == broken(verify(schedule.plain()))


@pytest.mark.parametrize(("spec", "messages", "copies"), [("star:4", 1, 3), ("star:4", 2, 2), ("complete:5", 2, 3)])
def test_an_allgather_written_out_is_judged_by_root(spec, messages, copies):
    schedule = plan("allgather", spec, messages=messages, copies=copies)
    plain = schedule.plain()
    for method in ("fast", "expanded"):
        assert verify(plain, method=method).holds
        assert broken(verify(replace(plain, copies=copies + 1, claims=None), method=method)) == {"copies"}
    report = verify(replace(plain, rows=plain.rows.take(slice(len(plain) - 1)), claims=None))
    breach = next(v for v in report.violations if v.rule == "copies")
    root, last = divmod(int(plain.rows.payloads.first[plain.rows.payload[-1]]), messages)
    assert breach.chunk == root * messages + last
    assert f"reaches {schedule.network.label(int(plain.rows.dst[-1]))} by {copies - 1} trees" in breach.text


@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
def test_sparing_changes_nothing_for_personal_chunks(kind):
    """A silent row carries what has crossed its link before, so disjoint paths stay disjoint paths."""
    schedule = replace(plan(kind, "hypercube:3", copies=3), sparing=True)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
        assert broken(
            verify(replace(schedule, rows=schedule.rows.take(slice(1, None)), claims=None), method=method)
        ) >= {"copies"}
    assert sweep(schedule, 2).holds


@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
def test_ways_that_make_no_tree_are_as_deep_as_the_longest(kind):
    """On a complete network tree t is the t-th way to each node, and these do not make a tree together."""
    schedule = plan(kind, "complete:5", copies=4)
    assert [verify(schedule, method=method).depth for method in ("fast", "expanded")] == [2, 2]


@examples(60)
@given(planned())
def test_fast_and_expanded_agree_on_right_schedules(schedule):
    fast, slow = verify(schedule), verify(schedule, method="expanded")
    assert fast.holds
    assert slow.holds
    assert fast.counts == slow.counts
    assert (fast.steps, fast.transmissions, fast.depth) == (slow.steps, slow.transmissions, slow.depth)


@pytest.mark.parametrize("n", range(3, 8))
def test_an_orbit_is_verified_by_symmetry(n):
    schedule = rotation_of_ring(n, 2)
    report = verify(schedule)
    assert report.holds
    assert report.method == "by symmetry"
    assert verify(schedule, method="expanded").holds
    assert verify(schedule, "one-port").holds
    assert verify(schedule.plain(), "one-port").holds
    assert broken(verify(schedule, "whispering")) == broken(verify(schedule.plain(), "whispering")) == {"one-partner"}


@pytest.mark.parametrize(("messages", "copies"), [(5, 1), (3, 2)])
def test_any_change_of_one_row_is_rejected_or_does_no_harm(messages, copies):
    change_every_row("star:3", messages, copies)


def change_every_row(spec, messages, copies):
    """Change a plan in every way, a row at a time: the verifier rejects it, or it obeys every rule and does no harm."""
    schedule = plan("broadcast", spec, messages=messages, copies=copies)
    graph, seen, kept = graph_of(schedule.network), Counter(), Counter()
    for name, build in mutations(schedule):
        mutant = build()
        seen[name] += 1
        if mutant.rows == schedule.rows or not verify(mutant).holds:
            continue
        kept[name] += 1
        # what the verifier lets pass obeys every rule, and survives every set of copies - 1 dead nodes
        assert is_right(mutant, graph), name
        inner = [v for v in range(schedule.network.nodes) if v != schedule.collective.root]
        for dead in combinations(inner, copies - 1):
            assert everybody_served(mutant, dead), (name, dead)
    assert len(seen) >= 11
    for name in ("left out", "twice", "another source", "another target", "another port", "one chunk less", "combined"):
        assert kept[name] == 0, name


def test_streams_of_a_million_messages_are_judged_as_wholes():
    schedule = plan("broadcast", "star:4", messages=10**6, copies=2)
    assert len(schedule) == 69
    assert verify(schedule).holds
    late = schedule.rows.step.copy()
    late[-1] -= 1
    wrong = Rows.of(schedule.rows.payloads, **{**schedule.rows.columns(), "step": late})
    assert "holds" in broken(verify(replace(schedule, rows=wrong)))


def test_combined_messages():
    table = [[(0, 3)], [(1, 3)], [(0, 1)]]
    rows = [(0, 1, 0, 1, 0, -1, 0), (1, 1, 1, 2, 0, -1, 1), (2, 1, 1, 2, 0, -1, 2)]
    for method in ("fast", "expanded"):
        assert verify(by_hand("path:3", 3, table, rows), "shouting", method).holds
        assert broken(verify(by_hand("path:3", 3, table, rows), method=method)) == {"one-chunk"}
    # streamed first, then combined: the last chunk has not come when the message leaves
    mixed = [(0, 3, 0, 1, 0, -1, 0), (2, 1, 1, 2, 0, -1, 0)]
    for method in ("fast", "expanded"):
        assert broken(verify(by_hand("path:3", 3, table, mixed), "shouting", method)) == {"holds"}
        later = [mixed[0], (3, *mixed[1][1:])]
        assert verify(by_hand("path:3", 3, table, later), "shouting", method).holds


def test_a_model_of_ones_own():
    assert verify(plan("broadcast", "star:4"), Model("mine", "all")).model.name == "mine"


def test_nothing_to_do():
    for spec in ("mesh:1", "hypercube:0"):
        schedule = plan("broadcast", spec, messages=3)
        assert len(schedule) == 0
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds
    empty = by_hand("path:2", 1, [[(0, 1)]], [])
    assert broken(verify(empty)) == {"delivered"}
    assert np.array_equal(empty.rows.step, [])


def test_no_right_schedule_is_faster_than_the_bound():
    """A thousand chunks in one message would be; where messages do not combine that is a breach."""
    schedule = by_hand("path:3", 1000, [[(0, 1000)]], [(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0)])
    assert broken(verify(schedule)) == {"one-chunk"}
    report = verify(schedule, "shouting")
    assert report.holds
    assert {b.value for b in report.bounds if b.of == "steps"} == {2}


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_of_an_orbit_are_those_of_each_source(copies):
    rows = [(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 3, 1, 0, 0), (2, 1, 3, 2, 0, 0, 0)]
    other = [(0, 1, 0, 2, 1, 1, 0), (1, 1, 2, 3, 0, 1, 0), (2, 1, 3, 1, 1, 1, 0)]
    orbit = by_hand("hypercube:2", 1, [[(0, 1)]], rows + other, copies, kind="allgather", orbit=True)
    short = by_hand("hypercube:2", 1, [[(0, 1)]], rows + other[:2], copies, kind="allgather", orbit=True)
    for method in ("fast", "expanded"):
        assert broken(verify(orbit, method=method)) == set()
        assert broken(verify(short, method=method)) == ({"copies"} if copies == 2 else set())
        assert broken(verify(orbit.plain(), method=method)) == set()
        assert broken(verify(short.plain(), method=method)) == ({"copies"} if copies == 2 else set())


def test_a_tree_deeper_than_16_bits_count():
    length = 40_000
    columns = np.arange(length - 1)
    zero = columns * 0
    rows = Rows.of(
        Payloads.of([[(0, 1)]]),
        step=columns,
        steps=zero + 1,
        src=columns,
        dst=columns + 1,
        port=zero,
        tree=zero,
        payload=zero,
    )
    where = network(f"path:{length}")
    report = verify(Schedule(where, Collective("broadcast", length, 1), model("all-port"), rows))
    assert report.holds
    assert report.depth == length - 1


@pytest.mark.slow
@examples(100)
@given(arbitrary())
def test_fast_and_expanded_agree_on_wrong_schedules(schedule):
    for under in ["all-port", *UNDER]:
        fast, slow = verify(schedule, under), verify(schedule, under, method="expanded")
        assert broken(fast) == broken(slow)
    if schedule.copies == 1:
        assert verify(schedule).holds == is_right(schedule, graph_of(schedule.network))


@pytest.mark.slow
@examples(100)
@given(planned(), st.data())
def test_fast_and_expanded_agree_on_nearly_right_schedules(schedule, data):
    """One or two small changes: some do no harm, so that both verdicts occur."""
    for _ in range(data.draw(st.integers(1, 2))):
        schedule = data.draw(st.sampled_from([build for _, build in mutations(schedule)]))()
    for under in ["all-port", *UNDER]:
        assert broken(verify(schedule, under)) == broken(verify(schedule, under, method="expanded"))
    if schedule.copies == 1:
        assert verify(schedule).holds == is_right(schedule, graph_of(schedule.network))
    elif verify(schedule).holds:
        assert is_right(schedule, graph_of(schedule.network))


@pytest.mark.slow
@examples(100)
@given(arbitrary(orbit=True))
def test_by_symmetry_and_expanded_agree_on_wrong_orbits(schedule):
    """Where messages combine, rows of one port are one message, by symmetry; of arcs that are not there nobody can say so."""
    for under in ["all-port", *UNDER]:
        fast, slow = (broken(verify(schedule, under, method=method)) for method in ("fast", "expanded"))
        if "adjacent" in fast and model(under).combining:
            fast, slow = fast - {"send-port", "recv-port"}, slow - {"send-port", "recv-port"}
        assert fast == slow


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "copies"), [("star:3", 2), ("hypercube:3", 2), ("complete:4", 3)])
def test_changes_of_an_allgather_written_out_are_judged_alike(spec, copies):
    """All changes of some rows, one at a time."""
    changes = mutations(plan("allgather", spec, copies=copies).plain())
    seen = set()
    for _, build in islice(changes, 0, None, 29):
        schedule = build()
        assert broken(verify(schedule)) == broken(verify(schedule, method="expanded"))
        seen |= broken(verify(schedule))
    assert "copies" in seen


@pytest.mark.slow
def test_the_day_one_negatives_hold_without_asserts(tmp_path):
    """Under ``python -O`` asserts are gone; the checks must not be."""
    script = """
from treecast.collectives import Collective
from treecast.files.formats import decode, encode
from treecast.models import model
from treecast.networks import network
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.verifier import verify
import sys
assert False  # gone under -O

def made(rows):
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    rows = Rows.of(Payloads.of([[(0, 1)]]), **columns)
    return Schedule(network("path:3"), Collective("broadcast", 3, 1), model("all-port"), rows)

right = made([(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0)])
if not verify(right).holds: sys.exit(1)
if verify(made([(0, 1, 0, 1, 0, 0, 0), (0, 1, 1, 2, 0, 0, 0)])).holds: sys.exit(2)  # not held
if verify(made([(0, 1, 0, 1, 0, 0, 0), (1, 1, 0, 2, 0, 0, 0)])).holds: sys.exit(3)  # no such arc
for name in ("text", "binary"):
    data = bytearray(encode(right, name))
    data[len(data) // 2] ^= 1
    try:
        decode(bytes(data))
    except ValueError as error:
        continue
    sys.exit(4)  # tampered
sys.exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-O", "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(("messages", "copies"), [(6, 1), (4, 2)])
def test_any_change_of_one_row_is_rejected_or_does_no_harm_at_length(messages, copies):
    change_every_row("star:4", messages, copies)
