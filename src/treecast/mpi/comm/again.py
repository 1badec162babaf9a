"""A persistent request whose every start is a call that survives failures."""

import ctypes
from collections.abc import Callable, Sequence

from mpi4py import MPI

from treecast.mpi.comm.pending import Outcome, Pending, Telling


class Again(Telling, MPI.Prequest):
    """The request of a persistent collective. Between a call and the next start it is MPI's null request.

    So MPI's Wait and Test return at once then, as they do for inactive requests. ``Startall`` of MPI knows nothing of it.

    Examples
    --------
    >>> request = comm.Bcast_init(data, root=0)                     # doctest: +SKIP
    >>> request.Start()                                             # doctest: +SKIP
    >>> request.Wait()                                              # doctest: +SKIP
    """

    _begin: Callable[[], Pending]
    outcome = Outcome()

    @classmethod
    def of(cls, begin: Callable[[], Pending]) -> "Again":
        """Return the request whose start begins a call, and takes over the request of that."""
        made = cls()
        made._begin = begin
        return made

    def Start(self) -> None:  # noqa: N802
        """Begin the call once more. Raises MPI's exception while it is under way."""
        if self:
            raise MPI.Exception(MPI.ERR_REQUEST)
        begun = self._begin()
        self.outcome = begun.outcome
        address = MPI._addressof  # pyright: ignore[reportPrivateUsage]
        ctypes.memmove(address(self), address(begun), MPI._sizeof(begun))  # pyright: ignore[reportPrivateUsage]

    @classmethod
    def Startall(cls, requests: Sequence[MPI.Prequest]) -> None:  # type: ignore[override]  # noqa: N802
        """Begin the calls of several requests, in order; they may be MPI's own too."""
        for request in requests:
            request.Start()

    def Free(self) -> None:  # noqa: N802
        """Give the request back."""
        if self:
            super().Free()
