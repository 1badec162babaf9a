"""Plans on graphs that are a known network under other names: as good as on the network itself, and right on the graph."""

from random import Random

import networkx as nx
import pytest

from tests.networks.test_recognition import graph, shuffled
from treecast import program
from treecast.cli import main
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.files import formats
from treecast.networks import network
from treecast.networks.recognition import recognise
from treecast.plans import plan, plan_again
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def test_what_graphs_alone_can_do_is_still_done():
    where = shuffled(graph("hypercube:4"), 4)
    assert plan("gatherv", where, lengths=2, root=where.label(1)).network is where
    assert verify(plan("gatherv", where, lengths=2)).holds
    with pytest.raises(PlanError, match="5 copies, to survive 4 dead nodes, need 5 node-disjoint paths"):
        plan("alltoall", where, copies=5)
    with pytest.raises(PlanError, match="there is no plan of broadcast on graph:16 under model wormhole"):
        plan("broadcast", where, model="wormhole")


def test_copies_survive_what_they_claim():
    where = shuffled(graph("hypercube:3"), 2)
    for kind in ("broadcast", "allgather", "alltoall", "scatter"):
        for what in ("nodes", "links"):
            assert sweep(plan(kind, where, survive=2), 2, what).failing == 0


def test_one_nodes_program_is_its_part_of_the_plan():
    where, chance = shuffled(graph("star:4"), 8), Random(1)
    for _ in range(4):
        node, root = chance.sample(range(24), 2)
        mine = program("broadcast", where, where.label(node), root=where.label(root), messages=9)
        whole = plan("broadcast", where, root=where.label(root), messages=9, builder=mine.recipe.builder)
        assert mine.rows == whole.at(node).rows


def test_in_files_and_on_the_command_line(tmp_path, capsys):
    cube = nx.relabel_nodes(nx.hypercube_graph(4), lambda bits: "host" + "".join(map(str, bits)))
    nx.write_graphml(cube, tmp_path / "cube.graphml")
    spec = f"file:{tmp_path / 'cube.graphml'}"
    assert main(["plan", "broadcast", spec, "--messages", "8", "--survive", "1", "-o", str(tmp_path / "plan.tc")]) == 0
    said = capsys.readouterr().out
    assert f"network        {spec}, 16 nodes" in said
    assert "like           hypercube:4, under other names: planned as such" in said
    loaded = formats.load(tmp_path / "plan.tc")
    assert verify(loaded).holds
    assert loaded.network == network(spec)
    assert plan_again(loaded) == loaded
    assert main(["plan", "broadcast", "hypercube:4"]) == 0
    assert "like" not in capsys.readouterr().out


KINDS = [name for name, kind in COLLECTIVES.items() if not kind.lengths and not kind.targets]


SPECS = ["hypercube:3", "torus:3x4", "star:4", "ring:5", "complete:5", "hyperx:3x4", "circulant:13,1,5", "mesh:3x3"]


@pytest.mark.slow
@pytest.mark.each(11)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", KINDS)
def test_they_take_as_many_steps_and_are_right(spec, kind):
    where = shuffled(graph(spec), 4)
    known = recognise(where).known
    root = {} if COLLECTIVES[kind].all_source else {"root": where.label(2)}
    for messages, copies in ((1, 1), (3, 1), (3, 2)):
        try:
            best = plan(kind, known, messages=messages, copies=copies)
        except PlanError:
            continue
        found = plan(kind, where, messages=messages, copies=copies, **root)
        assert found.network is where
        assert not found.orbit
        assert found.collective.root == (where.node(root["root"]) if root else 0)
        assert found.copies == best.copies
        assert found.steps <= best.steps
        if found.steps == best.steps:  # an exchange goes by the numbers of nodes, and may be luckier under other names
            if best.builder != "priced-paths":  # whose ways depend on the root
                assert found.transmissions == best.transmissions
            assert found.recipe == best.recipe
        assert verify(found).holds
        if messages == 3 and where.nodes < 13:
            assert verify(found, method="expanded").holds
            assert plan_again(found) == found


@pytest.mark.slow
def test_messages_that_combine():
    where = shuffled(graph("hypercube:4"), 9)
    for model, kinds in (("whispering", ("broadcast", "allgather", "allreduce")), ("shouting", KINDS)):
        for kind in kinds:
            assert verify(plan(kind, where, model=model, messages=2)).holds
    copied = plan("allgather", where, model="whispering", copies=2)
    assert not copied.sparing  # calling paths, which prove the copies of sparing schedules, go by a hypercube's labels
    assert verify(copied).holds
