"""The digests of calls that are under way, and of the last ones: frames carry them, so that unlike calls are found out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecast.running.transport.base import Key

PARTS = 7
"""Numbers that one call of the program has in a group, which makes so many of the group's at most; odd, since tags return."""
SOFT = 8
"""The last bits of a digest, which are 0 where a rank does not know what they tell of."""
# Ranks may be 64 calls apart (`groups.pace`), so a frame of any call that is still under way finds its digest.
_KEPT = 128  # calls of the program of which digests are kept


def differ(one: int, other: int) -> bool:
    """Return whether two digests are of unlike calls; 0 is of any call, and so are the last bits that are 0.

    >>> differ(0x101, 0x102), differ(0x101, 0x100), differ(0x101, 0), differ(0x101, 0x201)
    (True, False, False, True)
    """
    if one == other or not (one and other):
        return False
    last = (1 << SOFT) - 1
    return one >> SOFT != other >> SOFT or bool(one & last and other & last)


class Marks:
    """The digest of each call, by its group and its number among the calls of the program.

    ``tell``: is told of a frame of a call with another digest: from whom it is, the group, and the number.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], int] = {}
        self._ahead: dict[tuple[int, int], dict[int, int]] = {}
        self._last: dict[int, int] = {}
        self.tell: Callable[[int, int, int], None] = lambda source, group, call: None

    def set(self, group: int, call: int, digest: int) -> None:
        """Give the call that begins its digest, and tell of frames of it that have come and differ."""
        self._last[group] = call
        self._of[group, call] = digest
        self._of.pop((group, call - _KEPT), None)  # no more are kept than ranks may be apart
        # Frames of a rank that is ahead came before this call began here. Their data was buffered; only now can it be
        # compared.
        for source, other in self._ahead.pop((group, call), {}).items() if self._ahead else ():
            if differ(digest, other):
                self.tell(source, group, call)

    def of(self, key: "Key") -> int:
        """Return the digest that a frame carries, 0 where there is none."""
        # key[5] is its group, key[1] its call: a frame need not be unpacked
        return self._of.get((key[5], key[1] // PARTS), 0)

    def bits(self, key: "Key", count: int) -> int:
        """Return so many bits of the digest of a frame, the same at all ranks whose calls do not differ."""
        # The last bits are left out: ranks that do not know the type of entries have 0 there, and must find the same
        # tag.
        return self.of(key) >> SOFT & ((1 << count) - 1)

    def now(self, group: int) -> int:
        """Return the number of the last call that has begun in a group."""
        return self._last.get(group, 0)  # 0: none has begun yet

    def fits(self, source: int, key: "Key", digest: int) -> bool:
        """Return whether a frame that comes is of the same call here, as far as is known; tell of one that is not."""
        here = key[5], key[1] // PARTS
        mine = self._of.get(here)  # the digest of the same call here
        # Not known here: the call has not begun, and is compared when it does, or it is long over.
        if mine is None:
            if here[1] > self._last.get(key[5], 0):
                self._ahead.setdefault(here, {})[source] = digest
            return True
        if not differ(mine, digest):
            return True
        self.tell(source, *here)
        return False
