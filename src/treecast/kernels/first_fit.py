"""Inner loop that gives each send of a chunk the first step in which its ends are free, one send after the other."""
# pyright: basic

from treecast.kernels.compiled import njit


@njit(work=lambda chunk, source, *others: 20.0 * len(source))
def first_fit(chunk, source, target, sending, hearing, known, step):
    """Fill ``step``, int64 (sends,), with the first step in which the source knows the chunk and both ports are free.

    Sends are given in an order in which a source hears a chunk before it passes it on. ``sending``, ``hearing``: uint8
    (N, steps), all 0, in which the ports of each node are used; the same array twice for half duplex. ``known``: int64
    (chunks, N), 0, from which step a node knows each chunk. Return whether the steps are enough.
    """
    last = sending.shape[1]
    for i in range(len(source)):
        c, u, v = chunk[i], source[i], target[i]
        t = known[c, u]
        while t < last and sending[u, t] | hearing[v, t]:
            t += 1
        if t == last:
            return False
        sending[u, t], hearing[v, t] = 1, 1
        known[c, v], step[i] = t + 1, t
    return True
