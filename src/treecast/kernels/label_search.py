"""Inner loops that search for closed label sets by which every port is used alike: the method of least conflicts.

Node v has a set of labels, the trees by which it receives, as a mask. A *conflict* is a label that the node's parent in that tree
lacks. What is to become 0 is the *cost*: the conflicts, and the uses of ports beyond ``most`` or below ``most`` - 1. A conflict
of v in tree t is the number t N + v. Parents and ports are int32 (k, N); the children of v in t are ``child[first[tN + v]] …``.
"""
# pyright: basic

import math

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.dice import next_state, random_below


@njit(work=lambda parent, port, masks, *others: parent.size)
def count_conflicts(parent, port, masks, uses, conflicts, place):
    """Fill ``uses`` of each port, the list of ``conflicts`` and the ``place`` of each in it (-1: is none); return how many."""
    trees, nodes = parent.shape
    count = 0
    for t in range(trees):
        for v in range(nodes):
            place[t * nodes + v] = -1
            if parent[t, v] >= 0 and masks[v] >> t & 1:
                uses[port[t, v]] += 1
                up = parent[t, v]
                if up != 0 and not masks[up] >> t & 1:
                    conflicts[count] = t * nodes + v
                    place[t * nodes + v] = count
                    count += 1
    return count


@njit
def _exchange(v, new, old, parent, port, first, child, masks, uses, conflicts, place, count):
    """Let node v have label ``new`` instead of ``old``; return how many conflicts there are then."""
    nodes = parent.shape[1]
    masks[v] = (masks[v] | 1 << new) & ~(1 << old)
    uses[port[new, v]] += 1
    uses[port[old, v]] -= 1
    if place[old * nodes + v] >= 0:
        count = _forget(old * nodes + v, conflicts, place, count)
    up = parent[new, v]
    if up != 0 and not masks[up] >> new & 1:
        conflicts[count] = new * nodes + v
        place[new * nodes + v] = count
        count += 1
    for j in range(first[new * nodes + v], first[new * nodes + v + 1]):
        if place[new * nodes + child[j]] >= 0:
            count = _forget(new * nodes + child[j], conflicts, place, count)
    for j in range(first[old * nodes + v], first[old * nodes + v + 1]):
        below = old * nodes + child[j]
        if masks[child[j]] >> old & 1 and place[below] < 0:
            conflicts[count] = below
            place[below] = count
            count += 1
    return count


@njit
def _exchange_all(turned, turns, v, new, old, parent, port, first, child, masks, uses, conflicts, place, count):
    """Exchange the labels of v, and those of its rotations likewise; return how many conflicts there are then."""
    trees = len(parent)
    for i in range(turns):
        u, its, gone = turned[i, v], (new + i) % trees, (old + i) % trees
        count = _exchange(u, its, gone, parent, port, first, child, masks, uses, conflicts, place, count)
    return count


@njit
def _forget(number, conflicts, place, count):
    """Take a conflict off the list; return how many are left."""
    last = conflicts[count - 1]
    conflicts[place[number]] = last
    place[last] = place[number]
    place[number] = -1
    return count - 1


@njit
def _excess(uses, most):
    """Return by how much ports are used too often, or too rarely."""
    total = 0
    for p in range(len(uses)):
        if uses[p] > most:
            total += uses[p] - most
        elif uses[p] < most - 1:
            total += most - 1 - uses[p]
    return total


@njit
def _pick(mask, wanted, trees, state):
    """Return a random tree that is in ``mask`` (``wanted`` 1), or one that is not (0), and the next random number."""
    state, t = random_below(state, trees)
    while mask >> t & 1 != wanted:
        state, t = random_below(state, trees)
    return t, state


def _moves(parent, port, first, child, turned, size, masks, uses, conflicts, place, count, most, moves, *others):
    return 60 * moves


@njit(work=_moves)
def search(
    parent,
    port,
    first,
    child,
    turned,
    size,
    masks,
    uses,
    conflicts,
    place,
    count,
    most,
    moves,
    done,
    total,
    hot,
    together,
    dice,
):
    """Make up to so many moves; return how many were made, and how many conflicts there are then. Cost 0 ends it.

    A move takes a conflict (v, t): v takes another label instead, or its parent takes t instead of another one. One in twenty
    exchanges any labels of any node. Moves for the worse are made with a probability that falls from move to move:
    ``done`` of ``total`` were made before. ``together``: what is done at a node of a full necklace is done at its rotations,
    too; ``turned``, int32 (k, N), are those, and ``size`` the nodes of each necklace. ``dice``, uint64 (1,): random numbers.
    """
    trees, nodes = parent.shape
    state = dice[0]
    made = 0
    while made < moves:
        before = count + _excess(uses, most)
        if before == 0:
            break
        heat = hot * (1.0 - 0.8 * (done + made) / total)
        made += 1
        state, kind = random_below(state, 40)
        state = next_state(state)
        if count > 0 and kind < 38:
            number = conflicts[np.int64(state >> np.uint64(33)) % count]
            t, v = number // nodes, number % nodes
            if kind < 19:
                v, new = parent[t, v], t
                old, state = _pick(masks[v], 1, trees, state)
            else:
                old = t
                new, state = _pick(masks[v], 0, trees, state)
        else:
            v = 1 + np.int64(state >> np.uint64(33)) % (nodes - 1)
            new, state = _pick(masks[v], 0, trees, state)
            old, state = _pick(masks[v], 1, trees, state)
        turns = trees if together and size[v] == trees else 1
        count = _exchange_all(
            turned, turns, v, new, old, parent, port, first, child, masks, uses, conflicts, place, count
        )
        worse = count + _excess(uses, most) - before
        if worse > 0:
            state = next_state(state)
            if np.float64(state >> np.uint64(11)) / 9007199254740992.0 >= math.exp(-worse / (heat * turns)):
                count = _exchange_all(
                    turned, turns, v, old, new, parent, port, first, child, masks, uses, conflicts, place, count
                )
    dice[0] = state
    return made, count


@njit
def close(parent, first, child, masks, copies):
    """Give parents the labels that they lack; then take labels that no child needs from nodes that have more than so many."""
    trees, nodes = parent.shape
    for t in range(trees):
        for v in range(nodes):
            if masks[v] >> t & 1 and v != 0:
                up = parent[t, v]
                while up != 0 and not masks[up] >> t & 1:
                    masks[up] |= 1 << t
                    up = parent[t, up]
    again = True
    while again:
        again = False
        for v in range(1, nodes):
            many = 0
            for t in range(trees):
                many += masks[v] >> t & 1
            t = 0
            while t < trees and many > copies:
                needed = not masks[v] >> t & 1
                for j in range(first[t * nodes + v], first[t * nodes + v + 1]):
                    if masks[child[j]] >> t & 1:
                        needed = True
                if not needed:
                    masks[v] &= ~(1 << t)
                    many -= 1
                    again = True
                t += 1


@njit
def level(parent, port, first, child, masks, uses):
    """Exchange labels that no child needs for others that the parent has, from busy ports to idle ones, while that helps.

    To ``uses``, int64 (k,), those of each port are added.
    """
    trees, nodes = parent.shape
    total = 0
    for p in range(trees):
        total += uses[p]
    for t in range(trees):
        for v in range(nodes):
            if parent[t, v] >= 0 and masks[v] >> t & 1:
                uses[port[t, v]] += 1
                total += 1
    most = (total + trees - 1) // trees
    moved = True
    while moved:
        moved = False
        for v in range(1, nodes):
            for t in range(trees):
                if not masks[v] >> t & 1 or uses[port[t, v]] <= most:
                    continue
                needed = False
                for j in range(first[t * nodes + v], first[t * nodes + v + 1]):
                    if masks[child[j]] >> t & 1:
                        needed = True
                if needed:
                    continue
                for new in range(trees):
                    up = parent[new, v]
                    if not masks[v] >> new & 1 and (up == 0 or masks[up] >> new & 1) and uses[port[new, v]] < most:
                        masks[v] = (masks[v] | 1 << new) & ~(1 << t)
                        uses[port[t, v]] -= 1
                        uses[port[new, v]] += 1
                        moved = True
                        break
