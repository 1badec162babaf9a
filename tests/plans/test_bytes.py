"""Bytes are those of ranks: no plan carries less than is asked for, and no time is below what the links of a rank allow."""

import json
from typing import Any

import networkx as nx
import pytest

import treecast
from treecast.cli import main
from treecast.errors import TreecastError
from treecast.files import formats
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
