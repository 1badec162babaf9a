"""The judge of MSCCL++ plans: one for each rule, those that treecast writes, and alterations, against runs thread by thread."""

import json

import pytest

import treecast
from tests.formats.test_mscclpp_judge import WRITTEN, check_alterations, judge_plan
from treecast.files import formats


@pytest.mark.each(3)
@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_what_treecast_writes_holds_and_alterations_that_hold_end_right(kind, spec, messages):
    check_alterations(kind, spec, messages, 50)


def test_a_plan_of_a_rack_of_72_is_judged():
    data = formats.encode(treecast.plan("alltoall", "complete:72"), "mscclpp")
    verdict = judge_plan(data)
    assert verdict.holds
    assert verdict.messages == 72 * 71
    changed = json.loads(data)
    ops = changed["gpus"][3]["threadblocks"][1]["ops"]
    del ops[next(k for k, op in enumerate(ops) if op["name"] == "wait")]
    assert not judge_plan(json.dumps(changed).encode()).holds
