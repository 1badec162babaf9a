"""Inner loops that grow broadcasts of one source such that every port sends one chunk a step, each to a new node.

What is grown is a *layer* per chunk. In each step a maximum matching joins ports with (layer, node) that a port can reach.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit

_ENOUGH = 64  # candidates of a port that are looked at before the best are kept


@njit(work=lambda neighbor, back, layers, turn, columns: 40 * neighbor.size * layers, arrays=True)
def spread(neighbor, back, layers, turn, columns):
    """Reach every node from node 0 in each of ``layers`` layers; return the number of steps, or -1 when that cannot be.

    ``neighbor, back``: int32 (N, ports), where the arc of a port leads to, and where it comes from (-1: nowhere).
    ``turn``: where the search for candidates begins, to try again otherwise. Fill ``columns``, int32 (layers · (N-1), 5),
    with (step, source, target, port, layer), in the order of steps.
    """
    nodes, ports = neighbor.shape
    reached = np.zeros((layers, nodes), np.bool_)
    open_ends = np.zeros((layers, nodes), np.int32)  # unreached nodes that a node could go on to
    left = np.empty((layers, nodes), np.int32)  # the unreached nodes, then rubbish
    for layer in range(layers):
        for v in range(nodes):
            left[layer, v] = (v + turn) % nodes
            for p in range(ports):
                if neighbor[v, p] >= 0 and neighbor[v, p] != 0:
                    open_ends[layer, v] += 1
        for i in range(nodes):
            if left[layer, i] == 0:
                left[layer, i] = left[layer, nodes - 1]
        reached[layer, 0] = True
    count = np.full(layers, nodes - 1)
    first, step, row = 0, 0, 0
    best_node = np.empty((ports, ports), np.int32)
    best_score = np.empty((ports, ports), np.int64)
    kept, seen = np.empty(ports, np.int64), np.empty(ports, np.int64)
    matched = np.empty(ports, np.int64)  # the candidate of each port, layer · N + node
    tried, way = np.empty(ports, np.bool_), np.empty((2, ports), np.int64)
    while first < layers:
        kept[:] = 0
        for layer in range(first, min(layers, first + 2)):
            seen[:] = 0
            enough = 0
            for i in range(count[layer]):
                v = left[layer, (i + step * 7) % count[layer]]
                for p in range(ports):
                    u = back[v, p]
                    if u >= 0 and reached[layer, u] and seen[p] < _ENOUGH:
                        seen[p] += 1
                        enough += seen[p] == _ENOUGH
                        score = np.int64(open_ends[layer, v]) + (1 << 20 if layer == first else 0)
                        k = min(kept[p], ports - 1)  # keep the best, as many as there are ports, in order
                        if kept[p] < ports:
                            kept[p] += 1
                        elif best_score[p, k] >= score:
                            continue
                        while k > 0 and best_score[p, k - 1] < score:
                            best_score[p, k], best_node[p, k] = best_score[p, k - 1], best_node[p, k - 1]
                            k -= 1
                        best_score[p, k], best_node[p, k] = score, layer * nodes + v
                if enough == ports:
                    break
        matched[:] = -1
        total = 0
        order = np.argsort(kept, kind="mergesort")
        for p in order:
            tried[:] = False
            total += _augment(p, best_node, kept, matched, tried, way)
        if total == 0:
            return -1
        for p in range(ports):
            if matched[p] >= 0:
                layer, v = matched[p] // nodes, matched[p] % nodes
                columns[row, 0], columns[row, 1], columns[row, 2] = step, back[v, p], v
                columns[row, 3], columns[row, 4] = p, layer
                row += 1
                reached[layer, v] = True
                for q in range(ports):
                    if back[v, q] >= 0:
                        open_ends[layer, back[v, q]] -= 1
        for layer in range(first, min(layers, first + 2)):  # forget the nodes just reached
            i = 0
            while i < count[layer]:
                if reached[layer, left[layer, i]]:
                    count[layer] -= 1
                    left[layer, i] = left[layer, count[layer]]
                else:
                    i += 1
        while first < layers and count[first] == 0:
            first += 1
        step += 1
    return step


@njit(arrays=True)
def _holder(candidate, matched):
    """Return the port that has a candidate; -1: none."""
    for q in range(len(matched)):
        if matched[q] == candidate:
            return q
    return -1


@njit(arrays=True)
def _augment(first, best_node, kept, matched, tried, way):
    """Find port ``first`` a candidate, moving other ports to others of theirs if need be; return whether there is one.

    ``way``: room for the ports that would move, and which of its candidates each would take: int64 (2, ports).
    """
    last = 0
    way[0, 0], way[1, 0], tried[first] = first, -1, True
    while last >= 0:
        p = way[0, last]
        if way[1, last] < 0:
            for k in range(kept[p]):
                if _holder(best_node[p, k], matched) < 0:
                    way[1, last] = k
                    for i in range(last + 1):
                        matched[way[0, i]] = best_node[way[0, i], way[1, i]]
                    return True
        k = way[1, last] + 1
        while k < kept[p] and tried[_holder(best_node[p, k], matched)]:
            k += 1
        way[1, last] = k
        if k == kept[p]:
            last -= 1
        else:
            q = _holder(best_node[p, k], matched)
            last += 1
            way[0, last], way[1, last], tried[q] = q, -1, True
    return False
