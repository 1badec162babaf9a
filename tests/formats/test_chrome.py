"""The timeline for Perfetto: carried out on real bytes it delivers, nothing overlaps, and changes are noticed."""

import json

import pytest

from tests.interpreters.chrome import interpret
from tests.interpreters.jobs import JOBS, chunks_of_ranks, planned
from tests.interpreters.memory import WrongError
from treecast.cli import main
from treecast.errors import FormatError, NetworkError
from treecast.files import formats
from treecast.files.programs.messages import messages_of
from treecast.plans import plan
from treecast.simulation.faults import parse_faults, wanted
from treecast.simulation.replay import replay


def traced(schedule, **settings):
    chunks = chunks_of_ranks(schedule)
    return formats.encode(schedule, "chrome", size=12 * chunks, **settings)


def carry_out(schedule, data):
    interpret(data, schedule.collective, [12] * schedule.collective.chunks)


@pytest.mark.each(5)
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
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
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
    found = json.loads(formats.encode(schedule, "chrome", size=2_000_000, rate=1e6, latency=0.0))
    assert found["displayTimeUnit"] == "ns"
    assert found["otherData"]["step_microseconds"] == [1e6] * 3
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


def test_a_schedule_without_chunks_has_an_empty_timeline():
    timeline = json.loads(formats.encode(plan("allgatherv", "path:4", lengths=[0] * 4), "chrome"))
    assert {event["ph"] for event in timeline["traceEvents"]} == {"M"}


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


@pytest.mark.parametrize(
    ("kind", "spec", "more", "dead", "cut"),
    [
        ("broadcast", "star:4", {"messages": 6, "copies": 2}, ["2134", "3214@2"], ["1234-4231"]),
        ("broadcast", "path:4", {"messages": 3}, ["2@2"], []),
        ("broadcast", "hypercube:3", {"messages": 4}, [], ["0b000>0b001@1"]),
        ("allgather", "hypercube:3", {"messages": 2, "copies": 2}, ["0b011@1"], ["0b000-0b001"]),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}, ["0b101@1"], []),
        ("reduce", "torus:3x3", {}, [], ["0,0-0,1@1"]),
    ],
)
def test_faults_are_shown_as_they_are_simulated(kind, spec, more, dead, cut):
    """What stands at the sources is sent, what is terrible is lost, and who holds what at the end is who the simulator says."""
    schedule = plan(kind, spec, **more)
    trace = replay(schedule, parse_faults(schedule.network, dead, cut))
    found = json.loads(traced(schedule, dead_nodes=dead, cut_links=cut))
    events, labels = found["traceEvents"], schedule.network.labels(range(schedule.network.nodes))
    out = [event for event in events if event["ph"] == "X" and event["tid"] % 2 == 0]
    into = [event for event in events if event["ph"] == "X" and event["tid"] % 2]
    number = lambda several: sum(b - a for event in several for a, b in event["args"]["chunks"])  # noqa: E731
    lost = [event for event in out if event.get("cname") == "terrible"]
    assert (number(out), number(lost)) == (trace.transmissions, trace.lost_sends)
    assert number(into) == number(out) - number(lost)
    assert not [event for event in into if "cname" in event]
    assert [(labels[event["pid"]], event["ts"]) for event in events if event["name"] == "dies"] == [
        (name.split("@")[0], round(sum(found["otherData"]["step_microseconds"][: int(name.partition("@")[2] or 0)]), 3))
        for name in dead
    ]
    assert sum(event["name"] == "is cut" for event in events) == sum(2 if "-" in link else 1 for link in cut)
    assert found["otherData"]["faults"] == trace.faults.describe(schedule.network)
    if not schedule.collective.sums:
        held = {(node, chunk) for node, a, b in schedule.collective.given() for chunk in range(a, b)}
        held |= {(event["pid"], chunk) for event in into for a, b in event["args"]["chunks"] for chunk in range(a, b)}
        missing = {
            (node, chunk) for node, a, b in wanted(schedule.collective, trace.faults) for chunk in range(a, b)
        } - held
        assert missing == {(node, chunk) for node, a, b in trace.lost for chunk in range(a, b)}


def test_faults_are_written_as_for_simulate(tmp_path, capsys):
    formats.save(plan("broadcast", "star:4", messages=2, copies=2), tmp_path / "plan.tc")
    line = ["export", str(tmp_path / "plan.tc"), "-o", str(tmp_path / "a.trace.json"), "--dead-nodes", "2134", "3214@2"]
    assert main([*line, "--cut-links", "1234-4231"]) == 0
    assert json.loads((tmp_path / "a.trace.json").read_text())["otherData"]["faults"][:2] == ["2134", "3214@2"]
    assert main([*line, "--cut-links", "1234-9999"]) == 2
    assert "error: " in capsys.readouterr().err
    with pytest.raises(FormatError, match="control flits"):
        traced(plan("gatherv", "tree:2,2", lengths=2, model="bufferless"), cut_links=["0-1"])
