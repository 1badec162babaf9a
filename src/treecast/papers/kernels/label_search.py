"""Inner loops that search for closed label sets by which every port is used alike: the method of least conflicts.

Node v has a set of labels, the trees by which it receives, as a mask. A *conflict* is a label that the node's parent in that tree
lacks. The *cost* is to become 0: the conflicts, and the uses of ports beyond ``most`` or below ``most`` - 1. A conflict
of v in tree t is the number t N + v. Parents and ports are int32 (k, N); the children of v in t are ``child[first[tN + v]] …``.
"""
# pyright: basic

import math

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.dice import next_state, random_below


@njit
def _count(parent, port, masks, uses, conflicts, place):
    """Add to the ``uses`` of each port; fill the list of ``conflicts``, and the ``place`` of each in it; return how many.

    O(trees × nodes).
    """
    trees, nodes = parent.shape
    count = 0
    for t in range(trees):
        for v in range(nodes):
            if parent[t, v] >= 0 and masks[v] >> t & 1:
                uses[port[t, v]] += 1
                up = parent[t, v]
                if up != 0 and not masks[up] >> t & 1:  # the root has all labels
                    conflicts[count] = t * nodes + v
                    place[t * nodes + v] = count
                    count += 1
    return count


@njit
def _exchange(v, new, old, parent, port, first, child, masks, uses, conflicts, place, count):
    """Let node v have label ``new`` instead of ``old``; return how many conflicts there are then.

    Only four kinds of conflicts can change: v's own in the trees ``old`` and ``new``, and those of its children there. O(children
    of v in two trees).
    """
    nodes = parent.shape[1]
    # 1. The label, and the ports.
    masks[v] = (masks[v] | 1 << new) & ~(1 << old)  # the new bit first: a mask is never empty
    uses[port[new, v]] += 1
    uses[port[old, v]] -= 1
    # 2. Conflicts of v itself: one may end in the old tree, one may begin in the new one.
    if place[old * nodes + v] >= 0:
        count = _forget(old * nodes + v, conflicts, place, count)
    up = parent[new, v]
    if up != 0 and not masks[up] >> new & 1:
        conflicts[count] = new * nodes + v
        place[new * nodes + v] = count
        count += 1
    # 3. Conflicts of its children: those in the new tree end, those in the old one begin.
    for j in range(first[new * nodes + v], first[new * nodes + v + 1]):
        if place[new * nodes + child[j]] >= 0:
            count = _forget(new * nodes + child[j], conflicts, place, count)
    for j in range(first[old * nodes + v], first[old * nodes + v + 1]):
        below = old * nodes + child[j]
        if masks[child[j]] >> old & 1 and place[below] < 0:  # it relied on v for this label
            conflicts[count] = below
            place[below] = count
            count += 1
    return count


@njit
def _forget(number, conflicts, place, count):
    """Take a conflict off the list; return how many are left.

    O(1): the last in the list takes its place.
    """
    last = conflicts[count - 1]
    conflicts[place[number]] = last
    place[last] = place[number]
    place[number] = -1
    return count - 1


@njit
def _excess(uses, most):
    """Return by how much ports are used too often, or too rarely.

    O(ports). A port may be used ``most`` or ``most - 1`` times: that is as even as can be.
    """
    total = 0
    for p in range(len(uses)):
        if uses[p] > most:
            total += uses[p] - most
        elif uses[p] < most - 1:
            total += most - 1 - uses[p]
    return total


@njit
def _pick(mask, wanted, trees, state):
    """Return a random tree that is in ``mask`` (``wanted`` 1), or one that is not (0), and the next random number.

    O(trees) draws on average at worst; somebody has to see that there is such a tree.
    """
    state, t = random_below(state, trees)
    while mask >> t & 1 != wanted:
        state, t = random_below(state, trees)
    return t, state


@njit(work=lambda parent, port, first, child, masks, uses, most, moves, *others: 60 * moves + parent.size)
def search(parent, port, first, child, masks, uses, most, moves, done, total, hot, state):
    """Make up to so many moves; return how many were made, the cost that is left, which ends it if 0, and a random number.

    A move takes a conflict (v, t): v takes another label instead, or its parent takes t instead of another one. One in twenty
    exchanges any labels of any node. Moves for the worse are made with a probability that falls from move to move:
    ``done`` of ``total`` were made before. ``uses``: those of ports by others.

    Invariant: ``count``, ``conflicts``, ``place`` and ``now`` are those of ``masks`` whenever a move begins, so the cost is
    known without a pass over the nodes. Cost of a move: the children of one node in two trees, and the ports; twice where it
    is taken back.

        conflicts = [ t N + v, … | … ]      place[t N + v]: where it stands, -1: none such
                      0 … count-1
    """
    # 1. The list of conflicts, and the uses of ports.
    trees, nodes = parent.shape
    conflicts, place = np.empty(trees * nodes, np.int64), np.full(trees * nodes, -1, np.int64)
    now = np.zeros(trees, np.int64)
    for p in range(trees):
        now[p] = uses[p]
    count, made = _count(parent, port, masks, now, conflicts, place), 0
    cost = count + _excess(now, most)
    while made < moves and cost > 0:
        # 2. Draw a move: 19 of 40 give the parent the label, 19 of 40 give the node another one, 2 of 40 do anything.
        heat = hot * (1.0 - 0.8 * (done + made) / total)
        made += 1
        state, kind = random_below(state, 40)
        state = next_state(state)  # another number for the second draw
        if count > 0 and kind < 38:
            number = conflicts[np.int64(state >> np.uint64(33)) % count]
            t, v = number // nodes, number % nodes
            if kind < 19:
                v, new = parent[t, v], t  # the parent takes the label
                old, state = _pick(masks[v], 1, trees, state)
            else:
                old = t  # the node gives the label up
                new, state = _pick(masks[v], 0, trees, state)
        else:
            v = 1 + np.int64(state >> np.uint64(33)) % (nodes - 1)  # any node but the root
            new, state = _pick(masks[v], 0, trees, state)
            old, state = _pick(masks[v], 1, trees, state)
        # 3. Make it; if that is for the worse, take it back, or not, by chance.
        count = _exchange(v, new, old, parent, port, first, child, masks, now, conflicts, place, count)
        then = count + _excess(now, most)  # ports are few, so they are counted anew
        if then > cost:
            state = next_state(state)
            # the 53 high bits, divided by 2^53: a number from 0 to 1
            if np.float64(state >> np.uint64(11)) / 9007199254740992.0 >= math.exp((cost - then) / heat):
                count = _exchange(v, old, new, parent, port, first, child, masks, now, conflicts, place, count)
                then = cost  # it is taken back: the cost is as before
        cost = then
    return made, cost, state


@njit
def _is_needed(number, t, first, child, masks):
    """Return whether some child has the label t of a node, ``number`` that of both.

    O(children).
    """
    needed = False
    for j in range(first[number], first[number + 1]):
        needed = needed or masks[child[j]] >> t & 1 == 1
    return needed


@njit
def close(parent, first, child, masks, copies):
    """Give parents the labels that they lack; then take labels that no child needs from nodes that have more than so many.

    Invariant of the second part: the set stays closed, since a label goes only where no child needs it. Each round takes a
    label at least, so there are no more rounds than labels.
    """
    # 1. Labels on the way to the root, up to where they are already.
    trees, nodes = parent.shape
    for t in range(trees):
        for v in range(nodes):
            if masks[v] >> t & 1 and v != 0:
                up = parent[t, v]
                while up != 0 and not masks[up] >> t & 1:  # stop where the label is: above it the set was closed
                    masks[up] |= 1 << t
                    up = parent[t, up]
    # 2. Labels too many, until nobody has one that nobody needs.
    again = True
    while again:
        again = False
        for v in range(1, nodes):  # the root keeps all
            many = 0
            for t in range(trees):
                many += masks[v] >> t & 1
            t = 0
            # labels in order, as long as it has more than enough
            while t < trees and many > copies:
                if masks[v] >> t & 1 and not _is_needed(t * nodes + v, t, first, child, masks):
                    masks[v] &= ~(1 << t)
                    many -= 1
                    again = True
                t += 1


@njit
def level(parent, port, first, child, masks, uses):
    """Exchange labels that no child needs for others that the parent has, from busy ports to idle ones, while that helps.

    To ``uses``, int64 (k,), those of each port are added.

    Invariant: the set stays closed, and no port comes to be used more than ``most`` times by an exchange. Each one takes a
    use from a port above ``most``, so it ends. Cost of a round: each label of each node, with its children and the trees.
    """
    # 1. The uses of each port, and what is their fair share.
    trees, nodes = parent.shape
    total = 0
    for p in range(trees):
        total += uses[p]
    for t in range(trees):
        for v in range(nodes):
            if parent[t, v] >= 0 and masks[v] >> t & 1:
                uses[port[t, v]] += 1
                total += 1
    most = (total + trees - 1) // trees  # the fair share, rounded up
    # 2. Exchange labels from ports above that for others below, until none can be.
    moved = True
    while moved:
        moved = False
        for v in range(1, nodes):
            for t in range(trees):
                if not masks[v] >> t & 1 or uses[port[t, v]] <= most:  # only from ports that are too busy
                    continue
                if _is_needed(t * nodes + v, t, first, child, masks):
                    continue
                for new in range(trees):
                    up = parent[new, v]
                    # the parent has it, and the port is below the share
                    if not masks[v] >> new & 1 and (up == 0 or masks[up] >> new & 1) and uses[port[new, v]] < most:
                        masks[v] = (masks[v] | 1 << new) & ~(1 << t)
                        uses[port[t, v]] -= 1
                        uses[port[new, v]] += 1
                        moved = True
                        break
