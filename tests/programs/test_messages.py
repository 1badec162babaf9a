"""The list of messages against plain loops over sets: the same messages, and each needs what really brought what it carries."""

import doctest

import numpy as np
import pytest
from hypothesis import given

from tests.interpreters.jobs import JOBS, planned
from tests.strategies import examples, planned_of
from treecast.errors import FormatError, ScheduleError
from treecast.files import formats
from treecast.files.formats.registry import exporter_named
from treecast.files.programs import messages as module
from treecast.files.programs.messages import EACH, chunk_places, messages_of
from treecast.plans import plan

MODELS = [
    ("broadcast", "star:4", {"messages": 6, "copies": 3}),
    ("allgather", "hypercube:3", {"messages": 2, "copies": 2}),
    ("alltoall", "hypercube:3", {"messages": 2, "copies": 3}),
    ("reduce", "hypercube:3", {"model": "whispering"}),
    ("multicast", "mesh:2x4", {"targets": (1, 6, 7), "model": "wormhole"}),
    ("scatter", "mesh:2x4", {"model": "wormhole", "messages": 2}),
    ("scatterv", "tree:2,2", {"lengths": 3, "model": "bufferless"}),
    ("gatherv", "tree:2,2", {"lengths": [0, 3, 1, 0, 2, 5, 1], "model": "bufferless"}),
    ("allreduce", "ring:5", {"messages": 2, "without_owners": True}),
    ("allreduce", "complete:6", {"model": "whispering", "without_owners": True}),
]


def replayed(schedule):
    """Return the messages as {identity: (place, needs)}; an identity says step, arc, tree and the set of chunks.

    A loop over single sends: what a node holds is a dictionary from a chunk to what brought it, or to None.
    """
    schedule = schedule.plain()
    part, rows = schedule.collective, schedule.rows
    held, added, sent, found = {}, {}, {}, {}
    for v, a, b in part.given():
        for chunk in range(max(a, part.sums), b):
            held[v, chunk] = None
    for step in range(schedule.steps):
        (sends,) = schedule.expand(step, step + 1)
        together = {}
        for row, src, dst, port, tree, chunk in zip(
            *(c.tolist() for c in (sends.row, sends.src, sends.dst, sends.port, sends.tree, sends.chunk)), strict=True
        ):
            together.setdefault((row, src, dst, port, tree), []).append(chunk)
        for row in np.flatnonzero(rows.control & (rows.step == step)):
            together[int(row), int(rows.src[row]), int(rows.dst[row]), int(rows.port[row]), int(rows.tree[row])] = []
        new = []
        for (_, src, dst, port, tree), chunks in sorted(together.items(), key=lambda item: (item[0][4], item[0][0])):
            needs = set()
            for chunk in chunks:
                result = chunk >= part.sums > 0
                if chunk < part.sums:
                    needs |= set(added.get((src, chunk), []))
                elif result and ((src, chunk) not in held if part.shared else int(part.source_of(chunk)) == src):
                    needs |= set(added.get((src, chunk - part.sums), []))
                elif (src, chunk) not in held:
                    raise ScheduleError(f"{src} has not got {chunk}")
                elif held[src, chunk] is not None:
                    came = held[src, chunk]
                    own = [one for one in came if one[4] == tree >= 0]
                    needs.add((own or sorted(came, key=lambda one: (one[0], came.index(one))))[0])
            identity = (step, src, dst, port, tree, frozenset(chunks))
            sent[src, dst] = sent.get((src, dst), -1) + 1
            assert identity not in found
            found[identity] = (sent[src, dst], needs)
            new.append((dst, chunks, identity))
        for dst, chunks, identity in new:
            for chunk in chunks:
                if chunk < part.sums:
                    added.setdefault((dst, chunk), []).append(identity)
                elif held.get((dst, chunk), ()) is not None:
                    held.setdefault((dst, chunk), []).append(identity)
    return found


def listed(messages):
    """Return the same of a list of messages."""
    columns = (messages.step, messages.src, messages.dst, messages.port, messages.tree)
    names = [
        (*row, frozenset(c for a, b in messages.ranges(m) for c in range(a, b)))
        for m, row in enumerate(zip(*(column.tolist() for column in columns), strict=True))
    ]
    return {
        name: (int(messages.place[m]), {names[need] for need in messages.needs_of(m)}) for m, name in enumerate(names)
    }


@pytest.mark.parametrize(("kind", "spec", "more"), MODELS)
def test_every_model_and_several_copies(kind, spec, more):
    schedule = plan(kind, spec, **more)
    assert listed(messages_of(schedule)) == replayed(schedule)


@examples(30)
@given(planned_of())
def test_whatever_is_planned(schedule):
    assert listed(messages_of(schedule)) == replayed(schedule)


def test_messages_are_in_order_and_need_earlier_ones():
    messages = messages_of(plan("allreduce", "torus:3x3", messages=3))
    keys = list(zip(messages.step, messages.src, messages.dst, messages.tree, strict=True))
    assert keys == sorted(keys)
    of = np.repeat(np.arange(len(messages)), np.diff(messages.needs_start))
    assert (messages.step[messages.needs] < messages.step[of]).all()
    assert (messages.dst[messages.needs] == messages.src[of]).all()
    begins = chunk_places(messages.schedule, 9 * 3 * 100)
    assert messages.added(begins).sum() == messages.sizes(begins).sum() // 2 == 100 * len(messages) // 2


def test_what_was_not_brought_is_refused():
    schedule = plan("broadcast", "path:4", messages=2)
    with pytest.raises(ScheduleError, match="at step 1 1 sends chunks 0, which it has not got"):
        messages_of(schedule.select(schedule.rows.src > 0))
    sums = plan("reduce", "path:4", messages=2)
    early = sums.select(slice(None))
    object.__setattr__(early.rows, "step", early.rows.step[::-1].copy())
    with pytest.raises(ScheduleError, match="has not got in full"):
        messages_of(early)


def test_sparing_schedules_are_refused():
    with pytest.raises(FormatError, match="plan with --model all-port"):
        messages_of(plan("allgather", "hypercube:3", model="whispering"))


def test_bytes_are_cut_evenly_and_finished_sums_are_as_long_as_sums():
    schedule = plan("allgather", "ring:3", messages=2)
    assert chunk_places(schedule).tolist() == [c * EACH for c in range(7)]
    assert chunk_places(schedule, 10).tolist() == [0, 1, 3, 5, 6, 8, 10]
    with pytest.raises(FormatError, match="5 bytes cannot be cut into 6 chunks"):
        chunk_places(schedule, 5)
    begins = chunk_places(plan("allreduce", "ring:3"), 10)
    assert np.diff(begins).tolist() == [3, 3, 4, 3, 3, 4]
    messages = messages_of(schedule)
    assert messages.sizes(chunk_places(schedule, 10)).sum() == 2 * 10


def test_examples_run():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["chakra", "chrome", "csv", "goal", "simgrid"])
def test_every_format_of_messages_refuses_them(name, tmp_path):
    with pytest.raises(FormatError, match="plan with --model all-port"):
        formats.save(plan("broadcast", "hypercube:3", model="whispering"), tmp_path / "out", to=name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["chakra", "chrome", "csv", "dot", "goal", "graphml", "simgrid"])
def test_the_same_plan_gives_the_same_files(name, tmp_path):
    for which in ("first", "second"):
        formats.save(plan("allgather", "torus:3x3", messages=2), tmp_path / which, to=name)
    first, second = (
        {file.name: file.read_bytes() for file in (path.iterdir() if path.is_dir() else [path])}
        for path in (tmp_path / "first", tmp_path / "second")
    )
    assert list(first.values()) == [second[name.replace("first", "second")] for name in first]


def test_too_many_messages_are_refused():
    with pytest.raises(FormatError, match="messages are too many to list one by one: the most are 16,777,216"):
        messages_of(plan("allgather", "hypercube:13"))


@pytest.mark.parametrize("name", ["simgrid", "chakra"])
def test_folders_are_written_a_file_at_a_time(name):
    """Traces of millions of messages take gigabytes: they never stand in memory together."""
    found = exporter_named(name).encode(plan("broadcast", "star:3"))
    assert iter(found) is found
    assert all(isinstance(data, bytes) for _, data in found)


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_collective_on_every_network(kind, spec):
    schedule = planned(kind, spec)
    assert listed(messages_of(schedule)) == replayed(schedule)
