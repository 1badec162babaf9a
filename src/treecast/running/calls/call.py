"""A call on a communicator, under way: algorithms over its group, or a plan in their place; and its outcome."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from treecast.errors import DeliveryError, UnlikeCallsError
from treecast.running.calls.table import Algorithm, Caller, Failed, Given, Plans, RankCall
from treecast.running.groups.group import Group
from treecast.running.groups.unlike import called
from treecast.running.groups.words import NO_WORDS
from treecast.running.transport.base import Steps, T


class Last(NamedTuple):
    """The outcome of a collective.

    Attributes
    ----------
    failed : tuple of int
        The ranks whose data did not come because they have failed; the same on all living ranks.
    way : str
        Who carried it out: ``MPI`` for the library's own call, else treecast's algorithm: ``straight``, ``trees`` over a network
        that was named, or between hosts the builder of the one-port plan.
    network : str
        The network between the ranks, or their hosts, where it follows a plan; "" otherwise.
    seconds : float
        How long this rank was in the call.
    bits : str
        What the bits of its sum depend on: ``any``, ``by-rank`` or ``exact``, as ``sums`` of ``running.groups.terms.Terms`` has
        them. A sum of whole numbers is exact, but of MPI's own calls ``any``; "" for a call that adds nothing, and for sums of
        Python objects.
    """

    failed: tuple[int, ...] = ()
    way: str = ""
    network: str = ""
    seconds: float = 0.0
    bits: str = ""


class Call:
    """A call of one rank. ``is_planned``: whether it goes by a plan. ``bits``: what those of its sum depend on.
    ``parts``: that have begun. ``ends``: ends an algorithm that was begun in another way, as ``LongCalls.end`` does.

    ``run``: carries out steps of the group. ``plans``: functions that carry algorithms out by plans; all others go straight.
    """

    def __init__(self, ours: Caller, group: Group, run: Callable[[Any], Any], *, plans: Plans = None) -> None:
        self.ours, self.group, self.is_planned, self.words = ours, group, False, NO_WORDS
        self.bits = ""
        self._run, self._plans, self.parts = run, plans or {}, 0
        self.ends: Callable[[Call, Algorithm, tuple[Any, ...]], Failed | None] | None = None

    def __call__(self, algorithm: Algorithm, *parts: Any) -> Failed:
        """Carry an algorithm out; return the failed ranks whose data is missing."""
        if self.ends is not None and (failed := self.ends(self, algorithm, parts)) is not None:
            return failed
        plan = self._plans.get(algorithm)
        # a plan takes the call itself, not its group
        return self.run(algorithm(self.group, *parts)) if plan is None else plan(self, *parts)

    def run(self, steps: Steps[T]) -> T:
        """Carry out steps of the group."""
        part, self.parts = self.parts, self.parts + 1  # each part of the call has a number of its own
        found: T = self._run(called(self.group, steps, self.words, part))
        return found

    def refuse(self, error: Exception) -> NoReturn:
        """Leave this call, as all do, since its arguments are wrong here. Raises this error, and DeliveryError at the others."""
        self.words = self.words._replace(is_wrong=True)
        with suppress(DeliveryError, UnlikeCallsError):
            # A wait that never ends by itself: words that are wrong make all leave the call, this rank too.
            self.run(self.group.agreement.until(lambda: False))
        raise error

    def find_unlike(self) -> None:
        """Leave this call: other data came than its own, so the others make another one. Raises UnlikeCallsError at all."""
        self.group.unlike.find(self.group.made.call)
        self.run(self.group.agreement.until(lambda: False))

    def carry_out(self, job: RankCall) -> tuple[Any, Failed]:
        """Carry a call out, as ``_carry_out``; its error stands in the record, too."""
        try:
            return self._carry_out(job)
        except Exception as error:
            made, events = self.group.made, self.group.transport.events
            made.error = f"{type(error).__name__}: {error}"
            self.group.waiting.record.tell(made)
            events.tell("failed", f"{made.words.name}, call {made.call}: {made.error}", made.group, made.call)
            raise

    def _carry_out(self, job: RankCall) -> tuple[Any, Failed]:
        """Read arguments and carry a call out; raise their error when the others have left the call, too.

        Raises UnlikeCallsError when the others make another call, or have made another one before.
        """
        self.words = job.words
        try:
            given = job.read()
            self.words = job.words_of(given)
            self.bits = given.bits if isinstance(given, Given) else ""  # jobs of objects give no ``Given``
        except Exception as error:  # whatever it is, the others must not wait for this rank
            self.refuse(error)
        found = job.carry(self, given)
        # An earlier call had ended here before its error was known.
        if self.group.unlike.owed:
            self._run(self.group.unlike.pay())
        return found
