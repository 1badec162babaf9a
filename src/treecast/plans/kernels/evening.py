"""Inner loop that makes trees load nodes and links evenly: again and again a node of a tree hears from another parent."""
# pyright: basic

from treecast.compiled import inline, njit


@inline
def _count(a, more, wanted, room, load):
    """Count an arc more, or less; return by how much the sum of the fourth powers of loads, divided by their room, grows.

    A step for each resource. Fourth powers: the sum heeds the greatest loads most, and yet all others somewhat.
    """
    worse = 0.0
    for j in range(wanted.shape[1]):  # the loops are short: a send takes few resources
        r = wanted[a, j]
        # room in the denominator: a full small resource hurts as a full big one
        worse += ((load[r] + more) ** 4 - load[r] ** 4) / room[r] ** 4
        load[r] += more
    return worse


@inline
def _leaving(t, old, more, tail, relay, up, children, wanted, room, load):
    """Count an arc of a tree, and those to relays above that nobody else hears from, more or less; return as ``_count`` does.

    A step for each arc that leaves, the resources of each.
    """
    worse, e = _count(old, more, wanted, room, load), old
    while relay[tail[e]] and children[t, tail[e]] == 1:  # the relay has only this child, so it leaves too
        e = up[t, tail[e]]
        worse += _count(e, more, wanted, room, load)
    return worse


@njit(work=lambda changes, *others: 20 * len(changes[0]))
def even(changes, tail, head, into, entering, wanted, room, roots, relay, deeper, up, children, load):
    """Try changes one after the other, and take those that make the trees no more than ``most[i]`` worse.

    ``changes``: ``tree, arc, most, turn``, int64 (changes,): the head of an arc is to hear by it in a tree. A tail that is not in
    the tree joins it by the arc of its ``entering[into[v]] …`` whose turn it is, and relays, ``relay``, bool (N,), leave it when
    nobody hears from them. Trees are as good as the sum of the fourth powers of ``load``, int64 (resources,), is small, and an
    arc that a node is deeper costs ``deeper``. Arc a takes the resources ``wanted[a]``, which have ``room``, int64 (resources,).
    ``up``, int32 (trees, N): the arc by which each node hears in each tree; -1 at its root, ``roots[t]``, and where it is in
    none. ``children``, int64 (trees, N): how many hear from it. Source: simulated annealing.

    Invariant: ``load`` and ``children`` are those of ``up`` between two changes. Cost of a change: the arcs to the root from
    both parents, which tell how much deeper the node gets, and the resources of the arcs that change: O(depth × resources).
    """
    tree, arc, most, turn = changes
    for i in range(len(tree)):
        # 1. What is to change. A tail that is not in the tree has to join it first.
        t, a = tree[i], arc[i]
        v, x, root, join, longer = head[a], tail[a], roots[t], -1, 0
        old = up[t, v]
        if old < 0 or old == a:  # it is not in the tree, or hears by it already
            continue
        if up[t, x] < 0 and x != root:
            if into[x] == into[x + 1]:  # nobody could tell the tail
                continue
            join = entering[into[x] + turn[i] % (into[x + 1] - into[x])]
            x, longer = tail[join], 1
            if up[t, x] < 0 and x != root:  # one arc is all that is tried: the tail's new parent has to be in the tree
                continue
        # 2. How much longer the way gets; from below itself a node cannot hear.
        above = x
        while above != v and above != root:
            above = tail[up[t, above]]
            longer += 1  # counted on the way: arcs from the new parent up
        if above == v:  # it would hear from itself
            continue
        above = tail[old]
        while above != root:
            above = tail[up[t, above]]
            longer -= 1  # less the arcs of the old way
        # 3. Count the change in the loads, and take it back if it is for the worse.
        children[t, x] += 1  # before anybody leaves
        worse = deeper * longer + _count(a, 1, wanted, room, load)
        worse += _count(join, 1, wanted, room, load) if join >= 0 else 0
        worse += _leaving(t, old, -1, tail, relay, up, children, wanted, room, load)
        if worse > most[i]:  # each change brings its own measure: so hot is the annealing at that time
            # in the reverse order of the counts, so that ``children`` is asked as it was before
            _leaving(t, old, 1, tail, relay, up, children, wanted, room, load)
            _count(a, -1, wanted, room, load)
            if join >= 0:
                _count(join, -1, wanted, room, load)
            children[t, x] -= 1
            continue
        # 4. Keep it: relays that nobody hears from any more leave the tree.
        up[t, v] = a
        if join >= 0:
            up[t, tail[a]], children[t, tail[a]] = join, 1  # the tail has one child now: v
        above = tail[old]
        children[t, above] -= 1  # only now may relays see that they are childless
        while relay[above] and children[t, above] == 0:
            e = up[t, above]
            up[t, above], above = -1, tail[e]
            children[t, above] -= 1
