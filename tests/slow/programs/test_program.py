"""Programs: from schedules and back, pairs, times and circles, against plain loops and networkx."""

import numpy as np
import pytest

from tests.interpreters.jobs import JOBS, SPECS, planned
from treecast.files import formats
from treecast.files.formats.goal import read_goal
from treecast.files.programs.messages import chunk_places, messages_of, of_schedule
from treecast.files.programs.order import find_order, find_pairs
from treecast.files.programs.program import ADD

COLUMNS = ("rank", "to", "source", "tag", "size", "waiting", "wait", "begun")


@pytest.mark.parametrize(("kind", "spec"), [job for job in JOBS if job.values[1] in SPECS[:2]])
def test_what_is_written_is_the_program_of_the_schedule(kind, spec):
    schedule = planned(kind, spec)
    program, message = of_schedule(messages_of(schedule), chunk_places(schedule, None))
    read = read_goal(formats.encode(schedule, "goal")).program
    assert np.array_equal(np.where(program.kind == ADD, 0, program.kind), read.kind)
    moves = program.kind != ADD
    for name in COLUMNS:
        mine, theirs = getattr(program, name), getattr(read, name)
        mine = np.maximum(mine, 1) if name == "size" else mine
        both = (mine[moves], theirs[moves]) if name in ("tag", "size") else (mine, theirs)
        assert np.array_equal(*both), name
    pairs = find_pairs(program)
    assert not len(pairs.alone)
    assert np.array_equal(message[pairs.send], message[pairs.receive])
    assert find_order(program, pairs).steps <= schedule.steps
