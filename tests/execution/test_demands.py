"""Demands on real bytes: every wanter ends with the copies and the sums that plain loops find, and runs do what replays say."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demands.demands import FAMILIES, by_chance
from tests.strategies import examples
from treecast.networks import network
from treecast.plans import plan
from treecast.running.execution.local import run
from treecast.schedule import Rows
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate


def cut(demand, data):
    """What each rank adds to each class, and what each copy has: the parts of a file, by plain loops."""
    classes = [(size, [part[0] for part in parts], wants) for size, parts, wants in demand.numbered()]
    sums = [each for each in classes if len(each[1]) > 1]
    units = sum(size * max(1, len(givers)) for size, givers, _ in classes)
    if sums:  # all units are as long
        data = data.ljust(-(-len(data) // max(1, units)) * units, b"\0")
    at, added, copies = 0, {}, []

    def take(size):
        nonlocal at
        at += size
        return data[(at - size) * len(data) // units : at * len(data) // units]

    for rank in sorted({rank for _, givers, _ in sums for rank in givers}):
        for number, (size, givers, _) in enumerate(sums):
            if rank in givers:
                added[number, rank] = np.frombuffer(take(size), np.uint8).astype(np.int64)
    for size, *_ in classes[len(sums) :]:
        copies.append(take(size))
    return classes, added, copies


def digests_of(schedule, data):
    """The digest of what each node wants: finished sums, numbers of eight bytes, and then copies."""
    demand = schedule.collective.demand
    classes, added, copies = cut(demand, data)
    found = [b"" for _ in range(schedule.network.nodes)]
    sums = len(classes) - len(copies)
    for number, (_, givers, wants) in enumerate(classes):
        whole = copies[number - sums] if number >= sums else sum(added[number, rank] for rank in givers).tobytes()
        for rank in wants:
            found[rank] += whole
    return [hashlib.sha256(each).hexdigest() for each in found]


@examples(60)
@given(
    st.sampled_from(["ring:5", "hypercube:3", "complete:4", "torus:3x3", "fat-tree:2"]),
    st.sampled_from(["all-port", "one-port", "whispering"]),
    st.sampled_from(FAMILIES),
    st.integers(0, 999),
    st.binary(max_size=300),
)
def test_every_wanter_has_its_copies_and_its_sums(spec, model, family, seed, data):
    schedule = plan(by_chance(network(spec).rank_count, family, seed), spec, model=model)
    taken = dict[int, bytes]()
    done = run(schedule, data, take=taken.__setitem__)
    right, wants = digests_of(schedule, data), set(schedule.collective.wanted().node.tolist())
    assert done.holds
    assert done.intact == schedule.collective.ranks.tolist()
    assert done.digests == done.true_digests == right
    assert {node: hashlib.sha256(each).hexdigest() for node, each in taken.items()} == {v: right[v] for v in wants}


@examples(40)
@given(st.sampled_from(["ring:5", "hypercube:3"]), st.sampled_from(FAMILIES), st.integers(0, 999), st.data())
def test_under_faults_a_run_does_what_a_replay_says(spec, family, seed, draws):
    where = network(spec)
    schedule = plan(by_chance(where.nodes, family, seed), where)
    faults = Faults(
        draws.draw(st.dictionaries(st.integers(0, where.nodes - 1), st.integers(0, schedule.steps), max_size=2))
    )
    done, trace = run(schedule, b"some bytes of a file", faults), simulate(schedule, faults)
    assert (done.steps, done.transmissions, done.lost_sends) == (trace.steps, trace.transmissions, trace.lost_sends)
    for v in range(where.nodes):
        assert done.held[v].tolist() == [
            trace.arrival_step(v, c) is not None for c in range(schedule.collective.chunks)
        ]
    assert done.intact == [v for v in done.living if v not in {lost for lost, _, _ in trace.lost}]


@pytest.mark.parametrize("size", [0, 12, 144])
def test_a_demand_that_is_an_allreduce_cuts_the_file_as_it_does(size):
    data = np.random.default_rng(size).bytes(size)
    every = [0, "+", 1, "+", 2, "+", 3]
    one, other = plan([(every, [0, 1, 2, 3], 3)], "ring:4"), plan("reduce-broadcast", "ring:4", messages=3)
    assert run(one, data).digests == run(other, data).digests


def test_a_contribution_added_twice_is_not_intact():
    schedule = plan([([0, "+", 1, "+", 2], 0, 2)], "ring:3")
    rows = schedule.rows
    last = np.flatnonzero(rows.dst == 0)[-1:]
    again = {name: np.concatenate([column, column[last]]) for name, column in rows.columns().items()}
    again["step"][-1] += 2
    assert not run(replace(schedule, rows=Rows.of(rows.payloads, **again), claims=None), bytes(range(60))).holds
