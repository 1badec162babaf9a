"""Rules of wormhole switching: a message holds all channels of its route while it is sent.

Source of the model: Cang & Wu. Routes go axis by axis; those of a schedule made by cutting boxes stay in disjoint boxes.
"""

import numpy as np

from treecast.networks import Mesh, Torus
from treecast.networks.core import Ints
from treecast.report import Broken, Violation
from treecast.rules.case import Case


def routed(case: Case) -> Broken:
    """Rule ``routed``: a message goes from a node to another of a mesh or torus, and names no port: routes are the model's."""
    if not isinstance(case.schedule.network, Mesh | Torus):
        return 1, [Violation("routed", "wormhole routes are known on meshes, tori, paths and rings")]
    wrong = (case.rows.src == case.rows.dst) | (case.rows.port != -1)
    return case.broken(
        "routed", wrong, lambda row: "goes nowhere, or names a port: a route needs port -1 and two nodes"
    )


def one_role(case: Case) -> Broken:
    """Rule ``one-role``: in a step a node sends one message, or receives one, or neither."""
    rows, every = case.rows, np.arange(len(case.rows))
    node = np.concatenate([rows.src, rows.dst]).astype(np.int64)
    return _once(case, "one-role", np.tile(every, 2), node, "meets a node that is busy with another message")


def channel_once(case: Case) -> Broken:
    """Rule ``channel-once``: no two messages of a step cross the same channel: an arc, or with half duplex a link."""
    network, rows = case.schedule.network, case.rows
    if not isinstance(network, Mesh | Torus):
        return 0, []
    src, dst = rows.src.astype(np.int64), rows.dst.astype(np.int64)
    total = int(network.distance(src, dst).sum())
    case.afford(total, f"routes of {total:,} channels")
    route, node, port = network.routes(src, dst, case.model.routing == "last")
    channel = network.arc(node, port)
    if case.model.duplex == "half":
        there = network.neighbor(node, port)
        channel = np.minimum(channel, network.arc(there, network.port_between(there, node)))
    return _once(case, "channel-once", route, channel, "crosses a channel that another message is using")


def _once(case: Case, rule: str, row: Ints, what: Ints, why: str) -> Broken:
    """Return the rows that need something while an earlier row, or one of the same step, is using it."""
    from treecast.kernels.rules import overlaps

    order = np.argsort(case.rows.step[row], kind="stable")
    row, number = row[order], np.unique(what[order], return_inverse=True)[1].reshape(-1)
    things = int(number.max(initial=-1)) + 1
    clash, busy, port = np.zeros(len(row), np.bool_), np.zeros(things, np.int32), np.zeros(len(row), np.int64)
    overlaps(0, things, number, port, 1, case.rows.step[row], case.rows.steps[row], busy, clash)
    wrong = np.zeros(len(case.rows), np.bool_)
    wrong[row[clash]] = True
    return case.broken(rule, wrong, lambda row: why)
