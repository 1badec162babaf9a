"""Memory of another process of this host, read by one system call: cross-memory attach, ``process_vm_readv`` of Linux.

A long message between two ranks of one host is then copied once, by its receiver. Nothing is shared, so who dies leaves nothing
behind. Each side of a connection has a mark: a random word, and how often it has taken offers back. The bytes read count only
when the mark, read after it, is still that of the offer: so neither memory that its owner has gone on with, nor another process
in the place of a dead one, is taken for a message.
"""

import ctypes
import os
import secrets
import struct
from functools import cache
from typing import Any

import numpy as np

from treecast.running.transport.base import Piece, words_of

_MARK = struct.Struct("<2Q")  # the random word, and how often offers were taken back
_TOLD = struct.Struct("<3Q")  # a process, where its mark is, and its random word
_TWO = struct.Struct("@PNPN")  # two pieces of memory
# Linux reads less than 2 GiB at once (MAX_RW_COUNT), and a short read counts as none here.
_MOST = 1 << 30  # bytes of one system call
_PTRACER = 0x59616D61  # PR_SET_PTRACER


_read: Any = getattr(ctypes.CDLL(None), "process_vm_readv", None)
if _read is not None:
    _read.restype = ctypes.c_ssize_t
    _read.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong]


@cache
def _let_read(process: int) -> None:
    """Let processes that our launcher has started read this one's memory, under Yama; a child of a fork has to say so itself."""
    if _read is not None:
        ctypes.CDLL(None).prctl(_PTRACER, ctypes.c_ulong(os.getppid()), 0, 0, 0)


class Mark:
    """The mark of this side of a connection. ``taken_back``: how often offers were taken back."""

    def __init__(self) -> None:
        self.taken_back, self._word = 0, secrets.randbits(64)
        self._memory = bytearray(_MARK.pack(self._word, 0))

    def told(self) -> bytes:
        """Return the words by which the other side can read."""
        _let_read(os.getpid())
        return _TOLD.pack(os.getpid(), address_of(self._memory), self._word)

    def take_back(self) -> None:
        """Let nothing that was offered until now be taken any more."""
        self.taken_back += 1
        # In place: the other side has been told this address once, and reads it after each message.
        self._memory[:] = _MARK.pack(self._word, self.taken_back)


class PeerMemory:
    """The memory of the process at the other side. Raises FrameError for words that no process tells of itself."""

    def __init__(self, told: bytes) -> None:
        self._pid, self._mark, self._word = words_of(_TOLD, told)
        self._seen = bytearray(_MARK.size)
        # A read of the mark alone. It fails where the kernel forbids it, and where the number is that of another
        # process: in another container, say, where the same numbers name other processes.
        self.is_reached = _read is not None and self._take(0, 0, 0, 0)
        """Whether this process can read it."""

    def read(self, place: Piece, address: int, taken_back: int) -> bool:
        """Fill a place from an address; return whether the offer stood until all was there."""
        # in pieces, as one system call reads less than 2 GiB
        into, count = address_of(place), len(place)
        return all(
            self._take(into + first, address + first, min(_MOST, count - first), taken_back)
            for first in range(0, count, _MOST)  # the offer must stand for each of them
        )

    def _take(self, into: int, address: int, count: int, taken_back: int) -> bool:
        # One call reads the data first and the mark second, in this order. So if the mark has not changed, neither
        # had the data.
        here = _TWO.pack(into, count, address_of(self._seen), _MARK.size)
        got = _read(self._pid, here, 2, _TWO.pack(address, count, self._mark, _MARK.size), 2, 0)
        # an owner that took the offer back has changed the mark
        return got == count + _MARK.size and bytes(self._seen) == _MARK.pack(self._word, taken_back)


def address_of(piece: Piece) -> int:
    """Return where contiguous bytes lie."""
    return np.frombuffer(piece, np.uint8).__array_interface__["data"][0] if len(piece) else 0
