"""Inner loops that improve packed trees by local search: a move swaps the arcs by which two trees enter a node.

Arcs as in networks/kernels/flows.py. ``up``: int32 (k, N), the arc by which a node hears in each tree, -1 at the root;
``owner[a]``: the tree of an arc, -1 where it is free. The children of a node in a tree are linked: ``child`` has one, ``after``
and ``ahead`` its neighbours in the list. Any stop leaves arc-disjoint spanning trees.

The children of p in tree i, linked both ways, so that taking one off costs the same wherever it stands:
    child[i, p] ─▶ v ── after[i, v] ─▶ w ── after[i, w] ─▶ -1
             -1 ◀─ v ◀─ ahead[i, w] ── w
"""
# pyright: basic

import math

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.dice import next_state, random_below


@njit
def _hang(i, v, p, child, after, ahead):
    """Let v be a child of p in tree i.

    O(1): it becomes the first child.
    """
    then = child[i, p]
    child[i, p], after[i, v], ahead[i, v] = v, then, -1
    if then >= 0:
        ahead[i, then] = v


@njit
def _take_off(i, v, p, child, after, ahead):
    """Let v no longer be a child of p in tree i.

    O(1), wherever it stands in the list.
    """
    then, one = after[i, v], ahead[i, v]
    if one >= 0:
        after[i, one] = then
    else:
        child[i, p] = then
    if then >= 0:
        ahead[i, then] = one


@njit
def _below(i, v, child, after, found, count):
    """Add v and all nodes below it in tree i to the list ``found``; return how long it is.

    The list is its own queue: O(nodes below).
    """
    at = count
    found[count] = v
    count += 1
    while at < count:
        w = child[i, found[at]]
        while w >= 0:
            found[count] = w
            count += 1
            w = after[i, w]
        at += 1
    return count


@njit
def _leads_below(i, v, x, tail, up, depth):
    """Return whether node x lies below v in tree i, or is v.

    Climbs to the depth of v: O(depth).
    """
    while depth[i, x] > depth[i, v]:  # a node that lies below v is deeper
        x = tail[up[i, x]]
    return x == v


@njit
def _link(tail, up, owner, depth, child, after, ahead, found):
    """Fill ``owner``, the lists of children and the depths of all trees; return the root.

    O(trees × nodes). Invariant: when it returns, ``owner``, the lists and ``depth`` are those of ``up``.
    """
    trees, n = up.shape
    root = 0
    for i in range(trees):
        for v in range(n):
            child[i, v] = after[i, v] = ahead[i, v] = -1
        for v in range(n):
            if up[i, v] < 0:
                root = v
            else:
                owner[up[i, v]] = i
                _hang(i, v, tail[up[i, v]], child, after, ahead)
        depth[i, root] = 0
        # parents stand before their children in the list, so depths can be said in its order
        for at in range(1, _below(i, root, child, after, found, 0)):
            depth[i, found[at]] = depth[i, tail[up[i, found[at]]]] + 1
    return root


@njit
def _excess(found, count, i, shift, target, depth, counts):
    """Return by how much more those of some nodes of tree i that count would be too deep, were all so much deeper.

    O(nodes). It changes nothing, so moves that are not made cost no more than this.
    """
    more = 0
    for at in range(count):
        if counts[found[at]]:
            now = depth[i, found[at]] - target
            more += max(0, now + shift) - max(0, now)  # only what is beyond the target counts
    return more


@njit
def _turn(i, v, a, tail, up, owner, child, after, ahead):
    """Swap: v's arc in tree i becomes ``a``; the tree that owned ``a``, if any, takes v's old arc.

    O(1). Done again with the old arc it takes itself back.
    """
    old, j = up[i, v], owner[a]
    _take_off(i, v, tail[old], child, after, ahead)
    _hang(i, v, tail[a], child, after, ahead)
    up[i, v], owner[a], owner[old] = a, i, j
    if j >= 0:
        _take_off(j, v, tail[a], child, after, ahead)  # j heard by the arc that i takes now
        _hang(j, v, tail[old], child, after, ahead)
        up[j, v] = old


@njit
def _accepts(more, heat, state):
    """Return the next random number, and whether so much more cost is accepted at some heat."""
    if more <= 0:  # for the better, or the same: always, without a random number
        return state, True
    state = next_state(state)
    # beyond 30 the chance is less than 2^-31, the least there is here, so no power is asked for
    return state, more < 30 * heat and np.int64(state >> np.uint64(33)) < math.exp(-more / heat) * 2.0**31


@njit
def _draw(move, deep, many, met, target, apart, tail, up, depth, state):
    """Return a tree, a node, and the next random number: of every four moves one is at a node too deep or above such a one.

    Where ways are to be ``apart``, another is at one where they meet, or above.

    Most exchanges elsewhere help nobody; still some are drawn from all, to get out of dead ends. Cost: at most 30 draws, and
    a climb.
    """
    trees, n = up.shape
    if not apart and move & 3 == 0:  # one of four, at a node that is too deep
        state, at = random_below(state, many)
        i, v, aims = deep[at] // n, deep[at] % n, True
    else:  # every other move of these looks for trouble
        aims = apart and move & 1 == 1
        state, i = random_below(state, trees)
        state, v = random_below(state, n)
        for _ in range(30 if aims else 0):  # give up after so many: then any node does
            if (met[v] > 0 and move & 3 == 1) or (depth[i, v] > target and move & 3 == 3):
                break
            state, i = random_below(state, trees)
            state, v = random_below(state, n)
    if aims and depth[i, v] > 0:
        state, climb = random_below(state, depth[i, v])
        for _ in range(climb):  # the trouble of a node can be mended at all nodes above it
            v = tail[up[i, v]]
    return i, v, state


@njit
def _list_deep(depth, target, counts, deep, place):
    """List in ``deep`` the numbers of all (tree, node) that count and are too deep, in ``place`` where; return how many.

    O(trees × nodes).

        deep = [ i n + v, … | … ]      place[i n + v]: where it stands
                 0 … many-1
    """
    many, n = 0, depth.shape[1]
    for i in range(len(depth)):
        for v in range(n):
            if counts[v] and depth[i, v] > target:
                deep[many], place[i * n + v] = i * n + v, many
                many += 1
    return many


@njit
def _sink(found, count, i, shift, depth, target, counts, deep, place, many):
    """Let some nodes of tree i be so much deeper, and keep the list of those too deep; return how long it is then.

    O(nodes). Who is no longer too deep leaves his place in the list to the last.
    """
    n = depth.shape[1]
    for at in range(count):
        v = found[at]
        here, was = i * n + v, depth[i, v] > target
        depth[i, v] += shift
        if counts[v] and was and depth[i, v] <= target:
            many -= 1
            last = deep[many]
            deep[place[here]], place[last] = last, place[here]
        elif counts[v] and not was and depth[i, v] > target:
            deep[many], place[here] = here, many
            many += 1
    return many


@njit
def _meetings(v, tail, needs, up, mark, stamp):
    """Return how often the ways to v need a node or link that another has used.

    O(sum of the depths of v). A new ``stamp`` saves clearing ``mark``.
    """
    met = 0
    for i in range(len(up)):
        w = v
        while up[i, w] >= 0:
            a = up[i, w]
            w = tail[a]
            if needs[a] >= 0:
                if mark[needs[a]] == stamp:
                    met += 1
                mark[needs[a]] = stamp
    return met


@njit
def _recount(mine, count, its, less, tail, needs, counts, up, met, fresh, looked, mark, stamp, turn):
    """Count the meetings of the ways to some nodes anew in ``fresh``; return by how many there are more, and the last stamp.

    Those of nodes that do not count are 0.

    The ways to each of the nodes, those in both trees once: ``looked`` tells. O(nodes × their depths in all trees).
    """
    more = 0
    for at in range(count + less):
        w = mine[at] if at < count else its[at - count]
        if looked[w] != turn:  # below v in both trees: count it once
            looked[w] = turn
            fresh[w] = 0
            if counts[w]:
                stamp += 1
                fresh[w] = _meetings(w, tail, needs, up, mark, stamp)
            more += fresh[w] - met[w]
    return more, stamp


def _steps(tail, into, entering, needs, counts, up, target, moves, state):
    return (600.0 if len(needs) else 150.0) * moves


@njit(work=_steps)
def exchange(tail, into, entering, needs, counts, up, target, moves, state):
    """Exchange arcs until no tree is deeper than ``target`` and no two ways to a node need the same; return the moves, or -1.

    ``counts``: bool (N,), of which nodes that is asked. ``needs``: int32 (arcs,), the need of a way that takes an arc, by
    number: the node that the arc leaves, or its link; -1: nothing that it may not share. Of length 0: ways may meet. Simulated
    annealing: the cost is how often the ways to a node meet, and how much too deep it is, for all nodes together. An exchange
    changes the ways to the nodes below it, in both trees, and no others.

    Invariant: between two moves ``owner``, the lists, ``depth``, ``deep`` and ``met`` are those of ``up``, and every tree is
    one, since v never comes to hear from below itself. Cost of a move: the nodes below v in both trees, and where ways are to
    be apart all ways to these: O(nodes below × (1 + sum of depths)).
    """
    # 1. Lists, depths, and what is wrong now: who is too deep, and whose ways meet.
    trees, n = up.shape
    apart = len(needs) > 0
    owner, depth = np.full(len(tail), -1, np.int32), np.empty((trees, n), np.int32)
    child, after, ahead = np.empty((trees, n), np.int32), np.empty((trees, n), np.int32), np.empty((trees, n), np.int32)
    mine, its = np.empty(n, np.int32), np.empty(n, np.int32)
    met, fresh = np.zeros(n, np.int32), np.empty(n, np.int32)
    deep, place = np.empty(trees * n, np.int32), np.empty(trees * n, np.int32)
    mark, looked = np.zeros(len(tail) + n, np.int64), np.zeros(n, np.int64)
    root = _link(tail, up, owner, depth, child, after, ahead, mine)  # ``mine`` serves as its queue here
    many, meetings, stamp, heat = _list_deep(depth, target, counts, deep, place), 0, 0, 0.0
    for v in range(n):
        if apart and v != root and counts[v]:
            stamp += 1
            met[v] = _meetings(v, tail, needs, up, mark, stamp)
            meetings += met[v]
    for move in range(moves):
        if many + meetings == 0:
            return move
        # 2. The heat falls: in a line where ways are to be apart, else by powers, asked for every 256 moves.
        if apart:
            heat = 0.6 * (1 - move / moves) + 1e-9
        elif move & 255 == 0:
            heat = 0.3 * math.exp(-1.1 * move / moves)
        # 3. Draw a node and another arc into it, and see that both trees stay trees.
        i, v, state = _draw(move, deep, many, met, target, apart, tail, up, depth, state)
        if up[i, v] < 0 or into[v + 1] - into[v] < 2:
            continue
        state, e = random_below(state, into[v + 1] - into[v])
        a, old = entering[into[v] + e], up[i, v]
        j = owner[a]
        # the tree has the arc already, or would close a circle
        if j == i or _leads_below(i, v, tail[a], tail, up, depth):
            continue
        # the other tree must not close one either
        if j >= 0 and _leads_below(j, v, tail[old], tail, up, depth):
            continue
        # 4. What the exchange would cost: depths first, then meetings.
        shift, other = depth[i, tail[a]] + 1 - depth[i, v], 0  # asked before anything is changed
        count, less = _below(i, v, child, after, mine, 0), 0
        more, meet = _excess(mine, count, i, shift, target, depth, counts), 0
        if j >= 0:
            other = depth[j, tail[old]] + 1 - depth[j, v]
            less = _below(j, v, child, after, its, 0)
            more += _excess(its, less, j, other, target, depth, counts)
        _turn(i, v, a, tail, up, owner, child, after, ahead)
        if apart:  # ways are counted on the changed trees
            meet, stamp = _recount(
                mine, count, its, less, tail, needs, counts, up, met, fresh, looked, mark, stamp, move + 1
            )
        # 5. Take it back, or keep it with all that is known about it.
        state, good = _accepts(more + meet, heat, state)
        if not good:
            # lists and owners as before; depths were not touched yet
            _turn(i, v, old, tail, up, owner, child, after, ahead)
            continue
        meetings += meet
        many = _sink(mine, count, i, shift, depth, target, counts, deep, place, many)
        if j >= 0:
            many = _sink(its, less, j, other, depth, target, counts, deep, place, many)
        for at in range(count + less if apart else 0):
            w = mine[at] if at < count else its[at - count]
            met[w] = fresh[w]
    return moves if many + meetings == 0 else -1
