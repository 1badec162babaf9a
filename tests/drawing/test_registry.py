"""The registry of pictures: which picture is chosen for what, which media there are, and that a new file suffices."""

import doctest
import subprocess
import sys
from functools import cache

import pytest

from treecast.drawing import pictures, registry
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View, all_pictures, choose, listed_kinds, suffixes
from treecast.drawing.text import lanes_text, space_time_text, tree_text
from treecast.errors import TreecastError
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate

KINDS = (
    "broadcast",
    "scatter",
    "gather",
    "reduce",
    "reduce-broadcast",
    "allgather",
    "alltoall",
    "reduce-scatter",
    "allreduce",
)
LENGTHS = [0, 2, 3, 1, 0, 4]


@cache
def trees():
    return plan("broadcast", "star:4", messages=6, copies=3)


@cache
def treeless():
    schedule = plan("broadcast", "mesh:4x4", model="wormhole", builder="bisection")
    assert schedule.trees == 0
    return schedule


@cache
def lengths():
    return plan("scatterv", "path:6", lengths=LENGTHS)


@pytest.mark.parametrize(
    ("make", "kind", "faults", "into_text", "into_file"),
    [
        (trees, None, None, "trees_text", "draw_trees"),
        (trees, "trees", Faults({3: 1}), "trees_text", "draw_trees"),
        (trees, "space-time", None, "run_text", "draw_run_on"),
        (treeless, None, None, "trees_text", "draw_trees"),
        (treeless, None, Faults({3: 1}), "trees_text", "draw_trees"),
        (treeless, "steps", None, None, "draw_steps"),
        (treeless, "sources", None, None, "draw_sources_of_schedule"),
        (lengths, "space-time", None, "messages_text", "draw_parallelograms"),
        (lengths, "space-time", Faults({3: 1}), "run_text", "draw_run_on"),
        (lambda: plan("broadcast", "path:1"), None, None, "run_text", "draw_run_on"),
    ],
)
def test_the_picture_that_is_chosen(make, kind, faults, into_text, into_file):
    schedule, view = make(), View(faults)
    for medium, name in (("text", into_text), ("svg", into_file), ("axes", into_file)):
        if name is None:
            with pytest.raises(
                TreecastError, match=r"cannot be drawn as text: write to a file that ends in \.svg, \.png"
            ):
                choose(schedule, medium, kind, view)
        else:
            assert choose(schedule, medium, kind, view).draw.__name__ == name


@pytest.mark.each(7)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", ["star:3", "hypercube:3", "mesh:3x2", "ring:5", "complete:4"])
def test_every_plan_has_a_picture_without_asking_for_its_kind(kind, spec, tmp_path):
    try:
        schedule = plan(kind, spec, messages=2)
    except TreecastError:
        pytest.skip("there is no such plan")
    assert draw(schedule).count("\n") >= 3
    draw(schedule, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_text_is_what_its_pictures_return(tmp_path):
    star, faults = trees(), Faults({3: 1})
    assert draw(star) == "\n\n".join(tree_text(star, tree) for tree in range(3))
    assert draw(star, tree=1, ascii=True) == tree_text(star, 1, True)
    assert draw(star, kind="space-time", faults=faults) == space_time_text(simulate(star, faults))
    assert draw(star, kind="space-time", tree=2) == space_time_text(simulate(star.tree(2)))
    assert draw(lengths(), kind="space-time", ascii=True) == lanes_text(lengths(), True)
    assert draw(star, tmp_path / "a.TXT", ascii=True) is None
    assert (tmp_path / "a.TXT").read_text() == draw(star, ascii=True) + "\n"


def test_no_faults_are_as_good_as_none():
    assert draw(lengths(), kind="space-time", faults=Faults()) == draw(lengths(), kind="space-time")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"kind": "map"}, "'map' is no kind of picture: write one of trees, space-time, network, steps, sources"),
        ({"tree": 7}, "the schedule has no tree 7; it has 0, 1, 2"),
        ({"kind": "steps"}, "kind steps: star:4 is neither mesh nor torus; draw trees, space-time"),
        ({"output": "a.svg", "kind": "steps"}, "kind steps: star:4 is neither mesh nor torus; draw trees, space-time"),
        ({"output": "a.svg", "kind": "sources"}, "no picture of kind sources: star:4 is no mesh; draw"),
        ({"output": "a.bmp"}, r"'a.bmp' is no picture: its name must end in \.svg, \.png, \.pdf, \.gif, /, \.html, \.txt"),
        ({"output": ".svg"}, "is no picture"),
        ({"output": "a.svg", "ax": object()}, "into a file or into axes"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(wrong, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TreecastError, match=why) as caught:
        draw(trees(), **wrong)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_has_no_picture():
    with pytest.raises(TreecastError, match="there is no picture of a list"):
        draw([1, 2])
    with pytest.raises(
        TreecastError, match="there is no picture of kind trees: the schedule uses no trees; draw space-time"
    ):
        draw(plan("alltoall", "ring:4"), kind="trees")


# --- into axes ---


# --- entries ---


def test_kinds_are_listed_without_importing_anything_heavy():
    code = (
        "import sys; from treecast.drawing.registry import listed_kinds\n"
        "print(list(listed_kinds()), [m for m in ('numpy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "['trees', 'space-time', 'network', 'steps', 'sources', 'explorer'] []\n"


@pytest.mark.parametrize("of", ["Schedule", "Mesh", "Paths", "CubeProblem"])
def test_what_is_listed_is_what_is_registered(of):
    assert listed_kinds(of) == {entry.kind: entry.summary for entry in all_pictures() if entry.of.__name__ == of}
    assert listed_kinds(of)


def test_what_cannot_be_a_file_has_no_suffix():
    assert suffixes() == (".svg", ".png", ".pdf", ".gif", "/", ".html", ".txt")


def test_a_new_file_is_all_that_a_picture_needs(tmp_path):
    (tmp_path / "page.py").write_text(
        "from treecast.drawing.registry import picture\n"
        "from treecast.schedule import Schedule\n"
        "@picture('page', of=Schedule, into=('htm',), summary='how many rows', rank=90)\n"
        "def page(schedule, view):\n    return f'<p>{len(schedule)} rows</p>'\n"
    )
    path = str(tmp_path / "a.htm")
    code = (
        f"import treecast, treecast.drawing as d; d.__path__.append({str(tmp_path)!r})\n"
        "from treecast.drawing.registry import listed_kinds\n"
        f"treecast.draw(treecast.plan('broadcast', 'ring:4'), {path!r})\n"
        f"print(open({path!r}).read(), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "<p>3 rows</p>\n"


@pytest.mark.parametrize("module", [pictures, registry])
def test_examples_run(module):
    assert doctest.testmod(module).failed == 0
