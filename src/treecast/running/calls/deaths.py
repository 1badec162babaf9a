"""Who takes no part in calls any more, told to the program once, and results without their data."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treecast.errors import DeliveryError
from treecast.running.calls.collectives import has_holes
from treecast.running.calls.table import Failed
from treecast.running.groups.group import Group
from treecast.running.groups.members import name_ranks


@dataclass
class Deaths:
    """The failed of a group, as far as the program has been told of them.

    ``where``: names the group in a line. ``advice``: what to do about a result with holes. ``name``: names ranks.
    ``hint``: ends a line.
    """

    where: str
    advice: str
    name: Callable[[Sequence[int]], str] = name_ranks
    hint: Callable[[], str] = str
    _told: set[int] = field(default_factory=set[int])

    def tell(
        self, call: tuple[str, str, int], outcome: tuple[Failed, int | None], group: Group, on_failed: str
    ) -> None:
        """Say what a call that is over lacks, as ``on_failed`` asks for.

        ``call``: its name for the program and in mpi4py, and its number. ``outcome``: the failed ranks whose data is missing, and
        the one rank that has a result, None when all do. All living ranks know the same, so either all raise or none. Each
        rank that takes no part any more has one line, and so have those that are back. Raises DeliveryError with ``raise``; and
        with ``warn`` where blocks of the result are not those that the caller takes them for.
        """
        # 1. The outcome, and whom the program has not been told of.
        (name, row, number), (failed, target), members = call, outcome, group.agreement.members
        if not failed and len(members) == group.size and not self._told:  # the ordinary case, asked in every call
            return
        living = set(members) - set(failed)  # whose data is missing counts as out, member or not
        out = set(range(group.size)) - living
        # back: newcomers in the place of the dead
        news, back, self._told = sorted(out - self._told), sorted(self._told - out), out
        lost = target is not None and failed == (target,)  # the result was for the dead alone
        holes = not lost and has_holes(row)

        # 2. What becomes of the result without some ranks.
        def without(ranks: Sequence[int]) -> str:
            its, takes = ("their", "take") if len(ranks) > 1 else ("its", "takes")
            if not set(ranks) & set(failed):
                return f"{takes} no part any more"
            if lost:
                return "nobody has the result, which was for it"
            if holes:
                # lower case: a call of Python objects
                return f"{its} part of the result is {'None' if row.islower() else 'whatever was there before'}"
            return f"the result leaves out {its} data"

        # 3. One line for each that is back, and each that is gone.
        where, warns = f"treecast: {name}, call {number} of {self.where}:", on_failed == "warn"
        if back and warns and group.rank == min(living - set(back)):  # those know of no death before
            are = "are" if len(back) > 1 else "is"
            sys.stderr.write(f"{where} {self.name(back)} {are} back\n")
        if news and warns and group.rank == min(living):  # the lowest that lives speaks for all
            for rank in news:
                ended, later = end_of(rank, group), ", now and in later calls without it" if rank in failed else ""
                sys.stderr.write(f"{where} {self.name([rank])} {ended}, and {without([rank])}{later}{self.hint()}\n")
        # 4. Holes raise with "warn", too: the caller would read wrong data.
        if failed and (on_failed == "raise" or (holes and on_failed == "warn")):
            ends = ", ".join(f"{self.name([rank])} {end_of(rank, group)}" for rank in failed)
            raise DeliveryError(f"{name}: {ends}, and {without(failed)}; {self.advice}")


def end_of(rank: int, group: Group) -> str:
    """Return how a rank has ended its part, in words."""
    agreement, terms = group.agreement, group.terms
    if rank in agreement.byes:  # it said farewell
        return "has ended"
    if rank in agreement.dead - agreement.silent:  # an end that was proved, and not by its own word
        return "has died"
    if rank in group.overdue:  # this rank itself put it out
        return f"was put out: it did not come to the call for {terms.late:g} s"
    times = ((terms.deadline, "silent"), (terms.late, "late"))
    why = " or ".join(f"{word} for {seconds:g} s" for seconds, word in times if seconds is not None)
    return f"was put out: {why or 'cut off from others'}"
