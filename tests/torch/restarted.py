"""A job of which rank 2 is killed once, before its third sum. The others wait for it, or for the end that their launcher brings.

restarted.py INIT MARK [sub]: the method of init, a file that tells of the death; with ``sub`` the sums are those of a gloo group
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import treecast.torch

INIT, MARK, SUB = sys.argv[1], Path(sys.argv[2]), "sub" in sys.argv
dist.init_process_group("treecast", init_method=INIT)
rank, step, was_new = dist.get_rank(), torch.zeros(1), treecast.torch.is_new()
if was_new:
    treecast.torch.share(step)
group = dist.new_group(backend="gloo") if SUB else None
total = torch.zeros(1)
while step < 6:
    if rank == 2 and step == 2 and not MARK.exists():
        MARK.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if treecast.torch.failed():
        while not treecast.torch.admit():
            time.sleep(0.1)
        treecast.torch.share(step)
    total.fill_(rank)
    dist.all_reduce(total, group=group)
    step += 1
sys.stdout.write(f"rank {rank} new {was_new} sum {total.item():g}\n")
sys.stdout.flush()
dist.destroy_process_group()
