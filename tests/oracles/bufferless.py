"""A plain simulator of bufferless scatters and gathers: every flit is moved by itself, step by step, off the rows.

It shares no code with the package: it knows columns, numbers and sets.
"""

from collections import defaultdict
from itertools import pairwise


def faults(schedule):
    """What is wrong with a bufferless scatterv or gatherv, as sentences; [] when it is right.

    Judged: arcs and ports, what nodes hold, that nothing waits, that messages are not interrupted and each flit goes one way
    once, delivery, and of gathers with control flits, who knows when to begin.
    """
    collective, rows, found = schedule.collective, schedule.rows, []
    flits, sequence = collective.lengths.flits.tolist(), collective.lengths.sequence.tolist()
    one_port, away, root = schedule.model.ports == "one", collective.kind == "scatterv", collective.root
    owner = [(v, i) for v in sequence for i in range(flits[v])]  # of each chunk
    data, control = defaultdict(list), []
    for r in range(len(rows)):
        step, steps, src, dst, port = (int(getattr(rows, c)[r]) for c in ("step", "steps", "src", "dst", "port"))
        ranges = rows.payloads.ranges(int(rows.payload[r]))
        chunks = [c for a, b in ranges for c in range(a, b)]
        if step < 0 or int(schedule.network.neighbor(src, port)) != dst:
            found.append(f"row {r} goes along no arc")
        if steps == 1 < len(chunks):
            found.append(f"row {r} is no stream")
            continue
        if chunks:
            for i, chunk in enumerate(chunks):
                data[step + i * (steps - 1) // max(len(chunks) - 1, 1)].append((src, dst, owner[chunk]))
        else:
            control.append((step, src, dst))
    everything = [(step, src, dst) for step, sends in data.items() for src, dst, _ in sends] + control
    for name, key in (
        ("arc", lambda s: s), ("send port", lambda s: s[:2]), ("receive port", lambda s: (s[0], s[2])),
    ):  # fmt: skip
        if (one_port or name == "arc") and len({key(s) for s in everything}) < len(everything):
            found.append(f"a {name} is used twice in a step")
    found += _moves(data, flits, root, away)
    if not away and control:
        found += _told(data, control, root)
    claims = schedule.claims
    end = max((step for step, _, _ in everything), default=-1) + 1
    if claims is not None and (claims.steps, claims.transmissions) != (end, len(everything)):
        found.append("the claims are wrong")
    return found


def _moves(data, flits, root, away):
    """Move flits: ``at[v]`` is what node v got in the step before, and must send on unless it is at home."""
    found, home, sent_by = [], defaultdict(set), defaultdict(list)
    waiting, last = defaultdict(set), max(data, default=-1)
    gone, come = set(), set()
    for step in range(last + 2):
        arriving = defaultdict(set)
        for src, dst, flit in data.get(step, []):
            owner = flit[0]
            starts = src == (root if away else owner)
            if starts:
                if (src, flit) in gone:
                    found.append("a flit leaves twice")
            elif flit in waiting[src]:
                waiting[src].discard(flit)
            else:
                found.append(f"node {src} sends in step {step} what it does not have, or has kept")
            if (src, flit) in gone:
                found.append("a flit leaves a node twice")
            if (dst, flit) in come:
                found.append("a flit reaches a node twice")
            gone.add((src, flit))
            come.add((dst, flit))
            sent_by[src, owner].append((flit[1], step, dst))
            if dst == (owner if away else root):
                home[owner].add(flit)
            else:
                arriving[dst].add(flit)
        if any(waiting.values()):
            found.append(f"something is kept over step {step}")
        waiting = arriving
    if any(waiting.values()):
        found.append("something is kept for ever")
    for (src, owner), sends in sent_by.items():
        sends.sort()
        right = [(i, sends[0][1] + i, sends[0][2]) for i in range(flits[owner])]
        if sends != right:
            found.append(f"node {src} interrupts the message of {owner}, or sends a part of it")
    if any(len(home[v]) != length for v, length in enumerate(flits)):
        found.append("a message does not arrive")
    return found


def _told(data, control, root):
    """Control flits from above come before what they cause: the k-th before the k-th that goes down, all before data."""
    found, above = [], {}
    for _step, src, dst in sorted(control):
        if dst != root:
            above.setdefault(dst, src)
    down, up, into = defaultdict(list), defaultdict(list), defaultdict(list)
    certified = defaultdict(lambda: -1)
    for step, src, dst in sorted(control):
        if above.get(dst) == src:
            down[src, dst].append(step)
            into[dst].append(step)
        else:
            up[src].append(step)
            certified[dst] = max(certified[dst], step)
    for (src, _), steps in down.items():
        for k, step in enumerate(steps):
            heard = into[src][k] if k < len(into[src]) else 10**9
            if (heard if src != root else certified[root] if k else -1) >= step:
                found.append(f"node {src} tells before it is told")
    for src, steps in up.items():
        if len(steps) > 1 or not into[src] or into[src][0] >= steps[0]:
            found.append(f"node {src} certifies twice, or before it has the token")
        if any(certified[src] >= step for step in steps):
            found.append(f"node {src} certifies before its children have")
    if up and set(up) != {v for v, steps in into.items() if steps}:
        found.append("a node that has the token does not certify")
    for step, sends in data.items():
        for src, _, _ in sends:
            if len(into[src]) != (2 if up else 1) or max(into[src]) >= step:
                found.append(f"node {src} sends data before it is told")
    return found


def placed_earlier(messages, steps, one_port):
    """Return whether messages can all arrive in fewer than ``steps`` steps, each along one of its ways, without waiting.

    ``messages``: the ways, from node to node, and the length of each.
    """

    def placed(number, taken):
        if number == len(messages):
            return True
        ways, length = messages[number]
        block = (1 << length) - 1
        for way in ways:
            hops = list(pairwise(way))
            uses = [
                (key, at)
                for at, (u, v) in enumerate(hops)
                for key in ([("out", u), ("in", v)] if one_port else [(u, v)])
            ]
            for begin in range(steps - length - len(hops) + 1):
                if all(not taken.get(key, 0) & block << begin + at for key, at in uses):
                    more = dict(taken)
                    for key, at in uses:
                        more[key] = more.get(key, 0) | block << begin + at
                    if placed(number + 1, more):
                        return True
        return False

    return placed(0, {})
