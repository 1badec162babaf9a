"""MSCCL XML: what is written holds for the judge and carried out on real bytes; each fault is found by the right rule."""

import re

import pytest

from tests.formats.msccl_files import relayed_allgather, ring_allreduce
from tests.formats.test_msccl import RULES, judge_msccl, run
from tests.interpreters.jobs import CUT, JOBS, SPECS, planned
from tests.interpreters.msccl import interpret
from treecast.collectives import COLLECTIVES
from treecast.files import formats
from treecast.files.formats import decode
from treecast.files.formats.msccl.judge import recognises
from treecast.plans import plan
from treecast.verification.verifier import verify

DOING = [job for job in JOBS if job.values[1] in (*SPECS, CUT) and not COLLECTIVES[job.values[0]].lengths]


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), DOING)
def test_every_byte_is_delivered_and_the_judge_agrees(kind, spec):
    schedule = planned(kind, spec)
    data = formats.encode(schedule, "msccl")
    verdict = judge_msccl(data, schedule.network)
    assert verdict, verdict.findings
    assert set(verdict.counts) == set(RULES)
    assert verdict.steps <= schedule.steps
    run(schedule, data)
    again = decode(data)
    assert again.steps == verdict.steps
    assert verify(again)
    assert recognises(data[:512])


ALTERED = {
    "relayed allgather": lambda: relayed_allgather(),
    "ring": lambda: ring_allreduce(3),
    "reduce": lambda: formats.encode(plan("reduce", "path:3", messages=2), "msccl"),
    "alltoall": lambda: formats.encode(plan("alltoall", "path:3"), "msccl"),
}


@pytest.mark.each(2)
@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_attribute_is_refused_or_does_no_harm(name):
    data, tried, refused = ALTERED[name](), 0, 0
    for match in re.finditer(rb' (\w+)="([^"]*)"', data):
        attribute, value = match[1].decode(), match[2].decode()
        for other in others(attribute, value):
            changed = data[: match.start(2)] + other.encode() + data[match.end(2) :]
            tried += 1
            if attribute not in ("coll", "inplace", "outofplace") and judge_msccl(changed):
                interpret(changed, inplace=name == "ring", seeds=range(3))
            elif attribute not in ("coll", "inplace", "outofplace"):
                refused += 1
    assert tried > 250
    assert refused > tried // 2


def others(name, value):
    """Yield other values of an attribute."""
    if name == "type":
        return [kind for kind in ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop") if kind != value]
    if name in ("srcbuf", "dstbuf"):
        return [buffer for buffer in "ios" if buffer != value]
    if re.fullmatch(r"-?\d+", value):
        return [str(int(value) + 1), str(int(value) - 1)]
    return [value + "x"]
