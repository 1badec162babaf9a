"""MSCCL XML: what is written holds for the judge and carried out on real bytes; each fault is found by the right rule."""

import random
import re
from pathlib import Path

import networkx as nx
import pytest

from tests.formats.msccl_files import RIGHT, WRONG, broken, relayed_allgather, ring_allreduce, spelled
from tests.interpreters.jobs import CUT, JOBS, SPECS, planned
from tests.interpreters.memory import WrongError
from tests.interpreters.msccl import interpret
from treecast.collectives import COLLECTIVES
from treecast.description import describe
from treecast.errors import FormatError, TreecastError
from treecast.files import formats
from treecast.files.formats import Told, decode
from treecast.files.formats.msccl.judge import judge, recognises
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.file_rules import rules_of
from treecast.verification.verifier import verify

RULES = tuple(rule.name for rule in rules_of("msccl"))
PAGE = Path(__file__).parents[2] / "docs/reference/formats/msccl.md"


def judge_msccl(data, network=None):
    return judge(data, Told(network=network))[0]


def run(schedule, data, seeds=(1, 2)):
    kind = schedule.collective.kind
    interpret(data, kind if kind in ("scatter", "gather") else None, schedule.collective.root, seeds=seeds)


@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("scatter", "hypercube:3", {"messages": 2, "copies": 2}),
        ("allgather", "torus:3x3", {"copies": 2}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
        ("allreduce", "hypercube:3", {"model": "shouting"}),
        ("broadcast", "path:2", {"messages": 300}),
        ("broadcast", "path:1", {"messages": 2}),
        ("alltoall", "complete:40", {}),
        ("reduce", "hypercube:3", {"root": 5}),
        ("gather", "torus:3x3", {"root": 4, "messages": 3}),
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
    ],
)
@pytest.mark.parametrize("copies", ["strip", "scratch"])
def test_other_models_copies_and_roots_deliver(kind, spec, more, copies):
    schedule = plan(kind, spec, **more)
    data = formats.encode(schedule, "msccl", copies=copies)
    assert judge_msccl(data), judge_msccl(data).findings
    run(schedule, data, seeds=(3,))


def test_copies_are_kept_in_scratch_or_left_out():
    schedule = plan("broadcast", "star:4", messages=5, copies=3)
    kept, left = (judge_msccl(formats.encode(schedule, "msccl", copies=way)) for way in ("scratch", "strip"))
    assert kept.messages == schedule.transmissions
    assert left.messages == 5 * 23


@pytest.mark.parametrize(
    ("kind", "spec", "more", "said"),
    [
        ("scatter", "mesh:2x4", {"model": "wormhole"}, "wormhole messages take routes: plan with --model all-port"),
        ("scatterv", "tree:2,2", {"lengths": 2, "model": "bufferless"}, "plan a scatter, gather or allgather"),
        (
            "broadcast",
            "path:3",
            {"messages": 5000},
            r"elements that a rank reads .* takes 4,096: [\d,]+ messages would",
        ),
        ("broadcast", "ring:4200", {}, "takes 4,096: fewer nodes would"),
        ("broadcast", "complete:230", {}, "threadblocks of a GPU do not fit"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(kind, spec, more, said):
    with pytest.raises(FormatError, match=said):
        formats.encode(plan(kind, spec, **more), "msccl")


def test_what_is_said_to_fit_does():
    with pytest.raises(FormatError) as error:
        formats.encode(plan("broadcast", "path:3", messages=5000), "msccl")
    fits = int(re.search(r": ([\d,]+) messages", str(error.value))[1].replace(",", ""))
    assert formats.encode(plan("broadcast", "path:3", messages=fits), "msccl")


@pytest.mark.parametrize("who", RIGHT)
def test_right_files_in_the_style_of_each_tool_hold(who):
    data = RIGHT[who]
    verdict = judge_msccl(data)
    assert verdict, verdict.findings
    interpret(data.replace(b"reducescatter", b"reduce_scatter"), inplace=b'inplace="1"' in data, seeds=range(5))
    schedule = decode(data)
    assert verify(schedule)
    assert schedule.steps == verdict.steps
    assert max(bound.value for bound in verdict.bounds) <= verdict.steps


@pytest.mark.parametrize("rule", RULES)
def test_each_fault_is_refused_by_its_rule(rule):
    data, network = broken(rule)
    verdict = judge_msccl(data, network)
    assert {name for name, count in verdict.counts.items() if count} == {rule}
    assert not verdict
    if rule not in ("race", "adjacent", "link-once", "undefined"):
        with pytest.raises((WrongError, KeyError)):
            interpret(data, inplace=True)


def test_the_page_shows_each_of_these_files():
    blocks = re.findall(r"^\*\*`(\S+)`\*\*.*?\n```xml\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert [rule for rule, _ in blocks] == list(WRONG)
    for rule, text in blocks:
        assert re.sub(r"\s*\n\s*", "", text) == broken(rule)[0].decode().replace("\n", "")
        assert len(text.splitlines()) <= 13


def test_every_breach_says_where():
    for rule in set(WRONG) - {"delivered"}:
        breach = judge_msccl(*broken(rule)).findings[0]
        assert len(breach.at) == 3
        assert re.match(rf"{rule}: gpu \d tb \d step \d: .+", str(breach))


def test_a_race_names_the_place_and_who_reads_and_writes():
    (finding,) = judge_msccl(*broken("race")).findings
    both = {finding.where: "writes" if "it writes" in finding.text else "reads"}
    assert re.search(
        r"^it (writes|reads) o 0, which gpu 1 tb \d step 0.* (writes|reads), and nothing says", finding.text
    )
    assert set(re.findall("writes|reads", finding.text)) == {"writes", "reads"}
    assert both[finding.where] == ("reads" if "tb 1" in finding.where else "writes")  # tb 1 copies what tb 0 receives


def test_a_file_of_no_shape_is_not_described_as_empty():
    said = str(describe(judge_msccl(broken("shape")[0].replace(b'type="s"', b'type="send"'))))
    assert "not 'send'" in said
    assert "0 gpus" not in said
    (finding,) = judge_msccl(RIGHT["TACCL"].replace(b'coll="allgather"', b'coll="all_gather"')).findings
    assert finding.text.endswith("not 'all_gather'; did you mean 'allgather'?")
    assert "gpus" in str(describe(judge_msccl(broken("race")[0])))


def test_queues_are_as_long_as_the_protocol_says():
    data, _ = broken("in-flight")
    assert judge_msccl(data.replace(b"Simple", b"LL"))
    assert judge_msccl(data.replace(b'x3"', b'x2"').replace(b'cnt="3"', b'cnt="2"')).counts["in-flight"] == 0
    interpret(data.replace(b"Simple", b"LL128"), inplace=True)


def test_what_is_missing_and_double_is_named():
    (breach,) = judge_msccl(broken("delivered")[0]).findings
    assert "it lacks rank 0 chunk 0" in breach.text
    twice = "gpu 1 1 0\ntb -1 1\nrrc i0 o0\nrrc o0 o0\ngpu 1 0 0\ntb 0 -1\ns i0 o0\ns i0 o0"
    (breach,) = judge_msccl(spelled(twice, "reduce", 2, 1)).findings
    assert "it has too much: rank 1 chunk 0" in breach.text


def test_what_came_from_where_nothing_was_is_told_from_what_never_came():
    copies = "gpu 1 2 1\ntb 1 -1\ns s0 o0\ntb -1 -1\ncpy i0 o0\ngpu 1 2 0\ntb -1 0\nr i0 o0\ntb -1 -1\ncpy i0 o1"
    said = {
        each.where: each.text
        for each in judge_msccl(spelled(copies, "allgather", 2, 2)).findings
        if each.rule == "delivered"
    }
    assert said == {
        "gpu 0, o 1": "it was never written: it lacks rank 1 chunk 0",
        "gpu 1 tb 0 step 0, o 0": "it came from where nothing was written: it lacks rank 0 chunk 0",
    }


def test_a_sum_that_wraps_around_is_not_taken_for_none():
    doubled = "re s0 s0\n" * 70
    text = f"gpu 1 1 1\ntb -1 1\nrrc i0 o0\ncpy o0 s0\n{doubled}re s0 o0\ngpu 1 0 0\ntb 0 -1\ns i0 o0"
    assert judge_msccl(spelled(text, "reduce", 2, 1)).counts["delivered"] == 1


def test_a_later_signal_frees_and_none_blocks_for_ever():
    late = "gpu 1 1 0\ntb 1 -1\ns i0 o0\ngpu 1 1 2\ntb -1 0\nr i0 o0{}\ncpy o0 s0 flag\ntb -1 -1\ncpy o0 s1 after 0.0"
    assert judge_msccl(spelled(late.format(""), "broadcast", 2, 1, inplace=1, outofplace=0))
    assert judge_msccl(spelled(late.format("").replace(" flag", ""), "broadcast", 2, 1)).counts["signalled"] == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'name="file"', b'name="' + b"x" * 64 + b'"', "longer than 63"),
        (b'proto="Simple"', b'proto="Fast"', "proto is one of"),
        (b'coll="allgather"', b'coll="gossip"', "coll is one of"),
        (b'nchannels="4"', b'nchannels="40"', "nchannels is 40"),
        (b'chan="0"', b'chan="7"', "chan is 7"),
        (b'ngpus="3"', b'ngpus="4"', "3 gpus follow"),
        (b'nchunksperloop="3"', b'nchunksperloop="4"', "no multiple of 3"),
        (b'nchunksperloop="3"', b'nchunksperloop="6"', "give 0 or as many"),
        (b'inplace="0" outofplace="1"', b'inplace="0" outofplace="0"', "for no buffers"),
        (b'maxBytes="1073741824"', b'maxBytes="-1"', "numbers of bytes"),
        (b'i_chunks="1"', b'i_chunks="-1"', "negative"),
        (b'<gpu id="2"', b'<gpu id="1"', "there already"),
        (b'<tb id="1"', b'<tb id="3"', "numbered 0, 1"),
        (b'send="1"', b'send="9"', "another gpu, or -1"),
        (b'send="1"', b'send="0"', "another gpu, or -1"),
        (b's="1" type', b's="5" type', "numbered 0, 1"),
        (b'type="cpy"', b'type="ra"', "type is one of"),
        (b'cnt="1"', b'cnt="0"', "it is 1 to 71"),
        (b'cnt="1"', b'cnt="72"', "it is 1 to 71"),
        (b'srcbuf="i"', b'srcbuf="x"', "srcbuf is one of"),
        (b'dstoff="1"', b'dstoff="40000"', "no place|outside"),
        (b'depid="1"', b'depid="9"', "no tb of this gpu"),
        (b'depid="1" deps="0"', b'depid="1" deps="-1"', "which step"),
        (b'hasdep="1"', b'hasdep="2"', "0 or 1"),
        (b'hasdep="1"', b'hasdep="yes"', "whole number"),
        (b' depid="0" deps="0"', b' depid="-1" deps="-1"', "chain"),
        (b' cnt="1"', b"", "lacks cnt"),
    ],
)
def test_limits_and_nonsense_are_named(old, new, said):
    data = relayed_allgather()
    assert old in data
    verdict = judge_msccl(data.replace(old, new, 1) if old != b'name="file"' else data.replace(old, new))
    assert verdict.counts["shape"], verdict
    assert any(re.search(said, str(breach)) for breach in verdict.findings), verdict.findings


def limits():
    """Yield for each limit a file that keeps it, and one that passes it."""
    one = "gpu 1 1 0; tb -1 -1; cpy i0 o0;"
    build = lambda text, **more: spelled(text, "allgather", 1, more.pop("loop", 1), **more)  # noqa: E731
    for most, text in (
        (256, lambda n: f"gpu 1 1 1; tb -1 -1; cpy i0 o0;{'cpy o0 s0;' * (n - 1)}"),
        (71, lambda n: f"gpu 99 99 99; tb -1 -1; cpy i0 o0 x50; cpy i50 o50 x49; cpy i0 s0 x{n}"),
        (216, lambda n: one + "tb -1 -1;" * (n - 1)),
        (32_768, lambda n: f"gpu 1 1 {n}; tb -1 -1; cpy i0 o0"),
        (127, lambda n: f"gpu 1 1 1; tb -1 -1; cpy i0 o0; cpy o0 s0 after {n}.0;" + "tb -1 -1; cpy i0 i0 flag;" * 150),
        (4_096, lambda n: one + "tb -1 -1;" + ("cpy o0 o0;" * 240 + "tb -1 -1;") * 16 + "cpy o0 o0;" * (n - 3860)),
    ):
        loop = 99 if most == 71 else 1
        yield build(text(most), loop=loop), build(text(most + 1), loop=loop)
    yield build(one, channels=32), build(one, channels=33)
    yield build(one, name="x" * 63), build(one, name="x" * 64)


def test_limits_are_those_of_the_page():
    for kept, passed in limits():
        assert judge_msccl(kept).counts["shape"] == 0, judge_msccl(kept).findings
        assert judge_msccl(passed).counts["shape"] == 1, judge_msccl(passed).findings


def test_right_files_that_no_schedule_can_say():
    """Recursive doubling: every node adds up all, so that no sum has an owner."""
    text = ""
    for g in range(4):
        text += (
            f"gpu 1 1 1; tb {g ^ 1} {g ^ 1}; s i0 o0; rrc i0 o0 flag; tb {g ^ 2} {g ^ 2}; s o0 o0 after 0.1; rrc o0 o0;"
        )
    data = spelled(text, "allreduce", 4, 1)
    assert judge_msccl(data), judge_msccl(data).findings
    interpret(data, seeds=range(5))
    with pytest.raises(FormatError, match="right, but no schedule of ours"):
        decode(data)
    with pytest.raises(FormatError, match="custom collective"):
        decode(spelled("gpu 1 1 0; tb -1 -1; cpy i0 o0", "custom", 1, 1))


def test_files_without_any_data_deliver_nothing():
    assert judge_msccl(spelled("gpu 0 1 0; gpu 0 1 0", "broadcast", 2, 1)).counts["delivered"] == 2


ATTACKS = {
    "entities": b'<!DOCTYPE algo [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><algo name="&b;"/>',
    "files": b'<!DOCTYPE algo SYSTEM "file:///etc/passwd"><algo name="x"/>',
    "no end": b"<algo",
    "deep": b"<algo " + b"><a" * 100_000,
    "another document": b"<html/>",
    "an unknown encoding": b'<?xml version="1.0" encoding="nonsense"?><algo name="x"/>',
    "many gpus": relayed_allgather().replace(b'ngpus="3"', b'ngpus="999999999"'),
    "a long attribute": relayed_allgather().replace(b'"file"', b'"' + b"x" * 10**6 + b'"'),
    "a long number": relayed_allgather().replace(b'cnt="1"', b'cnt="' + b"9" * 10**5 + b'"'),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_works(attack):
    assert refusal(ATTACKS[attack]) or not judge_msccl(ATTACKS[attack])


def fuzz(count):
    """Judge files with values, elements and bytes changed; return how many could be read."""
    chance, judged = random.Random(17), 0
    sources = [*RIGHT.values(), *(broken(rule)[0] for rule in WRONG)]
    value, element = re.compile(rb'"[^"<]*"'), re.compile(rb"<[^>]*>")
    values = [found for data in sources for found in value.findall(data)]
    values += [b'"-1"', b'"2147483648"', b'"32767"', b'"999999999"', b'"64"', b'"\xff"', b'""']
    elements = [found for data in sources for found in element.findall(data)]
    for _ in range(count):
        data = chance.choice(sources)
        for _ in range(chance.choice((1, 1, 2, 5))):
            what, words = chance.choices([(value, values), (element, elements)], [9, 1])[0]
            start, end = chance.choice([found.span() for found in what.finditer(data)] or [(0, 0)])
            data = data[:start] + chance.choice([*words, b""]) + data[end:]
            if chance.random() < 0.05:
                at = chance.randrange(len(data))
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        judged += not refusal(data)
    return judged


def refusal(data):
    """Return why a file cannot be judged, if so; it may be judged wrong, or be no schedule."""
    try:
        judge_msccl(data)
    except TreecastError as error:
        return one_line(error)
    try:
        decode(data)
    except TreecastError as error:
        one_line(error)
    return ""


def one_line(error):
    assert str(error).isprintable()
    assert len(str(error)) < 600
    return str(error)


def test_no_changed_file_is_more_than_refused():
    assert fuzz(400) > 120


def channels_ring(gpus, channels):
    """In the style of msccl-tools: an allreduce in place, round a ring on several channels at once, with a threadblock each."""
    text = ""
    for g in range(gpus):
        text += f"gpu {gpus * channels} 0 0\n"
        for c in range(channels):
            text += f"tb {(g + 1) % gpus} {(g - 1) % gpus} {c}\n"
            for k in range(2 * gpus - 1):
                word = "s" if k == 0 else "rrs" if k < gpus - 1 else "rrcs" if k == gpus - 1 else "rcs"
                place = f"i{(g - k) % gpus * channels + c}"
                text += f"{'r' if k == 2 * gpus - 2 else word} {place} {place}\n"
    return spelled(text, "allreduce", gpus, gpus * channels, inplace=1, outofplace=0, channels=channels)


@pytest.mark.parametrize(("gpus", "channels"), [(3, 2), (4, 3), (8, 8)])
def test_channels_that_share_an_arc_go_one_after_another(gpus, channels):
    """A bound of schedules, in which an arc carries a chunk a step, says nothing of steps in which it carries eight."""
    data = channels_ring(gpus, channels)
    verdict = judge_msccl(data)
    assert verdict, verdict.findings
    assert (verdict.depth, verdict.steps, verdict.busiest) == (2 * gpus - 2, (2 * gpus - 2) * channels, verdict.steps)
    assert max(bound.value for bound in verdict.bounds) <= verdict.steps
    assert f"{verdict.steps}, {verdict.depth} if arcs carried all at once" in str(verdict)
    schedule = decode(data)
    assert schedule.steps == verdict.steps
    assert verify(schedule, method="expanded")


def test_parallel_arcs_carry_as_many_channels_as_there_are():
    text = "gpu 2 2 0; tb 1 -1 0; s i0 o0; tb 1 -1 1; s i1 o1; gpu 2 2 0; tb -1 0 0; r i0 o0; tb -1 0 1; r i1 o1"
    data = spelled(text, "broadcast", 2, 2, inplace=1, outofplace=0)
    assert [judge_msccl(data, each).steps for each in (None, network(nx.MultiGraph([(0, 1), (0, 1)])))] == [2, 1]


def test_sums_that_nobody_owns_are_a_schedule():
    """Recursive doubling of all sums at once."""
    text = "".join(
        f"gpu 4 4 0; tb {g ^ 1} {g ^ 1}; s i0 o0 x4; rrc i0 o0 x4 flag; tb {g ^ 2} {g ^ 2}; s o0 o0 x4 after 0.1; rrc o0 o0 x4;"
        for g in range(4)
    )
    data = spelled(text, "allreduce", 4, 4, proto="LL")
    assert judge_msccl(data), judge_msccl(data).findings
    interpret(data, seeds=range(5))
    schedule = decode(data)
    assert schedule.collective.shared
    assert schedule.steps == 8
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method)


def loses(n, gpu, k):
    """Return a ring's allreduce in which step k of a GPU copies where it should add, and the words for that step."""
    lines, at, seen = ring_allreduce(n).decode().splitlines(), -1, -1
    for place, line in enumerate(lines):
        at += "<gpu " in line
        if "<step " in line and at == gpu:
            seen += 1
            if seen == k:
                lines[place] = line.replace('"rrcs"', '"rcs"')
                assert lines[place] != line
    return "\n".join(lines).encode(), f"gpu {gpu} tb 0 step {k}"


@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_wrong_sum_is_followed_back_to_the_step_that_lost_a_contribution(n):
    for gpu in range(n):
        data, culprit = loses(n, gpu, n - 1)
        found = judge_msccl(data)
        assert found.counts["delivered"] == n
        chunk = (gpu + 1) % n
        for finding in found.findings:
            assert f"lacks rank {gpu} chunk {chunk}" in finding.text
            assert finding.text.endswith(f"; {culprit} loses rank {gpu} chunk {chunk}")
            assert f"i {chunk} in place" in finding.where


def test_a_sum_with_a_contribution_too_many_names_the_step_that_adds_it():
    """The first copy of a finished sum is added to what is there."""
    for gpu in range(1, 4):
        lines, at = ring_allreduce(4).decode().splitlines(), -1
        for place, line in enumerate(lines):
            at += "<gpu " in line
            if at == gpu and '"rcs"' in line:
                lines[place] = line.replace('"rcs"', '"rrcs"')
                step = re.search(r's="(\d+)"', line)[1]
                break
        found = judge_msccl("\n".join(lines).encode())
        assert found.counts["delivered"]
        assert f"; gpu {gpu} tb 0 step {step} adds again" in found.findings[0].text


def test_findings_that_are_not_shown_are_counted():
    data, _ = loses(6, 0, 5)
    assert "delivered: 3 more" in str(judge_msccl(data))


DOING = [job for job in JOBS if job.values[1] in (*SPECS, CUT) and not COLLECTIVES[job.values[0]].lengths]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.long
def test_no_changed_file_of_many_is_more_than_refused():
    assert fuzz(100_000) > 30_000
