"""Chakra's traces: carried out on real bytes they deliver in the steps of the schedule or fewer, and changes are noticed."""

import doctest
from contextlib import suppress
from random import Random

import pytest

from tests.interpreters.chakra import fields, interpret, pieces
from tests.interpreters.jobs import JOBS, chunks_of_ranks, planned
from tests.interpreters.memory import WrongError
from treecast.errors import TreecastError
from treecast.files import formats
from treecast.files.formats import chakra
from treecast.plans import plan


def written(schedule, **settings):
    chunks = chunks_of_ranks(schedule)
    return dict(chakra.encode(schedule, size=300 * chunks, **settings))


def carry_out(schedule, files):
    return interpret(files, schedule, [300] * schedule.collective.chunks)


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("scatter", "mesh:2x4", {"messages": 2, "model": "wormhole"}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
    ],
)
def test_other_models_and_copies_deliver(kind, spec, more):
    schedule = plan(kind, spec, **more)
    carry_out(schedule, written(schedule))


def test_it_is_a_folder_of_traces(tmp_path):
    formats.save(plan("reduce", "path:3"), tmp_path / "out.chakra", size=2**40, adding=100)
    assert sorted(path.name for path in (tmp_path / "out.chakra").iterdir()) == ["rank.0.et", "rank.1.et", "rank.2.et"]
    head, receives, adds, sends = pieces((tmp_path / "out.chakra" / "rank.1.et").read_bytes())
    assert head == b"\x0a\x050.0.4"
    assert (fields(receives)[3], fields(adds)[3], fields(sends)[3]) == ([6], [4], [5])
    assert fields(adds)[7] == [100 * 2**40 // 8 // 1000 + 1]
    assert (fields(adds)[5], fields(sends)[5]) == ([b"\x01"], [b"\x02"])
    assert fields(fields(sends)[10][0]) == {1: [b"is_cpu_op"], 27: [0]}
    assert fields(fields(sends)[10][1]) == {1: [b"comm_size"], 9: [2**40]}


@pytest.mark.parametrize("kind", ["broadcast", "scatter", "reduce"])
def test_every_node_and_dependency_is_needed(kind):
    """A node left out or said twice, and a dependency that is not said, are noticed; but nothing waits for what the root adds."""
    schedule = plan(kind, "path:3", messages=2)
    files = written(schedule)
    for name, data in files.items():
        parts = pieces(data)
        for i, part in enumerate(parts):
            if name == "rank.0.et" and i and fields(part)[3] == [4]:
                continue
            for other in ([], [part, part]):
                changed = b"".join(chakra._behind_length(one) for one in [*parts[:i], *other, *parts[i + 1 :]])
                with pytest.raises((WrongError, KeyError)):
                    carry_out(schedule, files | {name: changed})
            waits = fields(part).get(5, [b""])[0] if i else b""
            if waits[:1] == b"\x01" and name == "rank.1.et" and fields(part)[3] == [5]:  # on the first receipt
                with pytest.raises(WrongError, match=r"has not got|missing or wrong"):
                    carry_out(schedule, files | {name: data.replace(b"\x2a" + bytes([len(waits)]) + waits,
                                                                     b"\x22" + bytes([len(waits)]) + waits, 1)})  # fmt: skip


def test_every_cut_is_noticed():
    schedule = plan("broadcast", "path:3")
    files = written(schedule)
    for length in range(len(files["rank.1.et"])):
        with pytest.raises((WrongError, KeyError, ValueError)):
            carry_out(schedule, files | {"rank.1.et": files["rank.1.et"][:length]})


def test_examples_run():
    assert doctest.testmod(chakra).failed == 0


def together(files):
    return b"".join(files[name] for name in sorted(files, key=lambda name: int(name.split(".")[1])))


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("allgather", "torus:3x4", {"messages": 2}),
        ("allreduce", "hypercube:3", {}),
        ("alltoall", "ring:5", {}),
        ("reduce", "path:3", {"model": "one-port"}),
    ],
)
def test_our_own_folders_are_read_back_and_judged(tmp_path, kind, spec, more):
    schedule = plan(kind, spec, **more)
    formats.save(schedule, tmp_path / "out.chakra", size=300 * chunks_of_ranks(schedule))
    verdict, schedule_of = formats.judge(tmp_path / "out.chakra")
    assert verdict.holds
    again = schedule_of()
    assert sorted(again) == sorted(schedule)
    assert again.collective == schedule.collective


def node(number, kind, peer=None, needs=b"", more=b""):
    """Return a node as other writers have it: numbers of their own, wide fields between, needs one by one."""
    said = b"\x08" + bytes([number]) + b"\x18" + bytes([kind]) + more
    said += b"".join(b"\x28" + bytes([other]) for other in needs)
    for name, value in (
        ((b"comm_size", 8), (b"comm_dst" if kind == 5 else b"comm_src", peer)) if peer is not None else ()
    ):
        about = b"\x0a" + bytes([len(name)]) + name + b"\x68" + bytes([value])
        said += b"\x52" + bytes([len(about)]) + about
    return bytes([len(said)]) + said


HEAD = b"\x07\x0a\x050.0.4"
WIDE = b"\x31" + bytes(8) + b"\x3d" + bytes(4)


def test_traces_of_others_are_judged_for_matching_and_order():
    def ring(size, circle):
        """Each rank sends to the next and receives from the one before; in a circle it receives first."""
        for rank in range(size):
            needs = (b"\x02", b"") if circle else (b"", b"\x01")
            yield HEAD + node(1, 5, (rank + 1) % size, needs[0], WIDE) + node(2, 6, (rank - 1) % size, needs[1])

    right, _ = chakra.judge(b"".join(ring(4, False)), formats.Told(collective="allgather"))
    assert right.counts["pairs"] == right.counts["order"] == 0
    assert right.counts["delivered"]  # it takes three such rounds
    wrong, _ = chakra.judge(b"".join(ring(4, True)), formats.Told())
    assert wrong.counts["order"] == 1
    assert "rank 0, node " in wrong.findings[0].where
    alone, _ = chakra.judge(HEAD + node(1, 5, 1) + HEAD, formats.Told())
    assert alone.counts["pairs"] == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (HEAD + node(1, 7), "is a collective"),
        (HEAD + node(1, 5), "no send or receive of this rank with a comm_dst"),
        (HEAD + node(1, 4, None, b"\x09"), "needs node 9"),
        (HEAD + node(1, 4)[:-1], "cut off"),
        (HEAD + node(1, 4) + node(1, 4), "stands there twice"),
        (HEAD + node(1, 5, 0), "rank 0 has no message with rank 0"),
    ],
)
def test_what_is_no_trace_is_refused_with_the_node(data, says):
    with pytest.raises(TreecastError, match=says):
        chakra.judge(data, formats.Told())


def test_changed_bytes_are_refused_or_judged():
    chance, data, judged = Random(3), together(written(plan("allgather", "ring:3"))), 0
    for _ in range(400):
        other = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            other[chance.randrange(len(other))] = chance.randrange(256)
        with suppress(TreecastError):
            judged += chakra.judge(bytes(other), formats.Told())[0].ranks > 0
    assert judged


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_byte_is_delivered_in_the_steps_of_the_schedule(kind, spec):
    schedule = planned(kind, spec)
    assert carry_out(schedule, written(schedule)) <= schedule.steps
