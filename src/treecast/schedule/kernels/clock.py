"""Inner loop of the clock that knows no steps: each message begins as soon as its chunks have come, and what it takes is free."""
# pyright: basic

from treecast.compiled import njit


@njit(work=lambda step, start, source, *others: 4.0 * len(source))
def time_messages(step, start, source, target, adds, taken, lasts, delay, there, free, begin, end):
    """Fill when each message begins and has arrived, float64 (messages,).

    Messages are in the order of their ``step``. The chunks of message m are the entries ``start[m] … start[m+1]-1``: entry i goes
    from the place ``source[i]`` to ``target[i]``, a chunk at a node, and to a sum it ``adds``. A message takes the resources
    ``taken[m]`` for ``lasts[m]``, and has arrived after ``delay[m]``. ``there``, float64 (places,): when a chunk has come; below
    0: it has not yet, or was there from the start. A sum is there with its last contribution, another chunk with its first copy.
    ``free``, float64 (resources,): when each is free again.

    O(entries + messages x resources of each). Invariant: messages of a step see what those of earlier steps have left, so none
    of them waits for another.
    """
    first = 0
    while first < len(step):
        # 1. Messages of one step begin when all that they need is there.
        last = first
        while last < len(step) and step[last] == step[first]:
            ready = 0.0
            for i in range(start[last], start[last + 1]):
                ready = max(ready, there[source[i]])
            for j in range(taken.shape[1]):
                ready = max(ready, free[taken[last, j]])
            begin[last], end[last] = ready, ready + delay[last]
            last += 1
        # 2. What they take is free, and what they bring is there, after them.
        for m in range(first, last):
            for j in range(taken.shape[1]):
                free[taken[m, j]] = max(free[taken[m, j]], begin[m] + lasts[m])
            for i in range(start[m], start[m + 1]):
                before = there[target[i]]
                if before < 0 or (end[m] > before) == adds[i]:
                    there[target[i]] = end[m]
        first = last
