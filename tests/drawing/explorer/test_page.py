"""The page: one file that needs nothing else, of bounded size, whose data are the schedule's."""

import base64
import io
import json
import re
import subprocess
import zipfile
import zlib
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest

import treecast
from tests.drawing.explorer.cases import MODULES, SORTS, find_node, planned, run_in_node
from treecast.drawing.explorer.page import MOST_NODES, columns_of, facts_of, joined, packed, page_of
from treecast.drawing.places import places_of
from treecast.drawing.registry import View
from treecast.errors import TreecastError

MOST_BYTES = 150_000


def unpacked(text):
    """The facts and columns that ``packed`` put into a text."""
    body = zlib.decompress(base64.b64decode(text))
    at = 4 + int.from_bytes(body[:4], "little")
    facts, columns = json.loads(body[4:at]), {}
    for name, length, differs in facts.pop("columns"):
        column = np.frombuffer(body, "<i4", length, at)
        columns[name] = np.cumsum(column, dtype=np.int32) if differs else column.astype(np.int32)
        at += 4 * length
    return facts, columns


def page(schedule, **view):
    return page_of(schedule, View(**view))


def test_a_page_of_a_thousand_nodes_is_below_150_kb():
    schedule = treecast.plan("broadcast", "hypercube:10", messages=64, copies=10)
    assert len(page(schedule).encode()) < MOST_BYTES


@pytest.mark.parametrize("sort", SORTS)
def test_data_go_round(sort):
    schedule = planned(sort)
    told = facts_of(schedule)
    facts, columns = unpacked(packed(told, columns_of(schedule)))
    assert facts == told
    part = schedule.of_node_zero()
    for name, column in part.rows.columns().items():
        assert columns[name].tolist() == column.tolist(), name
    table = part.rows.payloads
    for payload in range(len(table)):
        atoms = columns["payloadAtom"][columns["payloadStart"][payload] : columns["payloadStart"][payload + 1]]
        chunks = [c for a in atoms.tolist() for c in range(columns["bounds"][a], columns["bounds"][a + 1])]
        assert chunks == [c for first, stop in table.ranges(payload) for c in range(first, stop)]
    there = columns["neighbor"].reshape(schedule.network.ports, -1).T
    assert np.array_equal(there, schedule.network.neighbor_table())


@pytest.mark.parametrize("spec", ["ring:7", "hypercube:3", "fat-tree:4"])
@pytest.mark.parametrize("kind", ["allgather", "alltoall", "reduce-scatter", "allreduce"])
def test_blocks_of_ranks_need_not_be_equally_long(kind, spec):
    schedule = treecast.plan(kind, spec, bytes=1_000_003, latency="1us", rate="1GB/s")
    assert schedule.sizes is not None
    assert schedule.sizes.data == 1_000_003
    assert len(page(schedule)) > 1000


def test_the_page_names_the_digest_of_the_file(tmp_path):
    schedule = planned("streams in trees")
    treecast.save(schedule, tmp_path / "plan.tc")
    digest = (tmp_path / "plan.tc").read_text().splitlines()[1].removeprefix("digest ")
    assert facts_of(schedule)["digest"] == digest
    assert facts_of(treecast.plan("broadcast", nx.Graph([("a>b", "c")])))["digest"] == ""


@pytest.mark.parametrize("sort", SORTS)
def test_the_page_says_of_the_bound_what_the_report_says(sort):
    schedule = planned(sort)
    assert f"{schedule.steps:,}{facts_of(schedule)['beside']}\n" in f"{treecast.verify(schedule)}\n"


def test_a_file_is_called_by_its_name(tmp_path):
    nx.write_graphml(nx.petersen_graph(), tmp_path / "rail.graphml")
    text = page(treecast.plan("broadcast", tmp_path / "rail.graphml"))
    assert "<title>broadcast on rail.graphml</title>" in text


def test_frames_go_out_in_a_zip_file(tmp_path):
    script = f"""
        import {{ zipOf }} from "{MODULES}/saving.js";
        import fs from "node:fs";
        const files = JSON.parse(fs.readFileSync(0, "utf8")).map(([name, text]) => [name, new TextEncoder().encode(text)]);
        console.log(JSON.stringify([...zipOf(files)]));
    """
    files = [["step-0.svg", "<svg>ä</svg>"], ["step-1.svg", ""], ["ü.svg", "x" * 70_000]]
    with zipfile.ZipFile(io.BytesIO(bytes(run_in_node(script, files)))) as found:
        assert found.testzip() is None
        assert [[one, found.read(one).decode()] for one in found.namelist()] == files


def test_modules_are_named_apart_and_joined_once():
    text = joined("main")
    assert text.count("const replay_js =") == 1
    assert {path.stem for path in MODULES.glob("*.js")} == set(re.findall(r"const (\w+)_js =", text))


def test_the_joined_script_is_one_that_node_can_read(tmp_path):
    file = tmp_path / "page.mjs"
    file.write_text(joined("main"), "utf-8")
    done = subprocess.run([find_node(), "--check", file], capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr


def test_modules_are_short():
    for path in MODULES.glob("*.js"):
        assert len(path.read_text("utf-8").splitlines()) < 400, path.name


def test_too_large_networks_are_refused():
    schedule = treecast.plan("broadcast", "hypercube:13")
    with pytest.raises(TreecastError, match=f"8,192 nodes are more than the {MOST_NODES:,} that a page holds"):
        treecast.draw(schedule, "plan.html")


def test_the_page_is_written_with_its_faults(tmp_path):
    schedule = planned("streams in trees")
    treecast.draw(schedule, tmp_path / "plan.html", faults=treecast.Faults({7: 2}, {(3, 1): 4}))
    text = (tmp_path / "plan.html").read_text("utf-8")
    facts, _ = unpacked(re.search(r'start\("([^"]*)"', text)[1])
    assert facts["faults"] == {"nodes": [[7, 2]], "arcs": [[3 * schedule.network.ports + 1, 4]]}


NETWORKS = (
    "star:3",
    "star:5",
    "hypercube:6",
    "mesh:8x8",
    "mesh:3x4x5",
    "torus:4x4x4",
    "ring:9",
    "path:12",
    "complete:7",
    "fat-tree:4",
    "tree:3,2",
    "debruijn:2,4",
    "kautz:2,3",
    "petersen",
    "dragonfly:4,2",
    "circulant:16,1,5",
    "hyperx:3x3x3",
    "slim-fly:5",
    "random-regular:24,4,1",
)


@pytest.mark.parametrize("spec", NETWORKS)
def test_nodes_stand_apart(spec):
    network = treecast.network(spec)
    x, y = places_of(network, 0)
    assert 0 <= x.min() <= x.max() <= 10_000
    assert 0 <= y.min() <= y.max() <= 10_000
    assert len(set(zip(x.tolist(), y.tolist(), strict=True))) == network.nodes


def test_names_of_nodes_are_no_html():
    names = nx.Graph([("</script><b>x", "$data"), ("$data", "ä&ö"), ("ä&ö", "</script><b>x")])
    text = page(treecast.plan("broadcast", names))
    assert text.count("</script>") == 1
    facts, _ = unpacked(re.search(r'start\("([^"]*)"', text)[1])
    assert facts["labels"] == ["</script><b>x", "$data", "ä&ö"]


def test_a_page_has_all_trees(tmp_path):
    with pytest.raises(TreecastError, match="a page has all trees: leave out the tree"):
        treecast.draw(planned("streams in trees"), tmp_path / "plan.html", tree=0)


EMPTY = {"meta", "input", "link", "br"}


class Balanced(HTMLParser):
    """Refuses HTML whose elements are not closed in order; keeps ids and what is loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.loaded = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.loaded += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS)
def test_a_page_is_one_file_that_loads_nothing(sort):
    text = page(planned(sort))
    assert len(text.encode()) < MOST_BYTES
    assert "http" not in text.lower()
    assert "import " not in re.sub(r"\s//.*", "", text[text.index("<script") :])
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    assert not parser.loaded
    assert len(set(parser.ids)) == len(parser.ids)
