"""The timeline for Perfetto: carried out on real bytes it delivers, nothing overlaps, and changes are noticed."""

import json

import pytest

from tests.interpreters.chrome import interpret
from tests.interpreters.jobs import JOBS, planned
from tests.interpreters.memory import WrongError
from treecast import formats
from treecast.errors import FormatError, NetworkError
from treecast.formats.messages import messages_of
from treecast.plans import plan


def traced(schedule, **settings):
    chunks = schedule.collective.sums or schedule.collective.chunks
    return formats.encode(schedule, "chrome", size=12 * chunks, **settings)


def carry_out(schedule, data):
    interpret(data, schedule.collective, [12] * schedule.collective.chunks)


@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_timelines_deliver_every_byte(kind, spec):
    schedule = planned(kind, spec)
    carry_out(schedule, traced(schedule))


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("broadcast", "debruijn:2,3", {"messages": 4}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
    ],
)
def test_timelines_of_other_models_networks_and_copies_deliver(kind, spec, more):
    schedule = plan(kind, spec, **more)
    carry_out(schedule, traced(schedule))


def test_arrows_say_what_needs_what():
    schedule = plan("broadcast", "torus:3x3", messages=4)
    events = json.loads(traced(schedule))["traceEvents"]
    assert sum(event["ph"] == "s" for event in events) == len(messages_of(schedule).needs)
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == schedule.network.labels(
        range(9)
    )


def test_times_are_those_of_steps():
    schedule = plan("broadcast", "path:3", messages=2)
    found = json.loads(formats.encode(schedule, "chrome", size=2_000_000, bandwidth=1e6))
    assert found["displayTimeUnit"] == "ns"
    assert found["otherData"]["step_microseconds"] == 1e6
    times = sorted((event["ts"], event["dur"], event["pid"]) for event in found["traceEvents"] if event["ph"] == "X")
    assert times == [(t * 1e6, 1e6, u) for t, u in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 1), (1, 2), (2, 1), (2, 2)]]


def test_some_nodes_and_steps():
    schedule = plan("broadcast", "star:4", messages=6)
    events = json.loads(traced(schedule, nodes="1234 2134", steps="1:3"))["traceEvents"]
    assert {event["pid"] for event in events} == {0, schedule.network.node("2134")}
    assert {event["args"]["step"] for event in events if event["ph"] == "X"} == {1, 2}
    for steps in ("3", "a:b", "1:2:3"):
        with pytest.raises(FormatError, match="are no steps"):
            traced(schedule, steps=steps)
    with pytest.raises(NetworkError, match="is no node"):
        traced(schedule, nodes="1235")


def test_too_many_events_are_refused():
    with pytest.raises(FormatError, match="choose some by --nodes or --steps"):
        traced(plan("allgather", "hypercube:9"))


def test_wormhole_rows_are_refused():
    with pytest.raises(FormatError, match="--to simgrid takes routes"):
        traced(plan("broadcast", "mesh:3x3", model="wormhole"))


def test_changed_events_are_noticed():
    schedule = plan("broadcast", "path:4", messages=2)
    found = json.loads(traced(schedule))
    events = found["traceEvents"]
    tried = 0
    for i, event in enumerate(events):
        if event["ph"] == "M":
            continue
        changes = [None, event | {"pid": (event["pid"] + 1) % 4}, event | {"ts": event["ts"] + 700}]
        if event["ph"] == "X":
            said = event["args"]
            moved = [[first + 1, stop + 1] for first, stop in said["chunks"]]
            changes += [event | {"args": said | {"chunks": moved}}, event | {"args": said | {"bytes": 5}}]
            changes += [
                event | {"dur": event["dur"] * 2},
                event | {"tid": event["tid"] ^ 1},
                {**event, "cat": "tree 7"},
            ]
        else:
            changes += [event | {"id": 99}, event | {"ph": "f" if event["ph"] == "s" else "s"}]
        for other in changes:
            tried += 1
            changed = [*events[:i], *([] if other is None else [other]), *events[i + 1 :]]
            with pytest.raises((WrongError, KeyError)):
                carry_out(schedule, json.dumps(found | {"traceEvents": changed}))
    assert tried > 100
