"""Results of TACOS and TE-CCL: those made of right plans hold, and each fault is named by its line."""

import json
import random
from contextlib import suppress

import pytest

from treecast.errors import TreecastError
from treecast.files import formats
from treecast.files.formats import Told
from treecast.files.formats.registry import importers
from treecast.files.formats.synthesized import judge_tacos, judge_teccl
from treecast.files.programs.verdict import FileVerdict
from treecast.plans import plan
from treecast.verification.verifier import verify

SPECS = ["ring:5", "mesh:3x3", "hypercube:3", "complete:4", "kautz:2,2"]


def sends(spec, messages=1):
    """Return the sends of an allgather, (step, src, dst, node of the chunk, which of its chunks), and its network."""
    schedule = plan("allgather", spec, messages=messages).plain()
    each = schedule.collective.messages
    return [(s.step, s.src, s.dst, *divmod(s.chunk, each)) for s in schedule], schedule.network, each


def as_tacos(spec, form="id:end:begin", messages=1, slow=()):
    """Return a result of TACOS; over links in ``slow`` nothing comes before the last moment."""
    found, network, each = sends(spec, messages)
    n = network.nodes
    links = {(u, v): [] for u in range(n) for v in network.neighbors(u)}
    for step, src, dst, node, which in sorted(found):
        begin, end = 1000 * step, 1000 * step + (1000 if (src, dst) in slow else 700)
        cell = {"id": "{0}", "id:end": "{0}:{1}", "id:end:begin": "{0}:{1}:{2}"}[form]
        links[src, dst].append(cell.format(node + n * which, end, begin))
    lines = [f"NPUs Count,{n}", f"Links Count,{len(links)}", f"Chunks Count,{n * each}", "Chunk Size,1048576,B"]
    lines.append("SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ps)")
    lines += [f"{u},{v},0,50,{','.join(chunks) or 'None'}" for (u, v), chunks in links.items()]
    return "\n".join([*lines, ""])


def as_teccl(spec, messages=1, first=0):
    """Return a result of TE-CCL, whose GPUs are numbered from ``first``, with a switch numbered among them."""
    found, _, _ = sends(spec, messages)
    flows = [
        f"Chunk {which} from {node + first} traveled over {src + first}->{dst + first} in epoch {3 * step}"
        + " via switches 0" * (src % 2)
        for step, src, dst, node, which in found
    ]
    random.Random(spec).shuffle(flows)
    return {"1-Epoch_Duration": 1e-6, "3-Epochs_Required": 9, "7-Flows": flows}


def tacos(text, **told):
    return judge_tacos(text.encode(), Told(**told))


def teccl(result):
    return judge_teccl(json.dumps(result).encode(), Told())


@pytest.mark.parametrize("form", ["id", "id:end", "id:end:begin"])
@pytest.mark.parametrize("messages", [1, 3])
@pytest.mark.parametrize("spec", SPECS)
def test_a_right_result_of_tacos_holds_and_is_a_schedule(spec, messages, form):
    found, network, _ = sends(spec, messages)
    verdict, schedule_of = tacos(as_tacos(spec, form, messages, slow={(0, 1)}))
    assert verdict, verdict.findings
    assert verdict.messages == len(found)
    assert verdict.steps <= 1 + max(step for step, *_ in found)
    again = schedule_of()
    assert verify(again)
    assert again.network.nodes == network.nodes
    assert tacos(as_tacos(spec, form, messages), network=spec)[0]


@pytest.mark.parametrize("spec", SPECS)
def test_a_right_result_of_teccl_holds_and_is_a_schedule(spec):
    verdict, schedule_of = teccl(as_teccl(spec, messages=2, first=1))
    assert verdict, verdict.findings
    assert verify(schedule_of())
    assert any("GPUs 1 to" in note for note in verdict.notes)


def test_a_chunk_that_goes_before_it_has_come_is_told_with_its_line():
    text = as_tacos("ring:4")
    lines = text.splitlines()
    place = next(k for k, line in enumerate(lines) if k > 4 and line.count(",") == 5)
    *link, first, second = lines[place].split(",")
    early, late = (cell.split(":")[0] for cell in (second, first))
    lines[place] = ",".join([*link, f"{early}:650:0", f"{late}:1700:1000"])
    verdict = tacos("\n".join(lines))[0]
    assert "waits" in {rule for rule, count in verdict.counts.items() if count}
    finding = next(finding for finding in verdict.findings if finding.rule == "waits")
    assert f"line {place + 1}" in finding.where
    result = as_teccl("ring:4")
    late = next(
        k for k, flow in enumerate(result["7-Flows"]) if flow.split(" from ")[1].split()[0] != flow.split("over ")[1][0]
    )
    result["7-Flows"][late] = result["7-Flows"][late].replace("epoch 3", "epoch 0")
    verdict = teccl(result)[0]
    assert f"flow {late}" in next(finding for finding in verdict.findings if finding.rule == "waits").where


@pytest.mark.parametrize("seed", range(6))
def test_a_chunk_that_is_left_out_is_not_delivered(seed):
    rng = random.Random(seed)
    spec = rng.choice(SPECS[:3])
    result = as_teccl(spec)
    del result["7-Flows"][rng.randrange(len(result["7-Flows"]))]
    assert teccl(result)[0].counts["delivered"]
    lines = as_tacos(spec).splitlines()
    place = rng.choice([k for k, line in enumerate(lines) if k > 4 and not line.endswith("None")])
    lines[place] = ",".join(lines[place].split(",")[:4]) + ",None"
    assert tacos("\n".join(lines))[0].counts["delivered"]


def test_chunks_in_an_order_in_which_none_can_go_are_told():
    """Each node first sends what it gets from the node before: a circle."""
    text = "NPUs Count,3\nLinks Count,3\nChunks Count,3\nChunk Size,1,B\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n"
    right = text + "".join(f"{u},{(u + 1) % 3},0,1,{u},{(u - 1) % 3}\n" for u in range(3))
    wrong = text + "".join(f"{u},{(u + 1) % 3},0,1,{(u - 1) % 3},{u}\n" for u in range(3))
    assert tacos(right)[0]
    assert tacos(wrong)[0].counts["waits"]


def test_two_chunks_at_once_on_a_link_are_told():
    lines = as_tacos("ring:4").splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("1,2,"))
    first = lines[place].split(",")[4].split(":")[0]
    lines[place] = f"1,2,0,50,{first}:700:0,{first}:800:100"
    assert tacos("\n".join(lines))[0].counts["link-once"]


def test_bad_results_are_refused_in_one_line():
    text = as_tacos("ring:4")
    for change, says in (
        (lambda: tacos(text.replace("Chunks Count,4", "Chunks Count,5")), "no allgather"),
        (lambda: tacos(text.replace("NPUs Count,4", "NPUs Count,four")), "line 1: 'four' is no whole number"),
        (lambda: tacos(text.partition("SrcID")[0]), "SrcID"),
        (lambda: tacos(text + "0,1\n"), "is no link"),
        (lambda: tacos(text + "0,1,0,50,3:5:9\n"), "is no CHUNK"),
        (lambda: tacos(text + "0,1,0,50,9\n"), "there is no chunk 9"),
        (lambda: tacos(text, collective="allgather"), "are told besides"),
        (lambda: teccl({"1-Epoch_Duration": 1, "7-Flows": ["0.5 chunks from 1"]}), "alltoalls"),
        (lambda: teccl({"1-Epoch_Duration": 1}), "has a list 7-Flows"),
        (lambda: teccl({"1-Epoch_Duration": 1, "7-Flows": []}), "has no flow"),
    ):
        with pytest.raises(TreecastError, match=says) as caught:
            change()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes_are_refused_or_judged(seed):
    rng = random.Random(seed)
    data = bytearray(as_tacos("ring:4").encode() if seed % 2 else json.dumps(as_teccl("ring:4")).encode())
    for _ in range(rng.randrange(1, 5)):
        data[rng.randrange(40, len(data))] = rng.choice(b'0123456789,:{}[]"ab \n-')
    judge = judge_tacos if seed % 2 else judge_teccl
    with suppress(TreecastError):
        assert isinstance(judge(bytes(data), Told())[0], FileVerdict)


def test_the_first_bytes_tell_these_formats():
    heads = {"tacos": as_tacos("ring:4").encode(), "teccl": json.dumps(as_teccl("ring:4"), indent=2).encode()}
    for name, data in heads.items():
        assert [other.name for other in importers().values() if other.recognises(data[:512])] == [name]
        assert verify(formats.decode(data))
