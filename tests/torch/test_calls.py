"""Every call of c10d, of every dtype and layout, beside gloo in the same processes; and what comes of calls after a death."""

import os
import signal

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402

import treecast.torch  # noqa: E402
from tests.torch.ranks import run  # noqa: E402

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
)
LAYOUTS = ("contiguous", "transposed", "sliced", "empty", "scalar")
OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


def make(rank, number, dtype, layout, first=None):
    """Return a tensor of small whole numbers, so that every dtype adds exactly."""
    shape = {"scalar": (), "empty": (0, 3)}.get(layout, (first or 4, 3))
    made = torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(100 * number + rank))
    made = made.to(getattr(torch, dtype))
    if layout == "transposed":
        made = made.t().contiguous().t()
    if layout == "sliced":
        made = torch.stack([made, made], -1)[..., 0]
    return made


def calls(n, rank):
    """Yield each call by its name: a function of (group, make) that returns tensors."""

    def reduced(op):
        def call(group, new):
            mine = new()
            dist.all_reduce(mine, getattr(dist.ReduceOp, op), group=group)
            return [mine]

        return call

    def broadcast(group, new):
        mine = new()
        dist.broadcast(mine, 1, group=group)
        return [mine]

    def reduce(group, new):
        mine = new()
        dist.reduce(mine, 1, group=group)
        return [mine] if rank == 1 else []

    def all_gather(group, new):
        found = [torch.zeros_like(new()) for _ in range(n)]
        dist.all_gather(found, new(), group=group)
        return found

    def gather(group, new):
        found = [torch.zeros_like(new()) for _ in range(n)] if rank == 2 else None
        dist.gather(new(), found, 2, group=group)
        return found or []

    def scatter(group, new):
        found = torch.zeros_like(new())
        dist.scatter(found, [new() for _ in range(n)] if rank == 0 else None, 0, group=group)
        return [found]

    def all_to_all(group, new):
        found = torch.zeros_like(new(n).contiguous())
        dist.all_to_all_single(found, new(n).contiguous(), group=group)
        return [found]

    def sent(group, new):
        mine = new()
        works = [dist.isend(new(), (rank + 1) % n, group=group), dist.irecv(mine, (rank - 1) % n, group=group)]
        for work in works:
            work.wait()
        return [mine]

    def later(group, new):
        several = [new() for _ in range(3)]
        for work in [dist.all_reduce(each, group=group, async_op=True) for each in several][::-1]:
            work.wait()
        return several

    yield from ((op, reduced(op)) for op in OPS)
    yield from (each for each in locals().items() if callable(each[1]) and each[0] != "reduced")


def outcome(call, group, new):
    try:
        return call(group, new)
    except (RuntimeError, ValueError):
        return "refused"


def beside_gloo(rank, n, dtype):
    gloo, wrong, number = dist.new_group(backend="gloo"), [], 0
    for layout in LAYOUTS:
        for name, call in calls(n, rank):
            number += 1
            if name == "all_to_all" and layout in ("scalar", "empty"):
                continue

            def new(first=None, number=number, layout=layout):
                return make(rank, number, dtype, layout, first)

            def plain(first=None, new=new):  # gloo adds what lies in memory, whatever the strides
                return new(first).contiguous()

            ours, theirs = outcome(call, dist.group.WORLD, new), outcome(call, gloo, plain)
            if theirs != "refused" and not alike(ours, theirs):
                wrong.append((layout, name, ours, theirs))
    return wrong


def alike(ours, theirs):
    if ours == "refused" or len(ours) != len(theirs):
        return False
    return all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "bfloat16",
        *[pytest.param(d, marks=pytest.mark.long) for d in DTYPES if d not in ("float32", "bfloat16")],
    ],
)
def test_every_call_gives_what_gloo_gives(dtype):
    assert run(3, beside_gloo, 3, dtype) == [[]] * 3


def across(rank):
    """Messages pass collectives that one side has begun and the other not yet."""
    found = torch.zeros(70_000)
    if rank == 0:
        work = dist.all_reduce(torch.ones(200_000), async_op=True)
        dist.send(torch.ones(70_000), 1)
        work.wait()
    else:
        dist.recv(found, 0)
        total = torch.ones(200_000)
        dist.all_reduce(total)
        return found[-1].item(), total[-1].item()
    several = [torch.zeros(3) for _ in range(2)]
    return [None, several][:1]


def test_messages_do_not_queue_behind_collectives():
    assert run(2, across)[1] == (1.0, 2.0)


def after(rank, n, keeps):
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    said = {}

    def note(name, call):
        try:
            said[name] = call()
        except Exception as error:
            said[name] = f"{type(error).__name__}: {error}"

    def total(op=dist.ReduceOp.SUM, group=None):
        mine = torch.full((2,), rank + 1.0)
        dist.all_reduce(mine, op, group=group)
        return mine[0].item()

    def gathered():
        found = [torch.full((2,), -1.0) for _ in range(n)]
        dist.all_gather(found, torch.full((2,), float(rank)))
        return [each[0].item() for each in found]

    def objects():
        found = [None] * n
        dist.all_gather_object(found, rank)
        return found

    note("sum", total)
    note("mean", lambda: total(dist.ReduceOp.AVG))
    note("failed", treecast.torch.failed)
    note("living", treecast.torch.living)
    note("size", dist.get_world_size)
    note("barrier", dist.barrier)
    note("from 0", lambda: dist.broadcast(torch.ones(2), 0))
    note("from the dead", lambda: dist.broadcast(torch.ones(2), 1))
    note("to the dead", lambda: dist.reduce(torch.ones(2), 1))
    note("message", lambda: dist.recv(torch.ones(2), 1))
    note("all_gather", gathered)
    note("objects", objects)
    note("group with the dead", lambda: dist.new_group())
    group = treecast.torch.shrink()
    note("shrunk", lambda: (dist.get_world_size(group), dist.get_rank(group), total(group=group)))
    return said


@pytest.mark.parametrize("keeps", [False, True])
def test_calls_after_a_death(keeps):
    found = run(4, after, 4, keeps, on_failed="ignore" if keeps else "warn")
    assert found[1] is None
    first, *others = [found[rank] for rank in (0, 2, 3)]
    shrunk = [each.pop("shrunk") for each in (first, *others)]
    assert shrunk == [(3, 0, 8.0), (3, 1, 8.0), (3, 2, 8.0)]
    assert [first] * 2 == others
    assert (first["sum"], first["mean"], first["failed"], first["living"]) == (
        8.0,
        pytest.approx(8 / 3),
        (1,),
        (0, 2, 3),
    )
    assert (first["size"], first["barrier"], first["from 0"]) == (4, None, None)
    assert "the data is lost with its root, rank 1" in first["from the dead"]
    assert "the result is lost with its root, rank 1" in first["to the dead"]
    assert first["message"] == "DistBackendError: treecast: recv: rank 1 has died, and the message is lost (closed)"
    gone = "rank 1 has died, and its part of the result is whatever was there before"
    said = f"DistBackendError: treecast: allgather: {gone}; treecast.torch.shrink() makes a group of those who live"
    assert first["all_gather"] == ([0.0, 0.0, 2.0, 3.0] if keeps else said)
    assert first["objects"].startswith("EOFError" if keeps else "DistBackendError")
    assert first["group with the dead"] == "PlanError: rank 1 has failed and is in no new group: name those in living()"


def unsurvived(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(torch.ones(100_000))
    except RuntimeError as error:
        return str(error)
    return "nothing"


def test_survive_0_makes_a_death_an_error_at_all():
    said = "treecast: Allreduce, call 1: rank 1 failed in one call, and survive=0: say survive=1"
    assert run(3, unsurvived, survive=0) == [said, None, said]


def sharded(rank):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    fully_shard(model, mesh=DeviceMesh.from_group(dist.group.WORLD, "cpu"))
    optimiser = torch.optim.AdamW(model.parameters())
    try:
        for step in range(5):
            if step == 2 and rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            model(torch.ones(2, 8)).square().mean().backward()
            optimiser.step()
            optimiser.zero_grad()
    except RuntimeError as error:
        return str(error)
    return "nothing"


def test_sharded_training_says_that_a_shard_is_gone():
    found = run(3, sharded)
    assert found[0] == found[2]
    assert (
        "rank 1 has died, and its part of the result is whatever was there before; treecast.torch.shrink()" in found[0]
    )


def sparse(rank):
    x = torch.sparse_coo_tensor([[0, rank + 1]], [1.0, 2.0], (4,), check_invariants=True)
    dist.all_reduce(x, async_op=True).wait()
    return x.to_dense().tolist()


def test_sparse_tensors_are_summed_beside_the_program_too():
    assert run(2, sparse) == [[2.0, 2.0, 2.0, 0.0]] * 2
