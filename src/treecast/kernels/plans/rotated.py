"""Inner loops over the trees of a torus with equal sides: 2n trees, rotations of one another, known from a node's label alone.

The rule stands in plans/ways/trees/rotated.py. A node is given by its coordinates as seen from the root, -a/2 < x ≤ a/2.
``table`` is one of plans/ways/trees/rotated_tables.py. ``ahead`` and ``by`` are room for 2n numbers.
"""
# pyright: basic

from treecast.kernels.compiled import njit


@njit
def see(node, root, side, x):
    """Fill in the coordinates of a node as seen from the root."""
    for at in range(len(x)):
        axis = len(x) - 1 - at
        gap = (node % side - root % side) % side
        x[axis] = gap - side if 2 * gap > side else gap
        node, root = node // side, root // side


@njit
def _look_ahead(x, side, ahead):
    """Fill in which positions a node is ahead in; half way round, in that of the next axis that decides, turned back."""
    n = len(x)
    for s in range(2 * n):
        ahead[s] = 0
    for i in range(n):
        if x[i] == 0:
            continue
        position = i if x[i] > 0 else n + i
        if 2 * x[i] == side:
            for turns in range(1, n):
                j = (i + turns) % n
                if x[j] != 0 and 2 * x[j] != side:
                    position = ((j if x[j] > 0 else n + j) - turns) % (2 * n)
                    break
        ahead[position] = 1


@njit
def _arrive_half_way_round(x, by):
    """Fill in the same at a node whose coordinates are 0 or half the side, which some rotation carries to itself."""
    n = len(x)
    for s in range(2 * n):
        by[s] = s if x[s % n] != 0 else (s + n) % (2 * n)
        for turns in range(1, n):
            if x[s % n] != 0 and x[(s + turns) % n] != 0:
                by[s] = (s + turns) % (2 * n)
                break


@njit
def _arrive_simply(n, ahead, by):
    """Fill in the positions in which all trees arrive by the rule of any torus, from those that the node is ahead in."""
    then = 0
    for turn in range(4 * n - 1, -1, -1):  # in the second half of the turns all that follow are known
        s = turn % (2 * n)
        opposite = (s + n) % (2 * n)
        if ahead[s]:
            by[s], then = then, s
        else:
            by[s] = s if ahead[opposite] else opposite


@njit
def _exchange(x, side, table, ahead, by):
    """Let trees take each other's arcs where one slack is as large as all others together."""
    n, half = len(x), side // 2
    total, most, i = 0, -1, 0
    for j in range(n):
        slack = half - abs(x[j])
        total += slack
        if slack > most:
            most, i = slack, j
    gain = 2 * most - total
    if gain < 0 or total == 0:
        return
    u = i if ahead[i] else n + i
    if gain == 0:
        for j in range(i + 1, n):
            if half - abs(x[j]) == most:  # of two such axes that which the other follows within half a turn
                other = j if ahead[j] else n + j
                if (other - u) % (2 * n) >= n:
                    u = other
    w = (u + 1) % (2 * n)
    while not ahead[w]:
        w = (w + 1) % (2 * n)
    p = (u - 1) % (2 * n)
    while not ahead[p]:
        p = (p - 1) % (2 * n)
    next_slack = half - abs(x[w % n])
    row = ((min(gain, 1) * 2 + most % 2) * 2 + next_slack % 2) * 2 + min(next_slack, 1)
    row = row * 2 * n + (w - u) % (2 * n)
    opposite, across = (u + n) % (2 * n), (w + n) % (2 * n)
    one, two, three, four, five = by[u], by[opposite], by[p], by[w], by[across]
    for role in range(5):
        takes = table[row, role]
        arc = one if takes == 0 else two if takes == 1 else three if takes == 2 else four if takes == 3 else five
        by[u if role == 0 else opposite if role == 1 else p if role == 2 else w if role == 3 else across] = arc


@njit
def _look_up(x, side, table, by):
    """Fill in the same on a torus of two axes, where nodes off the axes are looked up where some turns carry them."""
    half = side // 2
    one, two, turns = x[0], x[1], 0
    while not (one > 0 and two > 0 and 2 * two < side):
        one, two = two, one if 2 * one == side else -one
        turns += 1
    compared = 1 if two == one else 2 if two > one else 0
    row = (compared * 2 + (half - one) % 2) * 2 + (half - two) % 2
    row = ((row * 3 + min(one, 2)) * 3 + min(two, 2)) * 4 + 2 * min(half - one, 1) + min(half - two, 1)
    for s in range(4):
        by[s] = (table[row, (s - turns) % 4] + turns) % 4


@njit
def arrive(x, side, table, ahead, by):
    """Fill in the positions in which all trees arrive at a node that is not the root."""
    n, off, between = len(x), True, False
    for i in range(n):
        off = off and x[i] != 0
        between = between or (x[i] != 0 and 2 * x[i] != side)
    if not between:
        _arrive_half_way_round(x, by)
        return
    if off and n == 2:
        _look_up(x, side, table, by)
        return
    _look_ahead(x, side, ahead)
    _arrive_simply(n, ahead, by)
    if off:
        _exchange(x, side, table, ahead, by)


@njit
def _step_back(node, axis, way, side, n):
    """Return the neighbour from which an arc that goes ``way`` along an axis leads to a node."""
    stride = 1
    for _ in range(n - 1 - axis):
        stride *= side
    here = node // stride % side
    return node + ((here - way) % side - here) * stride


@njit(work=lambda root, side, table, x, ahead, by, parent, port: 40 * parent.size)
def fill(root, side, table, x, ahead, by, parent, port):
    """Fill in all trees: ``parent``, int32 (2n, N), and ``port``, int8 (2n, N). ``x`` is room for n numbers."""
    n = len(x)
    for node in range(parent.shape[1]):
        if node != root:
            see(node, root, side, x)
            arrive(x, side, table, ahead, by)
        for s in range(2 * n):
            if node == root:
                parent[s, node] = port[s, node] = -1
                continue
            axis, way = by[s] % n, 1 if by[s] < n else -1
            parent[s, node] = _step_back(node, axis, way, side, n)
            port[s, node] = 2 * axis + (way < 0)
