"""GOAL files and SimGrid's traces are read and judged: what is written is the same schedule again, and faults are named."""

import pytest

from tests.formats.test_operations import BOTH, carry_out, each_wait_of_a_sum_is_needed
from tests.formats.test_table import said
from tests.interpreters.jobs import CUT, JOBS, WIRED, planned
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats import Told
from treecast.files.programs.messages import messages_of
from treecast.plans import plan
from treecast.verification.verifier import verify

QUICK = ("tree:2,2", CUT, WIRED)


@pytest.mark.each(5)
@pytest.mark.parametrize(("write", "reader"), BOTH)
@pytest.mark.parametrize(
    ("kind", "spec"),
    [job if job.values[1] in QUICK else pytest.param(*job.values, id=job.id, marks=pytest.mark.long) for job in JOBS],
)
def test_what_is_written_is_read_again_and_holds(kind, spec, write, reader):
    schedule = planned(kind, spec)
    data = write(schedule)
    again = formats.decode(data)
    assert said(messages_of(again)) == said(messages_of(schedule))
    verdict, schedule_of = reader.judge(data, Told())
    assert verdict.holds
    assert verdict.steps == verify(schedule).steps
    assert schedule_of() == again
    assert write(again) == data


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "reduce-broadcast"])
@pytest.mark.parametrize(("write", "reader"), BOTH)
def test_what_the_judge_lets_through_delivers(kind, write, reader):
    """Every line of a file left out, doubled or exchanged with the next: what the judge accepts, the interpreter carries out."""
    schedule = plan(kind, "path:3", messages=2)
    lines, sizes, passed = write(schedule, size=24).decode().splitlines(), [12] * schedule.collective.chunks, 0
    for i, line in enumerate(lines):
        if line.startswith(("//", "#")):
            continue
        for changed in ([], [line, line], [*lines[i + 1 : i + 2], line]):
            step = 2 if len(changed) == 2 and changed[1:] == [line] and changed[0] != line else 1
            data = "\n".join([*lines[:i], *changed, *lines[i + step :], ""]).encode()
            try:
                held = reader.judge(data, Told())[0].holds
            except FormatError:
                continue
            if held:
                passed += 1
                carry_out(data, schedule, sizes)
    assert passed


def test_a_sum_so_far_waits_for_all_that_is_in_it():
    each_wait_of_a_sum_is_needed("tree:2,2")
