"""A small model, trained by DistributedDataParallel on four ranks. Rank 2 is killed at step 40, and a new process takes its seat.

    python torch_comeback.py losses.json 40      under torchrun or treecast launch --tcp --respawn 1; without 40 nobody is killed

The lowest living rank writes the loss on data that nobody trains on.
"""

import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import treecast.torch

STEPS, OUT, KILLED_AT = 120, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
torch.set_num_threads(1)
dist.init_process_group("treecast", init_method="treecast://")
rank = dist.get_rank()


def batch(seed, size=32):
    """Return inputs and what is wanted of them, which follow from a number."""
    inputs = torch.randn(size, 8, generator=torch.Generator().manual_seed(seed))
    return inputs, torch.sin(inputs).sum(1, keepdim=True)


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
step, losses, was_new = 0, [], treecast.torch.is_new()
if was_new:  # the others are at some step, with some state: take it
    model, optimiser, step, losses = treecast.torch.share(model, optimiser, step, losses)
ddp = treecast.torch.mean(DistributedDataParallel(model))

while step < STEPS:
    if step == KILLED_AT and rank == 2 and not was_new:
        os.kill(os.getpid(), signal.SIGKILL)
    if treecast.torch.failed() and step % 10 == 0 and treecast.torch.admit():
        model, optimiser, step, losses = treecast.torch.share(model, optimiser, step, losses)
        ddp = treecast.torch.mean(DistributedDataParallel(model))
    inputs, wanted = batch(1000 * step + rank)
    optimiser.zero_grad()
    torch.nn.functional.mse_loss(ddp(inputs), wanted).backward()
    optimiser.step()
    with torch.no_grad():
        inputs, wanted = batch(999, 512)
        loss = torch.nn.functional.mse_loss(model(inputs), wanted).item()
    losses.append((step, loss, len(treecast.torch.living())))
    step += 1
    if treecast.torch.failed():
        time.sleep(float(os.environ.get("PAUSE", "0.15")))  # so that this small job is not over before somebody is back

if treecast.torch.is_first():
    with open(OUT, "w") as file:
        json.dump(losses, file)
    alive = f"{dist.get_world_size()} ranks, of which {len(treecast.torch.living())} live"
    print(f"after {step} steps the loss is {losses[-1][1]:.3f}; {alive}")
dist.destroy_process_group()
