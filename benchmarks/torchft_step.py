"""The step in which a replica group of torchft is killed: four groups of one rank, and one lighthouse.

    pip install torchft-nightly; python benchmarks/torchft_step.py

The model and the data are those of ``torch_groups.py``. A rank is killed before its part of the gradients is out. Times are of
the first rank.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta

RANKS, DEATH, LAST = 4, 30, 40


def be_rank(rank):
    """Train as one of the replica groups; the last one dies."""
    import torch
    import torch.distributed as dist
    import torchft
    from torch_groups import MODELS, make_model

    torch.set_num_threads(1)
    held = dist.TCPStore("localhost", int(os.environ["MASTER_PORT"]), is_master=True, wait_for_workers=False)
    model = make_model(MODELS["2 M"])
    manager = torchft.Manager(
        pg=torchft.ProcessGroupGloo(timeout=timedelta(seconds=5)),
        load_state_dict=model.load_state_dict,
        state_dict=model.state_dict,
        min_replica_size=RANKS - 1,
        replica_id=f"group-{rank}",
    )
    ddp = torchft.DistributedDataParallel(manager, model)
    optimiser = torchft.Optimizer(manager, torch.optim.SGD(model.parameters(), lr=0.01))
    inputs, wanted = torch.randn(16, 64), torch.randn(16, 1)
    times = []
    while manager.current_step() < LAST:
        began, step = time.perf_counter(), manager.current_step()
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(ddp(inputs), wanted)
        if rank == RANKS - 1 and step == DEATH:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimiser.step()
        times.append((step, manager.current_step() > step, (time.perf_counter() - began) * 1e3))
    if rank == 0:
        usual = statistics.median(took for step, _, took in times if 5 <= step < DEATH)
        at_death = [(took, kept) for step, kept, took in times if step == DEATH]
        tries = ", ".join(f"{took:.1f} ms ({'kept' if kept else 'discarded'})" for took, kept in at_death)
        print(f"torchft: usual {usual:.1f} ms, the step of the death {tries}", flush=True)
    del held
    os._exit(0)


def free_port():
    """Return a port that is free by now."""
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def main():
    """Start the lighthouse and the ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int)
    asked = parser.parse_args()
    if asked.rank is not None:
        be_rank(asked.rank)
    try:
        from torchft.coordination import LighthouseServer
    except ImportError:
        print("torchft is not installed: pip install torchft-nightly")
        return 0
    port = free_port()
    lighthouse = LighthouseServer(bind=f"[::]:{port}", min_replicas=RANKS - 1)
    told = {
        "TORCHFT_LIGHTHOUSE": f"http://localhost:{port}",
        "MASTER_ADDR": "localhost",
        "WORLD_SIZE": "1",
        "RANK": "0",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", str(rank)],
            env={**os.environ, **told, "MASTER_PORT": str(free_port())},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(RANKS)
    ]
    for each in ranks:
        each.wait()
    lighthouse.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
