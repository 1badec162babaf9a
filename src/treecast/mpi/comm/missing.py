"""The words when ranks have died and their data is missing: one line, or an error at every living rank."""

import sys
from collections.abc import Sequence

from treecast.calls.collectives import has_holes
from treecast.errors import DeliveryError
from treecast.groups.members import name_ranks
from treecast.mpi.comm.state import State


def tell_failed(
    state: State, call: tuple[str, int], failed: tuple[int, ...], target: int | None, on_failed: str
) -> None:
    """Say that data of the dead is missing in a call that is over, as ``on_failed`` of ``wrap`` asks for.

    ``call``: the name and the number of the call. ``target``: the one rank that has a result, None when all do. All living
    ranks know the same ``failed``, so either all raise or none. The line comes once for each rank that has died. Raises
    DeliveryError with ``raise``; and with ``warn`` where blocks of the result are not those that the caller takes them for.
    """
    if on_failed == "ignore" or not failed:
        return
    (name, number), news = call, sorted(set(failed) - state.told)
    state.told.update(news)
    lost = target is not None and failed == (target,)
    holes = not lost and has_holes(name)
    if holes or on_failed == "raise":
        why = _left_out(failed, name, lost, holes)
        raise DeliveryError(f"{name}: {why}; go on with Shrink, or wrap with on_failed='ignore'")
    if news and state.rank.rank == min(set(state.base.group.agreement.members) - set(failed)):
        why = _left_out(news, name, lost, holes)
        sys.stderr.write(f"treecast: {name}, call {number} of its communicator: {why}, now and in later calls\n")
        sys.stderr.flush()


def _left_out(ranks: Sequence[int], name: str, lost: bool, holes: bool) -> str:
    """Return who has died, and the result without them."""
    has, its = ("have", "their") if len(ranks) > 1 else ("has", "its")
    if lost:
        without = "nobody has the result, which was for it"
    elif holes:
        without = f"{its} part of the result is {'None' if name.islower() else 'whatever was there before'}"
    else:
        without = f"the result leaves out {its} data"
    return f"{name_ranks(ranks)} {has} died, and {without}"
