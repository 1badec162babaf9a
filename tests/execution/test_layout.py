"""Where chunks lie, what nodes must end with and what they still add, against plain loops over numbers, sets and sends."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import tasks_of
from treecast.collectives import COLLECTIVES, Collective, Lengths
from treecast.plans import plan
from treecast.running.execution.layout import (
    even_layout,
    file_layout,
    mask_of,
    message_layout,
    missing_contributions,
    missing_contributions_at,
    ranges,
    ranges_at,
    ranges_by_node,
)
from treecast.simulation.faults import Faults, wanted

OF_ONE_LENGTH = [name for name, kind in COLLECTIVES.items() if not kind.targets and not kind.lengths]


@given(st.integers(0, 10**15), st.integers(1, 300), st.integers(1, 16))
def test_equal_chunks_are_cut_between_items(size, chunks, item):
    bounds = even_layout(size, chunks, item).bounds
    assert bounds.tolist() == [c * (size // item) // chunks * item for c in range(chunks + 1)]


def test_no_number_overflows():
    bounds = even_layout(10**14, 3 * 10**6).bounds
    assert [int(bounds[c]) for c in (1, 2_999_999, 3_000_000)] == [
        10**14 // (3 * 10**6), 2_999_999 * 10**14 // (3 * 10**6), 10**14,
    ]  # fmt: skip


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(1, 20), st.randoms(use_true_random=False))
def test_messages_lie_one_behind_the_other_in_the_order_of_their_chunks(sizes, flit, random):
    order = random.sample(range(len(sizes)), len(sizes))
    flits = [-(-size // flit) for size in sizes]
    lengths = Lengths(np.array(flits), np.array(order))
    layout = message_layout(lengths, sizes, flit)
    assert layout.size == sum(sizes)
    at = chunk = 0
    for node in order:
        for place in range(flits[node]):
            here = layout.slice_of(chunk, chunk + 1)
            assert (here.start, here.stop) == (at + place * flit, at + min(sizes[node], (place + 1) * flit))
            chunk += 1
        whole = layout.slice_of(lengths.first[node], lengths.stop[node])
        assert (whole.start, whole.stop) == (at, at + sizes[node])
        at += sizes[node]


@pytest.mark.parametrize("kind", ["reduce", "allreduce", "reduce-scatter", "reduce-broadcast"])
def test_sums_are_numbers_of_eight_bytes_and_finished_sums_lie_behind(kind):
    collective = Collective(kind, 5, 3)
    layout = file_layout(collective, 101)
    sums, part = collective.sums, 21
    cuts = [8 * (c * part // sums) for c in range(sums + 1)]
    assert layout.bounds.tolist() == cuts + ([8 * part + cut for cut in cuts[1:]] if collective.results else [])


@given(st.lists(st.booleans(), max_size=30))
def test_ranges_are_the_runs_of_a_mask(mask):
    found = ranges(np.array(mask, bool))
    assert [c for first, stop in found for c in range(first, stop)] == [c for c, there in enumerate(mask) if there]
    assert all(a[1] < b[0] for a, b in pairwise(found))


@given(st.data())
def test_what_is_wanted_under_faults(data):
    """Of each chunk, by sets: who wants it, unless that node fails; and whether it was ever there."""
    kind = data.draw(st.sampled_from(OF_ONE_LENGTH))
    nodes, messages = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    collective = Collective(kind, nodes, messages, 0 if kind not in ("scatter", "gather") else nodes - 1)
    dead = data.draw(st.dictionaries(st.integers(0, nodes - 1), st.integers(0, 2)))
    tasks, sums = tasks_of(kind, nodes, messages, collective.root)
    unfinished = {chunk: (owner, {owner}) for chunk, (owner, result) in sums.items() if result is None}
    right = [set[int]() for _ in range(nodes)]
    for chunk, (source, targets) in {**tasks, **unfinished}.items():
        for node in targets:
            if node not in dead and (collective.sums or dead.get(source) != 0):
                right[node].add(chunk)
    holdings = wanted(collective, Faults(dead))
    by_node = ranges_by_node(holdings, nodes)
    assert [{c for first, stop in mine for c in range(first, stop)} for mine in by_node] == right
    assert [ranges_at(holdings, node) for node in range(nodes)] == by_node
    assert all(a[1] <= b[0] for mine in by_node for a, b in pairwise(mine))
    mask = mask_of(holdings, nodes, collective.chunks)
    assert [set(np.flatnonzero(row).tolist()) for row in mask] == right


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reduce", "reduce-broadcast", "reduce-scatter", "allreduce", "broadcast"])
@pytest.mark.parametrize("spec", ["star:3", "hypercube:3", "torus:3x3", "ring:5", "fat-tree:4 with relays-add yes"])
def test_contributions_are_counted_as_by_looking_at_every_send(kind, spec):
    schedule = plan(kind, spec, messages=3)
    sums = schedule.collective.sums
    count = np.zeros((schedule.network.nodes, sums), int)
    for sends in schedule.expand():
        for node, chunk in zip(sends.dst.tolist(), sends.chunk.tolist(), strict=True):
            if chunk < sums:
                count[node, chunk] += 1
    assert missing_contributions(schedule).tolist() == count.tolist()
    for node in range(schedule.network.nodes):
        assert missing_contributions_at(schedule.at(node), node).tolist() == count[node].tolist()


def test_a_digest_is_of_the_bytes_of_its_ranges():
    layout, memory = even_layout(100, 7), np.arange(100, dtype=np.uint8)
    bytes_of = b"".join(bytes(range(c * 100 // 7, (c + 1) * 100 // 7)) for c in (0, 1, 4))
    assert layout.digest(memory, [(0, 2), (4, 5)]) == hashlib.sha256(bytes_of).hexdigest()
