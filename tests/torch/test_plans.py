"""Plans over gloo and over treecast, by torch's own messages: every kind of collective, against what it is to do."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import treecast  # noqa: E402
import treecast.torch  # noqa: E402
from tests.torch.ranks import run  # noqa: E402
from treecast.errors import PlanError  # noqa: E402

K = 7  # entries of a block


def check(rank, n, plan, op):
    kind, root = plan.collective.kind, plan.collective.root
    own, whole = torch.full((K,), float(rank)), torch.arange(n).repeat_interleave(K).double()
    line, total = torch.arange(n * K).double(), n * (n - 1) / 2
    scale = n if op == "SUM" else 1
    summed = scale * line + total * scale / n
    given = {
        "broadcast": line * (rank == root),
        "scatter": line if rank == root else torch.zeros(K).double(),
        "alltoall": whole + 100 * rank,
        **dict.fromkeys(("allgather", "gather"), own.double()),
        **dict.fromkeys(("reduce", "allreduce", "reduce-scatter"), line + rank),
    }[kind]
    wanted = {
        "broadcast": line,
        "scatter": line[rank * K : rank * K + K],
        "alltoall": 100 * whole + rank,
        "allgather": whole,
        "gather": whole if rank == root else None,
        "reduce": summed if rank == root else None,
        "allreduce": summed,
        "reduce-scatter": summed[rank * K : rank * K + K],
    }[kind]
    found = treecast.torch.run(plan, given, op=op)
    return wanted is None or torch.allclose(found, wanted)


def program(rank, n, network):
    wrong = []
    for kind in ("broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce", "reduce-scatter"):
        for more in ({}, {"messages": 5}):
            plan = treecast.plan(kind, network, **more)
            for op in ("SUM", "AVG") if plan.collective.sums else ("SUM",):
                if not check(rank, n, plan, op):
                    wrong.append((kind, more, op))
    return wrong


@pytest.mark.parametrize("backend", ["gloo", "treecast"])
@pytest.mark.parametrize(("network", "n"), [("ring:3", 3), ("torus:2x2", 4)])
def test_every_kind_of_plan_does_what_it_is_to_do(backend, network, n):
    assert run(n, program, n, network, backend=backend) == [[]] * n


def refuse(rank):
    said = []
    for plan in (treecast.plan("allreduce", "ring:5"), treecast.plan("broadcast", "ring:3", root=rank)):
        try:
            treecast.torch.run(plan, torch.ones(3))
        except PlanError as error:
            said.append(str(error))
    return said


def test_plans_for_others_and_plans_that_differ_are_refused():
    told = "the ranks have different plans: make it at one, save it, and load it at all"
    assert run(3, refuse) == [["the plan is for 5 ranks, and the group has 3", told]] * 3
