"""The words of ranks to one another at the end of a call, and their bytes."""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from treecast.groups.members import Pair
from treecast.transport.base import FrameError

_HEAD = struct.Struct("<H")
_PAIR = struct.Struct("<HH")


class Action(IntEnum):
    """The step after a decision: the call is over; who lacks data fetches it; or it begins anew without those out."""

    DONE = 0
    AGAIN = 1
    REDO = 2


class Need(NamedTuple):
    """Whose data a rank lacks and has to give, as sets of bits."""

    lacks: int = 0
    has: int = 0


class State(NamedTuple):
    """The words of a rank in a stage: its needs, the dead, and the pairs of ranks that do not hear each other."""

    need: Need
    dead: int
    pairs: tuple[Pair, ...]


class Decision(NamedTuple):
    """The outcome of an instance: who is out, whose data nobody has, and the data of each rank."""

    action: Action
    out: int = 0
    missing: int = 0
    has: tuple[int, ...] = ()


def _sets(sets: Sequence[int], size: int) -> bytes:
    width = (size + 7) // 8
    return b"".join(bits.to_bytes(width, "little") for bits in sets)


def _cut(body: bytes, size: int) -> list[int]:
    width = (size + 7) // 8
    if len(body) % width:
        raise FrameError("half a set of ranks")
    return [int.from_bytes(body[k : k + width], "little") for k in range(0, len(body), width)]


def pack_state(state: State, size: int) -> bytes:
    """Return a state among ``size`` ranks as bytes.

    >>> read_state(pack_state(State(Need(1, 2), 4, ((0, 1),)), 3), 3)
    State(need=Need(lacks=1, has=2), dead=4, pairs=((0, 1),))
    """
    (lacks, has), dead, pairs = state
    head = _HEAD.pack(len(pairs))
    return head + b"".join(_PAIR.pack(*pair) for pair in pairs) + _sets((lacks, has, dead), size)


def read_state(body: bytes, size: int) -> State:
    """Return the state of its bytes. Raises FrameError for bytes that are none."""
    try:
        (count,) = _HEAD.unpack_from(body)
        first = _HEAD.size + count * _PAIR.size
        pairs = tuple((a, b) for a, b in _PAIR.iter_unpack(body[_HEAD.size : first]))
        lacks, has, dead = _cut(body[first:], size)
    except (struct.error, ValueError) as error:
        raise FrameError(str(error)) from None
    if not all(a < b < size for a, b in pairs):
        raise FrameError("a pair of ranks that are none")
    return State(Need(lacks, has), dead, pairs)


def pack_decision(decision: Decision, size: int) -> bytes:
    """Return a decision among ``size`` ranks as bytes.

    >>> read_decision(pack_decision(Decision(Action.DONE, 4, 4, has=(0, 0, 0)), 3), 3).missing
    4
    """
    action, out, missing, has = decision
    return bytes([action]) + _sets((out, missing, *has), size)


def read_decision(body: bytes, size: int) -> Decision:
    """Return the decision of its bytes. Raises FrameError for bytes that are none."""
    sets = _cut(body[1:], size)
    if len(sets) != 2 + size or body[0] > max(Action):
        raise FrameError("a decision that is none")
    out, missing, *has = sets
    return Decision(Action(body[0]), out, missing, tuple(has))
