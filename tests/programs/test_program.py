"""Programs: from schedules and back, pairs, times and circles, against plain loops and networkx."""

from collections import defaultdict, deque

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interpreters.jobs import JOBS, SPECS, planned
from treecast.files import formats
from treecast.files.formats.goal import read_goal
from treecast.files.programs.messages import chunk_places, messages_of, of_schedule
from treecast.files.programs.order import find_order, find_pairs, judge_order, receives_before
from treecast.files.programs.program import ADD, RECEIVE, SEND, Program
from treecast.files.programs.verdict import Findings
from treecast.verification.file_rules import rules_of


@st.composite
def programs(draw):
    """Return a program of a few ranks, whose lanes may wait for each other in circles."""
    ranks, rows, waits = draw(st.integers(2, 4)), [], []
    lanes = draw(st.lists(st.integers(0, ranks - 1), min_size=1, max_size=5).map(sorted))
    for lane, rank in enumerate(lanes):
        for _ in range(draw(st.integers(1, 4))):
            to, source = (draw(st.sampled_from([-1, *(r for r in range(ranks) if r != rank)])) for _ in range(2))
            rows.append((rank, lane, (to >= 0) * SEND | (source >= 0) * RECEIVE, to, source, draw(st.integers(0, 1))))
            others = [k for k, row in enumerate(rows[:-1]) if row[0] == rank]
            waits.append(sorted(draw(st.sets(st.sampled_from(others), max_size=2)) if others else ()))
    columns = np.array(rows, np.int64).T
    flat = np.array([other for some in waits for other in some], np.int64)
    units = np.array([draw(st.integers(1, 3)) if row[2] else 0 for row in rows], np.int64)
    names = ("rank", "lane", "kind", "to", "source", "tag")
    return Program(
        ranks=ranks,
        **dict(zip(names, columns, strict=True)),
        size=units,
        units=units,
        waiting=np.repeat(np.arange(len(rows)), [len(some) for some in waits]),
        wait=flat,
        begun=np.zeros(len(flat), bool),
        where=lambda one: (f"operation {one}", (one,)),
    )


def paired(program):
    """Return the pairs that first-in-first-out queues make, by hand."""
    queues = defaultdict(deque)
    for one in np.flatnonzero(program.does(SEND)).tolist():
        queues[int(program.rank[one]), int(program.to[one]), int(program.tag[one])].append(one)
    pairs = []
    for one in np.flatnonzero(program.does(RECEIVE)).tolist():
        queue = queues[int(program.source[one]), int(program.rank[one]), int(program.tag[one])]
        if queue:
            pairs.append((queue.popleft(), one))
    return sorted(pairs)


@given(programs())
def test_pairs_are_those_of_queues(program):
    pairs = find_pairs(program)
    assert list(zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True)) == paired(program)
    met = {one for pair in paired(program) for one in pair}
    sends, receives = {one for one, _ in paired(program)}, {one for _, one in paired(program)}
    moving = np.flatnonzero(program.kind > 0).tolist()
    lonely = {
        one
        for one in moving
        if (program.kind[one] & SEND and one not in sends) or (program.kind[one] & RECEIVE and one not in receives)
    }
    assert set(pairs.alone.tolist()) == lonely
    assert met <= set(moving)


@given(programs(), st.booleans())
def test_times_are_longest_ways_and_circles_are_found(program, together):
    pairs, graph = find_pairs(program), nx.DiGraph()
    for one in range(len(program)):
        waits = (int(program.kind[one]) & SEND) or (together and int(program.kind[one]))
        tie(graph, (one, "begin"), (one, "end"), int(program.units[one]) if waits else 0)
        for other in [*program.awaited(one), int(program.before[one])]:
            if other >= 0:
                tie(graph, (other, "end"), (one, "begin"), 0)
    for send, receive in paired(program):
        fused = program.kind[receive] & SEND
        tie(graph, (send, "end"), (receive, "begin" if fused else "end"), 0)
        if together:
            tie(graph, (receive, "begin"), (send, "end"), int(program.units[send]))
    order = find_order(program, pairs, together)
    stuck = set().union(*([c for c in nx.strongly_connected_components(graph) if len(c) > 1] or [set()]))
    behind = stuck.union(*(nx.descendants(graph, point) for point in stuck))
    time = {}
    for point in nx.topological_sort(graph.subgraph(set(graph) - behind)):
        ways = [time[before] + graph.edges[before, point]["long"] for before in graph.predecessors(point)]
        time[point] = max(ways, default=0)
    for one in range(len(program)):
        assert (int(order.begins[one]), int(order.ends[one])) == tuple(
            time.get((one, side), -1) for side in ("begin", "end")
        )
    found = Findings("msccl")
    assert judge_order(found, order) == (not stuck)
    assert bool(found.shown.get("order")) == bool(stuck)


def tie(graph, before, after, long):
    known = graph.get_edge_data(before, after, {"long": 0})["long"]
    graph.add_edge(before, after, long=max(long, known))


@given(programs())
def test_what_surely_comes_before_is_what_waits_lead_back_to(program):
    order = find_order(program, find_pairs(program))
    receives, before = receives_before(order)
    ended = set(order.ended.tolist())
    for send, bits in before.items():
        seen, todo = set(), list(program.awaited(send))
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += program.awaited(one)
        rank = int(program.rank[send])
        sure = {receives[rank][k] for k in range(len(receives[rank])) if bits >> k & 1}
        assert sure == {one for one in seen if program.kind[one] & RECEIVE}
        assert sure <= ended


def test_each_rule_asks_for_something_and_belongs_to_formats_that_are_read():
    assert all(rule.asks for rule in rules_of())
    judged = {name for name, entry in formats.registry.importers().items() if entry.judge}
    assert {name for rule in rules_of() for name in rule.of} == judged
    assert all(rules_of(name) for name in judged)


COLUMNS = ("rank", "to", "source", "tag", "size", "waiting", "wait", "begun")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "spec"), [job for job in JOBS if job.values[1] in SPECS[:2]])
def test_what_is_written_is_the_program_of_the_schedule(kind, spec):
    schedule = planned(kind, spec)
    program, message = of_schedule(messages_of(schedule), chunk_places(schedule, None))
    read = read_goal(formats.encode(schedule, "goal")).program
    assert np.array_equal(np.where(program.kind == ADD, 0, program.kind), read.kind)
    moves = program.kind != ADD
    for name in COLUMNS:
        mine, theirs = getattr(program, name), getattr(read, name)
        mine = np.maximum(mine, 1) if name == "size" else mine
        both = (mine[moves], theirs[moves]) if name in ("tag", "size") else (mine, theirs)
        assert np.array_equal(*both), name
    pairs = find_pairs(program)
    assert not len(pairs.alone)
    assert np.array_equal(message[pairs.send], message[pairs.receive])
    assert find_order(program, pairs).steps <= schedule.steps
