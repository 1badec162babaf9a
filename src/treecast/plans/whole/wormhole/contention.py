"""Contention under wormhole switching: whether messages of one step share a channel. Builders check it before they return.

Communication model: one-port, wormhole: a message holds all channels of its route while it is sent.
"""

import numpy as np

from treecast.models import MODELS, WORMHOLE
from treecast.networks import Grid
from treecast.networks.core import Ints

ROUTINGS = tuple(MODELS[name].routing for name in WORMHOLE)


def is_contention_free(
    grid: Grid, step: Ints, src: Ints, dst: Ints, routings: tuple[str, ...] = ROUTINGS, *, links: bool = True
) -> bool:
    """Return whether no two messages of a step share a channel, under each of the routings.

    With ``links`` the two directions of a link count as one channel (half duplex).
    """
    for routing in routings:
        route, channel = grid.channels(src, dst, routing, links)
        order = np.lexsort((channel, step[route]))
        when, used = step[route][order], channel[order]
        if bool(((when[1:] == when[:-1]) & (used[1:] == used[:-1])).any()):
            return False
    return True
