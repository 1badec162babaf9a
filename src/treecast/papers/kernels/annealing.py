"""Inner loop that makes the total distance of a broadcast on a mesh smaller by small changes, some of them for the worse.

A broadcast is a tree of *roles*: each but the root's has a parent and the step in which it hears from it, and stands at a
node. Two roles exchange their nodes; or a role, with all that hears by way of it, goes to another parent and step, and changes
places with the roles there. Communication model: one-port, wormhole; no two messages of a step share a link, whatever the
order of the axes.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def _put(sign, count, changed, roles, mesh, usage):
    """Put the messages to some roles on their links, or take them off (``sign`` -1); return how often they meet others.

    ``usage``: int8 (orders, steps, links), how many messages pass each link in each step if they take that order of the axes.

    A link between two nodes that differ by 1 on an axis is named after the lower one:

        link = (lower node) × axes + axis

    Cost: O(links that the messages pass), for each order of the axes.
    """
    (parent, step, place), (coordinate, strides, orders) = roles, mesh
    meets, axes = 0, len(strides)
    for i in range(count):
        role = changed[i]
        t, there = step[role], place[role]
        for k in range(len(orders)):
            at = place[parent[role]]
            for j in range(axes):
                axis = orders[k, j]
                stride = strides[axis]
                gap = coordinate[axis, there] - coordinate[axis, at]
                for _ in range(abs(gap)):
                    link = (at if gap > 0 else at - stride) * axes + axis  # the lower of the two nodes
                    usage[k, t, link] += sign
                    meets += usage[k, t, link] > 1  # it counts itself: above 1 somebody else is there
                    at += stride if gap > 0 else -stride
    return meets


@njit
def _hears_by(role, top, parent):
    """Whether a role is ``top`` or hears by way of it.

    O(depth of the role).
    """
    while role >= 0 and role != top:
        role = parent[role]
    return role == top


@njit
def _idle(role, first, stop, child):
    """Whether a role sends nothing in the steps ``first … stop-1``.

    O(steps).
    """
    sends = 0
    for t in range(first, stop):
        sends += child[role, t] >= 0
    return sends == 0


@njit
def _moving(role, other, here, there, distance, roles, child, changed, count):
    """List in ``changed``, from ``count`` on, the messages to and from a role that goes from node ``here`` to ``there``.

    All but those of ``other``, which goes the other way. Return how many are listed then, and by how much they are longer.

    O(messages of the role): one in, and those out. The root has no message in, and is not moved.
    """
    (parent, step, place), longer = roles, 0
    if parent[role] != other:
        longer = distance[place[parent[role]], there] - distance[place[parent[role]], here]
        changed[count] = role
        count += 1
    for t in range(step[role] + 1, child.shape[1]):
        heard = child[role, t]
        if heard >= 0 and heard != other:
            longer += distance[place[heard], there] - distance[place[heard], here]
            changed[count] = heard
            count += 1
    return count, longer


@njit(work=lambda changes, *others: 15 * len(changes[0]))
def anneal(changes, distance, mesh, roles, found, steps, least):
    """Try changes one after the other, and take those that make the broadcast no more than ``most[i]`` longer.

    ``changes``: ``node, near, dice, most``, int64 (changes,). The role at ``node[i]`` exchanges places with the one at
    ``near[i]`` if ``dice[i]`` is odd, else it hears from that, in a step that ``dice[i]`` chooses. ``distance``: int64 (N, N).
    ``mesh``: coordinates, int64 (axes, N), strides, and orders of axes, int64 (k, axes). ``roles``: the parent, step and place of
    every role, int64; the root is role 0, its parent and step -1. ``found`` becomes those of the shortest broadcast found; return
    its length, or -1 if messages meet in the one given. Stop at the length ``least``.

    Invariant: ``at`` and ``place`` say the same both ways; ``child[r, t]`` is whom role r tells in step t; ``usage`` counts
    the messages of all roles, and no count is above 1. Cost of a try: the messages that it moves, with the links they pass; a
    new best is copied, O(roles). What a die means:

        dice[i] = | chooses the step | 1: exchange nodes, 0: hear from another |
                    bits 1 …           bit 0
    """
    # 1. Who tells whom in which step, how long it takes, and which links are used.
    (node, near, dice, most), (parent, step, place), (best_parent, best_step, best_place) = changes, roles, found
    orders, strides = mesh[2], mesh[1]
    nodes = len(place)
    usage = np.zeros((len(orders), steps, nodes * len(strides)), np.int8)
    child, at = np.full((nodes, steps), -1, np.int64), np.empty(nodes, np.int64)
    changed = np.empty(max(nodes, 2 * steps + 4), np.int64)
    total = 0
    for role in range(nodes):
        at[place[role]] = role
        best_parent[role], best_step[role], best_place[role] = parent[role], step[role], place[role]
        if role:
            child[parent[role], step[role]] = role
            total += distance[place[parent[role]], place[role]]
            changed[role - 1] = role
    if _put(1, nodes - 1, changed, roles, mesh, usage):
        return -1
    best = total
    for i in range(len(node)):
        # 2. A change: what it makes longer, and whether it is allowed at all.
        here, there = node[i], near[i]
        a, b = at[here], at[there]
        exchange = dice[i] & 1
        other, when, old_parent, old_step = -1, -1, parent[a], step[a]
        if exchange:
            if a == 0 or b == 0:  # the root stays where it is
                continue
            count, longer = _moving(a, b, here, there, distance, roles, child, changed, 0)
            count, more = _moving(b, a, there, here, distance, roles, child, changed, count)
            longer += more
            if longer > most[i]:  # dear already, whether or not messages meet
                continue
            if old_parent == b or parent[b] == a:  # as long as before, the other way round
                changed[count] = a if old_parent == b else b
                count += 1
        else:
            first = step[b] + 1
            if a == 0 or first >= steps:
                continue
            when = first + (dice[i] >> 1) % (steps - first)  # one of the steps after b hears
            other = child[b, when]
            if other == a:  # nothing would change
                continue
            # ``a`` hears from b; whom b told then hears from a's old parent instead
            longer = distance[there, here] - distance[place[old_parent], here]
            if other >= 0:
                longer += distance[place[old_parent], place[other]] - distance[there, place[other]]
            # what a role tells later than it hears must stay so, and no role may hear from itself
            if longer > most[i] or not _idle(a, old_step + 1, when + 1, child) or _hears_by(b, a, parent):
                continue
            if other >= 0 and not (
                _idle(other, when + 1, old_step + 1, child) and not _hears_by(old_parent, other, parent)
            ):
                continue
            changed[0], changed[1] = a, other
            count = 2 if other >= 0 else 1
        # messages of both roles leave first, so that they are not in their own way
        # 3. Try it on the links; take it back where messages meet.
        _put(-1, count, changed, roles, mesh, usage)
        for turn in range(2):  # there, and back if messages meet
            if exchange:
                place[a], place[b] = place[b], place[a]
            else:
                parent[a], step[a] = (old_parent, old_step) if turn else (b, when)
                if other >= 0:
                    parent[other], step[other] = (b, when) if turn else (old_parent, old_step)
            meets = _put(1, count, changed, roles, mesh, usage)
            if turn or meets == 0:
                break
            _put(-1, count, changed, roles, mesh, usage)
        if turn:
            continue
        # 4. Keep it, and the whole broadcast if it is the shortest so far.
        if exchange:
            at[here], at[there] = b, a
        else:
            child[old_parent, old_step], child[b, when] = other, a  # the two children exchange their places
        total += longer
        if total < best:
            best = total
            for role in range(nodes):
                best_parent[role], best_step[role], best_place[role] = parent[role], step[role], place[role]
            if best <= least:  # no broadcast is shorter
                break
    return best
