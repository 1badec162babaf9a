"""Plans of demands on tensors: each rank gets what plain loops find, and ranks that disagree all say so."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import treecast  # noqa: E402
import treecast.torch  # noqa: E402
from tests.tcp.demands import carry, lengths_of, plan_by_chance  # noqa: E402
from tests.torch.ranks import run  # noqa: E402
from treecast.errors import PlanError  # noqa: E402

OPS = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum, "BXOR": np.bitwise_xor}


class Here:
    """This rank, as the test of the other carriers takes it."""

    def __init__(self, rank):
        self.rank = rank


def on_tensors(plan, sent, received, op):
    """Carry a plan out on the memory of arrays."""
    tensors = [torch.from_numpy(each) for each in sent] or [torch.zeros(0, dtype=torch.int64)]
    treecast.torch.run(plan, tensors, [torch.from_numpy(each) for each in received], op=op)


def program(rank, plans):
    return [
        carry(Here(rank), plan, lengths_of(plan.collective.demand, seed), op, OPS[op], np.int64, on_tensors)
        for seed, plan in enumerate(plans)
        for op in OPS
    ]


@pytest.mark.parametrize("backend", ["gloo", "treecast"])
def test_each_rank_gets_what_it_wants(backend):
    plans = [plan_by_chance(where, "all", seed) for seed, where in enumerate(["complete:4", "ring:4", "path:4"])]
    plans.append(treecast.plan([([0, "+", 3], [1, 2], 3)], "path:4"))  # 1 and 2 add, and give nothing
    assert run(4, program, plans, backend=backend) == [[True] * len(plans) * len(OPS)] * 4


def disagree(rank, plan):
    try:
        treecast.torch.run(plan, [torch.ones(4 + (rank == 1))], [torch.zeros(5)] if rank == 2 else None)
    except PlanError as error:
        return str(error)


def test_lengths_that_differ_are_an_error_at_all_ranks():
    plan = treecast.plan([([0, 1], 2, 2)], "complete:3")
    assert run(3, disagree, plan, backend="gloo") == ["class 1 has 4 or 5 entries: ranks disagree"] * 3
