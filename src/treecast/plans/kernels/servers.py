"""Servers: a resource under as many keys at once as it has room for; each of its servers is taken under one until a step."""
# pyright: basic

from treecast.compiled import njit


@njit
def find_server(busy, spare, first, key, now):
    """Return which server of a resource, the ``first`` and ``spare[first]`` behind it, takes a send of a key now; -1: none does.

    ``busy``: int64 (servers, 2), until which step each is taken, and under which key. A negative key is one of its own.

        busy = [ … | first | first + 1 | … | first + spare[first] | … ]      the servers of one resource stand side by side

    A step for each of them.
    """
    found = first
    # free, or taken under the same key: then both go together
    if busy[first, 0] > now and (key < 0 or busy[first, 1] != key):
        found = -1
        for s in range(first + 1, first + 1 + spare[first]):  # mostly none is spare
            if found < 0 and (busy[s, 0] <= now or (key >= 0 and busy[s, 1] == key)):
                found = s
    return found
