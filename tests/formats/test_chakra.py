"""Chakra's traces: carried out on real bytes they deliver in the steps of the schedule or fewer, and changes are noticed."""

import doctest

import pytest

from tests.interpreters.chakra import fields, interpret, pieces
from tests.interpreters.jobs import chunks_of_ranks
from tests.interpreters.memory import WrongError
from treecast import formats
from treecast.formats import chakra
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
