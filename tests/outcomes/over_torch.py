"""mpi4py's collectives as those of torch.distributed: the cases make their calls by these names."""

import torch
import torch.distributed as dist

from tests.outcomes.processes import die, take_part


class OverTorch:
    """The process group of all ranks, with the methods of mpi4py that the cases call, on arrays of numpy."""

    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    @property
    def last(self):
        return dist.group.WORLD.comm.last

    def Barrier(self):  # noqa: N802
        dist.barrier()

    def Bcast(self, data, root):  # noqa: N802
        dist.broadcast(torch.from_numpy(data), root)

    def Allgather(self, mine, rows):  # noqa: N802
        dist.all_gather(list(torch.from_numpy(rows)), torch.from_numpy(mine))

    def Alltoall(self, mine, rows):  # noqa: N802
        dist.all_to_all_single(torch.from_numpy(rows).view(-1), torch.from_numpy(mine))

    def Gather(self, mine, rows, root):  # noqa: N802
        dist.gather(torch.from_numpy(mine), None if rows is None else list(torch.from_numpy(rows)), dst=root)

    def Scatter(self, blocks, one, root):  # noqa: N802
        each = None if blocks is None else list(torch.from_numpy(blocks).view(self.size, -1))
        dist.scatter(torch.from_numpy(one), each, src=root)

    def Allreduce(self, mine, one):  # noqa: N802
        one[:] = mine
        dist.all_reduce(torch.from_numpy(one))

    def Reduce(self, mine, one, root):  # noqa: N802
        total = torch.from_numpy(mine.copy())
        dist.reduce(total, root)
        if one is not None:
            one[:] = total.numpy()

    def Reduce_scatter_block(self, mine, one):  # noqa: N802
        dist.reduce_scatter_single(torch.from_numpy(one), torch.from_numpy(mine))


def program(rank, case, count, folder):
    """Be a rank of a case."""
    comm = OverTorch()

    def die_at_next():
        dist.group.WORLD.comm.process.transport.send = die

    found = take_part(comm, case, count, folder, die_at_next)
    if case.fate == "end":
        dist.group.WORLD.comm.process.finish()  # the runner ends processes at once
    return found
