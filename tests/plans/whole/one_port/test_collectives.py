"""Scatter, gather, allgather, alltoall and sums over one port, chunks alone or combined: their steps are the table's."""

import pytest

from treecast.lower_bounds import best
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
                asked = {"messages": 3, "copies": 2 if builder.name == "shifted-trees" else 1, "builder": builder.name}
                schedule = plan(kind, "complete:6", model=under, **asked)
                for method in ("fast", "expanded"):
                    assert verify(schedule, method=method).holds, (kind, builder.name, under)
                seen.add((kind, builder.name, under))
    assert len(seen) == 35


def test_an_alltoall_by_bits_moves_as_many_chunks_as_bits_are_set():
    """192 chunks from each of 64 nodes in 6 steps, where 63 go straight in 63."""
    combined = plan("alltoall", "complete:64", model="one-port,combining")
    assert (combined.builder, combined.steps, combined.transmissions) == ("bruck", 6, 64 * 192)
    straight = plan("alltoall", "complete:64", model="one-port")
    assert (straight.builder, straight.steps, straight.transmissions) == ("one-by-one", 63, 64 * 63)


def test_a_dead_node_hurts_nobody_else_in_an_allgather_one_by_one():
    rows = plan("allgather", "complete:9", model="one-port").rows
    assert set(rows.src.tolist()) == {0}
