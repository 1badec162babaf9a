"""Process groups of PyTorch over treecast beside gloo's, by turns in the same processes; and a step in which a rank is killed.

    make bench-torch [ARGS="--ranks 4 --survive 1"]

Times are of the slowest rank, medians of the turns. A ratio below 1 says that treecast takes less.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

SIZES = {"1 KiB": (1 << 10, 40), "64 KiB": (64 << 10, 20), "1 MiB": (1 << 20, 8), "16 MiB": (16 << 20, 2)}
MODELS = {"0.1 M": (256, 256, 128), "2 M": (1024, 1024, 1024)}
TURNS = 7


def take_turns(works, slowest):
    """Return the seconds of each work, one turn after another."""
    times = {name: [] for name in works}
    for _ in range(TURNS):
        for name, (work, count) in works.items():
            began = time.perf_counter()
            for _ in range(count):
                work()
            times[name].append(slowest((time.perf_counter() - began) / count))
    return times


def say(rank, what, times):
    """Print both medians, and the ratios of the turns."""
    if rank == 0:
        ours, gloo = (statistics.median(times[name]) * 1e3 for name in ("treecast", "gloo"))
        ratios = sorted(a / b for a, b in zip(times["treecast"], times["gloo"], strict=True))
        spread = f"{ratios[1]:.2f} to {ratios[-2]:.2f}"
        print(
            f"{what:22} treecast {ours:9.3f} ms   gloo {gloo:9.3f} ms   ratio {ours / gloo:.2f}  ({spread})", flush=True
        )


def make_model(widths):
    """Return a model of layers of these widths, the same at all ranks."""
    import torch

    torch.manual_seed(0)
    layers, before = [], 64
    for width in widths:
        layers += [torch.nn.Linear(before, width), torch.nn.ReLU()]
        before = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(before, 1))


def be_rank(quick):
    """Measure as one of the ranks."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import treecast.torch

    torch.set_num_threads(1)
    dist.init_process_group("treecast", init_method="env://")
    rank, gloo = dist.get_rank(), dist.new_group(backend="gloo")
    groups = {"treecast": dist.group.WORLD, "gloo": gloo}

    def slowest(seconds):
        found = torch.tensor(seconds, dtype=torch.float64)
        dist.all_reduce(found, dist.ReduceOp.MAX, group=gloo)
        return found.item()

    for name, (size, count) in SIZES.items():
        data = torch.ones(size // 4)
        works = {
            each: (lambda group=group, data=data: dist.all_reduce(data, group=group), 1 if quick else count)
            for each, group in groups.items()
        }
        say(rank, f"allreduce {name}", take_turns(works, slowest))
    inputs, wanted = torch.randn(16, 64), torch.randn(16, 1)
    steps = {}
    for name, widths in MODELS.items():
        for each, group in groups.items():
            model = make_model(widths)
            ddp = DistributedDataParallel(model, process_group=group)
            if each == "treecast":
                treecast.torch.mean(ddp)
            optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

            def step(ddp=ddp, optimiser=optimiser):
                optimiser.zero_grad()
                torch.nn.functional.mse_loss(ddp(inputs), wanted).backward()
                optimiser.step()

            steps[each] = (step, 2 if quick else 8)
        say(rank, f"a step, {name}", take_turns(steps, slowest))
    deadly = ("treecast", "gloo") if os.environ["TREECAST_SURVIVE"] != "0" else ()
    for each in deadly:  # a rank is killed: how long until the others have the next step, or an error
        step = steps[each][0]
        began = time.perf_counter()
        if each == "treecast":
            before = statistics.median(take_turns({"treecast": (step, 1)}, slowest)["treecast"])
            began = time.perf_counter()
            if rank == dist.get_world_size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            step()
            took, after = time.perf_counter() - began, time.perf_counter()
            step()
            after = time.perf_counter() - after
            if rank == 0:
                print(
                    f"killed: usual {before * 1e3:.1f} ms, the step of the death {took * 1e3:.1f}, the next {after * 1e3:.1f}"
                )
        else:
            try:
                step()
            except RuntimeError:
                if rank == 0:
                    print(
                        f"gloo: an error at all after {(time.perf_counter() - began) * 1e3:.1f} ms, and no later step"
                    )
    sys.stdout.flush()
    os._exit(0)


def main():
    """Start the ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--survive", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--inside", action="store_true")
    asked = parser.parse_args()
    if asked.inside:
        be_rank(asked.quick)
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", str(asked.ranks), "--", sys.executable, __file__]
    more = ["--inside", *(["--quick"] if asked.quick else [])]
    return subprocess.run(
        [*line, *more], env={**os.environ, "TREECAST_SURVIVE": str(asked.survive)}, check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
