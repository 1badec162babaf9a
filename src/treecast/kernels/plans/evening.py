"""Inner loop that makes trees load nodes and links evenly: again and again a node of a tree hears from another parent."""
# pyright: basic

from treecast.kernels.compiled import njit


@njit(work=lambda changes, *others: 20 * len(changes[0]))
def even(changes, tail, head, wanted, roots, deeper, up, load):
    """Try changes one after the other, and take those that make the trees no more than ``most[i]`` worse.

    ``changes``: ``tree, arc, most``, int64 (changes,): the head of an arc is to hear by it in a tree. Trees are as good as the
    sum of the fourth powers of ``load``, int64 (resources,), is small, and an arc that a node is deeper costs ``deeper``. Arc a
    takes the resources ``wanted[a]``. ``up``: int32 (trees, N), the arc by which each node hears in each tree; -1 at its
    root, ``roots[t]``, and where it is in none. Source: simulated annealing.
    """
    tree, arc, most = changes
    for i in range(len(tree)):
        t, a = tree[i], arc[i]
        v, old = head[a], up[t, head[a]]
        if old < 0 or old == a or (up[t, tail[a]] < 0 and tail[a] != roots[t]):
            continue
        x, longer = tail[a], 0
        while x != v and x != roots[t]:
            x = tail[up[t, x]]
            longer += 1
        if x == v:  # it would hear from itself
            continue
        x = tail[old]
        while x != roots[t]:
            x = tail[up[t, x]]
            longer -= 1
        worse = deeper * longer
        for j in range(wanted.shape[1]):
            more, less = wanted[a, j], wanted[old, j]
            if more != less:
                worse += (load[more] + 1) ** 4 - load[more] ** 4 + (load[less] - 1) ** 4 - load[less] ** 4
        if worse <= most[i]:
            up[t, v] = a
            for j in range(wanted.shape[1]):
                load[wanted[a, j]] += 1
                load[wanted[old, j]] -= 1
