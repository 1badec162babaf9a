"""The bits of sums of tensors: by rank and exact, for all types and networks, as numpy's over sockets."""

from math import fsum

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
dist = torch.distributed

import treecast  # noqa: E402
from tests.tcp.test_bits import RIGHT, judge, patterns  # noqa: E402
from tests.torch.ranks import harm, run  # noqa: E402

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)


def given(rank, dtype):
    """Numbers in which the order shows; sums of short ones fit into a float32, by way of which torch rounds them."""
    make, size = torch.Generator().manual_seed(rank), (30_000,)
    if dtype.itemsize == 2:
        return (torch.randint(-255, 256, size, generator=make) * 2 ** torch.randint(0, 6, size, generator=make)).to(
            dtype
        )
    return (
        torch.randn(size, dtype=torch.float64, generator=make) * 2.0 ** torch.randint(-9, 9, size, generator=make)
    ).to(dtype)


def in_order(rows):
    total = rows[0].clone()
    for row in rows[1:]:
        total += row
    return total


def truly(rows):
    if rows[0].is_complex():
        return torch.view_as_complex(truly([torch.view_as_real(row) for row in rows]))
    columns = torch.stack(rows).to(torch.float64).flatten(1).T.tolist()
    return (
        torch.tensor([fsum(column) for column in columns], dtype=torch.float64).to(rows[0].dtype).reshape(rows[0].shape)
    )


def alike(one, other):
    return bytes(one.contiguous().view(torch.uint8).numpy()) == bytes(other.contiguous().view(torch.uint8).numpy())


def program(rank, sums):
    wrong, ranks = [], range(dist.get_world_size())
    for dtype in DTYPES:
        rows = [given(each, dtype) for each in ranks]
        right = {"by-rank": in_order, "exact": truly}[sums](rows)
        total, block = rows[rank].clone(), torch.empty(len(right) // len(ranks), dtype=dtype)
        dist.all_reduce(total)
        dist.reduce_scatter(block, [*rows[rank].split(len(block))])
        mean = rows[rank].clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        begun = dist.all_reduce(again := rows[rank][::2].clone(), async_op=True)
        begun.wait()
        wrong += [
            (dtype, what)
            for what, found, wanted in (
                ("all_reduce", total, right),
                ("reduce_scatter", block, right.split(len(block))[rank]),
                ("AVG", mean, right / len(ranks)),
                ("async", again, right[::2]),
            )
            if not alike(found, wanted)
        ]
        assert dist.group.WORLD.comm.last.bits == sums
    return wrong


@pytest.mark.parametrize("sums", ["by-rank", "exact"])
@pytest.mark.parametrize("network", [None, "ring:4"])
def test_tensors_have_one_pattern_on_every_network(sums, network):
    assert run(4, program, sums, sums=sums, network=network) == [[]] * 4


def signs(rank):
    said = set()
    for dtype in DTYPES[:4]:
        for count in (1, 7, 100, 9_001):
            for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN):
                tensor = torch.full((count,), -0.0 if rank % 2 else 0.0, dtype=dtype)
                dist.all_reduce(tensor, op)
                said.update(torch.signbit(tensor).tolist())
    return said


def test_the_greatest_of_zeros_is_that_of_the_first_rank():
    assert run(2, signs) == [{False}] * 2


def accumulate(rank):
    said = []
    for dtype in DTYPES:
        total = treecast.Accumulator(torch.zeros(3, 100, 100, dtype=dtype))
        for each in range(rank, 8, dist.get_world_size()):
            total.add(given(each, dtype).reshape(3, 100, 100))
        found = total.allreduce(dist.group.WORLD)
        said.append(bytes(found.contiguous().view(torch.uint8).numpy()))
    return said


def test_accumulators_of_tensors_have_the_same_bits_on_1_2_and_4_ranks():
    found = [each for ranks in (1, 2, 4) for each in run(ranks, accumulate)]
    assert all(each == found[0] for each in found)
    assert found[0][3] == bytes(truly([given(rank, torch.float64) for rank in range(8)]).view(torch.uint8).numpy())


def accumulate_nothing(rank):
    total = treecast.Accumulator(torch.zeros(3, 0))
    total.add(torch.ones(3, 0))
    return total.allreduce(dist.group.WORLD)


def test_accumulators_take_tensors_without_entries():
    assert [(found.shape, found.dtype) for found in run(2, accumulate_nothing)] == [((3, 0), torch.float32)] * 2


def flush(rank):
    torch.set_flush_denormal(True)
    said = []
    for work in (lambda: dist.all_reduce(torch.ones(3)), lambda: dist.all_reduce(torch.ones(3).to_sparse())):
        try:
            work()
        except RuntimeError as error:
            said.append(str(error))
        torch.set_flush_denormal(False)
    return said


def test_flushed_denormals_and_sparse_tensors_are_refused():
    said = run(2, flush, sums="exact")
    assert said[0] == said[1]
    assert "takes for 0" in said[0][0]
    assert "dense tensors" in said[0][1]


# Sums of tensors have the bits of a set of ranks, whatever the network, and when two of eight are killed in the calls.


class Tensors:
    """The part of a communicator that sums go through."""

    def __init__(self, rank):
        self.rank = rank

    def Allreduce(self, mine, out):  # noqa: N802
        out[:] = mine
        dist.all_reduce(torch.from_numpy(out))


def slow_program(rank, kills):
    if rank in kills:
        harm(kills[rank])
    return patterns(Tensors(rank), (1_000, 20_000, 100_000))


@pytest.mark.slow
@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("network", [None, "hypercube:3"])
@pytest.mark.parametrize("kills", [{}, {2: 40, 5: 40}, {6: 25, 7: 60}])
def test_eight_ranks_have_patterns_of_sets_of_ranks(sums, network, kills):
    found = run(8, slow_program, kills, survive=2, sums=sums, network=network, on_failed="ignore")
    dead = [rank for rank in range(8) if found[rank] is None]
    assert dead == sorted(kills)
    judge(sums, found, dead)
