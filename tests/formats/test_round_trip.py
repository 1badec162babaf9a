"""What is written is read again exactly, in both formats, and nothing that was changed since is."""

import json
import string

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import ROOTED, payload, planned
from treecast.collectives import Collective
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats import native
from treecast.models import model
from treecast.networks import Cayley, network
from treecast.plans import plan
from treecast.schedule import COLUMNS, Claims, Payloads, Recipe, Rows, Schedule

NETWORKS = [
    "star:3", "star:5", "star:10", "star:15", "hypercube:3", "hypercube:0", "hypercube:40", "mesh:3x4", "torus:3x1x2",
    "path:9", "ring:8", "tree:3,2", "tree:1,0",
]  # fmt: skip
MODELS = ["all-port", "one-port", "whispering", "shouting", "one-port,half", "one-port,combining"]
MOST = 2**31 - 1
LAST = 2**31 - 3  # the last step that a row may have


@st.composite
def recipes(draw):
    """What a schedule may say of how it was made: names of builders and options, and any values."""
    names = st.text(string.ascii_letters + "-é", max_size=9)
    values = st.text(string.ascii_letters + "0123456789,:é", min_size=1, max_size=9)
    builder = draw(names)
    options = draw(st.dictionaries(st.sampled_from(["tree", "order", "fault-free"]), values))
    return Recipe(builder, options, draw(st.integers(0, 99)), whole=not builder or draw(st.booleans()))


@st.composite
def storable(draw):
    """Any schedule at all, right or wrong, on networks of any size."""
    where = network(draw(st.sampled_from(NETWORKS)))
    orbit = isinstance(where, Cayley) and draw(st.booleans())
    spread = ["allgather", "reduce-scatter"]  # of as many chunks as can be counted
    if where.nodes <= 2**24:
        spread += ["alltoall", "allreduce"]
    most = min(MOST, 2**61 // (where.nodes if where.nodes > 2**24 else where.nodes**2))
    messages = draw(st.one_of(st.integers(1, min(9, most)), st.integers(1, most)))
    nodes = st.one_of(st.integers(0, min(where.nodes, 9) - 1), st.integers(0, where.nodes - 1))
    kind = draw(st.sampled_from(spread if orbit else [*ROOTED, *spread]))
    collective = Collective(kind, where.nodes, messages, draw(nodes) if kind in ROOTED else 0)
    table = draw(st.lists(payload(messages), min_size=1, max_size=4))
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        number = draw(st.integers(0, len(table) - 1))
        length = sum(b - a for a, b in table[number])
        steps = draw(st.sampled_from([1, length] if length < LAST else [1]))
        first = draw(st.one_of(st.integers(0, 9), st.integers(0, LAST - steps)))
        rows.append(
            (first, steps, draw(nodes), draw(nodes), draw(st.integers(-1, 99)), draw(st.integers(-1, 9)), number)
        )
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    counts = st.integers(0, 10**18)
    return Schedule(
        where, collective, model(draw(st.sampled_from(MODELS))), Rows.of(Payloads.of(table), **columns),
        draw(st.integers(1, 99)), orbit, draw(st.none() | st.builds(Claims, counts, counts)),
        draw(recipes()),
    )  # fmt: skip


@given(storable())
def test_what_is_written_is_read_again(schedule):
    for name in ("text", "binary"):
        data = formats.encode(schedule, name)
        again = formats.decode(data)
        assert again == schedule
        assert formats.encode(again, name) == data


@given(planned())
def test_what_is_planned_is_read_again_and_verified(schedule):
    for name in ("text", "binary"):
        assert formats.decode(formats.encode(schedule, name)) == schedule


@pytest.mark.parametrize("name", ["plan.tc", "plan.tcb", "plan", "plan.txt"])
def test_files_of_either_kind_are_read_whatever_their_name(tmp_path, name):
    schedule = plan("broadcast", "star:4", root="2143", messages=7, copies=2)
    formats.save(schedule, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"treecast 2\n") is (not name.endswith(".tcb"))
    (tmp_path / name).rename(tmp_path / "renamed")
    assert formats.load(tmp_path / "renamed") == schedule


def test_a_schedule_of_a_graph_in_a_file(tmp_path):
    path = tmp_path / "my net.graphml"
    nx.write_graphml(nx.petersen_graph(), path)
    schedule = plan("broadcast", f"file:{path}", root="7", messages=3)
    for name in ("text", "binary"):
        assert formats.decode(formats.encode(schedule, name)) == schedule


def test_names_that_the_text_format_cannot_tell_apart_are_refused(tmp_path):
    path = tmp_path / "odd.edges"
    path.write_text("a>b c\nc d\n")
    schedule = plan("broadcast", f"file:{path}", messages=3)
    assert formats.decode(formats.encode(schedule, "binary")) == schedule
    with pytest.raises(FormatError, match="holds '>'"):
        formats.encode(schedule)


def test_a_builder_that_would_break_the_header_is_refused():
    schedule = plan("broadcast", "ring:4")
    for name in ("two\nlines", " spaces ", "\x1b[2J", "x" * 5000):
        named = Schedule(schedule.network, schedule.collective, schedule.model, schedule.rows, recipe=Recipe(name))
        with pytest.raises(FormatError, match="cannot stand in a file"):
            formats.encode(named)


def small_files():
    schedule = plan("broadcast", "star:3", messages=3, copies=2)
    return {name: formats.encode(schedule, name) for name in ("text", "binary")}


@pytest.mark.parametrize("name", ["text", "binary"])
def test_every_cut_is_noticed(name):
    data = small_files()[name]
    for length in range(len(data)):
        with pytest.raises(FormatError):
            formats.decode(data[:length])


def test_the_text_format_stays_what_it_is():
    schedule = plan("broadcast", "star:3", root="213", messages=2, copies=2)
    assert native.encode_text(schedule).decode().split("\n")[2:14] == [
        "network star:3", "collective broadcast", "root 213", "messages 2", "copies 2", "model all-port",
        "builder disjoint-trees", "claims steps=6 transmissions=20", "rows 10",
        "0+2 213>123 port=0 tree=0 0-1", "0+2 213>312 port=1 tree=1 0-1", "1+2 123>321 port=1 tree=0 0-1",
    ]  # fmt: skip


def test_the_binary_format_stays_what_it_is():
    data = native.encode_binary(plan("broadcast", "star:3", messages=2, copies=2))
    size = int.from_bytes(data[20:28], "little")
    header = json.loads(data[28 : 28 + size])
    assert data[:20] == b"\x89treecast-binary 2\r\n"
    assert (header["rows"], header["payloads"], header["ranges"], header["node_bytes"]) == ("10", "1", "1", "4")
    assert len(data) == 28 + size + 10 * (4 * 5 + 2 * 2) + 8 * 4 + 32


def test_more_rows_than_are_read_at_a_time():
    schedule = plan("broadcast", "star:7", messages=100)
    assert len(schedule) > 20 * native._BLOCK
    for name in ("text", "binary"):
        assert formats.decode(formats.encode(schedule, name)) == schedule


@pytest.mark.parametrize("ending", ["tc", "tcb"])
def test_an_orbit_of_a_fat_tree_says_its_symmetry(tmp_path, ending):
    schedule = plan("alltoall", "fat-tree:4")
    treecast.save(schedule, tmp_path / f"plan.{ending}")
    again = treecast.load(tmp_path / f"plan.{ending}")
    assert again == schedule
    assert again.symmetry is not None
    assert again.symmetry.words == "P+1, E+1 C+1, H+1 A+1"
    assert treecast.verify(again).holds


def changed(data):
    """Yield every file that differs in one byte: changed to anything, left out, or put in."""
    for i in range(len(data)):
        for value in range(256):
            if value != data[i]:
                yield data[:i] + bytes([value]) + data[i + 1 :]
        yield data[:i] + data[i + 1 :]
    for i in range(len(data) + 1):
        for value in b"\x00\n# 0a":
            if data[:i] + bytes([value]) != data[: i + 1]:
                yield data[:i] + bytes([value]) + data[i:]


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("name", ["text", "binary"])
def test_every_changed_byte_is_noticed(name):
    data = small_files()[name]
    for other in changed(data):
        if other != data:
            with pytest.raises(FormatError):
                formats.decode(other)
