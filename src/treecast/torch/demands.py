"""Plans of demands on tensors, over any backend of torch's; and ``DTensor.redistribute`` by such a plan."""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from math import inf, prod
from typing import Any

from treecast.collectives import Demand
from treecast.collectives.demands import redistribute as demand_of
from treecast.collectives.demands.layouts import Redistributed, redistributed
from treecast.errors import PlanError
from treecast.plans import plan as make_plan
from treecast.running.execution.layout import chunks_of, layout_at
from treecast.schedule import Schedule
from treecast.torch.group import divide
from treecast.torch.running import BoundPlan, bind
from treecast.torch.tensors import OPS, torch
from treecast.torch.work import dist

tensors: Any = import_module("torch.distributed.tensor")
_CHUNKS = 8  # of who receives most
_SUMS = {"sum": "SUM", "avg": "AVG", "product": "PRODUCT", "min": "MIN", "max": "MAX"}


class BoundDemand(BoundPlan):
    """The plan of a demand that the ranks of a group carry out, as often as it is called."""

    @property
    def _demand(self) -> Demand:
        return self._plan.collective.demand or Demand.of([])

    def __call__(self, tensor: Sequence[Any], out: Any = None, op: str = "SUM", lengths: Any = None) -> list[Any]:
        """Carry the plan out; see ``run``. ``lengths``: the entries of each class, where all ranks say so."""
        # 1. how long classes are
        plan, demand, me = self._plan, self._demand, self._rank
        given, wanted = demand.given_by(me), demand.wanted_by(me)
        # a rank without classes gives an empty tensor, for its type
        if (given and len(tensor) != len(given)) or not len(tensor) or (out is not None and len(out) != len(wanted)):
            raise PlanError(
                f"rank {me} gives classes {given}, or an empty tensor, and gets {wanted}: a tensor for each"
            )
        if lengths is None:
            sides = (*zip(given, tensor, strict=False), *zip(wanted, out or (), strict=False))
            lengths = self._told({number: each.numel() for number, each in sides})
        bounds = layout_at(plan.at(me), me, lengths).bounds.tolist()
        # 2. the memory of this rank; where it adds to a sum and gives nothing, it has a number that changes nothing
        memory = tensor[0].new_full((bounds[-1],), _neutral(op, tensor[0].dtype))
        place = {
            number: slice(*(bounds[chunk] for chunk in chunks_of(plan.collective, number)))
            for number in (*given, *wanted)
        }
        for number, each in zip(given, tensor, strict=False):
            memory[place[number]] = each.reshape(-1)
        # 3. the messages, and the result
        for step in self._steps:
            self._do(step, memory, bounds, OPS[op])
        found = [memory[place[number]] for number in wanted]  # views: what is divided below is divided there
        for number, each in zip(wanted, found, strict=True):
            if op == "AVG" and number < demand.sums:  # only sums have a mean; a rank that gives nothing does not count
                divide(each, int(demand.part[number + 1] - demand.part[number]), each)
        for into, each in zip(out or (), found, strict=False):
            into.copy_(each.view(into.shape))
        return found if out is None else list(out)

    def _told(self, mine: dict[int, int]) -> list[int]:
        """Return how many entries each class has, as ranks say. Raises PlanError at all where they disagree, or nobody knows."""
        said: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(said, mine, group=self._group)
        found = [{each[number] for each in said if number in each} for number in range(len(self._demand))]
        for number, some in enumerate(found):
            if len(some) != 1:  # nobody knows, or two say otherwise
                raise PlanError(
                    f"class {number + 1} has {' or '.join(map(str, sorted(some))) or 'no'} entries: ranks disagree"
                )
        return [some.pop() for some in found]


def _neutral(op: str, dtype: Any) -> Any:
    """Return the number that changes no other by an operation."""
    if op in ("MIN", "MAX"):
        least, most = (-inf, inf) if dtype.is_floating_point else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        return most if op == "MIN" else least
    return {"PRODUCT": 1, "BAND": -1}.get(op, 0)  # -1: all bits


@lru_cache(256)
def plan_of(
    sizes: tuple[int, ...], before: tuple[str, ...], after: tuple[str, ...], shape: tuple[int, ...], model: str
) -> tuple[Schedule, Redistributed, list[int]]:
    """Return the plan of a redistribution on a mesh, its boxes, and which of its classes each class of the plan is."""
    one = demand_of(sizes, before, after, shape)
    most = max((int(one.size[one.wanted_by(rank)].sum()) for rank in range(len(one.want))), default=0)
    # planned twice: the first demand tells how much comes where most does, the second has chunks of a part of that
    demand = demand_of(sizes, before, after, shape, chunk=max(1, -(-most // _CHUNKS)))
    schedule = make_plan(demand, f"complete:{prod(sizes)}", model=model)
    return schedule, redistributed(sizes, before, after, shape), demand.ordered(schedule.network)[1].tolist()


def redistribute(tensor: Any, placements: Sequence[Any], *, model: str = "one-port") -> Any:
    """Return a DTensor with other placements, as its own ``redistribute`` does, by one plan for the whole mesh.

    Parameters
    ----------
    tensor : DTensor
        On a mesh of all ranks, in order, or of one dimension; its placements are Shard, Replicate and Partial. No gradients go
        through this.
    placements : sequence of Placement
        One for each dimension of the mesh: Shard or Replicate.
    model : str
        What a rank can do in a step of the plan.

    Returns
    -------
    DTensor
        The same tensor on the same mesh.

    Raises
    ------
    PlanError
        For a mesh or placements that are others, and partial sums of several operations.

    Examples
    --------
    >>> treecast.torch.redistribute(weights, [Shard(1), Replicate()])  # doctest: +SKIP
    """
    # 1. the plan
    mesh, shape, (before, ops), (after, _) = (
        tensor.device_mesh,
        tuple(tensor.shape),
        *map(_said, (tensor.placements, placements)),
    )
    if len(ops) > 1:
        raise PlanError(f"partial sums of one tensor have one operation, not {', '.join(sorted(ops))}")
    if before == after:
        return tensor
    if mesh.ndim > 1 and mesh.mesh.flatten().tolist() != list(range(dist.get_world_size())):
        raise PlanError("a mesh of several dimensions has all ranks here, in order")
    group = mesh.get_group() if mesh.ndim == 1 else None
    plan, boxes, order = plan_of(tuple(mesh.shape), before, after, shape, model)
    me, demand, local = dist.get_rank(group), plan.collective.demand, tensor.to_local().detach()
    (low, high), (first, stop) = ((begin[me].tolist(), end[me].tolist()) for begin, end in (boxes.held, boxes.wanted))
    result = local.new_empty([b - a for a, b in zip(first, stop, strict=True)])

    def part(whole: Any, begin: list[int], box: Any) -> Any:
        return whole[tuple(slice(each.start - a, each.stop - a) for each, a in zip(box, begin, strict=True))]

    # 2. what stays, and what comes
    both = [slice(max(a, c), min(b, d)) for a, b, c, d in zip(low, high, first, stop, strict=True)]
    # parts of a sum are added by the plan, this rank's too
    if not (demand and demand.sums) and all(each.start < each.stop for each in both):
        part(result, first, both).copy_(part(local, low, both))
    if demand is None or not len(demand):
        return _whole(tensor, result, placements)
    pieces = [boxes.classes[number] for number in order]
    lengths = [sum(_entries(box) for box in each) for each in pieces]
    given = [torch.cat([part(local, low, box).reshape(-1) for box in pieces[k]]) for k in demand.given_by(me)]
    came = _bound(plan, group)(given or [local.new_empty(0)], None, _SUMS[next(iter(ops), "sum")], lengths)
    for number, data in zip(demand.wanted_by(me), came, strict=True):
        sizes = [_entries(box) for box in pieces[number]]
        for box, each in zip(pieces[number], data.split(sizes), strict=True):
            place = part(result, first, box)
            place.copy_(each.view(place.shape))
    return _whole(tensor, result, placements)


@lru_cache(256)
def _bound(plan: Schedule, group: Any) -> Any:
    return bind(plan, group, check=False)  # check=False: the plan was made here


def _whole(tensor: Any, local: Any, placements: Sequence[Any]) -> Any:
    more: dict[str, Any] = {"shape": tensor.shape, "stride": tensor.stride(), "run_check": False}
    return tensors.DTensor.from_local(local, tensor.device_mesh, list(placements), **more)


def _entries(box: Any) -> int:
    return prod(each.stop - each.start for each in box)


def _said(placements: Sequence[Any]) -> tuple[tuple[str, ...], set[str]]:
    """Return placements as ``treecast.collectives.demands`` has them, and the operations of partial sums."""
    names, ops = list[str](), set[str]()
    for each in placements:
        if type(each) is tensors.Partial and each.reduce_op in _SUMS:
            ops.add(each.reduce_op)
        # by exact type: a subclass may place entries otherwise
        elif type(each) not in (tensors.Replicate, tensors.Shard):
            raise PlanError(f"{each} is no placement that can be planned: Shard, Replicate and Partial are")
        names.append(f"S{each.dim}" if type(each) is tensors.Shard else "P" if type(each) is tensors.Partial else "R")
    return tuple(names), ops
