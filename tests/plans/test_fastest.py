"""Plans for bytes: the number of chunks and the builder that take the least time, held against all that there are."""

from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.errors import TreecastError
from treecast.files import formats
from treecast.lower_bounds.seconds import bound_seconds
from treecast.models import Cost
from treecast.plans import fastest
from treecast.plans.entries import builders
from treecast.plans.request import request
from treecast.plans.timing import time_plan
from treecast.schedule.costs import Costs, read_costs, seconds_by_events, seconds_by_steps
from treecast.schedule.sizes import cut

JOBS: list[tuple[str, str, dict[str, Any]]] = [
    ("broadcast", "torus:3x4", {}),
    ("broadcast", "star:4", {"survive": 1}),
    ("broadcast", "petersen", {}),
    ("scatter", "mesh:3x3", {}),
    ("gather", "hypercube:3", {}),
    ("allgather", "torus:3x3", {}),
    ("alltoall", "hypercube:3", {}),
    ("reduce", "ring:5", {}),
    ("allreduce", "hypercube:3", {}),
    ("reduce-scatter", "star:3", {}),
    ("allgather", "hypercube:3", {"model": "whispering"}),
    ("broadcast", "mesh:4x4", {"model": "wormhole"}),
]


def by_events(schedule: treecast.Schedule, startup: float, per_byte: float) -> float:
    """Return the end of the last send by a plain walk over all sends, with dictionaries."""
    model, collective, sizes = schedule.model, schedule.collective, schedule.sizes
    assert sizes is not None
    there: dict[tuple[int, int], float] = {}
    free: dict[object, float] = {}
    end = 0.0
    parcels: dict[tuple[int, ...], list[int]] = {}
    for send in schedule:
        key = (send.step, send.src, send.dst, send.port) + (() if model.combining else (send.chunk,))
        parcels.setdefault(key, []).append(send.chunk)
    by_step: dict[int, list[tuple[tuple[int, ...], list[int]]]] = {}
    for key, chunks in parcels.items():
        by_step.setdefault(key[0], []).append((key, chunks))
    for step in sorted(by_step):
        ended = []
        for (_, src, dst, port, *_), chunks in by_step[step]:
            length = sum(
                sizes.last if chunk % sizes.messages == sizes.messages - 1 else sizes.chunk for chunk in chunks
            )
            if model.ports == "all":
                ports: list[object] = [("arc", src, port)]
            elif model.partner == "same" or model.routing:
                ports = [src, dst]
            else:
                ports = [("out", src), ("in", dst)]
            begin = max([there.get((src, chunk), 0.0) for chunk in chunks] + [free.get(each, 0.0) for each in ports])
            ended.append((begin + startup + per_byte * length, dst, chunks, ports))
        for over, dst, chunks, ports in ended:
            for each in ports:
                free[each] = max(free.get(each, 0.0), over)
            for chunk in chunks:
                known = there.get((dst, chunk))
                adds = chunk < collective.sums
                there[dst, chunk] = over if known is None else max(known, over) if adds else min(known, over)
            end = max(end, over)
    return end


@pytest.mark.parametrize(("kind", "network", "what"), JOBS)
def test_both_clocks(kind: str, network: str, what: Any) -> None:
    schedule = treecast.plan(kind, network, bytes=2**4 * 3**4 * 125 * 12, latency="1us", rate="1GB/s", **what)
    costs = Costs.of("1us", "1GB/s")
    assert schedule.sizes is not None
    steps, events = seconds_by_steps(schedule, costs), seconds_by_events(schedule, costs)
    assert 0 < events <= steps * (1 + 1e-12)
    assert events == pytest.approx(by_events(schedule, 1e-6, 1e-9), rel=1e-12)
    assert steps == pytest.approx(treecast.simulate(schedule).seconds(costs.default, schedule.sizes.chunk), rel=1e-12)
    bound = time_plan(schedule, costs).bound
    assert (bound is None) == bool(schedule.model.routing)
    assert bound is None or bound.seconds <= steps * (1 + 1e-12)


@examples(25)
@given(
    st.sampled_from([job for job in JOBS if "model" not in job[2]]),
    st.integers(1, 30),
    st.floats(0, 1e-3),
    st.floats(1e3, 1e12),
)
def test_no_plan_beats_the_bound(
    job: tuple[str, str, dict[str, Any]], messages: int, latency: float, rate: float
) -> None:
    kind, network, what = job
    schedule = treecast.plan(kind, network, messages=messages, **what)
    block = messages * 24
    cost = Cost(latency, 1 / rate)
    bound = bound_seconds(
        schedule.collective, schedule.network, schedule.copies, schedule.model, block=block, cost=cost
    )
    assert bound is not None
    assert bound.seconds <= schedule.steps * cost.step_time(24) * (1 + 1e-9)


def test_arcs_that_cost_more_are_waited_for(tmp_path: Any) -> None:
    schedule = treecast.plan("broadcast", "path:4", bytes=4000, chunk=1000)
    (tmp_path / "costs.csv").write_text("source,target,latency,rate\n1,2,1us,100MB/s\n")
    costs = read_costs(schedule.network, str(tmp_path / "costs.csv"), Costs(Cost(1e-6, 1e-9)))
    assert seconds_by_events(schedule, costs) == pytest.approx(2e-6 + 4 * 11e-6 + 2e-6)
    assert seconds_by_steps(schedule, costs) == pytest.approx(2e-6 + 4 * 11e-6 + 2e-6)
    for text, says in (
        ("source,target\n", "its first line is not source,target,latency,rate"),
        ("source,target,latency,rate\n0,2,1us,1GB/s\n", "line 2: no arc leads from 0 to 2"),
        ("source,target,latency,rate\n0,1,1us\n", "line 2: write source,target,latency,rate"),
        ("source,target,latency,rate\n0,1,1us,1Gb/s\n", "line 2: .* bits or bytes"),
    ):
        (tmp_path / "costs.csv").write_text(text)
        with pytest.raises(TreecastError, match=says):
            read_costs(schedule.network, str(tmp_path / "costs.csv"), Costs(Cost(1e-6, 1e-9)))


@pytest.mark.parametrize("suffix", [".tc", ".tcb"])
def test_files_keep_the_bytes_of_a_chunk(suffix: str, tmp_path: Any) -> None:
    schedule = treecast.plan("broadcast", "torus:3x4", bytes="1MiB", item=8, latency="1us", rate="12.5GB/s")
    formats.save(schedule, str(tmp_path / f"plan{suffix}"))
    again = formats.load(str(tmp_path / f"plan{suffix}"))
    assert again == schedule
    assert again.sizes == schedule.sizes is not None
    assert schedule.sizes.chunk % 8 == 0
    assert "--bytes 1048576 --chunk" in schedule.command


@pytest.mark.parametrize("kind", ["broadcast", "allgather", "alltoall", "allreduce", "scatter"])
def test_chunks_cover_the_data(kind: str) -> None:
    schedule = treecast.plan(kind, "hypercube:3", bytes=64 * 1000, messages=7)
    assert schedule.sizes is not None
    bounds = schedule.sizes.bounds(schedule.collective)
    assert (int(bounds[0]), int(bounds[-1])) == (0, 64000 if kind != "x" else 0)
    assert bool((np.diff(bounds) > 0).all())


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ({"bytes": 100}, "how long do sends take"),
        ({"latency": 1, "rate": 1}, "for bytes: say how many"),
        ({"bytes": 100, "latency": 1}, "say both"),
        ({"chunk": 3}, "say how many"),
        ({"bytes": 100, "chunk": 10, "messages": 2}, "one follows from the other"),
        ({"bytes": 96, "item": 8, "chunk": 10}, "no whole number of items of 8"),
        ({"bytes": "many", "messages": 2}, "no number of bytes"),
    ],
)
def test_what_cannot_be_cut(what: Any, says: str) -> None:
    with pytest.raises(TreecastError, match=says):
        treecast.plan("broadcast", "ring:4", **what)
    assert builders("broadcast", treecast.network("ring:4"))


def test_builders_for_any_machine_are_asked_where_others_are_far_from_the_bound():
    """A ring of links of ten cables with three chords, one of a single cable: disjoint paths take 1.7 times the bound."""
    wired = nx.cycle_graph(12)
    wired.add_edges_from([(0, 6), (2, 8), (4, 10)])
    nx.set_edge_attributes(wired, 10, "capacity")
    wired.edges[4, 10]["capacity"] = 1
    costs = {"bytes": "64MiB", "latency": "1us", "rate": "1.25GB/s"}
    taken, other = (treecast.plan("alltoall", wired, **costs, **more) for more in ({}, {"builder": "priced-paths"}))
    seconds = [each.steps * Cost(1e-6, 1 / 1.25e9).step_time(each.sizes.chunk) for each in (taken, other)]
    assert taken.builder == "priced-trees"
    assert 1.4 * seconds[0] < seconds[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["allreduce", "allgather", "broadcast", "reduce-broadcast"])
@pytest.mark.parametrize("model", ["all-port", "one-port"])
def test_a_bound_leaves_out_no_plan_that_takes_less(kind, model, monkeypatch):
    graph = nx.MultiGraph([("a", "b")] * 2 + [("b", "c"), ("c", "d"), ("d", "a")])
    job = treecast.job(kind, graph, model=model)

    def seconds() -> tuple[float, ...]:
        made = (treecast.plan(job, bytes=size, latency="1us", rate="12.5GB/s") for size in ("1MB", "100MB"))
        return tuple(seconds_by_steps(each, Costs.of("1us", "12.5GB/s")) for each in made)

    cut = seconds()
    monkeypatch.setattr(fastest.Search, "_least", lambda search, messages, entry: 0.0)
    assert seconds() == pytest.approx(cut, rel=1e-9)


COSTS = [(latency, rate) for latency in (0, 2e-7, 1e-6, 2e-5, 1e-3) for rate in (1e6, 125e6, 12.5e9, 1e12)]


@cache
def steps_of_all(network: str, survive: int, most: int, model: str = "all-port") -> list[int]:
    """Return the fewest steps of all builders with a closed form, for every number of chunks up to ``most``."""
    found = []
    for messages in range(1, most + 1):
        job, entries = request("broadcast", network, messages=messages, survive=survive, model=model)
        found.append(min(entry.claims(job).steps for entry in entries if entry.claims and not entry.baseline))
    return found


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize(("latency", "rate"), COSTS)
@pytest.mark.parametrize(("network", "survive"), [("hypercube:4", 0), ("star:4", 2), ("ring:9", 0), ("complete:8", 1)])
def test_the_number_of_chunks_is_the_best_of_all(network: str, survive: int, latency: float, rate: float) -> None:
    block = 400
    schedule = treecast.plan("broadcast", network, bytes=block, latency=latency, rate=rate, survive=survive)
    cost = Cost(latency, 1 / rate)
    taken = seconds_by_steps(schedule, Costs(cost))
    counted = enumerate(steps_of_all(network, survive, block), 1)
    least = min(steps * cost.step_time(cut(block, messages).chunk) for messages, steps in counted)
    assert taken <= least * (1 + 1e-12)
    assert treecast.verify(schedule)


@pytest.mark.slow
@pytest.mark.parametrize(
    "nodes", [3, 64, *(pytest.param(nodes, marks=pytest.mark.long) for nodes in range(2, 64) if nodes != 3)]
)
def test_over_one_port_the_number_of_chunks_is_the_best_of_all(nodes: int) -> None:
    block, network = 240, f"complete:{nodes}"
    for survive in (0, 1) if nodes > 2 else (0,):
        for latency, rate in COSTS:
            what = {"latency": latency, "rate": rate, "survive": survive, "model": "one-port"}
            schedule = treecast.plan("broadcast", network, bytes=block, **what)
            cost = Cost(latency, 1 / rate)
            taken = seconds_by_steps(schedule, Costs(cost))
            counted = enumerate(steps_of_all(network, survive, block, "one-port"), 1)
            least = min(steps * cost.step_time(cut(block, messages).chunk) for messages, steps in counted)
            assert taken <= least * (1 + 1e-12)
            assert seconds_by_events(schedule, Costs(cost)) <= taken * (1 + 1e-12)
