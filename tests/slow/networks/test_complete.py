import pytest

from treecast.plans import plan
from treecast.verification.verifier import verify


@pytest.mark.parametrize("nodes", [3, 8, pytest.param(24, marks=pytest.mark.long)])
def test_how_close_the_plans_are_to_the_bounds(nodes):
    for messages in (1, nodes, 50):
        for copies in (1, 2, nodes - 1):
            steps = {
                kind: plan(kind, f"complete:{nodes}", copies=copies, messages=messages).steps
                for kind in ("broadcast", "scatter", "gather", "allgather", "alltoall")
            }
            over_trees = -(-messages * copies // (nodes - 1)) + 1
            least = 1 + -(-(messages - 1) // (nodes - 1))  # one message in the first step, then one over each arc
            assert steps["broadcast"] == (least if copies == 1 else over_trees)
            assert steps["scatter"] == steps["gather"] == messages * copies
            assert steps["allgather"] == messages * copies
            least = messages * (2 * copies - 1)
            assert least <= steps["alltoall"] <= (1.34 * least if nodes > 3 else 1.5 * least)
            for kind in ("scatter", "gather"):
                report = verify(plan(kind, f"complete:{nodes}", copies=copies, messages=messages))
                assert report.holds
                assert report.steps == max(bound.value for bound in report.bounds if bound.of == "steps")
