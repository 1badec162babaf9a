"""Lower bounds of what one node tells all, where each node has one port: informed nodes at most double in a step."""

from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps


def broadcast(job: Job) -> list[Bound]:
    """Return the bounds of a broadcast of Mx chunks for each node over one port, messages not combined.

    After t steps at most 2^t ranks hold anything. So some rank gets its first chunk in step q - 1 or later, q = ⌈log2 N⌉,
    and from then on one of its Mx chunks a step: Mx - 1 + q. With x = 1 this is optimal on complete networks (Träff 2022).
    For one message it is q + f with f = x - 1 faults (Liestman 1985).

    With half duplex each send keeps two nodes busy: step t has at most min(2^t, ⌊N/2⌋) sends.
    """
    doublings = job.others.bit_length()
    found = [steps(job.total - 1 + doublings, "M x - 1 + ⌈log2 N⌉", "informed nodes at most double")]
    if job.model.half_port:
        found.append(_busy_halves(job))
    return found


def _busy_halves(job: Job) -> Bound:
    """Sum min(2^t, ⌊N/2⌋) over the steps until it is all sends."""
    value = least_doubling(job.total * job.others, 1, job.room)
    return steps(value, f"least T with Σ min(2^t, {job.room:,}) ≥ M x (N - 1), t < T", "each send keeps two nodes busy")


def least_doubling(sends: int, first: int, most: int) -> int:
    """Return in how many steps there can be so many sends: ``first`` in the first step, twice as many in each next, or ``most``.

    >>> least_doubling(12, 1, 4)
    5
    """
    left, count, sending = sends, 0, first
    while sending < most and left > 0:
        left, count, sending = left - sending, count + 1, 2 * sending
    return count + -(-max(0, left) // most)
