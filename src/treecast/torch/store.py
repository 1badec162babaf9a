"""The store that all processes of a job share under ``init_method="treecast://"``: torch's own, or that of the launcher."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partialmethod
from threading import Lock
from time import monotonic, sleep
from typing import Any

from treecast.tcp.meeting import knock
from treecast.tcp.proof import Trust, Who
from treecast.tcp.records import read_record, send_record
from treecast.torch.work import dist

_NAP = 5e-3
Values = Mapping[str, bytes | None]


class PlaceStore:
    """The values that a launcher's meeting place keeps, with the verbs of torch's stores: they outlive every rank.

    Raises DistStoreError when a value does not come in time, or the launcher is not there.
    """

    def __init__(self, places: Sequence[tuple[str, int]], own: Who, trust: Trust) -> None:
        self._places, self._own, self._trust, self._lock = places, own, trust, Lock()
        self._sock: socket.socket | None = None

    def _ask(self, *ask: str, put: Values | None = None, where: Values | None = None) -> Any:
        """Put values, if all is as ``where`` says; return whether, the values asked for, and how many there are."""
        said = {"put": put or {}, "where": where or {}}
        given = {name: {key: _hex(value) for key, value in each.items()} for name, each in said.items()}
        # One connection, and answers come in the order of questions: one thread at a time.
        with self._lock:
            try:
                for place in self._places if self._sock is None else ():  # opened at the first question
                    with suppress(OSError):
                        self._sock = knock(place, self._own, self._trust)[0]
                        break
                if self._sock is None:
                    raise ConnectionRefusedError("nobody answers")
                send_record(self._sock, {"ask": ask, **given})
                so, values, count = read_record(self._sock, None)  # None: as long as the launcher has to think
            except OSError as error:
                raise dist.DistStoreError(
                    f"treecast: the launcher keeps the store, and is not there: {error}"
                ) from None
        return so, [None if each is None else bytes.fromhex(each) for each in values], count

    def set(self, key: str, value: Any) -> None:
        """Put a value."""
        self._ask(put={key: _bytes(value)})

    def get(self, key: str) -> bytes:
        """Return a value that is there."""
        return self._ask(key)[1][0] or b""

    def add(self, key: str, amount: int) -> int:
        """Add to a number; return what it is now."""
        # Others may add meanwhile. It is put only if the old value is still there, and else tried again.
        while True:
            (_, [old], _), new = self._ask(key), amount
            new += int(old or 0)  # what is not there counts as 0
            if self._ask(put={key: b"%d" % new}, where={key: old})[0]:  # put only if nobody has changed it
                return new

    def compare_set(self, key: str, expected: Any, desired: Any) -> bytes:
        """Put a value in the place of one that is as expected, or of none where nothing is; return what is there."""
        old, new = _bytes(expected), _bytes(desired)
        _, [found], _ = self._ask(key, put={key: new}, where={key: old})
        if found is None and not old:  # torch's empty expectation: nothing is there yet
            _, [found], _ = self._ask(key, put={key: new}, where={key: None})
        return old if found is None else found

    def check(self, keys: list[str]) -> bool:
        """Return whether there are values of all these names."""
        return None not in self._ask(*keys)[1]

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        """Wait until there are."""
        until, nap = monotonic() + timeout.total_seconds(), _NAP
        while not self.check(keys):
            if monotonic() > until:
                raise dist.DistStoreError(f"wait timeout after {timeout.total_seconds():g} s, keys: {', '.join(keys)}")
            sleep(nap := min(2 * nap, 0.1))  # ever longer naps, up to a tenth of a second

    def delete_key(self, key: str) -> bool:
        """Remove a value; return whether there was one."""
        was_there = self.check([key])
        self._ask(put={key: None})
        return was_there

    def num_keys(self) -> int:
        """Return how many values there are."""
        return self._ask()[2]


class SharedStore(dist.Store):
    """A store in which each beginning of a job has names of its own: what one has left harms no later one."""

    def __init__(self, inner: Any, attempt: str = "") -> None:
        dist.Store.__init__(self)
        self._inner, self.attempt = inner, attempt

    def _do(self, verb: str, key: str, *given: Any) -> Any:
        # The name of the beginning stands before each key.
        # keys of an earlier beginning stay out of sight
        return getattr(self._inner, verb)(f"{self.attempt}/{key}", *given)

    set, add, compare_set = partialmethod(_do, "set"), partialmethod(_do, "add"), partialmethod(_do, "compare_set")
    delete_key = deleteKey = partialmethod(_do, "delete_key")  # noqa: N815

    def get(self, key: str) -> bytes:
        """Return a value as soon as it is there."""
        self.wait([key])
        return self._do("get", key)

    def check(self, keys: list[str]) -> bool:
        """Return whether there are values of these names."""
        return self._inner.check([f"{self.attempt}/{key}" for key in keys])

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until there are values of these names. Raises DistStoreError when the time is up."""
        self._inner.wait([f"{self.attempt}/{key}" for key in keys], timeout or self.timeout)

    def num_keys(self) -> int:
        """Return how many values there are, of all beginnings."""
        return self._inner.num_keys()

    getNumKeys = num_keys  # noqa: N815


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
