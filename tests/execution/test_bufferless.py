"""Scatterv and gatherv on real bytes: what arrives is what was sent, and nobody keeps what is not for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.errors import FaultError, FormatError, PlanError
from treecast.networks import network
from treecast.networks.node_files import flits_of, node_files
from treecast.plans import plan
from treecast.running.execution.bufferless import run_bufferless
from treecast.running.execution.on_files import read_messages, write_messages
from treecast.simulation.faults import parse_faults
from treecast.simulation.replay import simulate

JOBS = [
    ("scatterv", "farthest-first"), ("gatherv", "transmission-certificate"), ("gatherv", "nearest-first"),
]  # fmt: skip


def messages(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return {node: rng.bytes(size) for node, size in sizes.items()}


@examples(30)
@given(st.data())
def test_every_byte_arrives(data):
    where = network(data.draw(st.sampled_from(["path:5", "tree:2,2", "star:3", "mesh:3x3", "hypercube:3", "tree:6,1"])))
    flit = data.draw(st.integers(1, 40))
    root = data.draw(st.integers(0, where.nodes - 1))
    sizes = {v: data.draw(st.integers(0, 99)) for v in range(where.nodes) if v != root}
    kind, builder = data.draw(st.sampled_from(JOBS))
    model = data.draw(st.sampled_from(["bufferless", "bufferless-multiport"]))
    lengths = {v: -(-size // flit) for v, size in sizes.items()}
    schedule = plan(kind, where, root=root, lengths=lengths, model=model, builder=builder)
    sent = messages(sizes)
    done = run_bufferless(schedule, sent, flit)
    assert dict(done.contents) == sent
    assert not done.lost.any()
    assert (done.steps, done.transmissions) == (schedule.steps, schedule.transmissions)
    assert done.held <= (1 if model == "bufferless" else where.degree)


@pytest.mark.parametrize(("kind", "builder"), JOBS)
def test_what_fails_loses_what_the_simulator_says(kind, builder):
    where = network("tree:2,3")
    schedule = plan(kind, where, lengths=[v % 4 for v in range(where.nodes)], model="bufferless", builder=builder)
    sent = messages({v: 10 * (v % 4) for v in range(1, where.nodes)})
    some = False
    for fault in ("2@7", "1@0", "5@12", "14@20"):
        faults = parse_faults(where, [fault])
        done, trace = run_bufferless(schedule, sent, 10, faults), simulate(schedule, faults)
        lost = np.zeros(where.nodes, int)
        for chunk in range(schedule.collective.chunks):
            owner = int(schedule.collective.lengths.block_of(chunk))
            lost[owner] += trace.arrival_step(owner if kind == "scatterv" else 0, chunk) is None
        assert done.lost.tolist() == lost.tolist()
        some |= bool(lost.any())
    assert some


def test_what_does_not_fit_is_refused():
    schedule = plan("scatterv", "path:3", lengths=[0, 2, 1], model="bufferless")
    with pytest.raises(PlanError, match="node 1 has 31 bytes, 4 flits of 10"):
        run_bufferless(schedule, {1: bytes(31), 2: bytes(9)}, 10)
    with pytest.raises(PlanError, match="give a file"):
        run_bufferless(plan("scatter", "path:3"), {}, 10)
    with pytest.raises(FaultError):
        run_bufferless(schedule, {1: bytes(20), 2: bytes(9)}, 10, parse_faults(schedule.network, ["0"]))


@pytest.fixture
def folder(tmp_path):
    here = tmp_path / "data"
    here.mkdir()
    for node in range(1, 5):
        (here / f"{node}.bin").write_bytes(bytes(range(node * 20)))
    (here / ".hidden").write_bytes(b"x")
    return here


def test_a_folder_of_files(folder, tmp_path):
    where = network("path:5")
    files = node_files(where, folder, 0)
    assert sorted(files) == [1, 2, 3, 4]
    assert flits_of(where, files, 30).tolist() == [0, 1, 2, 2, 3]
    schedule = plan("scatterv", where, lengths=flits_of(where, files, 30), model="bufferless")
    done = run_bufferless(schedule, read_messages(files), 30)
    write_messages(done, files, str(tmp_path / "out"))
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == {
        p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith(".")
    }
    with pytest.raises(FormatError, match="name another folder"):
        write_messages(done, files, str(folder))


@pytest.mark.parametrize(
    ("name", "said"),
    [("0", "root's own"), ("4.txt", "both of node 4"), ("notes.md", "no node"), ("5", "no node")],
)
def test_a_file_that_does_not_belong_is_named(folder, name, said):
    (folder / name).write_bytes(b"")
    with pytest.raises(FormatError, match=said):
        node_files(network("path:5"), folder, 0)


def test_a_node_without_a_file_is_named(folder, tmp_path):
    (folder / "3.bin").unlink()
    with pytest.raises(FormatError, match="node 3 has no file"):
        node_files(network("path:5"), folder, 0)
    with pytest.raises(FormatError, match="no folder"):
        node_files(network("path:5"), tmp_path / "nowhere", 0)
    with pytest.raises(PlanError, match="carries nothing"):
        flits_of(network("path:5"), {}, 0)
