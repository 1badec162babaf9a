"""Programs as owners of PyTorch write them, by families: each takes its rank and how many there are, and returns what to compare.

Of those with a ``result`` gloo has none: it hangs, crashes, or refuses.
"""

import copy
import random
import tempfile
import threading
import time
from collections import OrderedDict
from contextlib import nullcontext
from functools import partial

import torch
import torch._dynamo
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.algorithms.ddp_comm_hooks as hooks
import torch.distributed.checkpoint as checkpoint
import torch.distributed.nn.functional as differentiable
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook, post_localSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging import averagers, hierarchical_model_averager
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

FAMILIES, RESULTS = {}, {}


def program(family, name=None, result=None, **given):
    """Enter a function as a program, with some of its arguments."""

    def enter(function):
        called = name or function.__name__
        FAMILIES.setdefault(family, {})[called] = partial(function, **given)
        if result is not None:
            RESULTS[called] = result
        return function

    return enter


def number(tensor):
    """Return a tensor's sum by places, so that a permutation has another."""
    flat = tensor.detach().double().reshape(-1)
    return (flat * torch.arange(1, flat.numel() + 1)).sum().item()


# ---- training: one small net, a few steps

SMALL = {"bucket_cap_mb": 0.001}  # several buckets
ZERO = {"optimizer_class": torch.optim.SGD, "lr": 0.1}


def net(width=24):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


def train(rank, model, optimiser=None, steps=4, context=nullcontext):
    """Return the loss of each step; of the last, after all others were taken."""
    losses = []
    if optimiser is None:
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(steps):
        with context() if step == 1 else nullcontext():
            inputs = torch.randn(6, 12, generator=torch.Generator().manual_seed(100 * step + rank))
            loss = model(inputs).square().mean()
            loss.backward()
            losses.append(loss.item())
        if optimiser:
            optimiser.step()
            optimiser.zero_grad(set_to_none=False)  # averagers leave out parameters that have none
    return losses


@program("parallel")
@program("parallel", "several buckets", **SMALL)
@program("parallel", "unused parameters", find_unused_parameters=True)
@program("parallel", "static graph", static_graph=True)
@program("parallel", "buckets as gradients", gradient_as_bucket_view=True, **SMALL)
@program("parallel", "no buffers", broadcast_buffers=False)
def ddp(rank, n, **options):
    return train(rank, DistributedDataParallel(net(), **options))


@program("parallel")
def no_sync(rank, n):
    model = DistributedDataParallel(net(), **SMALL)
    return train(rank, model, context=model.no_sync)


@program("parallel")
def batch_norm(rank, n):
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8)), **SMALL)
    return train(rank, model), number(model.module[1].running_mean)


@program("parallel")
def uneven_inputs(rank, n):
    model = DistributedDataParallel(net())
    with Join([model]):
        return train(rank, model, steps=2 + rank)


@program("parallel", "sparse embeddings")
@program("parallel", "sparse embeddings, several buckets", **SMALL)
def sparse_ddp(rank, n, **options):
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.EmbeddingBag(20, 4, sparse=True), **options)
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(3):
        model(torch.tensor([[1, 2], [3 + step, rank]])).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    return number(model.module.weight)


@program("parallel", overlap=False)
@program("parallel", "zero, one bucket view", overlap=False, parameters_as_bucket_view=True)
def zero(rank, n, overlap, **options):
    model = DistributedDataParallel(net())
    optimiser = ZeroRedundancyOptimizer(model.parameters(), **ZERO, **options)
    losses = train(rank, model, optimiser)
    optimiser.consolidate_state_dict(0)
    return losses


@program("parallel")
def averaged(rank, n):
    model, averager = net(), averagers.PeriodicModelAverager(period=2, warmup_steps=1)
    for _ in range(4):
        train(rank, model, steps=1)
        averager.average_parameters(model.parameters())
    return number(model[0].weight)


@program("parallel")
def averaged_in_two_levels(rank, n):
    model = net()
    periods = OrderedDict([(2, 2), (4, n)]) if n > 2 else OrderedDict([(2, n)])
    averager = hierarchical_model_averager.HierarchicalModelAverager(periods, warmup_steps=0)
    for _ in range(4):
        train(rank, model, steps=1)
        averager.average_parameters(model.parameters())
    return number(model[0].weight)


# ---- hooks of DistributedDataParallel: all that torch has


def hooked(rank, n, hook, state=lambda: None, **options):
    model = DistributedDataParallel(net(), **options)
    model.register_comm_hook(state(), hook)
    return train(rank, model)


def power_sgd(**more):
    return hooks.powerSGD.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2, **more)


for _each in (hooks.default.allreduce_hook, hooks.default.fp16_compress_hook, hooks.default.bf16_compress_hook):
    program("hooks", _each.__name__, hook=_each, **SMALL)(hooked)
for _each in (hooks.default.fp16_compress_wrapper, hooks.default.bf16_compress_wrapper):
    program("hooks", _each.__name__, hook=_each(hooks.default.allreduce_hook), **SMALL)(hooked)
program("hooks", "batched powerSGD", hook=hooks.powerSGD.batched_powerSGD_hook, state=power_sgd)(hooked)


NEAR = "near the plain sum, and equal at all ranks"  # PowerSGD hangs over gloo, now and then with one bucket, always with more


@program("hooks", "powerSGD", result=NEAR)
@program("hooks", "powerSGD, several buckets", result=NEAR, options=SMALL)
@program("hooks", "powerSGD, no feedback", result=NEAR, use_error_feedback=False)
@program("hooks", "powerSGD, cold start", result=NEAR, warm_start=False)
@program("hooks", "powerSGD, epsilon", result=NEAR, orthogonalization_epsilon=1e-6)
@program("hooks", "powerSGD in float16", result=NEAR, around=hooks.default.fp16_compress_wrapper)
def powers(rank, n, options=None, around=lambda hook: hook, **more):
    model = DistributedDataParallel(net(), **options or {})
    model.register_comm_hook(power_sgd(**more), around(hooks.powerSGD.powerSGD_hook))
    losses, plain = train(rank, model), ddp(rank, n)
    least = torch.tensor([number(each) for each in model.parameters()])
    most = least.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    is_near = all(abs(a - b) < 0.05 * b for a, b in zip(losses, plain, strict=True)) and losses != plain
    return NEAR if is_near and torch.equal(least, most) else (losses, plain, least, most)


@program("hooks", hook_type=None)
def hook_of_type(rank, n, hook_type):
    model = DistributedDataParallel(net(), **SMALL)
    if hook_type in dist.BuiltinCommHookType.__members__.values():
        model._register_builtin_comm_hook(hook_type)
    elif hook_type is not None:
        hooks.register_ddp_comm_hook(hook_type, model, None)
    return train(rank, model)


for _each in hooks.DDPCommHookType:
    if "POWER" not in _each.name:  # which gloo has not in several buckets: it hangs
        program("hooks", f"type {_each.name}", hook_type=_each)(hook_of_type)
program("hooks", "built-in", hook_type=dist.BuiltinCommHookType.ALLREDUCE)(hook_of_type)


@program("hooks")
def post_local_sgd(rank, n):
    model = DistributedDataParallel(net())
    state = post_localSGD_hook.PostLocalSGDState(None, dist.new_subgroups(1)[0], start_localSGD_iter=2)
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
    return train(rank, model, PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), 0.1), averager))


@program("hooks")
def optimiser_after_each_bucket(rank, n):
    model = DistributedDataParallel(net(), **SMALL)
    model._register_fused_optim(torch.optim.SGD, 0.1)
    return train(rank, model, optimiser=False)


@program("hooks", result="as zero")
@program("hooks", "interleaved zero", result="as zero", hook=ddp_zero_hook.hook_with_zero_step_interleaved)
def zero_in_hook(rank, n, hook=ddp_zero_hook.hook_with_zero_step):
    model = DistributedDataParallel(net(), **SMALL)
    optimiser = ZeroRedundancyOptimizer(model.parameters(), overlap_with_ddp=True, **ZERO)
    model.register_comm_hook(None, hook(hooks.default.allreduce_hook, model, optimiser, shard_buckets=True))
    losses = train(rank, model, steps=6)
    total = torch.tensor(losses)
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return "as zero" if total[0] > total[-1] else losses  # it begins to step after the third


# ---- sharded training


@program("sharded")
@program("sharded", "FSDP1, gradients alone", sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)
@program("sharded", "FSDP1, not sharded", sharding_strategy=ShardingStrategy.NO_SHARD)
@program("sharded", "FSDP1, original parameters", use_orig_params=True)
@program("sharded", "FSDP1, bfloat16", mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))
@program("sharded", "FSDP1, few gathers at once", limit_all_gathers=True, forward_prefetch=True)
def fsdp1(rank, n, **options):
    model = net()
    for place in (0, 2):
        model[place] = FullyShardedDataParallel(model[place], device_id=torch.device("cpu"), **options)
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), **options)
    losses = train(rank, model, torch.optim.Adam(model.parameters(), 0.01))
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        return losses, [number(each) for each in model.state_dict().values()]


@program("sharded")
@program("sharded", "FSDP2, bfloat16", mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
@program("sharded", "FSDP2, kept after forward", reshard_after_forward=False)
def fsdp2(rank, n, **options):
    model = net()
    for place in (0, 2, 4):
        fully_shard(model[place], **options)
    model = fully_shard(model, **options)
    losses = train(rank, model, torch.optim.Adam(model.parameters(), 0.01))
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    return losses, [number(each) for each in full.values()]


@program("sharded")
def hsdp(rank, n):
    mesh = init_device_mesh("cpu", (2, n // 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(net(), mesh=mesh)
    return train(rank, model, torch.optim.Adam(model.parameters(), 0.01))


@program("sharded")
def tensor_parallel(rank, n):
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("data", "tensor"))
    model = parallelize_module(net(), mesh["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return train(rank // 2, fully_shard(model, mesh=mesh["data"]))


@program("sharded")
def redistributed(rank, n):
    mesh = init_device_mesh("cpu", (n,))
    whole = torch.arange(64.0).reshape(8, 8)
    columns = distribute_tensor(whole, mesh, [Shard(0)]).redistribute(mesh, [Shard(1)])
    return number((columns @ columns.t()).full_tensor()), number(columns.redistribute(mesh, [Replicate()]).to_local())


@program("sharded", schedule=ScheduleGPipe)
@program("sharded", "pipeline, one forward one backward", schedule=Schedule1F1B)
def pipeline(rank, n, schedule):
    torch.manual_seed(rank)
    stage = PipelineStage(nn.Linear(6, 6), rank, n, torch.device("cpu"))
    made, losses = schedule(stage, 4, loss_fn=nn.functional.mse_loss), []
    last = {"target": torch.ones(8, 6), "losses": losses} if rank == n - 1 else {}
    made.step(*([torch.ones(8, 6)] if rank == 0 else []), **last)
    return [each.item() for each in losses], number(stage.submod.weight.grad)


@program("sharded", way="save")
@program("sharded", "checkpoint, beside the program", way="async_save")
def checkpointed(rank, n, way):
    where = [tempfile.mkdtemp()]
    dist.broadcast_object_list(where)
    model = fully_shard(net())
    saved = getattr(checkpoint, way)(model.state_dict(), checkpoint_id=where[0])
    if way == "async_save":
        saved.result()
    torch.manual_seed(7)
    other = fully_shard(nn.Sequential(*(copy.deepcopy(each) for each in net())))
    state = other.state_dict()
    checkpoint.load(state, checkpoint_id=where[0])
    return [number(each.full_tensor()) for each in state.values()]


# ---- compiled


@program("compiled", wide=())
@program("compiled", "compiled, several buckets", wide=(600,), bucket_cap_mb=1)  # none may be smaller than the first
def compiled(rank, n, wide, **options):
    torch._dynamo.reset()
    return train(rank, torch.compile(DistributedDataParallel(net(*wide), **options), backend="aot_eager"), steps=3)


@program("compiled")
def compiled_first(rank, n):
    torch._dynamo.reset()
    return train(rank, DistributedDataParallel(torch.compile(net(), backend="aot_eager")), steps=3)


@program("compiled")
def compiled_calls(rank, n):
    def step(mine):
        found = [torch.zeros(2) for _ in range(n)]
        dist.all_gather(found, mine)
        dist.all_reduce(mine, async_op=True).wait()
        dist.broadcast(mine, 0)
        dist.barrier()
        return torch.cat(found) + mine.sum() + dist.get_rank()

    torch._dynamo.reset()
    return torch.compile(step, backend="aot_eager")(torch.full((2,), rank + 1.0)).tolist()


@program("compiled")
def compiled_functions(rank, n):
    def step(mine):
        total = functional.all_reduce(mine, "sum", dist.group.WORLD)
        return total + functional.all_gather_tensor(mine, 0, dist.group.WORLD).sum()

    torch._dynamo.reset()
    return torch.compile(step, backend="aot_eager", fullgraph=True)(torch.full((2,), rank + 1.0)).tolist()


# ---- futures: what a callback begins, and waits for


def begun(value, group=None):
    """Begin a sum of a value, a little sooner or later at each rank."""
    time.sleep(random.choice([0, 0, 0.002]))
    return dist.all_reduce(torch.full((3,), float(value)), async_op=True, group=group)


def later(value, group=None):
    return begun(value, group).get_future()


def value_of(future):
    return future.wait()[0][0].item()


@program("futures")
def chain(rank, n):
    return later(rank).then(lambda it: value_of(it) + value_of(later(10))).wait()


# by counting, as the values are: sums over n ranks of the same numbers
def _sums(n, *values):
    return [float(n * value) for value in values]


@program("futures", result=lambda n: _sums(n, *(100 * k + 30 * k + 3 for k in range(4))))
def chains(rank, n):
    """Four chains of three more sums each, as of four buckets of PowerSGD."""
    ends = []
    for each in range(4):
        future = later(100 * each)
        for place in range(3):
            last = place == 0

            def more(it, each=each, place=place, last=last):
                before = value_of(it) if last else it.value()
                return before + value_of(later(10 * each + place))

            future = future.then(more)
        ends.append(future)
    return [end.wait() for end in ends]


@program("futures", result=lambda n: _sums(n, 11, 13, 15, 17))
def callbacks_added_late(rank, n):
    works = [begun(each) for each in range(4)]
    ends = [w.get_future().then(lambda it, k=k: value_of(it) + value_of(later(11 + k))) for k, w in enumerate(works)]
    others = [begun(each) for each in range(3)]
    return [end.wait() for end in ends] + [other.wait() for other in others][:0]


@program("futures")
def callback_that_waits_for_another(rank, n):
    one, other = later(1), later(2)
    return one.then(lambda it: value_of(it) + value_of(other)).wait()


@program("futures")
def callback_that_waits_for_a_later_one(rank, n):
    other, there = [], threading.Event()
    one = later(1)
    ends = []
    side = threading.Thread(
        target=lambda: ends.append(one.then(lambda it: there.wait(20) and value_of(it) + value_of(other[0])))
    )
    side.start()
    time.sleep(0.02)
    other.append(later(2))
    there.set()
    side.join(20)
    return ends[0].wait()


@program("futures", result=lambda n: (float(n), float(n), [float(each) for each in range(n)]))
def calls_in_a_callback(rank, n):
    def more(it):
        mine, found = torch.ones(3), [torch.zeros(1) for _ in range(n)]
        dist.all_reduce(mine)
        dist.barrier()
        dist.all_gather(found, torch.full((1,), float(rank)))
        works = [dist.isend(mine, (rank + 1) % n), dist.irecv(torch.zeros(3), (rank - 1) % n)]
        for work in works:
            work.wait()
        return value_of(it), mine[0].item(), [each.item() for each in found]

    return later(1).then(more).wait()


@program("futures")
def callback_of_another_group(rank, n):
    other = dist.new_group()
    return later(1).then(lambda a: later(2, other).then(lambda b: value_of(a) + value_of(b)).wait()).wait()


@program("futures", result=lambda n: _sums(n, 6))
def three_groups_of_callbacks(rank, n):
    other = dist.new_group()
    inner = lambda a, b: value_of(a) + value_of(b) + value_of(later(3))  # noqa: E731
    return [later(1).then(lambda a: later(2, other).then(lambda b: inner(a, b)).wait()).wait()]


@program("futures", result=lambda n: _sums(n, 6))
def nested(rank, n):
    add = lambda *futures: sum(map(value_of, futures))  # noqa: E731
    return [
        later(1).then(lambda a: later(2).then(lambda b: later(3).then(lambda c: add(a, b, c)).wait()).wait()).wait()
    ]


@program("futures")
def collected(rank, n):
    every = torch.futures.collect_all([later(each) for each in range(4)])
    return every.then(lambda it: sum(map(value_of, it.value())) + value_of(later(7))).wait()


@program("futures", result=lambda n: _sums(n, 0, 1, 2))
def collected_in_a_callback(rank, n):
    inside = lambda it: [each[0][0].item() for each in torch.futures.wait_all(list(map(later, range(3))))]  # noqa: E731
    return later(1).then(inside).wait()


@program("futures")
def done_callback(rank, n):
    over, found = threading.Event(), []
    later(1).add_done_callback(lambda it: (found.append(value_of(it)), over.set()))
    value_of(later(2))
    return over.wait(20), found


@program("futures")
def errors_of_callbacks(rank, n):
    end = later(1).then(lambda it: 1 / 0)
    try:
        end.then(lambda it: it.value()).wait()
    except RuntimeError as error:
        return "division by zero" in str(error), value_of(later(2))


@program("futures", result=lambda n: _sums(n, 1))
def callbacks_that_nobody_waits_for(rank, n):
    for each in range(5):
        later(each).then(lambda it, each=each: value_of(later(each)))
    mine = torch.ones(1)
    dist.all_reduce(mine)
    return mine.tolist()


@program("futures")
def callback_before_a_message_that_an_earlier_call_needs(rank, n):
    one = begun(1)
    if rank == 0:
        two = begun(2)
        end = one.get_future().then(value_of).wait()
        dist.send(torch.ones(1), 1)
    else:
        one.wait()
        if rank == 1:
            dist.recv(torch.ones(1), 0)
        two, end = begun(2), value_of(one.get_future())
    return end, two.wait()


# ---- tensors: resized, expanded, of other kinds


def resized(rank, n, call):
    def tensor(count=6):
        made = torch.full((count,), rank + 1.0)
        used.append(made)
        return made

    used = []
    call(rank, n, tensor)
    for each in used:
        each.resize_(7)
        each.untyped_storage().resize_(0)
        each.untyped_storage().resize_(64)
    return len(used)


def _message(rank, n, new):
    if rank < 2:
        (dist.send if rank == 0 else dist.recv)(new(), 1 - rank)


CALLS = {
    "all_reduce": lambda rank, n, new: dist.all_reduce(new()),
    "all_reduce, async": lambda rank, n, new: dist.all_reduce(new(), async_op=True).wait(),
    "all_reduce, future": lambda rank, n, new: dist.all_reduce(new(), async_op=True).get_future().wait(),
    "broadcast": lambda rank, n, new: dist.broadcast(new(), 1),
    "reduce": lambda rank, n, new: dist.reduce(new(), 1),
    "all_gather": lambda rank, n, new: dist.all_gather([new() for _ in range(n)], new()),
    "all_gather_into_tensor": lambda rank, n, new: dist.all_gather_single(new(6 * n), new()),
    "gather": lambda rank, n, new: dist.gather(new(), [new() for _ in range(n)] if rank == 0 else None),
    "scatter": lambda rank, n, new: dist.scatter(new(), [new() for _ in range(n)] if rank == 0 else None),
    "reduce_scatter": lambda rank, n, new: dist.reduce_scatter(new(), [new() for _ in range(n)]),
    "reduce_scatter_tensor": lambda rank, n, new: dist.reduce_scatter_single(new(), new(6 * n)),
    "all_to_all_single": lambda rank, n, new: dist.all_to_all_single(new(6 * n), new(6 * n)),
    "send, recv": _message,
}
for _name, _call in CALLS.items():
    program("tensors", f"resized after {_name}", call=_call)(resized)


@program("tensors", call="all_reduce")
@program("tensors", "mean of expanded", call="mean", result=lambda n: [(n + 1) / 2] * 6)
@program("tensors", "broadcast of expanded", call="broadcast")
@program("tensors", "reduce of expanded", call="reduce")
@program("tensors", "gathered expanded", call="all_gather")
def expanded(rank, n, call):
    mine = torch.full((6,), rank + 1.0)[:2].reshape(2, 1).expand(2, 3)  # gloo takes six entries of the memory
    if call == "all_gather":
        found = [torch.zeros(2, 3) for _ in range(n)]
        dist.all_gather(found, mine)
        return [each.tolist() for each in found]
    if call == "mean":
        dist.all_reduce(mine, dist.ReduceOp.AVG)
    else:
        getattr(dist, call)(mine, *([] if call == "all_reduce" else [0]))
    return mine.reshape(-1).tolist() if call != "reduce" or rank == 0 else None


@program("tensors", "expanded results", result=lambda n: [[rank + 1.0] * 3 for rank in range(n)])
def into_expanded(rank, n):
    found = [torch.zeros(1).expand(3) for _ in range(n)]
    dist.all_gather(found, torch.full((3,), rank + 1.0))
    return [each.tolist() for each in found]


@program("tensors", asynchronous=False)
@program("tensors", "sparse, async", asynchronous=True)
def sparse(rank, n, asynchronous):
    mine = torch.sparse_coo_tensor([[0, rank + 1]], [1.0, 2.0], (n + 1,), check_invariants=True)
    work = dist.all_reduce(mine, async_op=asynchronous)
    if asynchronous:
        work.wait()
    return (work.result()[0] if asynchronous else mine).to_dense().tolist()


@program("tensors")
def offloaded(rank, n):
    """Memory that goes and comes, as offloading does: the tensor is the same, its memory is not."""
    mine, found = torch.zeros(1000), []
    for step in range(4):
        mine.untyped_storage().resize_(4000)
        mine.fill_(rank + step)
        dist.all_reduce(mine)
        found.append(mine.sum().item())
        mine.untyped_storage().resize_(0)
    return found


@program("tensors")
def requiring_gradients(rank, n):
    one, other = (torch.full((2,), rank + 1.0, requires_grad=True) for _ in range(2))
    (differentiable.all_reduce(one * 2) * (rank + 1)).sum().backward()
    torch.stack(differentiable.all_gather(other)).sum().backward()
    return one.grad.tolist(), other.grad.tolist()


@program("tensors")
def objects(rank, n):
    every, one, mine = [None] * n, ["a" if rank == 0 else None], [None]
    dist.all_gather_object(every, {"rank": rank})
    dist.broadcast_object_list(one)
    dist.scatter_object_list(mine, list(range(n)) if rank == 0 else None)
    if rank == 0:
        dist.send_object_list([1, "x"], 1)
    if rank == 1:
        dist.recv_object_list([None, None], 0)
    return every, one, mine


@program("tensors")
def coalesced(rank, n):
    several = [torch.full((k,), rank + 1.0) for k in (2, 3, 5)]
    dist.all_reduce_coalesced(several)
    with dist._coalescing_manager():
        for each in several[1:]:
            dist.all_reduce(each)
    return [each.tolist() for each in several]


@program("tensors")
def around_a_ring(rank, n):
    got = torch.zeros(3)
    ways = [(dist.isend, torch.full((3,), float(rank)), (rank + 1) % n), (dist.irecv, got, (rank - 1) % n)]
    for work in dist.batch_isend_irecv([dist.P2POp(*way) for way in ways]):
        work.wait()
    return got.tolist()
