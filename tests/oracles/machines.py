"""The fewest steps of data that spreads on tiny networks, by exhaustive search: several ports, half duplex, latency.

It shares nothing with treecast. A state says which chunks each node has, and which are under way to it; of states that have no
more than another, sooner or later, one is enough.
"""


def fewest_steps(nodes, arcs, has, wants, ports=0, latency=1, half=False):
    """Return the fewest steps after which all have what they want; ``has``, ``wants``: sets of chunks by node, as bits."""
    arcs, states, step = sorted(arcs), {(tuple(has), ((0,) * nodes,) * (latency - 1))}, 0
    while True:
        if any(all(w & ~h == 0 for h, w in zip(held, wants, strict=True)) for held, _ in states):
            return step
        found = set()
        for held, under_way in states:
            known = [h | _any(late[v] for late in under_way) for v, h in enumerate(held)]
            for sent in _sends(arcs, held, known, ports, half):
                *others, new = (*under_way, sent)
                first, rest = (others[0], (*others[1:], new)) if others else (new, ())
                found.add((tuple(h | f for h, f in zip(held, first, strict=True)), rest))
        states, step = _best(found), step + 1


def _any(bits):
    total = 0
    for each in bits:
        total |= each
    return total


def _sends(arcs, held, known, ports, half):
    """Return what may come to each node, for all sets of sends that fit in a step, but for those that another contains."""
    found, leaves = set(), [0] * len(held)

    def choose(at, news, sends, used):
        if at == len(arcs):
            found.add(tuple(news))
            return
        u, v = arcs[at]
        more, fewer = sends[u] + 1, (sends[v] if half else used[v]) + 1
        free = not ports or (more <= ports and fewer <= ports)
        if free and not (half and (v, u) in links):
            useful = held[u] & ~known[v] & ~news[v]
            for bit in (1 << c for c in range(useful.bit_length()) if useful >> c & 1):
                sends[u] += 1
                (sends if half else used)[v] += 1
                links.add((u, v))
                choose(at + 1, [n | bit * (w == v) for w, n in enumerate(news)], sends, used)
                links.discard((u, v))
                (sends if half else used)[v] -= 1
                sends[u] -= 1
        choose(at + 1, news, sends, used)

    links = set()
    choose(0, [0] * len(held), leaves, [0] * len(held))
    return [one for one in found if not any(one != two and _within(one, two) for two in found)]


def _within(one, two):
    return all(a & ~b == 0 for a, b in zip(one, two, strict=True))


def _best(states):
    """Return the states but for those that have no more than another, when all that is under way is counted when it comes."""

    def at_each(state):
        held, under_way = state
        rows = [held]
        for late in under_way:
            rows.append(tuple(a | b for a, b in zip(rows[-1], late, strict=True)))
        return sum(rows, ())

    every = {state: at_each(state) for state in states}
    kept = []
    for state in sorted(every, key=lambda one: -sum(bits.bit_count() for bits in every[one])):
        if not any(_within(every[state], every[other]) for other in kept):
            kept.append(state)
    return set(kept)


TINY = (
    ("broadcast", 1, ("path:3", "path:4", "ring:4", "complete:4", "complete:5")),
    ("broadcast", 2, ("path:3", "ring:4")),
    ("scatter", 1, ("path:3", "path:4")),
    ("allgather", 1, ("path:3",)),
)
"""Collectives, messages and networks that are searched in moments."""


def tiny_optimum(kind, messages, spec, ports, latency, half):
    """Return the fewest steps of one of these."""
    name, size = spec.split(":")
    nodes = int(size)
    links = [
        (u, v)
        for v in range(nodes)
        for u in range(v)
        if name == "complete" or v - u in (1, *[nodes - 1] * (name == "ring"))
    ]
    every = (1 << (messages if kind == "broadcast" else nodes)) - 1
    one_each = [1 << v for v in range(nodes)]
    has = one_each if kind == "allgather" else [every] + [0] * (nodes - 1)
    wants = one_each if kind == "scatter" else [every] * nodes
    return fewest_steps(nodes, [*links, *((v, u) for u, v in links)], has, wants, ports, latency, half)
