"""The words of ranks to one another at the end of a call, and their bytes."""

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from treecast.running.groups.members import Pair
from treecast.running.transport.base import FrameError

# A state, with w = (size + 7) // 8 bytes for each set of ranks:
#
#   pairs u16 | a u16, b u16 for each pair | lacks w | dead w | data w, ranks w for each kind of `has`
#
#  A decision: action u8 | out w | missing w | data w, ranks w for each kind of `has`
_HEAD = struct.Struct("<H")
_PAIR = struct.Struct("<HH")
# With 1,024 ranks a set takes 128 bytes, so this bounds a state to about 16 KiB. Frames of control have 64 KiB at
# most.
_SETS = 64  # of data that ranks have, at most, of which a state tells
View = tuple[int, tuple[Pair, ...]]
"""The dead, and the pairs of ranks that do not hear each other."""


class Action(IntEnum):
    """The step after a decision: the call is over; who lacks data fetches it; or it begins anew without those out."""

    DONE = 0
    AGAIN = 1
    REDO = 2


class Need(NamedTuple):
    """Whose data a rank lacks and has to give, as sets of bits. ``asks``: some may have decided, though it lacks nothing."""

    lacks: int = 0
    has: int = 0
    asks: bool = False


class State(NamedTuple):
    """The words of some ranks: whose data one of them lacks, which ranks have the data of which, the dead, and the pairs of ranks
    that do not hear each other.
    """

    lacks: int
    has: dict[int, int]
    dead: int
    pairs: tuple[Pair, ...]

    @property
    def view(self) -> View:
        """The dead and the pairs."""
        return self.dead, self.pairs


def join(states: Sequence[State]) -> State:
    """Return the states of ranks of one view as one. Of too many unlike sets that ranks have, it tells less than there is.

    >>> join([State(4, {3: 1}, 0, ()), State(0, {3: 2, 7: 4}, 0, ())])
    State(lacks=4, has={3: 3, 7: 4}, dead=0, pairs=())
    """
    lacks, has = 0, dict[int, int]()
    for state in states:
        lacks |= state.lacks
        for data, ranks in state.has.items():
            has[data] = has.get(data, 0) | ranks
    # The sets that fewest ranks have go first: these ranks could give least.
    while len(has) > _SETS:
        # a caller with less to tell only has more data fetched from fewer ranks
        del has[min(has, key=lambda data: has[data].bit_count())]
    # All have one view: the caller waits for that (`Agreement.awaited`).
    return State(lacks, has, *states[0].view)


class Decision(NamedTuple):
    """The outcome of an instance: who is out, whose data nobody has, and which ranks have the data of which."""

    action: Action
    out: int = 0
    missing: int = 0
    has: Mapping[int, int] = MappingProxyType({})

    def holders(self, about: int) -> int:
        """Return the ranks that have the data of one."""
        return sum(ranks for data, ranks in self.has.items() if data >> about & 1)


def _sets(sets: Sequence[int], size: int) -> bytes:
    width = (size + 7) // 8
    return b"".join(bits.to_bytes(width, "little") for bits in sets)  # one byte holds eight ranks


def _cut(body: bytes, size: int) -> list[int]:
    width = (size + 7) // 8
    if len(body) % width:
        raise FrameError("half a set of ranks")
    return [int.from_bytes(body[k : k + width], "little") for k in range(0, len(body), width)]


def _pairs(sets: Sequence[int]) -> dict[int, int]:
    return dict(zip(sets[::2], sets[1::2], strict=True))  # data and ranks in turn


def pack_state(state: State, size: int) -> bytes:
    """Return a state among ``size`` ranks as bytes.

    >>> read_state(pack_state(State(1, {2: 7}, 4, ((0, 1),)), 3), 3)
    State(lacks=1, has={2: 7}, dead=4, pairs=((0, 1),))
    """
    lacks, has, dead, pairs = state
    head = _HEAD.pack(len(pairs))
    return head + b"".join(_PAIR.pack(*pair) for pair in pairs) + _sets((lacks, dead, *chain(*has.items())), size)


def read_state(body: bytes, size: int) -> State:
    """Return the state of its bytes. Raises FrameError for bytes that are none."""
    try:
        (count,) = _HEAD.unpack_from(body)
        first = _HEAD.size + count * _PAIR.size  # pairs that are cut off leave a rest that is no whole set
        pairs = tuple((a, b) for a, b in _PAIR.iter_unpack(body[_HEAD.size : first]))
        lacks, dead, *has = _cut(body[first:], size)
        held = _pairs(has)
    except (struct.error, ValueError) as error:
        raise FrameError(str(error)) from None
    # Who gets here is another process: whatever it sends must not reach the tables as a rank that is none.
    if not all(a < b < size for a, b in pairs):
        raise FrameError("a pair of ranks that are none")
    return State(lacks, held, dead, pairs)


def pack_decision(decision: Decision, size: int) -> bytes:
    """Return a decision among ``size`` ranks as bytes.

    >>> read_decision(pack_decision(Decision(Action.DONE, 4, 4, has={3: 7}), 3), 3).missing
    4
    """
    action, out, missing, has = decision
    return bytes([action]) + _sets((out, missing, *chain(*has.items())), size)


def read_decision(body: bytes, size: int) -> Decision:
    """Return the decision of its bytes. Raises FrameError for bytes that are none."""
    sets = _cut(body[1:], size)
    if len(sets) < 2 or len(sets) % 2 or body[0] > max(Action):  # its action, two sets, then pairs of sets
        raise FrameError("a decision that is none")
    out, missing, *has = sets
    return Decision(Action(body[0]), out, missing, _pairs(has))
