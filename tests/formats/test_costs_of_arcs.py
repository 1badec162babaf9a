"""Exports of plans whose arcs differ in cost take the time of the report: by the file alone, with no code of ours."""

import json
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace

import pytest

import treecast
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats.registry import exporter_named
from treecast.schedule.costs import Costs, seconds_by_steps

SLOW = {(0, 1): Costs.of("30us", "1GB/s").default, (1, 0): Costs.of("5us", "2GB/s").default}
JOBS = [
    ("allreduce", "ring:6", {}),
    ("broadcast", "complete:5", {"survive": 1}),
    ("allgather", "torus:3x3", {"model": "all-port"}),
    ("alltoall", "hypercube:3", {"model": "shouting"}),
    ("broadcast", "ring:5", {"model": "one-port"}),
    ("broadcast", "mesh:2x3", {"model": "all-port,latency=2"}),
]


def planned(kind, spec, **more):
    """Return a plan for arcs that all cost the same, with two slow ones put in."""
    found = treecast.plan(kind, spec, bytes="2880kB", latency="1us", rate="10GB/s", messages=4, **more)
    return replace(found, costs=Costs(found.costs.default, SLOW))


@pytest.fixture(params=JOBS, ids=lambda job: job[1])
def plan(request):
    kind, spec, more = request.param
    return planned(kind, spec, **more)


def test_a_timeline_is_as_long_as_the_report_says(plan):
    found = json.loads(formats.encode(plan, "chrome"))
    total = pytest.approx(1e6 * seconds_by_steps(plan, plan.costs), abs=0.01)
    assert found["otherData"]["microseconds"] == total
    assert max(event["ts"] + event["dur"] for event in found["traceEvents"] if event["ph"] == "X") == total


def test_a_platform_of_simgrid_has_each_arc_by_itself(plan):
    if plan.model.latency > 1:
        pytest.skip("a step of SimGrid ends before the next")
    files = dict(exporter_named("simgrid").encode(plan))
    root = ET.fromstring(files["platform.xml"])
    link = {
        each.get("id"): (float(each.get("bandwidth")[:-3]), float(each.get("latency")[:-1]))
        for each in root.iter("link")
    }
    route = {
        (each.get("src"), each.get("dst")): [link[part.get("id")] for part in each.iter("link_ctn")]
        for each in root.iter("route")
    }
    steps = defaultdict(float)
    for node in range(plan.network.nodes):
        for dst, step, size in re.findall(r"(?m)^\d+ isend (\d+) (\d+) (\d+)$", files[f"rank{node}.txt"].decode()):
            links = route[f"h{node}", f"h{dst}"]  # one, or one between those of two ports
            taken = sum(delay for _, delay in links) + int(size) / min(rate for rate, _ in links)
            steps[step] = max(steps[step], taken)
    said = [defaultdict(float), plan.sizes.chunk]
    for send in plan:
        each = plan.costs.arcs.get((send.src, send.dst), plan.costs.default)
        key = send.step if not plan.model.combining else (send.step, send.src, send.dst)
        took = each.startup * (key not in said[0]) + each.per_byte * said[1]
        said[0][key] = (
            said[0][key] + took if plan.model.combining else max(said[0][key], each.startup + each.per_byte * said[1])
        )
    slowest = defaultdict(float)
    for key, took in said[0].items():
        step = key[0] if plan.model.combining else key
        slowest[step] = max(slowest[step], took)
    assert sum(steps.values()) == pytest.approx(sum(slowest.values()), rel=1e-6)


def test_costs_that_one_link_cannot_have_are_refused():
    with pytest.raises(FormatError, match="the arcs between 1 and 0 share a link, and differ in cost"):
        dict(exporter_named("simgrid").encode(planned("broadcast", "ring:4", model="all-port,half")))
