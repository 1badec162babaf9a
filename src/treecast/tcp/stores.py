"""How ranks find one another by a store: as by a meeting place (``treecast.tcp.meeting``), and with the same words."""

import hashlib
import json
from time import monotonic, sleep
from typing import Any, Protocol

from treecast.errors import PlanError
from treecast.running.groups.members import name_ranks
from treecast.tcp.meeting import Met, Seat, TooLateError
from treecast.tcp.proof import Who

_LATE = 30.0  # seconds until one more has to ask, when a job has ended well and somebody asks to come in
_NAP = 0.05


class Store(Protocol):
    """Keeps values under names for all ranks, as the stores of torch.distributed do. ``check``: whether there are values.

    Where a store has no ``check``, nobody comes back.
    """

    def set(self, key: str, value: str) -> Any: ...  # noqa: D102
    def get(self, key: str) -> Any: ...  # noqa: D102
    def check(self, keys: list[str]) -> bool: ...  # noqa: D102


def ask_store(
    store: Store, own: Who, size: int, said: Any, until: float, *, after: str = "", was_in: bool = False
) -> Met:
    """Tell a store where this rank listens, and return what it says, as a meeting place would.

    ``was_in``: whether this process was a rank of the job that has ended. Raises PlanError when not all ranks come.
    """
    number, is_new, is_late, lasts = 1, False, False, hasattr(store, "check")
    # The number of the last beginning: a job that began again has a key with the next number.
    while lasts and store.check([_under(size, number + 1)]):
        number += 1
    if lasts and (is_new := store.check([_under(size, number, "begun")])) and after == str(number):
        # nobody lives, so all have to ask
        is_late = not was_in and store.check([_under(size, number, "over")])
        number, is_new = number + 1, False
        store.set(_under(size, number), "")
    keys = [_under(size, number, rank) for rank in range(size)]
    store.set(keys[own.rank], json.dumps([own.identity.hex(), said]))
    if lasts and not is_new:
        try:
            _agree(store, own, keys, until, is_late)
        except PlanError:
            if is_late:
                raise TooLateError(own.rank) from None
            raise
        store.set(_under(size, number, "begun"), "")
    table = [Seat.read(rank, *json.loads(store.get(key))) for rank, key in enumerate(keys)]
    return Met(table, is_new, str(number))


def note_over(store: Store, size: int, attempt: str) -> None:
    """Note in a store that a job has ended well."""
    store.set(_under(size, attempt, "over"), "")


def _under(size: int, *words: object) -> str:
    return "/".join(("treecast", *map(str, (size, *words))))


def _agree(store: Store, own: Who, keys: list[str], until: float, is_late: bool) -> None:
    """Wait until all ranks have seen the same seats; those of processes that have ended meanwhile are taken by others.

    ``is_late``: whether it may be that nobody comes. Raises PlanError when the time is up.
    """
    awaited, came = keys, 0
    while not store.check(awaited) or awaited is keys:
        if is_late and (here := sum(store.check([key]) for key in keys)) > came:
            came, until = here, monotonic() + _LATE
        if monotonic() > until:
            lacking = [rank for rank, key in enumerate(awaited) if not store.check([key])]
            raise PlanError(f"the job cannot start: {name_ranks(lacking)} did not come")
        sleep(_NAP)
        if store.check(keys):
            # A process that ended meanwhile may have been replaced under the same key. So all have to have seen the
            # same seats.
            seen = hashlib.sha256(b"".join(bytes(store.get(key)) for key in keys)).hexdigest()
            awaited = [f"{key}/{seen}" for key in keys]
            store.set(awaited[own.rank], "")
