"""The table of collectives: that its rows agree with each other, and that nothing else asks for a name."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import treecast
import treecast.mpi
from treecast.collectives import COLLECTIVES, Collective, Kind, find_kind
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import network
from treecast.running.calls.collectives import OBJECTS
from treecast.running.calls.collectives import ROWS as ROWS_OF_CALLS

ROWS = list(COLLECTIVES.values())
PLACES = {"root": "root", "own": "own", "all": "every"}  # where what ends somewhere starts, backwards
SOURCE = Path(treecast.__file__).parent


def shape(kind):
    return kind.blocks, kind.starts, kind.ends, kind.lengths


def test_names_are_keys_and_no_two_rows_are_the_same():
    assert [row.name for row in ROWS] == list(COLLECTIVES)
    assert max(Counter(map(shape, ROWS)).values()) == 1


def test_rows_are_what_the_standard_says_of_them():
    """The three groups of the MPI standard, and which collectives move data as it is."""
    of_mpi = [row for row in ROWS if row.mpi]
    names = {
        "all-to-all": {"allgather", "allgatherv", "alltoall", "alltoallv", "allreduce", "reduce-scatter"},
        "all-to-one": {"gather", "gatherv", "reduce"},
        "one-to-all": {"broadcast", "scatter", "scatterv"},
    }
    assert {row.name for row in of_mpi if row.all_source} == names["all-to-all"]
    assert {row.name for row in of_mpi if row.direction == "to"} == names["all-to-one"]
    assert {row.name for row in of_mpi if row.starts == "root"} == names["one-to-all"]
    assert {row.name for row in of_mpi if row.personal and not row.all_source} == {
        "scatter",
        "gather",
        "scatterv",
        "gatherv",
    }
    assert {row.name for row in of_mpi if row.personal and row.all_source} == {"alltoall", "alltoallv"}
    assert {row.name for row in of_mpi if row.adds} == {"reduce", "reduce-scatter", "allreduce"}
    assert {row.name for row in of_mpi if row.results} == {"allreduce"}
    assert {row.name for row in of_mpi if row.spreads} == {"broadcast", "allgather", "allgatherv"}
    assert {row.name for row in of_mpi if row.one_to_all} == {"broadcast"}


def test_every_row_backwards_swaps_where_data_starts_and_ends():
    """The reverse of a kind, wherever the table has one, is named; a collective and its reverse share their blocks."""
    for row in ROWS:
        turned = [
            other for other in ROWS
            if row.ends != "targets" and other.ends != "targets" and other is not row and row.adds == (other.ends == "all")
            and (row.blocks, row.lengths) == (other.blocks, other.lengths)
            and PLACES[other.ends] == row.starts and PLACES[row.ends] == other.starts
        ]  # fmt: skip
        named = [other for other in ROWS if row.backwards == other.name or other.backwards == row.name]
        assert turned == named, row
        assert not (row.backwards and COLLECTIVES[row.backwards].backwards)


def test_there_and_back_are_the_sums_that_travel_on():
    for row in ROWS:
        assert bool(row.there_and_back) == row.results
        if row.there_and_back:
            other = COLLECTIVES[row.there_and_back]
            assert (other.blocks, other.ends, other.spreads) == (row.blocks, row.ends, True)
            (back,) = [kind for kind in ROWS if kind.backwards == other.name]
            assert (back.blocks, back.starts, back.adds) == (row.blocks, row.starts, True)
            assert row.all_source == other.all_source == back.all_source


def test_the_part_of_node_zero_is_the_same_from_or_to_one_root():
    """What one node owns of many blocks is one block less: of a block a node one block, of a pair's a block a node."""
    fewer = {"node": "one", "pair": "node"}
    for row in ROWS:
        assert bool(row.part) == (row.all_source and not row.lengths)
        if row.part:
            part = COLLECTIVES[row.part]
            assert part.blocks == fewer[row.blocks]
            assert part.starts == ("every" if row.adds else "root")
            assert part.ends == ("root" if row.adds and row.ends == "own" else row.ends)
            assert (part.results, part.personal) == (row.results, row.personal)


def test_what_it_is_is_one_sentence_without_an_end():
    for row in ROWS:
        assert row.summary[0].islower()
        assert not row.summary.endswith(".")
        assert str(row) == f"{row.name}: {row.summary}"
        assert repr(row) == f"Kind('{row.name}')"


def test_functions_of_mpi_have_a_row_each():
    names = [row.mpi for row in ROWS if row.mpi]
    assert len(set(names)) == len(names)
    functions = [name for name in names if hasattr(treecast.mpi, name)]
    assert {"Allgather", "Allreduce", "Alltoall", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv"} < set(functions)
    assert all(getattr(treecast.mpi, name).__name__ == name for name in functions)


def test_the_table_needs_no_numpy():
    code = (
        "import sys; from treecast.collectives import COLLECTIVES; sys.exit('numpy' in sys.modules or not COLLECTIVES)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == 0


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("brodcast", "broadcast"), ("Broadcast", "broadcast"), ("bcast", "broadcast"), ("Bcast", "broadcast"),
        ("gossip", "allgather"), ("all-gather", "allgather"), ("all_reduce", "allreduce"), ("gatther", "gather"),
        ("reduce_scatter", "reduce-scatter"), ("total exchange", "alltoall"), ("all-to-all", "alltoall"),
    ],
)  # fmt: skip
def test_did_you_mean(written, meant):
    with pytest.raises(PlanError) as error:
        find_kind(written)
    assert str(error.value).startswith(f"{written!r} is no collective: write one of broadcast, multicast, ")
    assert str(error.value).endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize("written", ["telepathy", "", "x", 5, None])
def test_what_is_like_nothing(written):
    with pytest.raises(PlanError, match=r"is no collective: write one of broadcast, .*, allreduce, demand$"):
        Collective(written, 4, 1)


def test_papers_names_lead_to_their_rows():
    for row in ROWS:
        for name in row.also:
            with pytest.raises(PlanError, match=f"did you mean '{row.name}'[?]$"):
                find_kind(name)


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        COLLECTIVES["dance"] = COLLECTIVES["gather"]  # pyright: ignore
    with pytest.raises(AttributeError):
        COLLECTIVES["gather"].ends = "all"  # pyright: ignore
    assert isinstance(find_kind("gather"), Kind)


@pytest.mark.parametrize("kind", [row.name for row in ROWS if not row.lengths and not row.targets])
@pytest.mark.parametrize("spec", ["ring:5", "path:4"])
def test_every_kind_has_lower_bounds(kind, spec):
    where = network(spec)
    found = bounds(Collective(kind, where.nodes, 2), where, 1, model("all-port"))
    assert best(found, "steps").value > 0
    assert best(found, "transmissions").value >= where.nodes - 1


# --- nothing outside the table asks for a name ---


def in_strings(tree, names=COLLECTIVES):
    """Every collective's name that stands in quotes by itself, with the chain of what it stands in, innermost first."""
    stack = [(tree, ())]
    while stack:
        node, above = stack.pop()
        if isinstance(node, ast.Constant) and node.value in names:
            yield node, above
        stack += [(child, (node, *above)) for child in ast.iter_child_nodes(node)]


def is_handed_over(above):
    """Whether a name is an argument of a call, or its default, perhaps in a tuple: a registration, or what is asked for."""
    while above and isinstance(above[0], ast.Tuple | ast.List | ast.Set | ast.Starred | ast.keyword):
        above = above[1:]
    return bool(above) and isinstance(above[0], ast.Call | ast.arguments)


@pytest.mark.parametrize(
    "line", ["if kind == 'gather': pass", "x = {'gather': 1}", "f(a if k in ('gather', 'x') else b)"]
)
def test_a_test_on_a_name_would_be_noticed(line):
    (found,) = in_strings(ast.parse(line))
    assert not is_handed_over(found[1])


@pytest.mark.parametrize("line", ["plan('gather', w)", "@bounds_of('gather')\ndef f(): pass", "f(kinds=('gather',))"])
def test_a_name_that_is_handed_over_is_let_through(line):
    (found,) = in_strings(ast.parse(line))
    assert is_handed_over(found[1])


RANKS = ("algorithms", "engine", "groups", "jobs", "lab", "mpi", "tcp", "torch", "transport")


@pytest.mark.parametrize("room", RANKS)
def test_nothing_beside_the_table_of_calls_asks_for_a_name_of_mpi4py(room):
    """Whatever differs between collectives is a column of a row, or follows from its kind or its algorithm."""
    names = {kind.mpi for kind in ROWS} - {""} | ROWS_OF_CALLS.keys() | OBJECTS.keys()
    for file in (SOURCE / room).rglob("*.py"):
        tree = ast.parse(file.read_text())
        for node, above in in_strings(tree, names):
            assert is_handed_over(above), f"{file}:{node.lineno}"


@pytest.mark.slow
def test_nothing_outside_the_table_asks_for_a_name():
    """Names may be handed to a function; papers, file formats, PyTorch, demands, logs and records have names of their own."""
    own = (
        "papers/",
        "advice/logs.py",
        "files/formats/msccl",
        "files/formats/synthesized.py",
        "files/programs/buffers",
        "running/calls/dump.py",
        "collectives/kinds.py",
        "cli/demands.py",
        "files/records/",
    )
    places = {file.relative_to(SOURCE).as_posix(): file for file in SOURCE.rglob("*.py")}
    named = [
        f"{place}:{node.lineno}"
        for place, file in places.items()
        if not place.startswith(own)
        for node, above in in_strings(ast.parse(file.read_text()))
        if not is_handed_over(above)
    ]
    assert not named
