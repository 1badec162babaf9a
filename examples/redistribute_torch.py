"""A DTensor from one layout to another by one plan: treecast launch --tcp -n 4 -- python examples/redistribute_torch.py

On a mesh of 2 x 2 ranks, over gloo. Each result is compared with what torch's own redistribute gives.
"""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

import treecast.torch

torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="treecast://")
mesh = init_device_mesh("cpu", (2, 2))
local = torch.arange(6 * 10.0).reshape(6, 10) + dist.get_rank()

# each rank has a contribution to the gradients; then two have a half of each sum, then a quarter of the columns
gradients = DTensor.from_local(local, mesh, [Partial(), Partial()], run_check=False)
same = []
for placements in ([Shard(0), Replicate()], [Shard(1), Shard(1)], [Replicate(), Replicate()]):
    right = gradients.redistribute(mesh, placements)
    gradients = treecast.torch.redistribute(gradients, placements)
    same.append(torch.equal(gradients.to_local(), right.to_local()))
    if dist.get_rank() == 0:
        print(f"{placements}: {tuple(gradients.to_local().shape)} of {tuple(gradients.shape)}")

every = [None] * dist.get_world_size()
dist.all_gather_object(every, all(same))
if dist.get_rank() == 0:
    print(f"all ranks have what torch's own redistribute gives: {all(every)}")
dist.destroy_process_group()
