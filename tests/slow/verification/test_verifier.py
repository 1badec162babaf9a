import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import graph_of, is_right
from tests.strategies import arbitrary, examples, mutations, planned
from tests.verification.test_rules import UNDER
from tests.verification.test_verifier import broken, change_every_row
from treecast.models import model
from treecast.plans import plan
from treecast.verification.verifier import verify


@examples(100)
@given(arbitrary())
def test_fast_and_expanded_agree_on_wrong_schedules(schedule):
    for under in ["all-port", *UNDER]:
        fast, slow = verify(schedule, under), verify(schedule, under, method="expanded")
        assert broken(fast) == broken(slow)
    if schedule.copies == 1:
        assert verify(schedule).holds == is_right(schedule, graph_of(schedule.network))


@examples(100)
@given(planned(), st.data())
def test_fast_and_expanded_agree_on_nearly_right_schedules(schedule, data):
    """One or two small changes: some do no harm, so that both verdicts occur."""
    for _ in range(data.draw(st.integers(1, 2))):
        schedule = data.draw(st.sampled_from([build for _, build in mutations(schedule)]))()
    for under in ["all-port", *UNDER]:
        assert broken(verify(schedule, under)) == broken(verify(schedule, under, method="expanded"))
    if schedule.copies == 1:
        assert verify(schedule).holds == is_right(schedule, graph_of(schedule.network))
    elif verify(schedule).holds:
        assert is_right(schedule, graph_of(schedule.network))


@examples(100)
@given(arbitrary(orbit=True))
def test_by_symmetry_and_expanded_agree_on_wrong_orbits(schedule):
    """Where messages combine, rows of one port are one message, by symmetry; of arcs that are not there nobody can say so."""
    for under in ["all-port", *UNDER]:
        fast, slow = (broken(verify(schedule, under, method=method)) for method in ("fast", "expanded"))
        if "adjacent" in fast and model(under).combining:
            fast, slow = fast - {"send-port", "recv-port"}, slow - {"send-port", "recv-port"}
        assert fast == slow


@pytest.mark.parametrize(("spec", "copies"), [("star:3", 2), ("hypercube:3", 2), ("complete:4", 3)])
def test_changes_of_an_allgather_written_out_are_judged_alike(spec, copies):
    """All changes of some rows, one at a time."""
    changes = mutations(plan("allgather", spec, copies=copies).plain())
    seen = set()
    for _, build in islice(changes, 0, None, 29):
        schedule = build()
        assert broken(verify(schedule)) == broken(verify(schedule, method="expanded"))
        seen |= broken(verify(schedule))
    assert "copies" in seen


def test_the_day_one_negatives_hold_without_asserts(tmp_path):
    """Under ``python -O`` asserts are gone; the checks must not be."""
    script = """
from treecast.collectives import Collective
from treecast.files.formats import decode, encode
from treecast.models import model
from treecast.networks import network
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.verifier import verify
import sys
assert False  # gone under -O

def made(rows):
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    rows = Rows.of(Payloads.of([[(0, 1)]]), **columns)
    return Schedule(network("path:3"), Collective("broadcast", 3, 1), model("all-port"), rows)

right = made([(0, 1, 0, 1, 0, 0, 0), (1, 1, 1, 2, 0, 0, 0)])
if not verify(right).holds: sys.exit(1)
if verify(made([(0, 1, 0, 1, 0, 0, 0), (0, 1, 1, 2, 0, 0, 0)])).holds: sys.exit(2)  # not held
if verify(made([(0, 1, 0, 1, 0, 0, 0), (1, 1, 0, 2, 0, 0, 0)])).holds: sys.exit(3)  # no such arc
for name in ("text", "binary"):
    data = bytearray(encode(right, name))
    data[len(data) // 2] ^= 1
    try:
        decode(bytes(data))
    except ValueError as error:
        continue
    sys.exit(4)  # tampered
sys.exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-O", "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.each(2)
@pytest.mark.parametrize(("messages", "copies"), [(6, 1), (4, 2)])
def test_any_change_of_one_row_is_rejected_or_does_no_harm(messages, copies):
    change_every_row("star:4", messages, copies)
