"""Data that old members have and new ones lack: each fetches blocks from all who have them at once."""

from treecast.errors import DeliveryError
from treecast.groups.group import Group, Shape
from treecast.transport.base import Piece, Steps


def share(group: Group, data: Piece, is_new: bool) -> Steps[tuple[int, ...]]:
    """Bring bytes that all old members have to the new ones, in as many blocks as there are ranks; any holder may die.

    ``data``: the bytes, or their place; of one length on all ranks. ``is_new``: whether this rank lacks them. Returns the ranks
    that have failed before. Raises DeliveryError, at every rank that lives, when nobody who has the data lives, or more ranks
    failed than are to be survived.
    """
    bounds = [len(data) * k // group.size for k in range(group.size + 1)]
    for about in range(group.size):
        block = data[bounds[about] : bounds[about + 1]]
        if is_new:
            group.lack(about, block)
        else:
            group.hold(about, block)
    failed = yield from group.settle(Shape("share", spread=True))
    if failed is None or group.lacks_any():
        raise DeliveryError("share: nobody who has the data lives")
    return failed
