"""Sums of tensors have the bits of a set of ranks, whatever the network, and when two of eight are killed in the calls."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
dist = torch.distributed

from tests.slow.tcp.test_bits import judge, patterns  # noqa: E402
from tests.tcp.test_bits import RIGHT  # noqa: E402
from tests.torch.ranks import harm, run  # noqa: E402


class Tensors:
    """The part of a communicator that sums go through."""

    def __init__(self, rank):
        self.rank = rank

    def Allreduce(self, mine, out):  # noqa: N802
        out[:] = mine
        dist.all_reduce(torch.from_numpy(out))


def program(rank, kills):
    if rank in kills:
        harm(kills[rank])
    return patterns(Tensors(rank), (1_000, 20_000, 100_000))


@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("network", [None, "hypercube:3"])
@pytest.mark.parametrize("kills", [{}, {2: 40, 5: 40}, {6: 25, 7: 60}])
def test_eight_ranks_have_patterns_of_sets_of_ranks(sums, network, kills):
    found = run(8, program, kills, survive=2, sums=sums, network=network, on_failed="ignore")
    dead = [rank for rank in range(8) if found[rank] is None]
    assert dead == sorted(kills)
    judge(sums, found, dead)
