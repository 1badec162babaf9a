"""What ranks find one another by through the store that all share: gloo, monitored barriers, checkpoints, calls of functions.

sharing.py FOLDER: where checkpoints go
"""

import logging
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed import rpc
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType


def double(x):
    """Return twice as much."""
    return 2 * x


def checkpoints(folder, rank):
    """Write a checkpoint in three ways, and read each; return whether all came back."""
    alike = []
    for name, how in {
        "at once": None,
        "by a thread": AsyncCheckpointerType.THREAD,
        "by a process": AsyncCheckpointerType.PROCESS,
    }.items():
        there = {"all": torch.arange(4.0), f"of {rank}": torch.full((3,), float(rank))}
        if how is None:
            checkpoint.save(there, checkpoint_id=f"{folder}/{name}")
        else:
            group = dist.new_group(backend="gloo")
            checkpoint.async_save(
                there, checkpoint_id=f"{folder}/{name}", process_group=group, async_checkpointer_type=how
            ).result()
        dist.barrier()
        found = {key: torch.zeros_like(value) for key, value in there.items()}
        checkpoint.load(found, checkpoint_id=f"{folder}/{name}")
        alike.append(all(torch.equal(found[key], there[key]) for key in there))
    return alike == [True] * 3


def main(folder):
    """Say what each gives."""
    logging.disable()
    dist.init_process_group("treecast", init_method="treecast://")
    rank, size = dist.get_rank(), dist.get_world_size()
    inner, total = dist.new_group(backend="gloo"), torch.ones(1)
    dist.all_reduce(total, group=inner)
    for group in (None, inner):
        dist.monitored_barrier(group, timeout=timedelta(seconds=60))
    saved = checkpoints(folder, rank)
    options = rpc.TensorPipeRpcBackendOptions(init_method="treecast://", rpc_timeout=100)
    rpc.init_rpc(f"of-{rank}", rank=rank, world_size=size, rpc_backend_options=options)
    other = f"of-{(rank + 1) % size}"
    called = rpc.rpc_sync(other, double, args=(torch.tensor(rank),)), rpc.remote(other, double, args=(3,)).to_here()
    rpc.shutdown()
    dist.all_reduce(total, group=dist.new_group(backend="gloo"))
    sys.stdout.write(f"rank {rank}: gloo {total.item():g}, saved {saved}, called {called[0]:d} {called[1]}\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
