"""Many pairs of unlike calls of a process group: all ranks raise an error, and the sum behind is right."""

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402

from tests.torch.ranks import run  # noqa: E402

pytestmark = pytest.mark.slow

SIZES = {"8 B": 2, "1 KiB": 1 << 8, "1 MiB": 1 << 18}
TYPES = (torch.float32, torch.float64, torch.int32)


def table(n):
    """Return the calls of n ranks, by what they are: kinds, sizes, roots, operations, and types of entries."""
    calls = {"barrier": lambda rank: dist.barrier()}  # those of objects are several calls
    for size, k in SIZES.items():
        for kind in TYPES:
            new = torch.ones(k * 4 // kind.itemsize, dtype=kind)
            calls |= {
                f"all_reduce {size} of {kind}": lambda rank, new=new: dist.all_reduce(new.clone()),
                f"broadcast {size} of {kind}": lambda rank, new=new: dist.broadcast(new.clone(), 0),
                f"all_gather {size} of {kind}": lambda rank, new=new: dist.all_gather(
                    [new.clone() for _ in range(n)], new
                ),
            }
        one, each = torch.ones(k), torch.ones(n * k)
        calls |= {
            f"all_reduce MAX {size}": lambda rank, x=one: dist.all_reduce(x.clone(), dist.ReduceOp.MAX),
            f"all_reduce AVG {size}": lambda rank, x=one: dist.all_reduce(x.clone(), dist.ReduceOp.AVG),
            f"all_to_all {size}": lambda rank, x=each: dist.all_to_all_single(x.clone(), x),
            f"reduce_scatter {size}": lambda rank, x=one, y=each: dist.reduce_scatter_single(x.clone(), y),
            f"broadcast {size} root 1": lambda rank, x=one: dist.broadcast(x.clone(), 1),
        }
        for root in (0, 1):
            calls |= {
                f"reduce {size} root {root}": lambda rank, x=one, r=root: dist.reduce(x.clone(), r),
                f"gather {size} root {root}": lambda rank, x=one, r=root: dist.gather(x, _blocks(x, n, rank == r), r),
                f"scatter {size} root {root}": lambda rank, x=one, r=root: dist.scatter(
                    x.clone(), _blocks(x, n, rank == r), r
                ),
            }
    return calls


def _blocks(x, n, is_root):
    return [x.clone() for _ in range(n)] if is_root else None


def make(rank, pairs, size):
    """Make pairs of calls, and a sum behind each; return the errors and the sum of each pair."""
    calls, found = table(size), []
    dist.group.WORLD.comm.process.waiting.slow = 0.2
    for one, other, odd in pairs:
        total, errors = torch.ones(1), []
        for call in (calls[one if rank == odd else other], lambda rank, total=total: dist.all_reduce(total)):
            try:
                call(rank)
            except RuntimeError as error:
                errors.append(str(error))
        found.append((errors, total.item()))
    return found


@pytest.mark.parametrize(("seed", "size", "survive"), [(1, 3, 1), (2, 3, 0), (3, 4, 1), (4, 4, 0)])
def test_pairs_of_unlike_calls(seed, size, survive):
    rng, names = random.Random(seed), sorted(table(size))
    pairs = [(*rng.sample(names, 2), rng.randrange(size)) for _ in range(30)]
    for pair, each in zip(pairs, zip(*run(size, make, pairs, size, survive=survive), strict=True), strict=True):
        assert all(len(errors) == 1 for errors, _ in each), (pair, each)
        told = {error for (error,), _ in each if "are received" not in error}  # a length that one rank alone knows
        assert len(told) == 1, (pair, each)
        assert {total for _, total in each} == {size}, (pair, each)
