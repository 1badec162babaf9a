"""Who lives in a process group, who comes back, and the state that brings it up to date."""

import hashlib
import io
from typing import Any

import numpy as np

from treecast.errors import DeliveryError, PlanError
from treecast.torch.group import ProcessGroup
from treecast.torch.tensors import torch
from treecast.torch.work import dist, untraced


@untraced
def group_of(group: Any = None) -> ProcessGroup:
    """Return a process group of treecast's, by default that of all ranks. Raises PlanError for another's."""
    found = dist.group.WORLD if group is None else group
    if not isinstance(found, ProcessGroup):
        raise PlanError('this is no group of treecast\'s: torch.distributed.init_process_group("treecast") makes one')
    return found


def calls(group: Any = None) -> list[dict[str, Any]]:
    """Return the last 1,000 calls of this process, of all its groups, as entries of PyTorch's flight recorder.

    Parameters
    ----------
    group : ProcessGroup, optional
        One of treecast's; by default that of all ranks.

    Returns
    -------
    list of dict
        With ``profiling_name``, ``input_sizes``, ``state`` and so on; ``treecast`` has the root, the operation and the error.

    Raises
    ------
    PlanError
        It is no group of treecast's.

    Examples
    --------
    >>> treecast.torch.calls()[-1]["profiling_name"]                # doctest: +SKIP
    'gloo:all_reduce'
    """
    return group_of(group).comm.calls()


def failed(group: Any = None) -> tuple[int, ...]:
    """Return the ranks of a process group that have failed: the same at all that live, between the same two calls.

    Numbers stay: ``get_world_size()`` counts them still.

    Parameters
    ----------
    group : ProcessGroup, optional
        By default that of all ranks.

    Returns
    -------
    tuple of int
        Numbers in the group, in ascending order.

    Raises
    ------
    PlanError
        It is no group of treecast's.

    Examples
    --------
    >>> treecast.torch.failed()                                     # doctest: +SKIP
    (2,)
    """
    return group_of(group).failed


def living(group: Any = None) -> tuple[int, ...]:
    """Return the ranks of a process group that have not failed; else as ``failed``."""
    found = group_of(group)
    return tuple(rank for rank in range(found.size()) if rank not in found.failed)


def is_first(group: Any = None) -> bool:
    """Return whether this is the lowest living rank: who saves the checkpoint, say, also once rank 0 has failed."""
    return group_of(group).rank() == living(group)[0]


def is_new() -> bool:
    """Return whether this rank was taken in later (``admit``), and nobody has shared anything with it yet.

    It is False at all when the whole job begins again, as under torchrun's ``--max-restarts``: load a checkpoint then.
    """
    return group_of().comm.is_new


def shrink(group: Any = None) -> Any:
    """Return a new group of those who live, numbered anew in their old order; all that live call this.

    For data with a place for each rank: allgathers, objects, checkpoints, sharded training.
    """
    found = group_of(group)
    ranks = dist.get_process_group_ranks(found)
    return dist.new_group([ranks[rank] for rank in living(found)], backend="treecast")


def admit() -> tuple[int, ...]:
    """Take in who has asked for it by now; return their numbers, the same at all. All ranks call this, now and then.

    They are processes in the seats of ranks that have failed, started by ``treecast launch --tcp --respawn``, or by a torchrun
    of their own that starts them anew, and come by ``init_method="treecast://"``. The next call of all has to be ``share``.
    Nobody waits for who has not come.
    """
    comm = group_of().comm
    comm.worker.wait()
    return comm.admit()


def share(*things: Any) -> tuple[Any, ...]:
    """Bring the state of those who were there to those taken in by ``admit``; all ranks call this.

    Afterwards all have the state of the lowest old rank, bit by bit: an old rank that differs takes it, too. Each old rank gives
    a part, and any of them may die meanwhile. The state is unpickled, so whoever takes it trusts all ranks.

    Parameters
    ----------
    *things
        As many at all ranks: models, optimisers and whatever else has ``state_dict`` and ``load_state_dict``; tensors, which are
        written to; and other things that can be pickled, such as the number of a step.

    Returns
    -------
    tuple
        The things: models, optimisers and tensors are those that were given, filled in place; others are new ones, as the lowest
        old rank has them.

    Raises
    ------
    DeliveryError
        Nobody who has the state lives.

    Examples
    --------
    >>> model, optimiser, step = treecast.torch.share(model, optimiser, step)  # doctest: +SKIP
    """
    # 1. Who has the state, and whose differs.
    comm, state = group_of().comm, io.BytesIO()
    if not comm.is_new:  # a newcomer has nothing to give
        torch.save([each.state_dict() if hasattr(each, "state_dict") else each for each in things], state)
    mine = state.getvalue()
    # what all compare: who is new, the bytes, their digest, how many groups there are
    own = (comm.is_new, len(mine), hashlib.sha256(mine).digest(), dist.distributed_c10d._world.group_count)
    said: list[Any] = [each for each in comm.ask("share", own) if each is not None]
    old = [each for each in said if not each[0]]
    if not old:
        raise DeliveryError("share: nobody who has the state lives")
    dist.distributed_c10d._world.group_count = max(each[3] for each in said)  # names of new groups go on alike
    # 2. An old rank whose state differs takes the one of the lowest, too: then all go on alike.
    lacks = own[:3] != old[0][:3]
    data = np.empty(old[0][1], np.uint8) if lacks else np.frombuffer(mine, np.uint8).copy()
    comm.share([data], lacks)
    if not lacks:
        return things
    # 3. What came, in the place of what was here.
    taken: list[Any] = []
    for thing, value in zip(things, torch.load(io.BytesIO(data.tobytes()), weights_only=False), strict=True):
        if hasattr(thing, "load_state_dict"):
            thing.load_state_dict(value)
        elif isinstance(thing, torch.Tensor):
            thing.detach().copy_(value)
        else:
            thing = value  # a plain value: the caller takes the returned one
        taken.append(thing)
    return tuple(taken)
