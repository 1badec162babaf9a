"""Heaps for inner loops: several in one array, each in a place of its own, the least value first.

heap[base + at]: no less than heap[base + (at - 1) // 2], the one above; below it are 2 at + 1 and 2 at + 2
"""
# pyright: basic

from treecast.compiled import njit


@njit
def put(heap, base, size, value):
    """Put a value on a heap of ``size`` that begins at ``base``, the least first.

    The heap has ``size`` + 1 values then. O(log size): values above make room for it, as far as they are greater.
    """
    at = size
    while at > 0 and heap[base + (at - 1) // 2] > value:
        heap[base + at] = heap[base + (at - 1) // 2]
        at = (at - 1) // 2
    heap[base + at] = value


@njit
# no value is above its own place: the last one sinks into the gap of the first
def take(heap, base, size):
    """Take the least value off a heap.

    The heap has ``size`` - 1 values then. O(log size): the least values below go up, as far as they are less than the last
    one.
    """
    least, last = heap[base], heap[base + size - 1]
    at, size = 0, size - 1
    while 2 * at + 1 < size:
        less = 2 * at + 1
        if less + 1 < size and heap[base + less + 1] < heap[base + less]:  # the smaller of the two below
            less += 1
        if heap[base + less] >= last:
            break
        heap[base + at] = heap[base + less]
        at = less
    heap[base + at] = last
    return least


@njit
def lift(heap, at, size, cost, v):
    """Put node v on a heap of ``size`` nodes, the cheapest first, of equal ones the lowest; return how many it has then.

    ``at``: int64 (N,), the place of each node on the heap, -1 where it is not. A node that is there moves up: it costs less now.
    """
    if at[v] < 0:
        at[v] = size
        size += 1
    i, mine = at[v], cost[v]
    while i > 0:
        u = heap[(i - 1) // 2]
        if cost[u] < mine or (cost[u] == mine and u < v):
            break
        heap[i], at[u] = u, i
        i = (i - 1) // 2
    heap[i], at[v] = v, i
    return size


@njit
def cheapest(heap, at, size, cost):
    """Take the cheapest node off a heap of ``size`` nodes, of equal ones the lowest."""
    least, v, i, size = heap[0], heap[size - 1], 0, size - 1
    at[least], mine = -1, cost[v]
    while 2 * i + 1 < size:
        less = 2 * i + 1
        u = heap[less]
        if less + 1 < size:  # the cheaper of the two below
            w = heap[less + 1]
            if cost[w] < cost[u] or (cost[w] == cost[u] and w < u):
                less, u = less + 1, w
        if mine < cost[u] or (mine == cost[u] and v < u):
            break
        heap[i], at[u] = u, i
        i = less
    if size > 0:
        heap[i], at[v] = v, i
    return least
