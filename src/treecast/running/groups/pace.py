"""How far ranks may be apart: whoever is far ahead waits, so that nobody keeps data of more than some calls."""

from typing import TYPE_CHECKING

from treecast.running.groups.states import Need
from treecast.running.transport.base import Steps
from treecast.running.transport.marks import PARTS

if TYPE_CHECKING:
    from treecast.running.groups.group import Group

AHEAD = 64
"""Calls that a rank may be ahead of others, and of which it keeps data that others may lack."""
_SAY_END = 16  # calls after which ranks learn how far the others have come
# Apart from the instances of calls, which count from 0.
_MEETING = 255  # the instance in which those of a wide group do so


def keep_pace(group: "Group", part: int) -> Steps[None]:
    """Let the others know how far this rank has come, now and then, and wait for who is far behind. ``part``: of the call."""
    agreement, number = group.agreement, group.agreement.number
    if group.is_wide:  # N (N - 1) words would be too many
        if number // PARTS % _SAY_END == 0 and not part:
            # Up and down the tree of the group: 2 (N - 1) words.
            yield from agreement.settle(_MEETING, Need, False, group.fetch)
            agreement.all_ended = number - 1
            group.forget()
    elif number - group.told >= _SAY_END * PARTS:
        group.told = number
        for rank in agreement.others():  # only others that live: a death ends no call early
            group.say_ended(rank, number - 1)
        group.forget()
    # Who is so far behind may still ask for data of its call. A rank that went on would have to keep ever more of it.
    # A rank that is dead, or silent for too long, is no longer among the others: so this wait ends.
    last = number - AHEAD * PARTS
    if last > agreement.all_ended:
        yield from agreement.until(lambda: all(agreement.end_of(rank) >= last for rank in agreement.others()))
