"""Graphs as programs keep them, against networkx; text with a frame around it; files that no reader takes."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import treecast
from tests.networks.printed import DGX, FILES, nccl
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
        ('<platform version="4.1"></platform>', "it looks like a platform of SimGrid"),
        ("CA: n1\n 1[ ] ==( 4X 25 Gbps Active/ LinkUp)==> 2\n", "it looks like iblinkinfo"),
        ("ClusterName=c\nNodeName=n1\n", "it looks like slurm.conf, which is not read: give topology.conf"),
        ("n1 slots=4\nn2 slots=4\n", "it looks like a hostfile of MPI"),
        ("h:1:2 [0] NCCL INFO Channel 00/02 : 0 1\n", "it looks like a log of NCCL"),
        ('{"traceEvents": []}', "it looks like a trace of a profiler"),
        ('{"a": 1}', "it looks like JSON"),
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


def test_words_of_slurm(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="names no switch: put the lines of that file here, as SwitchName=s0"):
        read(tmp_path, "include more.conf\nSwitchName=s0 Nodes=n1\n")
