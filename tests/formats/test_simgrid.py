"""The folder for SimGrid: the traces deliver, routes are shortest, and SimGrid takes the time of the steps."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from tests.interpreters.jobs import CUT, JOBS, SPECS, WIRED, chunks_of_ranks, planned
from tests.interpreters.memory import WrongError
from tests.interpreters.traces import interpret
from tests.test_claims import ROOT, row_of
from treecast.errors import FormatError
from treecast.files import formats
from treecast.files.formats.registry import exporter_named
from treecast.files.formats.simgrid import network_file
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule.costs import Costs

EXACT = [
    "network/crosstraffic:0", "smpi/bw-factor:0:1", "smpi/lat-factor:0:1", "smpi/send-is-detached-thresh:0",
    "smpi/async-small-thresh:0",
]  # fmt: skip
SIMGRID = exporter_named("simgrid")


def equal_sizes(schedule, size):
    return [size] * schedule.collective.chunks


def encoded(schedule, **settings):
    return dict(SIMGRID.encode(schedule, **settings))


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_traces_deliver_every_byte(kind, spec):
    schedule = planned(kind, spec)
    chunks = chunks_of_ranks(schedule)
    interpret(encoded(schedule, size=12 * chunks), schedule, equal_sizes(schedule, 12))
    interpret(encoded(schedule, size=12 * chunks, additions=1e9), schedule, equal_sizes(schedule, 12))


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("broadcast", "star:4", {"messages": 5, "copies": 3}),
        ("allgather", "hypercube:3", {"messages": 2, "copies": 2}),
        ("scatter", "mesh:2x4", {"messages": 2, "model": "wormhole"}),
        ("alltoall", "hypercube:3", {"model": "shouting"}),
        ("scatter", "hypercube:3", {"model": "shouting", "messages": 4}),
        ("reduce", "hypercube:3", {"model": "whispering", "messages": 2}),
        ("allreduce", "torus:3x4", {"without_owners": True}),
        ("allreduce", "complete:6", {"model": "whispering", "messages": 2, "without_owners": True}),
        ("allreduce", "tree:2,2", {"model": "shouting", "without_owners": True}),
    ],
)
def test_traces_of_other_models_and_copies_deliver(kind, spec, more):
    schedule = plan(kind, spec, **more)
    interpret(encoded(schedule), schedule, equal_sizes(schedule, 65_536))


def changed(lines):
    """Yield (what, lines) for every line that moves data, left out or changed by a little, and two lines exchanged."""
    for i, line in enumerate(lines):
        words = line.split(" ")
        if words[1] not in ("isend", "irecv"):
            continue
        rank, word, peer, tag, size = words
        for what, other in (
            ("left out", None),
            ("twice", f"{line}\n{line}"),
            ("another peer", f"{rank} {word} {(int(peer) + 1) % 4} {tag} {size}"),
            ("another tag", f"{rank} {word} {peer} {int(tag) + 1} {size}"),
            ("another size", f"{rank} {word} {peer} {tag} {int(size) - 1}"),
            ("turned round", f"{rank} {'irecv' if word == 'isend' else 'isend'} {peer} {tag} {size}"),
        ):
            yield what, lines[:i] + ([] if other is None else other.split("\n")) + lines[i + 1 :]


def test_every_changed_message_is_noticed():
    schedule = plan("broadcast", "path:4", messages=2)
    files, sizes = encoded(schedule), equal_sizes(schedule, 65_536)
    tried = 0
    for name in sorted(files):
        if name.startswith("rank"):
            for _, lines in changed(files[name].decode().splitlines()):
                tried += 1
                with pytest.raises(WrongError):
                    interpret(files | {name: "".join(f"{line}\n" for line in lines).encode()}, schedule, sizes)
    assert tried == 6 * 2 * 6


def test_a_send_that_does_not_wait_for_its_chunk_is_noticed():
    schedule = plan("broadcast", "path:3", messages=2)
    files, sizes = encoded(schedule), equal_sizes(schedule, 65_536)
    relay = files["rank1.txt"].decode()
    assert relay.split("\n")[2] == "1 waitall"
    with pytest.raises(WrongError, match="has not got"):
        interpret(files | {"rank1.txt": relay.replace("1 waitall\n", "", 1).encode()}, schedule, sizes)
    late = relay.replace("1 finalize\n", "1 irecv 0 7 5\n1 waitall\n1 finalize\n")
    with pytest.raises(WrongError, match=r"ranks \[1\] wait for ever"):
        interpret(files | {"rank1.txt": late.encode()}, schedule, sizes)


# -- the network -------------------------------------------------------------------------------------------------------


def read_network(data):
    """Return the hosts, {link: bandwidth} and {(src, dst): links} of a network file."""
    (zone,) = ET.fromstring(data)
    hosts = [host.get("id") for host in zone.iter("host")]
    links = {link.get("id"): float(link.get("bandwidth").removesuffix("Bps")) for link in zone.iter("link")}
    routes = {(route.get("src"), route.get("dst")): [link.get("id") for link in route] for route in zone.iter("route")}
    assert all(link in links for route in routes.values() for link in route)
    return hosts, links, routes


@pytest.mark.parametrize("spec", [*SPECS, CUT, "debruijn:2,3", "complete:5"])
def test_the_network_has_every_arc_and_shortest_routes(spec):
    where = network(spec)
    hosts, links, routes = read_network(encoded(plan("broadcast", spec))["platform.xml"])
    graph = where.to_networkx()
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert hosts == [f"h{u}" for u in graph]
    assert set(links.values()) == {125e6}
    assert {f"l{u}_{v}" for u, v in graph.edges} <= set(links)
    far = dict(nx.all_pairs_shortest_path_length(graph))
    assert len(routes) == where.nodes * (where.nodes - 1)
    for (src, dst), way in routes.items():
        u, v = int(src[1:]), int(dst[1:])
        ends = [tuple(map(int, link[1:].split("_"))) for link in way]
        assert [u, *(b for _, b in ends)] == [*(a for a, _ in ends), v]
        assert len(way) == far[u][v]
        if len(way) > 1:  # the least port that leads nearer
            least = next(w for w in where.neighbors(u) if far[w].get(v) == far[u][v] - 1)
            assert ends[0][1] == least


def test_half_duplex_links_one_port_and_wormhole_routes():
    path = plan("broadcast", "path:3", messages=2)
    links = {}
    for name in ("all-port", "all-port,half"):
        schedule = type(path)(path.network, path.collective, model(name), path.rows)
        links[name] = read_network(encoded(schedule)["platform.xml"])[1]
    assert sorted(links["all-port,half"]) == ["l0_1", "l1_2"]
    assert sorted(links["all-port"]) == ["l0_1", "l1_0", "l1_2", "l2_1"]
    reduce = plan("reduce", "hypercube:3", model="whispering")
    _, links, routes = read_network(encoded(reduce)["platform.xml"])
    assert {f"{way}{u}" for way in ("up", "down") for u in range(8)} <= set(links)
    assert routes["h1", "h3"] == ["up1", "l1_3", "down3"]
    worm = plan("broadcast", "mesh:3x3", model="wormhole-last")
    routes = read_network(encoded(worm)["platform.xml"])[2]
    assert set(routes["h0", "h8"]) == {"up0", "l0_1", "l1_2", "l2_5", "l5_8", "down8"}


@pytest.mark.parametrize("many", [1, 2, 4])
def test_a_port_has_the_rate_of_its_fastest_arc(many):
    """Whether the costs of arcs name those of the default or leave them out is all one."""
    schedule = plan("reduce", "path:3", model="one-port")
    costs, slow = Costs.of("1us", "100MB/s"), Costs.of("1us", "50MB/s").default
    arcs = dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)][:many], slow)
    arcs_in_full = dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)], costs.default) | arcs
    for said in (arcs, arcs_in_full):
        asked = {"costs": replace(costs, arcs=said), "speed": 1e9}
        links = read_network(network_file(schedule.network, schedule.model, **asked))[1]
        rates = {f"l{u}_{v}": 5e7 if (u, v) in arcs else 1e8 for u, v in arcs_in_full}
        for node in range(3):
            for way, at in (("up", 0), ("down", 1)):
                rates[f"{way}{node}"] = max(rates[f"l{arc[0]}_{arc[1]}"] for arc in arcs_in_full if arc[at] == node)
        assert links == rates
    one = network_file(network("path:2"), schedule.model, costs=replace(costs, arcs={(0, 1): slow}), speed=1e9)
    assert read_network(one)[1] == {"l0_1": 5e7, "l1_0": 1e8, "up0": 5e7, "down1": 5e7, "up1": 1e8, "down0": 1e8}


def test_where_no_way_leads_there_is_no_route():
    _, _, routes = read_network(encoded(plan("broadcast", nx.DiGraph([("a", "b"), ("b", "c")])))["platform.xml"])
    assert set(routes) == {("h0", "h1"), ("h0", "h2"), ("h1", "h2")}


def test_parallel_arcs_are_one_wider_link():
    where = network(WIRED)
    _, links, _ = read_network(encoded(plan("broadcast", WIRED))["platform.xml"])
    count = Counter((u, v) for u in where for v in where.neighbors(u))
    assert links == {f"l{u}_{v}": 125e6 * many for (u, v), many in count.items()}
    assert len(set(links.values())) > 1


def test_links_are_as_fast_as_one_says():
    data = encoded(plan("broadcast", "path:2"), rate=1e6, latency=1e-3)["platform.xml"]
    assert set(read_network(data)[1].values()) == {1e6}
    assert data.count(b'latency="0.001s"') == 2


def test_large_networks_are_refused():
    with pytest.raises(FormatError, match="720 nodes: SimGrid's routes"):
        encoded(plan("broadcast", "star:6"))


# -- what is written ---------------------------------------------------------------------------------------------------


def test_the_folder_is_written_whole_or_not_at_all(tmp_path):
    schedule = plan("broadcast", "ring:4")
    formats.save(schedule, tmp_path / "out.simgrid")
    names = sorted(path.name for path in (tmp_path / "out.simgrid").iterdir())
    assert names == ["hosts", "list.txt", "platform.xml", *(f"rank{u}.txt" for u in range(4))]
    with pytest.raises(FormatError, match="is there already, and not empty"):
        formats.save(schedule, tmp_path / "out.simgrid")
    (tmp_path / "empty").mkdir()
    formats.save(schedule, tmp_path / "empty", to="simgrid", size="1M")
    assert (tmp_path / "empty" / "rank1.txt").read_text().split("\n")[1] == "1 irecv 0 0 1048576"
    with pytest.raises(FormatError, match="cannot be written"):
        formats.save(schedule, tmp_path / "nowhere" / "out", to="simgrid")
    with pytest.raises(FormatError, match="a folder of several files"):
        formats.encode(schedule, "simgrid")
    with pytest.raises(FormatError, match="cannot go to standard output"):
        formats.save(schedule, "-", to="simgrid")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "out.simgrid"]


def test_short_chunks_are_pointed_out():
    schedule = plan("allgather", "ring:4", messages=100)
    assert SIMGRID.advise(schedule) == SIMGRID.advise(schedule, size=400 * 65_472) == ""
    assert SIMGRID.advise(schedule, size=4 * 2**20) == (
        "chunks have 10,485 bytes; below 65,472 SimGrid takes another regime: plan with --messages 16 or give --bytes "
        "26188800 or more"
    )
    assert "plan with" not in SIMGRID.advise(schedule, size=1000)
    assert SIMGRID.advise(plan("allreduce", "ring:4"), size=4 * 65_472) == ""


# -- SimGrid itself ----------------------------------------------------------------------------------------------------


def replayed(folder, nodes, exact=True):
    """Return the seconds that SimGrid says. A deadlock ends with status 0, but without a time."""
    options = [f"--cfg={option}" for option in (EXACT if exact else [])]
    done = subprocess.run(
        ["smpirun", "-np", str(nodes), "-platform", "platform.xml", "-hostfile", "hosts", *options, "-replay", "list.txt",
         "--log=root.thres:info"],
        cwd=folder, capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert "CRITICAL" not in said
    return float(re.search(r"Simulation time (\S+)", said)[1])


with_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="SimGrid is not here: apt-get install libsimgrid-dev brings its smpirun"
)


@with_simgrid
def test_the_page_says_what_simgrid_says(tmp_path):
    schedule = plan("broadcast", "hypercube:4", messages=256)
    formats.save(schedule, tmp_path / "out", to="simgrid", size="16M")
    seconds = replayed(tmp_path / "out", 16, exact=False)
    assert seconds == pytest.approx(0.040512, abs=1e-6)
    assert 1.11 < seconds / (schedule.steps * 65_536 / 125e6) < 1.14


@with_simgrid
def test_adding_takes_time_where_that_is_asked_for(tmp_path):
    schedule = plan("reduce", "path:3")
    formats.save(schedule, tmp_path / "free", to="simgrid")
    formats.save(schedule, tmp_path / "slow", to="simgrid", additions=1e6)
    free, slow = (replayed(tmp_path / name, 3) for name in ("free", "slow"))
    assert slow - free == pytest.approx(2 * 65_536 / 8 / 1e6, rel=0.01)


@with_simgrid
def test_simgrid_finds_a_missing_message(tmp_path):
    formats.save(plan("broadcast", "path:3"), tmp_path / "out", to="simgrid")
    trace = tmp_path / "out" / "rank1.txt"
    trace.write_text(trace.read_text().replace("1 isend 2 1 65536\n", ""))
    with pytest.raises((AssertionError, TypeError)):
        replayed(tmp_path / "out", 3)


def test_sizes_of_chunks_follow_the_bytes_that_are_given():
    schedule = plan("broadcast", "path:2", messages=3)
    sizes = np.diff([0, 3, 6, 10]).tolist()
    interpret(encoded(schedule, size=10), schedule, sizes)


@pytest.mark.slow
@with_simgrid
@pytest.mark.parametrize("spec", ["hypercube:4", "torus:3x3"])
@pytest.mark.parametrize(
    ("kind", "messages"), [("broadcast", 24), ("scatter", 3), ("allgather", 3), ("alltoall", 2), ("allreduce", 3)]
)
def test_simgrid_takes_the_time_of_the_steps(kind, messages, spec, tmp_path):
    schedule = plan(kind, spec, messages=messages)
    formats.save(schedule, tmp_path / "out", to="simgrid", rate="100MB/s")
    seconds = replayed(tmp_path / "out", schedule.network.nodes)
    assert seconds == pytest.approx(schedule.steps * 65_536 / 1e8, rel=0.01)


@pytest.mark.slow
@with_simgrid
def test_the_arena_prints_what_the_page_says():
    """Of the row of which README boasts, with MPI's best algorithm alone: all of them take minutes."""
    *_, ours, others, best = row_of("docs/explanation/arena.md", "| torus:4x4x4 | broadcast |")[:6]
    words = ["--networks", "torus:4x4x4", "--kinds", "broadcast", "--algorithms", best.strip("`")]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/arena.py", *words], capture_output=True, text=True, check=True, timeout=300
    )
    cells = done.stdout.splitlines()[2].split(" | ")
    assert (cells[4], f"{float(cells[7]):.0f}", f"`{cells[8]}`") == (ours, others, best)
