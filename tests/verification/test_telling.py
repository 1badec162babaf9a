"""The rule ``told``: of gathers whose nodes are told when to begin both verifiers say the same, whatever rows are lost."""

from dataclasses import replace

import numpy as np
import pytest

import treecast


@pytest.mark.parametrize(
    ("spec", "builder"),
    [
        ("tree:2,2", "transmission-certificate"),
        ("mesh:2x3", "transmission-certificate"),
        ("path:5", "transmission-certificate"),
        ("path:5", "shoulder-tap"),
    ],
)
def test_both_verifiers_judge_control_flits_alike(spec, builder):
    schedule = treecast.plan("gatherv", spec, lengths=2, builder=builder)
    assert treecast.verify(schedule, method="expanded").counts == treecast.verify(schedule).counts
    found, rows, every = list[int](), schedule.rows, np.arange(len(schedule))
    for row in np.flatnonzero(rows.control & (rows.step > 0)).tolist():
        sooner = rows.columns() | {"step": rows.step - (every == row)}
        for other in (schedule.select(every != row), replace(schedule, rows=type(rows).of(rows.payloads, **sooner))):
            fast, slow = (treecast.verify(other, method=method).counts["told"] for method in ("fast", "expanded"))
            assert (fast > 0) == (slow > 0)
            found.append(fast)
    assert any(found)
