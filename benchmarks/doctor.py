"""What ``doctor`` says that rings allow, beside SimGrid: ten fabrics, two orders of hosts each. Needs ``make simgrid``.

A ring of an allreduce is replayed, 2 (N - 1) steps in each of which every rank sends its part to the next; its busbw is as
nccl-tests counts it. The fabrics have one way between two hosts, for SimGrid's routes are fixed, and ``doctor`` spreads hops
over all shortest ways. Ends with exit status 1 if the two differ by more than 5 % anywhere.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import networkx as nx

import treecast
from treecast.files import formats

SIZE = 512_000_000
RATE = "100Gbit/s"
OPTIONS = (
    *("network/crosstraffic:0", "smpi/bw-factor:0:1", "smpi/lat-factor:0:1"),
    *("smpi/send-is-detached-thresh:0", "smpi/async-small-thresh:0"),
)


def _below(*leaves, spine="top", wide=1):
    """A tree of switches: so many hosts below each leaf, ``wide`` cables from each leaf up."""
    graph = nx.Graph()
    hosts = iter(range(10_000))
    for leaf, count in enumerate(leaves):
        graph.add_edge(f"leaf{leaf}", spine, capacity=wide)
        graph.add_edges_from((f"leaf{leaf}", f"h{next(hosts):03}") for _ in range(count))
    nx.set_node_attributes(graph, {v: True for v in graph if not v.startswith("h")}, "relay")
    return graph


def _three_levels():
    graph = nx.compose(
        _below(2, 2, spine="row0"), nx.relabel_nodes(_below(2, 2, spine="row1"), lambda v: f"{v[0]}{v[1:]}b")
    )
    graph.add_edges_from([("row0", "core"), ("row1b", "core")])
    nx.set_node_attributes(graph, {v: True for v in graph if not v.startswith("h")}, "relay")
    return graph


FABRICS = {
    "two leaves of 4": _below(4, 4),
    "three leaves of 4": _below(4, 4, 4),
    "four leaves of 2": _below(2, 2, 2, 2),
    "two leaves of 8": _below(8, 8),
    "leaves of 6, 4 and 2": _below(6, 4, 2),
    "five leaves of 3": _below(3, 3, 3, 3, 3),
    "two leaves of 6, 2 cables up": _below(6, 6, wide=2),
    "three leaves of 6, 3 cables up": _below(6, 6, 6, wide=3),
    "one switch of 8": _below(8),
    "three levels": _three_levels(),
}


def orders(hosts):
    """The hosts leaf by leaf, and dealt in turn."""
    half = -(-len(hosts) // 2)
    return {
        "in order": hosts,
        "dealt": [v for pair in zip(hosts[:half], [*hosts[half:], ""], strict=False) for v in pair if v],
    }


def said(network, order, folder):
    """The busbw that doctor says a ring in an order allows, in bytes a second."""
    lines = [f"#  Rank {rank:2} Group  0 Pid 1 on {host} device  0 [0x10] X" for rank, host in enumerate(order)]
    ring = " ".join(map(str, range(len(order))))
    lines += [f"{order[0]}:1:1 [0] NCCL INFO Channel 00/01 : {ring}"]
    lines += [
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    ]
    lines += [f"{SIZE} {SIZE // 4} float sum -1 1000000 0.1 0.1 0 1000000 0.1 0.1 0"]
    (folder / "log.txt").write_text(
        "\n".join(["# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)", *lines, ""])
    )
    return treecast.doctor(folder / "log.txt", network, collective="allreduce", rate=RATE).rings.busbw


def replayed(network, order, folder):
    """The busbw of that ring in SimGrid, in bytes a second."""
    formats.save(treecast.plan("broadcast", network), folder / "out", to="simgrid", rate=RATE, latency=0)
    ranks, part = len(order), SIZE // len(order)
    number = {network.label(u): u for u in range(network.nodes)}
    for rank in range(ranks):
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        steps = [
            f"{rank} irecv {before} {s} {part}\n{rank} isend {after} {s} {part}\n{rank} waitall\n"
            for s in range(2 * ranks - 2)
        ]
        (folder / f"out/ring{rank}").write_text("".join([f"{rank} init\n", *steps, f"{rank} finalize\n"]))
    (folder / "out/ring.txt").write_text("".join(f"ring{rank}\n" for rank in range(ranks)))
    (folder / "out/ring.hosts").write_text("".join(f"h{number[host]}\n" for host in order))
    words = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "ring.hosts"]
    words += [*(f"--cfg={option}" for option in OPTIONS), "-replay", "ring.txt", "--log=root.thres:info"]
    done = subprocess.run(words, cwd=folder / "out", capture_output=True, text=True, check=True, timeout=300)
    seconds = float(re.search(r"Simulation time (\S+)", done.stdout + done.stderr)[1])
    return 2 * (ranks - 1) / ranks * SIZE / seconds


def main(wanted):
    """Print the table, of the fabrics whose names begin so; return 1 if any two figures differ by more than 5 %."""
    if shutil.which("smpirun") is None:
        sys.exit("SimGrid is not here: make simgrid")
    worst = 0.0
    print("| fabric | order | doctor, GB/s | SimGrid, GB/s | ratio |\n|---|---|---|---|---|")
    for name, graph in FABRICS.items():
        if wanted and not any(name.startswith(text) for text in wanted):
            continue
        network = treecast.network(graph)
        hosts = sorted(network.label(u) for u in network.ranks.tolist())
        for kind, order in orders(hosts).items():
            with tempfile.TemporaryDirectory() as folder:
                ours, theirs = said(network, order, Path(folder)), replayed(network, order, Path(folder))
            worst = max(worst, abs(ours / theirs - 1))
            print(f"| {name} | {kind} | {ours / 1e9:.2f} | {theirs / 1e9:.2f} | {ours / theirs:.3f} |", flush=True)
    return int(worst > 0.05)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
