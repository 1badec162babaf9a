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
