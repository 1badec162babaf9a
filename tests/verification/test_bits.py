"""What the bits of plans depend on: against floats that are added as a plan says, send by send."""

import numpy as np
import pytest

import treecast
from treecast.cli import main
from treecast.files import formats
from treecast.verification.bits import bits_of, bits_of_plan


def added(schedule, given):
    """Return the sums that ranks hold in the end, with how many contributions: floats of each rank alike for all chunks."""
    total, network = schedule.collective.sums, schedule.network
    held = {(int(rank), chunk): (given[k], 1) for k, rank in enumerate(network.ranks) for chunk in range(total)}
    for sends in schedule.expand():
        columns = (sends.dst, sends.src, sends.tree, sends.chunk)
        come = [
            (d, s, t, c, held[s, c]) for d, s, t, c in zip(*map(np.ndarray.tolist, columns), strict=True) if c < total
        ]
        for dst, _, _, chunk, (value, count) in sorted(come, key=lambda each: each[:4]):
            before = held.get((dst, chunk))
            held[dst, chunk] = (value, count) if before is None else (before[0] + value, before[1] + count)
    ranks = len(network.ranks)
    found = [
        [value for (_, c), (value, count) in held.items() if c == chunk and count == ranks] for chunk in range(total)
    ]
    return [chunk for chunk in found if chunk]  # blocks of relays have no sum


@pytest.mark.parametrize(
    "asked",
    [
        ("allreduce", "ring:8", {}),
        ("allreduce", "hypercube:3", {"messages": 3}),
        ("allreduce", "complete:6", {}),
        ("allreduce", "torus:3x3", {"messages": 2}),
        ("allreduce", "ring:6", {"without_owners": True}),
        ("allreduce", "ring:7", {"without_owners": True, "messages": 2}),
        ("reduce", "star:3", {"messages": 5}),
        ("reduce-scatter", "mesh:3x3", {}),
        ("allreduce", "fat-tree:2", {}),
        ("allreduce", "ring:4", {"model": "one-port"}),
    ],
    ids=str,
)
def test_orders_are_those_in_which_floats_are_added(asked):
    kind, network, options = asked
    schedule = treecast.plan(kind, network, **options)
    bits, random = bits_of_plan(schedule), np.random.default_rng(1)
    ranks = len(schedule.network.ranks)
    given = (random.standard_normal((ranks, 200)) * 10.0 ** random.integers(-3, 4, (ranks, 200))).astype(np.float32)
    found = [[each.tobytes() for each in chunk] for chunk in added(schedule, given)]
    in_order = given[0].copy()
    for row in given[1:]:
        in_order = in_order + row
    assert bits.unlike == max(len(set(chunk)) for chunk in found)
    assert bits.chunks == len(found)
    if bits.unlike == 1:
        assert bits.orders == len({chunk[0] for chunk in found})
        assert bits.by_rank == sum(chunk[0] == in_order.tobytes() for chunk in found)
    size = np.abs(given.astype(float)).sum(axis=0)
    for chunk in found:
        for each in chunk:
            error = np.abs(np.frombuffer(each, np.float32) - given.astype(float).sum(axis=0))
            assert (error <= bits.depth * 2.0**-24 * size * (1 + 1e-6)).all()


@pytest.mark.parametrize("network", ["ring:5", "hypercube:2", "complete:4"])
def test_files_of_plans_say_the_same(tmp_path, network):
    schedule = treecast.plan("allreduce", network, messages=2)
    for ending in ("msccl.xml", "goal"):
        treecast.export(schedule, str(tmp_path / f"plan.{ending}"))
        verdict, _ = formats.judge(str(tmp_path / f"plan.{ending}"))
        assert verdict.bits == bits_of_plan(schedule)


def test_ranks_that_add_their_own_first_have_unlike_sums():
    leaf, ranks = np.arange(4), 4
    left, right, value = [], [], []
    for rank in range(ranks):
        last = rank
        for other in (other for other in range(ranks) if other != rank):
            left.append(last)
            right.append(other)
            last = ranks + len(left) - 1
        value.append([last])
    bits = bits_of(leaf, (np.array(left), np.array(right)), np.array(value))
    assert bits == (1, 3, 1, 1, 3)  # 0 + 1 is 1 + 0, so ranks 0 and 1 agree
    assert str(bits).startswith("UNLIKE at ranks: 3 sums of one chunk")


def test_same_bits_can_be_asked_for(tmp_path, capsys):
    for network, status in (("complete:2", 0), ("ring:4", 1)):
        treecast.save(treecast.plan("allreduce", network), str(tmp_path / "plan.tc"))
        assert main(["verify", str(tmp_path / "plan.tc"), "--same-bits"]) == status
    assert "same bits      NO" in capsys.readouterr().out
    treecast.save(treecast.plan("broadcast", "ring:4"), str(tmp_path / "plan.tc"))
    assert main(["verify", str(tmp_path / "plan.tc"), "--same-bits"]) == 2
