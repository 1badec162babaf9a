"""Carries a plan out over any backend of torch's, step by step, with torch's own messages: gloo, NCCL, treecast."""

from collections.abc import Callable, Iterator
from typing import Any

from treecast.errors import PlanError
from treecast.running.execution.layout import Ranges, digest_of, ranges_at
from treecast.schedule import Schedule
from treecast.schedule.sizes import chunk_bounds
from treecast.torch.group import divide
from treecast.torch.steps import StepMessage, steps_of
from treecast.torch.tensors import OPS, torch
from treecast.torch.work import dist
from treecast.verification.verifier import verify


class BoundPlan:
    """A plan that the ranks of a group carry out, as often as it is called; ``bind`` makes it."""

    def __init__(self, plan: Schedule, group: Any) -> None:
        self._plan, self._group, self._rank = plan, group, dist.get_rank(group)
        self._steps = steps_of(plan, self._rank)
        collective, sums = plan.collective, plan.collective.sums
        self._given = [] if sums else ranges_at(collective.given(), self._rank)
        # The finished sum c is chunk sums + c of the plan, and lies where the sum itself lies.
        self._wanted = [
            (a % sums, (b - 1) % sums + 1) if sums else (a, b) for a, b in ranges_at(collective.wanted(), self._rank)
        ]

    def __call__(self, tensor: Any, out: Any = None, op: str = "SUM") -> Any:
        """Carry the plan out; see ``run``."""
        collective = self._plan.collective
        traits, flat, total = collective.traits, tensor.reshape(-1), tensor.numel()
        is_block = (
            not collective.sums and traits.blocks != "one" and traits.ends == "own" and self._rank != collective.root
        )
        # The tensor is one block then, and chunks are counted over all of them.
        if traits.starts == "own" or is_block:
            total *= collective.nodes
        bounds = chunk_bounds(collective, total).tolist()
        # all ranks give, and get, tensors of the whole length
        whole = traits.blocks == "one" or (collective.sums and traits.ends != "own")
        # Without a copy where the tensor is all that is sent and received.
        in_place = out is None and whole and tensor.is_contiguous()
        memory = flat if in_place else tensor.new_zeros(total)  # chunks of others pass through it
        if not in_place:
            # To sums each rank gives all of its tensor.
            # an allgather's block, say, goes to where all blocks lie
            given = [(0, len(bounds) - 1)] if collective.sums else self._given
            for part, own in _beside(flat, memory, bounds, given):
                part.copy_(own)
        for step in self._steps:
            self._do(step, memory, bounds, OPS[op])
        # Divided once, at the end: on the way a sum has parts of any number of ranks.
        if op == "AVG":
            for first, stop in self._wanted:
                part = memory[bounds[first] : bounds[stop]]
                divide(part, collective.nodes, part)
        if in_place:
            return tensor
        if not self._wanted:  # a gather brings nothing to others
            return tensor if out is None else out
        got = torch.cat([memory[bounds[a] : bounds[b]] for a, b in self._wanted])
        into = tensor.new_empty(got.numel()) if out is None else out
        into.copy_(got.view(into.shape))
        return into

    def _do(self, step: list[StepMessage], memory: Any, bounds: list[int], add: Callable[..., Any]) -> None:
        """Carry a step out: all messages at once, then those that are added or do not lie in one piece."""
        asked: list[Any] = []
        after: list[tuple[Any, StepMessage]] = []
        for each in step:
            parts = [memory[bounds[a] : bounds[b]] for a, b in each.ranges]
            size = sum(part.numel() for part in parts)
            if not size:  # chunks may be empty where entries do not suffice
                continue
            # In place, unless it lies in several pieces, or has to be added to what is there.
            if len(parts) == 1 and (each.sends or not each.adds):
                box = parts[0]
            elif each.sends:
                box = torch.cat(parts)
            else:
                box = memory.new_empty(size)
                after.append((box, each))
            way = dist.isend if each.sends else dist.irecv
            # peers match messages by their order, so no tags are needed
            asked.append(dist.P2POp(way, box, group=self._group, group_peer=each.peer))
        begun: list[Any] = dist.batch_isend_irecv(asked) if asked else []
        # All are begun before any is waited for: so two ranks that send to each other never wait in a circle.
        for work in begun:
            work.wait()
        for box, each in after:
            for part, came in _beside(box, memory, bounds, each.ranges):
                if each.adds:
                    add(part, came, out=part)
                else:
                    part.copy_(came)


def _beside(box: Any, memory: Any, bounds: list[int], ranges: Ranges) -> Iterator[tuple[Any, Any]]:
    """Yield the memory of ranges of chunks, each with its part of a box in which they lie one behind the other."""
    place = 0  # the ranges in order, one behind the other
    for first, stop in ranges:
        part = memory[bounds[first] : bounds[stop]]
        yield part, box[place : place + part.numel()]
        place += part.numel()


def bind(plan: Schedule, group: Any = None, *, check: bool = True) -> BoundPlan:
    """Return a plan as something to call many times; all ranks of the group call this.

    Parameters
    ----------
    plan : Schedule
        Equal at all ranks, which is compared once; for as many nodes as there are ranks. Node r is rank r.
    group : ProcessGroup, optional
        Of any backend; by default that of all ranks.
    check : bool
        Whether the plan is verified first.

    Returns
    -------
    BoundPlan
        It takes the arguments of ``run`` behind the plan, but the group.

    Raises
    ------
    PlanError
        The plan is for another number of ranks, is wrong, differs among ranks, has relays, or leaves out chunks that were sent
        before.

    Examples
    --------
    >>> allreduce = treecast.torch.bind(treecast.plan("allreduce", "torus:2x2x2"))  # doctest: +SKIP
    >>> allreduce(tensor)                                           # doctest: +SKIP
    """
    # 1. A plan for so many ranks, and a right one.
    size = dist.get_world_size(group)
    if plan.network.nodes != size:
        raise PlanError(f"the plan is for {plan.network.nodes} ranks, and the group has {size}")
    if check and not (report := verify(plan)).holds:
        raise PlanError(f"the plan is wrong: {', '.join(each.rule for each in report.violations)}")
    # 2. Ranks with other plans would wait for messages that nobody sends.
    own, said = digest_of(plan), [None] * size
    dist.all_gather_object(said, own, group=group)
    if set(said) != {own}:
        raise PlanError("the ranks have different plans: make it at one, save it, and load it at all")
    # 3. Demands have classes in place of blocks.
    if plan.collective.demand is not None:
        from treecast.torch.demands import BoundDemand

        return BoundDemand(plan, group)
    return BoundPlan(plan, group)


def run(plan: Schedule, tensor: Any, out: Any = None, group: Any = None, op: str = "SUM") -> Any:
    """Carry a plan out on tensors, over any backend: a step of the plan is one ``batch_isend_irecv``.

    Parameters
    ----------
    plan : Schedule
        As ``bind`` takes it.
    tensor : Tensor
        The data that this rank gives: of sums and broadcasts as long at all ranks, in whose place the result comes; of an
        allgather or a gather this rank's block; of a scatter the root's blocks one behind the other, elsewhere any tensor as
        long as a block; of an alltoall a block for each rank. Of a demand a list: the classes of which this rank has something,
        in order, of any lengths; a rank that has nothing gives an empty tensor of the type that others have.
    out : Tensor, optional
        Where the result goes; by default in place for sums and broadcasts, and else a new tensor. Of a demand a list, of the
        classes that this rank wants.
    group : ProcessGroup, optional
        By default that of all ranks.
    op : {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"}
        How sums are added.

    Returns
    -------
    Tensor
        The result; ``tensor`` at ranks that want nothing. Of a demand the list of classes.

    Raises
    ------
    PlanError
        As of ``bind``.

    Examples
    --------
    >>> treecast.torch.run(treecast.plan("allreduce", "ring:4"), tensor)  # doctest: +SKIP
    """
    return bind(plan, group)(tensor, out, op)
