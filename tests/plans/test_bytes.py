"""Bytes are those of ranks: no plan carries less than is asked for, and no time is below what the links of a rank allow."""

import csv
import io
import json
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast.cli import main
from treecast.errors import TreecastError
from treecast.files import formats
from treecast.networks import network
from treecast.plans.timing import time_plan
from treecast.schedule.costs import Costs

# --- two hosts on a switch: the one file that people begin with ---


@pytest.fixture
def two(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a file with two hosts, named behind the switch that joins them."""
    monkeypatch.chdir(tmp_path)
    graph: Any = nx.Graph([("a-switch", "h0"), ("a-switch", "h1")])
    graph.nodes["a-switch"]["relay"] = True
    nx.write_graphml(graph, tmp_path / "two.graphml")
    return "two.graphml"


SPEED = ["--latency", "1us", "--rate", "50Gbit/s"]


def figures(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return what a command finds, from its JSON."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_allreduce_of_two_hosts_takes_as_long_as_the_wire(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "plan", "allreduce", two, "--bytes", "99MB", *SPEED)
    assert 99e6 / 6.25e9 <= found["time_lower_bound"] <= found["time"] < 1.02 * 99e6 / 6.25e9
    assert found["root"] is None
    assert (found["nodes"], found["ranks"], found["bytes"], found["bytes_per_rank"]) == (3, 2, 99 * 10**6, 99 * 10**6)


def test_an_alltoall_of_two_hosts_far_apart_carries_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    graph: Any = nx.path_graph(12)
    nx.set_node_attributes(graph, dict.fromkeys(range(1, 11), True), "relay")
    schedule = treecast.plan("alltoall", graph, bytes="144MB", latency="1us", rate="50Gbit/s")
    timing = time_plan(schedule, Costs.of("1us", "50Gbit/s"))
    assert timing.bound is not None
    assert 36e6 / 6.25e9 <= timing.bound.seconds <= timing.by_steps


def test_an_exported_table_has_the_bytes_of_two_ranks(two: str) -> None:
    schedule = treecast.plan("alltoall", two)
    lines = formats.encode(schedule, "csv", size=900).decode().splitlines()
    assert {line.rsplit(",", 1)[1] for line in lines if line[0].isdigit()} == {"225"}
    assert "# bytes 900" in lines
    assert formats.decode("\n".join([*lines, ""]).encode()) == schedule.plain()


# --- any number of bytes ---


def test_the_report_says_the_bytes_of_a_rank(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "alltoall", "hypercube:5", "--bytes", "100MB", *SPEED]) == 0
    data = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("data"))
    assert data.split(maxsplit=1)[1] == (
        "100 MB, 3,125 kB per rank: 1,024 blocks, each a chunk of 97,657 bytes; some blocks are up to 1 byte shorter"
    )
    assert main(["plan", "allreduce", "hypercube:5", "--bytes", "144MB", *SPEED]) == 0
    assert "144 MB per rank: " in capsys.readouterr().out
    assert figures(capsys, "plan", "allgather", "ring:5", "--bytes", "11", *SPEED)["bytes_per_rank"] == 3


def test_a_file_whose_blocks_are_none_of_its_bytes_is_refused(tmp_path: Any) -> None:
    text = formats.encode(treecast.plan("allgather", "ring:5", bytes=11, latency="1us", rate="1GB/s")).decode()
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("digest"))
    assert formats.decode(body.encode()).sizes is not None
    for wrong in ("data-bytes 99", "data-bytes 0", "data-bytes 11\nitem-bytes 0"):
        with pytest.raises(TreecastError):
            formats.decode(body.replace("data-bytes 11", wrong, 1).replace("item-bytes 1\n", "", 1).encode())


RATE, LATENCY = 1e9, 1e-6


KINDS = (
    "broadcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce",
    "reduce-broadcast",
    "reduce-scatter",
    "allreduce",
)


def least_bytes(kind: str, root: bool, ranks: int, total: int) -> tuple[int, int]:
    """Return what must enter and leave a rank at least, where ``total`` bytes are shared out as evenly as can be.

    It is counted from what the collective means, one block a rank or pair, without a word of schedules.
    """
    least, most = total // ranks, -(-total // ranks)
    pair = total // ranks**2 * (ranks - 1)
    if ranks == 1:
        return 0, 0
    return {
        "broadcast": (0, total) if root else (total, 0),
        "scatter": (0, total - most) if root else (least, 0),
        "gather": (total - most, 0) if root else (0, least),
        "allgather": (total - most, least),
        "alltoall": (pair, pair),
        "reduce": (total, 0) if root else (0, total),
        "reduce-broadcast": (total, total),
        "reduce-scatter": (least, total - most),
        "allreduce": (total, total),
    }[kind]


def moved(schedule: treecast.Schedule) -> tuple[dict[str, int], dict[str, int]]:
    """Return the bytes that enter and leave each node, from the table of messages."""
    into, out = dict[str, int](), dict[str, int]()
    lines = [line for line in formats.encode(schedule, "csv").decode().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        into[row["dst_label"]] = into.get(row["dst_label"], 0) + int(row["bytes"])
        out[row["src_label"]] = out.get(row["src_label"], 0) + int(row["bytes"])
    return into, out


@st.composite
def switched(draw: st.DrawFn) -> Any:
    """Ranks on a tree of switches, by one cable or several."""
    graph: Any = nx.MultiGraph()
    switches = draw(st.integers(1, 3))
    for s in range(switches):
        graph.add_node(f"s{s}", relay=True)
    for s in range(1, switches):
        graph.add_edge(f"s{draw(st.integers(0, s - 1))}", f"s{s}", capacity=draw(st.integers(1, 4)))
    for h in range(draw(st.integers(2, 5))):
        for s in draw(st.sets(st.integers(0, switches - 1), min_size=1, max_size=2)):
            graph.add_edge(f"h{h}", f"s{s}", capacity=draw(st.integers(1, 3)))
    return graph


@pytest.mark.slow
@given(
    st.one_of(switched(), multigraphs(most=8, whole=True)),
    st.sampled_from(KINDS),
    st.integers(1, 10**7),
    st.integers(1, 9),
)
@examples(120)
def test_no_time_is_below_what_the_links_of_a_rank_allow(truth: Any, kind: str, total: int, item: int) -> None:
    where = network(truth).adding()
    schedule = treecast.plan(kind, where, bytes=total, item=item, latency=LATENCY, rate=RATE)
    sizes = schedule.sizes
    assert sizes is not None
    assert sizes.total(schedule.collective) == total == sizes.bounds(schedule.collective)[-1]
    timing = time_plan(schedule, Costs.of(LATENCY, RATE))
    ranks = where.ranks.tolist()
    whole = total // item // len(ranks) ** 2 * len(ranks) ** 2 * item  # of which every block has the same
    into, out = moved(schedule)
    for rank in ranks:
        root = where.label(rank) == schedule.network.label(schedule.collective.root)
        links_out, links_in = where.degree_at(rank), where.reversed().degree_at(rank)
        least = least_bytes(kind, root, len(ranks), total // item * item)
        slack = 2 * item * len(ranks) if len(ranks) > 1 else 0  # blocks are of whole items
        label = where.label(rank)
        assert into.get(label, 0) >= least[0] - slack
        assert out.get(label, 0) >= least[1] - slack
        for bytes_, links in zip((into.get(label, 0), out.get(label, 0)), (links_in, links_out), strict=True):
            for seconds in (timing.by_steps, timing.by_events or timing.by_steps):
                assert seconds * (1 + 1e-9) >= bytes_ / (max(links, 1) * RATE)
        assert timing.bound is not None
        for bytes_, links in zip(least_bytes(kind, root, len(ranks), whole), (links_in, links_out), strict=True):
            assert timing.bound.seconds * (1 + 1e-9) >= bytes_ / (max(links, 1) * RATE), (kind, rank)
        assert timing.by_steps * (1 + 1e-9) >= timing.bound.seconds


@pytest.mark.slow
def test_a_switch_is_no_living_rank(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "allreduce", two, "--bytes", "99MB", *SPEED, "-o", "plan.tc"]) == 0
    for command in (["simulate", "plan.tc"], ["run", "plan.tc", "--input", two]):
        capsys.readouterr()
        assert main(command) == 0
        out = capsys.readouterr().out
        assert "everything to all 2 living nodes" in out  # sums go past the switch
        assert not [line for line in out.splitlines() if line.startswith("a-switch")]
        found = figures(capsys, *command)
        assert found["living"] == found["delivered"] == 2
        assert "a-switch" not in [one["node"] for one in found.get("node_reports", [])]


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "item"), [(100_000_000, 1), (7, 8), (100, 8), (1, 1), (31, 3)])
def test_any_number_of_bytes_is_taken_and_kept(kind: str, size: int, item: int, tmp_path: Any) -> None:
    schedule = treecast.plan(kind, "ring:5", bytes=size, item=item, latency="1us", rate="1GB/s")
    sizes = schedule.sizes
    assert sizes is not None
    bounds = sizes.bounds(schedule.collective)
    lengths = (bounds[1:] - bounds[:-1]).tolist()
    assert sum(lengths) == size
    assert all(0 <= length <= sizes.chunk for length in lengths)
    assert all(begin % item == 0 for begin in bounds[:-1].tolist() if begin != size)
    each = [sum(lengths[i : i + sizes.messages]) for i in range(0, len(lengths), sizes.messages)]
    assert max(each) - min(each) <= 2 * item - 1  # an item, and what the last one lacks
    for name in ("plan.tc", "plan.tcb", "plan.csv"):
        formats.save(schedule, tmp_path / name)
        again = formats.read(tmp_path / name)
        assert again.sizes == sizes
        assert again.command == schedule.command
    assert f"--bytes {size} --chunk {sizes.chunk}" in schedule.command
    assert ("--item" in schedule.command) == (sizes.item > 1)
    assert treecast.plan(kind, "ring:5", bytes=size, item=item, chunk=sizes.chunk).sizes == sizes
