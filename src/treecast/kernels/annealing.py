"""Inner loop that makes the total distance of a broadcast on a mesh smaller by small changes, some of them for the worse.

A broadcast is a tree of *roles*: each but the root's has a parent and the step in which it hears from it, and stands at a
node. Two roles exchange their nodes; or a role, with all that hears by way of it, goes to another parent and step, and changes
places with what is there. Communication model: one-port, wormhole; what meets on a link is counted, for all orders of the axes.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.dice import next_state


@njit(arrays=True)
def _message(role, sign, sides, strides, orders, parent, step, place, usage):
    """Put the message to a role on its links, or take it off (``sign`` -1); return its distance and how often it meets others."""
    here, there, total, meets = place[parent[role]], place[role], 0, 0
    for k in range(len(orders)):
        at = here
        for axis in orders[k]:
            gap = there // strides[axis] % sides[axis] - here // strides[axis] % sides[axis]
            way = strides[axis] if gap > 0 else -strides[axis]
            for _ in range(abs(gap)):
                link = min(at, at + way) * len(sides) + axis
                if sign < 0:
                    usage[k, step[role], link] -= 1
                meets += usage[k, step[role], link] > 0
                if sign > 0:
                    usage[k, step[role], link] += 1
                at += way
            if k == 0:
                total += abs(gap)
    return total, meets


@njit(arrays=True)
def _below(role, top, parent):
    """Whether a role is ``top`` or hears by way of it."""
    while role >= 0 and role != top:
        role = parent[role]
    return role == top


def _changes(sides, strides, orders, parent, step, place, steps, moves, *others):
    return 50 * len(orders) * moves


@njit(work=_changes, arrays=True)
def anneal(sides, strides, orders, parent, step, place, steps, moves, hot, cold, price, seed):
    """Try so many changes while it cools down from ``hot`` to ``cold``; a meeting costs ``price``.

    ``parent, step, place`` of every role, int64; the root is role 0, its parent and step -1. They become those of the best
    broadcast found in which nothing meets. Return its distance, or -1 when there was none.
    """
    nodes = len(place)
    usage = np.zeros((len(orders), steps, nodes * len(sides)), np.int8)
    child, at = np.full((nodes, steps), -1), np.empty(nodes, np.int64)
    total, meets = 0, 0
    for role in range(nodes):
        at[place[role]] = role
        if role:
            child[parent[role], step[role]] = role
            more = _message(role, 1, sides, strides, orders, parent, step, place, usage)
            total, meets = total + more[0], meets + more[1]
    best = total if meets == 0 else -1
    best_parent, best_step, best_place = parent.copy(), step.copy(), place.copy()
    touched = np.empty(2 * steps + 4, np.int64)
    state = np.uint64(seed * 2654435761 + 88172645463325252)
    cooling = (cold / hot) ** (1.0 / moves)
    heat = hot
    for _ in range(moves):
        heat *= cooling
        state = next_state(state)
        dice = state
        a = np.int64(dice % np.uint64(nodes))
        dice //= np.uint64(nodes)
        kind = np.int64(dice & np.uint64(1))
        dice >>= np.uint64(1)
        # another node, one to three links away along the axes
        near = place[a]
        for _ in range(1 + np.int64(dice & np.uint64(3)) % 3):
            dice >>= np.uint64(2)
            axis = np.int64(dice & np.uint64(255)) % len(sides)
            dice >>= np.uint64(8)
            up = dice & np.uint64(1)
            dice >>= np.uint64(1)
            along = near // strides[axis] % sides[axis]
            if up and along + 1 < sides[axis]:
                near += strides[axis]
            elif not up and along > 0:
                near -= strides[axis]
        b = at[near]
        if a == 0 or b == a or (kind == 0 and b == 0):
            continue
        count, other, when = 0, -1, -1
        if kind == 0:  # exchange nodes
            for role in (a, b):
                if (role != b or parent[b] != a) and (role != a or parent[a] != b):
                    touched[count] = role
                    count += 1
                for t in range(steps):
                    if child[role, t] >= 0:
                        touched[count] = child[role, t]
                        count += 1
        else:  # a hears from b, in another step perhaps
            state = next_state(state)
            first = step[b] + 1
            if first >= steps:
                continue
            when = first + np.int64(state >> np.uint64(33)) % (steps - first)
            other = child[b, when]
            if other == a or _below(b, a, parent):
                continue
            fits = True
            for t in range(when + 1):
                fits = fits and child[a, t] < 0
            if other >= 0:
                if _below(parent[a], other, parent):
                    continue
                for t in range(step[a] + 1):
                    fits = fits and child[other, t] < 0
            if not fits:
                continue
            touched[0], touched[1] = a, other
            count = 2 if other >= 0 else 1
        before_total, before_meets = total, meets
        for i in range(count):
            less = _message(touched[i], -1, sides, strides, orders, parent, step, place, usage)
            total, meets = total - less[0], meets - less[1]
        old_parent, old_step = parent[a], step[a]
        for turn in range(2):
            if kind == 0:
                place[a], place[b] = place[b], place[a]
                at[place[a]], at[place[b]] = a, b
            elif turn == 0:
                child[old_parent, old_step] = other
                child[b, when] = a
                parent[a], step[a] = b, when
                if other >= 0:
                    parent[other], step[other] = old_parent, old_step
            else:
                child[b, when] = other
                child[old_parent, old_step] = a
                parent[a], step[a] = old_parent, old_step
                if other >= 0:
                    parent[other], step[other] = b, when
            for i in range(count):
                more = _message(touched[i], 1, sides, strides, orders, parent, step, place, usage)
                total, meets = total + more[0], meets + more[1]
            if turn:
                break
            worse = total - before_total + price * (meets - before_meets)
            if worse <= 0:
                break
            state = next_state(state)
            if np.float64(state >> np.uint64(11)) / 9007199254740992.0 < np.exp(-worse / heat):
                break
            for i in range(count):
                less = _message(touched[i], -1, sides, strides, orders, parent, step, place, usage)
                total, meets = total - less[0], meets - less[1]
        if meets == 0 and (best < 0 or total < best):
            best = total
            best_parent[:], best_step[:], best_place[:] = parent, step, place
    parent[:], step[:], place[:] = best_parent, best_step, best_place
    return best
