"""Logs of benchmarks, read as their makers print them, and set beside networks whose times are known."""

import re
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

import treecast
from tests.advice.test_failing import clos
from treecast.advice.logs import bandwidths, bus_factor, read_log
from treecast.advice.orders import Loads
from treecast.description import describe
from treecast.errors import FormatError, PlanError

NCCL = """# nThread 1 nGpus 1 minBytes 8 maxBytes 8388608 step: 1024(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid   4151 on     h0-0 device  0 [0x10] NVIDIA H100
#  Rank  1 Group  0 Pid   4151 on     h1-0 device  0 [0x10] NVIDIA H100
#  Rank  2 Group  0 Pid   4151 on     h0-1 device  0 [0x10] NVIDIA H100
#  Rank  3 Group  0 Pid   4151 on     h1-1 device  0 [0x10] NVIDIA H100
h0-0:4151:4153 [0] NCCL INFO comm 0x5 rank 0 nranks 4 cudaDev 0 busId 10 - Init COMPLETE
h0-0:4151:4153 [0] NCCL INFO Channel 00/02 :    0   1   2   3
h0-0:4151:4153 [0] NCCL INFO Channel 01/02 :    0   1   2   3
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    20.00    0.00    0.00      0    18.00    0.00    0.00      0
     8000000       2000000     float     sum      -1   2400.0    3.33    5.00      0   2000.0    4.00    6.00      0
# Avg bus bandwidth    : 2.5
"""
OSU = "# OSU MPI{} Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1000000   {}\n"
IMB = """#---------------
# Benchmarking {}
# #processes = {}
#---------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.05         0.06         0.05
      1000000           20       900.11      1000.00       950.00
"""


def test_tables_are_read() -> None:
    nccl = read_log(NCCL)
    assert nccl.tables == {"allreduce": [(8, pytest.approx(20e-6)), (8_000_000, pytest.approx(2400e-6))]}
    assert (nccl.rings, nccl.hosts[2], nccl.ranks) == ([[0, 1, 2, 3]], ("h0-1", 0), 4)
    for called, kind in ((" All-to-All Personalized Exchange", "alltoall"), (" Bcast", "broadcast")):
        assert list(read_log(OSU.format(called, 5)).tables) == [kind]
    imb = read_log(IMB.format("Reduce_scatter", 6) + IMB.format("Alltoall", 6))
    assert imb.tables["alltoall"][1] == (1_000_000, pytest.approx(1e-3))
    assert (list(imb.tables), imb.ranks) == (["reduce-scatter", "alltoall"], 6)
    plain = NCCL.replace("    sum ", "   none ")
    with pytest.raises(FormatError, match="or name the collective"):
        read_log(plain)
    assert list(read_log(plain, "alltoall").tables) == ["alltoall"]
    assert list(read_log("mpirun all_gather_perf -b 8\n" + plain).tables) == ["allgather"]
    with pytest.raises(FormatError, match="this log has no table of a collective"):
        read_log("hello")


@pytest.mark.parametrize("digits", [400, 5000])
def test_numbers_too_long_to_be_any_are_passed_over(digits: int) -> None:
    long = "9" * digits
    for old in ("Rank  0", "device  0", "rank 0 ", "nranks 4", "cudaDev 0", " 1   2", "    8 ", " 20.00", "  -1 "):
        found = read_log(NCCL.replace(old, re.sub("[0-9.]+", long, old), 1))
        assert (8_000_000, pytest.approx(2400e-6)) in found.tables["allreduce"]
    imb = read_log(IMB.format("Bcast", long))
    assert (list(imb.tables), imb.ranks) == (["broadcast"], 0)


def test_times_are_those_of_the_cables(tmp_path: Path) -> None:
    """Of 8 ranks on a ring of 1 GB/s: allgather 7/2 blocks by two cables, alltoall 8 blocks by the cut in the middle."""
    log, block = tmp_path / "log", 1e6 / 1e9
    for called, least in ((" Allgather", 3.5 * block), (" All-to-All Personalized Exchange", 8 * block)):
        log.write_text(OSU.format(called, 9000))
        (size,) = treecast.doctor(log, "ring:8", rate="1GB/s").sizes
        assert size.least == pytest.approx(least)
        assert size.most / size.busbw == pytest.approx(9000e-6 / least)
    log.write_text(OSU.format(" Allreduce", 9000))  # 2 N (N - 1) parts of the vector over 2 N arcs
    (size,) = treecast.doctor(log, "ring:8", rate="1GB/s").sizes
    assert size.least == pytest.approx(7 / 8 * block)
    assert size.busbw == pytest.approx(1e6 / 9000e-6 * 1.75)


def test_rings_and_a_better_order(tmp_path: Path) -> None:
    """Two leaves of two hosts with one cable up: a ring that goes to and fro crosses twice, the best one once."""
    log = tmp_path / "log"
    log.write_text(NCCL)
    found = treecast.doctor(log, clos(2, 1, 2), rate="1GB/s")
    assert found.rings is not None
    assert (found.rings.load, found.rings.busbw, found.rings.other) == (2, 0.5e9, 1e9)
    hosts = [name.split("-")[0] for name in found.rings.order]
    assert sum(u != v for u, v in pairwise([*hosts, hosts[0]])) == 2
    size = found.sizes[-1]
    assert size.least == pytest.approx(2 * 3 / 4 * 8e6 / 1e9)  # a host that adds receives all but its own part, twice
    assert size.busbw == pytest.approx(5e9, rel=1e-3)
    said = describe(found)
    assert str(said.lines["reached"]).endswith("500% of what the cables allow at 8 MB: is the rate of a link right?")
    assert "another order of hosts: 1 GB/s" in str(said.lines["rings"])
    log.write_text(NCCL.replace("h0", "x0"))
    assert "names hosts that the network has not" in str(describe(treecast.doctor(log, "ring:4", rate=1e9)).lines)


def test_ranks_are_those_of_the_columns(tmp_path: Path) -> None:
    """Without its lines of ranks a log is of as many as busbw / algbw says, not of as many as the network has."""
    log, bare = tmp_path / "log", re.sub("#  Rank.*\n|.*NCCL INFO.*\n", "", NCCL)
    log.write_text(bare)
    found = treecast.doctor(log, "ring:40", rate="1GB/s")
    assert (found.ranks, found.log.ranks_told("allreduce")) == (4, (4, 4))
    assert f"{found.sizes[-1].busbw / 1e9:.2f}" == "5.00"
    assert "busbw / algbw is that of 4 ranks" in found.remarks
    log.write_text(re.sub("#  Rank  3.*\n|.*NCCL INFO.*\n", "", NCCL))
    assert "4 ranks, where its lines name 3" in str(treecast.doctor(log, "ring:40", rate="1GB/s").remarks)
    log.write_text(bare.replace("3.33    5.00", "3.33    6.66"))
    with pytest.raises(PlanError, match="ranks: give the whole log"):
        treecast.doctor(log, "ring:40", rate="1GB/s")
    log.write_text(OSU.format(" Allreduce", 9000))
    assert "says no number of ranks: 8 ranks are taken" in str(treecast.doctor(log, "ring:8", rate="1GB/s").remarks)
    for kind, ranks in (("allgather", 5), ("alltoall", 64), ("reduce-scatter", 3)):
        alg = 100.0
        row = f"8000000 1 float none -1 2400.0 {alg:.2f} {alg * bus_factor(kind, ranks):.2f} 0"
        log.write_text(f"# size count type redop root time algbw busbw #wrong\n{row}\n")
        assert treecast.doctor(log, "ring:80", rate="1GB/s", collective=kind).ranks == ranks


def test_a_host_that_is_misspelt_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(NCCL.replace("on     h1-1", "on     hl-1"))
    found = treecast.doctor(log, clos(2, 1, 2), rate="1GB/s")
    assert "'hl-1' is no node; did you mean 'h1-1'" in str(found.remarks)
    assert found.sizes == treecast.doctor(log, clos(2, 1, 2), rate="1GB/s").sizes
    assert found.rings is not None
    assert found.rings.load == 2  # the only host that is free is the right one
    log.write_text(NCCL.replace("on     h", "on     x").replace("\nh0-0", "\nx0-0"))
    with pytest.raises(
        PlanError, match="has none of the hosts of the log: it has h0-0, h0-1, h1-0 and 1 more, the log x0-0"
    ):
        treecast.doctor(log, clos(2, 1, 2), rate="1GB/s")


def test_switches_add_where_more_is_reached_than_without(tmp_path: Path) -> None:
    """Of 4 hosts at 1 GB/s busbw is at most 1 GB/s where switches do not add, and 1.5 where they do."""
    log, star = tmp_path / "log", nx.Graph([("s", f"h{i}") for i in range(4)])
    nx.set_node_attributes(star, {name: name == "s" for name in star}, "relay")
    row = "8000000 1 float sum -1 {} {:.2f} {:.2f} 0"
    for busbw, plain in ((0.8, None), (1.2, 1.2)):
        seconds = 8e6 * 1.5 / busbw / 1e9
        said = row.format(seconds * 1e6, 100 * busbw / 1.5, 100 * busbw)
        log.write_text(f"# size count type redop root time algbw busbw #wrong\n{said}\n")
        found = treecast.doctor(log, star, rate="1GB/s")
        assert found.plain == (plain and pytest.approx(plain))
        assert found.sizes[0].most == pytest.approx(1.5e9 if plain else 1e9, rel=1e-5)
    assert "80% of what the cables allow at 8 MB where switches add" in str(describe(found).lines["reached"])
    adding = treecast.doctor(log, treecast.network(star).adding(), rate="1GB/s")
    assert (adding.plain, adding.sizes) == (found.plain, found.sizes)


@pytest.mark.parametrize("seed", range(4))
def test_loads_are_those_of_all_shortest_paths(seed: int) -> None:
    graph = clos(3, 3, 2)
    graph.remove_edge("l0", f"s{seed % 3}")
    loads = Loads(treecast.network(graph))
    for u, v in (("h0-0", "h1-0"), ("h0-0", "h0-1"), ("h2-0", "h0-1")):
        links, much = loads.of_pair(loads.network.node(u), loads.network.node(v))
        paths = list(nx.all_shortest_paths(graph, u, v))
        wanted: dict[tuple[str, str], float] = {}
        for path in paths:
            for ends in pairwise(path):
                wanted[ends] = wanted.get(ends, 0.0) + 1 / len(paths)
        names = [tuple(loads.network.labels(loads.ends[link])) for link in links]
        assert dict(zip(names, much, strict=True)) == pytest.approx(wanted)


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(IMB.format("Bcast", 9))
    for network, words, wrong in (
        ("ring:4", {}, "nothing says how fast a link is"),
        ("ring:4", {"rate": 1e9}, "has 9 ranks on hosts of other names"),
        ("ring:9", {"rate": 1e9, "collective": "alltoall"}, "the log has no table of alltoall, but of broadcast"),
    ):
        with pytest.raises(PlanError, match=wrong):
            treecast.doctor(tmp_path / "log", network, **words)
    (tmp_path / "log").write_text(NCCL.replace("h1-", "h0-").replace("h0-1", "h0-0"))
    with pytest.raises(PlanError, match="all ranks of the log are on h0-0"):
        treecast.doctor(tmp_path / "log", clos(2, 1, 2), rate=1e9)


def test_bus_factors_are_those_of_nccl_tests() -> None:
    assert [bus_factor(kind, 8) for kind in ("allreduce", "allgather", "reduce")] == [1.75, 0.875, 1.0]


def test_bandwidths_of_plans_are_those_of_nccl_tests() -> None:
    """Of an alltoall nccl-tests divides the bytes of one rank by the time; a gatherv it does not have."""
    of = {
        kind: bandwidths(kind, 8, 8_000_000, 1e-3).figures for kind in ("allgather", "alltoall", "broadcast", "gatherv")
    }
    assert of["allgather"] == {"algbw": 8e9, "busbw": 7e9}
    assert of["alltoall"] == {"algbw": 1e9, "busbw": 0.875e9}
    assert of["broadcast"] == {"algbw": 8e9, "busbw": 8e9}
    assert of["gatherv"] == {}


@pytest.mark.parametrize("ranks", [2, 3, 8, 1000])
@pytest.mark.parametrize("kind", ["allreduce", "reduce-scatter"])
def test_rows_without_a_title_are_told_by_their_factor(kind: str, ranks: int) -> None:
    row = f"8000000 1 float sum -1 2400.0 100.00 {100 * bus_factor(kind, ranks):.2f} 0"
    head = (
        f"n0:1:1 [0] NCCL INFO rank 0 nranks {ranks} cudaDev 0\n# size count type redop root time algbw busbw #wrong\n"
    )
    assert list(read_log(head + row).tables) == [kind]
    bare = head.partition("\n")[2] + row
    if (kind, ranks) == ("allreduce", 2):  # a reduce-scatter of very many ranks looks like it
        with pytest.raises(FormatError, match="name the collective"):
            read_log(bare)
    else:
        assert list(read_log(bare).tables) == [kind]
