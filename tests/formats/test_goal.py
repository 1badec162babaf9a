"""GOAL: carried out on real bytes it delivers in the steps of the schedule or fewer, and changes are noticed."""

import pytest

from tests.interpreters.goal import interpret
from tests.interpreters.jobs import JOBS, chunks_of_ranks, planned
from tests.interpreters.memory import WrongError
from treecast.files import formats
from treecast.plans import plan


def written(schedule, **settings):
    chunks = chunks_of_ranks(schedule)
    return formats.encode(schedule, "goal", size=12 * chunks, **settings)


def carry_out(schedule, data):
    return interpret(data, schedule, [12] * schedule.collective.chunks)


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_byte_is_delivered_in_the_steps_of_the_schedule(kind, spec):
    schedule = planned(kind, spec)
    assert carry_out(schedule, written(schedule)) <= schedule.steps
    if schedule.collective.sums:
        assert carry_out(schedule, written(schedule, adding=2.5)) <= schedule.steps


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("scatter", "mesh:2x4", {"messages": 2, "model": "wormhole"}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
    ],
)
def test_other_models_and_copies_deliver(kind, spec, more):
    schedule = plan(kind, spec, **more)
    carry_out(schedule, written(schedule))


def test_it_reads_as_the_grammar_says():
    schedule = plan("reduce", "path:3")
    lines = written(schedule, adding=100).decode().splitlines()
    assert [line for line in lines if not line.startswith("//")] == [
        "num_ranks 3",
        "rank 0 {",
        "r1: recv 12b from 1 tag 0",
        "c1: calc 200",
        "c1 requires r1",
        "}",
        "rank 1 {",
        "r0: recv 12b from 2 tag 0",
        "c0: calc 200",
        "c0 requires r0",
        "s1: send 12b to 0 tag 0",
        "s1 requires c0",
        "}",
        "rank 2 {",
        "s0: send 12b to 1 tag 0",
        "}",
    ]
    assert sum(line.startswith("// step") and line.endswith("tree 0 chunks 0") for line in lines) == 2
    assert "// treecast network path:3" in lines


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "scatter"])
def test_every_changed_line_is_noticed(kind):
    schedule = plan(kind, "path:3", messages=2)
    lines = written(schedule).decode().splitlines()
    root, tried = lines.index("rank 1 {"), 0
    for i, line in enumerate(lines):
        if line.startswith("//") or " requires s" in line or (" requires r" in line and i < root):
            continue  # the order of messages on an arc is a matter of time; and nothing waits for what the root adds
        words = line.split(" ")
        changes = [[]]
        if words[-2:-1] == ["tag"]:
            changes += [[line.replace(f"tag {words[-1]}", f"tag {int(words[-1]) + 1}")], [line.replace("12b", "13b")]]
            changes += [[" ".join([*words[:4], str((int(words[4]) + 1) % 3), *words[5:]])], [line, line]]
            changes += [[line.replace("send", "recv").replace(" to ", " from ")]] if "send" in line else []
        for other in changes:
            tried += 1
            changed = "\n".join([*lines[:i], *other, *lines[i + 1 :]]) + "\n"
            with pytest.raises(WrongError):
                carry_out(schedule, changed.encode())
    assert tried > 30


def test_a_circle_is_a_deadlock():
    schedule = plan("broadcast", "path:3")
    text = written(schedule).decode()
    circle = text.replace("r0: recv 12b from 0 tag 0\n", "r0: recv 12b from 0 tag 0\nc9: calc 1\n")
    circle = circle.replace("s1 requires r0\n", "s1 requires r0\ns1 requires c9\nc9 requires s1\n")
    assert circle != text
    with pytest.raises(WrongError, match="never end"):
        carry_out(schedule, circle.encode())
