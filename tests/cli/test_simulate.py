"""``treecast simulate``, and ``simulate()``: faults and liars as people give them."""

import pytest

import treecast
from treecast.cli import main
from treecast.description import describe
from treecast.errors import FaultError


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "plan.tc"
    treecast.save(treecast.plan("broadcast", "star:4", messages=6, copies=3), path)
    return str(path)


@pytest.mark.parametrize("twice", [["2134", "2134@5"], ["2134@5", "2134"]])
def test_a_fault_that_is_named_twice_happens_at_the_earlier_step(plan, twice, capsys):
    assert main(["simulate", plan, "--dead-nodes", *twice]) == 0
    assert "\nfaults         2134\n" in capsys.readouterr().out
    links = [text.replace("2134", "1234-2134") for text in twice]
    assert treecast.parse_faults("star:4", links=links) == treecast.parse_faults("star:4", links="1234-2134")
    arc, both = "1234>2134@2", "1234-2134@7"
    expected = treecast.Faults({}, {(0, 0): 2, (6, 0): 7})
    assert (
        treecast.parse_faults("star:4", (), [arc, both]) == treecast.parse_faults("star:4", (), [both, arc]) == expected
    )


def test_faults_may_be_one_text():
    assert treecast.parse_faults("star:4", "2134@3") == treecast.parse_faults("star:4", ["2134@3"])


def test_a_root_that_lies_is_refused_as_a_dead_one_is(plan, capsys):
    assert main(["simulate", plan, "--lying-nodes", "1234"]) == 2
    assert "the root 1234 is no liar" in capsys.readouterr().err
    schedule = treecast.load(plan)
    for judged in (
        lambda: treecast.simulate(schedule, liars=["1234@3"]),
        lambda: treecast.elect(schedule, b"data", "1234"),
    ):
        with pytest.raises(FaultError, match="the root 1234 is no liar"):
            judged()
    everywhere = treecast.plan("allgather", "hypercube:3", copies=3)
    assert treecast.simulate(everywhere, liars=[everywhere.network.label(0)]).holds  # it passes on for others


def test_what_happens_after_the_last_step_is_said(plan, capsys):
    schedule = treecast.load(plan)
    last = schedule.steps - 1
    assert main(["simulate", plan, "--dead-nodes", f"2134@{last}", "4231@999"]) == 0
    assert f"too late       4231@999: after the last step, {last}," in capsys.readouterr().out
    done = treecast.run(schedule, b"some data", ["4231@999"])
    assert describe(done).figures["too_late"] == ["4231@999"]
    assert "too_late" not in describe(treecast.simulate(schedule, [f"2134@{last}"])).figures
    lies = describe(treecast.simulate(schedule, ["4231@999"], ["2134@998"]))
    assert lies.figures["too_late"] == ["2134@998", "4231@999"]
    assert describe(treecast.elect(schedule, b"data", ["2134@998"])).figures["too_late"] == ["2134@998"]


def test_nobody_is_left(tmp_path, capsys):
    schedule = treecast.plan("allgather", "ring:6")
    treecast.save(schedule, tmp_path / "plan.tc")
    assert main(["simulate", str(tmp_path / "plan.tc"), "--dead-nodes", *"012345"]) == 1
    assert "delivered      NOT to anybody: no node is left" in capsys.readouterr().out
    for carried_out in (treecast.simulate, lambda *given: treecast.run(given[0], b"data", given[1])):
        assert not carried_out(schedule, [f"{v}@{v}" for v in range(6)]).holds
        assert carried_out(schedule, list("01234")).holds


def test_liars_that_are_asked_for_are_judged_though_there_are_none(plan):
    found = treecast.simulate(plan, liars=[])
    assert (found.holds, len(found.right)) == (True, 24)
