"""The rules of every collective: the fast verifier, the expanded one and plain loops judge the same schedules."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import faults_found, graph_of
from tests.strategies import (
    ALL_SOURCE,
    KINDS,
    all_port,
    arbitrary,
    examples,
    fits,
    mutations,
    planned_of,
    spread_at_random,
)
from treecast import compiled
from treecast.collectives import Collective
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule
from treecast.verification.verifier import verify


@pytest.fixture(autouse=True, scope="module")
def no_threads():
    """Run the inner loops one block after the other: to start threads takes longer than these schedules."""

    def one_by_one(work, total, block, name=""):
        return [work(start, min(start + block, total)) for start in range(0, total, block)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "in_parallel", one_by_one)
        yield


@cache
def graph_named(spec):
    return graph_of(network(spec))


def graph(where):
    return graph_named(where.spec)


def broken(report):
    return {rule for rule, count in report.counts.items() if count}


def judged_alike(schedule):
    """Hold the fast verifier against the expanded one and the oracle; return whether the schedule is right."""
    fast, slow = verify(schedule), verify(schedule, method="expanded")
    wrong = faults_found(schedule, graph(schedule.network))
    same = ["adjacent", "link-once", "one-chunk", "holds", "claims"]
    if not schedule.collective.sums:
        same.append("delivered")
    for rule in same:
        assert (rule in broken(fast)) == (rule in broken(slow)), (rule, fast.counts, slow.counts)
    assert fast.holds == slow.holds, (fast.counts, slow.counts)
    assert ("adjacent" in broken(fast)) == ("adjacent" in wrong)
    assert bool(broken(fast) & {"link-once", "one-chunk"}) == ("arc" in wrong)
    assert ("holds" in broken(fast)) == ("holds" in wrong)
    if not schedule.collective.sums:
        assert ("delivered" in broken(fast)) == ("delivered" in wrong)
    if schedule.copies == 1:
        assert fast.holds == (not wrong), (fast.counts, wrong)
    elif fast.holds:  # the certificate of copies is sufficient, not necessary
        assert not wrong
    return fast.holds


def tight(kind, spec, most_copies=3):
    """Schedules of a kind without claims, so that the rules themselves have to find what is wrong."""
    where = network(spec)
    for builder in all_port(kind, where):
        if builder.name == "spg":  # some nodes hear more often than they need, so not all rows are needed
            continue
        for copies in range(1, min(most_copies, builder.most_copies(where)) + 1):
            if not fits(builder, kind, where, copies):
                continue
            for messages in (1, 2):
                root = 0 if kind in ALL_SOURCE else where.nodes // 2
                made = plan(kind, where, root=root, messages=messages, copies=copies, builder=builder.name)
                yield replace(made, claims=None)


def all_changes(kind, spec, most):
    """Judge every change of one row, of long schedules ``most`` of them, chosen at random."""
    seen, kept = Counter(), Counter()
    for schedule in tight(kind, spec, 2):
        found = list(mutations(schedule))
        for name, build in found if len(found) <= most else Random(0).sample(found, most):
            mutant = build()
            if mutant.rows == schedule.rows:
                continue
            right = verify(mutant).holds
            wrong = faults_found(mutant, graph(mutant.network))
            seen[name] += 1
            kept[name] += right
            if right:
                assert not wrong, name
            elif not wrong:
                assert schedule.copies > 1, (name, verify(mutant).violations)
    assert len(seen) >= 12
    # of these none is ever harmless: all rows are needed, and none fits anywhere else
    for name in ("left out", "twice", "another source", "another target", "another port"):
        assert kept[name] == 0, name
    assert 0 < sum(kept.values()) < sum(seen.values())


@examples(80)
@given(arbitrary(kinds=KINDS))
def test_arbitrary_schedules_of_every_kind(schedule):
    judged_alike(schedule)


@examples(80)
@given(arbitrary(orbit=True, kinds=ALL_SOURCE))
def test_arbitrary_orbits_of_every_kind(schedule):
    right = judged_alike(schedule)
    if schedule.copies == 1:
        assert verify(schedule.plain()).holds == right


@examples(80)
@given(planned_of(), st.data())
def test_nearly_right_schedules_of_every_kind(schedule, data):
    assert judged_alike(schedule) or (schedule.copies > 1 and not schedule.orbit)
    for _ in range(data.draw(st.integers(1, 2))):
        schedule = data.draw(st.sampled_from([build for _, build in mutations(schedule)]))()
        judged_alike(schedule)


UNDER = [
    "shouting",
    "one-port",
    "whispering",
    "all-port,half",
    "one-port,half",
    "one-port,combining",
    "one-port,combining,half",
]


def test_one_port_leads_to_a_node_of_an_orbit_from_two_sources():
    where, once = network("star:3"), Payloads.of_ranges([0], [1])
    rows = Rows.of(once, step=[0, 0], src=[0, 0], dst=[0, 2], port=[0, 0], tree=0, payload=[0, 0])
    schedule = Schedule(where, Collective.over(where, "allgather", 1), model("all-port"), rows, orbit=True)
    for method in ("fast", "expanded"):
        assert "recv-port" in broken(verify(schedule, "one-port,combining", method=method))


@examples(30)
@given(st.one_of(arbitrary(kinds=KINDS), arbitrary(orbit=True, kinds=ALL_SOURCE), spread_at_random(), planned_of()))
def test_other_models_of_the_machine(schedule):
    for under in UNDER:
        fast, slow = verify(schedule, under), verify(schedule, under, method="expanded")
        assert fast.holds == slow.holds
        for rule in (
            *("adjacent", "link-once", "one-chunk", "send-port", "recv-port", "one-partner", "half-port", "duplex"),
            "holds",
        ):
            if rule == "duplex" and "adjacent" in broken(slow):
                continue  # a row that leads elsewhere than its port is on no link: its other end or its port may be meant
            assert (rule in broken(fast)) == (rule in broken(slow)), (under, rule)


def by_hand(kind, spec, messages, table, rows, orbit=False, copies=1):
    where = network(spec)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    table = Payloads.of([[(a, b)] for a, b in table])
    return Schedule(
        where, Collective(kind, where.nodes, messages), model("all-port"), Rows.of(table, **columns), copies, orbit
    )


# (step, steps, src, dst, port, tree, payload); on path:3 port 0 leads up, port 1 down
UP = [(0, 2, 2, 1, 1, 0, 0), (1, 2, 1, 0, 1, 0, 0)]  # the sums 0, 1 come down to node 0, one behind the other
BACK = [(3, 2, 0, 1, 0, 0, 1), (4, 2, 1, 2, 0, 0, 1)]  # the finished sums 2, 3 go up again
HALVES = [(0, 2), (2, 4), (0, 1), (3, 4), (2, 3)]


@pytest.mark.parametrize(
    ("kind", "rows", "rules"),
    [
        ("reduce", UP, set()),
        ("reduce", [UP[0], (2, 2, *UP[1][2:])], set()),  # a step later than need be
        ("reduce", [UP[0], (0, 2, *UP[1][2:])], {"complete"}),  # node 1 sends before node 2's part is there
        ("reduce", UP[1:], {"delivered"}),
        ("reduce", UP[:1], {"delivered"}),
        ("reduce", [*UP, (5, 1, 2, 1, 1, 0, 2)], {"once", "complete"}),  # sum 0 of node 2 a second time
        ("reduce", [*UP, (5, 1, 1, 0, 1, 0, 2)], {"once"}),
        ("reduce", [*UP, (5, 1, 0, 1, 0, 0, 2)], {"once", "complete"}),  # the owner gives it away
        ("reduce-broadcast", [*UP, *BACK], set()),
        ("reduce-broadcast", [*UP, (2, 2, *BACK[0][2:]), (3, 2, *BACK[1][2:])], set()),  # sum 1 is finished at step 3
        ("reduce-broadcast", [*UP, (1, 2, *BACK[0][2:]), (2, 2, *BACK[1][2:])], {"holds"}),
        ("reduce-broadcast", [*UP, BACK[0]], {"delivered"}),
        ("reduce-broadcast", [*UP, (2, 1, 0, 1, 0, 0, 3), (3, 1, 0, 1, 0, 0, 4), (4, 2, *BACK[1][2:])], {"holds"}),
    ],
)
def test_rules_of_sums_by_hand(kind, rows, rules):
    schedule = by_hand(kind, "path:3", 2, HALVES, rows)
    assert broken(verify(schedule)) == rules
    assert judged_alike(schedule) == (not rules)


@pytest.mark.parametrize(
    ("rows", "rules"),
    [
        ([(0, 2, 0, 1, 0, 0, 0), (1, 2, 1, 2, 0, 0, 0)], set()),  # both blocks go as one stream, node 2's first
        ([(0, 1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 0, 2), (1, 1, 1, 2, 0, 0, 1)], {"delivered"}),
        ([(0, 2, 0, 1, 0, 0, 0), (0, 2, 1, 2, 0, 0, 0)], {"holds"}),
    ],
)
def test_rules_of_personal_data_by_hand(rows, rules):
    schedule = by_hand("scatter", "path:3", 1, [(1, 3), (1, 2), (0, 1)], rows)
    assert broken(verify(schedule)) == rules
    assert judged_alike(schedule) == (not rules)


def test_a_sum_has_one_copy():
    schedule = replace(plan("reduce", "star:3", messages=2), copies=2)
    for method in ("fast", "expanded"):
        assert broken(verify(schedule, method=method)) == {"copies"}


@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall", "broadcast", "allgather"])
def test_copies_are_lost_when_two_ways_meet_or_are_one(kind):
    """Take the names of the trees away, or give all one name: the certificate is gone."""
    schedule = replace(plan(kind, "hypercube:3", copies=2, builder="disjoint-trees"), claims=None)
    assert judged_alike(schedule)
    columns = schedule.rows.columns()
    for tree in (columns["tree"] * 0 - 1, columns["tree"] * 0):
        unnamed = replace(schedule, rows=Rows.of(schedule.rows.payloads, **{**columns, "tree": tree}))
        assert not judged_alike(unnamed)
        assert "copies" in broken(verify(unnamed))
    assert "copies" in broken(verify(replace(schedule, copies=3)))


def of_ways(kind, ways):
    """A personal collective on ring:4, row after row, from the ways of each chunk as (tree, nodes), those of node 0."""
    ring, rows = network("ring:4"), []
    back = -1 if kind == "gather" else 1
    for chunk, these in ways.items():
        for tree, nodes in these[::back]:
            for src, dst in pairwise(nodes[::back]):
                rows.append((len(rows), 1, src, dst, int(ring.port_between(src, dst)), tree, chunk))
    return by_hand(kind, "ring:4", 1, [(v, v + 1) for v in range(4)], rows, kind == "alltoall", 2)


RIGHT_WAYS = {
    1: [(0, [0, 1]), (1, [0, 3, 2, 1])],
    2: [(0, [0, 1, 2]), (1, [0, 3, 2])],
    3: [(0, [0, 3]), (1, [0, 1, 2, 3])],
}


@pytest.mark.parametrize(
    "changed",
    [
        {2: [(0, [0, 1, 2]), (1, [0, 1, 2])]},  # both by way of node 1
        {1: [(0, [0, 1]), (1, [0, 1])]},  # one arc twice
        {3: [(0, [0, 3]), (1, [0, 3])]},
        {2: [(0, [0, 1, 2]), (-1, [0, 3, 2])]},  # the second way is of no tree
        {2: [(0, [0, 1, 2]), (0, [0, 3, 2])]},  # a node with two sources in one tree
        {2: [(0, [0, 1, 2])]},
        {1: [(0, [0, 1]), (0, [0, 3]), (1, [3, 2, 1])]},  # the second way begins in the other tree
        {3: [(0, [0, 3]), (-1, [0, 1]), (1, [1, 2, 3])]},  # … or in none
    ],
)
@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
def test_ways_of_personal_data_that_are_not_disjoint(kind, changed):
    assert judged_alike(of_ways(kind, RIGHT_WAYS))
    for method in ("fast", "expanded"):
        assert broken(verify(of_ways(kind, RIGHT_WAYS | changed), method=method)) == {"copies"}
    assert faults_found(of_ways(kind, RIGHT_WAYS | changed), graph(network("ring:4"))) == {"copies"}


@pytest.mark.parametrize("kind", ["scatter", "alltoall"])
def test_a_node_waits_for_what_comes_by_way_of_the_same_tree(kind):
    """Node 3 has the chunk, but of no tree, when it sends it on in tree 1, not by way of tree 1."""
    early = RIGHT_WAYS | {2: [(0, [0, 1, 2]), (-1, [0, 3]), (1, [3, 2]), (1, [0, 3])]}
    late = RIGHT_WAYS | {2: [(0, [0, 1, 2]), (-1, [0, 3]), (1, [0, 3]), (1, [3, 2])]}
    assert judged_alike(of_ways(kind, late))
    for method in ("fast", "expanded"):
        assert broken(verify(of_ways(kind, early), method=method)) == {"copies"}


@pytest.mark.parametrize("kind", ["scatter", "alltoall"])
def test_a_second_source_in_a_tree_is_refused_even_where_it_does_no_harm(kind):
    schedule = of_ways(kind, RIGHT_WAYS | {2: [*RIGHT_WAYS[2], (1, [1, 2])]})
    assert not faults_found(schedule, graph(schedule.network))
    for method in ("fast", "expanded"):
        assert broken(verify(schedule, method=method)) == {"copies"}


def test_a_broken_plan_is_not_set_against_bounds_of_right_ones():
    schedule = plan("allgather", "ring:4")
    assert "the lower bound" in str(verify(schedule))
    assert "the lower bound" not in str(verify(schedule.select(np.arange(len(schedule)) > 0)))


@pytest.mark.slow
@pytest.mark.each(11)
@pytest.mark.parametrize("spec", ["star:3", "hypercube:2", pytest.param("hypercube:3", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_change_of_one_row_of_any_kind_is_judged_right(kind, spec):
    all_changes(kind, spec, 40)


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.long if kind in ALL_SOURCE else ()) for kind in KINDS]
)
def test_changes_of_one_row_on_a_larger_star(kind):
    for schedule in tight(kind, "star:4", 2):
        found = list(mutations(schedule))
        for _, build in found[:: 1 + len(found) // 8]:
            mutant = build()
            right, wrong = verify(mutant).holds, faults_found(mutant, graph(mutant.network))
            if right or schedule.copies == 1:
                assert right == (not wrong), (wrong, verify(mutant).violations)


@pytest.mark.slow
@examples(80)
@given(spread_at_random())
def test_schedules_made_at_random(schedule):
    judged_alike(schedule)


@pytest.mark.long
@pytest.mark.parametrize("spec", ["star:3", "hypercube:2", "hypercube:3"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_one_row_of_any_kind_is_judged_right(kind, spec):
    all_changes(kind, spec, 10**6)
