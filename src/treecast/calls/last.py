"""What became of the last collective on a communicator."""

from typing import NamedTuple


class Last(NamedTuple):
    """What became of a collective.

    Attributes
    ----------
    failed : tuple of int
        The ranks whose data did not come because they have failed; the same on all living ranks.
    way : str
        Who carried it out: ``MPI`` for the library's own call, else the name of treecast's way: ``straight``, ``trees`` over a
        network that was named, or between hosts the builder of the one-port plan.
    network : str
        The network between the ranks, or their hosts, where the way goes by a plan; "" otherwise.
    seconds : float
        How long this rank was in the call.
    """

    failed: tuple[int, ...] = ()
    way: str = ""
    network: str = ""
    seconds: float = 0.0
