"""The judge of MSCCL++ plans: one for each rule, those that treecast writes, and alterations, against runs thread by thread."""

import copy
import json
import random
import re

import pytest

import treecast
from tests.formats.mscclpp_plans import (
    MEETING,
    NOP,
    RIGHT,
    TOLD,
    altered,
    at,
    by_proxy,
    gathered,
    in_packets,
    in_turns,
    move,
    ops_of,
    over,
    plan,
    put,
    shared,
    there,
    through_switch,
)
from tests.interpreters.mscclpp_threads import wrong
from treecast.cli import main
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats import Told
from treecast.files.formats.mscclpp.judge import judge
from treecast.verification.file_rules import rules_of

RULES = tuple(rule.name for rule in rules_of("mscclpp"))
OF_NETWORKS = {"adjacent", "link-once"}
WRITTEN = [
    ("allgather", "ring:4", 2),
    ("allreduce", "hypercube:2", 1),
    ("broadcast", "path:3", 2),
    ("alltoall", "ring:3", 1),
    ("reduce-scatter", "ring:4", 1),
    ("reduce", "path:3", 2),
]


def judge_plan(data, **told):
    return judge(data, Told(**told))[0]


def judged(found):
    return judge_plan(json.dumps(found).encode())


def broken(found):
    verdict = judged(found)
    assert verdict.holds == (not {rule for rule, count in verdict.counts.items() if count} - {"executor"})
    return [rule for rule, count in verdict.counts.items() if count]


@pytest.mark.parametrize("make", RIGHT.values(), ids=list(RIGHT))
def test_plans_in_every_style_hold(make):
    verdict = judged(make())
    assert verdict.holds, verdict.findings
    assert set(verdict.counts) == set(RULES) - OF_NETWORKS


def change(make, where, do):
    """Return a plan with the operation at gpu, threadblock and place changed, or with all of it."""
    found = make()
    do(found["gpus"][where[0]]["threadblocks"][where[1]]["ops"], *where[2:])
    return found


def without(make, *where):
    return change(make, where, lambda ops, k: ops.pop(k))


def instead(make, *where, **new):
    return change(make, where, lambda ops, k: ops[k].update(new))


def late(g):
    """Each GPU puts before the other has begun."""
    return [[move("copy", [at("i")], [at("o", g)]), put(at("i"), there(g)), NOP, over("signal"), over("wait"), NOP]]


def unheard(g):
    """Each GPU puts, and tells nobody."""
    return [[*MEETING, move("copy", [at("i")], [at("o", g)]), put(at("i"), there(g))]]


def moved(g):
    """Each gets what is one place further on."""
    get = move("get", [there(0)], [at("o", 1 - g)], channel_type="memory")
    return [[*MEETING, move("copy", [at("i")], [at("o", g)]), get, NOP, over("rlxsignal"), over("rlxwait"), NOP]]


def unwritten(g):
    """Each copies from scratch, where nothing is."""
    return [[*MEETING, move("copy", [at("s")], [at("o", g)]), put(at("i"), there(g)), *TOLD]]


BROKEN = {
    "shape: a name": ("shape", lambda: instead(gathered, 0, 0, 3, name="glre")),
    "shape: a channel": ("shape", lambda: instead(gathered, 0, 0, 0, channel_ids=[1])),
    "shape: a buffer": (
        "shape",
        lambda: instead(gathered, 0, 0, 4, dst_buff=[{"buffer_id": 1, "index": 0, "size": 1}]),
    ),
    "shape: sizes": ("shape", lambda: instead(gathered, 1, 0, 4, dst_buff=[there(0, 2)])),
    "shape: 65 operations": ("shape", lambda: change(gathered, (0, 0, 0), lambda ops, k: ops.extend([NOP] * 57))),
    "shape: a signal of none": ("shape", lambda: instead(gathered, 0, 0, 4, name="pws")),
    "shape: packets outside scratch": ("shape", lambda: instead(gathered, 0, 0, 4, name="ppkt")),
    "shape: no unit": ("shape", lambda: instead(in_turns, 0, 0, 4, iter_context={"unit_size": 0, "num_chunks": 1})),
    "shape: a part": ("shape", lambda: instead(shared, 0, 0, 4, tbg_info={"tb_id": 2, "tbg_size": 2})),
    "bounds": ("bounds", lambda: instead(gathered, 1, 0, 4, dst_buff=[there(2)])),
    "bounds: packets": ("bounds", lambda: {**in_packets(), "protocol": "Simple"}),
    "bounds: a pipeline": (
        "bounds",
        lambda: instead(in_turns, 0, 0, 4, iter_context={"unit_size": 1, "num_chunks": 2}),
    ),
    "pairs: a signal too many": ("pairs", lambda: change(gathered, (0, 0, 6), lambda ops, k: ops.insert(k, ops[k]))),
    "pairs: a semaphore": ("pairs", lambda: change(shared, (0, 1), lambda ops: ops.append(ops[-1]))),
    "deadlock": ("deadlock", lambda: without(gathered, 0, 0, 6)),
    "deadlock: packets": ("deadlock", lambda: without(in_packets, 0, 0, 0)),
    "race": ("race", lambda: instead(gathered, 1, 0, 4, dst_buff=[there(0)])),
    "race: no nop": ("race", lambda: without(in_packets, 0, 0, 1)),
    "undefined": ("undefined", lambda: plan("allgather", unwritten, chunks=(1, 2, 1))),
    "begun": ("begun", lambda: plan("allgather", late)),
    "ended": ("ended", lambda: plan("allgather", unheard)),
    "relaxed": ("relaxed", lambda: through_switch("rlxsignal")),
    "executor": ("executor", lambda: plan("allgather", moved, remote="i")),
    "delivered": ("delivered", lambda: without(gathered, 0, 0, 3)),
    "delivered: added twice": ("delivered", lambda: instead(in_packets, 0, 0, 2, src_buff=[at("i"), at("s"), at("s")])),
}


@pytest.mark.parametrize(("rule", "make"), BROKEN.values(), ids=list(BROKEN))
def test_a_plan_for_each_rule(rule, make):
    assert broken(make())[0] == rule


def test_each_rule_has_a_plan():
    assert {rule for rule, _ in BROKEN.values()} == set(RULES) - OF_NETWORKS


def test_on_a_network_messages_go_over_its_links():
    data = formats.encode(treecast.plan("allgather", "ring:4"), "mscclpp")
    assert set(judge_plan(data, network="ring:4").counts) == set(RULES)
    assert judge_plan(data, network="ring:4").holds
    away = judge_plan(data, network="path:4")
    assert {rule for rule, count in away.counts.items() if count} == {"adjacent"}
    assert re.fullmatch(r"adjacent: gpus\[\d\]\S+: no link leads from there to \d", str(away.findings[0]))
    twice = judge_plan(json.dumps(shared()).encode(), network="path:2")
    assert {rule for rule, count in twice.counts.items() if count} == {"link-once"}
    with pytest.raises(FormatError, match="switch is judged on a complete network"):
        judge_plan(json.dumps(through_switch()).encode(), network="path:2")


@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_a_right_plan_is_a_schedule(kind, spec, messages):
    data = formats.encode(treecast.plan(kind, spec, messages=messages), "mscclpp")
    verdict, schedule_of = judge(data, Told(network=spec))
    found = schedule_of()
    assert treecast.verify(found)
    assert verdict.steps == found.steps
    assert verdict.messages == len(found)
    assert found.collective.traits.adds == ("reduce" in kind)
    assert min(bound.value for bound in verdict.bounds) <= verdict.steps


@pytest.mark.parametrize(
    ("make", "steps"),
    [(gathered, 1), (by_proxy, 1), (shared, 2), (in_turns, 1), (through_switch, 2)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_plans_of_others_are_schedules(make, steps):
    found = formats.decode(json.dumps(make()).encode())
    assert found.steps == steps
    assert treecast.verify(found)


def test_what_no_schedule_can_say_says_why():
    with pytest.raises(FormatError, match="right, but no schedule of ours"):
        formats.decode(json.dumps(in_packets()).encode())  # each adds up all, so that no sum has an owner
    with pytest.raises(FormatError, match="this plan of MSCCL\\+\\+ is wrong: ended"):
        formats.decode(json.dumps(plan("allgather", unheard)).encode())


@pytest.mark.parametrize("chunks", [(0, 2, 0), (1, 2, 0)])
def test_plans_of_fewer_chunks_than_gpus_have_a_verdict(chunks):
    """What is asked of them may make no sense, and is told, not refused."""
    for collective in ("alltoall", "reducescatter", "broadcast", "allgather", "reduce"):
        found = judged(plan(collective, lambda g: [[*MEETING, *TOLD]], chunks=chunks))
        assert found.bounds == () or chunks[0]
        with pytest.raises(FormatError, match=r"is wrong|custom collective"):
            formats.decode(json.dumps(plan(collective, lambda g: [[*MEETING, *TOLD]], chunks=chunks)).encode())


def test_a_rule_can_be_allowed_to_be_broken():
    data = json.dumps(through_switch("rlxsignal")).encode()
    assert not judge_plan(data).holds
    verdict, schedule_of = judge(data, Told(allow=("relaxed",)))
    assert verdict.holds
    assert verdict.counts["relaxed"]
    assert schedule_of().steps == 2
    with pytest.raises(FormatError, match="'relax' is no rule of mscclpp"):
        judge(data, Told(allow=("relax",)))


def test_bytes_say_how_often_pipelines_turn():
    data = json.dumps(in_turns()).encode()
    for size, pieces in ((4096, 2), (2 * 8192, 4), (2 * 16384, 8)):
        verdict, schedule_of = judge(data, Told(size=size))
        assert verdict.holds
        assert len(schedule_of()) == pieces


def test_only_what_follows_makes_no_sense_is_left_out():
    assert list(judged(BROKEN["shape: a name"][1]()).counts) == ["shape"]
    assert list(judged(BROKEN["deadlock"][1]()).counts) == ["shape", "bounds", "pairs", "deadlock"]
    assert broken(BROKEN["delivered"][1]()) == ["delivered"]


def test_a_maximum_may_count_twice_and_a_sum_may_not():
    for adds, holds in (("sum", False), ("max", True)):
        found = in_packets(adds)
        found["gpus"][0]["threadblocks"][0]["ops"][2]["src_buff"].append(at("s"))
        assert judged(found).holds == holds
    mixed = in_packets("max")
    mixed["gpus"][0]["threadblocks"][0]["ops"][2]["reduce_op"] = "sum"
    assert broken(mixed) == ["delivered"]


def test_findings_say_where():
    assert (
        str(judged(BROKEN["deadlock"][1]()).findings[0])
        == "deadlock: gpus[1].threadblocks[0].ops[7]: wait waits for ever: memory channel 0 gets 1 signal, and has 2 waits"
    )
    found = in_turns()
    found["gpus"][1]["threadblocks"][0]["ops"][4]["ops"][0]["dst_buff"] = [there(2)]
    assert str(judged(found).findings[0]).startswith(
        "bounds: gpus[1].threadblocks[0].ops[4].ops[0]: chunks 2 to 3 lie outside"
    )


def test_what_crosses_turns_is_seen():
    """Scratch that is used again in each turn needs to have been read."""
    found = in_turns()
    for one in found["gpus"]:
        pipeline = one["threadblocks"][0]["ops"][4]
        pipeline["ops"] = pipeline["ops"][:2]
    assert "ended" in broken(found)
    assert judged(in_turns()).holds


def check_alterations(kind, spec, messages, count):
    data = formats.encode(treecast.plan(kind, spec, messages=messages), "mscclpp")
    assert judge_plan(data).holds
    assert wrong(data, kind) == ""
    refused = 0
    for seed in range(count):
        other, way = altered(data, seed)
        if not judge_plan(other.encode()).holds:
            refused += 1
            continue
        assert wrong(other, kind, seeds=range(4)) == "", (seed, way)
    assert count / 2 < refused < count


VALUES = [-1, 0, 1, 2, 16, 2**31, 2**70, 0.5, True, None, "", "i", "port", [], [0], {}, [[]], {"size": 1}]


def spoiled(make, seed):
    """Return the bytes of a plan with one to three of its values changed to anything."""
    chance, found = random.Random(seed), make()
    for _ in range(chance.randint(1, 3)):
        held, key = found, chance.choice(list(found))
        while isinstance(held[key], dict | list) and held[key] and chance.random() < 0.9:
            held = held[key]
            key = chance.choice(list(held)) if isinstance(held, dict) else chance.randrange(len(held))
        if chance.random() < 0.2 and isinstance(held, dict):
            del held[key]
            if not found:
                break
        else:
            held[key] = copy.deepcopy(chance.choice(VALUES))
    return json.dumps(found).encode()


def check_spoiled(seeds):
    held = 0
    for seed in seeds:
        data = spoiled(list(RIGHT.values())[seed % len(RIGHT)], seed)
        try:
            verdict = judge_plan(data)
        except FormatError:
            continue
        held += verdict.holds
        assert verdict.holds or verdict.findings
        assert all(str(breach).isprintable() and len(str(breach)) < 300 for breach in verdict.findings)
    assert held


def test_whatever_is_changed_there_is_a_verdict():
    check_spoiled([*range(300), 2052])  # the last: an output that is shorter than it should be, at the end of all


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"gpus": [', "is no JSON"),
        (b'{"gpus": [], "gpus": []}', "a key stands twice"),
        (b'{"gpus": NaN}', "NaN is no number"),
        (b'{"gpus": ' + b"[" * 70 + b"]" * 70 + b"}", "more than 64 deep"),
        (b'{"gpus": ' + b"[" * 100_000, "more than 64 deep"),
        (b'{"gpus": ' + b"9" * 5000 + b"}", "is no JSON"),
        (b'{"gpus": "' + b"\xff" + b'"}', "is no JSON"),
    ],
)
def test_what_is_no_plan_is_refused(data, words):
    with pytest.raises(FormatError, match=words):
        judge_plan(data)


def test_what_is_too_large_is_refused_with_the_sum():
    found = instead(gathered, 0, 0, 4, tbg_info={"tb_id": 0, "tbg_size": 2**31 - 1})
    with pytest.raises(FormatError, match=r"12,884,901,882 pieces .* 4,194,304 at most"):
        judged(found)


def test_verify_judges_by_content(tmp_path, capsys):
    right, bad, warned = tmp_path / "right", tmp_path / "bad.json", tmp_path / "warned.json"
    right.write_text(json.dumps(gathered(), indent=1))
    bad.write_text(json.dumps(BROKEN["deadlock"][1]()))
    warned.write_text(json.dumps(BROKEN["executor"][1]()))
    assert main(["verify", str(right)]) == 0
    assert "holds (shape, bounds, pairs, deadlock, race" in capsys.readouterr().out
    assert main(["verify", str(bad)]) == 1
    assert "BROKEN: deadlock (1)" in capsys.readouterr().out
    assert main(["verify", str(warned)]) == 0
    assert "executor: gpus[0].threadblocks[0].ops[4]: get from one index to another" in capsys.readouterr().out
    assert main(["verify", str(bad), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["holds"], told["rules"]["deadlock"], told["ranks"]) == (False, 1, 2)
    assert told["findings"][0]["rule"] == "deadlock"
    assert treecast.verify(right).holds
    assert not treecast.verify(bad)
    assert treecast.load(right).steps == 1
    with pytest.raises(FormatError, match="is wrong: deadlock"):
        treecast.load(bad)


def test_all_lists_of_a_plan_are_found():
    assert len(ops_of(in_turns())) == 4


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_what_treecast_writes_holds_and_alterations_that_hold_end_right(kind, spec, messages):
    check_alterations(kind, spec, messages, 50)


@pytest.mark.slow
def test_a_plan_of_a_rack_of_72_is_judged():
    data = formats.encode(treecast.plan("alltoall", "complete:72"), "mscclpp")
    verdict = judge_plan(data)
    assert verdict.holds
    assert verdict.messages == 72 * 71
    changed = json.loads(data)
    ops = changed["gpus"][3]["threadblocks"][1]["ops"]
    del ops[next(k for k, op in enumerate(ops) if op["name"] == "wait")]
    assert not judge_plan(json.dumps(changed).encode()).holds


@pytest.mark.long
@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_many_alterations_that_hold_end_right(kind, spec, messages):
    check_alterations(kind, spec, messages, 170)


@pytest.mark.long
def test_whatever_is_changed_at_length_there_is_a_verdict():
    check_spoiled(range(300, 10700))
