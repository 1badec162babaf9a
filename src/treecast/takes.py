"""The table of a machine on a network: what a send over each arc takes, for how long, and when its chunk is there."""

from typing import NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.ragged import Ints, starts


class Takes(NamedTuple):
    """The table of a machine on a network: what a send over each arc takes in a step, and when its chunk is there.

    ``resource``: int64 (arcs, width), as indices into ``room``. ``key``: int64 (arcs, width); sends of one key share a resource,
    and -1 is a key of its own for each send. ``room``: int64 (resources,), under how many keys each is taken at once.
    ``gap``, ``delay``: for how many steps a send over each arc takes them, and after how many it has arrived, int64 (arcs,).
    ``ports``: to how many a node sends at once; 0: to any number.
    """

    resource: Ints
    key: Ints
    room: Ints
    gap: Ints
    delay: Ints
    ports: int = 0

    @property
    def resources(self) -> int:
        """How many resources there are."""
        return len(self.room)

    @property
    def servers(self) -> tuple[Ints, Ints]:
        """The first server of each resource of an arc, int64 (arcs, width), and how many more stand behind: int64 (servers,)."""
        first = starts(self.room)
        spare = np.zeros(first[-1], np.int64)
        spare[first[:-1]] = self.room - 1
        return first[self.resource], spare


def takes(machine: Model, network: Network) -> Takes:
    """Return the table of a machine on a network, arcs as ``arcs_of`` numbers them.

    Whoever makes schedules, times them or bounds them asks this. The verifiers do not: they have rules of their own. The arcs
    there and back of each cable are a link. Raises PlanError under wormhole switching, where a send takes the channels of its
    route.

    >>> from treecast import network
    >>> from treecast.models import model
    >>> takes(model("one-port"), network("path:3")).resource.tolist()
    [[0, 4], [1, 5], [1, 3], [2, 4]]
    >>> takes(model("all-port,half"), network("path:3")).resource.tolist()
    [[0], [1], [0], [1]]
    >>> two = takes(model("one-port,ports=2"), network("path:2"))
    >>> two.resource.tolist(), two.room.tolist()
    ([[0, 3, 4], [1, 2, 5]], [2, 2, 2, 2, 1, 1])
    """
    if machine.routing:
        raise PlanError(f"under {machine.name} a send takes the channels of its route, not an arc")
    normal, arcs, nodes = machine.normal, arcs_of(network), network.nodes
    # 1. The ends of each arc, and the message that a send is.
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    each, every, half = np.full(len(tail), -1), np.arange(len(tail)), normal.duplex == "half"
    message = every if normal.combining else each  # combined sends are one message, however many they are
    columns, nodal = list[tuple[Ints, Ints]](), 0
    # 2. Ports: at the tail and the head, together where duplex is half.
    if normal.room:
        columns, nodal = [(tail, message), (head + (0 if half else nodes), message)], nodes * (1 if half else 2)
    if normal.partner == "same" and not half:
        columns += [(end + 2 * nodes, low * nodes + high) for end in (tail, head)]
        nodal += nodes
    # 3. Channels past relays, or links, or the arc itself.
    if network.past_routes is not None:  # the channels of each, and behind the last resources of the arc's own
        channels = network.past_routes.taken(half=half)
        alone = network.past_routes.channels + np.arange(channels.size).reshape(channels.shape)
        columns += [(nodal + column, message) for column in np.where(channels < 0, alone, channels).T]
    elif normal.room != 1 and half:
        cable = network.cable(tail, arcs.port)
        link = np.unique(np.stack([low, high, cable]), axis=1, return_inverse=True)[1].reshape(-1)
        columns.append((nodal + link, message))
    elif normal.room != 1 and not (normal.room and normal.combining):
        columns.append((nodal + every, message))
    # 4. As a table, with how many go at once.
    resource, key = (np.stack(column, axis=1).astype(np.int64) for column in zip(*columns, strict=True))
    room = np.ones(int(resource.max(initial=-1)) + 1, np.int64)
    room[:nodal] = normal.room
    return Takes(resource, key, room, *machine.ticks(tail, head), normal.room)
