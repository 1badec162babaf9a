"""Requests of calls that a thread carries out: what a call raises comes out of its own Wait."""

from collections.abc import Callable
from typing import Any

from mpi4py import MPI


class Outcome:
    """What a call has raised, until it is told; ``asked``: by the request itself, so that MPI need not say so."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked = False

    def query(self, status: MPI.Status) -> None:
        """Tell Waitall and its like, which are MPI's, that the call has failed. Raises MPI's exception, with our text."""
        if self.error is not None and not self.asked:
            code = MPI.Add_error_code(MPI.Add_error_class())
            MPI.Add_error_string(code, str(self.error)[: MPI.MAX_ERROR_STRING - 1])
            raise MPI.Exception(code)


class Telling:
    """A request whose Wait and Test raise what its call has raised."""

    outcome: Outcome

    def Wait(self, status: MPI.Status | None = None) -> Any:  # noqa: N802, D102
        return self._ask(MPI.Request.Wait, status)

    def Test(self, status: MPI.Status | None = None) -> Any:  # noqa: N802, D102
        return self._ask(MPI.Request.Test, status)

    def wait(self, status: MPI.Status | None = None) -> Any:  # noqa: D102
        return self._ask(MPI.Request.wait, status)

    def test(self, status: MPI.Status | None = None) -> Any:  # noqa: D102
        return self._ask(MPI.Request.test, status)

    def _ask(self, ask: Callable[..., Any], status: MPI.Status | None) -> Any:
        outcome = self.outcome
        outcome.asked = True
        answer = ask(self, status)
        if self:  # it is not over, and others may be asked
            outcome.asked = False
        elif outcome.error is not None:
            error, outcome.error = outcome.error, None
            raise error
        return answer


class Pending(Telling, MPI.Grequest):
    """The request of a nonblocking call."""
