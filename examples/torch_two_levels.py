"""DiLoCo on two replicas of two ranks: gloo inside a replica, treecast between them. A replica dies, and comes back.

    treecast launch --tcp --respawn 2 -n 4 -- python torch_two_levels.py rounds.json 4     without 4 nobody is killed

The ranks of a replica share its batches in each step, over gloo. The outer step, once a round, is the mean over the replicas that
live. Rank 3 is killed in round 4; rank 2 ends by gloo's error. The other replica goes on, and takes both in when they are back.
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

ROUNDS, STEPS, OUT, KILLED_AT = 24, 10, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
torch.set_num_threads(1)
treecast.torch.options(survive=2)  # a replica may die as a whole
dist.init_process_group("treecast", init_method="treecast://")
rank, was_new = dist.get_rank(), treecast.torch.is_new()
replica, place = divmod(rank, 2)

torch.manual_seed(0)
wanted = torch.randn(16, 4)
model = torch.nn.Linear(16, 4, bias=False)
slow = [parameter.detach().clone().requires_grad_() for parameter in model.parameters()]
outer_optimiser = torch.optim.SGD(slow, lr=0.7, momentum=0.9, nesterov=True)


def make_groups():
    """Make the groups of both levels; all ranks call this, and all live."""
    inner = [dist.new_group(ranks, backend="gloo") for ranks in ([0, 1], [2, 3])]
    outer = [dist.new_group(ranks, backend="treecast") for ranks in ([0, 2], [1, 3])]
    return DistributedDataParallel(model, process_group=inner[replica]), outer[place]


def train(ddp, number):
    """Train a replica for some steps; return the loss."""
    numbers = torch.Generator().manual_seed(100 * number + rank)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-2)
    for step in range(STEPS):
        if number == KILLED_AT and rank == 3 and step == 7 and not was_new:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs = torch.randn(32, 16, generator=numbers)
        loss = ((ddp(inputs) - inputs @ wanted) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


groups, number, rounds = None if was_new else make_groups(), 0, []
while number < ROUNDS:
    if treecast.torch.is_new() or treecast.torch.admit():
        *_, number, rounds = treecast.torch.share(*slow, outer_optimiser, number, rounds)
        if not treecast.torch.failed():  # all are there: the groups are made anew
            groups = make_groups()
    if groups:
        ddp, outer = groups
        with torch.no_grad():
            for fast, kept in zip(model.parameters(), slow, strict=True):
                fast.copy_(kept)
        loss = train(ddp, number)
        for fast, kept in zip(model.parameters(), slow, strict=True):
            kept.grad = kept.detach() - fast.detach()
            dist.all_reduce(kept.grad, op=dist.ReduceOp.AVG, group=outer)  # over the replicas that live
        outer_optimiser.step()
        rounds.append((number, loss, len(treecast.torch.living(outer))))
    number += 1
    if treecast.torch.failed():
        time.sleep(float(os.environ.get("PAUSE", "1")))  # so that this small job is not over before they are back

if treecast.torch.is_first():
    with open(OUT, "w") as file:
        json.dump(rounds, file)
    alive = f"{dist.get_world_size()} ranks, of which {len(treecast.torch.living())} live"
    print(f"after {number} rounds the loss is {rounds[-1][1]:.3f}; {alive}")
dist.destroy_process_group()
