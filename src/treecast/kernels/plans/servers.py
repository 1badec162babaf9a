"""Servers: a resource under as many keys at once as it has room for; each of its servers is taken under one until a step."""
# pyright: basic

from treecast.kernels.compiled import inline


@inline
def find_server(busy, first, stop, key, now):
    """Return which of the servers ``first … stop-1`` takes a send of a key in step ``now``, -1 if none does.

    ``busy``: int64 (servers, 2), until which step each is taken, and under which key. A negative key is one of its own.
    """
    found = -1
    for s in range(first, stop):
        if busy[s, 0] <= now:
            if found < 0:
                found = s
        elif key >= 0 and busy[s, 1] == key:
            found = s
            break
    return found
