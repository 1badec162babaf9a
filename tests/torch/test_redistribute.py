"""DTensor.redistribute by plans: every pair of placements, with numbers, bit for bit what torch's own gives."""

import subprocess
import sys
from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor  # noqa: E402

import treecast  # noqa: E402
import treecast.torch  # noqa: E402
from tests.mpi.conftest import ROOT  # noqa: E402
from tests.torch.ranks import run  # noqa: E402
from treecast.errors import PlanError  # noqa: E402
from treecast.torch.demands import plan_of  # noqa: E402

SHAPE = (5, 7)
KINDS = {"R": Replicate(), "S0": Shard(0), "S1": Shard(1), "P": Partial()}
TO = ("R", "S0", "S1")


def pairs_of(sizes):
    """All placements of a tensor before and after."""
    axes = len(sizes)
    return list(product(product(KINDS, repeat=axes), product(TO, repeat=axes)))


def whole_numbers(mesh, before, dtype=torch.float32):
    """A tensor of whole numbers; of partial sums each contribution differs, and replicas are equal."""
    cut = [Replicate() if name == "P" else KINDS[name] for name in before]
    local = distribute_tensor(torch.zeros(SHAPE, dtype=dtype), mesh, cut).to_local()
    place = [at if name != "R" else -1 for at, name in zip(mesh.get_coordinate(), before, strict=True)]
    numbers = torch.Generator().manual_seed(sum((at + 2) * 97**axis for axis, at in enumerate(place)))
    local = torch.randint(1, 1000, local.shape, generator=numbers).to(dtype)
    stride = torch.empty(SHAPE).stride()
    return DTensor.from_local(
        local, mesh, [KINDS[name] for name in before], shape=SHAPE, stride=stride, run_check=False
    )


def program(rank, sizes, pairs):
    """The pairs in which a rank gets other numbers than torch's own redistribute brings."""
    mesh, wrong = init_device_mesh("cpu", sizes), []
    for before, after in pairs:
        given = whole_numbers(mesh, before)
        kept, to = given.to_local().clone(), [KINDS[name] for name in after]
        found, right = treecast.torch.redistribute(given, to), given.redistribute(mesh, to)
        same = found.placements == right.placements and found.shape == right.shape
        if not (same and torch.equal(found.to_local(), right.to_local()) and torch.equal(kept, given.to_local())):
            wrong.append((before, after))
    return wrong


def check(sizes, pairs):
    """Carry pairs out on as many ranks as a mesh has, which inherit the plans."""
    for before, after in pairs:
        plan_of(sizes, before, after, SHAPE, "one-port")
    ranks = torch.Size(sizes).numel()
    assert run(ranks, program, sizes, pairs, backend="gloo") == [[]] * ranks


@pytest.mark.parametrize("sizes", [(2,), (3,)])
def test_every_pair_of_placements_of_a_line_of_ranks(sizes):
    check(sizes, pairs_of(sizes))


@pytest.mark.parametrize("name", ["avg", "max", "min", "product"])
def test_other_operations_of_partial_sums(name):
    def program(rank):
        mesh, found = init_device_mesh("cpu", (4,)), []
        local = (torch.arange(35.0) % 7 - 3 + rank).reshape(SHAPE)
        given = DTensor.from_local(local, mesh, [Partial(name)], run_check=False)
        for to in (Replicate(), Shard(1)):
            mine, right = treecast.torch.redistribute(given, [to]), given.redistribute(mesh, [to])
            found.append(torch.equal(mine.to_local(), right.to_local()))
        return found

    assert run(4, program, backend="gloo") == [[True, True]] * 4


def test_placements_that_cannot_be_planned_are_refused():
    def program(rank):
        mesh, said = init_device_mesh("cpu", (2,)), []
        for before, after in ((Replicate(), Partial()), (Partial("norm"), Replicate())):
            given = DTensor.from_local(torch.ones(SHAPE), mesh, [before], run_check=False)
            try:
                treecast.torch.redistribute(given, [after])
            except PlanError as error:
                said.append(str(error))
        return said

    (first, second), other = run(2, program, backend="gloo")
    assert other == [first, second]
    assert "not redistributed to partial sums" in first
    assert "is no placement that can be planned" in second


# DTensor.redistribute on a square of ranks: every pair of placements.


pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.slow
def test_every_pair_of_placements_of_a_square_of_ranks():
    check((2, 2), pairs_of((2, 2)))


@pytest.mark.slow
def test_the_example_says_that_all_ranks_have_the_same_as_with_torch():
    start = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "4", "--timeout", "250", "--", sys.executable]
    file = ROOT / "examples/redistribute_torch.py"
    done = subprocess.run([*start, file], capture_output=True, text=True, check=False, timeout=280)
    right = done.stdout.rstrip().endswith("all ranks have what torch's own redistribute gives: True")
    assert (done.returncode, right) == (0, True), done.stdout + done.stderr
