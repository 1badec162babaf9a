"""Graphs as programs keep them, against networkx; text with a frame around it; files that no reader takes."""

import json
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import treecast
from tests.networks.printed import ASTRA, DGX, FILES, NCCL_LOG, PLATFORM, Fabric, macs, nccl
from tests.networks.test_reading import arcs_by_label, as_text
from treecast.errors import NetworkError
from treecast.networks.reading.frames import unframed


def read(tmp_path: Path, text: str | bytes, name: str = "net") -> Any:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return treecast.network(tmp_path / name)


def graphs() -> list[Any]:
    two = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    wide = nx.Graph([("a", "b", {"capacity": 3}), ("b", "c")])
    return [nx.petersen_graph(), nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)]), two, wide, nx.grid_2d_graph(2, 3)]


@pytest.mark.parametrize("truth", graphs(), ids=str)
def test_what_networkx_writes(tmp_path: Path, truth: Any) -> None:
    labelled = nx.relabel_nodes(
        truth, {node: ",".join(map(str, node)) if isinstance(node, tuple) else node for node in truth}
    )
    wanted = as_text(labelled)
    file = BytesIO()
    nx.write_gml(labelled, file)
    assert arcs_by_label(read(tmp_path, file.getvalue())) == wanted
    for edges in ("links", "edges"):
        text = json.dumps(nx.node_link_data(labelled, edges=edges))
        assert arcs_by_label(read(tmp_path, text)) == wanted


@pytest.mark.parametrize("directed", [False, True])
def test_matrices_in_files(tmp_path: Path, directed: bool) -> None:
    truth = nx.gnp_random_graph(6, 0.6, seed=1, directed=directed)
    table = nx.to_numpy_array(truth, dtype=int)
    wanted = as_text(truth)
    file = BytesIO()
    np.save(file, table)
    assert arcs_by_label(read(tmp_path, file.getvalue())) == wanted
    rows = [list(map(str, row)) for row in table.tolist()]
    for sign in (",", ";", " ", "\t"):
        assert arcs_by_label(read(tmp_path, "\n".join(sign.join(row) for row in rows))) == wanted
    named = [["", *"abcdef"], *([name, *row] for name, row in zip("abcdef", rows, strict=True))]
    lettered = as_text(nx.relabel_nodes(truth, dict(enumerate("abcdef"))))
    for first in ("", "node"):
        named[0][0] = first
        assert arcs_by_label(read(tmp_path, "\n".join(",".join(row) for row in named))) == lettered
    entries = [(u + 1, v + 1) for u, v in np.argwhere(table).tolist() if directed or u > v]
    kind = "general" if directed else "symmetric"
    text = "\n".join(
        [f"%%MatrixMarket matrix coordinate pattern {kind}", "%", f"6 6 {len(entries)}"]
        + [f"{u} {v}" for u, v in entries]
    )
    assert arcs_by_label(read(tmp_path, text)) == as_text(nx.relabel_nodes(truth, {u: u for u in truth}))


def test_three_links_with_capacities_are_no_matrix(tmp_path: Path) -> None:
    assert arcs_by_label(read(tmp_path, "0 1 2\n1 2 2\n2 0 2\n")) == as_text(
        nx.MultiGraph([(0, 1), (1, 2), (2, 0)] * 2)
    )
    assert read(tmp_path, "0 2 2\n2 0 2\n2 2 0\n").arcs == 12


def test_relays_rates_and_numbers_of_nodes(tmp_path: Path) -> None:
    where = read(tmp_path, FILES["links.json"])
    assert arcs_by_label(where) == {("h1", "s1"): 2, ("s1", "h1"): 2, ("h2", "s1"): 1, ("s1", "h2"): 1}
    assert where.labels(where.ranks) == ["h1", "h2"]
    routers = read(
        tmp_path,
        '{"nodes": [{"id": 1, "type": "router"}, {"id": 2, "type": "router"}], "edges": [{"from": 1, "to": 2}]}',
    )
    assert routers.rank_count == 2  # all are switches: then they take part
    zoo = read(tmp_path, FILES["zoo.gml"])
    assert (zoo.chunk_rate, zoo.arcs, zoo.labels()) == (2.5e9 / 8, 10, ["New_York", "1", "2"])


def test_cables_beside_their_rate(tmp_path: Path) -> None:
    text = "source,target,capacity,rate\na,b,2,100Gbit/s\nb,c,1,100Gbit/s\n"
    assert read(tmp_path, text).arcs == 2 * (2 + 1)
    arcs = 'digraph { a -> b [capacity=3 rate="1Gbit/s"] b -> a [capacity=2 rate="1Gbit/s"] }'
    assert arcs_by_label(read(tmp_path, arcs)) == {("a", "b"): 3, ("b", "a"): 2}


def test_other_makers_and_planners(tmp_path: Path) -> None:
    def cables(name: str) -> dict[tuple[str, str, str], int]:
        return {(link.u, link.v, link.called): link.cables for link in treecast.machine(tmp_path / name).links}

    for name in ("amd.txt", "xpu.txt", "npu.txt", "tacos.csv", "simai.txt"):
        (tmp_path / name).write_text(FILES[name])
    assert {ends[:2] for ends in cables("amd.txt")} == {
        ("0000:0c:00.0", "0000:22:00.0"),
        ("0000:22:00.0", "0000:38:00.0"),
    }
    xpu = {("GPU0/0", "GPU0/1", "MDF"): 1, ("GPU0/0", "GPU1/0", "XeLink"): 4, ("GPU0/1", "GPU1/0", "XeLink"): 4}
    assert cables("xpu.txt") == xpu
    assert set(cables("npu.txt").values()) == {1}
    tacos = treecast.network(tmp_path / "tacos.csv")
    assert (tacos.chunk_rate, tacos.arcs, tacos.both_ways) == (50e9, 4, False)
    simai = treecast.network(tmp_path / "simai.txt")
    assert (simai.rank_count, simai.arcs, simai.chunk_rate) == (3, 2 * (2 + 2 + 1), 25e9)


@pytest.mark.parametrize(
    "framed",
    [
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"node01: {line}\n" for line in text.splitlines()),
        lambda text: f"```\nme@node01:~$ nvidia-smi topo -m\n{text}```\n",
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    ],
)
@pytest.mark.parametrize(
    "text", [DGX, nccl(), FILES["zoo.gml"], FILES["fabric.topo"]], ids=["matrix", "xml", "gml", "fabric"]
)
def test_frames_are_taken_off(tmp_path: Path, text: str, framed: Any) -> None:
    plain, pasted = read(tmp_path, text, "plain"), read(tmp_path, framed(text), "pasted")
    assert arcs_by_label(pasted) == arcs_by_label(plain)


def test_tables_of_markdown(tmp_path: Path) -> None:
    text = "| | GPU0 | GPU1 |\n|---|:---:|---|\n| GPU0 | X | NV4 |\n| GPU1 | NV4 | X |\n"
    assert read(tmp_path, text).labels() == ["gpu0", "gpu1"]
    assert unframed(b"a b\n") == b"a b\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("*Vertices 2\n1 a\n2 b\n*Edges\n1 2\n", "it looks like Pajek, which is not read: let networkx read it"),
        ('<gexf version="1.2"></gexf>', "it looks like GEXF"),
        (">>graph6<<D?{", "it looks like graph6"),
        ("graph LR\n A --> B\n", "it looks like Mermaid, which is not read: write a link a line"),
        ("name: x\ntopology:\n  links:\n    - endpoints: [a, b]\n", "it looks like containerlab"),
        ('<platform version="4.1"></platform>', "it has no host"),
        ("CA: n1\n 1[ ] ==( 4X 25 Gbps Active/ LinkUp)==> 2\n", "line 2 is no port: it is written 4 1"),
        (PLATFORM.replace('id="in"/></route>', 'id="x"/></route>', 1), "line 8: no link is called 'x'"),
        (PLATFORM.replace('<link_ctn id="out"/>', "", 1), "link 'in' joins 'b' and 'c' at one end"),
        (ASTRA.replace("Ring", "Torus"), "a side is 'Torus': Ring, Line, FullyConnected, Switch are read"),
        (NCCL_LOG.replace("               +", "  +"), "line 5 stands below no node: the log is cut"),
        ("ClusterName=c\nNodeName=n1\n", "it looks like slurm.conf, which is not read: give topology.conf"),
        ("n1 slots=4\nn2 slots=4\n", "it looks like a hostfile of MPI"),
        ("h:1:2 [0] NCCL INFO Channel 00/02 : 0 1\n", "it looks like a log of NCCL"),
        ('{"traceEvents": []}', "it looks like a trace of a profiler"),
        ('{"a": 1}', "it looks like JSON"),
        ("PK\x03\x04\x14\0", "a packed file or a spreadsheet, which is not read: unpack it, or save it as CSV"),
        ("\x0a\x05\x01\x02\n", "data that is no text"),
        ("| NVIDIA-SMI 535.1 |\n", "which is not read: give nvidia-smi topo -m"),
        ("CA 'mlx5_0'\n\tCA type: MT4129\n", "give ibnetdiscover, which says the links"),
        ("Machine (63GB total)\n  Package L#0\n", "give lstopo --of xml"),
        ("router 0 node 0 router 1 5\n", "it looks like BookSim's anynet"),
        (
            "?SNDlib native format; type: network\n",
            "links in words of another tool, which is not read: write a link a line",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\n",
            "a schedule in GOAL, which is not read: it has no links; treecast verify judges it",
        ),
        ('<algo name="a" nchunksperloop="1"></algo>', "a schedule of MSCCL, which"),
        ('{"gpus": [{"threadblocks": []}]}', "a schedule of MSCCL[+][+], which"),
        ('{"1-Epoch_Duration": 1e-6, "7-Flows": []}', "a schedule of TE-CCL"),
        ('{"version": 1, "execution": {"R_lite": []}}', "it looks like Flux's R"),
        ("services:\n  web: 1\n", "it looks like YAML"),
        ("<html></html>", "it looks like XML"),
        ("0 1 3\n1 2\n3\n", "line 3 is no link: .*of adjacency lists let networkx read it"),
        ('{"nodes": [1, 2], "graph": {}}', "it has nodes, but neither links nor edges"),
        ('{"nodes": [1, 2], "links": [{"source": 1, "target": 7}]}', "a link ends at '7', which is none of the nodes"),
        ("graph [ node [ id 0 ] edge [ source 0 target 5 ] ]", "it is no GML"),
        ("%%MatrixMarket matrix array real general\n1 1\n", "it is no sparse matrix"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 1\n", "its matrix is not square"),
        (FILES["ring.mtx"].rpartition("\n")[0].rpartition("\n")[0], "entries, and its top says .: give the whole file"),
        (FILES["simai.txt"].rpartition("2 3")[0], "it has 2 links, and its top says 3: give the whole file"),
        (",a,b\na,0,1\nb,1,0\nc,1,1\n", "is no link"),
        ("0 1 1 0\n1 0 1 0\n", "its matrix is not square"),
        ("3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,9,5,5\n", "line 3 is no link: write source, target, latency"),
    ],
)
def test_what_no_reader_takes_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NetworkError, match=says) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_one_fabric_by_two_tools(tmp_path: Path) -> None:
    for fabric in (Fabric(), Fabric(groups=1, rails=1, spines=3, hosts=5, between=1)):
        by_nodes, by_links = (read(tmp_path, text) for text in (fabric.text(), fabric.by_links()))
        assert arcs_by_label(by_links) == arcs_by_label(by_nodes)
        assert by_links.chunk_rate == by_nodes.chunk_rate


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["torus:3x4", "star:4", "debruijn:2,3", "fat-tree:4"])
@pytest.mark.parametrize("model", ["all-port", "one-port", "all-port,half"])
def test_platforms_that_are_written_are_read(tmp_path: Path, spec: str, model: str) -> None:
    where = treecast.network(spec)
    plan = treecast.plan("broadcast", where, model=model, bytes="1MiB", latency="1us", rate="5GB/s")
    treecast.export(plan, tmp_path / "p", to="simgrid")
    found = read(tmp_path, (tmp_path / "p" / "platform.xml").read_text())
    arcs = arcs_by_label(found)
    if model == "one-port":  # a place behind each host's one way out and one way in, two where no route passes
        assert 2 * where.nodes <= found.nodes <= 3 * where.nodes
        return
    u, port = np.nonzero((table := where.neighbor_table()) >= 0)
    assert set(arcs) == {(f"h{a}", f"h{b}") for a, b in zip(u.tolist(), table[u, port].tolist(), strict=True)}
    assert found.chunk_rate == 5e9


def test_hosts_routers_and_the_places_between_links(tmp_path: Path) -> None:
    where = read(tmp_path, PLATFORM)
    assert (where.nodes, where.rank_count, where.arcs) == (5, 3, 6)  # three hosts below one switch; the router is alone
    for kind, wanted in (("FLAT", (9, 8, 16)), ("TORUS", (8, 8, 24))):
        text = (
            '<platform version="4.1"><zone id="z" routing="Cluster"><cluster id="c" prefix="n" suffix="" radical="0-7" '
            f'speed="1Gf" bw="10Gbps" lat="1us" topology="{kind}" topo_parameters="2,2,2"/></zone></platform>'
        )
        found = read(tmp_path, text)
        assert (found.nodes, found.rank_count, found.arcs) == wanted


def test_sides_of_astra_sim(tmp_path: Path) -> None:
    where = read(tmp_path, ASTRA)
    assert (where.rank_count, where.nodes) == (24, 24 + 12)
    ring = "topology: [ Ring, Ring ]\nnpus_count: [ 4, 3 ]\nbandwidth: [ 50.0, 50 ]\n"
    assert read(tmp_path, ring).arcs == treecast.network("torus:4x3").arcs
    old = '{"topologies-per-dim": ["Ring", "Ring"], "units-count": [4, 3], "link-bandwidth": [50, 50]}'
    assert arcs_by_label(read(tmp_path, old)) == arcs_by_label(read(tmp_path, ring))
    ns3 = "5 1 4\n4\n" + "".join(f"{u} 4 400Gbps 0.0005ms 0\n" for u in range(4))
    assert (read(tmp_path, ns3).rank_count, read(tmp_path, ns3).chunk_rate) == (4, 50e9)


def test_the_log_of_nccl_and_macs(tmp_path: Path) -> None:
    where = read(tmp_path, NCCL_LOG)
    assert (where.labels(), where.arcs, where.chunk_rate) == (["gpu0", "gpu1"], 2, pytest.approx(123.6e9))
    assert treecast.machine(tmp_path / "net").facts["nics"] == 1
    many = read(tmp_path, macs(4))
    assert (many.nodes, many.arcs, many.chunk_rate) == (4, 12, 10e9)
    assert read(tmp_path, macs(4).partition("\n{")[0]).arcs == 6  # one Mac knows its own cables


@pytest.mark.parametrize(
    "together",
    [
        lambda one, other: "".join(f"n1: {a}\nn2: {b}\n" for a, b in zip_longest(one, other, fillvalue="")),
        lambda one, other: "\n".join(["[me@n1 ~]$ nvidia-smi topo -m", *one, "[me@n2 ~]$ npu-smi info", *other]),
        lambda one, other: "\n".join(["=== n1 ===", *one, "=== n2 ===", *other]),
        lambda one, other: "\n".join(["-" * 16, "n1", "-" * 16, *one, "-" * 16, "n2", "-" * 16, *other]),
        lambda one, other: "\n".join(["n1 | CHANGED | rc=0 >>", *one, "n2 | CHANGED | rc=0 >>", *other]),
    ],
)
def test_several_hosts_in_one_paste(tmp_path: Path, together: Any) -> None:
    one, other = FILES["pairs.txt"], FILES["npu.txt"]
    path = tmp_path / "paste.txt"
    path.write_text(together(one.splitlines(), other.splitlines()))
    wanted = [arcs_by_label(read(tmp_path, text)) for text in (one, other)]
    assert arcs_by_label(treecast.network(path)) == wanted[0]
    assert arcs_by_label(treecast.network(f"file:{path} with part n2")) == wanted[1]
    assert "take one by --part NAME" in treecast.machine(path).complaints[-1].text


def test_words_of_slurm(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="names no switch: put the lines of that file here, as SwitchName=s0"):
        read(tmp_path, "include more.conf\nSwitchName=s0 Nodes=n1\n")
