"""Rules of wormhole switching: a message holds all channels of its route while it is sent.

Source of the model: Cang & Wu. Routes go axis by axis; those of a schedule made by cutting boxes stay in disjoint boxes.
"""

import numpy as np

from treecast.models import Model
from treecast.networks.core import Ints
from treecast.ragged import read_only, starts
from treecast.schedule import Schedule
from treecast.verification.case import Case
from treecast.verification.report import Broken, Violation
from treecast.verification.rules.links import contended

_MOST_MEETINGS = 2**28  # of messages on channels: more are not told apart


def routed(case: Case) -> Broken:
    """Rule ``routed``: a message goes from a node to another of a mesh or torus, and names no port: routes are the model's."""
    if not case.schedule.network.routed:
        return 1, [Violation("routed", "wormhole routes are known on meshes, tori, paths and rings")]
    wrong = (case.rows.src == case.rows.dst) | (case.rows.port != -1)
    return case.broken(
        "routed", wrong, lambda row: "goes nowhere, or names a port: a route needs port -1 and two nodes"
    )


def one_role(case: Case) -> Broken:
    """Rule ``one-role``: in a step a node sends one message, or receives one, or neither."""
    rows, every = case.rows, np.arange(len(case.rows))
    node = np.concatenate([rows.src, rows.dst]).astype(np.int64)
    return contended(case, "one-role", np.tile(every, 2), node, "meets a node that is busy with another message")


def channel_once(case: Case) -> Broken:
    """Rule ``channel-once``: no two messages of a step cross the same channel: an arc, or with half duplex a link."""
    network, rows = case.schedule.network, case.rows
    if not network.routed:
        return 0, []
    src, dst = rows.src.astype(np.int64), rows.dst.astype(np.int64)
    total = int(network.distance(src, dst).sum())
    case.afford(total, f"routes of {total:,} channels")
    route, channel = network.channels(src, dst, case.model.routing, case.model.duplex == "half")
    return contended(case, "channel-once", route, channel, "crosses a channel that another message is using")


def depth_contention(schedule: Schedule, model: Model) -> int | None:
    """Return how many pairs of messages share a channel while neither is before the other.

    Such messages may meet in a machine whose steps are not synchronised (depth contention, after McKinley et al.).

    Message a is before b when a's step is the earlier, and b's sender is a's sender, or a's receiver; and transitively.
    None where this has no meaning or where the order is no forest, as when a node both hears often and sends often.
    """
    # 1. The forest of which message comes before which.
    network = schedule.network
    if not model.routing or not network.routed or schedule.orbit:
        return None
    step, src, dst = (column.astype(np.int64) for column in (schedule.rows.step, schedule.rows.src, schedule.rows.dst))
    parent = _behind(step, src, dst)
    if parent is None:
        return None
    from treecast.schedule.kernels.trees import preorder
    from treecast.verification.kernels.contention import unordered, unordered_pairs

    Case(schedule, model).afford(int(network.distance(src, dst).sum()), "routes")
    forwards = parent < np.arange(len(parent))  # rows are sorted by step: parents all come first, or all last
    every = np.arange(len(parent))
    later = every if bool(forwards.all()) else every[::-1]
    place, last = preorder(read_only(parent, np.int32), read_only(later, np.int32))
    # 2. Which messages cross which channels, in preorder: those before one are on one way from a root.
    route, channel = network.channels(src, dst, model.routing, model.duplex == "half")
    message = place[route]
    order = np.lexsort((message, channel))
    channel, message = channel[order], message[order]
    # 3. Count by channel; only if that finds any, count each pair once, which costs more.
    often = int(unordered(channel, message, last))
    if not often or often > _MOST_MEETINGS:
        return None if often else 0
    start = starts(np.bincount(message, minlength=len(last)))
    return int(unordered_pairs(channel, message, last, start, np.argsort(message, kind="stable")))


def _behind(step: Ints, src: Ints, dst: Ints) -> Ints | None:
    """Return of each message the one just before it, where no more than one is; or the one just after it, where no more
    than one is; -1 for none. None if neither is so. Rows come sorted by step, int64 (rows,).
    """
    rows = np.arange(len(step))
    nodes = int(max(src.max(initial=-1), dst.max(initial=-1))) + 1
    sends, hears = np.bincount(src, minlength=nodes), np.bincount(dst, minlength=nodes)
    if bool((hears <= 1).all()):
        heard = np.full(nodes, -1, np.int64)
        heard[dst] = rows
        knows = (heard[src] >= 0) & (step[heard[src]] < step)
        order = np.argsort(src, kind="stable")
        again = src[order][1:] == src[order][:-1]
        before, after = order[:-1][again], order[1:][again]
        if bool(((step[before] < step[after]) & (knows[before] == knows[after])).all()):
            parent = np.where(knows, heard[src], -1)
            parent[after] = before
            return parent
    if bool((sends <= 1).all()):
        sent = np.full(nodes, -1, np.int64)
        sent[src] = rows
        return np.where((sent[dst] >= 0) & (step[sent[dst]] > step), sent[dst], -1)
    return None
