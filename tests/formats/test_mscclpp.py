"""Plans of MSCCL++: carried out on real bytes they deliver, what does not fit is refused, and changes are noticed."""

import json

import pytest

from tests.interpreters.jobs import CUT, JOBS, SPECS, planned
from tests.interpreters.memory import WrongError
from tests.interpreters.mscclpp import interpret
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats import Told
from treecast.files.formats.mscclpp.judge import judge
from treecast.plans import plan
from treecast.plans.after.past_relays import past_relays


def judge_plan(data):
    return judge(data, Told())[0]


def carry_out(schedule, data, seeds=(1, 2, 3)):
    interpret(data, schedule.collective.kind, schedule.collective.root, seeds)


def test_copies_are_kept_in_scratch_or_left_out():
    schedule = plan("broadcast", "hypercube:3", messages=3, copies=2)
    few, many = (json.loads(formats.encode(schedule, "mscclpp", copies=way)) for way in ("strip", "scratch"))
    puts = [
        sum(op["name"] == "put" for gpu in found["gpus"] for tb in gpu["threadblocks"] for op in tb["ops"])
        for found in (few, many)
    ]
    assert puts[0] <= 3 * 7 < puts[1]
    for found in (few, many):
        assert judge_plan(json.dumps(found).encode())
        carry_out(schedule, json.dumps(found))


@pytest.mark.parametrize(
    ("spec", "machine"), [("ring:5", "all-port"), ("complete:6", "whispering"), ("tree:2,2", "shouting")]
)
def test_sums_that_nobody_owns_are_added_up_in_places_of_their_own(spec, machine):
    schedule = plan("allreduce", spec, model=machine, without_owners=True)
    data = formats.encode(schedule, "mscclpp")
    assert judge_plan(data), judge_plan(data).findings
    carry_out(schedule, data)


def test_what_does_not_fit_is_refused_with_what_would():
    schedule = plan("broadcast", "path:4", messages=100)
    with pytest.raises(
        FormatError, match=r"operations of a threadblock do not fit .* takes 64: \d+ messages? would"
    ) as error:
        formats.encode(schedule, "mscclpp")
    fit = int(str(error.value).split(" message")[0].split()[-1])
    assert fit > 5
    carry_out(
        schedule, formats.encode(smaller := plan("broadcast", "path:4", messages=fit), "mscclpp")
    ) if False else None
    carry_out(smaller := plan("broadcast", "path:4", messages=fit), formats.encode(smaller, "mscclpp"))
    with pytest.raises(FormatError, match="semaphores of a GPU do not fit"):
        formats.encode(planned("reduce-scatter", "torus:4x4"), "mscclpp")
    with pytest.raises(FormatError, match="plan with --model all-port"):
        formats.encode(plan("broadcast", "mesh:3x3", model="wormhole"), "mscclpp")


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "reduce-broadcast"])
def test_every_changed_operation_is_noticed(kind):
    schedule = plan(kind, "path:3", messages=2)
    data = formats.encode(schedule, "mscclpp").decode()
    tried = 0
    for g, gpu in enumerate(json.loads(data)["gpus"]):
        for t, block in enumerate(gpu["threadblocks"]):
            for k, op in enumerate(block["ops"]):
                changes = [None, "swap"]
                for side in ("src_buff", "dst_buff"):
                    if side in op:
                        changes += [
                            {**op, side: [{**op[side][0], "index": op[side][0]["index"] + by}, *op[side][1:]]}
                            for by in (1, -1)
                        ]
                for other in changes:
                    found = json.loads(data)
                    ops = found["gpus"][g]["threadblocks"][t]["ops"]
                    if other is None:
                        del ops[k]
                    elif other == "swap":
                        if k + 1 == len(ops) or ops[k] == ops[k + 1]:
                            continue
                        ops[k], ops[k + 1] = ops[k + 1], ops[k]
                    else:
                        ops[k] = other
                    tried += 1
                    moved = other == "swap" or (other is None and op["name"] == "nop")
                    if moved and not unseen(ops):
                        continue
                    with pytest.raises(WrongError):
                        carry_out(schedule, json.dumps(found), range(80))
    assert tried > 60


def unseen(ops):
    """Whether something is told before all threads have written it, or written before all threads have heard of what it needs."""
    wrote = heard = False
    for op in ops:
        if op["name"] == "nop":
            wrote = heard = False
        elif op["name"] in ("put", "copy", "re"):
            if heard:
                return True
            wrote = True
        elif op["name"] in ("signal", "sem_release"):
            if wrote:
                return True
        else:
            heard = True
    return False


TOO_LARGE = {
    "torus:3x3": ("allreduce",),
    "star:4": ("allgather", "allreduce", "alltoall", "gather", "reduce-scatter"),
    "mesh:3x4": ("allreduce", "alltoall", "reduce-scatter"),
    "tree:2,2": ("allreduce", "alltoall", "reduce-scatter"),
}


OTHERS = {
    **dict.fromkeys(SPECS, ("scatterv", "gatherv", "allgatherv", "alltoallv", "demand")),
    CUT: ("allgatherv", "demand"),
}


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_byte_is_delivered_or_the_limit_is_named(kind, spec):
    schedule = planned(kind, spec)
    for table, words in (
        (TOO_LARGE, "do not fit into an MSCCL"),
        (OTHERS, "different lengths or chosen targets"),
    ):
        if kind in table.get(spec, ()):
            with pytest.raises(FormatError, match=words):
                formats.encode(schedule, "mscclpp")
            return
    data = formats.encode(schedule, "mscclpp")
    assert judge_plan(data)
    carry_out(past_relays(schedule), data, (1,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("allgather", "hypercube:3", {"messages": 2}),
        ("allreduce", "hypercube:3", {}),
        ("alltoall", "hypercube:3", {}),
        ("reduce-scatter", "torus:3x3", {}),
        ("broadcast", "star:4", {"messages": 6}),
        ("broadcast", "debruijn:2,3", {"messages": 4}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
    ],
)
def test_these_fit(kind, spec, more):
    schedule = plan(kind, spec, **more)
    data = formats.encode(schedule, "mscclpp")
    assert judge_plan(data)
    carry_out(schedule, data, range(6))
