"""What bounds, plan and verify say of total distances: what is reached, the gap, and whether that is the minimum."""

import re

import pytest

from tests.verification.test_wormhole import messages
from treecast.files import formats
from treecast.networks import network

SAID = [
    ("broadcast mesh:8x8 --root 2,3", 69, 69, "69: the minimum, as no broadcast in the fewest steps can do with less"),
    ("broadcast mesh:16x16 --root 5,5", 291, 285, "291: 6 above the bound; whether it is the minimum is not known"),
    ("broadcast mesh:4x4", 18, 18, "18: the minimum"),
    ("broadcast path:32", 75, 75, "75: the minimum"),
    ("broadcast path:32 --root 7", None, None, "whether it is the minimum is not known"),
    ("broadcast torus:8x8", 69, 69, "69: the minimum"),
    ("broadcast torus:3x5", 14, 14, "14: the minimum, as no broadcast in the fewest steps can do with less"),
    ("scatter mesh:8x8 --root 2,3 --messages 3", 69, 69, "69: the minimum, as no scatter"),
    ("reduce-broadcast torus:4x4", 30, 30, "30: the minimum"),
    ("multicast mesh:8x8 --targets 0,3 1,1 7,4", 13, 13, "13: the minimum, as no multicast"),
    ("multicast mesh:8x8 --targets 0,3 1,1 7,4 6,6", 16, 13, "16: 3 above the bound"),
]


@pytest.mark.parametrize(("job", "reached", "bound", "words"), SAID, ids=[said[0] for said in SAID])
def test_bounds_say_what_is_reached_and_whether_that_is_the_minimum(answer, ask, job, reached, bound, words):
    found = answer("bounds", *job.split(), "--model", "wormhole")
    if reached is not None:
        assert (found["tcd"], found["tcd_lower_bound"], found["gap"]) == (reached, bound, reached - bound)
    assert found["tcd_lower_bound"] == max(b["value"] for b in found["bounds"] if b["of"] == "tcd")
    assert found["minimal"] == (found["gap"] == 0)
    builder = "exhaustive" if job == "broadcast torus:3x5" else "bisection"
    assert (found["builder"], found["holds"]) == (builder, True)
    out = ask("bounds", *job.split(), "--model", "wormhole")[1]
    line = next(line for line in out.splitlines() if line.startswith(f"by {builder}"))
    assert words in line
    assert f"at least {found['tcd_lower_bound']:,} " in out


@pytest.mark.parametrize(
    "job", ["broadcast star:4", "allgather torus:40x40", "broadcast mesh:1x1", "broadcast mesh:5000x5000"]
)
def test_where_nothing_is_planned_bounds_say_bounds_alone(answer, job):
    assert "tcd" not in answer("bounds", *job.split(), "--model", "wormhole")


def test_bounds_of_other_models_plan_nothing(answer):
    assert "gap" not in answer("bounds", "broadcast", "mesh:4x4")


def test_plan_and_verify_say_so_too(ask, tmp_path):
    file = tmp_path / "plan.tc"
    status, out, _ = ask("plan", "broadcast", "mesh:8x8", "--root", "2,3", "--model", "wormhole", "-o", str(file))
    assert status == 0
    assert re.search("total distance +69: the minimum, as no broadcast in the fewest steps can do with less", out)
    assert "69: the minimum" in ask("verify", str(file))[1]
    assert "71: 2 above the bound" in ask("plan", "broadcast", "mesh:8x8", "--root", "3,3", "--model", "wormhole")[1]


def test_a_schedule_that_takes_more_steps_is_not_called_minimal(ask, tmp_path):
    line = network("path:4")
    formats.save(messages(line, (0, 0, 1), (1, 1, 2), (2, 2, 3)), tmp_path / "slow.tc")  # 3, where 2 steps cost 4
    out = ask("verify", str(tmp_path / "slow.tc"))[1]
    assert re.search("total distance +3, in more than the fewest steps", out)
    assert "minimum" not in out


def test_what_breaks_a_rule_is_not_called_minimal(ask, tmp_path):
    line = network("path:4")
    formats.save(messages(line, (0, 0, 1), (1, 0, 2), (1, 1, 3)), tmp_path / "meets.tc")
    status, out, _ = ask("verify", str(tmp_path / "meets.tc"))
    assert status == 1
    assert "the minimum, as" not in out
