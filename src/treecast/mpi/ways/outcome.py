"""One outcome of a call at every living rank: the failed ranks whose data is missing, or DeliveryError at all of them."""

from collections.abc import Callable
from typing import NamedTuple

from treecast.errors import DeliveryError
from treecast.groups.members import name_ranks
from treecast.mpi.ways.call import Call
from treecast.mpi.ways.views import State, agree, ranks_of, see_all

Mend = Callable[[dict[int, State]], bool]
"""Brings what is lacking by other ways, as the states say, and tells whether there was anything that it could try."""

_TRIES = 2  # to bring what is lacking, beside one for each failure


class Shape(NamedTuple):
    """Who brings data and who wants it: ``source`` when it is one rank, ``target`` when one rank wants it; else all."""

    name: str
    source: int | None = None
    target: int | None = None


TRANSFER = Shape("transfer")


def settle(call: Call, lacks: set[int], shape: Shape = TRANSFER, mend: Mend | None = None) -> tuple[int, ...]:
    """End a call: find the one outcome of it.

    Parameters
    ----------
    call : Call
        What the ranks share. All living ranks call this at the end of the same call.
    lacks : set of int
        The ranks whose data should be here and is not; ``mend`` takes away what it brings.
    shape : Shape
        Who brings data and who wants it.
    mend : callable, optional
        Tries to bring what is lacking by other ways; all ranks try together.

    Returns
    -------
    tuple of int
        The failed ranks whose data is missing somewhere, in ascending order; the same at every living rank.

    Raises
    ------
    DeliveryError
        Data of a living rank is missing somewhere, or the one source has failed, or the arguments of a rank were refused: at
        every living rank but that one, which gets ().
    """
    call.target = shape.target
    if not call.survive:
        return _alone(call, lacks, shape)
    _check_heard(call, shape)
    if not call.floods and agree(call, int(not (lacks - call.dead or call.refused))):
        return verdict_of_deaths(call, shape)
    tries = call.survive + _TRIES
    while True:
        states = see_all(call, lacks)
        tries -= 1
        if call.cut_off or any(state.refused for state in states.values()):
            break
        if not tries or mend is None or not any(state.lacks for state in states.values()) or not mend(states):
            break
    if call.refused:
        return ()
    _check_heard(call, shape)
    return _verdict(call, states, shape)


def barrier(call: Call) -> None:
    """Return when all living ranks have called this. Raises DeliveryError when this rank is cut off."""
    if call.survive:
        settle(call, set(), Shape("barrier"))
    else:
        call.comm.Barrier()


def verdict_of_deaths(call: Call, shape: Shape) -> tuple[int, ...]:
    """Return what is missing when nothing is but the data of those that all know to be dead.

    Raises DeliveryError when that is the one source.
    """
    call.target = shape.target
    if shape.source is not None:
        if shape.source in call.dead:
            raise DeliveryError(f"{shape.name}: the data is lost with its root, rank {shape.source}")
        return ()
    if shape.target is not None and shape.target in call.dead:
        return (shape.target,)
    return tuple(sorted(call.dead))


def _alone(call: Call, lacks: set[int], shape: Shape) -> tuple[int, ...]:
    """Judge what this rank sees, with nobody else."""
    if call.refused or not lacks:
        return ()
    why = f"; {name_ranks(call.fallen)} failed" if call.fallen else ""
    raise DeliveryError(
        f"{shape.name}: rank {call.rank} got nothing from {name_ranks(lacks)}{why}; survive=0 outlives no failure"
    )


def _check_heard(call: Call, shape: Shape) -> None:
    if call.cut_off:
        raise DeliveryError(f"{shape.name}: rank {call.rank} is cut off: the other ranks have gone on without it")


def _verdict(call: Call, states: dict[int, State], shape: Shape) -> tuple[int, ...]:
    refused = [rank for rank, state in states.items() if state.refused]
    if refused:
        raise DeliveryError(f"{shape.name}: the arguments of {name_ranks(refused)} were refused there")
    lacking = 0
    for state in states.values():
        lacking |= state.lacks
    missing = set(ranks_of(lacking))
    if shape.target is not None and shape.target in call.dead:
        return (shape.target,)
    if not missing:
        return ()
    if shape.source in missing and shape.source in call.dead:
        raise DeliveryError(f"{shape.name}: the data is lost with its root, rank {shape.source}")
    if missing <= call.dead:
        return tuple(sorted(missing))
    living = missing - call.dead
    poor = [rank for rank, state in states.items() if set(ranks_of(state.lacks)) & living]
    gone = f"; {name_ranks(call.dead)} failed" if call.dead else ""
    raise DeliveryError(
        f"{shape.name}: {name_ranks(poor)} lack{'s' * (len(poor) == 1)} the data of {name_ranks(living)}{gone}"
    )
