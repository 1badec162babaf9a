"""Training that goes on without the dead: the mean of those who are in the sum, and data for those who live."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from treecast.errors import PlanError
from treecast.running.algorithms import sums
from treecast.torch.forms import BY_ALGORITHM, One
from treecast.torch.group import ProcessGroup, divide
from treecast.torch.membership import group_of, living
from treecast.torch.tensors import torch
from treecast.torch.work import Outputs, dist, untraced

_parallel: Any = import_module("torch.nn.parallel.distributed")
_data: Any = import_module("torch.utils.data.distributed")
# About as much as DistributedDataParallel takes at once by itself.
_COALESCED = 1 << 28  # bytes of buffers that go at once


@dataclass(eq=False)
class _Bucket:
    """A bucket of gradients under way: those of this rank, the sum, and who is not in it."""

    given: Any
    total: Any
    over: "Future[None]" = field(default_factory=Future[None])
    failed: tuple[int, ...] = ()

    def add(self, group: ProcessGroup) -> None:
        """Sum it, and divide it by how many are in the sum."""
        self.failed = group.collective(
            One(BY_ALGORITHM[sums.allreduce], (self.given, self.total, "SUM")), title="all_reduce"
        )
        divide(self.total, group.size() - len(self.failed), self.total)


@untraced
class _Mean:
    """Sums the buckets of a step; all of them over one set of ranks, also when one dies between two buckets."""

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group
        self._begun: list[_Bucket] = []
        self._totals: dict[int, Any] = {}  # by bucket: every step has the same memory, as new pages are slow

    def begin(self, bucket: Any) -> Any:
        """Begin to sum a bucket; return the future of its mean."""
        index, given = bucket.index(), bucket.buffer()
        total = self._totals.get(index)
        # another model, or type: the memory does not fit
        if total is None or total.shape != given.shape or total.dtype != given.dtype:
            total = self._totals[index] = torch.empty_like(given)
        begun = _Bucket(given, total)
        # The bucket with index 0 begins a step.
        self._begun = [*(self._begun if index else []), begun]
        self._group.submit(partial(self._add, begun, self._begun if bucket.is_last() else []), None, True)
        return Outputs(begun.over, total).then(Outputs.value)

    def _add(self, bucket: _Bucket, step: list[_Bucket]) -> None:
        try:
            bucket.add(self._group)
            # Until all buckets are sums over one set. Another turn takes another death, so it ends.
            # the longest list: the dead only become more
            while stale := [each for each in step if each.failed != max((b.failed for b in step), key=len)]:
                for each in stale:
                    each.add(self._group)
        except Exception as error:
            for each in step or [bucket]:  # all buckets of the step wait for one outcome
                each.over.set_exception(error)
            return
        for each in step:
            each.over.set_result(None)

    def share_buffers(self, state: Any, buffers: dict[str, Any]) -> None:
        """Bring the buffers (of BatchNorm, say) of the lowest living rank to all; of the next when it dies meanwhile."""
        while buffers:
            root = living(self._group)[0]  # the lowest that lives now
            try:
                dist._broadcast_coalesced(self._group, list(buffers.values()), _COALESCED, root)
                return
            # The root died: the next living rank has the same buffers. An error of another kind would come again.
            except RuntimeError:
                if root == living(self._group)[0]:  # nobody has died: the error is another one
                    raise


def mean(ddp: Any) -> Any:
    """Have DistributedDataParallel divide by those who are in the sum, also in the step in which a rank dies; return it.

    By itself it divides by all ranks, and takes buffers from rank 0. The gradients of a step are the mean over one set of ranks:
    when somebody dies between two buckets, the earlier ones are summed anew. That takes one more copy of the gradients.

    Parameters
    ----------
    ddp : DistributedDataParallel
        Over a group of treecast's. It has no other communication hook.

    Returns
    -------
    DistributedDataParallel
        The same.

    Raises
    ------
    PlanError
        It is over another backend.

    Examples
    --------
    >>> ddp = treecast.torch.mean(DistributedDataParallel(model))   # doctest: +SKIP
    """
    if not isinstance(ddp, _parallel.DistributedDataParallel):
        raise PlanError(f"mean takes a DistributedDataParallel, not {type(ddp).__name__}")
    group = group_of(ddp.process_group)
    made = _Mean(group)
    # a lambda has none of the annotations that torch looks at
    hook: Callable[[Any, Any], Any] = lambda state, bucket: made.begin(bucket)  # noqa: E731  torch refuses annotations
    ddp.register_comm_hook(None, hook)
    ddp._register_buffer_comm_hook(None, made.share_buffers, _parallel._BufferCommHookLocation.PRE_FORWARD)
    group.divides = True
    return ddp


class Sampler(_data.DistributedSampler):
    """torch's DistributedSampler, whose ``set_epoch`` deals the data to those who live by then, in their order.

    Examples
    --------
    >>> sampler = treecast.torch.Sampler(dataset)                   # doctest: +SKIP
    """

    def __init__(self, dataset: Any, group: Any = None, **options: Any) -> None:
        self._group = group_of(group)
        _data.DistributedSampler.__init__(self, dataset, *self._dealt(), **options)

    def _dealt(self) -> tuple[int, int]:
        alive = living(self._group)
        return len(alive), alive.index(self._group.rank())

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; all ranks call it between the same two calls."""
        # the sampler is begun anew with the living, and keeps its settings
        options = {"shuffle": self.shuffle, "seed": self.seed, "drop_last": self.drop_last}
        _data.DistributedSampler.__init__(self, self.dataset, *self._dealt(), **options)
        _data.DistributedSampler.set_epoch(self, epoch)
