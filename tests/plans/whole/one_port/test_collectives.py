"""Scatter, gather, allgather, alltoall and sums over one port, chunks alone or combined: their steps are the table's."""

import pytest

from treecast import sweep
from treecast.collectives import COLLECTIVES
from treecast.lower_bounds import best
from treecast.models import model
from treecast.networks import network
from treecast.plans import builders, plan
from treecast.verification.verifier import verify


def doublings(nodes):
    return (nodes - 1).bit_length()


PLAIN = {
    "broadcast": lambda p, m: m - 1 + doublings(p) if p > 1 else 0,
    "reduce": lambda p, m: m - 1 + doublings(p) if p > 1 else 0,
    "reduce-broadcast": lambda p, m: 2 * (m - 1 + doublings(p)) if p > 1 else 0,
    "scatter": lambda p, m: m * (p - 1),
    "gather": lambda p, m: m * (p - 1),
    "allgather": lambda p, m: m * (p - 1),
    "reduce-scatter": lambda p, m: m * (p - 1),
    "allreduce": lambda p, m: 2 * m * (p - 1),
    "alltoall": lambda p, m: m * (p - 1),
}
"""The steps of M chunks in a block over p nodes, one chunk in a message."""
"""The steps where messages combine, in ⌈log2 p⌉."""


@pytest.mark.parametrize("kind", ["scatter", "gather", "allgather", "alltoall"])
def test_more_copies_take_the_fewest_steps_by_relays(kind):
    for nodes in (2, 3, 4, 6):
        for copies in range(1, nodes):
            for messages in (1, 3):
                schedule = plan(kind, f"complete:{nodes}", messages=messages, copies=copies, model="one-port")
                report = verify(schedule)
                assert report.holds, (nodes, copies, messages, report.violations)
                ways = 2 * copies - 1 if kind == "alltoall" else copies
                assert report.steps == messages * ways * (nodes - 1)
                assert report.steps == best(list(report.bounds), "steps").value


def test_every_builder_claims_what_its_rows_have():
    """Which the verifier's rule ``claims`` holds; and single sends tell the same as streams."""
    seen = set()
    for kind in PLAIN:
        for builder in builders(kind, "complete:6"):
            for under in {"one-port", "one-port,combining"} & set(builder.models):
                asked = {"messages": 3, "copies": 2 if builder.name == "disjoint-trees" else 1, "builder": builder.name}
                schedule = plan(kind, "complete:6", model=under, **asked)
                for method in ("fast", "expanded"):
                    assert verify(schedule, method=method).holds, (kind, builder.name, under)
                seen.add((kind, builder.name, under))
    assert len(seen) == 36


def test_an_alltoall_by_bits_moves_as_many_chunks_as_bits_are_set():
    """192 chunks from each of 64 nodes in 6 steps, where 63 go straight in 63."""
    combined = plan("alltoall", "complete:64", model="one-port,combining")
    assert (combined.builder, combined.steps, combined.transmissions) == ("recursive-doubling", 6, 64 * 192)
    straight = plan("alltoall", "complete:64", model="one-port")
    assert (straight.builder, straight.steps, straight.transmissions) == ("direct", 63, 64 * 63)


@pytest.mark.parametrize(("nodes", "copies"), [(3, 2), (4, 2), (5, 3), (6, 3), (7, 2), (7, 6), (8, 4), (9, 5), (12, 3)])
@pytest.mark.parametrize("kind", ["scatter", "allgather", "alltoall"])
def test_where_messages_combine_few_shifts_go_twice(kind, nodes, copies):
    asked = {"copies": copies, "messages": 2, "model": "one-port,combining", "builder": "direct"}
    schedule = plan(kind, f"complete:{nodes}", **asked)
    shifts = {
        "allgather": nodes - 1 + copies - (nodes == 2 * copies),
        "alltoall": nodes + copies - 2 + (2 * copies > nodes),
    }
    above = {"scatter": copies * (nodes - 1)} if 2 * copies > nodes else {"scatter": nodes + copies - 2}
    assert schedule.steps == schedule.claims.steps == (shifts | above)[kind]
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
    if copies == 2:
        assert all(sweep(schedule, 1, what).holds for what in ("nodes", "links"))


@pytest.mark.parametrize("machine", ["whispering", "one-port,partner", "one-port,combining,half", "shouting"])
@pytest.mark.parametrize("kind", ["scatter", "gather", "allgather", "alltoall"])
def test_copies_one_by_one_are_right_under_every_machine_that_they_are_for(kind, machine):
    """A relay that passes one copy on while the root has another for it has two partners."""
    for nodes in range(2, 9):
        for copies in range(1, nodes):
            where = network(f"complete:{nodes}")
            one = next(b for b in builders(kind, where) if b.name == "direct")
            if one.serves(model(machine)):
                schedule = plan(kind, where, copies=copies, model=machine, builder="direct")
                assert verify(schedule, method="expanded").holds, (nodes, copies)


def test_a_dead_node_hurts_nobody_else_in_an_allgather_one_by_one():
    rows = plan("allgather", "complete:9", model="one-port").rows
    assert set(rows.src.tolist()) == {0}


NODES = [1, 2, 3, 5, 8, 13]


COMBINED = {kind: (2 if kind in ("reduce-broadcast", "allreduce") else 1) for kind in PLAIN}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_one_copy_takes_the_steps_of_the_table(kind):
    for nodes in NODES:
        for messages in (1, 3):
            for under, steps in (
                ("one-port", PLAIN[kind](nodes, messages)),
                ("one-port,combining", COMBINED[kind] * doublings(nodes)),
            ):
                schedule = plan(kind, f"complete:{nodes}", messages=messages, model=under)
                report = verify(schedule)
                assert report.holds, (nodes, under, report.violations)
                assert schedule.steps == schedule.claims.steps
                least = best(list(report.bounds), "steps").value
                if COLLECTIVES[kind].results:  # sums go out while others come in
                    assert least <= schedule.steps <= steps
                else:
                    assert schedule.steps == least == steps
