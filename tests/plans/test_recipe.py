"""A schedule says how it was planned, and planning it again gives the same rows."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from treecast import plan, program
from treecast.cli import main
from treecast.errors import PlanError
from treecast.files import formats
from treecast.plans import plan_again

ASKED = [
    ("broadcast", "star:4", {"messages": 6, "survive": 2, "root": "2143"}),
    ("broadcast", "star:4", {"builder": "breadth-first-tree"}),
    ("broadcast", "hypercube:3", {"model": "shouting", "builder": "dimension-order", "order": (2, 0, 1)}),
    ("broadcast", "hypercube:3", {"model": "shouting", "survive": 2, "fault_free": True}),
    ("allgather", "hypercube:3", {"model": "whispering", "survive": 2, "fault_free": True}),
    ("allgather", "hypercube:3", {"model": "whispering", "initiator": "0b101", "order": "1,0,2"}),
    ("alltoall", "star:4", {"copies": 2}),
    ("allreduce", "complete:5", {"messages": 2}),
    ("scatter", "star:4", {"copies": 2, "trees": "paper"}),
    ("reduce", "torus:3x4", {"messages": 2, "root": "1,2"}),
    ("multicast", "mesh:4x4", {"targets": ["3,3", "0,2"], "model": "wormhole,half"}),
    ("broadcast", "mesh:4x4", {"builder": "eyes", "order": (1, 0)}),
    ("scatterv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1], "first": "longest"}),
    ("gatherv", "tree:2,2", {"lengths": 3, "tree": "balanced", "collect": "walk"}),
    ("gatherv", "path:5", {"lengths": 3, "builder": "shoulder-tap"}),
    ("scatterv", "torus:3x3", {"lengths": 3, "model": "bufferless-multiport", "builder": "cover"}),
]


@pytest.mark.parametrize(("kind", "spec", "options"), ASKED)
def test_planning_again_gives_the_same_schedule(kind, spec, options, tmp_path):
    schedule = plan(kind, spec, **options)
    assert plan_again(schedule) == schedule
    for name in ("plan.tc", "plan.tcb"):
        formats.save(schedule, tmp_path / name)
        loaded = formats.load(tmp_path / name)
        assert loaded == schedule
        assert (loaded.recipe, loaded.command) == (schedule.recipe, schedule.command)
        assert plan_again(loaded) == schedule


@pytest.mark.parametrize(("old", "new"), [("disjoint-ways", "priced-paths"), ("priced-ways", "priced-paths")])
def test_builders_have_their_old_names_too(old, new, tmp_path):
    schedule = plan("alltoall", "star:4", copies=2, builder=old)
    assert schedule.builder == new
    formats.save(replace(schedule, recipe=replace(schedule.recipe, builder=old)), tmp_path / "plan.tc")
    loaded = formats.load(tmp_path / "plan.tc")
    assert loaded == plan_again(loaded) == schedule
    assert loaded.command == schedule.command


GOLDEN = Path(__file__).parents[1] / "formats" / "golden" / "v1"


@pytest.mark.parametrize(
    "name",
    [
        "broadcast-star4.tc",
        "broadcast-star5.tcb",
        "reduce-broadcast-star4.tc",
        "scatter-star4.tc",
        "allgather-star4-x3.tc",
    ],
)
def test_recipes_of_version_1_mean_the_trees_of_version_1(name, tmp_path):
    """The trees of S_4 are others now, but a file that does not say its options was planned with the paper's."""
    schedule = formats.load(GOLDEN / name)
    assert not schedule.recipe.whole
    assert plan_again(schedule).rows == schedule.rows
    formats.save(schedule, tmp_path / "as_version_2.tc")
    assert plan_again(formats.load(tmp_path / "as_version_2.tc")).rows == schedule.rows


def test_the_papers_trees_by_name():
    theirs = plan("broadcast", "star:6", trees="paper")
    ours = plan("broadcast", "star:6", builder="disjoint-trees")
    assert (ours.steps, theirs.steps) == (9, 10)
    assert theirs.command.endswith("--builder disjoint-trees --trees paper")
    assert plan_again(theirs) == theirs
    mine = program("broadcast", "star:6", 700, trees="paper")
    assert mine.rows == theirs.at(700).rows
    assert ours.rows != theirs.rows
    with pytest.raises(
        PlanError, match=r"^there are no disjoint trees 'paper' on hypercube:3: there is one set, without a name$"
    ):
        plan("broadcast", "hypercube:3", trees="paper")
    with pytest.raises(
        PlanError, match=r"^there are no disjoint trees 'new' on star:4: name paper, or none for the best"
    ):
        plan("broadcast", "star:4", trees="new")


def test_a_file_of_version_1_does_not_know_its_options(tmp_path):
    golden = Path(__file__).parents[1] / "formats" / "golden" / "v1"
    schedule = formats.load(golden / "gatherv-walk.tc")
    assert (schedule.builder, schedule.recipe.whole, schedule.command) == ("transmission-certificate", False, "")
    formats.save(schedule, tmp_path / "again.tc")
    assert not formats.load(tmp_path / "again.tc").recipe.whole
    assert formats.load(golden / "wormhole-eyes.tc").builder == "eyes"


def test_the_default_is_the_same_from_a_label_as_from_the_whole():
    for messages in (1, 4, 9):
        whole = plan(
            "broadcast",
            "hypercube:4",
            messages=messages,
            builder=program("broadcast", "hypercube:4", 0, messages=messages).builder,
        )
        assert all(
            program("broadcast", "hypercube:4", u, messages=messages).rows == whole.at(u).rows for u in range(16)
        )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "spec", "options"), ASKED)
def test_the_command_plans_the_same_rows(kind, spec, options, tmp_path, capsys):
    schedule = plan(kind, spec, **options)
    words = shlex.split(schedule.command)
    assert words[0] == "treecast"
    assert main([*words[1:], "-o", str(tmp_path / "again.tc")]) == 0, capsys.readouterr()
    assert formats.load(tmp_path / "again.tc") == schedule
