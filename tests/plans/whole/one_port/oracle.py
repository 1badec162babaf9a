"""Replay of one-port plans by plain loops over single sends, which knows nothing of rows, atoms or rules."""

from itertools import groupby


def replay(schedule, start, *, half=False):
    """Return what each node holds in the end, as sets of chunks; ``start``: what it holds at first. Raises at a breach.

    A node sends one chunk at most in a step, and receives one at most; with ``half`` it does one of the two.
    """
    held = [set(chunks) for chunks in start]
    for step, sends in groupby(sorted(schedule, key=lambda send: send.step), key=lambda send: send.step):
        now = [(send.src, send.dst, send.chunk) for send in sends]
        senders, receivers = [src for src, _, _ in now], [dst for _, dst, _ in now]
        if len(set(senders)) < len(now) or len(set(receivers)) < len(now):
            raise ValueError(f"two messages at one port in step {step}")
        if half and set(senders) & set(receivers):
            raise ValueError(f"a node sends and receives in step {step}")
        for src, _, chunk in now:
            if chunk not in held[src]:
                raise ValueError(f"node {src} sends chunk {chunk} in step {step}, which it lacks")
        for _, dst, chunk in now:
            held[dst].add(chunk)
    return held


def broadcast_held(schedule, *, half=False):
    """Return whether every node holds all chunks of a broadcast in the end."""
    job = schedule.collective
    every = set(range(job.messages))
    start = [every if v == job.root else () for v in range(job.nodes)]
    return all(held == every for held in replay(schedule, start, half=half))
