"""A rank of a case: it makes the calls, and says what it saw of them."""

import numpy as np

from tests.tcp.trials import make_call

LITTLE, MUCH = 8, 40_000  # numbers of eight bytes


def play(comm, case, count, harm, wait):
    """Make a Barrier, the call of a case and an Allreduce; return what this rank saw of the last two, None when it ends early.

    ``harm(fate)``: has the fate befall this rank. ``wait()``: returns when the others have made their calls.
    """
    comm.Barrier()
    fate = case.fate if comm.rank in case.who else None
    if fate == "end":
        return None
    if fate == "late":
        wait()
    elif fate not in (None, "refuse", "other"):
        harm(fate)
    name = case.call if fate != "other" else "Allgather" if case.call == "Allreduce" else "Allreduce"
    said = [_see(comm, 1, name, case.root, count, fate == "refuse"), _see(comm, 2, "Allreduce", 0, count)]
    if fate == "cut":
        wait()  # its end would be a proof
    if fate == "late":
        said.append(_see(comm, 3, "Barrier", 0, count))  # in the last of its calls it may not know yet
    return said


def _see(comm, number, name, root, count, is_wrong=False):
    try:
        if is_wrong:
            rooted = {"root": root} if name in ("Reduce", "Scatter") else {}
            getattr(comm, name)("no array", np.zeros(1), **rooted)
        right = make_call(comm, number, name, root, count)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return [sorted(comm.last.failed), right]
