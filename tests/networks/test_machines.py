"""What machines print: every kind of file gives the machine that it describes, and nothing but a machine or one line."""

import re
from collections import Counter
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.printed import DGX, FILES, MLX, PAIRS, SLURM, YED, Fabric, nccl
from tests.networks.test_reading import arcs_by_label
from treecast.errors import NetworkError, PlanError
from treecast.files.reading.slurm import hosts_of
from treecast.networks.reading.registry import readers
from treecast.networks.wired import unit_of


@pytest.fixture(params=sorted(FILES))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    found = tmp_path / request.param
    found.write_text(FILES[request.param])
    return found


def read(tmp_path: Path, name: str, end: str = "", text: str = "") -> Any:
    (tmp_path / name).write_text(text or FILES[name])
    return treecast.network(f"{tmp_path / name}{end}")


def joined(network: Any) -> dict[str, int]:
    """Return the cables between each two nodes that both ways join."""
    arcs = arcs_by_label(network)
    assert network.both_ways
    return {f"{u}-{v}": many for (u, v), many in arcs.items() if u < v}


# --- each kind ---


def test_content_tells_the_kind(path: Path) -> None:
    """The name tells nothing: each file is recognised, and by one reader alone."""
    renamed = path.with_name("any")
    head = path.read_bytes()
    assert len([each.name for each in readers().values() if each.recognises(head)]) == 1
    path.rename(renamed)
    assert treecast.machine(renamed).nodes


def test_what_is_read_is_planned_and_printed(path: Path) -> None:
    end = " with undirected yes" if path.name == "yed.graphml" else ""
    end += " with pcie-rate 100Gbit/s gpu A100" if path.name == "pairs.txt" else ""
    network = treecast.network(f"{path}{end}")
    schedule = treecast.plan("broadcast", network, messages=3)
    assert treecast.verify(schedule)
    assert len(str(network)) < 80 * 24
    assert len(str(treecast.machine(path))) < 80 * 24


def test_matrices(tmp_path: Path) -> None:
    switched = read(tmp_path, "dgx.txt")
    assert joined(switched) == {f"gpu{i}-nvswitch": 1 for i in range(4)}
    assert switched.machine.facts == {
        "gpus": 4,
        "cells": {"NV12": 12, "X": 4},
        "nics": 2,
        "nvlink_row_sums": [[36, 4]],
    }
    assert switched.chunk_rate is None
    assert treecast.network(f"{tmp_path / 'dgx.txt'} with gpu A100").chunk_rate == 12 * 160e9 / 8
    for said in ("NVIDIA_A100_80GB", "A100-SXM4"):
        assert treecast.network(f"{tmp_path / 'dgx.txt'} with gpu {said}").chunk_rate == 12 * 160e9 / 8
    with pytest.raises(NetworkError, match="no rate is known of the GPU 'A1000': write one of P100"):
        treecast.network(f"{tmp_path / 'dgx.txt'} with gpu A1000")
    with pytest.raises(NetworkError, match="it has no GPUs, so --gpu says nothing"):
        treecast.network("file:examples/fabric.ibnetdiscover with gpu H100")
    alone = read(tmp_path, "pairs.txt")
    assert joined(alone) == {"gpu0-gpu1": 1}
    with pytest.raises(PlanError, match="no way leads from gpu0 to gpu2"):
        treecast.plan("broadcast", alone)
    with pytest.raises(NetworkError, match="the file says no rate of the links between GPUs, either: --gpu says it"):
        treecast.network(f"{tmp_path / 'pairs.txt'} with pcie-rate 100Gbit/s")
    over = treecast.network(f"{tmp_path / 'pairs.txt'} with pcie-rate 160Gbit/s gpu A100")
    assert joined(over)["gpu0-gpu1"] == 4
    assert over.connected
    assert joined(read(tmp_path, "rocm.txt")) == {"gpu0-gpu1": 1, "gpu1-gpu2": 1}  # two hops of XGMI are no link


def test_links_of_rocm_are_where_a_weight_is_least(tmp_path: Path) -> None:
    """As some drivers print it: one hop of every pair, and a weight of 15 for each link on the way."""
    weights = FILES["rocm.txt"].partition("\n===")[2].partition("\n===")[0].replace("Hops", "Weight")
    weights = re.sub(r"\b[12]\b", lambda hops: str(15 * int(hops[0])), weights)
    text = re.sub(r"(?m)^(GPU\d.*)\b2\b", r"\g<1>1", FILES["rocm.txt"])
    assert joined(read(tmp_path, "rocm.txt", text="===" + weights + text)) == {"gpu0-gpu1": 1, "gpu1-gpu2": 1}


def test_words_that_a_matrix_has_of_its_own(tmp_path: Path) -> None:
    text = PAIRS.replace("NV4", "MX ").replace("SYS", "MXL")
    with pytest.raises(NetworkError, match="gpu0 to gpu1 is 'MX', which treecast does not know: --links-called MX=1"):
        read(tmp_path, "mx.txt", text=text)
    with pytest.raises(NetworkError, match="gpu0 to gpu2 is 'MXL'"):
        read(tmp_path, "mx.txt", " with links-called MX=2", text)
    where = read(tmp_path, "mx.txt", " with links-called MX=2 links-called MXL=0", text)
    assert [link[:4] for link in where.view.links] == [("GPU0", "GPU1", 0.0, 2)]
    with pytest.raises(
        NetworkError, match="links-called: 'MX' is no word and its number of links: write it as in MX=1"
    ):
        read(tmp_path, "mx.txt", " with links-called MX", text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            PAIRS.replace("SYS     SYS      X", "SYS     X      X"),
            "has not 4 cells with X at place 3, and nowhere else",
        ),
        (
            PAIRS.replace("NV4", "OK ").replace("SYS", "CNS"),
            "it says whether GPUs reach each other .*: give nvidia-smi",
        ),
        (PAIRS.replace("PIX      X", "SYS      X"), "GPU2 to GPU3 is PIX, and back SYS: correct one"),
        (PAIRS.replace("GPU2    SYS     SYS      X      PIX\n", ""), "it has no row of GPU2"),
        (
            PAIRS.replace("GPU1    NV4      X", "GPU1    NV4   "),
            "line 3: the row of GPU1 has not 4 cells with X at place 2",
        ),
    ],
)
def test_matrices_that_are_wrong(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(NetworkError, match=wrong):
        read(tmp_path, "m.txt", text=text)


def test_nccl(tmp_path: Path) -> None:
    ring = read(tmp_path, "nccl.xml")
    assert joined(ring) == {"gpu0-gpu1": 1, "gpu1-gpu2": 1, "gpu2-gpu3": 1, "gpu0-gpu3": 1}
    assert (ring.chunk_rate, ring.machine.facts["gpu_links_join_all"]) == (160e9 / 8, True)
    every = read(tmp_path, "nccl.xml", " with links all")
    relays = set(every.labels()) - set(every.labels(every.ranks))
    assert relays == {"cpu0", "cpu1"}  # each bridge becomes a link, and NICs go
    assert every.relays.sum() == 2
    kept = read(tmp_path, "nccl.xml", " with links all keep-relays yes")
    assert kept.relays.sum() == 2 + 4
    assert joined(read(tmp_path, "switch.xml")) == {f"gpu{i}-nvswitch": 1 for i in range(8)}
    plain = read(tmp_path, "pcie-alone.xml", text=nccl(4, "none"))
    assert "no NVLink or XGMI stands in it" in str(plain)
    assert plain.relays.sum() == 2
    amd = read(tmp_path, "amd.xml", text=nccl(4, kind="xgmi"))
    assert amd.chunk_rate == 288e9 / 8
    new = read(tmp_path, "new.xml", text=nccl(4, sm=75))
    assert "no rate is known of NVLink of sm 75: that of sm 70 is taken" in str(new)


def test_nccl_that_is_degraded(tmp_path: Path) -> None:
    text = nccl().replace('target="0000:03:00.0" count="1"', 'target="0000:03:00.0" count="3"', 1)
    uneven = read(tmp_path, "uneven.xml", text=text)
    assert Counter(arcs_by_label(uneven))["gpu0", "gpu3"] == 3
    assert "1 pair of GPUs whose ends say different numbers of links: gpu0-gpu3" in str(uneven)
    lost = read(tmp_path, "lost.xml", text=nccl(8).replace('0000:01:00.0" count', '0000:77:00.0" count', 1))
    assert "1 link of gpu0 to parts that are not in the file" in str(lost)
    assert lost.remarks[0] == "1 GPU has fewer links than most"
    slow = read(tmp_path, "slow.xml", text=nccl(8).replace('PCIe" link_width="16"', 'PCIe" link_width="4"', 1))
    assert slow.remarks == ("1 device with a PCIe link slower than others of their kind",)
    for width in (0, 63, 255):  # what the kernel says of virtual devices: 16 lanes are taken, not 255
        text = nccl(4, "none", bridged=False).replace('link_width="16"', f'link_width="{width}"')
        unknown = read(tmp_path, "unknown.xml", text=text)
        assert unknown.machine.links[0].rate == 16 * 15.754
        assert "8 PCIe links of unknown speed or width, taken as 8 GT/s or 16 lanes" in str(unknown)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<graphs version='1'><graph id='0'/></graphs>", "this is the answer of NCCL's search, not the machine"),
        (
            "<system><cpu numaid='0'><pci busid='1'/></cpu></system>",
            "this file only adds NICs to the machine that NCCL finds; let NCCL",
        ),
        (nccl().replace('count="1"', 'count="99999999"', 1), r"line \d+: count is '99999999': write a whole number"),
        ("<system>" + "<pci>" * 300, "it is more than 256 deep"),
    ],
)
def test_nccl_that_is_wrong(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(NetworkError, match=wrong):
        read(tmp_path, "n.xml", text=text)


def test_slurm(tmp_path: Path) -> None:
    tree = read(tmp_path, "topology.conf")
    hosts = {"big-s0": 1, "n01-s0": 1, "n02-s0": 1, "n03-s0": 1, "n04-s1": 1, "n05-s1": 1}
    assert joined(tree) == {**hosts, "s0-s2": 1, "s1-s2": 1}
    assert joined(read(tmp_path, "topology.conf", " with uplinks 4")) == {**hosts, "s0-s2": 4, "s1-s2": 4}
    torus = read(tmp_path, "topology.yaml")
    wanted = nx.relabel_nodes(
        nx.grid_graph([4, 3, 2], periodic=(True, True, False)),  # a side of two is a line
        lambda at: f"n{1 + at[2] + 4 * at[1] + 12 * at[0]:02}",
    )
    assert set(joined(torus)) == {"-".join(sorted(ends)) for ends in wanted.edges()}
    rack = read(tmp_path, "topology.yaml", " with part rack")
    assert not rack.connected
    assert (rack.rank_count, rack.nodes) == (8, 10)
    assert len(joined(read(tmp_path, "topology.yaml", " with part round"))) == 5
    with pytest.raises(NetworkError, match="it is flat, which says nothing of cables"):
        read(tmp_path, "topology.yaml", " with part none")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("SwitchName=s3 Nodes=n[1-999999999]", r"line 6: 'n\[1-999999999\]' has 999,999,999 names: the most are"),
        ("SwitchName=s3 Nodes=n[1-2", "line 6: .* does not close the bracket at its character 2"),
        ("SwitchName=s3 Nodes=n[3-1]", "line 6: .* has the range '3-1', which falls"),
        ("SwitchName=s3 Nodes=n[[1]]", "line 6: .* has a bracket in a bracket, at its character 3"),
        ("SwitchName=s3 Switches=s3", "line 6: switch 's3' is below itself"),
        ("SwitchName=s3 Nodes=ALL", "line 6: 'ALL' is no host"),
        ("SwitchName=s2 Nodes=x", "line 6: switch 's2' is there twice"),
        ("Nodes=x", "line 6: names no switch"),
        ("SwitchName=s3 Nodes=x LinkSpeed=1e9", "line 6: LinkSpeed is '1e9'"),
        ("RingName=r\nSwitchName=s2 Nodes=x", "line 7: switch 's2' is there twice"),  # a ring of nobody is none
    ],
)
def test_slurm_that_is_wrong(tmp_path: Path, line: str, wrong: str) -> None:
    with pytest.raises(NetworkError, match=wrong):
        read(tmp_path, "t.conf", text=SLURM + line)


@given(
    st.lists(
        st.tuples(st.text(ascii_lowercase, min_size=1, max_size=3), st.lists(st.integers(0, 120), max_size=4)),
        max_size=4,
    )
)
def test_hostlists_are_what_was_listed(parts: list[tuple[str, list[int]]]) -> None:
    text = ",".join(f"{name}[{','.join(map(str, some))}]" if some else name for name, some in parts)
    assert hosts_of(text) == [f"{name}{number}" for name, some in parts for number in (some or [""])]


def test_tenstorrent(tmp_path: Path) -> None:
    chips = read(tmp_path, "chips.yaml")
    assert joined(chips) == {"chip0-chip1": 2, "chip1-chip2": 1, "chip2-chip3": 1}  # a cable that stands twice is one
    assert chips.chunk_rate == 100e9 / 8
    assert "1 cable to chips of another file" in str(chips)
    assert chips.node("79") == chips.node("chip2")
    meshes = read(tmp_path, "meshes.textproto")
    rings = {f"M{m}D{i}-M{m}D{j}": 2 for m in range(2) for i, j in ((0, 1), (1, 2), (2, 3), (0, 3))}
    assert joined(meshes) == rings | {f"M0D{i}-M1D{i}": 1 for i in range(4)}
    text = (
        FILES["meshes.textproto"]
        .replace("[ 1, 4 ]", "[4, 6]")
        .replace("LINE", "RING")
        .partition("graph_descriptors")[0]
    )
    torus = read(tmp_path, "torus.textproto", text=text).to_networkx()
    assert nx.is_isomorphic(nx.Graph(torus), nx.grid_graph([4, 6], periodic=True))


def test_tenstorrent_files_that_belong_together(tmp_path: Path) -> None:
    first = FILES["chips.yaml"]
    cable = "[{chip: 3, chan: 4}, {remote_chip_id: 99, chan: 4}]"
    ids = "{0: 97, 1: 98, 2: 99, 3: 100}"
    second = first.replace("{0: 77, 1: 78, 2: 79, 3: 80}", ids).replace(
        cable, "[{chip: 2, chan: 4}, {remote_chip_id: 80, chan: 4}]"
    )
    (tmp_path / "a.yaml").write_text(first)
    (tmp_path / "b.yaml").write_text(second)
    found = treecast.network(f"{tmp_path / 'a.yaml'},{tmp_path / 'b.yaml'}")
    alone = {"chip0-chip1": 2, "chip1-chip2": 1, "chip2-chip3": 1}
    both = {f"{i}/{u}-{i}/{v}": n for i in range(2) for ends, n in alone.items() for u, v in [ends.split("-")]}
    assert joined(found) == both | {"0/chip3-1/chip2": 1}
    (tmp_path / "hosts").mkdir()
    for name in "ab":
        (tmp_path / f"{name}.yaml").rename(tmp_path / "hosts" / f"{name}.yaml")
    names = "rank_to_cluster_mock_cluster_desc:\n  1: hosts/b.yaml\n  0: 'of/the/build/hosts/a.yaml'\n"
    (tmp_path / "pod_mapping.yaml").write_text(names)
    assert joined(treecast.network(tmp_path / "pod_mapping.yaml")) == joined(found)
    (tmp_path / "hosts" / "away.yaml").write_text("rank_to_filename: {0: ../pod_mapping.yaml}")
    with pytest.raises(NetworkError, match="which lies neither in its folder nor below"):
        treecast.network(tmp_path / "hosts" / "away.yaml")
    (tmp_path / "self.yaml").write_text("rank_to_filename: {0: self.yaml}")
    with pytest.raises(NetworkError, match="several files are read together where"):
        treecast.network(tmp_path / "self.yaml")
    for name in "ab":
        (tmp_path / "hosts" / f"{name}.yaml").rename(tmp_path / f"{name}.yaml")
    (tmp_path / "c.conf").write_text(SLURM)
    with pytest.raises(NetworkError, match="several files are read together where"):
        treecast.network(f"{tmp_path / 'a.yaml'},{tmp_path / 'c.conf'}")


def test_hwloc(tmp_path: Path) -> None:
    over = read(tmp_path, "pcie.xml", " with keep-relays yes")
    assert set(over.labels(over.ranks)) == {"nvml0", "nvml1"}
    assert set(joined(over)) == {"numa0-pci:0000:00:01.0", "nvml0-pci:0000:00:01.0", "numa0-numa1", "numa1-nvml1"}
    assert "1 PCIe link of unknown speed" in str(over)
    fast = read(tmp_path, "nvlink.xml")
    assert (joined(fast), fast.chunk_rate) == ({"nvml0-nvml1": 1}, 50e9)
    bare = FILES["pcie.xml"].replace("cuda0", "x").replace("nvml", "y")
    assert set(read(tmp_path, "bare.xml", text=bare).labels()) == {"numa0", "numa1"}


def test_small_ones(tmp_path: Path) -> None:
    mlx = read(tmp_path, "mlx.json")
    assert joined(mlx) == {"m1-m2": 1, "m1-m3": 1, "m2-m3": 1}
    assert "1 pair of hosts whose ends name different numbers of cables: m1-m3" in str(mlx)
    bare = read(
        tmp_path,
        "bare.json",
        text=re.sub(r', "rdma": \[.*?\]}', "}", MLX.replace('["en3", "en4"]', '"e"').replace('["en2"]', '"e"')),
    )
    assert joined(bare) == {"m1-m2": 1, "m1-m3": 1, "m2-m3": 1}
    netq = read(tmp_path, "netq.json")
    assert (joined(netq), netq.labels(netq.ranks)) == ({"h1-s1": 2, "h2-s1": 1}, ["h1", "h2"])
    dot = read(tmp_path, "net.dot")
    assert joined(dot) == {"a-b": 2, "b-c": 2, "a-big_switch": 1, "b-big_switch": 1, "c-the_end": 1}
    assert set(dot.labels(dot.ranks)) == {"a", "b", "c", "the_end"}
    assert "passed over: color" in str(dot)
    with pytest.raises(NetworkError, match="it names a machine that TACCL or TE-CCL knows"):
        read(tmp_path, "t.json", text='{"TopologyParams": {"name": "NDv2"}}')


def test_graphml_as_it_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="to itself"):
        read(tmp_path, "yed.graphml")
    both = read(tmp_path, "yed.graphml", " with undirected yes")
    assert joined(both) == {"New_York-n1": 1, "n1-n2": 2}  # a label that stands twice is no name
    for words in ("1 link from a node to itself", "passed over: weight"):
        assert words in str(both)
    loopless = re.sub(r'<edge source="n2".*?/>', "", YED)
    one_way = re.sub(r'<edge source="n1" target="n0"/>', "", loopless)
    with pytest.raises(PlanError, match="if these are cables, give --undirected"):
        treecast.plan("allgather", read(tmp_path, "one.graphml", text=one_way))
    rated = loopless.replace("</edge>", "").replace('<data key="w">3</data>', "")
    bits = iter(["25e8", "25e8", "1e10", "1e10"])
    rated = re.sub(r"(<edge [^/>]*)/?>", lambda link: f'{link[1]}><data key="s">{next(bits)}</data></edge>', rated)
    rates = read(tmp_path, "rates.graphml", " with undirected yes", rated)
    assert (joined(rates), rates.chunk_rate) == ({"New_York-n1": 1, "n1-n2": 8}, 2.5e9 / 8)


@pytest.mark.parametrize("directed", [False, True])
def test_what_export_writes_is_read(tmp_path: Path, directed: bool) -> None:
    graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    network = treecast.network(graph.to_directed() if directed else graph)
    schedule = treecast.plan("broadcast", network)
    for name in ("net.dot", "net.graphml"):
        treecast.save(schedule, tmp_path / name)
        assert arcs_by_label(treecast.network(tmp_path / name)) == arcs_by_label(network)


# --- a node and a fabric ---


def test_each_host_of_a_fabric_is_a_node(tmp_path: Path) -> None:
    fabric = Fabric(groups=1, rails=4, spines=1, hosts=3, between=1)
    (tmp_path / "node.xml").write_text(nccl())
    found = read(tmp_path, "net.topo", f" with node {tmp_path / 'node.xml'}", fabric.text())
    assert set(found.labels(found.ranks)) == {f"host0-{h}/gpu{i}" for h in range(3) for i in range(4)}
    assert found.connected
    assert found.rank_count == 12
    kept = read(tmp_path, "net.topo", f" with node {tmp_path / 'node.xml'} keep-relays yes", fabric.text())
    ends = joined(kept)  # by name: GPU i's NIC is mlx5_i, which hangs on leaf i
    assert all(ends[f"host0-{h}/mlx5_{i}-leaf0-{i}"] for h in range(3) for i in range(4))
    assert kept.nodes == 5 + 3 * (2 + 4 + 4 + 4)  # switches, and of each host NUMA nodes, bridges, NICs and GPUs
    assert treecast.verify(treecast.plan("scatter", found))
    one = read(tmp_path, "net.topo", f" with node host0-1={tmp_path / 'node.xml'}", fabric.text())
    assert (one.rank_count, "2 hosts of no kind that --node gives" in str(one)) == (4, True)
    for end, wrong in {
        f"node x*={tmp_path / 'node.xml'}": "no host of it is such a node",
        f"node {tmp_path / 'net.topo'}": "is no node with GPUs",
        "ranks gpus": "it has no GPUs: --node node.xml",
    }.items():
        with pytest.raises(NetworkError, match=wrong):
            read(tmp_path, "net.topo", f" with {end}", fabric.text())


def test_nics_are_matched_by_guid_and_by_place(tmp_path: Path) -> None:
    fabric = Fabric(groups=1, rails=4, spines=1, hosts=1, between=1)
    node = nccl()
    for i in range(4):  # the card of leaf i is the NIC of GPU 3 - i
        node = node.replace(f'"mlx5_{i}"', f'"other{i}"').replace(
            f'guid="0x{0x1000 + i:x}"', f'guid="0x{fabric.guid(f"host0-0 mlx5_{3 - i}")[2:]}"'
        )
    (tmp_path / "node.xml").write_text(node)
    ends = joined(read(tmp_path, "net.topo", f" with node {tmp_path / 'node.xml'} keep-relays yes", fabric.text()))
    assert all(ends[f"host0-0/other{i}-leaf0-{3 - i}"] for i in range(4))
    (tmp_path / "node.xml").write_text(re.sub(r'guid="[^"]*"', "", node))
    ends = joined(read(tmp_path, "net.topo", f" with node {tmp_path / 'node.xml'} keep-relays yes", fabric.text()))
    assert all(ends[f"host0-0/other{i}-leaf0-{i}"] for i in range(4))
    slurm = joined(read(tmp_path, "topology.conf", f" with node {tmp_path / 'node.xml'} keep-relays yes"))
    assert all(slurm[f"n01/other{i}-s0"] for i in range(4))


def test_options_may_be_keywords(tmp_path: Path) -> None:
    (tmp_path / "yed.graphml").write_text(YED)
    assert treecast.network(tmp_path / "yed.graphml", undirected=True).both_ways
    with pytest.raises(NetworkError, match="part can be asked of files"):
        treecast.network([(0, 1)], part=2)


# --- rates, names, kinds of files ---


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=6), st.sampled_from([0.01, 0.05, 0.2]))
def test_units_are_the_largest_that_fit(rates: list[float], rounding: float) -> None:
    found = unit_of(rates, rounding)
    worst = [
        max(abs(max(1, round(rate * k / min(rates))) * min(rates) / k / rate - 1) for rate in rates)
        for k in range(1, 65)
    ]
    parts = round(min(rates) / found.rate)
    assert found.worst == pytest.approx(worst[parts - 1], abs=1e-9)
    assert all(each > rounding - 1e-9 for each in worst[: parts - 1])
    assert found.worst <= rounding + 1e-9 or found.worst == pytest.approx(min(worst), abs=1e-9)


def test_labels_are_made_different(tmp_path: Path) -> None:
    text = Fabric().text().replace("MF0;leaf0-1", "MF0;leaf0-0").replace("host0-1 mlx5_0", "a b c d")
    labels = read(tmp_path, "twice.topo", " with ranks hcas", text).labels()
    assert len(set(labels)) == len(labels)
    assert "a_b_c_d" in labels
    assert len([label for label in labels if label.startswith("leaf0-0.S-")]) == 2


def test_two_readers_of_one_file_are_named(tmp_path: Path) -> None:
    text = DGX + SLURM
    with pytest.raises(NetworkError, match="it may be of nvidia-smi and slurm: say which, by --format nvidia-smi"):
        read(tmp_path, "both.txt", text=text)
    assert read(tmp_path, "both.txt", " with format nvidia-smi", text).rank_count == 4
